"""Figures of planted tables, drawn once for all tests, and what can be read in them: for tests only."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.reporting.figures import MARKERS, style
from studies.rubric_position_bias.figures import FIGURES
from tests.shared.reporting import drawn as drawing
from tests.studies.rubric_position_bias import planted_tables

SETS = {"two": planted_tables.two_judges, "few": planted_tables.few, "many": planted_tables.many}


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
    return drawing.marks(axes, MARKERS)


def rings(axes: Axes) -> list[float]:
    """The paper's single numbers."""
    return [y for _, y in drawing.hollow(axes)]
