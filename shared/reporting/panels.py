"""Panels of several judges: their sizes, marks side by side with intervals, the paper's column, the keys."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, CARETUP, MarkerStyle
from matplotlib.patches import Patch, Rectangle

from shared.frames import rows_of
from shared.metrics.resampling import Array
from shared.reporting.drawing import (
    NOISE,
    WIDTH,
    Beside,
    Key,
    canvas,
    hatch,
    ink,
    mark,
    marker_of,
    not_run,
    size_lines,
)
from shared.reporting.figures import GREY, LIGHT
from shared.reporting.tables import NOT_AVAILABLE

POOLED = "all"
"""The judge, or the data set, of rows about several."""

MEAN = "*"
"""The mark of a mean over judges and data sets."""

PANEL_WIDTH, AXIS_WIDTH, MARK_WIDTH = 3.9, 0.8, 0.1
"""In inches: one of several panels side by side, what stands left of it, a mark."""

SMALL = 7
"""Size of the text below and beside panels, in points."""

LINE = 80
"""Characters of a line below a panel that has a half of a figure."""

# A category takes 1 along the axis: our judges in its middle, the paper in a column right of them.
OURS_WIDTH = 0.66
PAPERS, PAPERS_WIDTH = 0.41, 0.13


# --- Which data sets and judges -----------------------------------------------------------------------


def datasets_of(rows: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """A frame's data sets in the order of ``names``; others come next, that of several together last."""
    found = list(rows["dataset"].unique())
    known = [name for name in names if name in found and name != POOLED]
    new = [name for name in found if name not in (*known, POOLED)]
    return [*known, *new, *([POOLED] if POOLED in found else [])]


def judges_of(rows: pd.DataFrame) -> list[str]:
    """The judges, in the order of the table; a mean over them is none."""
    return [judge for judge in rows["judge"].dropna().unique() if judge not in ("", POOLED)]


# --- Sheets -----------------------------------------------------------------------------------------


def sheet(
    title: str,
    rows: int,
    columns: int = 1,
    *,
    height: float = 2.1,
    width: float = WIDTH,
    above: float = 1.0,
    **shared: Any,
) -> tuple[Figure, Any]:
    """A figure and its panels, (rows, columns) of them, each ``height`` inches high.

    ``above`` are the inches that title and keys take; ``shared`` goes to ``Figure.subplots``.
    """
    figure, first = canvas(title, above + height * rows, width=width)
    first.remove()
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def width_of(columns: int, categories: int, judges: Sequence[str]) -> float:
    """How wide a figure must be for the marks in its panels not to touch, in inches."""
    panel = max(PANEL_WIDTH, MARK_WIDTH * categories * len(judges) / OURS_WIDTH)
    return max(WIDTH, columns * (panel + AXIS_WIDTH))


def absent(title: str) -> Figure:
    """The figure of a table that has no rows for it."""
    return not_run(*canvas(title, 2.4))


def names_below(axes: Axes, label: str, cell: pd.DataFrame, sources: str, line: int = LINE) -> None:
    """What the axis is, and below it what the panel rests on, in lines of so many characters.

    ``sources`` is how independent sources are called.
    """
    rests_on = textwrap.fill(", ".join(size_lines(cell, sources)), line)
    axes.set_xlabel("\n".join(filter(None, [label, rests_on])), fontsize=SMALL + 1)


def name_panel(axes: Axes, name: str) -> None:
    """A panel's name, above it on the left."""
    axes.set_title(name, fontsize=9)


def limits(rows: pd.DataFrame, *extra: float, least: float = 0.1) -> tuple[float, float]:
    """The ends of an axis: all values and ranges without bias; of intervals as much again on either side.

    One interval of few sources can be many times as long as what there is to see: it is cut (`marks` says
    so). ``extra`` are numbers that must be seen, ``least`` is the least range.
    """
    shown = [*finite(rows, "value", "null_low", "null_high"), *extra]
    if not shown:
        return 0.0, 1.0
    low, high = min(shown), max(shown)
    reach = max(high - low, least)
    ends = finite(rows, "ci_low", "ci_high")
    low, high = max(min([low, *ends]), low - reach), min(max([high, *ends]), high + reach)
    spare = max(0.06 * (high - low), (least - (high - low)) / 2)
    return low - spare, high + spare


def finite(rows: pd.DataFrame, *names: str) -> list[float]:
    """All numbers in some columns."""
    values = rows[list(names)].to_numpy(dtype=float)
    return [float(value) for value in values[np.isfinite(values)]]


# --- Marks ------------------------------------------------------------------------------------------


def slot(judges: Sequence[str], judge: str, width: float = OURS_WIDTH) -> float:
    """How far from the middle of its category a judge stands."""
    return width / len(judges) * (judges.index(judge) - (len(judges) - 1) / 2)


