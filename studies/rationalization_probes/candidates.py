"""Gives documents the texts of systems from a file beside them: real candidates for the pairs ``samples``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from studies.rationalization_probes.documents import (
    Document,
    DocumentError,
    Row,
    collect,
    json_lines,
    made_of,
    raise_for,
    required,
    with_id,
)
from studies.rationalization_probes.params import CANDIDATE_COLUMNS, Candidates

Texts = Mapping[str, Mapping[str, str]]
"""By document, the text of each system."""


def with_candidates(
    documents: Iterable[Document], settings: Candidates, external_dir: Path
) -> list[Document]:
    """The documents, their samples being the texts of two systems.

    Parameters
    ----------
    documents : iterable of Document
        One that has samples of its own, or lacks a text of either system, keeps what it has.
    settings : Candidates
        The file, its columns, and the two systems.
    external_dir : Path
        ``data.external_dir``; ``settings.path`` lies below it.

    Raises
    ------
    DocumentError
        If the file is absent or a line is not readable, a system wrote nothing (lists the systems), a
        document has two different texts of one system, or none of the file's documents is known (shows an
        id of each).
    """
    documents = list(documents)
    texts = _texts(_rows(external_dir / settings.path), settings)
    known = sorted({system for written in texts.values() for system in written})
    for system in settings.systems:
        if system not in known:
            raise DocumentError(
                f"documents.candidates.systems: {settings.path} has no text of {system!r}; "
                f"there are: {', '.join(known) or 'none'}"
            )
    _some_are_known(texts, documents, settings.path)
    return [_with_pair(document, texts.get(document.id, {}), settings.systems) for document in documents]


def _with_pair(document: Document, written: Mapping[str, str], systems: Sequence[str]) -> Document:
    pair = tuple(written[system] for system in systems if system in written)
    if document.samples or len(pair) < len(systems):
        return document
    return replace(document, samples=pair)


def _some_are_known(texts: Texts, documents: Sequence[Document], path: str) -> None:
    known = [document.id for document in documents]
    if known and texts.keys().isdisjoint(known):
        raise DocumentError(
            f"documents.candidates.columns.id: no document of {path} is known: its ids are like "
            f"{next(iter(texts))!r}, the documents' like {known[0]!r}; name the column that has the latter"
        )


def _rows(path: Path) -> list[Row]:
    if not path.is_file():
        raise DocumentError(f"{path}: absent; documents.candidates.path names a .jsonl file")
    rows, problems = collect(json_lines(path))
    raise_for(problems, of="candidates")
    return rows


def _texts(rows: Iterable[Row], settings: Candidates) -> Texts:
    texts: dict[str, dict[str, str]] = defaultdict(dict)

    def add(row: Mapping[str, Any]) -> None:
        document, system, text = _written(row, settings.columns)
        if texts[document].setdefault(system, text) != text:
            raise ValueError(f"another text of {system!r} for document {document!r}; keep one of them")

    _, problems = made_of(rows, add)
    raise_for(problems, of="candidates")
    return texts


def _written(row: Mapping[str, Any], columns: Mapping[str, str]) -> tuple[str, str, str]:
    """Document, system and text of a row; ValueError says what is wrong with it."""
    value = with_id({key: row.get(column) for key, column in columns.items()})
    document, system, text = (
        required(value, key, f" (column {columns[key]!r})") for key in CANDIDATE_COLUMNS
    )
    return document, system, text
