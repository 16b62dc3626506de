"""Figures of choices by place: shares and direction, and Cramer's V by the number of options."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shared.frames import rows_of
from shared.reporting.drawing import Key, gate_keys, judge_keys, legend, marker_of
from shared.reporting.figures import GREY
from shared.reporting.panels import (
    SMALL,
    absent,
    categories,
    cut_key,
    finite,
    judges_of,
    limits,
    lying_mark,
    marks,
    name_panel,
    null_key,
    paper_column,
    paper_keys,
    say_below,
    sheet,
)
from shared.reporting.tables import number, p_value
from studies.rubric_position_bias.drawing import dataset_name, datasets_of, main_design, names_below

POSITION = "Which places of the list a judge chooses"
JOINED = 3
"""Lines join the marks of so many judges; of more they would be a tangle."""

SIZES = "Position bias by the number of score options"


def draw_position(rows: pd.DataFrame) -> Figure:
    """The share of choices at each place, and what it comes to.

    Parameters
    ----------
    rows : DataFrame
        The table ``position``.

    Returns
    -------
    Figure
        A line of panels for each data set: shares by place beside 1/n; each judge's direction, with Cramer's
        V and the p of its permutation test, corrected over the family.
    """
    rows = rows[rows["quantity"].isin(["position_share", "direction", "cramers_v"])]
    if rows.empty:
        return absent(POSITION)
    judges, datasets = judges_of(rows), datasets_of(rows)
    shares = rows[rows["quantity"] == "position_share"]
    shares = shares.assign(x=shares["condition"].str.removeprefix("place ").astype(float) - 1)
    bounds = (0.0, limits(shares, 0.0)[1])
    directions = rows[rows["quantity"] == "direction"]
    ends = finite(directions, "value", "ci_low", "ci_high", "null_low", "null_high")
    reach = 1.06 * max((abs(end) for end in ends), default=1.0)
    figure, panels = sheet(
        POSITION,
        len(datasets),
        2,
        height=max(1.9, 0.9 + 0.17 * len(judges)),
        width=8.4,
        gridspec_kw={"width_ratios": [2.2, 1]},
    )
    for (left, right), dataset in zip(panels, datasets, strict=True):
        cell = rows[rows["dataset"] == dataset]
        _shares(left, shares[shares["dataset"] == dataset], judges, bounds)
        name_panel(left, dataset_name(dataset))
        _directions(right, cell, judges, reach)
    cut = cut_key(shares, bounds)
    legend(figure, [*judge_keys(judges), _uniform_key(), *null_key(shares), *cut, *gate_keys(rows)])
    say_below(figure, "V: Cramer's, the size of the bias; p: of its permutation test, Holm over all cells")
    return figure


def _shares(axes: Axes, cell: pd.DataFrame, judges: Sequence[str], bounds: tuple[float, float]) -> None:
    marks(axes, cell, judges, bounds)
    n = int(cell["x"].max()) + 1
    axes.axhline(1 / n, color=GREY, lw=0.9, ls="--", zorder=1)
    named = {1: "\n(shown first)", n: "\n(shown last)"}
    categories(axes, [f"place {place}{named.get(place, '')}" for place in range(1, n + 1)])
    names_below(axes, "", cell)
    axes.set_ylabel("share of choices", fontsize=8)


def _directions(axes: Axes, cell: pd.DataFrame, judges: Sequence[str], reach: float) -> None:
    """Each judge's direction, with V and its p beside it."""
    told = {}
    for row in rows_of(cell[cell["quantity"] == "direction"]):
        y = -judges.index(row["judge"])
        lying_mark(axes, y, row, marker_of(judges, row["judge"]))
    for row in rows_of(cell[cell["quantity"] == "cramers_v"]):
        corrected = row["p"] if pd.isna(row["p_holm"]) else row["p_holm"]
        told[-judges.index(row["judge"])] = f"V {number(row['value'])}, p {p_value(corrected)}"
    axes.axvline(0, color=GREY, lw=0.8, zorder=1)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-len(judges) + 0.4, 0.6)
    axes.yaxis.tick_right()
    axes.set_yticks(list(told), list(told.values()), fontsize=SMALL)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=SMALL)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("← first places      last places →", fontsize=8)
    axes.set_title("direction", fontsize=9)


def _uniform_key() -> Key:
    return Line2D([], [], color=GREY, lw=0.9, ls="--", label="1/n: no place preferred")


def draw_sizes(rows: pd.DataFrame) -> Figure:
    """Cramer's V over the number of options.

    Parameters
    ----------
    rows : DataFrame
        The table ``rubric_size``; of the paper's own prompt, temperature 0 and no reasoning effort.

    Returns
    -------
    Figure
        A panel for each data set. Noise alone gives the grey range, which is wider where there are fewer
        choices.
    """
    rows = main_design(rows[rows["quantity"] == "cramers_v"], "size")
    if rows.empty:
        return absent(SIZES)
    judges, datasets, sizes = judges_of(rows), datasets_of(rows), sorted(rows["size"].unique())
    rows = rows.assign(x=rows["size"].map(sizes.index).astype(float))
    bounds = (0.0, limits(rows, 0.0, *rows[["published", "paper_high"]].max().dropna())[1])
    figure, panels = sheet(SIZES, len(datasets), height=2.5 if len(datasets) == 1 else 2.0)
    for axes, dataset in zip(panels[:, 0], datasets, strict=True):
        cell = rows[rows["dataset"] == dataset]
        marks(axes, cell, judges, bounds, joined=len(judges) <= JOINED)
        for x, size in enumerate(sizes):
            paper_column(axes, x, cell[cell["size"] == size], judges)
        categories(axes, [f"{size:.0f} options" for size in sizes])
        names_below(axes, "", cell)
        name_panel(axes, dataset_name(dataset))
        axes.set_ylabel("Cramer's V", fontsize=8)
    keys = [
        *judge_keys(judges),
        *null_key(rows),
        *paper_keys(rows, judges),
        *cut_key(rows, bounds),
        *gate_keys(rows),
    ]
    legend(figure, keys)
    return figure
