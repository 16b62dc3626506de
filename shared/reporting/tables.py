"""Result tables for programs and for people: a tidy CSV, and a Markdown page beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype
from tabulate import tabulate

COLUMNS = (
    "quantity", "judge", "scheme", "condition", "value", "ci_low", "ci_high",
    "n_items", "n_clusters", "n_unparsed", "published_id",
)  # fmt: skip
"""What every result table has, first and in this order; a study adds its own columns after them."""

NOT_AVAILABLE = "n/a"
TOO_FEW = "too few to conclude"


def number(value: float) -> str:
    """Three decimals; ``n/a`` for nan, and never ``-0.000``."""
    return NOT_AVAILABLE if math.isnan(value) else f"{round(float(value), 3) + 0.0:.3f}"


def p_value(value: float) -> str:
    """Three decimals; below 0.001 two significant digits, since no p-value is 0."""
    return f"{value:.1e}" if 0 < value < 0.001 else number(value)


def whole(value: float) -> str:
    """A count; ``n/a`` for nan."""
    return NOT_AVAILABLE if math.isnan(value) else f"{int(value)}"


def interval(value: float, low: float, high: float) -> str:
    """``0.840 [0.790, 0.880]``; ``0.840 [n/a]`` where there is no interval, ``n/a`` where no value."""
    if math.isnan(value):
        return NOT_AVAILABLE
    ends = NOT_AVAILABLE if math.isnan(low) or math.isnan(high) else f"{number(low)}, {number(high)}"
    return f"{number(value)} [{ends}]"


def between(low: float, high: float) -> str:
    """``0.710 to 0.840``, one number where both ends print alike, nothing where there is neither."""
    if math.isnan(low) or math.isnan(high):
        return ""
    ends = number(low), number(high)
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def fingerprints(judgements: pd.DataFrame) -> dict[str, str]:
    """Each judge's fingerprints, of which it mostly has one, in one text."""
    told = judgements.dropna(subset="fingerprint")
    found = told.groupby("judge", sort=False)["fingerprint"].unique()
    return {str(judge): " ".join(marks) for judge, marks in found.items()}


def markdown(rows: pd.DataFrame) -> str:
    """The frame as a Markdown table, its cells as they are."""
    cells = [[_inline(cell) for cell in row] for row in rows.itertuples(index=False)]
    header = [_inline(name) for name in rows.columns]
    return tabulate(cells, header, tablefmt="pipe", disable_numparse=True)


NAMES = ("quantity", "judge", "scheme", "condition", "published_id", "profile", "fingerprint")
"""Columns of names: a fingerprint such as 123e45678901 is no number."""


def write(path: Path, rows: pd.DataFrame, page: Iterable[str]) -> None:
    """Write a table and its page.

    Parameters
    ----------
    path : Path
        Of the CSV; the page has the same name with ``.md``. The folder is made.
    rows : DataFrame
        `COLUMNS` first. Floats are written with three decimals, counts (``n_...``, ``count``) whole, p-values
        so that none reads 0, and what is undefined as ``n/a``, which pandas reads back as nan.
    page : iterable of str
        Paragraphs and tables of the page, in Markdown.

    Raises
    ------
    ValueError
        If a column that every table has is missing or out of place.
    """
    if tuple(rows.columns[: len(COLUMNS)]) != COLUMNS:
        raise ValueError(f"{path}: a table starts with the columns {', '.join(COLUMNS)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    rows.apply(_written).to_csv(path, index=False, lineterminator="\n")
    path.with_suffix(".md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


def read(path: Path) -> pd.DataFrame:
    """A table as `write` wrote it: ``n/a`` is nan, a text that is lacking is ``""``."""
    names = dict.fromkeys(NAMES, str)
    return pd.read_csv(path, keep_default_na=False, na_values=[NOT_AVAILABLE], dtype=names)


def _written(column: pd.Series) -> pd.Series:
    """A column as the CSV has it."""
    name = str(column.name)
    if not is_numeric_dtype(column):
        return column.astype(object).where(column.notna(), NOT_AVAILABLE)
    if name.startswith("n_") or name == "count":
        return column.map(whole)
    return column.map(p_value if name in ("p", "p_holm", "p_mcnemar") else number)


def _inline(cell: object) -> str:
    """A text that can't end its cell."""
    return " ".join(str(cell).split()).replace("|", "\\|")
