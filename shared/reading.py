"""Reads rows of JSON from outside; what is wrong is told with its file, its line and the fix."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

from shared.errors import UserError
from shared.judge.hygiene import neutralise

LEAST, GREATEST = 1, 5
"""The scores that a rubric of five levels can give."""

RESERVED = ("/", "|")
"""What separates the parts of an item's and of a trial's id."""

LONGEST_NUMBER = 100
"""Digits of a whole number."""

SHOWN = 10
"""At most so many mistakes are told in one error."""

_SURROGATE = re.compile("[\ud800-\udfff]")

T = TypeVar("T")
U = TypeVar("U")
Placed = tuple[str, T]
"""What was read, after the place where it stands."""


class SourceError(UserError):
    """A data set cannot be used; the message names the file, the line and the fix, on one line."""


@dataclass(frozen=True, slots=True)
class Row:
    """A JSON object by column; its methods raise a ValueError that says what to mend."""

    values: Mapping[str, Any]

    def value(self, column: str) -> Any:
        """What stands in a column that must be there."""
        if column not in self.values:
            raise ValueError(f"no column {column!r}; add it (there are: {', '.join(self.values) or 'none'})")
        return self.values[column]

    def text(self, column: str) -> str:
        """A text that must be there: stripped, lines ended by ``\\n``."""
        return _text(self.value(column), column)

    def text_or_nothing(self, column: str) -> str:
        """A text, or "" where there is none to see: no column, null or blank."""
        value = self.values.get(column)
        return "" if value is None or value == "" else _stripped(value, column)

    def name(self, column: str) -> str:
        """An id: a whole number, or a text in one line without a `RESERVED` character."""
        value = self.value(column)
        whole = isinstance(value, int) and not isinstance(value, bool)
        return name_of(str(value) if whole else _text(value, column), column)

    def score(self, column: str, low: float = LEAST, high: float = GREATEST) -> float:
        """A number in a range; unless told otherwise, one that a rubric of five levels can give."""
        return _score(self.value(column), column, low, high)

    def mean_score(self, column: str, low: float = LEAST, high: float = GREATEST) -> float:
        """The mean of a list of such numbers."""
        return fmean(_score(score, column, low, high) for score in self._list(column))

    def texts(self, column: str) -> tuple[str, ...]:
        """The texts of a list, none of them empty."""
        return tuple(_text(text, f"a text of {column}") for text in self._list(column))

    def part(self, column: str) -> Row:
        """The object in a column."""
        return Row(_object(self.value(column), column))

    def parts(self, column: str) -> list[Row]:
        """The objects of a list."""
        return [Row(_object(part, f"a part of {column}")) for part in self._list(column)]

    def _list(self, column: str) -> list[Any]:
        value = self.value(column)
        if not isinstance(value, list) or not value:
            raise ValueError(f"{column} should be a list of one or more, not {_short(value)}; write it so")
        return value


def json_lines(file: Path, fix: str) -> list[Placed[Row]]:
    """The rows of a JSON Lines file; blank lines are passed over.

    Parameters
    ----------
    file : Path
        Packed by gzip where its name ends in ``.gz``.
    fix : str
        What to do where the file is absent or holds nothing.

    Raises
    ------
    SourceError
        If the file is absent or empty, or a line is not UTF-8, not JSON or not an object.
    """
    # Only "\n" ends a row: a text may hold any other character that str.splitlines splits at.
    numbered = enumerate(_content(file, fix).split(b"\n"), start=1)
    return made(((f"{file}:{at}", line) for at, line in numbered if line.strip()), _row)


def json_list(file: Path, fix: str) -> list[Placed[Row]]:
    """The rows of a JSON file that holds one list of objects.

    Raises
    ------
    SourceError
        As `json_lines`; a row is named by its number, from 1.
    """
    ((_, rows),) = made([(str(file), _content(file, fix))], _rows)
    numbered = enumerate(rows, start=1)
    return made(((f"{file}, row {at}", row) for at, row in numbered), lambda row: Row(_object(row, "it")))


def json_entries(file: Path, fix: str) -> list[Placed[tuple[str, Row]]]:
    """The rows of a JSON file that holds one object of objects, each after its key.

    Raises
    ------
    SourceError
        As `json_lines`; an entry is named by its key.
    """
    ((_, whole),) = made([(str(file), _content(file, fix))], _row)
    entries = ((f"{file}, entry {key!r}", (key, value)) for key, value in whole.values.items())
    return made(entries, lambda entry: (entry[0], Row(_object(entry[1], "the entry"))))


def hub_rows(dataset: str, revision: str, split: str) -> list[Placed[Row]]:
    """The rows of one split of a data set on a hub, at a pinned revision, each after its number from 0.

    Raises
    ------
    SourceError
        If the hub cannot be reached, or has no such data set, revision or split.
    """
    # Imported here: nothing but this source needs it, and it takes seconds.
    from datasets import load_dataset

    try:
        rows = load_dataset(dataset, revision=revision, split=split)
    except Exception as error:  # the hub's client raises dozens of kinds: absent, private, offline, no split
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise SourceError(f"{dataset} at {revision}, split {split}, cannot be loaded: {reason[0]}") from error
    return [(f"{dataset}[{at}]", Row(row)) for at, row in enumerate(rows)]


def made(found: Iterable[Placed[T]], make: Callable[[T], U]) -> list[Placed[U]]:
    """What ``make`` makes of all that was found, each after its place.

    Raises
    ------
    SourceError
        With the places of those that ``make`` refuses by a ValueError, and what is wrong there.
    """
    good, bad = list[Placed[U]](), defaultdict[str, list[str]](list)
    for where, value in found:
        try:
            good.append((where, make(value)))
        except ValueError as error:
            bad[str(error)].append(where)
    raise_for([f"{_places(places)}: {problem}" for problem, places in bad.items()])
    return good


def _places(places: Sequence[str]) -> str:
    """The first place, and at how many others the same is wrong: a misspelt column is told once."""
    return places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more"


def raise_for(problems: Sequence[str]) -> None:
    """Raise one `SourceError` that tells the problems (at most `SHOWN`), if there are any."""
    if problems:
        told = "; ".join(" ".join(problem.split()) for problem in problems[:SHOWN])
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise SourceError(told + more)


def name_of(name: str, what: str) -> str:
    """An id as it is, if it can be part of an item's id; ``what`` says in the error where it stands."""
    if visible(name) != name:
        raise ValueError(f"{what} {name!r} holds line ends, wide spaces or hidden characters; rename it")
    if any(mark in name for mark in RESERVED):
        raise ValueError(f"{what} {name!r} holds {' or '.join(RESERVED)}; rename it")
    return name


