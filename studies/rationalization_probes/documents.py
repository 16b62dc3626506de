"""Loads documents with the texts written about them, and refuses what cannot be judged."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, TypeVar

from shared.draws import number
from shared.errors import UserError
from shared.judge.hygiene import neutralise
from shared.reading import SourceError, hub_rows
from studies.rationalization_probes.damage import Edit, ladder
from studies.rationalization_probes.params import Documents

EMBEDDED = Path("data/embedded/rationalization_probes")
TEXT_SUFFIXES = (".md", ".txt")
REQUIRED = ("id", "text")
OPTIONAL = ("field", "summary", "paraphrase_1", "paraphrase_2", "samples", "damage")
SHOWN = 10
"""At most so many bad documents are named in one error."""

_TOKEN = re.compile(r"\w+|[^\w\s]")

Row = tuple[str, Mapping[str, Any]]
"""Where a row stands (for errors), and what it holds under the source's own column names."""


class HasField(Protocol):
    """A source of items: what has an id and belongs to a field."""

    @property
    def id(self) -> str: ...
    @property
    def field(self) -> str: ...


D = TypeVar("D", bound=HasField)
T = TypeVar("T")


class DocumentError(UserError):
    """Documents cannot be used; the message names them and the fix, on one line."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document and the texts that candidates are made of; None or empty where a text is lacking.

    Attributes
    ----------
    id : str
        Unique; the ``cluster`` of every item made of the document.
    text : str
        Stripped, lines ended by ``\\n``.
    provenance : str
        Who wrote the summary, paraphrases and samples: ``llm`` (embedded) or ``given`` (loaded from
        outside, writer unknown).
    field : str
        Subject, or the empty string.
    summary, paraphrase_1, paraphrase_2 : str or None
    samples : tuple of str
        Independent samples of one generator.
    damage : tuple of Edit
        Recorded errors for ``paraphrase_2``.
    generated : mapping of str to str
        For a text that a generator wrote, its provenance (``llm:<judge slug>``) by the text's name.
    """

    id: str
    text: str
    provenance: str
    field: str = ""
    summary: str | None = None
    paraphrase_1: str | None = None
    paraphrase_2: str | None = None
    samples: tuple[str, ...] = ()
    damage: tuple[Edit, ...] = ()
    generated: Mapping[str, str] = attribute(default_factory=dict)

    def writer(self, text: str) -> str:
        """Provenance of one of the texts: ``summary``, ``paraphrase_1``, ``paraphrase_2``, ``samples``."""
        return self.generated.get(text, self.provenance)

    def digest(self) -> str:
        """SHA-256 of the text and the summary: tells whether what was written about them still fits."""
        return hashlib.sha256(f"{self.text}\x1f{self.summary or ''}".encode()).hexdigest()


def load(settings: Documents, external_dir: Path, embedded: Path = EMBEDDED) -> list[Document]:
    """All documents of the source that the params name.

    Parameters
    ----------
    settings : Documents
        ``rationalization_probes.documents``.
    external_dir : Path
        ``data.external_dir``; ``settings.path`` lies below it.
    embedded : Path
        Folder of the embedded documents.

    Returns
    -------
    list of Document
        In the source's order (files by name, then lines). See `arrange`.

    Raises
    ------
    DocumentError
        If the source is absent or empty, or a document is empty, outside ``settings.tokens``, doubled
        (id or text), not UTF-8 or not readable. All bad documents are collected into one error.
    """
    rows, problems, provenance = _read(settings, external_dir, embedded)
    # The embedded files have columns of their own; those that the params name are of the user's files.
    mapped = {} if settings.source == "embedded" else settings.columns
    columns = columns_of(mapped, rows, REQUIRED, OPTIONAL, "document")
    documents, unusable = made_of(rows, lambda row: _document(row, columns, provenance))
    problems += unusable
    problems += _length_problems(documents, settings.tokens.min, settings.tokens.max)
    problems += duplicates(((document.id, document.text) for document in documents), "text")
    problems += _text_problems(documents)
    if not rows and not problems:
        problems.append(
            f"the source ({settings.source}) holds no document; see documents.path and documents.hub"
        )
    raise_for(problems)
    return documents


def load_embedded(folder: Path = EMBEDDED) -> list[Document]:
    """The embedded documents, whatever source the params name: their damage ladder tests any judge."""
    rows, problems = _read_path(folder)
    raise_for(problems)
    return [_document(row, columns_of({}, rows, REQUIRED, OPTIONAL, "document"), "llm") for _, row in rows]


