"""The study's tables (stage ``tables``): estimates beside what the paper printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from shared.errors import run_stage
from shared.frames import read
from shared.metrics.resampling import Inference
from shared.params import load
from shared.reporting import tables
from studies.rationalization_probes import causal, cost, grafting, metrics, pages, price, rhetoric
from studies.rationalization_probes.attacks import REWRITTEN, survival_rows
from studies.rationalization_probes.design import ITEMS, TRIALS
from studies.rationalization_probes.embedding import EMBEDDINGS, read_vectors
from studies.rationalization_probes.instrument_tables import (
    answer_rows,
    competence_rows,
    criteria_rows,
    protocol_rows,
    span_rows,
)
from studies.rationalization_probes.judge import RESPONSES
from studies.rationalization_probes.outcome_tables import (
    cross_task_rows,
    outcome_rows,
    probe_rows,
    relabel_rows,
)
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.rationale_tables import (
    alignment_rows,
    attack_rows,
    consistency_rows,
    drift_rows,
)
from studies.rationalization_probes.results import Study, finisher, gate_checks, one_frame, read_judgements

FOLDER = Path("paper_tables/rationalization_probes")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the tables need besides the judgements."""

    params: Section
    attacks: pd.DataFrame
    calls: pd.DataFrame
    examples: pd.DataFrame


def all_tables(study: Study, inputs: Inputs) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every table by name, with all of `results.COLUMNS`."""
    gates = gate_checks(study)
    finish = finisher(study, gates)
    gate = finish(one_frame(competence_rows(study, gates)))
    drift = drift_rows(study, inputs.params)
    alignment = alignment_rows(study, inputs.params)
    effects = causal.causal(study.judgements, drift, study.rng("cue_effects"), study.inference)
    yield "table_01_criteria", finish(one_frame(criteria_rows(study)))
    yield "table_02_blind", finish(outcome_rows(study, "equal", "blind"))
    yield "table_03_truth", finish(probe_rows(study, "truth"))
    yield "table_04_flip", finish(probe_rows(study, "flip"))
    yield "table_05_placebo", finish(probe_rows(study, "placebo"))
    yield "table_06_samples_truth", finish(probe_rows(study, "truth", "samples"))
    yield "table_07_samples_flip", finish(probe_rows(study, "flip", "samples"))
    yield "table_08_samples_placebo", finish(probe_rows(study, "placebo", "samples"))
    yield "table_09_extractive", finish(outcome_rows(study, "extractive", "blind", "truth", "flip"))
    yield "table_10_identical", finish(outcome_rows(study, "identical"))
    yield "relabel", finish(relabel_rows(study))
    yield "revision", finish(metrics.revisions(study.judgements, study.rng("revision"), study.inference))
    yield "rationale_drift", finish(drift)
    yield "rationale_alignment", finish(alignment)
    yield "attack_verbosity", finish(attack_rows(study, "verbosity", drift, alignment))
    yield "attack_confidence", finish(attack_rows(study, "confidence", drift, alignment))
    yield "attacks", finish(survival_rows(inputs.attacks, study.rng("attacks"), study.inference))
    yield "consistency", finish(consistency_rows(study, inputs.params.labels))
    yield "scorers", finish(rhetoric.precision_recall(inputs.examples))
    yield "cue_effects", finish(effects)
    yield (
        "invariance",
        finish(causal.invariance(study.judgements, drift, gate, study.rng("invariance"), study.inference)),
    )
    yield "price", finish(price.price(study.judgements, study.rng("price"), study.inference))
    yield "grafting", finish(grafting.grafting(study.judgements, study.rng("grafting"), study.inference))
    yield "cross_task", finish(cross_task_rows(study))
    yield "cost", finish(cost.cost(inputs.calls, study.rng("cost"), study.inference))
    yield "competence", gate
    turns = pd.DataFrame(protocol_rows(study, inputs.params, inputs.calls))
    yield "protocols", finish(turns, "step", "position", "sees", "makes")
    yield "spans", finish(one_frame(span_rows(study)))
    yield "answers", finish(one_frame(answer_rows(study)))


def write_all(study: Study, inputs: Inputs, folder: Path = FOLDER) -> Iterable[str]:
    """Write every table with its page, and tell of each that has no rows."""
    for name, rows in all_tables(study, inputs):
        page = pages.page(name, rows, study.profile, study.inference.confidence)
        tables.write(folder / f"{name}.csv", rows, page)
        if rows.empty:
            yield f"{name}: no rows; {pages.ABSENT[name]}"


def read_calls(judges: Iterable[str], trials: pd.DataFrame) -> pd.DataFrame:
    """Every call of these judges, with its trial's columns and ``judge``."""
    calls = [read(RESPONSES / f"{judge}.parquet", "judge").assign(judge=judge) for judge in judges]
    return pd.concat(calls, ignore_index=True).merge(trials, on="trial", validate="m:1")


def main() -> None:
    common, params = load("rationalization_probes", Section)
    judged = read_judgements(params.judges, read(ITEMS, "data"))
    inference = Inference(**common.statistics.model_dump())
    study = Study(judged, inference, common.seed, common.profile, read_vectors(EMBEDDINGS))
    calls = read_calls(params.judges, read(TRIALS, "design"))
    inputs = Inputs(params, read(REWRITTEN, "attacks"), calls, rhetoric.load_examples())
    for line in write_all(study, inputs):
        print(line)
    print(f"{FOLDER}: tables of {', '.join(params.judges)}, profile {common.profile}")


if __name__ == "__main__":
    run_stage(main)
