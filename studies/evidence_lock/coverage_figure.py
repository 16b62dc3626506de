"""The figure of coverage: how much of either answer the record holds, by what became of the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.reporting.drawing import gate_keys, judge_keys, legend
from shared.reporting.figures import GREY
from shared.reporting.panels import (
    AXIS_WIDTH,
    MARK_WIDTH,
    OURS_WIDTH,
    SMALL,
    absent,
    categories,
    cut_key,
    judges_of,
    marks,
    name_panel,
    on_the_undefined,
    say_below,
    sheet,
    undefined,
)
from studies.evidence_lock import lost
from studies.evidence_lock.drawing import (
    APART,
    contexts_of,
    limits,
    missable_key,
    names_below,
    with_missable,
    without_range,
)
from studies.evidence_lock.lost import GROUPS

TITLE = "How much of the answers the record holds"

ANSWERS: Mapping[str, str] = {"coverage_better": "better answer", "coverage_worse": "worse answer"}

OWN, OF_ALL = lost.OWN, "all"

CONTRASTS = tuple(" - ".join(groups) for groups in lost.CONTRASTS)

TESTED: Mapping[tuple[str, str], str] = {
    **{
        (answer, contrast): f"{name.removesuffix(' answer')}:\n{contrast}".replace(" - ", "\n- ")
        for answer, name in ANSWERS.items()
        for contrast in CONTRASTS
    },
    (OWN, OF_ALL): "both:\nown -\nother's",
}
"""By quantity and condition, what is tested and how the axis calls it."""

PANEL_WIDTH = 2.6
"""The least, in inches."""

LINE = 36
"""Characters of a line below a panel."""

Bounds = tuple[float, float]


def draw_coverage(rows: pd.DataFrame) -> Figure:
    """Coverage of the better and of the worse answer in each group, and the differences of groups.

    Parameters
    ----------
    rows : DataFrame
        The table ``lost``.

    Returns
    -------
    Figure
        A line of panels for each data set and lock. Beside the differences stands what coverage can tell at
        all: by an answer's own text less by the text on the other answer, over all units and for the largest
        record.
    """
    means = without_range(rows[rows["quantity"].isin(list(ANSWERS)) & rows["condition"].isin(GROUPS)])
    if means.empty:
        return absent(TITLE)
    tested = with_missable(_tested(rows))
    means = means.assign(x=means["condition"].map(GROUPS.index).astype(float))
    drawn = pd.concat([means, tested])
    judges, contexts = judges_of(means), list(contexts_of(drawn, ("scheme",)))
    levels, bounds = limits(means), limits(tested)
    of_marks = MARK_WIDTH * len(TESTED) * len(judges) / OURS_WIDTH
    width, ratios = 3 * (max(PANEL_WIDTH, of_marks) + AXIS_WIDTH), {"width_ratios": [4, 4, 5]}
    figure, panels = sheet(TITLE, len(contexts), 3, height=2.4, width=width, gridspec_kw=ratios)
    for line, (name, cell) in zip(panels, contexts, strict=True):
        for axes, answer in zip(line, ANSWERS, strict=False):
            own = cell[(cell["quantity"] == answer) & cell["condition"].isin(GROUPS)]
            _groups(axes, own, judges, levels)
            axes.set_ylabel(f"coverage,\n{ANSWERS[answer]}", fontsize=8)
        _contrasts(line[2], cell[~cell["condition"].isin(GROUPS)], judges, bounds)
        name_panel(line[0], name)
    cuts = cut_key(means, levels) or cut_key(tested, bounds)
    legend(figure, [*judge_keys(judges), *missable_key(tested), *cuts, *gate_keys(drawn)])
    say_below(figure, "\n".join([_BELOW, *on_the_undefined(drawn)]))
    return figure


_BELOW = (
    "n: pairs in one order. lost: Structured right, the lock wrong; kept: both right; gained: the lock\n"
    "alone; neither. Differences: in one data set, with the better answer in the same place. own - other's:\n"
    "coverage by the record's text on the answer itself less that by its text on the other answer; where it\n"
    "is not above 0, coverage tells nothing."
)


def _tested(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of `TESTED` with their place; of `OWN`, those of each lock's largest record."""
    named = pd.Series(list(zip(rows["quantity"], rows["condition"], strict=True)), rows.index, dtype=object)
    found = rows[named.isin(list(TESTED))]
    own = found["quantity"] == OWN
    largest = found.groupby(["judge", "dataset", "scheme", "quantity"])["record_chars"].transform("max")
    found = found[~own | (found["record_chars"] == largest)]
    return found.assign(x=named[found.index].map(list(TESTED).index).astype(float))


def _groups(axes: Axes, cell: pd.DataFrame, judges: Sequence[str], bounds: Bounds) -> None:
    marks(axes, cell, judges, bounds)
    sizes = [units_of(cell[cell["condition"] == group]) for group in GROUPS]
    categories(axes, [f"{group}\n{size}" for group, size in zip(GROUPS, sizes, strict=True)])
    axes.tick_params(labelsize=SMALL)
    names_below(axes, "", cell, LINE)


def units_of(rows: pd.DataFrame) -> str:
    """How many units, from the judge with the fewest to that with the most."""
    counts: list[Any] = sorted(rows["n_trials"].dropna())
    if not counts:
        return "none"
    low, high = int(counts[0]), int(counts[-1])
    return f"n {low}" if low == high else f"{low} to {high}"


def _contrasts(axes: Axes, cell: pd.DataFrame, judges: Sequence[str], bounds: Bounds) -> None:
    axes.axhline(0, color=GREY, lw=0.8, zorder=1)
    axes.axvspan(len(TESTED) - 1.5, len(TESTED) - 0.5, color=APART, lw=0, zorder=-1)
    marks(axes, cell, judges, bounds)
    for x in set(range(len(TESTED))) - set(cell["x"]):
        undefined(axes, x, bounds[0])
    categories(axes, list(TESTED.values()))
    axes.tick_params(labelsize=SMALL)
    axes.set_ylabel("difference of coverage", fontsize=8)
    names_below(axes, "", cell, LINE)
