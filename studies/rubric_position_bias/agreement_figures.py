"""Figures of agreement with reference scores: over the number of orders, and the gain beside the bias."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from shared.frames import rows_of
from shared.reporting.drawing import WIDTH, Key, gate_keys, hatch, ink, judge_keys, legend, mark, marker_of
from shared.reporting.figures import GREY
from shared.reporting.panels import (
    RING,
    SMALL,
    absent,
    cut_ends,
    cut_key,
    ground,
    judges_of,
    least_gate,
    limits,
    name_panel,
    on_the_undefined,
    paper_key,
    say_below,
    sheet,
)
from shared.reporting.tables import NOT_AVAILABLE, TOO_FEW, interval
from studies.rubric_position_bias.drawing import contexts_of, names_below
from studies.rubric_position_bias.pages import SOURCES

GAIN = "What balancing the orders gains, beside the bias"
CURVE = "Agreement with reference scores over the number of orders"
SHARE = "How much of the gain is there after k orders"


class Line(NamedTuple):
    """How a strategy is drawn, so that all three can be told apart in grey."""

    style: str
    marker: str
    filled: bool
    shift: float


STRATEGIES: Mapping[str, Line] = {
    "balanced": Line("-", "o", True, 0.0),
    "random": Line("--", "s", False, 0.2),
    "fixed": Line(":", "^", False, -0.2),
}

COLUMN_WIDTH, AXIS_WIDTH = 2.0, 0.9
"""In inches: a panel, and what stands left of the panels."""

# --- Over the number of orders ----------------------------------------------------------------------


def draw_curves(rows: pd.DataFrame) -> Figure:
    """Pearson's r over the number of orders k, for each strategy.

    Parameters
    ----------
    rows : DataFrame
        The table ``k_curve``.

    Returns
    -------
    Figure
        A line of panels for each data set and setting, a panel for each judge.
    """
    rows = rows[(rows["quantity"] == "pearson") & rows["condition"].isin(list(STRATEGIES))]
    rows = rows[rows["judge"].isin(judges_of(rows))]
    if rows.empty:
        return absent(CURVE)
    judges, contexts = judges_of(rows), contexts_of(rows)
    width = max(WIDTH, AXIS_WIDTH + COLUMN_WIDTH * len(judges))
    figure, panels = sheet(CURVE, len(contexts), len(judges), height=2.1, width=width, sharey="row")
    bounds = [limits(cell) for _, cell in contexts]
    for line, (name, cell), ends in zip(panels, contexts, bounds, strict=True):
        for axes, judge in zip(line, judges, strict=True):
            mine = cell[cell["judge"] == judge]
            if mine.empty:
                axes.set_axis_off()
                continue
            _curves(axes, mine, ends)
            names_below(axes, "\n".join(["orders, k", *_undefined(mine)]), mine)
            axes.set_title("\n".join(textwrap.wrap(judge, 26)), fontsize=8)
        line[0].set_ylabel(f"{name}\nPearson's r", fontsize=8)
    cuts = (cut_key(cell, ends) for (_, cell), ends in zip(contexts, bounds, strict=True))
    legend(figure, [*_strategy_keys(rows), *next(filter(None, cuts), []), *gate_keys(rows)])
    say_below(figure, "\n".join(on_the_undefined(rows)))
    return figure


def _curves(axes: Axes, rows: pd.DataFrame, bounds: tuple[float, float]) -> None:
    """One judge's curves; strategies stand a little apart so that their intervals can be seen."""
    for strategy in STRATEGIES:
        _curve(axes, rows[rows["condition"] == strategy], strategy, bounds)
    axes.set_xlim(0.4, rows["k"].max() + 0.6)
    axes.set_ylim(*bounds)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.tick_params(labelsize=SMALL)
    ground(axes, rows["gate"])


