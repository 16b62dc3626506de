"""The figure of criteria: how a criterion's mean score moves with its place in the list."""

from __future__ import annotations

import textwrap
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shared.frames import rows_of
from shared.reporting.drawing import NOISE, WIDTH, Key, gate_keys, ink, legend, size_lines
from shared.reporting.figures import GREY, INK
from shared.reporting.panels import SMALL, absent, finite, ground, judges_of, say_below, sheet
from shared.reporting.tables import NOT_AVAILABLE, interval, number, p_value
from studies.rubric_position_bias.drawing import dataset_name, datasets_of, main_design
from studies.rubric_position_bias.pages import SOURCES

TITLE = "How a criterion's score moves with its place in the list"
PANEL_WIDTH, AXIS_WIDTH, PANEL_HEIGHT = 1.62, 2.1, 1.25
"""In inches; what stands left of the panels says whose they are."""


def draw_criteria(rows: pd.DataFrame) -> Figure:
    """A criterion's mean score by place, less its mean over places.

    Parameters
    ----------
    rows : DataFrame
        The table ``criterion_order``; of the paper's own prompt, temperature 0 and no reasoning effort,
        under each order in which the range of scores was listed.

    Returns
    -------
    Figure
        A line of panels for each data set, judge and order of the range, a panel for each criterion, with
        Kendall's W, the p of its permutation test corrected over the family, and the shift from the first
        place to the last with its interval. The grey band is where the means would be if places did not
        matter.
    """
    rows = main_design(rows, "size")
    rows = rows[rows["quantity"].isin(["criterion_mean", "kendalls_w", "last_minus_first"])]
    rows = rows.assign(scale=rows["scale"].astype(str))
    if rows.empty:
        return absent(TITLE)
    lines = [
        (dataset, judge, cell)
        for dataset in datasets_of(rows)
        for judge in judges_of(rows)
        for _, cell in rows[(rows["dataset"] == dataset) & (rows["judge"] == judge)].groupby("scale")
    ]
    columns = max(cell["criterion"].nunique() for _, _, cell in lines)
    width = max(WIDTH, AXIS_WIDTH + PANEL_WIDTH * columns)
    figure, panels = sheet(TITLE, len(lines), columns, height=PANEL_HEIGHT, width=width, sharey=True)
    reach = max(_reach(cell) for _, _, cell in lines)
    for line, (dataset, judge, cell) in zip(panels, lines, strict=True):
        criteria = list(cell["criterion"].unique())
        for axes, criterion in zip(line, criteria, strict=False):
            _criterion(axes, cell[cell["criterion"] == criterion], reach)
        for axes in line[len(criteria) :]:
            axes.set_axis_off()
        whose = [dataset_name(dataset), *textwrap.wrap(judge, 26), _range_name(cell["scale"].iloc[0])]
        told = [*filter(None, whose), *size_lines(cell, SOURCES)]
        line[0].set_ylabel("\n".join(told), fontsize=SMALL, rotation=0, ha="right", va="center")
    legend(figure, [*_keys(), *gate_keys(rows)])
    say_below(figure, "W with the p of its permutation test (Holm); shift: last place less first, in points")
    return figure


def _centred(cell: pd.DataFrame) -> pd.DataFrame:
    """Means by place and their ranges without bias, less the mean over places."""
    means = cell[cell["quantity"] == "criterion_mean"]
    middle = means["value"].mean()
    columns = ["value", "null_low", "null_high"]
    place = means["condition"].str.removeprefix("place ").astype(float)
    return means.assign(place=place, **{name: means[name] - middle for name in columns}).sort_values("place")


def _reach(cell: pd.DataFrame) -> float:
    """How far from 0 a line of panels goes."""
    shown = (_centred(one) for _, one in cell.groupby("criterion"))
    ends = [abs(end) for means in shown for end in finite(means, "value", "null_low", "null_high")]
    return max([0.1, *(1.15 * end for end in ends)])


def _criterion(axes: Axes, cell: pd.DataFrame, reach: float) -> None:
    means = _centred(cell)
    colour = ink(cell["gate"].iloc[0])
    axes.axhline(0, color=GREY, lw=0.8, zorder=1)
    if means["value"].isna().all():
        axes.text(means["place"].mean(), 0, NOT_AVAILABLE, ha="center", va="bottom", color=GREY, fontsize=8)
    axes.fill_between(means["place"], means["null_low"], means["null_high"], color=NOISE, lw=0, zorder=0.5)
    axes.plot(means["place"], means["value"], "o-", color=colour, lw=1.1, ms=4.5, clip_on=False, zorder=3)
    axes.set_xticks(means["place"], [_place_name(place) for place in means["place"]], fontsize=SMALL)
    axes.set_xlim(0.6, len(means) + 0.4)
    axes.set_ylim(-reach, reach)
    axes.tick_params(axis="y", labelsize=SMALL)
    axes.set_title("\n".join([str(cell["criterion"].iloc[0]), *_told(cell)]), fontsize=SMALL)
    ground(axes, cell["gate"])


def _range_name(scale: str) -> str:
    """In which order the range of scores was listed."""
    return f"range listed from {scale[0]} to {scale[-1]}" if scale[:1].isdigit() else ""


def _place_name(place: float) -> str:
    return "place 1" if place == 1 else f"{place:.0f}"


def _told(cell: pd.DataFrame) -> list[str]:
    """W with its p, and the shift from the first place to the last."""
    found: dict[str, dict[str, Any]] = {row["quantity"]: row for row in rows_of(cell)}
    w, shift = found["kendalls_w"], found["last_minus_first"]
    corrected = w["p"] if pd.isna(w["p_holm"]) else w["p_holm"]
    return [
        f"W {number(w['value'])}, p {p_value(corrected)}",
        f"shift {interval(shift['value'], shift['ci_low'], shift['ci_high'])}",
    ]


def _keys() -> list[Key]:
    return [
        Line2D([], [], color=INK, marker="o", lw=1.1, ms=4.5, label="mean in points, less that over places"),
        Line2D([], [], color=NOISE, lw=6, solid_capstyle="butt", label="range if place did not matter"),
    ]
