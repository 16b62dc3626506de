"""What the pages of all tables share: what a table rests on, the gate, its rows as lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from shared.reporting.tables import TOO_FEW, interval, markdown, whole

INSTRUMENT_CHECK = "instrument check"

GATE_NOTES: Mapping[str, str] = {
    "passed": "",
    "failed": INSTRUMENT_CHECK,
    "too few to tell": "gate not passed (too few to tell)",
    "not asked": "gate not asked",
    "": "",
}
"""What a row says of the competence gate: nothing only where it was passed."""


class Text(NamedTuple):
    """A page's title and its first words: what is counted."""

    title: str
    counted: str


def note(gate: str, few: bool) -> str:
    """What a row says of the gate and of its number of independent sources; nothing where both suffice."""
    return "; ".join(filter(None, [GATE_NOTES[gate], TOO_FEW if few else ""]))


def basis(rows: pd.DataFrame, profile: str, sources: str = "documents", several: Sequence[str] = ()) -> str:
    """The profile, the largest n, and who judged; a table about no judge names none.

    Parameters
    ----------
    rows : DataFrame
    profile : str
    sources : str
        What the independent sources are called.
    several : sequence of str
        What stands in ``judge`` where a row is about several, and has no fingerprint: left out.
    """
    own = rows[~rows["judge"].isin(several)]
    parts = [f"Profile `{profile}`"]
    if own["n_items"].notna().any() and own["n_clusters"].notna().any():
        largest = f"{own['n_items'].max():.0f} items of {own['n_clusters'].max():.0f} {sources}"
        parts.append(f"up to {largest} a row")
    judges = own[["judge", "fingerprint"]].dropna(subset="judge").drop_duplicates()
    named = [f"{judge} (fingerprint {mark or 'none'})" for judge, mark in judges.itertuples(index=False)]
    if named:
        parts.append(f"judge: {', '.join(named)}")
    return "; ".join(parts) + "."


def gate_notes(rows: pd.DataFrame, sources: str = "documents") -> list[str]:
    """What the marks in the column ``note`` mean, for those that are there."""
    notes = []
    if rows["note"].str.contains(INSTRUMENT_CHECK).any():
        notes.append(
            f"{INSTRUMENT_CHECK}: the judge failed the [competence gate](competence.md) under this scheme, "
            "so the row tells about the instrument and not about a bias."
        )
    if (rows["gate"] == "too few to tell").any():
        notes.append(
            f"{GATE_NOTES['too few to tell']}: the judge has not passed the [competence gate](competence.md) "
            f"under this scheme, with too few {sources} to say that it failed."
        )
    if rows["note"].str.contains(TOO_FEW).any():
        notes.append(f"{TOO_FEW}: fewer {sources} than `statistics.few_clusters` in params.")
    return notes


# --- Names ------------------------------------------------------------------------------------------


def plain(value: Any) -> str:
    """A name as it is printed; a number without zeros that say nothing, nothing for nan.

    Examples
    --------
    >>> plain("lock"), plain(5.0), plain(0.25), plain(float("nan"))
    ('lock', '5', '0.25', '')
    """
    if isinstance(value, str):
        return value
    return "" if pd.isna(value) else f"{value:g}"


def values(rows: pd.DataFrame, name: str) -> list[str]:
    """The different values of a name, in their order; of rows that have it."""
    return [value for value in dict.fromkeys(map(plain, rows[name].unique())) if value]


def differing(rows: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """The names in which two rows differ: a table has a column of each."""
    return [name for name in names if len(values(rows, name)) > 1]


def in_common(rows: pd.DataFrame, names: Sequence[str], labels: Mapping[str, str]) -> str:
    """The names in which no two rows differ, which no column repeats; ``labels`` say how they are called."""
    same = [(name, values(rows, name)) for name in names]
    told = [f"{labels.get(name, name)} {found[0]}" for name, found in same if len(found) == 1]
    return f"In all rows: {', '.join(told)}." if told else ""


# --- Numbers ----------------------------------------------------------------------------------------


def estimate(row: pd.Series) -> str:
    """A row's value with its interval."""
    return interval(row["value"], row["ci_low"], row["ci_high"])


def sizes(row: pd.Series, sources: str = "documents") -> dict[str, str]:
    """What a row rests on: items, independent sources, answers that could not be parsed."""
    columns = {"n": "n_items", sources: "n_clusters", "unparsed": "n_unparsed"}
    return {name: whole(row[column]) for name, column in columns.items()}


def statuses(cell: pd.DataFrame, names: Mapping[str, str], called: Callable[[str], str]) -> dict[str, str]:
    """One line of a table of statuses: counts side by side, with the rate of ``ok``.

    Parameters
    ----------
    cell : DataFrame
        One row a status, of quantity ``<status>_rate``.
    names : mapping
        What names the cell, by column.
    called : callable
        How a quantity is called.
    """
    first, answered = cell.iloc[0], cell[cell["quantity"] == "ok_rate"].iloc[0]
    line = {**names, "answers due": whole(first["n_trials"])}
    line |= {called(row["quantity"]): whole(row["count"]) for _, row in cell.iterrows()}
    return line | {"ok rate [interval]": estimate(answered), "note": first["note"]}


# --- Lines ------------------------------------------------------------------------------------------


def table(lines: Sequence[dict[str, str]]) -> str:
    """Lines as Markdown, without the columns that would say nothing: see `_says_something`."""
    frame = pd.DataFrame(lines).fillna("")
    unparsed = "unparsed" in frame and bool((frame["unparsed"] != "0").any())
    return markdown(frame[[name for name in frame if _says_something(str(name), frame[name], unparsed)]])


def _says_something(name: str, column: pd.Series, unparsed: bool) -> bool:
    """Not: what is empty throughout, one kind throughout, and "of all" where all were parsed."""
    if name.endswith("of all") and not unparsed:
        return False
    if name != "ours [interval]" and set(column) <= {"", "n/a"}:
        return False
    return bool((column != "").any()) and not (name == "kind" and column.nunique() == 1)
