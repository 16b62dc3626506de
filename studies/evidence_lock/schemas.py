"""The form of each answer as a JSON schema: evidence stands before the verdict, or there is none.

A text of a record has at least a quarter of the characters that it may have: small judges else write the
answer's name and no more, which would show what an empty record loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shared.judge.schemas import object_of, text

LEAST_SHARE = 4
"""The least length of a text of a record is this part of the most."""


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
    return object_of(criteria=_finding(chars), assessment=_finding(chars))


def _evidence(names: Sequence[str], chars: int) -> dict[str, Any]:
    return {"criteria": _finding(chars), "evidence": object_of(**{name: _finding(chars) for name in names})}


def _finding(chars: int) -> dict[str, Any]:
    return text(chars, max(1, chars // LEAST_SHARE))


def _verdicts(names: Sequence[str]) -> dict[str, Any]:
    return {"enum": [*names, "tie"]}
