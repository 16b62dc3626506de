"""The figure of the plane: agreement over inconsistency, a mark a protocol, its area what a verdict costs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from math import floor, isnan, log10, sqrt
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from shared.frames import rows_of
from shared.reporting.drawing import NOISE, WIDTH, Key, gate_keys, ink, legend
from shared.reporting.figures import GREY, INK, LIGHT
from shared.reporting.panels import SMALL, absent, finite, judges_of, say_below, sheet
from shared.reporting.tables import NOT_AVAILABLE
from studies.evidence_lock import counterparts
from studies.evidence_lock.drawing import dataset_name, datasets_of, names_below, scheme_name
from studies.evidence_lock.params import SCHEMES

TITLE = "Agreement against inconsistency"

X, Y, COST = "inconsistency", "agreement", "tokens"

MARKERS: Mapping[str, str] = dict(zip(SCHEMES, ("o", "s", "D", "^", "<", "P", "v", ">", "X"), strict=True))
"""One a protocol; here a panel has one judge."""

BASE, LOCK = "structured", "lock"
"""What a line joins: the paper's comparison."""

LARGEST = 900
"""Area of the mark with the most tokens, in square points."""

BARE = 150
"""Area of the ground of a mark without a cost."""

COLUMN_WIDTH, AXIS_WIDTH = 2.6, 0.9
"""In inches: a panel, and what stands left of the panels."""

LINE = 40
"""Characters of a line below a panel."""

STEP = 0.03
"""How far apart marks on one point are drawn, as a share of the panel's width."""

STRIP = 0.09
"""Width of the strip right of a panel for points that lack an x, as a share of the panel's."""

CELL = ("judge", "dataset", "scheme", "writer")

Ends = tuple[float, float]
"""Of an axis."""


class Printed(NamedTuple):
    """A point of the paper: one judge under one protocol; x is nan where it is not printed."""

    judge: str
    scheme: str
    x: float
    y: float


def draw_plane(rows: pd.DataFrame) -> Figure:
    """Agreement over inconsistency of each protocol.

    Parameters
    ----------
    rows : DataFrame
        The table ``agreement``; of neutral names. Where it has ``tokens`` too, a mark lies on a disc whose
        area is proportional to the tokens of a verdict.

    Returns
    -------
    Figure
        A line of panels for each data set, and for all together, a panel for each judge, with axes in
        common. The paper's points are in each of them.
    """
    rows = rows[(rows["naming"] == "neutral") & (rows["subset"] == "")]
    points = points_of(rows)
    if points.empty:
        return absent(TITLE)
    judges, datasets, papers = judges_of(points), datasets_of(points), list(printed())
    bounds = _bounds(points, papers)
    largest = points[COST].max()
    width = max(WIDTH, AXIS_WIDTH + COLUMN_WIDTH * len(judges))
    height = 3.9 if len(judges) == 1 else 2.9
    figure, panels = sheet(TITLE, len(datasets), len(judges), height=height, width=width, above=1.5)
    for line, dataset in zip(panels, datasets, strict=True):
        for axes, judge in zip(line, judges, strict=True):
            cell = points[(points["judge"] == judge) & (points["dataset"] == dataset)]
            _panel(axes, cell, papers, bounds, largest)
            label = "\n".join(["inconsistency", *_undefined(cell)])
            names_below(axes, label, _of(rows, judge, dataset), LINE)
            axes.set_title("\n".join(textwrap.wrap(judge, 26)), fontsize=8)
        line[0].set_ylabel(f"{dataset_name(dataset)}\nagreement", fontsize=8)
    keys = [*_scheme_keys(points), *_cost_key(largest), *_paper_key(papers), _half_key()]
    legend(figure, [*keys, *gate_keys(points)])
    say_below(figure, _BELOW)
    return figure


_BELOW = "A line leads from Structured to Evidence Lock. What lies on one point is drawn side by side."


# --- Points -----------------------------------------------------------------------------------------


def points_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Agreement, inconsistency and tokens side by side: a row a judge, data set, protocol and writer.

    Returns
    -------
    DataFrame
        `CELL`, ``gate``, ``x``, ``x_low``, ``x_high``, ``y``, ``y_low``, ``y_high``, and ``tokens``, which is
        nan where the table has none.
    """
    by = {name: rows[rows["quantity"] == name].set_index(list(CELL)) for name in (X, Y, COST)}
    found = by[Y][["gate"]]
    for axis, name in (("x", X), ("y", Y)):
        ends = {"value": axis, "ci_low": f"{axis}_low", "ci_high": f"{axis}_high"}
        found = found.join(by[name][list(ends)].rename(columns=ends))
    return found.join(by[COST]["value"].rename(COST)).reset_index()


def printed() -> Iterator[Printed]:
    """The paper's points, of judges and protocols whose agreement it prints."""
    for judge in counterparts.JUDGES:
        for scheme in SCHEMES:
            told = {"judge": judge, "scheme": scheme, "dataset": "all"}
            x, y = (counterparts.of(name, "agreement", **told).value for name in (X, Y))
            if pd.notna(y):
                yield Printed(judge, scheme, x, y)


def _of(rows: pd.DataFrame, judge: str, dataset: str) -> pd.DataFrame:
    """What a panel rests on."""
    of_panel = (rows["judge"] == judge) & (rows["dataset"] == dataset)
    return rows[of_panel & rows["quantity"].isin([X, Y])]


def _bounds(points: pd.DataFrame, papers: Sequence[Printed]) -> tuple[Ends, Ends]:
    """The ends of both axes: whole intervals, since a rate has its own ends."""
    x = finite(points, "x", "x_low", "x_high") + [point.x for point in papers if pd.notna(point.x)]
    y = finite(points, "y", "y_low", "y_high") + [point.y for point in papers]
    return _ends(x), _ends(y)


