"""Which judge is meant: a slug that stands under ``judges:`` in params."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shared.errors import UserError


def known_judge(slug: str, judges: Collection[str]) -> str:
    """The slug, if there is a judge of that name.

    Raises
    ------
    UserError
        If there is none; it names those that there are.
    """
    if slug not in judges:
        raise UserError(f"no judge {slug!r} in params.yaml; there are: {', '.join(sorted(judges))}")
    return slug


def slug_argument(argv: Sequence[str], judges: Collection[str]) -> str:
    """The judge that a command line names.

    Parameters
    ----------
    argv : sequence of str
        ``sys.argv``: the program, then the slug.
    judges : collection of str
        The slugs that there are.

    Raises
    ------
    UserError
        If there is not exactly one argument, or no judge of that name; it names those that there are.
    """
    if len(argv) != 2:
        raise UserError(f"name one judge after the command: {', '.join(sorted(judges))}")
    return known_judge(argv[1], judges)
