"""The figure of shorter records: what is lost against Structured, what is written, what a verdict costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shared.reporting.drawing import Key, gate_keys, judge_keys, legend
from shared.reporting.figures import GREY
from shared.reporting.panels import (
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
    contexts_of,
    limits,
    missable_key,
    names_below,
    with_missable,
    without_range,
)
from studies.evidence_lock.pairs import REFERENCE

TITLE = "What a shorter record loses"

LOST: Mapping[str, str] = {
    "agreement": "agreement less\nStructured's",
    "inconsistency": "inconsistency less\nStructured's",
}
SPENT: Mapping[str, str] = {
    "record_chars_written": "characters written",
    "tokens": "tokens of a verdict",
}

JOINED = 3
"""Lines join the marks of so many judges; of more they would be a tangle."""

Bounds = tuple[float, float]


def draw_budgets(rows: pd.DataFrame) -> Figure:
    """Differences from Structured, characters written and tokens, over the cap on a record's characters.

    Parameters
    ----------
    rows : DataFrame
        The table ``budgets``.

    Returns
    -------
    Figure
        Two lines of panels for each data set and protocol that was asked under several caps.
    """
    lost = with_missable(rows[rows["quantity"].isin(list(LOST)) & (rows["reference"] == REFERENCE)])
    if lost.empty:
        return absent(TITLE)
    spent = without_range(rows[rows["quantity"].isin(list(SPENT)) & rows["scheme"].isin(lost["scheme"])])
    drawn = pd.concat([lost, spent])
    caps = sorted(drawn["record_chars"].dropna().unique())
    drawn = drawn.assign(x=drawn["record_chars"].map(caps.index).astype(float))
    judges, contexts = judges_of(drawn), list(contexts_of(drawn, ("scheme", "writer")))
    bounds = {name: _bounds(name, drawn[drawn["quantity"] == name]) for name in (*LOST, *SPENT)}
    width = width_of(2, len(caps), judges)
    figure, panels = sheet(TITLE, 2 * len(contexts), 2, height=2.2, width=width)
    for number, (name, cell) in enumerate(contexts):
        four = panels[2 * number : 2 * number + 2].ravel()
        for axes, quantity in zip(four, bounds, strict=True):
            _panel(axes, quantity, cell[cell["quantity"] == quantity], judges, bounds[quantity], caps)
        name_panel(four[0], name)
    cuts = (cut_key(drawn[drawn["quantity"] == name], ends) for name, ends in bounds.items())
    keys = [*judge_keys(judges), *missable_key(lost), _cap_key()]
    legend(figure, [*keys, *next(filter(None, cuts), []), *gate_keys(drawn)])
    say_below(figure, "\n".join(on_the_undefined(drawn)))
    return figure


def _bounds(quantity: str, cell: pd.DataFrame) -> Bounds:
    if quantity in LOST:
        return limits(cell)
    largest = cell["record_chars"].max() if quantity == "record_chars_written" and len(cell) else 0.0
    return 0.0, limits(cell, largest)[1]


def _panel(
    axes: Axes, quantity: str, cell: pd.DataFrame, judges: Sequence[str], bounds: Bounds, caps: Sequence[Any]
) -> None:
    marks(axes, cell, judges, bounds, joined=len(judges) <= JOINED)
    if quantity in LOST:
        axes.axhline(0, color=GREY, lw=0.8, zorder=1)
    if quantity == "record_chars_written":
        for x, cap in enumerate(caps):
            axes.plot([x - 0.4, x + 0.4], [cap, cap], color=GREY, lw=0.9, ls="--", zorder=1)
    categories(axes, [f"{cap:.0f}" for cap in caps])
    names_below(axes, "characters that a record may have", cell)
    axes.set_ylabel({**LOST, **SPENT}[quantity], fontsize=8)


def _cap_key() -> Key:
    return Line2D([], [], color=GREY, lw=0.9, ls="--", label="as many as it may have")
