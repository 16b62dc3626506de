"""Puts the tables' numbers into the READMEs, between markers, so that none of them is typed by hand.

A marker is a pair of HTML comments, which a reader of the page does not see. What stands between them is
replaced; ``<study>/<table>`` is a file below ``paper_tables/``, and ``column=value[,value]`` chooses rows::

    <!-- begin: <study>/<table> [column=value ...] -->          the table, or the chosen rows
    <!-- end: <study>/<table> -->

    <!-- begin: value <study>/<table> column=value ... --><!-- end: value -->     one number, in a sentence

    <!-- begin: published <id> --><!-- end: published -->         a number or range that a paper printed

    <!-- begin: gate <study>/<table> -->                        which judges passed the competence gate
    <!-- end: gate -->

    <!-- begin: findings                                        one line a question, one column a scheme
    <question>: <study>/<table> column=value ...
    -->
    <!-- end: findings -->

Run as ``python -m shared.reporting.readme``; with ``--check`` nothing is written, and a README that does
not agree with the tables is an error.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from shared.errors import UserError, run_stage
from shared.reporting import published
from shared.reporting.tables import COLUMNS, TOO_FEW, between, interval, markdown, read, whole

TABLES = Path("paper_tables")

_COMMENT = re.compile(r"<!-- (?P<side>begin|end): (?P<spec>.*?)\s*-->", re.DOTALL)
_TABLE_NAME = re.compile(r"\w+/\w+")

ABOUT_THE_RUN = ("published_id", "verdict", "profile", "fingerprint", "gate", "note", "table")
"""Columns of text that do not say what a row is about."""

NEEDED = (*COLUMNS, "profile", "fingerprint", "gate", "note")

GATE = {
    "passed": "passes the competence gate under {}",
    "failed": "fails the competence gate under {}",
    "too few to tell": "was asked too little for the competence gate under {}",
}
"""The gate's verdicts, in words."""


class ReadmeError(UserError):
    """A marker can't be filled, or a README is stale. One line: the file, the marker, the fix."""


@dataclass(frozen=True)
class Tables:
    """The rebuilt tables, as seen from one README.

    Attributes
    ----------
    folder : Path
        Where ``<study>/<table>.csv`` and the ``.md`` beside it lie.
    seen_from : Path
        The README's folder: links start there.
    """

    folder: Path
    seen_from: Path

    def rows(self, source: str) -> pd.DataFrame:
        """The rows that ``<study>/<table> column=value[,value] ...`` chooses, with the ``table``'s name.

        Raises
        ------
        ReadmeError
            If there is no such table or column, or no row is chosen.
        """
        name, *filters = source.split()
        frame = read(self._file(name, ".csv"))
        if absent := [column for column in NEEDED if column not in frame]:
            raise ReadmeError(f"{name}.csv has no column {absent[0]!r}; rebuild it with `make repro`")
        for condition in filters:
            frame = _chosen(frame, condition, name)
        return frame.assign(table=name)

    def readable(self, name: str) -> list[str]:
        """The first table of the readable ``.md``, line by line."""
        lines = self._file(name, ".md").read_text(encoding="utf-8").splitlines()
        is_row = [line.startswith("|") for line in lines]
        if True not in is_row:
            raise ReadmeError(f"{name}.md holds no table; rebuild it with `make repro`")
        start = is_row.index(True)
        stop = is_row.index(False, start) if False in is_row[start:] else len(lines)
        return lines[start:stop]

    def link(self, name: str) -> str:
        target = os.path.relpath(self.folder / f"{name}.md", self.seen_from)
        return f"[{name.split('/')[1]}]({Path(target).as_posix()})"

    def _file(self, name: str, suffix: str) -> Path:
        if not _TABLE_NAME.fullmatch(name):
            raise ReadmeError(f"{name!r} is not <study>/<table>")
        file = self.folder / f"{name}{suffix}"
        if not file.is_file():
            raise ReadmeError(f"{TABLES / name}{suffix} is absent; run `make repro`, or mend the marker")
        return file


def fill(text: str, tables: Tables) -> str:
    """The text with everything between its markers made anew.

    Parameters
    ----------
    text : str
        A README.
    tables : Tables

    Returns
    -------
    str
        Filling it again changes nothing. What stands outside the markers is untouched.

    Raises
    ------
    ReadmeError
        Naming the marker: an unknown or unclosed one, a table that is absent, a filter that chooses no row.
    """

    made, at = [], 0
    for begin, end in _pairs(text):
        try:
            made += [text[at : begin.end()], content(begin["spec"], tables)]
        except ReadmeError as error:
            raise ReadmeError(f"marker {_name(begin)!r}: {error}") from None
        at = end.start()
    return "".join([*made, text[at:]])


