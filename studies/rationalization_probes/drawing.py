"""What the study's figures share: a quantity by scheme, its marks, the gate, the paper's column, the keys."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from shared.frames import rows_of
from shared.metrics.resampling import Array
from shared.reporting.figures import GREY, INK, LIGHT, MARKERS
from shared.reporting.tables import NOT_AVAILABLE, TOO_FEW
from studies.rationalization_probes import counterparts
from studies.rationalization_probes.counterparts import Counterpart
from studies.rationalization_probes.pages import GATE_NOTES, INSTRUMENT_CHECK, SCHEME_NAMES

# A scheme takes 1 along the axis: our judges on its left, the paper's on its right.
OURS, OURS_WIDTH = -0.15, 0.5
PAPERS, PAPERS_WIDTH = 0.27, 0.26

NOISE = "#c9c9c9"
"""What is no result: hatches, ranges without a cue, leaders of labels."""

WIDTH, SCHEME_WIDTH, AXIS_WIDTH = 7.6, 1.15, 0.9
"""In inches: the least of a figure, what a scheme's name needs, what stands left of the axes."""

GATE_WORDS = {**GATE_NOTES, "": "competence gate not asked"}
"""What a figure says of each answer of the gate; nothing only where it was passed."""

Key = Line2D | Patch
Beside = Callable[[Axes, float, dict[str, Any]], None]
"""Draws what belongs beside one mark: axes, where the mark stands, its row."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A quantity by scheme: where it stands, how it is called, the range of its axis.

    ``note`` is what a reader must know beside the title. ``over`` and ``wording`` pick rows where the table
    has several.
    """

    table: str
    quantity: str
    title: str
    axis: str
    bounds: tuple[float, float] = (0, 1)
    note: str = ""
    over: str = ""
    wording: str = ""

    @property
    def caption(self) -> str:
        return f"{self.title}; {self.note}" if self.note else self.title

    def of(self, rows: pd.DataFrame, quantity: str = "") -> pd.DataFrame:
        """Its rows in a table, or another quantity's of the same pairs: equal content, the carrier's side."""
        rows = rows[(rows["quantity"] == (quantity or self.quantity)) & (rows["kind"] == "equal")]
        rows = rows[rows["coding"].fillna("").isin(["", "carrier"])]
        for column in ("over", "wording"):
            if wanted := getattr(self, column):
                rows = rows[rows[column].astype(str) == wanted]
        return rows

    def paper(self, scheme: str, condition: str) -> Counterpart:
        """The paper's numbers on it."""
        return counterparts.of(
            self.quantity, "equal", scheme, condition, over=self.over, wording=self.wording
        )


# --- A figure and its panels ------------------------------------------------------------------------


def canvas(title: str, height: float, panels: int = 1, width: float = WIDTH) -> tuple[Figure, Axes]:
    """A figure with panels one below the other, and the first of them."""
    # Not pyplot: no global list of figures that somebody has to close.
    figure = Figure(figsize=(width, height * (1 if panels == 1 else 0.75 * panels)), layout="constrained")
    first, *_ = np.atleast_1d(figure.subplots(panels, 1))
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure, first


def width_of(schemes: Iterable[str]) -> float:
    """How wide a figure must be for the schemes' names not to touch, in inches."""
    return max(WIDTH, AXIS_WIDTH + SCHEME_WIDTH * len(list(schemes)))


def not_run(figure: Figure, axes: Axes) -> Figure:
    """The figure, with words in place of the marks that these axes lack."""
    say_not_run(axes)
    return figure


def say_not_run(axes: Axes) -> None:
    """Words in place of a panel."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, "not run with these params", ha="center", va="center", color=GREY)


def schemes_of(rows: pd.DataFrame) -> list[str]:
    """The schemes of a frame, in the order in which figures have them.

    Raises
    ------
    ValueError
        If one has no name: it would be left out in silence.
    """
    found = set(rows["scheme"])
    if nameless := sorted(found - set(SCHEME_NAMES)):
        raise ValueError(f"scheme {nameless[0]!r} has no name: add one to pages.SCHEME_NAMES")
    return [scheme for scheme in SCHEME_NAMES if scheme in found]


def panel(axes: Axes, plot: Plot, rows: pd.DataFrame, judges: Sequence[str], beside: Beside) -> None:
    """A quantity with its interval by scheme and judge, beside the paper's.

    Parameters
    ----------
    axes : Axes
    plot : Plot
    rows : DataFrame
        Of this quantity, one a judge and scheme; not empty.
    judges : sequence of str
        All judges of the figure, each with a place and a marker of its own.
    beside : callable
        Draws what belongs beside a mark that is defined; `nothing` for none.
    """
    schemes = schemes_of(rows)
    for position, scheme in enumerate(schemes):
        cell = rows[rows["scheme"] == scheme]
        for row in rows_of(cell):
            slot = position + _slot(judges, row["judge"])
            mark(axes, slot, row, marker_of(judges, row["judge"]), plot.bounds, beside)
        paper_column(axes, position, plot.paper(scheme, str(cell["condition"].iloc[0])))
    frame(axes, rows, schemes, plot)


def _slot(judges: Sequence[str], judge: str) -> float:
    """Where a judge stands within its scheme."""
    step = OURS_WIDTH / len(judges)
    return OURS - OURS_WIDTH / 2 + step * (judges.index(judge) + 0.5)


def frame(axes: Axes, rows: pd.DataFrame, schemes: Sequence[str], plot: Plot) -> None:
    """Names, n and the warning below each scheme; the range; a line at 0 where values have signs."""
    cells = [rows[rows["scheme"] == scheme] for scheme in schemes]
    names = _aligned([scheme_lines(scheme) for scheme in schemes])
    labels = ["\n".join([*lines, *size_lines(cell)]) for lines, cell in zip(names, cells, strict=True)]
    axes.set_xticks(range(len(schemes)), labels)
    axes.set_xlim(-0.5, len(schemes) - 0.5)
    axes.set_ylim(*plot.bounds)
    axes.set_ylabel(plot.axis)
    axes.tick_params(axis="x", labelsize=8)
    if plot.bounds[0] < 0:
        axes.axhline(0, color=GREY, lw=0.8, zorder=1)


def scheme_lines(scheme: str) -> list[str]:
    """A scheme's name on short lines, its variant from the second on."""
    name, _, variant = SCHEME_NAMES[scheme].partition(", ")
    return [*textwrap.wrap(name, 16), *(textwrap.wrap(variant, 16) or [""])]


