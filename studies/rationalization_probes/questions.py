"""Loads questions with two answers each, and makes items of them: the same probes on another task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.draws import draw
from shared.judge.hygiene import neutralise
from studies.rationalization_probes.damage import Edit, ladder
from studies.rationalization_probes.documents import (
    Document,
    DocumentError,
    Row,
    collect,
    columns_of,
    duplicates,
    edits_of,
    json_lines,
    ladder_problems,
    made_of,
    raise_for,
    required,
    text_of,
    visible,
    with_id,
)
from studies.rationalization_probes.params import Kind, Questions

EMBEDDED = Path("data/embedded/rationalization_probes/questions")
REQUIRED = ("id", "question", "answer_1", "answer_2")
OPTIONAL = ("field", "damage")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and two answers of equal content.

    Attributes
    ----------
    id : str
        Unique; the ``cluster`` of every item made of the question.
    question, answer_1, answer_2 : str
        Stripped, lines ended by ``\\n``; the answers differ to a reader's eye.
    provenance : str
        Who wrote the answers: ``llm`` (embedded) or ``given`` (loaded from outside, writer unknown).
    field : str
        Subject, or the empty string.
    damage : tuple of Edit
        Recorded errors for ``answer_2``.
    """

    id: str
    question: str
    answer_1: str
    answer_2: str
    provenance: str
    field: str = ""
    damage: tuple[Edit, ...] = ()


def load(settings: Questions, external_dir: Path, embedded: Path = EMBEDDED) -> list[Question]:
    """All questions of the source that the params name.

    Parameters
    ----------
    settings : Questions
        ``rationalization_probes.questions``.
    external_dir : Path
        ``data.external_dir``; ``settings.path`` lies below it.
    embedded : Path
        Folder of the embedded questions.

    Returns
    -------
    list of Question
        In the source's order (files by name, then lines).

    Raises
    ------
    DocumentError
        If the source is absent or empty, or a question is doubled (id or text), lacks a text, is not UTF-8
        or not readable, has two answers that look the same, or an error that cannot be put into answer 2.
        All bad questions are collected into one error.
    """
    own = settings.source == "embedded"
    path = embedded if own else external_dir / (settings.path or "")
    rows, problems = _read(path)
    # The embedded file has columns of its own; those that the params name are of the user's files.
    columns = columns_of({} if own else settings.columns, rows, REQUIRED, OPTIONAL, "question")
    questions, unusable = made_of(rows, lambda row: _question(row, columns, "llm" if own else "given"))
    problems += unusable + duplicates(((q.id, q.question) for q in questions), "question")
    problems += _answer_problems(questions)
    if not rows and not problems:
        problems.append(f"{path} holds no question; see questions.path")
    raise_for(problems, of="questions")
    return questions


def question_items(question: Question, seed: int) -> Iterator[dict[str, Any]]:
    """The items of a question, each as the fields of a `data.Item`.

    Parameters
    ----------
    question : Question
    seed : int
        Decides, with the question's id, which of the two equal answers is candidate 1.

    Yields
    ------
    dict
        ``<id>:qa_equal`` (the two answers), then ``<id>:qa_damage:<level>`` (answer 1 against answer 2
        with so many recorded errors) for each level; without recorded errors there is none.
    """
    pair = (question.answer_1, question.answer_2)
    yield _item(question, "qa_equal", *draw((pair, pair[::-1]), seed, question.id, "qa_equal", "identities"))
    for level, damaged in enumerate(ladder(question.answer_2, question.damage), start=1):
        yield _item(question, "qa_damage", question.answer_1, damaged, level)


def _item(
    question: Question, kind: Kind, candidate_1: str, candidate_2: str, level: int = 0
) -> dict[str, Any]:
    (source, n), (first, n_1), (second, n_2) = map(neutralise, (question.question, candidate_1, candidate_2))
    return {
        "item": f"{question.id}:{kind}:{level}" if level else f"{question.id}:{kind}",
        "cluster": question.id,
        "kind": kind,
        "source": source,
        "candidate_1": first,
        "candidate_2": second,
        "provenance_1": question.provenance,
        "provenance_2": question.provenance,
        "level": level,
        "field": question.field,
        "neutralised": n + n_1 + n_2,
    }


def _read(path: Path) -> tuple[list[Row], list[str]]:
    """Rows of one file or of a folder's files, and what could not be read."""
    files = [path] if path.is_file() else sorted(path.glob("*.jsonl"))
    files = [file for file in files if file.is_file() and file.suffix == ".jsonl"]
    if not files:
        raise DocumentError(
            f"{path}: no questions there; questions.path names a .jsonl file, or a folder of them, "
            "below data.external_dir"
        )
    return collect(line for file in files for line in json_lines(file))


def _question(row: Mapping[str, Any], columns: Mapping[str, str], provenance: str) -> Question:
    """A question out of a row; ValueError says what is wrong with the row."""
    value = with_id({key: row.get(column) for key, column in columns.items()})
    return Question(
        **{key: required(value, key) for key in REQUIRED},
        provenance=provenance,
        field=text_of(value, "field") or "",
        damage=edits_of(value["damage"]),
    )


def _answer_problems(questions: Iterable[Question]) -> list[str]:
    problems = []
    for question in questions:
        if visible(question.answer_1) == visible(question.answer_2):
            problems.append(f"{question.id}: answer_1 and answer_2 are the same text")
        problems += [f"{question.id}: {problem}" for problem in ladder_problems(_as_document(question))]
    return problems


def _as_document(question: Question) -> Document:
    """The question as a document that has answer 2 for its paraphrase 2: one rule serves both ladders."""
    return Document(
        id=question.id,
        text=question.question,
        provenance=question.provenance,
        paraphrase_2=question.answer_2,
        damage=question.damage,
    )
