"""What all tables of the study are made from: the judgements, the gate, and what every row says besides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shared.frames import read_judges
from shared.metrics.competence import Competence, competence
from shared.reporting import results, tables
from studies.rationalization_probes import counterparts, pages
from studies.rationalization_probes.judgements import JUDGEMENTS

COLUMNS = (
    *tables.COLUMNS,
    "kind", "coding", "system", "writer", "stage", "over", "wording", "level", "count", "value_paper",
    "p", "p_holm", "mde", "null_low", "null_high", "floor_value", "floor_low", "floor_high",
    "verdict", "published", "paper_low", "paper_high",
    "n_trials", "profile", "fingerprint", "gate", "note",
)  # fmt: skip
"""Of every table; a column that does not apply to a row is n/a, a text that is lacking is empty."""

TEXTS = ("system", "writer", "stage", "coding", "over", "wording", "verdict", "published_id")

GATE_KINDS: Mapping[str, tuple[str, str]] = {
    "summary": ("damage", "equal"),
    "answer": ("qa_damage", "qa_equal"),
}
"""By task: the pairs that the competence gate asks about."""

SAME_GATE = {"pbp_grafted": "pbp_once"}
"""A scheme that asks nothing else than another where there is no cue, and so has its gate."""


@dataclass(frozen=True, slots=True)
class Study(results.Study):
    """What all tables are made from. ``judgements`` has ``judge``, ``system`` and ``writer`` added."""

    vectors: Mapping[str, Any] = field(default_factory=dict)

    def effects_rng(self) -> np.random.Generator:
        """That of all effects of cues, so that one has the same interval wherever it stands."""
        return self.rng("effects")

    def of(self, kinds: Sequence[str], *probes: str) -> pd.DataFrame:
        """The judgements of some kinds, under these probes or under all."""
        rows = self.judgements[self.judgements["kind"].isin(kinds)]
        return rows[rows["probe"].isin(probes)] if probes else rows


# --- Reading ----------------------------------------------------------------------------------------


def read_judgements(judges: Sequence[str], items: pd.DataFrame, folder: Path = JUDGEMENTS) -> pd.DataFrame:
    """The judgements of exactly these judges, each row with its judge and what `with_writers` adds.

    Raises
    ------
    UserError
        If a judge has not been run.
    """
    return with_writers(read_judges(folder, judges, "judgements"), items)


def with_writers(judgements: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Add to rows about extractive pairs the ``system`` of candidate 2 and the ``writer`` of candidate 1."""
    texts = items.set_index("item")
    system = judgements["item"].map(texts["provenance_2"].map(_system))
    writer = judgements["item"].map(texts["provenance_1"]).where(system != "", "")
    return judgements.assign(system=system, writer=writer)


def _system(provenance: str) -> str:
    """``textrank`` of ``tradml:textrank``; nothing for a language model's text."""
    writer, _, system = provenance.partition(":")
    return system if writer == "tradml" else ""


# --- The gate ---------------------------------------------------------------------------------------

Gates = Mapping[tuple[str, str, str], Competence]
"""By judge, scheme and task (what its candidates are called)."""


def gate_checks(study: Study) -> dict[tuple[str, str, str], Competence]:
    """The competence gate of each judge, scheme and task that was asked about damaged pairs."""
    found = {}
    for task in GATE_KINDS:
        ran = study.judgements[study.judgements["kind"].map(_task) == task]
        for judge, scheme in ran[["judge", "scheme"]].drop_duplicates().itertuples(index=False):
            asked = gate_rows(study, judge, scheme, task)
            if not (asked["kind"] == "damage").any():
                continue
            rng = study.rng("competence", judge, scheme, *([] if task == "summary" else [task]))
            found[judge, scheme, task] = competence(asked, rng, study.inference, can_tie=scheme != "forced")
    return found


def gate_rows(study: Study, judge: str, scheme: str, task: str) -> pd.DataFrame:
    """The Blind judgements that the gate looks at, their kinds named as it names them.

    Of damaged pairs, those of the levels that all schemes of the judge were asked about: a scheme that is
    asked about three errors alone would pass more easily than one that is asked about one as well.
    """
    rows = study.judgements
    damage, equal = GATE_KINDS[task]
    blind = rows[(rows["stage"] == "first") & (rows["probe"] == "blind") & (rows["judge"] == judge)]
    levels = blind[blind["kind"] == damage].groupby("scheme")["level"].unique()
    common = set.intersection(*map(set, levels)) if len(levels) else set()
    wanted = (blind["kind"] == equal) | ((blind["kind"] == damage) & blind["level"].isin(common))
    mine = blind[wanted & (blind["scheme"] == SAME_GATE.get(scheme, scheme))]
    return mine.assign(kind=mine["kind"].map({damage: "damage", equal: "equal"}))


def _task(kind: object) -> str:
    """Rows that tell no kind are about summaries."""
    return "answer" if str(kind).startswith("qa_") else "summary"


# --- What every row says besides its estimate -------------------------------------------------------


def finisher(study: Study, gates: Gates) -> Callable[..., pd.DataFrame]:
    """Adds the paper's numbers, the gate, and what the rows rest on; a table may name columns of its own."""
    verdicts = {cell: gate.verdict for cell, gate in gates.items()}
    known = set(pages.SCHEME_NAMES) - {""}

    def gate_of(row: dict[str, Any]) -> str:
        cell = row["judge"], row["scheme"], _task(row["kind"])
        return verdicts.get(cell, results.NOT_ASKED if row["scheme"] in known else "")

    def finish(rows: pd.DataFrame, *own: str) -> pd.DataFrame:
        return results.finished(rows, study, [*COLUMNS, *own], TEXTS, gate_of, counterpart_of)

    return finish


def counterpart_of(row: dict[str, Any]) -> results.Counterpart:
    """What the paper prints about a row: the range of its five judges and, for one of them, its own number.

    Where it prints none of that judge, the value is what follows from its counts.
    """
    named = ("quantity", "kind", "scheme", "condition", "system", "over", "wording")
    found = counterparts.of(**{name: row[name] for name in named}, coding=row["coding"] or "carrier")
    cell = found.of(row["judge"])
    return results.Counterpart(cell.id, cell.value, *found.span)


def one_frame(rows: Iterable[dict[str, object]] | Iterator[dict[str, object]]) -> pd.DataFrame:
    """Rows as a frame that has `COLUMNS` even where there is none."""
    return pd.DataFrame(list(rows), columns=list(COLUMNS))