def visible(text: str) -> str:
    """What a reader sees of a text: neutralised, runs of white space as one space.

    >>> visible("one\\u200b\\n  text\\ufeff ")
    'one text'
    """
    return " ".join(neutralise(text)[0].split())


def _content(file: Path, fix: str) -> bytes:
    try:
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise SourceError(f"{file}: absent; {fix}") from None
    except IsADirectoryError:
        raise SourceError(f"{file}: a folder, where a file should be; {fix}") from None
    content = _unpacked(content, file) if file.suffix == ".gz" else content
    if not content.strip():
        raise SourceError(f"{file}: empty; {fix}")
    return content


def _unpacked(content: bytes, file: Path) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{file}: not whole or not gzip ({error}); fetch it again") from None


def _row(data: bytes) -> Row:
    return Row(_object(_json(_decoded(data)), "it"))


def _rows(data: bytes) -> list[Any]:
    whole = _json(_decoded(data))
    if not isinstance(whole, list):
        raise ValueError(f"it should be a JSON list of objects, not {_short(whole)}; write it so")
    return whole


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = data[error.start]
        raise ValueError(f"not UTF-8 (byte {wrong:#04x} at {error.start}); convert it to UTF-8") from None


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object_of, parse_int=_whole)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text.strip() else ""
        raise ValueError(f"not JSON ({error.msg}, {line}column {error.colno}); mend it there") from None
    except RecursionError:
        raise ValueError("not JSON (nested too deep); remove brackets") from None


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"a number has {len(digits)} digits; mend it")
    return int(digits)


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON would silently keep the last of two equal keys."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        doubled = next(key for key in values if keys.count(key) > 1)
        raise ValueError(f"the key {doubled!r} stands twice in one object; remove one")
    return values


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} should be a JSON object, not {_short(value)}; write it so")
    return value


def _text(value: Any, what: str) -> str:
    if not (text := _stripped(value, what)):
        raise ValueError(f"{what} is empty; write it, or remove the row")
    return text


def _stripped(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{what} should be a text, not {_short(value)}; put it in quotes")
    if _SURROGATE.search(value):
        raise ValueError(f"{what} is not UTF-8 (it holds half of a surrogate pair); remove that")
    return value.replace("\r\n", "\n").replace("\r", "\n").strip() if visible(value) else ""


def _score(value: Any, what: str, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} should be a number, not {_short(value)}; write it without quotes")
    if not low <= value <= high:  # nan lies nowhere
        raise ValueError(f"{what} is {_short(value)}, outside {low:g} to {high:g}; rescale or correct it")
    return float(value)


def _short(value: Any) -> str:
    text = "null" if value is None else " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