def _ends(values: Sequence[float]) -> Ends:
    spare = 0.1 * max(max(values) - min(values), 0.1)
    return min(values) - spare, max(values) + spare


def _undefined(cell: pd.DataFrame) -> list[str]:
    """The protocols that can't be placed."""
    lacking = cell[cell[["x", "y"]].isna().any(axis=1)]
    names = [scheme_name(scheme) for scheme in dict.fromkeys(lacking["scheme"])]
    return textwrap.wrap(f"{NOT_AVAILABLE}: {', '.join(names)}", LINE) if names else []


# --- Marks ------------------------------------------------------------------------------------------


def _panel(
    axes: Axes,
    cell: pd.DataFrame,
    papers: Sequence[Printed],
    bounds: tuple[Ends, Ends],
    largest: float,
) -> None:
    (left, right), (bottom, top) = bounds
    strip = STRIP * (right - left)
    axes.set_xlim(left, right + strip)
    axes.set_ylim(bottom, top)
    axes.axvspan(right, right + strip, color=LIGHT, lw=0, zorder=0)
    axes.axhline(0.5, color=GREY, lw=0.9, ls=":", zorder=1)
    axes.grid(visible=True, axis="x")
    axes.set_xticks([tick for tick in MaxNLocator(5).tick_values(left, right) if 0 <= tick <= right])
    axes.tick_params(labelsize=SMALL)
    _joined(axes, [(point.judge, point.scheme, point.x, point.y) for point in papers], NOISE)
    _paper(axes, papers, right + strip / 2)
    shown = side_by_side(cell[cell[["x", "y"]].notna().all(axis=1)], STEP * (right - left))
    _joined(axes, list(shown[["judge", "scheme", "x", "y"]].itertuples(index=False, name=None)), GREY)
    for row in rows_of(shown):
        _mark(axes, row, largest)


def side_by_side(points: pd.DataFrame, step: float) -> pd.DataFrame:
    """Points, those that lie on one another moved apart along x, around where they lie."""
    on_one = points.groupby(["x", "y"])["x"]
    return points.assign(x=points["x"] + step * (on_one.cumcount() - (on_one.transform("size") - 1) / 2))


def _joined(axes: Axes, points: Sequence[tuple[str, str, float, float]], colour: str) -> None:
    """A line from Structured to the lock of each judge that has both."""
    at = {(judge, scheme): (x, y) for judge, scheme, x, y in points}
    for judge in dict.fromkeys(point[0] for point in points):
        ends = [at.get((judge, scheme)) for scheme in (BASE, LOCK)]
        known = [end for end in ends if end is not None and pd.notna(end[0])]
        if len(known) == 2:
            axes.plot(*zip(*known, strict=True), color=colour, lw=0.8, zorder=2)


def _paper(axes: Axes, papers: Sequence[Printed], strip: float) -> None:
    for point in papers:
        x = strip if pd.isna(point.x) else point.x
        axes.plot(x, point.y, MARKERS[point.scheme], mfc="white", mec=GREY, mew=0.9, ms=5, zorder=5)


def _mark(axes: Axes, row: dict[str, Any], largest: float) -> None:
    """The cross of both intervals, the protocol's marker, below it the disc of its tokens."""
    colour = ink(row["gate"])
    area = BARE if pd.isna(row[COST]) else LARGEST * row[COST] / largest
    if row["gate"] == "failed":
        axes.scatter(
            row["x"], row["y"], area, facecolor="none", edgecolor=NOISE, hatch="//////", lw=0, zorder=1
        )
    if pd.notna(row[COST]):
        axes.scatter(row["x"], row["y"], area, facecolor="none", edgecolor=GREY, lw=0.6, zorder=2)
    axes.plot([row["x_low"], row["x_high"]], [row["y"]] * 2, color=colour, lw=0.8, zorder=3)
    axes.plot([row["x"]] * 2, [row["y_low"], row["y_high"]], color=colour, lw=0.8, zorder=3)
    axes.plot(row["x"], row["y"], MARKERS[row["scheme"]], color=colour, ms=5.5, clip_on=False, zorder=4)


# --- Keys -------------------------------------------------------------------------------------------


def _scheme_keys(points: pd.DataFrame) -> list[Key]:
    found = [scheme for scheme in SCHEMES if (points["scheme"] == scheme).any()]
    return [
        Line2D([], [], color=INK, ls="", marker=MARKERS[scheme], ms=5.5, label=scheme_name(scheme))
        for scheme in found
    ]


def _cost_key(largest: float) -> list[Key]:
    """A disc of a round number of tokens, small enough for its line."""
    if isnan(largest):
        return []
    tokens = round_down(largest / 6)
    told = f"area: tokens of a verdict; here {tokens:,.0f}"
    size = sqrt(LARGEST * tokens / largest)
    return [Line2D([], [], ls="", marker="o", mfc="none", mec=GREY, mew=0.6, ms=size, label=told)]


def round_down(number: float) -> float:
    """To one significant digit.

    Examples
    --------
    >>> round_down(1864.0), round_down(0.037)
    (1000.0, 0.03)
    """
    unit = 10.0 ** floor(log10(number))
    return floor(number / unit) * unit


def _paper_key(papers: Sequence[Printed]) -> list[Key]:
    if not papers:
        return []
    told = "hollow: the paper's two judges\n(right strip: its agreement alone)"
    return [Line2D([], [], color=NOISE, lw=0.8, marker="o", mfc="white", mec=GREY, ms=5, label=told)]


def _half_key() -> Key:
    return Line2D([], [], color=GREY, lw=0.9, ls=":", label="always the first shown, or by chance")
