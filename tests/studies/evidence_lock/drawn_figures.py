"""Figures of planted tables, drawn once for all tests, and what can be read in them: for tests only."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.reporting.figures import GREY, INK, MARKERS, style
from studies.evidence_lock.figures import FIGURES
from studies.evidence_lock.plane_figure import MARKERS as OF_SCHEMES
from tests.shared.reporting import drawn as drawing
from tests.studies.evidence_lock import planted_tables

SETS = {"two": planted_tables.two_judges, "few": planted_tables.few, "many": planted_tables.many}

FILLED = (*MARKERS, *OF_SCHEMES.values())


def table(which: str, name: str) -> pd.DataFrame:
    """A table as a figure reads it."""
    return drawing.as_read(SETS[which], name)


def draw(name: str, rows: pd.DataFrame) -> Figure:
    """A figure of other rows."""
    with style():
        return FIGURES[name].draw(rows)


def changed(name: str, which: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Figure:
    """A figure of a changed table."""
    return draw(name, change(table(which, FIGURES[name].table)))


@cache
def drawn(name: str, which: str) -> Figure:
    """A figure of a planted set of judges."""
    return draw(name, table(which, FIGURES[name].table))


def marks(axes: Axes) -> list[drawing.Mark]:
    """The filled marks of judges."""
    return drawing.marks(axes, FILLED)


def bars(axes: Axes, way: str) -> list[tuple[float, float]]:
    """The thick grey bars behind marks, along x or y: their ends."""
    thick = [line for line in axes.lines if line.get_linewidth() == 6 and len(line.get_xdata()) == 2]
    return [tuple(line.get_xdata() if way == "x" else line.get_ydata()) for line in thick]


def colours(figure: Figure) -> set[str]:
    """Of the judges' marks."""
    return {colour for axes in figure.axes for _, _, colour in marks(axes)} & {INK, GREY}
