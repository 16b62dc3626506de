"""The figure of corrections: what one call is worth, corrected for position or not, beside many."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.reporting.drawing import gate_keys, judge_keys, legend
from shared.reporting.figures import GREY
from shared.reporting.panels import (
    absent,
    categories,
    cut_key,
    judges_of,
    limits,
    marks,
    name_panel,
    on_the_undefined,
    say_below,
    sheet,
    width_of,
)
from studies.rubric_position_bias.calibration import AVERAGED, EXPECTED, METHODS, ORDERS_MEAN, SINGLE
from studies.rubric_position_bias.drawing import dataset_name, datasets_of, names_below

TITLE = "What a correction for position is worth, beside averaging over orders"

R, SHARE = "r_reference", "gain_share"

NAMES: Mapping[str, str] = {
    SINGLE: "one answer",
    "corrected answer": "one answer,\ncorrected",
    "PriDe answer": "one answer,\nPriDe",
    EXPECTED: "expected\nscore\n(G-Eval)",
    "corrected expected score": "expected\nscore,\ncorrected",
    "PriDe expected score": "expected\nscore,\nPriDe",
    ORDERS_MEAN: "mean of\nall answers",
    "mean of K expected scores": "mean of all\nexpected\nscores",
}
"""How the axis calls each way to a score: single calls first, means over all orders last."""

SHARE_BOUNDS = (-0.6, 1.6)
"""Shares beyond are of gains near 0."""


HELD_OUT = "Of items held out of the estimate of the position prior."


def draw_calibration(rows: pd.DataFrame) -> Figure:
    """Pearson's r with the reference score for each way to a score, and its share of the gain of averaging.

    Parameters
    ----------
    rows : DataFrame
        The table ``calibration``.

    Returns
    -------
    Figure
        Two panels for each data set, one upon the other; means over all orders on a light ground.
    """
    rows = rows[rows["quantity"].isin([R, SHARE])]
    if rows.empty:
        return absent(TITLE)
    rows = rows.assign(x=rows["condition"].map(list(NAMES).index).astype(float))
    judges, datasets = judges_of(rows), datasets_of(rows)
    r, shares = (rows[rows["quantity"] == quantity] for quantity in (R, SHARE))
    bounds = limits(r)
    width = width_of(1, len(NAMES), judges)
    figure, panels = sheet(TITLE, 2 * len(datasets), height=1.9, width=width)
    for number, dataset in enumerate(datasets):
        upper, lower = panels[2 * number : 2 * number + 2, 0]
        marks(upper, r[r["dataset"] == dataset], judges, bounds)
        marks(lower, shares[shares["dataset"] == dataset], judges, SHARE_BOUNDS)
        for axes in (upper, lower):
            _frame(axes)
        names_below(lower, "", rows[rows["dataset"] == dataset])
        name_panel(upper, dataset_name(dataset))
        upper.set_ylabel("r with the\nreference score", fontsize=8)
        lower.set_ylabel("share of the gain\nof the mean of all", fontsize=8)
        for line in (0, 1):
            lower.axhline(line, color=GREY, lw=0.8, zorder=1)
    cut = cut_key(r, bounds) or cut_key(shares, SHARE_BOUNDS)
    legend(figure, [*judge_keys(judges), *cut, *gate_keys(rows)])
    say_below(figure, "\n".join([HELD_OUT, *on_the_undefined(rows)]))
    return figure


def _frame(axes: Axes) -> None:
    """Names of the ways; those over all orders apart."""
    first = len(METHODS) - len(AVERAGED)
    axes.axvspan(first - 0.5, len(METHODS) - 0.5, color="#f4f4f4", lw=0, zorder=-1)
    categories(axes, list(NAMES.values()))
    axes.tick_params(axis="x", labelsize=7)