def marks(
    axes: Axes,
    rows: pd.DataFrame,
    judges: Sequence[str],
    bounds: tuple[float, float],
    *,
    width: float = OURS_WIDTH,
    joined: bool = False,
) -> None:
    """Values with their intervals, judge beside judge.

    Parameters
    ----------
    axes : Axes
    rows : DataFrame
        With ``x``, the middle of each row's category. A range without bias (``null_low``, ``null_high``) is a
        thick grey bar behind the mark. What has not passed the gate is grey, on a hatched ground where it
        failed; what is undefined is marked n/a.
    judges : sequence of str
        All judges of the figure, each with a place and a marker of its own.
    bounds : (float, float)
        The ends of the axis; an interval that goes on beyond them ends in an arrow.
    width : float
        How much of a category the judges take together.
    joined : bool
        Whether a thin line joins a judge's marks.
    """
    for judge in judges:
        mine = rows[rows["judge"] == judge].sort_values("x")
        mine = mine.assign(x=mine["x"] + slot(judges, judge, width))
        if joined and len(mine):
            axes.plot(mine["x"], mine["value"], color=ink(mine["gate"].iloc[0]), lw=0.6, zorder=2)
        for row in rows_of(mine):
            if pd.isna(row["value"]):
                if row["gate"] == "failed":
                    hatch(axes, row["x"], 0.07)
                undefined(axes, row["x"], bounds[0])
                continue
            marker = MEAN if judge == POOLED else marker_of(judges, judge)
            mark(axes, row["x"], row, marker, bounds, _beside(bounds))
    axes.set_ylim(*bounds)


def least_gate(gates: Iterable[str]) -> str:
    """The gate of a mean: passed only where all that it is of have passed."""
    found = set(gates)
    return next((gate for gate in ("failed", "too few to tell", "not asked", "") if gate in found), "passed")


def undefined(axes: Axes, x: float, bottom: float) -> None:
    """n/a, upright at the foot of the panel, where it is no wider than a mark."""
    place: dict[str, Any] = {"ha": "center", "va": "bottom", "rotation": 90}
    axes.text(x, bottom, f" {NOT_AVAILABLE}", color=GREY, fontsize=SMALL, **place)


def _beside(bounds: tuple[float, float]) -> Beside:
    def both(axes: Axes, x: float, row: dict[str, Any]) -> None:
        null_bar(axes, x, row)
        cut_ends(axes, x, row, bounds)

    return both


def null_bar(axes: Axes, x: float, row: dict[str, Any]) -> None:
    """The range without bias."""
    if pd.notna(row.get("null_low")):
        ends = [row["null_low"], row["null_high"]]
        axes.plot([x, x], ends, color=NOISE, lw=6, solid_capstyle="butt", zorder=1)


def cut_ends(axes: Axes, x: float, row: dict[str, Any], bounds: tuple[float, float]) -> None:
    """Arrows where an interval, or the value itself, lies beyond the axis."""
    low, high = bounds
    for is_beyond, end, marker in (
        (row["ci_low"] < low or row["value"] < low, low, CARETDOWN),
        (row["ci_high"] > high or row["value"] > high, high, CARETUP),
    ):
        if is_beyond:
            axes.plot(x, end, marker=marker, color=ink(row["gate"]), ms=5, zorder=3)


def lying_mark(axes: Axes, y: float, row: dict[str, Any], marker: str, half: float = 0.4) -> None:
    """A value with its interval and its range without bias, along the axis below.

    ``half`` is half the height of the hatched ground.
    """
    if row["gate"] == "failed":
        axes.axhspan(y - half, y + half, facecolor="none", edgecolor=NOISE, hatch="////", lw=0, zorder=0)
    if pd.isna(row["value"]):
        axes.text(0, y, NOT_AVAILABLE, ha="center", va="center", color=GREY, fontsize=8)
        return
    if pd.notna(row.get("null_low")):
        ends = [row["null_low"], row["null_high"]]
        axes.plot(ends, [y, y], color=NOISE, lw=6, solid_capstyle="butt", zorder=1)
    colour = ink(row["gate"])
    if pd.notna(row["ci_low"]):
        axes.plot([row["ci_low"], row["ci_high"]], [y, y], color=colour, lw=1.1)
    axes.plot(row["value"], y, marker, color=colour, ms=6, clip_on=False, zorder=3)


def ground(axes: Axes, gates: Iterable[str]) -> None:
    """A hatched ground for a panel all of whose rows failed the gate."""
    if set(gates) == {"failed"}:
        low, high = axes.get_xlim()
        hatch(axes, (low + high) / 2, (high - low) / 2)


