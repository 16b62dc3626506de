"""The study's tables (stage ``tables``): estimates beside what the paper printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from shared.draws import number
from shared.errors import UserError, run_stage
from shared.frames import cells, rows_of
from shared.judge.records import STATUSES
from shared.metrics.competence import Check, Competence, competence
from shared.metrics.resampling import Estimate, Inference, rate_interval
from shared.params import load
from shared.reporting import tables
from studies.rationalization_probes import counterparts, metrics, pages
from studies.rationalization_probes.design import ITEMS
from studies.rationalization_probes.judgements import JUDGEMENTS
from studies.rationalization_probes.params import Section

FOLDER = Path("paper_tables/rationalization_probes")

COLUMNS = (
    *tables.COLUMNS,
    "kind", "coding", "system", "writer", "stage", "count", "value_paper", "p", "p_holm", "mde",
    "null_low", "null_high", "floor_value", "floor_low", "floor_high",
    "verdict", "published", "paper_low", "paper_high",
    "n_trials", "profile", "fingerprint", "gate", "note",
)  # fmt: skip
"""Of every table; a column that does not apply to a row is n/a, a text that is lacking is empty."""

TEXTS = ("system", "writer", "stage", "coding", "verdict", "published_id")

CODINGS: dict[str, tuple[metrics.Coding, ...]] = {
    "truth": ("carrier",),
    "flip": ("carrier", "always_12"),
    "placebo": ("carrier", "always_12"),
}
"""Which side counts as favoured. The carrier's is section 4.3's too; a caption has [1,2] under Flip as well,
and the paper's badge was always on candidate 1."""

MOVED = ("equal", "samples")
"""The kinds whose shifts stand below a probe's outcomes: the paper's Tables 6-8 are about the second."""


class TablesError(UserError):
    """Judgements that a table needs are not there; the message names the file and the fix."""


@dataclass(frozen=True, slots=True)
class Study:
    """What all tables are made from. ``judgements`` has ``judge``, ``system`` and ``writer`` added."""

    judgements: pd.DataFrame
    inference: Inference
    seed: int
    profile: str

    def rng(self, *names: str) -> np.random.Generator:
        """A generator of one table's own, so that adding a table moves no other."""
        return np.random.default_rng(number(self.seed, "tables", *names))

    def of(self, kinds: Sequence[str], *probes: str) -> pd.DataFrame:
        """The judgements of some kinds, under these probes or under all."""
        rows = self.judgements[self.judgements["kind"].isin(kinds)]
        return rows[rows["probe"].isin(probes)] if probes else rows


# --- Reading ----------------------------------------------------------------------------------------


def read_judgements(judges: Sequence[str], items: pd.DataFrame, folder: Path = JUDGEMENTS) -> pd.DataFrame:
    """The judgements of exactly these judges, each row with its judge and what `with_writers` adds.

    Raises
    ------
    TablesError
        If a judge has not been run.
    """
    frames = [_of_judge(judge, folder / f"{judge}.parquet") for judge in judges]
    return with_writers(pd.concat(frames, ignore_index=True), items)


