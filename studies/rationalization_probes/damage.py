"""Builds the damage ladder: versions of a paraphrase with one, two, three recorded errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

DamageKind = Literal["wrong_number", "swapped_name", "invented_fact", "dropped_point"]
KINDS: tuple[DamageKind, ...] = get_args(DamageKind)


@dataclass(frozen=True, slots=True)
class Edit:
    """One recorded error.

    Attributes
    ----------
    kind : DamageKind
        What sort of error it is.
    before, after : str
        ``before`` occurs exactly once in the undamaged text; ``after`` (maybe empty) takes its place.
    note : str
        What is now wrong, against the document. For readers; never shown to a judge.
    """

    kind: DamageKind
    before: str
    after: str
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("kind", "before", "after", "note"):
            value = getattr(self, name)  # out of a file: anything that JSON holds
            if not isinstance(value, str):
                raise ValueError(f"damage: {name} is not a text but {type(value).__name__}")
        if self.kind not in KINDS:
            raise ValueError(f"damage: unknown kind {self.kind!r}; use one of {', '.join(KINDS)}")
        if not self.before or self.before == self.after:
            raise ValueError("damage: an edit must change something: 'before' is empty or equals 'after'")


def ladder(text: str, edits: Sequence[Edit]) -> list[str]:
    """The damaged versions of a text, one a level.

    Parameters
    ----------
    text : str
        The undamaged text.
    edits : sequence of Edit
        In the order in which they are added.

    Returns
    -------
    list of str
        Entry ``k`` carries the first ``k + 1`` edits, so level 1 is entry 0. Empty without edits.

    Raises
    ------
    ValueError
        If the ``before`` of an edit does not occur exactly once, in the text and in the version that it
        is applied to: a ladder whose level 2 holds one error would be a wrong yardstick for a judge.

    Examples
    --------
    >>> edits = [Edit("wrong_number", "9 boats", "7 boats"), Edit("dropped_point", ", 2 crews", "")]
    >>> ladder("9 boats, 2 crews", edits)
    ['7 boats, 2 crews', '7 boats']
    """
    versions: list[str] = []
    current = text
    for level, edit in enumerate(edits, start=1):
        found = {text.count(edit.before), current.count(edit.before)}
        if found != {1}:
            raise ValueError(
                f"damage {level}: {edit.before!r} must occur exactly once in the text it damages"
            )
        current = current.replace(edit.before, edit.after)
        versions.append(current)
    return versions
