"""The words of a task: summaries of a document, or answers to a question."""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    """What prompts call the source, the candidates, their relation, where quotations come from, what the
    better one does; and what a judge may rely on, where the source holds all that it needs.
    """

    source: str
    candidate: str
    plural: str
    relation: str
    quoted: str
    better: str
    rule: str

    @property
    def shown(self) -> tuple[str, str]:
        """Candidates by their place on the screen, as prompts and answers name them."""
        return f"{self.candidate}_1", f"{self.candidate}_2"


SUMMARIES = Task(
    source="document",
    candidate="summary",
    plural="summaries",
    relation="of one document",
    quoted="the document",
    better="describes the document better",
    rule="Rely on the given texts alone, not on outside knowledge. ",
)
ANSWERS = Task(
    source="question",
    candidate="answer",
    plural="answers",
    relation="to one question",
    quoted="that answer",
    better="answers the question better",
    rule="",
)


def task_of(kind: str) -> Task:
    """The task of a kind of items."""
    return ANSWERS if kind.startswith("qa_") else SUMMARIES