def _pairs(text: str) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Each begin with the end that follows it."""
    found = list(_COMMENT.finditer(text))
    for begin, end in zip_longest(found[::2], found[1::2]):
        closed = end is not None and (end["side"], end["spec"]) == ("end", _name(begin))
        if begin["side"] != "begin" or not closed:
            line = text.count("\n", 0, begin.start()) + 1
            raise ReadmeError(
                f"marker {_name(begin)!r} on line {line} has no partner; a begin is followed by its own "
                f"'<!-- end: {_name(begin)} -->'"
            )
        yield begin, end


def _name(marker: re.Match[str]) -> str:
    """The first word, which the end repeats."""
    return next(iter(marker["spec"].split()), "")


def content(spec: str, tables: Tables) -> str:
    """What belongs between the markers, the line ends around a block included."""
    first, *others = spec.splitlines() or [""]
    kind, _, rest = first.partition(" ")
    if kind == "findings":
        return _block(findings(others, tables))
    if kind == "value":
        return value(rest, tables)
    if kind == "published":
        return printed(rest)
    if kind == "gate":
        return _block(gate(tables.rows(rest)))
    if "/" in kind:
        return _block(table(first, tables))
    raise ReadmeError("unknown; a marker names <study>/<table>, value, published, gate or findings")


def table(source: str, tables: Tables) -> list[str]:
    """A whole table as its ``.md`` has it, or the chosen rows of its ``.csv``, and where it comes from."""
    rows = tables.rows(source)
    name = source.split()[0]
    lines = _chosen_table(rows) if source != name else tables.readable(name)
    return [*lines, "", origin(rows, tables)]


def value(source: str, tables: Tables) -> str:
    """One number with its interval.

    Raises
    ------
    ReadmeError
        If the filters choose more than one row.
    """
    rows = tables.rows(source)
    if len(rows) > 1:
        keys = ", ".join(_telling(rows)) or "another column"
        raise ReadmeError(f"{len(rows)} rows fit; choose by {keys} too")
    return _ours(rows.iloc[0])


def printed(id: str) -> str:
    """A published number, or ``low to high`` where a range is printed."""
    try:
        return f"{published.value(id):g}"
    except published.UnknownNumberError as error:
        raise ReadmeError(str(error)) from None
    except ValueError:
        return " to ".join(f"{end:g}" for end in published.bounds(id))


def gate(rows: pd.DataFrame) -> list[str]:
    """In words: under which schemes each judge passed the competence gate, and what follows.

    Parameters
    ----------
    rows : DataFrame
        With ``judge``, ``scheme`` and ``gate``.

    Raises
    ------
    ReadmeError
        If ``gate`` is none of `GATE`'s words.
    """
    if unknown := sorted(set(map(str, rows["gate"])) - set(GATE)):
        raise ReadmeError(f"gate says {unknown[0]!r}, not one of: {', '.join(GATE)}")
    sentences = [_gate_of(str(judge), own) for judge, own in rows.groupby("judge", sort=False)]
    passed = rows["gate"] == "passed"
    if not passed.any():
        sentences.append(
            "So all of these numbers are an *instrument check*: they show that the pipeline runs and how "
            "wide the intervals are, not whether the paper's claims hold."
        )
    elif not passed.all():
        sentences.append("Only what a judge shows under a scheme that it passed is a finding about it.")
    return [" ".join(sentences)]


def _gate_of(judge: str, rows: pd.DataFrame) -> str:
    schemes = {verdict: rows.loc[rows["gate"] == verdict, "scheme"].unique() for verdict in GATE}
    told = [GATE[verdict].format(", ".join(names)) for verdict, names in schemes.items() if len(names)]
    return f"`{judge}` {'; it '.join(told)}."


def findings(lines: Iterable[str], tables: Tables) -> list[str]:
    """One row a question and judge, one column a scheme; the paper's range below our number.

    Numbers of a judge that did not pass the gate under a scheme are in italics.
    """
    questions = [_question(line, tables) for line in lines if line.strip()]
    if not questions:
        raise ReadmeError("give one line a question: '<question>: <study>/<table> column=value'")
    rows = pd.concat([frame.assign(question=name) for name, frame in questions], ignore_index=True)
    doubled = rows.duplicated(["question", "judge", "scheme"])
    if doubled.any():
        question = rows.loc[doubled, "question"].iloc[0]
        raise ReadmeError(f"{question!r} has several rows a scheme; choose by another column too")
    schemes = list(rows["scheme"].unique())
    body = [
        [str(question), f"`{judge}`", *_cells(own, schemes), _range(own["n_clusters"])]
        for (question, judge), own in rows.groupby(["question", "judge"], sort=False)
    ]
    head = ["", "judge", *schemes, "n"]
    return [markdown(pd.DataFrame(body, columns=head)), "", _legend(rows), origin(rows, tables)]


def _question(line: str, tables: Tables) -> tuple[str, pd.DataFrame]:
    name, colon, source = line.rpartition(": ")
    if not colon:
        raise ReadmeError(f"{line.strip()!r} is not '<question>: <study>/<table> column=value'")
    return name.strip(), tables.rows(source)


def _cells(rows: pd.DataFrame, schemes: list[str]) -> list[str]:
    by_scheme = {row["scheme"]: row for _, row in rows.iterrows()}
    return [_cell(by_scheme[scheme]) if scheme in by_scheme else "" for scheme in schemes]


def _cell(row: pd.Series) -> str:
    ours = _ours(row) if row["gate"] == "passed" else f"*{_ours(row)}*"
    paper = _paper(row)
    return f"{ours}<br>paper: {paper}" if paper else ours


def _legend(rows: pd.DataFrame) -> str:
    legend = "Value [interval]; n: independent sources (documents)."
    if (rows["gate"] == "passed").all():
        return legend
    return (
        f"{legend} Italics: an instrument check, since the judge has not passed the gate under that scheme."
    )


def _ours(row: pd.Series) -> str:
    return interval(row["value"], row["ci_low"], row["ci_high"])


def _paper(row: pd.Series) -> str:
    """What the paper printed: the very cell, or the range over its judges; empty where there is neither."""
    exact = row.get("published", math.nan)
    return between(exact, exact) or between(row.get("paper_low", math.nan), row.get("paper_high", math.nan))


def origin(rows: pd.DataFrame, tables: Tables) -> str:
    """Which run the rows are of: tables, profile, judges and fingerprints, and how many clusters."""
    links = ", ".join(tables.link(name) for name in rows["table"].unique())
    judges = rows[["judge", "fingerprint"]].drop_duplicates().itertuples(index=False)
    told = "; ".join(f"`{judge}` ({fingerprint})" for judge, fingerprint in judges if judge)
    profiles = ", ".join(rows["profile"].unique())
    few = " Too few to conclude." if rows["note"].str.contains(TOO_FEW).any() else ""
    n = f"n = {_range(rows['n_clusters'])} (sources)" if rows["n_clusters"].notna().any() else ""
    return f"From {links}: {'; '.join(filter(None, [f'profile {profiles}', told, n]))}.{few}"


def _chosen_table(rows: pd.DataFrame) -> list[str]:
    """Chosen rows of a CSV: the keys that differ among them, ours, n, unparsed, the paper's, the gate."""
    names = ["judge", "scheme"]
    shown = rows[names + [key for key in _telling(rows) if key not in names]].assign(
        **{
            "ours [interval]": rows.apply(_ours, axis=1),
            "n": rows["n_clusters"].map(whole),
            "unparsed": rows["n_unparsed"].map(whole),
            "paper": rows.apply(_paper, axis=1),
            "gate": rows["gate"].replace("failed", "instrument check"),
        }
    )
    return [markdown(shown.loc[:, (shown != "").any()])]


