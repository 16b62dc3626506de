"""Which answer a record names as better, and which it leans to, read by rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from shared.judge.stated import Stated, named_better, stated_preference
from shared.judge.stated_marks import numbered

RECORDS_AT_HAND = 4_096
"""The trials of an item, which share its records, come together."""


@lru_cache(RECORDS_AT_HAND)
def stated_by(criteria: str, evidence: Sequence[tuple[str, str]]) -> tuple[Stated, Stated]:
    """What a record names as better, and what it leans to.

    Parameters
    ----------
    criteria : str
    evidence : tuple of (str, str)
        Each answer's name, and the text on it; in the order in which they were inspected.

    Returns
    -------
    named, leans : {"first", "second", "tie", "none"}
        Places in that order: by a choice or a comparison alone, and by praise and criticism too.

    Examples
    --------
    >>> stated_by("The date counts.", (("Cedar", "Cedar has it."), ("Willow", "Willow is better.")))
    ('second', 'second')
    """
    parts = (f"{name}: {text}" for name, text in evidence)
    text = numbered("\n\n".join([criteria, *parts]), [name for name, _ in evidence])
    return named_better(text), stated_preference(text, "answer")
