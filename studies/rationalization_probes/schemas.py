"""The form of each answer as a JSON schema: the order of keys is part of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shared.judge.schemas import object_of, text


def verdict_first(verdicts: Sequence[str], rationale_chars: int) -> dict[str, Any]:
    """Baseline: the verdict, then a post-hoc rationale."""
    return object_of(verdict={"enum": list(verdicts)}, rationale=text(rationale_chars))


def notes_then_scores(
    shown: Sequence[str], criteria: Sequence[str], note_chars: int, rationale_chars: int
) -> dict[str, Any]:
    """SCoT: a note on each criterion, then the scores of both candidates, then a rationale."""
    return object_of(
        notes=object_of(**{c: text(note_chars) for c in criteria}),
        scores=scores(shown, criteria),
        rationale=text(rationale_chars),
    )


def evidence(
    shown: Sequence[str], criteria: Sequence[str], note_chars: int, quote_chars: int
) -> dict[str, Any]:
    """PBP, turn 1: a note and a quoted span for each candidate and criterion."""
    note = object_of(note=text(note_chars), quote=text(quote_chars))
    return object_of(**{candidate: object_of(**dict.fromkeys(criteria, note)) for candidate in shown})


def scores(shown: Sequence[str], criteria: Sequence[str]) -> dict[str, Any]:
    """PBP, turn 2, and pointwise: a score from 1 to 5 for each candidate that is shown and criterion."""
    score = {"enum": [1, 2, 3, 4, 5]}
    return object_of(**{candidate: object_of(**dict.fromkeys(criteria, score)) for candidate in shown})


def rationale(rationale_chars: int) -> dict[str, Any]:
    """PBP, turn 3: the narrative of a ranking that is already computed."""
    return object_of(rationale=text(rationale_chars))