def paper_column(axes: Axes, x: float, cell: pd.DataFrame, judges: Sequence[str]) -> None:
    """What the paper prints about the rows of a category, in a light column right of our judges.

    Parameters
    ----------
    axes : Axes
    x : float
        The middle of the category.
    cell : DataFrame
        Its rows, with ``published``, ``paper_low`` and ``paper_high``. What is printed of a row's own judge
        is that judge's marker, hollow; a range is a bar, one number of all the paper's judges a ring.
    judges : sequence of str
    """
    found = list(dict.fromkeys(papers(cell, judges)))
    if not found:
        return
    middle = x + PAPERS
    axes.axvspan(middle - PAPERS_WIDTH / 2, middle + PAPERS_WIDTH / 2, color=LIGHT, lw=0, zorder=0)
    for (marker, low, high), shift in zip(found, spread(len(found), PAPERS_WIDTH), strict=True):
        at = middle + shift
        if marker:
            axes.plot(at, low, marker, mfc="white", mec=GREY, mew=0.9, ms=5, clip_on=False, zorder=4)
        else:
            corner = (at - 0.02, low)
            axes.add_patch(Rectangle(corner, 0.04, high - low, fc="white", ec=GREY, lw=0.9, zorder=3))


def papers(cell: pd.DataFrame, judges: Sequence[str]) -> Iterator[tuple[str, float, float]]:
    """The paper's numbers as (marker, low, high); of a range the marker is empty."""
    for row in rows_of(cell):
        if pd.notna(row["published"]):
            own = row["judge"] in judges
            yield (marker_of(judges, row["judge"]) if own else RING), row["published"], row["published"]
        elif pd.notna(row["paper_low"]):
            alike = row["paper_low"] == row["paper_high"]
            yield (RING if alike else ""), row["paper_low"], row["paper_high"]


def categories(axes: Axes, labels: Sequence[str]) -> None:
    """Names below an axis of categories."""
    axes.set_xticks(range(len(labels)), list(labels), fontsize=8)
    axes.set_xlim(-0.5, len(labels) - 0.5)


def spread(n: int, width: float) -> Array:
    """Offsets of n things side by side around 0."""
    return np.asarray(width / max(n, 1) * (np.arange(n) - (n - 1) / 2))


def say_below(figure: Figure, text: str) -> None:
    """Lines between the panels and the keys; nothing where there is nothing to say."""
    if text:
        [keys] = figure.legends
        keys.set_title(text, FontProperties(size=8))
        keys.set_alignment("left")


def on_the_undefined(rows: pd.DataFrame) -> list[str]:
    """Why values are undefined, as their notes say it, each once; what a mark without an interval is."""
    notes = rows.loc[rows["value"].isna(), "note"].str.split("; ").explode()
    told = [note for note in notes.dropna().unique() if note.startswith(NOT_AVAILABLE)]
    return [*told, *([NO_INTERVAL] if (rows["value"].notna() & rows["ci_low"].isna()).any() else [])]


NO_INTERVAL = "A mark without a line has no interval: few sources, or undefined in too many resamples."


# --- Keys -------------------------------------------------------------------------------------------


def null_key(rows: pd.DataFrame, told: str = "range if place did not matter") -> list[Key]:
    """The thick grey bar, where there is any."""
    if rows["null_low"].isna().all():
        return []
    return [Line2D([], [], color=NOISE, lw=6, solid_capstyle="butt", label=told)]


def cut_key(rows: pd.DataFrame, bounds: tuple[float, float]) -> list[Key]:
    """The arrow, where an interval was cut."""
    ends = rows.loc[rows["value"].notna(), ["value", "ci_low", "ci_high"]]
    if not ((ends < bounds[0]) | (ends > bounds[1])).any(axis=None):
        return []
    arrow = MarkerStyle(CARETUP)
    return [Line2D([], [], color=GREY, lw=1.1, marker=arrow, ms=5, label="goes on beyond the axis")]


def paper_key(told: str) -> Key:
    """The ring, with what it is of."""
    return _hollow_key(told, RING)


def _hollow_key(told: str, marker: str) -> Key:
    return Line2D([], [], ls="", marker=marker, mfc="white", mec=GREY, ms=5, label=told)


def paper_keys(rows: pd.DataFrame, judges: Sequence[str], ring: str = "paper (all its judges)") -> list[Key]:
    """What the paper's marks are, for those that there are; ``ring`` says what one number is of."""
    found = {marker for marker, _, _ in papers(rows, judges)}
    keys: list[Key] = []
    if found - {"", RING}:
        keys.append(_hollow_key("hollow: the paper's number of this judge", "o"))
    if RING in found:
        keys.append(paper_key(ring))
    if "" in found:
        keys.append(Patch(fc="white", ec=GREY, lw=0.9, label="paper (a range, as stated)"))
    return keys


RING = "h"
"""The paper's mark for all its judges: no judge's own."""
