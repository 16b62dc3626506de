"""The form of each answer as a JSON schema: the order of keys is part of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def verdict_first(verdicts: Sequence[str], rationale_chars: int) -> dict[str, Any]:
    """Baseline: the verdict, then a post-hoc rationale."""
    return _object(verdict={"enum": list(verdicts)}, rationale=_text(rationale_chars))


def notes_then_scores(
    shown: Sequence[str], criteria: Sequence[str], note_chars: int, rationale_chars: int
) -> dict[str, Any]:
    """SCoT: a note on each criterion, then the scores of both candidates, then a rationale."""
    return _object(
        notes=_object(**{c: _text(note_chars) for c in criteria}),
        scores=scores(shown, criteria),
        rationale=_text(rationale_chars),
    )


def evidence(
    shown: Sequence[str], criteria: Sequence[str], note_chars: int, quote_chars: int
) -> dict[str, Any]:
    """PBP, turn 1: a note and a quoted span for each candidate and criterion."""
    note = _object(note=_text(note_chars), quote=_text(quote_chars))
    return _object(**{candidate: _object(**dict.fromkeys(criteria, note)) for candidate in shown})


def scores(shown: Sequence[str], criteria: Sequence[str]) -> dict[str, Any]:
    """PBP, turn 2, and pointwise: a score from 1 to 5 for each candidate that is shown and criterion."""
    score = {"enum": [1, 2, 3, 4, 5]}
    return _object(**{candidate: _object(**dict.fromkeys(criteria, score)) for candidate in shown})


def rationale(rationale_chars: int) -> dict[str, Any]:
    """PBP, turn 3: the narrative of a ranking that is already computed."""
    return _object(rationale=_text(rationale_chars))


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(chars: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": chars}
