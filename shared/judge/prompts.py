"""Prompts from Jinja templates, with the places where conditions begin to differ."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2

from shared.judge.records import Message, Role

CUT = "\x1f"
"""Written by ``{{ cut }}`` in a template. No item's text can contain it (see ``hygiene``)."""


def render(folder: Path, name: str, role: Role = "user", **values: Any) -> Message:
    """One turn from ``folder/name.jinja``.

    ``{{ cut }}`` marks the end of a part that other requests share; it leaves no trace in the text.

    Raises
    ------
    jinja2.UndefinedError
        If the template names a value that is not given.
    """
    parts = marked(folder, name, **values).split(CUT)
    ends = [sum(map(len, parts[: i + 1])) for i in range(len(parts) - 1)]
    return Message(role, "".join(parts), tuple(ends))


def marked(folder: Path, name: str, **values: Any) -> str:
    """A part of a turn from ``folder/name.jinja``, its cuts still marked by `CUT`: a value for `render`."""
    return _environment(folder).get_template(f"{name}.jinja").render(**values, cut=CUT).strip(" \n")


@lru_cache
def _environment(folder: Path) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # prompts are plain text; hygiene.neutralise guards the delimiters
    )
