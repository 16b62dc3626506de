"""The numbers that the papers printed, read by id: no other module holds one."""

from __future__ import annotations

import difflib
import math
from functools import cache
from pathlib import Path

import pandas as pd

FOLDER = Path(__file__).resolve().parents[2] / "paper_tables" / "published"


class UnknownNumberError(LookupError):
    """No published table, cell or statement has this name; the message says which come close."""


def load(paper: str, table: int) -> pd.DataFrame:
    """A table of a paper, as printed.

    Parameters
    ----------
    paper : str
        ``rationalization_probes`` or ``eit``.
    table : int
        The number that the paper gives the table.

    Returns
    -------
    pandas.DataFrame
        One row a printed cell: ``id, table, model, scheme, probe, outcome, value, unit, source_line``.
        ``value`` is numeric where all cells of the table are numbers, else text.

    Raises
    ------
    UnknownNumberError
        If the paper or the table is not there; the message lists what is.
    """
    path = FOLDER / f"{paper}_table{table}.csv"
    if not path.is_file():
        there = ", ".join(sorted(p.stem for p in FOLDER.glob("*_table*.csv")))
        raise UnknownNumberError(f"no published table {table} of paper {paper!r}; there are: {there}")
    return pd.read_csv(path, keep_default_na=False)


@cache
def claims() -> pd.DataFrame:
    """The numbers and orderings of prose and captions, one a row (see the README beside the tables)."""
    return pd.read_csv(FOLDER / "claims.csv")


def value(id: str) -> float:
    """The printed number with this id.

    Raises
    ------
    UnknownNumberError
        If no cell or statement has the id.
    ValueError
        If it is printed as text or as a range (see `bounds`).

    Examples
    --------
    >>> value("rationalization_probes.t02.gemma_2_9b.scot.blind.tie")
    840.0
    """
    row = _row(id)
    try:
        number = float(row["value"])
    except ValueError:
        text = row["value"]
        raise ValueError(f"published number {id!r} is the text {text!r}; read it with load()") from None
    if math.isnan(number):
        raise ValueError(f"published number {id!r} is printed as a range; read it with bounds()")
    return number


def bounds(id: str) -> tuple[float, float]:
    """The two ends of a range that is printed in prose; nan where an end is not printed.

    Raises
    ------
    UnknownNumberError
        If no cell or statement has the id.
    ValueError
        If it is printed as one number (see `value`).
    """
    row = _row(id)
    low, high = (float(row.get(end, "nan")) for end in ("low", "high"))
    if math.isnan(low) and math.isnan(high):
        raise ValueError(f"published number {id!r} is one number, not a range; read it with value()")
    return low, high


def _row(id: str) -> pd.Series:
    index = _index()
    if id not in index:
        near = difflib.get_close_matches(id, index, n=3, cutoff=0.6)
        hint = f"did you mean {', '.join(near)}?" if near else "see paper_tables/published/README.md for ids"
        raise UnknownNumberError(f"no published number has the id {id!r}; {hint}")
    return index[id]


@cache
def _index() -> dict[str, pd.Series]:
    """Every cell and statement by its id."""
    frames = [pd.read_csv(p, keep_default_na=False) for p in FOLDER.glob("*_table*.csv")]
    rows = [row for frame in [*frames, claims()] for _, row in frame.iterrows()]
    return {row["id"]: row for row in rows}