def with_writers(judgements: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Add to rows about extractive pairs the ``system`` of candidate 2 and the ``writer`` of candidate 1."""
    texts = items.set_index("item")
    system = judgements["item"].map(texts["provenance_2"].map(_system))
    writer = judgements["item"].map(texts["provenance_1"]).where(system != "", "")
    return judgements.assign(system=system, writer=writer)


def _of_judge(judge: str, file: Path) -> pd.DataFrame:
    if not file.is_file():
        raise TablesError(f"{file} is absent; run `make repro`, which puts the trials to judge {judge!r}")
    return pd.read_parquet(file).assign(judge=judge)


def _system(provenance: str) -> str:
    """``textrank`` of ``tradml:textrank``; nothing for a language model's text."""
    writer, _, system = provenance.partition(":")
    return system if writer == "tradml" else ""


# --- The tables -------------------------------------------------------------------------------------


def all_tables(study: Study) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every table by name, with all of `COLUMNS`."""
    gates = gate_checks(study)
    finish = _finisher(study, gates)
    floor = shift_rows(study, "empty", "carrier")
    yield "table_02_blind", finish(outcome_rows(study, "equal", "blind"))
    yield "table_03_truth", finish(probe_rows(study, "truth", floor))
    yield "table_04_flip", finish(probe_rows(study, "flip", floor))
    yield "table_05_placebo", finish(probe_rows(study, "placebo", floor))
    yield "table_09_extractive", finish(outcome_rows(study, "extractive"))
    yield "table_10_identical", finish(outcome_rows(study, "identical"))
    yield "revision", finish(metrics.revisions(study.judgements, study.rng("revision"), study.inference))
    yield "cue_effects", finish(effect_rows(study))
    yield "competence", finish(pd.DataFrame(competence_rows(study, gates)))
    yield "spans", finish(pd.DataFrame(span_rows(study)))
    yield "answers", finish(pd.DataFrame(answer_rows(study)))


def outcome_rows(study: Study, kind: str, *probes: str) -> pd.DataFrame:
    """Shares of Tie, [1,2] and [2,1] and their balance, by extractive system where there is one."""
    by = ("judge", "scheme", "kind", "probe", "system", "writer")
    return metrics.outcomes(study.of([kind], *probes), study.rng("outcomes", kind), study.inference, by)


def probe_rows(study: Study, probe: str, floor: pd.DataFrame) -> pd.DataFrame:
    """Outcomes under a cue on equal pairs, then how they moved from Blind, in each coding."""
    moved = pd.concat([shift_rows(study, probe, coding) for coding in CODINGS[probe]])
    return pd.concat([outcome_rows(study, "equal", probe), with_floor(moved, floor)], ignore_index=True)


def shift_rows(study: Study, probe: str, coding: metrics.Coding) -> pd.DataFrame:
    """Shifts from Blind to one probe, in one coding."""
    pairs = study.of(MOVED, "blind", probe)
    return metrics.susceptibility(pairs, study.rng("susceptibility"), study.inference, coding)


def with_floor(moved: pd.DataFrame, floor: pd.DataFrame) -> pd.DataFrame:
    """Add what an empty cue line moves: the same quantity of the same judge, scheme and kind.

    Parameters
    ----------
    moved, floor : DataFrame
        From `shift_rows`: of a probe, and of the probe ``empty``.

    Returns
    -------
    DataFrame
        ``moved`` with ``floor_value``, ``floor_low`` and ``floor_high``; nan where ``empty`` was not run.
    """
    cell = ["judge", "scheme", "kind", "quantity"]
    names = {"value": "floor_value", "ci_low": "floor_low", "ci_high": "floor_high"}
    return moved.merge(floor[[*cell, *names]].rename(columns=names), how="left", on=cell, validate="m:1")


def effect_rows(study: Study) -> pd.DataFrame:
    """The signed cue effect and the change of ties, over all kinds of pairs that were shown with a cue."""
    return metrics.cue_effects(study.judgements, study.rng("cue_effects"), study.inference)


def gate_checks(study: Study) -> dict[tuple[str, str], Competence]:
    """The competence gate, by judge and scheme."""
    blind = _gate_rows(study)
    cells = study.judgements[["judge", "scheme"]].drop_duplicates().itertuples(index=False)
    return {
        (judge, scheme): competence(
            blind[(blind["judge"] == judge) & (blind["scheme"] == scheme)],
            study.rng("competence", judge, scheme),
            study.inference,
            can_tie=scheme != "forced",
        )
        for judge, scheme in cells
    }


def competence_rows(study: Study, gates: dict[tuple[str, str], Competence]) -> Iterator[dict[str, object]]:
    """The gate's questions, one a row; how many ties fewer is not asked of a forced choice."""
    blind = _gate_rows(study)
    for (judge, scheme), gate in gates.items():
        cell = blind[(blind["judge"] == judge) & (blind["scheme"] == scheme)]
        names = {"judge": judge, "scheme": scheme, "condition": "blind", "stage": "first"}
        for quantity, kinds in _QUESTIONS.items():
            check: Check | None = getattr(gate, quantity)
            if check is not None:
                asked = cell[cell["kind"].isin(kinds)]
                answer = {"p": check.p, "verdict": check.verdict}
                yield _row(quantity, names, check.estimate, asked, asked["status"] == "ok") | answer


_QUESTIONS = {
    "prefers_undamaged": ("damage",),
    "ties_less": ("damage", "equal"),
    "not_constant": ("damage", "equal"),
}


def _gate_rows(study: Study) -> pd.DataFrame:
    rows = study.judgements
    return rows[
        (rows["stage"] == "first") & (rows["probe"] == "blind") & rows["kind"].isin(["damage", "equal"])
    ]


def span_rows(study: Study) -> Iterator[dict[str, object]]:
    """The share of the spans quoted by PBP's notes that stand in the source, word for word."""
    first = study.judgements[study.judgements["stage"] == "first"]
    with_notes = first[first["scheme"].str.startswith("pbp")]
    for names, cell in cells(with_notes, ("judge", "scheme", "kind", "probe")):
        quoted = cell["spans_quoted"].astype(float)
        read = cell[quoted.notna()]
        hits, trials = (read[column].astype(float) for column in ("spans_found", "spans_quoted"))
        rng = study.rng("spans", *names.values())
        estimate = rate_interval(hits, read["cluster"], rng, study.inference, trials)
        found = {"count": hits.sum() if len(read) else np.nan}
        yield _row("spans_found_rate", names, estimate, cell, quoted.notna()) | found


def answer_rows(study: Study) -> Iterator[dict[str, object]]:
    """How many answers had each status, over all kinds of pairs."""
    for names, cell in cells(study.judgements, ("judge", "scheme", "probe", "stage")):
        for status in STATUSES:
            hits = cell["status"] == status
            estimate = rate_interval(
                hits, cell["cluster"], study.rng("answers", *names.values(), status), study.inference
            )
            counted = {"count": hits.sum(), "n_unparsed": (cell["status"] != "ok").sum()}
            every = pd.Series(True, index=cell.index)
            yield _row(f"{status}_rate", names, estimate, cell, every) | counted


def _row(
    quantity: str, names: dict[str, str], estimate: Estimate, cell: pd.DataFrame, used: pd.Series
) -> dict[str, object]:
    """A row as the frames of `metrics` have it; ``used`` tells which trials the estimate rests on."""
    return {
        "quantity": quantity,
        **{("condition" if name == "probe" else name): value for name, value in names.items()},
        "value": estimate.value,
        "ci_low": estimate.low,
        "ci_high": estimate.high,
        "n_items": cell.loc[used, "item"].nunique(),
        "n_trials": int(used.sum()),
        "n_clusters": cell.loc[used, "cluster"].nunique(),
        "n_unparsed": int((~used).sum()),
    }


# --- What every row says besides its estimate -------------------------------------------------------


def _finisher(
    study: Study, gates: dict[tuple[str, str], Competence]
) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Adds the paper's numbers, the gate, and what the rows rest on."""
    marks = study.judgements.dropna(subset="fingerprint").groupby("judge")["fingerprint"].unique()
    verdicts = {cell: gate.verdict for cell, gate in gates.items()}

    def finish(rows: pd.DataFrame) -> pd.DataFrame:
        rows = rows.reindex(columns=list(COLUMNS))
        rows[list(TEXTS)] = rows[list(TEXTS)].astype(object).fillna("")
        gate = [verdicts[cell] for cell in zip(rows["judge"], rows["scheme"], strict=True)]
        rows = rows.assign(
            profile=study.profile,
            fingerprint=rows["judge"].map(lambda judge: " ".join(marks.get(judge, ()))),
            gate=gate,
        )
        few = rows["n_clusters"].astype(float) < study.inference.few_clusters
        rows["note"] = [_note(*pair) for pair in zip(gate, few, strict=True)]
        return with_counterparts(rows)

    return finish


def _note(gate: str, few: bool) -> str:
    return "; ".join(filter(None, [pages.GATE_NOTES[gate], tables.TOO_FEW if few else ""]))


def with_counterparts(rows: pd.DataFrame) -> pd.DataFrame:
    """Fill in the paper's numbers: the range of its five judges and, for one of them, its own.

    ``published`` is the value of the cell ``published_id``; where the paper prints none, what follows from
    that judge's counts.
    """
    named = ("quantity", "kind", "scheme", "condition", "system")
    found = [
        counterparts.of(**{name: row[name] for name in named}, coding=row["coding"] or "carrier")
        for row in rows_of(rows)
    ]
    cells = [counterpart.of(judge) for counterpart, judge in zip(found, rows["judge"], strict=True)]
    spans = [counterpart.span for counterpart in found]
    return rows.assign(
        published_id=[cell.id for cell in cells],
        published=[cell.value for cell in cells],
        paper_low=[low for low, _ in spans],
        paper_high=[high for _, high in spans],
    )


# --- The stage --------------------------------------------------------------------------------------


def write_all(study: Study, folder: Path = FOLDER) -> Iterable[str]:
    """Write every table with its page, and tell of each that has no rows."""
    for name, rows in all_tables(study):
        page = pages.page(name, rows, study.profile, study.inference.confidence)
        tables.write(folder / f"{name}.csv", rows, page)
        if rows.empty:
            yield f"{name}: no rows; {pages.ABSENT[name]}"


def main() -> None:
    common, params = load("rationalization_probes", Section)
    rows = read_judgements(params.judges, pd.read_parquet(ITEMS))
    inference = Inference(**common.statistics.model_dump())
    study = Study(rows, inference, common.seed, common.profile)
    for line in write_all(study):
        print(line)
    print(f"{FOLDER}: tables of {', '.join(params.judges)}, profile {common.profile}")


if __name__ == "__main__":
    run_stage(main)