def _curve(axes: Axes, rows: pd.DataFrame, strategy: str, bounds: tuple[float, float]) -> None:
    if rows.empty:
        return
    line, rows = STRATEGIES[strategy], rows.sort_values("k")
    colour = ink(rows["gate"].iloc[0])
    x = rows["k"] + line.shift
    axes.plot(x, rows["value"], color=colour, ls=line.style, lw=1, zorder=2)
    fill = colour if line.filled else "white"
    axes.plot(x, rows["value"], line.marker, mec=colour, mfc=fill, ms=3.5, mew=0.8, zorder=3)
    axes.vlines(x, rows["ci_low"], rows["ci_high"], color=colour, lw=0.6, zorder=1)
    for row in rows_of(rows):
        cut_ends(axes, row["k"] + line.shift, row, bounds)


def _undefined(rows: pd.DataFrame) -> list[str]:
    """Which strategies have no value at any k."""
    known = rows["value"].notna().groupby(rows["condition"]).any()
    lacking = [name.capitalize() for name in STRATEGIES if not known.get(name, default=True)]
    return [f"{NOT_AVAILABLE}: {', '.join(lacking)}"] if lacking else []


def _strategy_keys(rows: pd.DataFrame) -> list[Key]:
    found = [name for name in STRATEGIES if (rows["condition"] == name).any()]
    return [_strategy_key(name, STRATEGIES[name]) for name in found]


def _strategy_key(name: str, line: Line) -> Key:
    colour = ink("passed")
    fill = colour if line.filled else "white"
    return Line2D(
        [], [], color=colour, ls=line.style, marker=line.marker, mfc=fill, lw=1, ms=4, label=name.capitalize()
    )


# --- The share of the gain --------------------------------------------------------------------------

SHARE_BOUNDS = (-0.6, 1.6)
"""Shares beyond are of gains near 0."""


def draw_shares(rows: pd.DataFrame) -> Figure:
    """How much of Balanced's gain from one order to all is reached at k, over all cells.

    Parameters
    ----------
    rows : DataFrame
        The table ``k_curve``, of which the means over judges and data sets are drawn.

    Returns
    -------
    Figure
        A panel for each setting, or for the one cell that it has; n/a where Balanced gains nothing. Grey
        where a cell of the mean has not passed the gate.
    """
    shares = rows[rows["quantity"] == "gain_share"]
    if shares.empty:
        return absent(SHARE)
    contexts = list(_means_or_cells(shares))
    figure, panels = sheet(SHARE, len(contexts), height=2.4)
    for axes, (name, cell) in zip(panels[:, 0], contexts, strict=True):
        _shares(axes, cell)
        axes.set_xlabel("\n".join(["orders, k", *_undefined(cell), _rests_on(cell)]), fontsize=8)
        axes.set_ylabel("share of the gain\nfrom k = 1 to all", fontsize=8)
        name_panel(axes, name)
    drawn = pd.concat([cell for _, cell in contexts])
    legend(figure, [*_strategy_keys(drawn), *cut_key(drawn, SHARE_BOUNDS), *_paper(drawn), *gate_keys(drawn)])
    say_below(figure, "\n".join(on_the_undefined(drawn)))
    return figure