def visible(text: str) -> str:
    """What a judge sees of a text: neutralised, runs of white space as one space.

    Whether a text is there at all, and whether two are the same, is asked of this form: texts that
    differ only in characters that show nothing are one text.

    >>> visible("one\\u200b\\n  text\\ufeff ")
    'one text'
    """
    return " ".join(neutralise(text)[0].split())


def count_tokens(text: str) -> int:
    """Words and punctuation marks of a text: runs of word characters, and every other mark alone.

    The paper names no tokenizer. This rule needs none, gives the same count everywhere, and lies a few
    percent below a subword count of English prose.
    """
    return len(_TOKEN.findall(text))


def arrange(documents: Iterable[D], seed: int) -> list[D]:
    """Round-robin over the fields, so that the first n documents cover as many fields as they can.

    Within a field documents stand by a hash of seed and id, and fields by a hash of seed and name.
    A new document changes no other's hash: those of its field that rank after it move by one round.

    Parameters
    ----------
    documents : iterable of Document
        Or of anything else with an ``id`` and a ``field``.
    seed : int
        Another seed gives another order.

    Returns
    -------
    list of Document
        A permutation of the input that does not depend on the input's order.
    """
    by_field: dict[str, list[D]] = defaultdict(list)
    for document in documents:
        by_field[document.field].append(document)
    places = [
        (turn, number(seed, "field", field), document)
        for field, members in by_field.items()
        for turn, document in enumerate(sorted(members, key=lambda d: number(seed, "document", d.id)))
    ]
    return [document for _, _, document in sorted(places, key=lambda place: place[:2])]


def raise_for(problems: Sequence[str], of: str = "documents") -> None:
    """Raise one `DocumentError` that lists the problems (at most ten), if there are any."""
    if not problems:
        return
    shown = "; ".join(" ".join(problem.split()) for problem in problems[:SHOWN])  # an id may hold line ends
    more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    raise DocumentError(f"{len(problems)} problem{'s' * (len(problems) > 1)} with {of}: {shown}{more}")


def _read(settings: Documents, external_dir: Path, embedded: Path) -> tuple[list[Row], list[str], str]:
    """Rows of the source, what could not be read, and the provenance of its texts."""
    if settings.source == "embedded":
        return *_read_path(embedded), "llm"
    if settings.source == "external":
        return *_read_path(external_dir / (settings.path or "")), "given"
    assert settings.hub is not None, "params refuse source: hub without a hub"
    return _read_hub(settings.hub.dataset, settings.hub.revision, settings.hub.split), [], "given"


def _read_path(path: Path) -> tuple[list[Row], list[str]]:
    """Rows of one file, of a folder's .jsonl files, or, where it has none, of its text files."""
    files = [path] if path.is_file() else sorted(f for f in path.glob("*") if f.is_file())
    lines = [f for f in files if f.suffix == ".jsonl"]
    if lines:  # text files beside them are notes about the data
        return collect(row for file in lines for row in json_lines(file))
    texts = [f for f in files if f.suffix in TEXT_SUFFIXES and f.stem.lower() != "readme"]
    if texts:
        return collect(_text_file(file) for file in texts)
    raise DocumentError(
        f"{path}: no documents there; documents.path names a folder of .txt, .md or .jsonl files, "
        "or one such file, below data.external_dir"
    )


def collect(rows: Iterable[Row | str]) -> tuple[list[Row], list[str]]:
    """The rows that could be read, and what is wrong with the others."""
    good: list[Row] = []
    problems: list[str] = []
    for row in rows:
        if isinstance(row, str):
            problems.append(row)
        else:
            good.append(row)
    return good, problems


def _text_file(file: Path) -> Row | str:
    try:
        return file.name, {"id": file.stem, "text": _decode(file.read_bytes())}
    except ValueError as error:
        return f"{file.name}: {error}"