def _aligned(names: Sequence[Sequence[str]]) -> list[list[str]]:
    """Names filled up to one number of lines, so that what stands below them stands in one line."""
    return [list(lines) for lines in zip(*zip_longest(*names, fillvalue=""), strict=True)]


def size_lines(cell: pd.DataFrame) -> list[str]:
    """Items and documents behind some rows, and whether these are too few."""
    sizes = [f"n = {_range(cell['n_items'])} items", f"{_range(cell['n_clusters'])} documents"]
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


def lao_noise(axes: Axes, x: float, row: dict[str, Any]) -> None:
    """What keeps LAO above 0 without a cue: Blind and probe exchanged, and an empty label line."""
    axes.plot([x, x], [row["null_low"], row["null_high"]], color=NOISE, lw=7, solid_capstyle="butt")
    floor(
        axes,
        x + 0.06,
        {"value": row["floor_value"], "ci_low": row["floor_low"], "ci_high": row["floor_high"]},
    )


def floor(axes: Axes, x: float, row: dict[str, Any], marker: str = "_") -> None:
    """A noise floor with its interval, dotted."""
    axes.plot([x, x], [row["ci_low"], row["ci_high"]], color=GREY, lw=0.9, ls=":")
    axes.plot(x, row["value"], marker, color=GREY, ms=6, clip_on=False)


def paper_column(axes: Axes, position: int, found: Counterpart) -> None:
    """The paper's judges in a lighter column: dots, and bars for ranges; no column where it has neither."""
    values, ranges = list(found.values.values()), list(found.ranges.values())
    if not values and not ranges:
        return
    middle = position + PAPERS
    axes.axvspan(middle - PAPERS_WIDTH / 2, middle + PAPERS_WIDTH / 2, color=LIGHT, lw=0, zorder=0)
    spread = _spread(len(values) + len(ranges))
    if values:
        at = middle + spread[: len(values)]
        axes.plot(at, values, "o", mfc="white", mec=GREY, mew=0.9, ms=4, clip_on=False, zorder=3)
    for shift, (low, high) in zip(spread[len(values) :], ranges, strict=True):
        corner = (middle + shift - 0.025, low)
        axes.add_patch(Rectangle(corner, 0.05, high - low, fc="white", ec=GREY, lw=0.9, zorder=3))


def _spread(n: int) -> Array:
    """Places around a column's middle, one for each of the paper's numbers."""
    return np.asarray(np.linspace(-0.09, 0.09, n) if n > 1 else np.zeros(n))


# --- Keys -------------------------------------------------------------------------------------------


def judge_keys(judges: Sequence[str]) -> list[Key]:
    """Each judge's marker."""
    return [
        Line2D([], [], color=INK, marker=marker_of(judges, judge), lw=1.1, ms=6, label=judge)
        for judge in judges
    ]


def paper_keys(plots: Iterable[Plot], rows: pd.DataFrame) -> list[Key]:
    """The paper's dots and bars, each where a panel has any."""
    cells = rows[["scheme", "condition"]].drop_duplicates().itertuples(index=False)
    found = [plot.paper(scheme, condition) for scheme, condition in cells for plot in plots]
    keys: list[Key] = []
    if any(counterpart.values for counterpart in found):
        keys.append(DOTS)
    if any(counterpart.ranges for counterpart in found):
        keys.append(Patch(fc="white", ec=GREY, lw=0.9, label="paper (a range, as stated)"))
    return keys


DOTS = Line2D([], [], ls="", marker="o", mfc="white", mec=GREY, ms=4, label="paper (five judges)")


def lao_keys(rows: pd.DataFrame) -> list[Key]:
    """What stands beside LAO, where that is drawn."""
    if not (rows["quantity"] == "lao").any():
        return []
    return [
        Line2D([], [], color=NOISE, lw=7, label="if Blind and probe were exchangeable"),
        Line2D([], [], color=GREY, lw=0.9, ls=":", marker="_", ms=6, label="an empty label line"),
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
