"""What the figures of all studies share: a canvas, marks with intervals, the ink of the gate, the keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from shared.reporting.figures import GREY, INK, MARKERS
from shared.reporting.pages import GATE_NOTES, INSTRUMENT_CHECK
from shared.reporting.tables import NOT_AVAILABLE, TOO_FEW

WIDTH = 7.6
"""The least width of a figure, in inches."""

NOISE = "#c9c9c9"
"""What is no result: hatches, ranges without a cue, leaders of labels."""


GATE_WORDS = {**GATE_NOTES, "": "competence gate not asked"}
"""What a figure says of each answer of the gate; nothing only where it was passed."""


Key = Line2D | Patch

Beside = Callable[[Axes, float, dict[str, Any]], None]
"""Draws what belongs beside one mark: axes, where the mark stands, its row."""


def canvas(title: str, height: float, panels: int = 1, width: float = WIDTH) -> tuple[Figure, Axes]:
    """A figure with panels one below the other, and the first of them."""
    # Not pyplot: no global list of figures that somebody has to close.
    figure = Figure(figsize=(width, height * (1 if panels == 1 else 0.75 * panels)), layout="constrained")
    first, *_ = np.atleast_1d(figure.subplots(panels, 1))
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure, first


def not_run(figure: Figure, axes: Axes) -> Figure:
    """The figure, with words in place of the marks that these axes lack."""
    say_not_run(axes)
    return figure


def say_not_run(axes: Axes) -> None:
    """Words in place of a panel."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, "not run with these params", ha="center", va="center", color=GREY)


def size_lines(cell: pd.DataFrame, sources: str = "documents") -> list[str]:
    """Items and independent sources behind some rows, and whether these are too few."""
    sizes = [f"n = {_range(cell['n_items'])} items", f"{_range(cell['n_clusters'])} {sources}"]
    return [*sizes, TOO_FEW] if cell["note"].str.contains(TOO_FEW).any() else sizes


def _range(counts: pd.Series) -> str:
    if counts.isna().all():
        return NOT_AVAILABLE
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"


# --- Marks ------------------------------------------------------------------------------------------


def marker_of(judges: Sequence[str], judge: str) -> str:
    """A judge's own marker."""
    return MARKERS[judges.index(judge) % len(MARKERS)]


def ink(gate: str) -> str:
    """Black only for what passed the gate."""
    return INK if gate == "passed" else GREY


def nothing(axes: Axes, x: float, row: dict[str, Any]) -> None:
    """Where nothing belongs beside a mark."""


def mark(
    axes: Axes,
    x: float,
    row: dict[str, Any],
    marker: str,
    bounds: tuple[float, float],
    beside: Beside = nothing,
) -> None:
    """A value with its interval; n/a where it is undefined; a hatched ground where the gate was failed."""
    if row["gate"] == "failed":
        hatch(axes, x, 0.07)
    if pd.isna(row["value"]):
        axes.text(x, sum(bounds) / 2, NOT_AVAILABLE, ha="center", va="center", color=GREY, fontsize=8)
        return
    beside(axes, x, row)
    colour = ink(row["gate"])
    if pd.notna(row["ci_low"]):
        axes.plot([x, x], [row["ci_low"], row["ci_high"]], color=colour, lw=1.1)
    axes.plot(x, row["value"], marker, color=colour, ms=6, clip_on=False, zorder=3)


def hatch(axes: Axes, x: float, half: float) -> None:
    """The ground below what failed the gate."""
    axes.axvspan(x - half, x + half, facecolor="none", edgecolor=NOISE, hatch="////", lw=0, zorder=0)


def floor(axes: Axes, x: float, row: dict[str, Any], marker: str = "_") -> None:
    """A noise floor with its interval, dotted."""
    axes.plot([x, x], [row["ci_low"], row["ci_high"]], color=GREY, lw=0.9, ls=":")
    axes.plot(x, row["value"], marker, color=GREY, ms=6, clip_on=False)


# --- Keys -------------------------------------------------------------------------------------------


def judge_keys(judges: Sequence[str]) -> list[Key]:
    """Each judge's marker."""
    return [
        Line2D([], [], color=INK, marker=marker_of(judges, judge), lw=1.1, ms=6, label=judge)
        for judge in judges
    ]


def gate_keys(rows: pd.DataFrame) -> list[Key]:
    """What grey and hatches mean, where there are any."""
    keys: list[Key] = [
        Patch(facecolor=GREY, lw=0, label=GATE_WORDS[gate])
        for gate in ("too few to tell", "")
        if (rows["gate"] == gate).any()
    ]
    if (rows["gate"] == "failed").any():
        keys.append(Patch(facecolor="none", edgecolor=NOISE, hatch="////", lw=0, label=INSTRUMENT_CHECK))
    return keys


def legend(figure: Figure, keys: Sequence[Key]) -> None:
    """All keys below the figure."""
    figure.legend(handles=list(keys), loc="outside lower left", ncols=min(3, len(keys)), fontsize=8)
