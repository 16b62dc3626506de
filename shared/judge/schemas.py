"""What the JSON schemas of all studies' answers are made of."""

from __future__ import annotations

from typing import Any


def object_of(**properties: dict[str, Any]) -> dict[str, Any]:
    """An object with exactly these keys, in this order: a judge writes them in the order that is given."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def text(chars: int, least: int = 0) -> dict[str, Any]:
    """A text of at most ``chars`` characters, and at least ``least``."""
    return {"type": "string", "maxLength": chars} | ({"minLength": least} if least else {})
