"""What a study's notebook shows: answers as a reader reads them, rows of tables, figures that are there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pandas.io.formats.style import Styler

from shared.frames import read, rows_of
from shared.judge.parsing import status_before_reading
from shared.reporting import readme
from shared.reporting.pages import plain
from shared.reporting.tables import between, interval, markdown, number, p_value, whole

TABLES = readme.Tables(readme.TABLES, seen_from=Path("notebooks"))
FIGURES = Path("figures")
DATA = Path("data")


# --- What was asked ---------------------------------------------------------------------------------


class Asked(NamedTuple):
    """What one judge was asked and what it answered; ``items`` are what is judged, by their id."""

    items: Mapping[str, dict[str, Any]]
    trials: pd.DataFrame
    responses: pd.DataFrame
    judgements: pd.DataFrame


def none_asked(columns: Sequence[str]) -> Asked:
    """What there is to show before anything was run: no trial, though it has its columns."""
    return Asked({}, pd.DataFrame(columns=list(columns)), pd.DataFrame(), pd.DataFrame())


def load_asked(study: str, judge: str, *, judged: bool = True) -> Asked:
    """The items, trials and answers of one judge, as `make repro` leaves them.

    Parameters
    ----------
    study, judge : str
    judged : bool
        False where only answers are shown, and nothing that was read from them: no judgements then.

    Raises
    ------
    UserError
        If a file is absent: it names the file and `make repro`.
    """
    folder, file = DATA / study, f"{judge}.parquet"
    items, trials = read(folder / "items.parquet", "data"), read(folder / "trials.parquet", "design")
    responses = read(folder / "responses" / file, "judge")
    judgements = read(folder / "judgements" / file, "judgements") if judged else pd.DataFrame()
    return Asked({row["item"]: row for row in rows_of(items)}, trials, responses, judgements)


# --- Answers ----------------------------------------------------------------------------------------


def said(answer: Mapping[str, Any]) -> tuple[str, str]:
    """Words and status of a row of responses; a trial that failed has a row with an error and no text."""
    if not isinstance(answer["text"], str):
        return str(answer["error"]), "failed"
    return readable(answer["text"]), status_before_reading(answer["text"], answer["finish_reason"])


def readable(text: str) -> str:
    """An answer without its JSON: ``verdict: tie; rationale: Alike.``; any other text as it is.

    Nested fields stand in brackets after their name: ``scores (order: 4, tone: 5)``.
    """
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _fields(fields, "; ") if isinstance(fields, dict) and fields else text


def _fields(fields: Mapping[str, Any], between_them: str) -> str:
    return between_them.join(
        f"{name} ({_fields(value, ', ')})" if isinstance(value, dict) else f"{name}: {value}"
        for name, value in fields.items()
    )


def to_read(frame: pd.DataFrame) -> Styler:
    """Texts to the left, without the index; markup in an answer is shown, not obeyed."""
    left = frame.style.format(escape="html").hide(axis="index")
    return left.set_properties(None, **{"text-align": "left", "vertical-align": "top"})


# --- Tables and figures -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Results:
    """One study's tables and figures.

    Attributes
    ----------
    study : str
    reasons : mapping
        Why a table has no rows, by its name.
    keys : sequence of str
        What may tell two rows of a table apart, in the order of its columns.
    always : sequence of str
        Those of ``keys`` that are shown even where they tell no rows apart.
    """

    study: str
    reasons: Mapping[str, str]
    keys: Sequence[str]
    always: Sequence[str] = ("judge",)

    def table(self, source: str, *extras: str) -> str:
        """Rows of one of the study's tables, in Markdown.

        Parameters
        ----------
        source : str
            ``<table> column=value[,value] ...``: the table's name, and which rows.
        *extras : str
            Columns of numbers to show beside ours, such as ``p_holm`` and ``mde``.

        Returns
        -------
        str
            What tells the rows apart, ours with its interval, the extras, n (independent sources), unparsed,
            the paper's number or range, the note; below it, the run that they are of. One line in its place
            where there is no such table, or no such row.

        Raises
        ------
        KeyError
            If the table has no column of an extra's name.
        """
        name = source.split()[0]
        if absent := self.absent(name):
            return absent
        try:
            rows = TABLES.rows(f"{self.study}/{source}")
        except readme.ReadmeError as error:
            empty = TABLES.rows(f"{self.study}/{name}").empty
            return f"*Not run: {self.reasons[name] if empty else error}.*"
        return "\n".join([markdown(self._laid_out(rows, extras)), "", readme.origin(rows, TABLES)])

    def drawn(self, *names: str) -> list[Path]:
        """The files of those of the study's figures that are there."""
        files = [FIGURES / self.study / f"{name}.svg" for name in names]
        return [file for file in files if file.is_file()]

    def absent(self, name: str) -> str:
        """That a table is not there, and the fix; nothing where it is."""
        file = TABLES.folder / self.study / f"{name}.csv"
        return "" if file.is_file() else f"*`{name}` is not there yet: run `make repro`, which writes it.*"

    def _laid_out(self, rows: pd.DataFrame, extras: Sequence[str]) -> pd.DataFrame:
        """The columns that `table` names; those without a word in them are left out."""
        there = [key for key in self.keys if key in rows]
        names = [key for key in there if key in self.always or rows[key].nunique(dropna=False) > 1]
        columns: dict[str, Any] = {
            "ours [interval]": [interval(*row) for row in _values(rows, "value", "ci_low", "ci_high")],
            **{name: rows[name].map(p_value if name.startswith("p") else number) for name in extras},
            "n": rows["n_clusters"].map(whole),
            "unparsed": rows["n_unparsed"].map(whole),
            "paper": [_paper(*row) for row in _values(rows, "published", "paper_low", "paper_high")],
            "note": rows["note"],
        }
        laid = rows[names].map(plain).assign(**columns)
        return laid.loc[:, (laid != "").any()]


def _paper(exact: float, low: float, high: float) -> str:
    """What the paper printed for this judge, or its range."""
    return between(exact, exact) or between(low, high)


def _values(rows: pd.DataFrame, *columns: str) -> Iterator[tuple[float, ...]]:
    return rows[list(columns)].astype(float).itertuples(index=False, name=None)
