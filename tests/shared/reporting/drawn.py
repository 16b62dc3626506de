"""What can be read in a figure that was drawn: for tests only."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Collection
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

SEVEN = ("gpt_oss_20b", "gpt_oss_120b", "qwen35_9b", "qwen35_27b_instruct", "gemma_3_12b", "other", "last")
"""Judges, as many as a figure must have place for."""

Mark = tuple[float, float, str]


@cache
def as_read(made: Callable[[], dict[str, pd.DataFrame]], name: str) -> pd.DataFrame:
    """One of the tables that a function makes, as a figure reads it: written and read back."""
    with tempfile.TemporaryDirectory() as folder:
        tables.write(Path(folder) / "table.csv", made()[name], [])
        return tables.read(Path(folder) / "table.csv")


# --- Texts ------------------------------------------------------------------------------------------


@cache
def texts(figure: Figure) -> dict[Text, Bbox]:
    """Every visible text, after layout, with its box."""
    canvas = FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    hidden = _beyond_the_axes(figure)
    # Not text.get_window_extent: an annotation would count its arrow in.
    return {text: Text.get_window_extent(text, canvas.get_renderer()) for text in shown if text not in hidden}


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


def check_that_no_text_lies_upon_another(figure: Figure) -> None:
    """Each pair of texts; none is outside of the figure either."""
    found, paper = texts(figure), figure.bbox.padded(1)
    for text, box in found.items():
        assert paper.contains(box.x0, box.y0) and paper.contains(box.x1, box.y1), text.get_text()
    for (one, box), (other, there) in itertools.combinations(found.items(), 2):
        assert not box.padded(-1).overlaps(there.padded(-1)), (one.get_text(), other.get_text())


# --- Marks ------------------------------------------------------------------------------------------


def marks(axes: Axes, markers: Collection[str]) -> list[Mark]:
    """The filled marks of judges, which have these markers: x, y and colour."""
    found = [line for line in _points(axes) if line.get_marker() in markers and not _is_hollow(line)]
    return [(line.get_xdata()[0], line.get_ydata()[0], line.get_color()) for line in found]


def hollow(axes: Axes) -> list[tuple[float, float]]:
    """The paper's points."""
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in _points(axes) if _is_hollow(line)]


def has_values(figure: Figure, markers: Collection[str]) -> bool:
    """Whether any judge's mark or curve, which have these markers, has a value."""
    lines = [line for axes in figure.axes for line in axes.lines if line.get_marker() in markers]
    curves = [np.asarray(line.get_ydata(), dtype=float) for line in lines if not _is_hollow(line)]
    return any(np.isfinite(curve).any() for curve in curves)


def _points(axes: Axes) -> list[Any]:
    lines: list[Any] = list(axes.lines)
    return [line for line in lines if len(line.get_xdata()) == 1]


def _is_hollow(line: Any) -> bool:
    return bool(line.get_markerfacecolor() == "white")