def _telling(rows: pd.DataFrame) -> list[str]:
    """Columns of text that tell the rows apart."""
    texts = (column for column in rows if not is_numeric_dtype(rows[column]))
    return [str(name) for name in texts if name not in ABOUT_THE_RUN and rows[name].nunique(dropna=False) > 1]


def _chosen(frame: pd.DataFrame, condition: str, name: str) -> pd.DataFrame:
    column, equals, wanted = condition.partition("=")
    if not equals or column not in frame:
        raise ReadmeError(f"{condition!r} does not choose rows; {name}.csv has: {', '.join(frame.columns)}")
    written = frame[column].map(_as_written)
    chosen = frame[written.isin(wanted.split(","))]
    if chosen.empty:
        there = ", ".join(written.unique())
        raise ReadmeError(f"{name}.csv has no row with {condition}; {column} is one of: {there}")
    return chosen


def _as_written(value: object) -> str:
    """A cell as a filter names it: 5, not 5.0."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _block(lines: list[str]) -> str:
    return "\n" + "\n".join(lines) + "\n"


def _range(counts: pd.Series) -> str:
    """``25``, or ``1 to 25`` where rows differ."""
    least, most = whole(counts.min()), whole(counts.max())
    return least if least == most else f"{least} to {most}"


def readmes(root: Path) -> list[Path]:
    """The pages that hold markers: the repository's and each study's."""
    return [root / "README.md", *sorted(root.glob("studies/*/README.md"))]


def remake(file: Path, root: Path) -> tuple[str, str]:
    """A README's text as it is, and as the tables say that it should be."""
    text = file.read_text(encoding="utf-8")
    try:
        return text, fill(text, Tables(root / TABLES, file.parent))
    except ReadmeError as error:
        raise ReadmeError(f"{file.relative_to(root)}: {error}") from None


def check(root: Path) -> None:
    """Raise `ReadmeError`, naming the stale files, unless every README agrees with the tables."""
    texts = {file: remake(file, root) for file in readmes(root)}
    stale = [str(file.relative_to(root)) for file, (old, new) in texts.items() if old != new]
    if stale:
        raise ReadmeError(f"{', '.join(stale)}: not what the tables say; run `make readme`")


def main() -> None:
    root = Path.cwd()
    if sys.argv[1:] == ["--check"]:
        check(root)
        return
    if sys.argv[1:]:
        raise ReadmeError(f"unknown argument {sys.argv[1]!r}; use --check or nothing")
    # All are made before any is written: a marker that can't be filled leaves them as they were.
    for file, (old, new) in {file: remake(file, root) for file in readmes(root)}.items():
        if new != old:
            file.write_text(new, encoding="utf-8")
            print(f"{file.relative_to(root)}: brought up to date")


if __name__ == "__main__":
    run_stage(main)
