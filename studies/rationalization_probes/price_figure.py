"""The figure of a label's price: what a judge makes of real errors, and how often it abstains from them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.frames import rows_of
from shared.reporting.drawing import (
    WIDTH,
    canvas,
    gate_keys,
    ink,
    judge_keys,
    legend,
    mark,
    marker_of,
    not_run,
    size_lines,
)
from shared.reporting.figures import GREY
from shared.reporting.tables import interval
from studies.rationalization_probes.drawing import AXIS_WIDTH, scheme_lines, schemes_of

TITLE = "What the label LLM is worth, in errors"
PANELS = {
    "sensitivity": ("picks of the undamaged text\nminus picks of the damaged,\nunder Blind", (-1.0, 1.0)),
    "tie_rate": ("share of ties,\nunder Blind", (0.0, 1.0)),
}
COLUMN_WIDTH, PRICE_CHARS = 1.45, 20


def draw_price(rows: pd.DataFrame) -> Figure:
    """Sensitivity and ties by the number of recorded errors, with the price of the label in words.

    Parameters
    ----------
    rows : DataFrame
        The table ``price``; of damaged summaries, what was answered under Blind is drawn by level, and
        ``price_in_errors`` is printed, with the reason where it is undefined.

    Returns
    -------
    Figure
        A column for each scheme: sensitivity above, ties below, over the number of errors.
    """
    rows = rows[rows["kind"] == "damage"]
    by_level = rows[rows["quantity"].isin(list(PANELS)) & (rows["condition"] == "blind")]
    if by_level.empty:
        return not_run(*canvas(TITLE, 3.9))
    by_level = by_level.assign(level=by_level["wording"].str.split().str[0].astype(int))
    judges, schemes = list(by_level["judge"].unique()), schemes_of(by_level)
    figure, first = canvas(TITLE, 5.6, width=max(WIDTH, AXIS_WIDTH + COLUMN_WIDTH * len(schemes)))
    first.remove()
    grid = figure.subplots(len(PANELS), len(schemes), sharex=True, sharey="row", squeeze=False)
    for column, scheme in zip(grid.T, schemes, strict=True):
        cell = by_level[by_level["scheme"] == scheme]
        _scheme(column, cell, judges)
        prices = rows[(rows["scheme"] == scheme) & (rows["quantity"] == "price_in_errors")]
        column[0].set_title("\n".join([*scheme_lines(scheme), *price_lines(prices)]), fontsize=8)
    levels = sorted(by_level["level"].unique())
    grid[0, 0].set_xticks(levels)  # the panels share one axis: a scheme may have been asked about fewer
    grid[0, 0].set_xlim(levels[0] - 0.5, levels[-1] + 0.5)
    for axes, (label, _) in zip(grid[:, 0], PANELS.values(), strict=True):
        axes.set_ylabel(label)
    legend(figure, [*judge_keys(judges), *gate_keys(by_level)])
    return figure


def price_lines(rows: pd.DataFrame) -> list[str]:
    """Each judge's price, or why it has none, on short lines; judges are named where there are several."""
    lines = []
    for row in rows_of(rows):
        value = interval(row["value"], row["ci_low"], row["ci_high"])
        said = row["wording"] if pd.isna(row["value"]) and row["wording"] else f"price {value}"
        told = said if len(rows) == 1 else f"{row['judge']}: {said}"
        lines += textwrap.wrap(told, PRICE_CHARS)
    return lines


def _scheme(column: Sequence[Axes], cell: pd.DataFrame, judges: Sequence[str]) -> None:
    """One scheme's panels, with n below the lower one."""
    for axes, (quantity, (_, bounds)) in zip(column, PANELS.items(), strict=True):
        for judge in judges:
            mine = cell[(cell["quantity"] == quantity) & (cell["judge"] == judge)].sort_values("level")
            shift = 0.24 * (judges.index(judge) - (len(judges) - 1) / 2)
            _ladder(axes, mine, shift / max(1, len(judges) - 1), marker_of(judges, judge), bounds)
        axes.set_ylim(*bounds)
        if bounds[0] < 0:
            axes.axhline(0, color=GREY, lw=0.8, zorder=1)
    column[-1].set_xlabel("\n".join(["errors recorded", *size_lines(cell)]), fontsize=8)


def _ladder(axes: Axes, rows: pd.DataFrame, shift: float, marker: str, bounds: tuple[float, float]) -> None:
    """One judge's values, joined where neighbours are defined."""
    if rows.empty:
        return
    axes.plot(rows["level"] + shift, rows["value"], color=ink(rows["gate"].iloc[0]), lw=0.7, zorder=2)
    for row in rows_of(rows):
        mark(axes, row["level"] + shift, row, marker, bounds)
