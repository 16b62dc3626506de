"""A rubric of five levels, told in two, three, five or nine.

The levels of every size lie at equal distances on the five-level scale, so that the worst and the best keep
their words: two are levels 1 and 5; three are 1, 3 and 5; nine are the five and, between each two of them, a
level that names both. No word is made up, and a level is understood alone, wherever the order puts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from shared.errors import UserError

Size = Literal[2, 3, 5, 9]
"""Into how many levels a rubric is told."""

SIZES: tuple[int, ...] = get_args(Size)
FULL = 5
"""Levels of a rubric as it is written."""


def resized(levels: Sequence[str], size: int) -> list[str]:
    """A five-level rubric's levels in another number, worst first.

    Parameters
    ----------
    levels : sequence of str
        The texts of the five levels, worst first.
    size : {2, 3, 5, 9}

    Returns
    -------
    list of str
        ``size`` texts, worst first.

    Raises
    ------
    UserError
        If there are not five levels, or the size is not one of these.

    Examples
    --------
    >>> resized(["None.", "Little.", "Some.", "Much.", "All."], 3)
    ['None.', 'Some.', 'All.']
    >>> resized(["None.", "Little.", "Some.", "Much.", "All."], 9)[1]
    'Halfway between “None” and “Little”.'
    """
    if len(levels) != FULL:
        raise UserError(f"a rubric should have {FULL} levels, not {len(levels)}; write all of them")
    if size not in SIZES:
        known = ", ".join(map(str, SIZES))
        raise UserError(f"a rubric can't be told in {size} levels; use one of: {known}")
    best = 2 * (FULL - 1)  # in half levels above the worst
    return [_level(levels, half) for half in range(0, best + 1, best // (size - 1))]


def _level(levels: Sequence[str], half: int) -> str:
    """The level that lies ``half`` half levels above the worst."""
    whole, between = divmod(half, 2)
    if not between:
        return levels[whole]
    lower, upper = (_quoted(text) for text in levels[whole : whole + 2])
    return f"Halfway between {lower} and {upper}."


def _quoted(text: str) -> str:
    """In quotation marks and in one line, without the full stop that would stand inside the sentence."""
    return f"“{' '.join(text.split()).removesuffix('.')}”"