def json_lines(file: Path) -> Iterator[Row | str]:
    for at, line in enumerate(file.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{file.name}:{at}"
        try:
            yield where, _json_object(_decode(line))
        except ValueError as error:
            yield f"{where}: {error}"


def _json_object(text: str) -> dict[str, Any]:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON ({error})") from error
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    return row


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = data[error.start]
        raise ValueError(f"not UTF-8 (byte {wrong:#04x} at {error.start}); convert it to UTF-8") from error


def _read_hub(dataset: str, revision: str, split: str) -> list[Row]:
    try:
        return [(where, row.values) for where, row in hub_rows(dataset, revision, split)]
    except SourceError as error:
        raise DocumentError(f"documents.hub: {error}") from error


def made_of(rows: Iterable[Row], make: Callable[[Mapping[str, Any]], T]) -> tuple[list[T], list[str]]:
    """What ``make`` makes of each row, and what is wrong with the rows that it refuses by a ValueError."""
    made, problems = list[T](), list[str]()
    for where, row in rows:
        try:
            made.append(make(row))
        except ValueError as error:
            problems.append(f"{where}: {error}")
    return made, problems


def columns_of(
    mapped: Mapping[str, str], rows: Sequence[Row], required: Sequence[str], optional: Sequence[str], of: str
) -> dict[str, str]:
    """Which column holds what: the one of that name unless the params say otherwise.

    A column that must be there, or that the params name by another word, is absent by mistake.
    """
    columns = {key: key for key in (*required, *optional)} | dict(mapped)
    present = {column for _, row in rows for column in row}
    for key, column in columns.items():
        if rows and column not in present and (key in required or key != column):
            raise DocumentError(
                f"{of}s.columns.{key}: no {of} has a column {column!r}; "
                f"there are: {', '.join(sorted(present))}"
            )
    return columns


def _document(row: Mapping[str, Any], columns: Mapping[str, str], provenance: str) -> Document:
    """A document out of a row; ValueError says what is wrong with the row."""
    value = with_id({key: row.get(column) for key, column in columns.items()})
    return Document(
        id=required(value, "id"),
        text=required(value, "text"),
        provenance=provenance,
        field=text_of(value, "field") or "",
        summary=text_of(value, "summary"),
        paraphrase_1=text_of(value, "paraphrase_1"),
        paraphrase_2=text_of(value, "paraphrase_2"),
        samples=_samples(value["samples"]),
        damage=edits_of(value["damage"]),
    )


def with_id(value: dict[str, Any]) -> dict[str, Any]:
    """The same, an integer as its id being written out."""
    number = isinstance(value["id"], int) and not isinstance(value["id"], bool)
    return value | {"id": str(value["id"])} if number else value


def text_of(value: Mapping[str, Any], key: str) -> str | None:
    """A text, stripped and with ``\\n`` line ends, or None where there is none to see (null or blank)."""
    text = value[key]
    if text is None:
        return None
    if not isinstance(text, str):
        raise ValueError(f"{key} is not a text but {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{key} is not UTF-8 (it holds half of a surrogate pair)") from None
    return text.replace("\r\n", "\n").replace("\r", "\n").strip() if visible(text) else None


def required(value: Mapping[str, Any], key: str, where: str = "") -> str:
    """A text that must be there; ``where`` says in the error where it was looked for."""
    text = text_of(value, key)
    if text is None:
        raise ValueError(f"{key}{where} is empty")
    return text


def _samples(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise ValueError(f"samples is not a list but {type(value).__name__}")
    return tuple(required({"a sample": sample}, "a sample") for sample in value)


def edits_of(value: Any) -> tuple[Edit, ...]:
    if value is not None and not isinstance(value, list | tuple):
        raise ValueError(f"damage is not a list but {type(value).__name__}")
    try:
        return tuple(Edit(**edit) for edit in value or ())
    except TypeError as error:
        raise ValueError(f"damage is not a list of {{kind, before, after, note}} ({error})") from error


def _length_problems(documents: Iterable[Document], least: int, most: int) -> list[str]:
    counts = ((document.id, count_tokens(visible(document.text))) for document in documents)
    return [
        f"{name}: {count} tokens, outside documents.tokens ({least} to {most})"
        for name, count in counts
        if not least <= count <= most
    ]


def duplicates(named: Iterable[tuple[str, str]], what: str) -> list[str]:
    """Ids used twice, and texts (``what`` they are) that look the same: each would count as two clusters."""
    problems = []
    ids: set[str] = set()
    texts: dict[str, str] = {}
    for name, text in named:
        if (shown := visible(name)) in ids:
            problems.append(f"{name}: id used twice")
        ids.add(shown)
        first = texts.setdefault(visible(text), name)
        if first != name:
            problems.append(f"{name}: same {what} as {first}")
    return problems


def _text_problems(documents: Iterable[Document]) -> list[str]:
    problems = []
    for document in documents:
        one, two = visible(document.paraphrase_1 or ""), visible(document.paraphrase_2 or "")
        if one and one == two:
            problems.append(f"{document.id}: paraphrase_1 and paraphrase_2 are the same text")
        problems += [f"{document.id}: {problem}" for problem in ladder_problems(document)]
    return problems


def ladder_problems(document: Document) -> list[str]:
    """Errors that cannot be put into paraphrase 2, or that nobody would see there."""
    text = document.paraphrase_2 or ""
    try:
        rungs = [visible(version) for version in (text, *ladder(text, document.damage))]
    except ValueError as error:
        return [str(error)]
    return [
        f"damage {level}: changes nothing that a reader sees; change a word"
        for level, (before, after) in enumerate(pairwise(rungs), start=1)
        if before == after
    ]
