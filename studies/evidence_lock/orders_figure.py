"""The figure of orders: how often a verdict changes with inspection, decision, both, and with neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.reporting.drawing import gate_keys, judge_keys, legend
from shared.reporting.figures import GREY
from shared.reporting.panels import (
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
    width_of,
)
from studies.evidence_lock.drawing import (
    APART,
    contexts_of,
    limits,
    missable_key,
    names_below,
    with_missable,
    without_range,
)

TITLE = "Where a change of verdict comes from"

RATES: Mapping[str, str] = {
    "through_record": "through\nthe record",
    "direct": "direct",
    "both": "both\n(the swap)",
    "noise_wording": "noise:\nwording",
    "noise_replicate": "noise:\nsample",
}
ABOVE: Mapping[str, str] = {
    "through_record_above_noise": "through\nthe record,\nless noise",
    "direct_above_noise": "direct,\nless noise",
    "both_above_noise": "both,\nless noise",
    "through_record_less_direct": "through\nthe record,\nless direct",
}
FLOORS = ("noise_wording", "noise_replicate")

Bounds = tuple[float, float]

BY = ("scheme", "writer", "record_chars", "temperature")


def draw_orders(rows: pd.DataFrame) -> Figure:
    """Rates of changed verdicts by what is exchanged, beside the noise floors, and what stands above these.

    Parameters
    ----------
    rows : DataFrame
        The table ``orders``.

    Returns
    -------
    Figure
        A line of panels for each data set, protocol and temperature.
    """
    rates = without_range(rows[rows["quantity"].isin(list(RATES))])
    above = with_missable(rows[rows["quantity"].isin(list(ABOVE))])
    if rates.empty:
        return absent(TITLE)
    drawn = pd.concat([rates, above])
    judges, contexts = judges_of(drawn), list(contexts_of(drawn, BY))
    bounds = limits(above)
    figure, panels = sheet(TITLE, len(contexts), 2, height=2.5, width=width_of(2, len(RATES), judges))
    for (left, right), (name, cell) in zip(panels, contexts, strict=True):
        for axes, names, ends in ((left, RATES, (-0.03, 1.06)), (right, ABOVE, bounds)):
            _panel(axes, cell[cell["quantity"].isin(list(names))], names, judges, ends)
        left.set_ylabel("share of verdicts\nthat change", fontsize=8)
        right.set_ylabel("difference of shares", fontsize=8)
        right.axhline(0, color=GREY, lw=0.8, zorder=1)
        name_panel(left, name)
    legend(figure, [*judge_keys(judges), *missable_key(above), *cut_key(above, bounds), *gate_keys(drawn)])
    say_below(figure, "\n".join([_BELOW, *on_the_undefined(drawn)]))
    return figure


_BELOW = (
    "Through the record: the answers were inspected in the other order; direct: the decision lists the same\n"
    "record in the other order. Noise: the same orders, in other words or in another sample."
)


def _panel(
    axes: Axes,
    cell: pd.DataFrame,
    names: Mapping[str, str],
    judges: Sequence[str],
    bounds: Bounds,
) -> None:
    """Marks of the quantities that the cell has; noise on a ground of its own."""
    shown = [name for name in names if (cell["quantity"] == name).any()]
    marks(axes, cell.assign(x=cell["quantity"].map(shown.index).astype(float)), judges, bounds)
    for x, name in enumerate(shown):
        if name in FLOORS:
            axes.axvspan(x - 0.5, x + 0.5, color=APART, lw=0, zorder=-1)
    categories(axes, [names[name] for name in shown])
    axes.tick_params(axis="x", labelsize=SMALL)
    names_below(axes, "", cell)
