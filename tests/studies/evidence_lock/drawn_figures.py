"""Figures of planted tables, drawn once for all tests, and what can be read in them: for tests only."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from shared.reporting import tables
from shared.reporting.figures import GREY, INK, MARKERS, style
from shared.reporting.tables import read
from studies.evidence_lock.figures import FIGURES
from studies.evidence_lock.plane_figure import MARKERS as OF_SCHEMES
from tests.studies.evidence_lock import planted_tables

SETS = {"two": planted_tables.two_judges, "few": planted_tables.few, "many": planted_tables.many}

FILLED = (*MARKERS, *OF_SCHEMES.values())

Mark = tuple[float, float, str]


@cache
def table(which: str, name: str) -> pd.DataFrame:
    """A table as a figure reads it: written and read back."""
    with tempfile.TemporaryDirectory() as folder:
        tables.write(Path(folder) / "table.csv", SETS[which]()[name], [])
        return read(Path(folder) / "table.csv")


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


@cache
def texts(figure: Figure) -> dict[Text, Bbox]:
    """Every visible text, after layout, with its box."""
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    hidden = _beyond_the_axes(figure)
    return {text: text.get_window_extent(canvas.get_renderer()) for text in shown if text not in hidden}


def _beyond_the_axes(figure: Figure) -> set[Text]:
    """Labels of ticks that lie beyond the ends of their axis: they exist and are not drawn."""
    return {
        label
        for panel in figure.axes
        for axis in (panel.xaxis, panel.yaxis)
        for tick in axis.get_major_ticks()
        if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
        for label in (tick.label1, tick.label2)
    }


def words(figure: Figure) -> str:
    """All that a figure says; without a layout, which takes the most time."""
    return "\n".join(text.get_text() for text in figure.findobj(Text) if text.get_visible())


def marks(axes: Axes) -> list[Mark]:
    """The filled marks of judges: x, y and colour."""
    found = [line for line in _points(axes) if line.get_marker() in FILLED and not _is_hollow(line)]
    return [(line.get_xdata()[0], line.get_ydata()[0], line.get_color()) for line in found]


def hollow(axes: Axes) -> list[tuple[float, float]]:
    """The paper's points."""
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in _points(axes) if _is_hollow(line)]


def bars(axes: Axes, way: str) -> list[tuple[float, float]]:
    """The thick grey bars behind marks, along x or y: their ends."""
    thick = [line for line in axes.lines if line.get_linewidth() == 6 and len(line.get_xdata()) == 2]
    return [tuple(line.get_xdata() if way == "x" else line.get_ydata()) for line in thick]


def _points(axes: Axes) -> list[Any]:
    lines: list[Any] = list(axes.lines)
    return [line for line in lines if len(line.get_xdata()) == 1]


def _is_hollow(line: Any) -> bool:
    return bool(line.get_markerfacecolor() == "white")


def has_values(figure: Figure) -> bool:
    """Whether any judge's mark or curve has a value."""
    lines = [line for axes in figure.axes for line in axes.lines if line.get_marker() in FILLED]
    curves = [np.asarray(line.get_ydata(), dtype=float) for line in lines if not _is_hollow(line)]
    return any(np.isfinite(curve).any() for curve in curves)


def colours(figure: Figure) -> set[str]:
    """Of the judges' marks."""
    return {colour for axes in figure.axes for _, _, colour in marks(axes)} & {INK, GREY}
