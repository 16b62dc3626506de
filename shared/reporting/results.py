"""What every row of a table says besides its estimate: the gate, the paper's number, what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shared.draws import generator
from shared.frames import rows_of
from shared.metrics.resampling import Inference
from shared.reporting import tables
from shared.reporting.pages import note

ENDING = ("published", "paper_low", "paper_high", "profile", "fingerprint", "gate", "note")
"""The last columns of every table, which `finished` fills in."""

NOT_ASKED = "not asked"
"""The gate of a cell that was not shown what the gate asks about, and so can't have passed."""

WORST_FIRST = ("failed", "too few to tell", NOT_ASKED, "passed")


@dataclass(frozen=True, slots=True)
class Study:
    """What all tables are made from. ``judgements`` has ``judge``."""

    judgements: pd.DataFrame
    inference: Inference
    seed: int
    profile: str

    def rng(self, *names: str) -> np.random.Generator:
        """A generator of one table's own, so that adding a table moves no other."""
        return generator(self.seed, "tables", *names)


class Counterpart(NamedTuple):
    """What a paper prints about a row of ours.

    Attributes
    ----------
    id : str
        The statement's, where it is one; "" where there is none, and of a range over several.
    value : float
        A number that is printed of just what the row is about; else nan.
    low, high : float
        A range; nan where there is none. Both the same where one number is printed of several together and
        the row is about one of them.
    """

    id: str = ""
    value: float = np.nan
    low: float = np.nan
    high: float = np.nan


def told_of(names: Mapping[str, Any]) -> dict[str, Any]:
    """Of what names a row, what says something: neither None nor "" nor nan."""
    return {name: value for name, value in names.items() if not _lacks(value)}


def _lacks(value: Any) -> bool:
    return value is None or value == "" or (not isinstance(value, str) and bool(pd.isna(value)))


def worst_of(gates: Collection[str]) -> str:
    """The gate of a row about several cells: one is as good as the worst of them; without any, not asked."""
    return next((gate for gate in WORST_FIRST if gate in gates), NOT_ASKED)


def finished(
    rows: pd.DataFrame,
    study: Study,
    columns: Sequence[str],
    texts: Sequence[str],
    gate_of: Callable[[dict[str, Any]], str],
    counterpart_of: Callable[[dict[str, Any]], Counterpart],
) -> pd.DataFrame:
    """A table's rows with all of its columns.

    Parameters
    ----------
    rows : DataFrame
        Estimates, with whatever columns they need; ``note`` may say something of its own.
    study : Study
    columns : sequence of str
        The table's: `shared.reporting.tables.COLUMNS` first, `ENDING` last.
    texts : sequence of str
        Those that hold texts; one that a row lacks is "", any other n/a.
    gate_of, counterpart_of : callable
        The verdict of the competence gate on a row, and what the paper prints about it.

    Returns
    -------
    DataFrame
    """
    rows = rows.reindex(columns=list(columns))
    rows[list(texts)] = rows[list(texts)].astype(object).fillna("")
    marks = tables.fingerprints(study.judgements)
    gate = [gate_of(row) for row in rows_of(rows)]
    few = rows["n_clusters"].astype(float) < study.inference.few_clusters
    printed = [counterpart_of(row) for row in rows_of(rows)]
    return rows.assign(
        published_id=[cell.id for cell in printed],
        published=[cell.value for cell in printed],
        paper_low=[cell.low for cell in printed],
        paper_high=[cell.high for cell in printed],
        profile=study.profile,
        fingerprint=rows["judge"].map(lambda judge: marks.get(judge, "")),
        gate=gate,
        note=[_note(*said) for said in zip(rows["note"], gate, few, strict=True)],
    )


def _note(own: Any, gate: str, few: bool) -> str:
    """What the estimate says of itself, then the gate and the number of sources."""
    return "; ".join(filter(None, ["" if pd.isna(own) else own, note(gate, few)]))
