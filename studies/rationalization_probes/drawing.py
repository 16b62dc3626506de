"""What the study's figures share: a quantity by scheme, its marks, the gate, the paper's column, the keys."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from shared.frames import rows_of
from shared.metrics.resampling import Array
from shared.reporting.drawing import NOISE, WIDTH, Beside, Key, floor, mark, marker_of, size_lines
from shared.reporting.figures import GREY, LIGHT
from studies.rationalization_probes import counterparts
from studies.rationalization_probes.counterparts import Counterpart
from studies.rationalization_probes.pages import SCHEME_NAMES

# A scheme takes 1 along the axis: our judges on its left, the paper's on its right.
OURS, OURS_WIDTH = -0.15, 0.5
PAPERS, PAPERS_WIDTH = 0.27, 0.26


SCHEME_WIDTH, AXIS_WIDTH = 1.15, 0.9
"""In inches: what a scheme's name needs, what stands left of the axes."""


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


def width_of(schemes: Iterable[str]) -> float:
    """How wide a figure must be for the schemes' names not to touch, in inches."""
    return max(WIDTH, AXIS_WIDTH + SCHEME_WIDTH * len(list(schemes)))


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


# --- Marks ------------------------------------------------------------------------------------------


def lao_noise(axes: Axes, x: float, row: dict[str, Any]) -> None:
    """What keeps LAO above 0 without a cue: Blind and probe exchanged, and an empty label line."""
    axes.plot([x, x], [row["null_low"], row["null_high"]], color=NOISE, lw=7, solid_capstyle="butt")
    floor(
        axes,
        x + 0.06,
        {"value": row["floor_value"], "ci_low": row["floor_low"], "ci_high": row["floor_high"]},
    )


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
