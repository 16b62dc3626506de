"""The form of each answer as a JSON schema: evidence stands before the verdict, or there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shared.judge.schemas import object_of, text


def verdict(names: Sequence[str]) -> dict[str, Any]:
    """Standard, and every last call: the verdict alone."""
    return object_of(verdict=_verdicts(names))


def evidence(names: Sequence[str], chars: int) -> dict[str, Any]:
    """The record: criteria, then evidence about each answer, each text of at most ``chars`` characters."""
    return object_of(**_evidence(names, chars))


def evidence_then_verdict(names: Sequence[str], chars: int) -> dict[str, Any]:
    """Structured: what the record holds, then the verdict, in one answer."""
    return object_of(**_evidence(names, chars), verdict=_verdicts(names))


def assessment(chars: int) -> dict[str, Any]:
    """Pointwise: criteria, then an assessment of the one answer that is shown."""
    return object_of(criteria=text(chars, 1), assessment=text(chars, 1))


def _evidence(names: Sequence[str], chars: int) -> dict[str, Any]:
    return {"criteria": text(chars, 1), "evidence": object_of(**{name: text(chars, 1) for name in names})}


def _verdicts(names: Sequence[str]) -> dict[str, Any]:
    return {"enum": [*names, "tie"]}
