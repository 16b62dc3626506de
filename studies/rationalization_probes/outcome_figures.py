"""Figures of verdicts: outcomes under Blind (2), revision after the reveal (3), label anchoring (4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from shared.frames import rows_of
from shared.reporting.drawing import Key, canvas, gate_keys, hatch, ink, judge_keys, legend, not_run, nothing
from shared.reporting.figures import GREY, INK
from shared.reporting.tables import NOT_AVAILABLE
from studies.rationalization_probes.drawing import (
    DOTS,
    Plot,
    frame,
    lao_keys,
    lao_noise,
    panel,
    paper_column,
    schemes_of,
    width_of,
)

_LAO = "LAO: share of all movement\nthat goes to the cue's candidate"

PLOTS = {
    "figure_02a_equality_detection": Plot(
        "table_02_blind", "share_tie", "Equality detection under Blind", "EDR: share of ties on equal pairs"
    ),
    "figure_02b_neutrality": Plot(
        "table_02_blind",
        "neutrality_signed",
        "Neutrality under Blind",
        "[1,2] minus [2,1] on equal pairs\n(its size is the paper's ND)",
        (-1, 1),
        "confounded with the place on the screen at one drawn order per item (share_first_shown, Table 2)",
    ),
    "figure_04a_lao_truth": Plot("table_03_truth", "lao", "Label anchoring under Truth", _LAO),
    "figure_04b_lao_flip": Plot("table_04_flip", "lao", "Label anchoring under Flip", _LAO),
    "figure_04c_lao_placebo": Plot("table_05_placebo", "lao", "Anchoring on the placebo badge", _LAO),
}

REVISION = Plot(
    "revision", "revision_rate", "Revision after the labels are revealed", "share of verdicts that changed"
)

# Bottom of the stack first, each with the fill that tells it apart in grey.
DIRECTIONS: Mapping[str, tuple[str, str, str]] = {
    "revised_towards": ("towards the revealed label", "#a6a6a6", ""),
    "revised_away": ("away from it", "white", "////"),
    "revised_into_tie": ("into Tie", "#e6e6e6", "...."),
}

BARS = ((-0.32, "reveal"), (-0.02, "control"))


def draw_marks(plot: Plot, rows: pd.DataFrame) -> Figure:
    """A quantity with its interval, by scheme and judge.

    Parameters
    ----------
    plot : Plot
    rows : DataFrame
        The plot's table; other quantities and codings in it are left alone.

    Returns
    -------
    Figure
        Judges that have not passed the gate are grey, those that failed it on a hatched ground; what is
        undefined is marked n/a. Of LAO, which noise alone keeps above 0, thick grey bars are its range if
        Blind and probe were exchangeable, and a dotted line what an empty label line gives.
    """
    rows = plot.of(rows)
    figure, axes = canvas(plot.title, 3.9, width=width_of(schemes_of(rows)))
    axes.set_title(plot.note, fontsize=8, color=GREY)
    if rows.empty:
        return not_run(figure, axes)
    judges = list(rows["judge"].unique())
    panel(axes, plot, rows, judges, lao_noise if plot.quantity == "lao" else nothing)
    legend(figure, [*judge_keys(judges), DOTS, *lao_keys(rows), *gate_keys(rows)])
    return figure


def draw_revision(rows: pd.DataFrame) -> Figure:
    """Figure 3: revised verdicts by direction, after the reveal and after only being asked again.

    Parameters
    ----------
    rows : DataFrame
        The table ``revision``, of which equal pairs are drawn.

    Returns
    -------
    Figure
        One panel a judge.
    """
    rows = rows[rows["kind"] == "equal"]
    judges, schemes = list(rows["judge"].unique()), schemes_of(rows)
    figure, axes = canvas(REVISION.title, 4.3, max(1, len(judges)), width_of(schemes))
    if rows.empty:
        return not_run(figure, axes)
    for axes, judge in zip(figure.axes, judges, strict=True):
        _revised(axes, rows[rows["judge"] == judge], schemes)
        if len(judges) > 1:
            axes.text(0, 1.02, judge, transform=axes.transAxes, fontsize=8, color=GREY)
    legend(figure, [*_direction_keys(), DOTS, *gate_keys(rows)])
    return figure


def _revised(axes: Axes, rows: pd.DataFrame, schemes: Sequence[str]) -> None:
    """One judge's bars."""
    for position, scheme in enumerate(schemes):
        for shift, condition in BARS:
            cell = rows[(rows["scheme"] == scheme) & (rows["condition"] == condition)]
            _stack(axes, position + shift, cell.set_index("quantity"))
        paper_column(axes, position, REVISION.paper(scheme, "reveal"))
    frame(axes, rows[rows["quantity"] == REVISION.quantity], schemes, REVISION)
    _name_bars(axes, schemes)


def _stack(axes: Axes, x: float, cell: pd.DataFrame) -> None:
    """One bar: the directions add up to the revision rate, which carries the interval."""
    [total] = rows_of(cell.loc[["revision_rate"]])
    colour = ink(total["gate"])
    if total["gate"] == "failed":
        hatch(axes, x, 0.14)
    if pd.isna(total["value"]):
        axes.text(x, 0.5, NOT_AVAILABLE, ha="center", va="center", color=GREY, fontsize=8)
        return
    base = 0.0
    for direction, (_, fill, pattern) in DIRECTIONS.items():
        height = float(cell["value"][direction])
        axes.bar(x, height, 0.24, base, color=fill, edgecolor=colour, hatch=pattern, lw=0.8, zorder=2)
        base += height
    if pd.notna(total["ci_low"]):
        axes.plot([x, x], [total["ci_low"], total["ci_high"]], color=colour, lw=1.8, zorder=3)
    axes.plot(x, total["value"], "_", color=colour, ms=9, clip_on=False, zorder=4)


def _name_bars(axes: Axes, schemes: Sequence[str]) -> None:
    """Which bar is which, between the axis and the schemes' names."""
    names = [(position + shift, name) for position in range(len(schemes)) for shift, name in BARS]
    axes.set_xticks([x for x, _ in names], [name for _, name in names], minor=True, fontsize=7, color=GREY)
    axes.tick_params(axis="x", which="major", pad=16)


def _direction_keys() -> list[Key]:
    return [
        Patch(facecolor=colour, edgecolor=INK, hatch=hatch, lw=0.8, label=label)
        for label, colour, hatch in DIRECTIONS.values()
    ]
