"""The study's tables (stage ``tables``): estimates beside what the paper printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from shared.draws import number
from shared.errors import UserError, run_stage
from shared.frames import rows_of
from shared.judge.records import STATUSES
from shared.metrics.competence import Check, Competence, competence
from shared.metrics.resampling import Estimate, Inference, bootstrap, cluster_sums, rate_interval, share
from shared.params import load
from shared.reporting import tables
from studies.rationalization_probes import counterparts, metrics, pages
from studies.rationalization_probes.design import ITEMS
from studies.rationalization_probes.judgements import JUDGEMENTS
from studies.rationalization_probes.params import Section

FOLDER = Path("paper_tables/rationalization_probes")

COLUMNS = (
    *tables.COLUMNS,
    "kind", "coding", "system", "stage", "count", "value_paper", "p", "p_holm", "mde",
    "floor_low", "floor_high", "verdict", "published", "paper_low", "paper_high",
    "n_trials", "profile", "fingerprint", "gate", "note",
)  # fmt: skip
"""Of every table; a column that does not apply to a row is n/a, a text that is lacking is empty."""

TEXTS = ("system", "stage", "coding", "verdict", "published_id")

CODINGS: dict[str, tuple[metrics.Coding, ...]] = {
    "truth": ("carrier", "paper"),
    "flip": ("carrier", "paper", "always_12"),
    "placebo": ("carrier", "always_12"),
}
"""Which side counts as favoured: our reading first. Under Flip the paper has two, one in a caption; its
badge was always on candidate 1."""


class TablesError(UserError):
    """Judgements that a table needs are not there; the message names the file and the fix."""


@dataclass(frozen=True, slots=True)
class Study:
    """What all tables are made from. ``judgements`` has the columns ``judge`` and ``system`` added."""

    judgements: pd.DataFrame
    inference: Inference
    seed: int
    profile: str

    def rng(self, *names: str) -> np.random.Generator:
        """A generator of one table's own, so that adding a table moves no other."""
        return np.random.default_rng(number(self.seed, "tables", *names))

    def of(self, kind: str, *probes: str) -> pd.DataFrame:
        """The judgements of a kind, under these probes or under all."""
        rows = self.judgements[self.judgements["kind"] == kind]
        return rows[rows["probe"].isin(probes)] if probes else rows


# --- Reading ----------------------------------------------------------------------------------------


def read_judgements(judges: Sequence[str], items: pd.DataFrame, folder: Path = JUDGEMENTS) -> pd.DataFrame:
    """The judgements of exactly these judges, each row with its judge and its extractive system.

    Raises
    ------
    TablesError
        If a judge has not been run.
    """
    systems = items.set_index("item")["provenance_2"].map(_system)
    frames = [_of_judge(judge, folder / f"{judge}.parquet") for judge in judges]
    rows = pd.concat(frames, ignore_index=True)
    return rows.assign(system=rows["item"].map(systems))


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
    yield "table_02_blind", finish(outcome_rows(study, "equal", "blind"))
    yield "table_03_truth", finish(probe_rows(study, "truth"))
    yield "table_04_flip", finish(probe_rows(study, "flip"))
    yield "table_05_placebo", finish(probe_rows(study, "placebo"))
    yield "table_09_extractive", finish(outcome_rows(study, "extractive"))
    yield "table_10_identical", finish(outcome_rows(study, "identical"))
    yield "revision", finish(metrics.revisions(study.judgements, study.rng("revision"), study.inference))
    yield "cue_effects", finish(effect_rows(study))
    yield "competence", finish(pd.DataFrame(competence_rows(study, gates)))
    yield "spans", finish(pd.DataFrame(span_rows(study)))
    yield "answers", finish(pd.DataFrame(answer_rows(study)))


def outcome_rows(study: Study, kind: str, *probes: str) -> pd.DataFrame:
    """Shares of Tie, [1,2] and [2,1] and their balance, by extractive system where there is one."""
    by = ("judge", "scheme", "kind", "probe", "system")
    return metrics.outcomes(study.of(kind, *probes), study.rng("outcomes", kind), study.inference, by)


def probe_rows(study: Study, probe: str) -> pd.DataFrame:
    """Outcomes under a cue on equal pairs, then how they moved from Blind, in each coding."""
    pairs = study.of("equal", "blind", probe)
    if probe not in set(pairs["probe"]):
        pairs = pairs[:0]
    moved = [coded_rows(study, pairs, coding) for coding in CODINGS[probe]]
    return pd.concat([outcome_rows(study, "equal", probe), *moved], ignore_index=True)


def coded_rows(study: Study, pairs: pd.DataFrame, coding: metrics.Coding) -> pd.DataFrame:
    """Shifts in one coding; the same draws serve every coding, so that equal ones give equal intervals."""
    same = "carrier" if coding == "paper" and _agrees(pairs) else coding
    rows = metrics.susceptibility(pairs, study.rng("susceptibility"), study.inference, same)
    return rows.assign(coding=coding)


def _agrees(pairs: pd.DataFrame) -> bool:
    """Whether the paper's favoured side is the candidate that carries the cue, in every trial with one."""
    cued = pairs[pairs["probe"] != "blind"]
    return bool((cued["favoured"].str[0] == cued["carrier"].astype(str)).all())


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
    for names, cell in _cells(with_notes, ("judge", "scheme", "kind", "probe")):
        quoted = cell["spans_quoted"].astype(float)
        read = cell[quoted.notna()]
        sums = cluster_sums(read[["spans_quoted", "spans_found"]].astype(float), read["cluster"])
        rng = study.rng("spans", *names.values())
        estimate = bootstrap(share, sums, rng, study.inference) if len(sums) else _UNKNOWN
        found = {"count": float(read["spans_found"].astype(float).sum()) if len(read) else np.nan}
        yield _row("spans_found_rate", names, estimate, cell, quoted.notna()) | found


def answer_rows(study: Study) -> Iterator[dict[str, object]]:
    """How many answers had each status, over all kinds of pairs."""
    for names, cell in _cells(study.judgements, ("judge", "scheme", "probe", "stage")):
        for status in STATUSES:
            hits = cell["status"] == status
            estimate = rate_interval(
                hits, cell["cluster"], study.rng("answers", *names.values(), status), study.inference
            )
            counted = {"count": hits.sum(), "n_unparsed": (cell["status"] != "ok").sum()}
            every = pd.Series(True, index=cell.index)
            yield _row(f"{status}_rate", names, estimate, cell, every) | counted


_UNKNOWN = Estimate(np.nan, np.nan, np.nan, 0)


def _cells(rows: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    for key, cell in rows.groupby(list(by), sort=False):
        yield dict(zip(by, map(str, key), strict=True)), cell


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
    said = [pages.INSTRUMENT_CHECK] if gate == "failed" else []
    return "; ".join([*said, tables.TOO_FEW] if few else said)


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
