"""The study's tables (stage ``tables``): estimates beside what the paper printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from shared.embedding import Array, read_vectors
from shared.errors import run_stage
from shared.frames import read, read_judges
from shared.metrics.resampling import Inference
from shared.params import load
from shared.reporting import tables
from shared.reporting.results import Study
from studies.evidence_lock import pages
from studies.evidence_lock.agreement import agreement_rows
from studies.evidence_lock.budgets import budget_rows
from studies.evidence_lock.bundle import bundle_rows
from studies.evidence_lock.captions import ABSENT
from studies.evidence_lock.cost import cost_rows
from studies.evidence_lock.design import ITEMS
from studies.evidence_lock.differences import difference_rows
from studies.evidence_lock.embedding import EMBEDDINGS
from studies.evidence_lock.instrument_tables import answer_rows
from studies.evidence_lock.judgements import JUDGEMENTS
from studies.evidence_lock.leaks import leak_rows, read_labels, reader_rows
from studies.evidence_lock.lost import lost_rows
from studies.evidence_lock.lost_page import examples_page
from studies.evidence_lock.orders import order_rows
from studies.evidence_lock.pairs import pairs
from studies.evidence_lock.params import Section
from studies.evidence_lock.results import finisher, gates_of, verdicts
from studies.evidence_lock.verdicts import verdict_rows

FOLDER = Path("paper_tables/evidence_lock")
EXAMPLES = "lost_examples.md"


@dataclass(frozen=True, slots=True)
class Texts:
    """What was judged, and sentence vectors of it and of the records."""

    items: pd.DataFrame
    vectors: dict[str, Array]
    threshold: float
    labels: pd.DataFrame | None = None
    """From `leaks.read_labels`; without them nothing is said of how well records are read."""


def all_tables(study: Study, texts: Texts) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every table by name, its rows as `results.finisher` leaves them."""
    gates = gates_of(study)
    finish = finisher(study, verdicts(gates))
    for name, rows in _estimates(study, texts):
        yield name, finish(name, rows)
    yield "competence", finish("competence", gates)
    yield "answers", finish("answers", answer_rows(study))


def _estimates(study: Study, texts: Texts) -> Iterator[tuple[str, pd.DataFrame]]:
    """The paper's results, then what takes the lock apart, then what the record lost."""
    judged, inference = study.judgements, study.inference
    both_orders = pairs(judged)
    cost = cost_rows(both_orders, study.rng("cost"), inference)
    agreement = agreement_rows(both_orders, study.rng("agreement"), inference)
    # A figure draws them in one picture, with the tokens as the size of a mark.
    yield "agreement", pd.concat([agreement, cost[cost["quantity"] == "tokens"]], ignore_index=True)
    yield "differences", difference_rows(both_orders, study.rng("differences"), inference)
    yield "verdicts", verdict_rows(judged, study.rng("verdicts"), inference)
    yield "cost", cost
    yield "bundle", bundle_rows(both_orders, study.rng("bundle"), inference)
    yield "orders", order_rows(judged, study.rng("orders"), inference)
    yield "budgets", budget_rows(both_orders, judged, study.rng("budgets"), inference)
    yield "leaks", _leaks(study, texts.labels)
    rng = study.rng("lost")
    yield "lost", lost_rows(judged, texts.items, texts.vectors, texts.threshold, rng, inference)


def _leaks(study: Study, labels: pd.DataFrame | None) -> pd.DataFrame:
    """What records give away, and how well that is read; nothing where there are no records."""
    rows = leak_rows(study.judgements, study.rng("leaks"), study.inference)
    if rows.empty or labels is None:
        return rows
    read = reader_rows(labels, study.rng("leaks", "reader"), study.inference)
    return pd.concat([rows, read], ignore_index=True)


def write_all(study: Study, texts: Texts, folder: Path = FOLDER) -> Iterable[str]:
    """Write every table with its page, and the examples; tell of each table that has no rows."""
    for name, rows in all_tables(study, texts):
        page = pages.page(name, rows, study.profile, study.inference.confidence)
        tables.write(folder / f"{name}.csv", rows, page)
        if rows.empty:
            yield f"{name}: no rows; {ABSENT[name]}"
    examples = examples_page(study.judgements, texts.items, texts.vectors, texts.threshold, study.profile)
    (folder / EXAMPLES).write_text(examples, encoding="utf-8")


def main() -> None:
    common, params = load("evidence_lock", Section)
    judged = read_judges(JUDGEMENTS, params.judges, "judgements")
    study = Study(judged, Inference(**common.statistics.model_dump()), common.seed, common.profile)
    texts = Texts(read(ITEMS, "data"), read_vectors(EMBEDDINGS), params.coverage.threshold, read_labels())
    for line in write_all(study, texts):
        print(line)
    print(f"{FOLDER}: tables of {', '.join(params.judges)}, profile {common.profile}")


if __name__ == "__main__":
    run_stage(main)
