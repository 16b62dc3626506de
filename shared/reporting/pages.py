"""What the pages of all tables share: what a table rests on, the gate, lines without empty columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from shared.reporting.tables import TOO_FEW, markdown

INSTRUMENT_CHECK = "instrument check"

GATE_NOTES: Mapping[str, str] = {
    "passed": "",
    "failed": INSTRUMENT_CHECK,
    "too few to tell": "gate not passed (too few to tell)",
    "not asked": "gate not asked",
    "": "",
}
"""What a row says of the competence gate: nothing only where it was passed."""


def note(gate: str, few: bool) -> str:
    """What a row says of the gate and of its number of independent sources; nothing where both suffice."""
    return "; ".join(filter(None, [GATE_NOTES[gate], TOO_FEW if few else ""]))


def basis(rows: pd.DataFrame, profile: str, sources: str = "documents") -> str:
    """The profile, the largest n, and who judged; a table about no judge names none."""
    parts = [f"Profile `{profile}`"]
    if rows["n_clusters"].notna().any():
        largest = f"{rows['n_items'].max():.0f} items of {rows['n_clusters'].max():.0f} {sources}"
        parts.append(f"up to {largest} a row")
    judges = rows[["judge", "fingerprint"]].dropna(subset="judge").drop_duplicates()
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
