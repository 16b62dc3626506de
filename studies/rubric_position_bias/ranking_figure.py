"""The figure of rankings: how far they differ between two sets of orders, beside what chance alone gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from shared.frames import rows_of
from shared.reporting.drawing import NOISE, Key, gate_keys, hatch, ink, judge_keys, legend, marker_of
from shared.reporting.figures import GREY, INK
from shared.reporting.panels import (
    absent,
    categories,
    finite,
    judges_of,
    marks,
    name_panel,
    on_the_undefined,
    paper_column,
    paper_keys,
    say_below,
    sheet,
    slot,
    width_of,
)
from shared.reporting.tables import NOT_AVAILABLE
from studies.rubric_position_bias.drawing import contexts_of, names_below
from studies.rubric_position_bias.ranking import HALVES, ONE

TITLE = "Do rankings change with the order of the options?"

CONDITIONS: Mapping[str, str] = {
    "balanced - fixed": "Balanced\nand Fixed",
    "balanced - random": "Balanced\nand Random",
    ONE: "floor:\none order\nand all",
    HALVES: "floor:\ntwo halves\nof Balanced",
}
"""What is compared, and how the axis calls it; floors stand on a light ground."""

FLOORS = (ONE, HALVES)
TAU = "kendall_tau"
LOW, HIGH = "top1_change_low", "top1_change_high"


def draw_ranking(rows: pd.DataFrame) -> Figure:
    """Kendall's tau of two rankings, and the share of prompts whose best candidate changes.

    Parameters
    ----------
    rows : DataFrame
        The table ``ranking``; of its contests those of whole prompts.

    Returns
    -------
    Figure
        A line of panels for each data set and setting: tau left, changes of the best right, as a box from
        ties broken in favour of agreement to ties broken against it.
    """
    rows = rows[(rows["contest"] == "prompt") & rows["condition"].isin(list(CONDITIONS))]
    if rows.empty:
        return absent(TITLE)
    shown = [condition for condition in CONDITIONS if (rows["condition"] == condition).any()]
    rows = rows.assign(x=rows["condition"].map(shown.index).astype(float))
    judges, contexts = judges_of(rows), contexts_of(rows)
    least = min([0.0, *finite(rows[rows["quantity"] == TAU], "value", "ci_low")])
    width = width_of(2, len(shown), judges)
    figure, panels = sheet(TITLE, len(contexts), 2, height=2.5, width=width)
    for line, (name, cell) in zip(panels, contexts, strict=True):
        of = {quantity: rows_of_one for quantity, rows_of_one in cell.groupby("quantity")}
        marks(line[0], of[TAU], judges, (least - 0.03, 1.06))
        _changes(line[1], of[LOW], of[HIGH], judges)
        for axes, quantity in zip(line, (TAU, LOW), strict=True):
            _frame(axes, of[quantity], shown, judges)
        line[0].set_ylabel("Kendall's tau-b,\nmean over prompts", fontsize=8)
        line[1].set_ylabel("share of prompts whose\nbest candidate changes", fontsize=8)
        name_panel(line[0], name.replace("\n", ", "))
    legend(figure, [*judge_keys(judges), _box_key(), *paper_keys(rows, judges), *gate_keys(rows)])
    told = "Any two sets of orders rank differently by chance: read the others beside the floors."
    say_below(figure, "\n".join([told, *on_the_undefined(rows)]))
    return figure


def _frame(axes: Axes, cell: pd.DataFrame, shown: Sequence[str], judges: Sequence[str]) -> None:
    for x, condition in enumerate(shown):
        paper_column(axes, x, cell[cell["condition"] == condition], judges)
        if condition in FLOORS:
            axes.axvspan(x - 0.5, x + 0.5, color="#f4f4f4", lw=0, zorder=-1)
    categories(axes, [CONDITIONS[condition] for condition in shown])
    names_below(axes, "", cell)


def _changes(axes: Axes, low: pd.DataFrame, high: pd.DataFrame, judges: Sequence[str]) -> None:
    """Boxes from the low bound to the high one; whiskers from the low one's interval to the high one's."""
    named = ["judge", "condition"]
    both = low.merge(high[[*named, "value", "ci_high"]], on=named, suffixes=("", "_of_high"))
    for row in rows_of(both):
        x, colour = row["x"] + slot(judges, row["judge"]), ink(row["gate"])
        if row["gate"] == "failed":
            hatch(axes, x, 0.07)
        if pd.isna(row["value"]):
            axes.text(x, 0.5, NOT_AVAILABLE, ha="center", va="center", color=GREY, fontsize=8)
            continue
        axes.plot([x, x], [row["ci_low"], row["ci_high_of_high"]], color=colour, lw=1.1, zorder=2)
        height = row["value_of_high"] - row["value"]
        axes.bar(x, height, 0.07, row["value"], color=NOISE, edgecolor=colour, lw=0.8, zorder=3)
        middle = row["value"] + height / 2
        axes.plot(x, middle, marker_of(judges, row["judge"]), color=colour, ms=5, clip_on=False, zorder=4)
    axes.set_ylim(-0.03, 1.06)


def _box_key() -> Key:
    return Patch(facecolor=NOISE, edgecolor=INK, lw=0.8, label="from ties broken for agreement to against it")
