"""The form of each answer as a JSON schema: the order of keys is part of the prompt arm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shared.judge.schemas import object_of, text


def score(size: int) -> dict[str, Any]:
    """A bare score from 1 to ``size``: its first token's distribution is the distribution over the options.

    The numbers stand in one order whatever order the prompt shows, so that the schema tells no order.
    """
    return {"enum": list(range(1, size + 1))}


def ratings(criteria: Sequence[str], size: int) -> dict[str, Any]:
    """A score from 1 to ``size`` for each criterion, in the order in which the criteria are shown."""
    return object_of(**dict.fromkeys(criteria, score(size)))


def reasoned(answer: dict[str, Any], key: str, chars: int) -> dict[str, Any]:
    """Reasoning, and only then the answer under ``key``."""
    return object_of(reasoning=text(chars), **{key: answer})


def verified(answer: dict[str, Any], key: str, chars: int) -> dict[str, Any]:
    """The answer under ``key``, a check of it, then the answer that counts."""
    return object_of(**{key: answer}, check=text(chars), final=answer)