def _means_or_cells(shares: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The mean over judges and data sets where there is one, else each cell that it would be of; named."""
    single = shares["judge"].isin(judges_of(shares))
    for name, mean in contexts_of(shares[~single]):
        yield name, _gated(mean, shares[single])
    alike = pd.MultiIndex.from_frame(shares[["setting", "scale", "size"]])
    has_mean = alike.isin(alike[~single])
    for judge, cells in shares[single & ~has_mean].groupby("judge", sort=False):
        for name, cell in contexts_of(cells):
            yield ", ".join([str(judge), *name.split("\n")]), cell.assign(published=cell["paper_low"])


def _gated(cell: pd.DataFrame, single: pd.DataFrame) -> pd.DataFrame:
    """A mean's rows, with the worst gate of the cells that it is of."""
    alike = (single[["setting", "scale", "size"]] == cell[["setting", "scale", "size"]].iloc[0]).all(axis=1)
    return cell.assign(gate=least_gate(single.loc[alike, "gate"]))


def _rests_on(cell: pd.DataFrame) -> str:
    """What a mean is of."""
    cells, sources = cell["n_cells"].max(), f"{cell['n_clusters'].max():.0f} {SOURCES}"
    of = f"mean over {cells:.0f} pairs of judge and data set" if cells > 1 else "one judge and data set"
    few = [TOO_FEW] if cell["note"].str.contains(TOO_FEW).any() else []
    return ", ".join([of, sources, *few])


def _paper(rows: pd.DataFrame) -> list[Key]:
    """The paper's ring, with the strategies and numbers of orders that it prints."""
    printed = rows[rows["published"].notna()].sort_values("k")
    if printed.empty:
        return []
    found = printed.groupby("condition", sort=False)["k"].unique()
    numbers = {str(name): ", ".join(f"{k:.0f}" for k in ks) for name, ks in found.items()}
    told = "; ".join(f"{name.capitalize()} at k = {ks}" for name, ks in numbers.items())
    return [paper_key(f"paper: {told}")]


def _shares(axes: Axes, rows: pd.DataFrame) -> None:
    for line in (0, 1):
        axes.axhline(line, color=GREY, lw=0.8, zorder=1)
    _curves(axes, rows, SHARE_BOUNDS)
    for row in rows_of(rows[rows["published"].notna()]):
        axes.plot(row["k"] + 0.38, row["published"], RING, mfc="white", mec=GREY, ms=6, zorder=4)


# --- The gain beside the bias -----------------------------------------------------------------------


def draw_gain(rows: pd.DataFrame) -> Figure:
    """Pearson's r of Balanced less that of Fixed, over Cramer's V: one mark a judge and data set.

    Parameters
    ----------
    rows : DataFrame
        The table ``gain``.

    Returns
    -------
    Figure
        A panel for each data set and number of options, with axes in common; below them the rank
        correlation over all cells.
    """
    cells = rows[rows["quantity"] == "gain"]
    if cells.empty:
        return absent(GAIN)
    judges, contexts = judges_of(cells), contexts_of(cells)
    columns = min(3, len(contexts))
    bounds = limits(cells, 0.0)
    figure, panels = sheet(GAIN, ceil(len(contexts) / columns), columns, height=2.5, sharex=True, sharey=True)
    panels[0, 0].set_xlim(0, 1.1 * max(0.05, float(cells["v"].max())))
    for axes, (name, cell) in zip(panels.flat, contexts, strict=False):
        _gains(axes, cell, judges, bounds)
        names_below(axes, "Cramer's V", cell)
        name_panel(axes, name.replace("\n", ", "))
    for axes in panels.flat[len(contexts) :]:
        axes.set_axis_off()
    for axes in panels[:, 0]:
        axes.set_ylabel("r of Balanced less r of Fixed", fontsize=8)
    legend(figure, [*judge_keys(judges), *cut_key(cells, bounds), *gate_keys(cells)])
    say_below(figure, "\n".join([*_together(rows), *on_the_undefined(cells)]))
    return figure


def _gains(axes: Axes, cell: pd.DataFrame, judges: Sequence[str], bounds: tuple[float, float]) -> None:
    axes.axhline(0, color=GREY, lw=0.8, zorder=1)
    for row in rows_of(cell[cell["v"].notna()]):
        if row["gate"] == "failed":
            hatch(axes, row["v"], 0.03 * axes.get_xlim()[1])
        # Grey, without the ground that `mark` draws: that is as wide as a category.
        shown = row | {"gate": "too few to tell"} if row["gate"] == "failed" else row
        mark(axes, row["v"], shown, marker_of(judges, row["judge"]), bounds)
        cut_ends(axes, row["v"], row, bounds)
    axes.set_ylim(*bounds)
    axes.tick_params(labelsize=SMALL, labelbottom=True)
    axes.xaxis.set_major_locator(MaxNLocator(4))


def _together(rows: pd.DataFrame) -> list[str]:
    """What the rank correlations of gain and V are, one a number of options."""
    found = list(rows_of(rows[rows["quantity"] == "gain_over_v"]))
    several = len({row["size"] for row in found}) > 1
    return [_rank_correlation(row, several) for row in found] or [
        "Fewer than three cells: no rank correlation of gain and V"
    ]


def _rank_correlation(row: dict[str, Any], several: bool) -> str:
    value = interval(row["value"], row["ci_low"], row["ci_high"])
    of = f" of {row['size']:.0f} options" if several else ""
    return f"Spearman's rho of gain and V over {row['n_cells']:.0f} cells{of}: {value}"
