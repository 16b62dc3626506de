"""The figure of the lock taken apart: a step of the differences at a time, from Structured to the lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.frames import rows_of
from shared.metrics.resampling import Array
from shared.reporting.drawing import NOISE, gate_keys, ink, judge_keys, legend, marker_of
from shared.reporting.figures import GREY
from shared.reporting.panels import (
    OURS_WIDTH,
    absent,
    cut_key,
    judges_of,
    lying_mark,
    name_panel,
    paper_keys,
    say_below,
    sheet,
    slot,
)
from studies.evidence_lock.bundle import ALL_STEPS, ANOTHERS, STEPS
from studies.evidence_lock.bundle import APART as CONTRASTS
from studies.evidence_lock.drawing import (
    APART,
    ONE_NUMBER,
    bar_key,
    cut_sides,
    dataset_name,
    datasets_of,
    frame_lying,
    half_slot,
    height_of,
    limits,
    names_below,
    paper_strip,
)

TITLE = "Where the lock's loss comes from"

QUANTITIES: Mapping[str, str] = {
    "agreement": "difference of agreement",
    "inconsistency": "difference of inconsistency",
}

NAMES: Mapping[str, str] = {
    "second call": "a second call",
    "record frozen": "+ record frozen,\nfresh context",
    "source removed": "+ source removed",
    ALL_STEPS.condition: "= Evidence Lock",
    "source and verdict removed": "Structured's evidence alone\n- Structured",
    "told not to choose": "Evidence Lock - Structured's\nevidence alone",
    "evidence written": "Structured - Standard",
    "record added": "record and source\n- source read again",
}
"""How the axis calls each difference, the steps first."""

Category = tuple[str, str]
"""A condition, and who wrote the record."""


def draw_bundle(rows: pd.DataFrame) -> Figure:
    """The steps from Structured to the lock, each from where the one before it ends, and contrasts beside.

    Parameters
    ----------
    rows : DataFrame
        The table ``bundle``.

    Returns
    -------
    Figure
        A line of panels for each data set, and for all together. A bar is a step; the interval at its end is
        that step's own.
    """
    rows = rows[rows["quantity"].isin(list(QUANTITIES)) & (rows["reference"] != "")]
    if rows.empty:
        return absent(TITLE)
    places = {category: -float(place) for place, category in enumerate(categories_of(rows))}
    rows = _placed(rows.assign(y=[places[category] for category in _named(rows)]))
    judges, datasets = judges_of(rows), datasets_of(rows)
    of = {quantity: rows[rows["quantity"] == quantity] for quantity in QUANTITIES}
    bounds = {quantity: limits(cell, *cell["start"]) for quantity, cell in of.items()}
    figure, panels = sheet(TITLE, len(datasets), 2, height=height_of(len(places), judges), width=8.4)
    for line, dataset in zip(panels, datasets, strict=True):
        for axes, quantity in zip(line, QUANTITIES, strict=True):
            cell = of[quantity][of[quantity]["dataset"] == dataset]
            _panel(axes, cell, judges, bounds[quantity])
            frame_lying(axes, _labels(places), bounds[quantity], named=axes is line[0])
            names_below(axes, QUANTITIES[quantity], cell)
        name_panel(line[0], dataset_name(dataset))
    cuts = next(filter(None, (cut_key(of[quantity], bounds[quantity]) for quantity in QUANTITIES)), [])
    bar = bar_key("a step, from where the last one ends")
    keys = [*judge_keys(judges), bar, *paper_keys(rows, judges, ONE_NUMBER), *cuts, *gate_keys(rows)]
    legend(figure, keys)
    say_below(figure, _BELOW)
    return figure


_BELOW = (
    "Steps are on the pairs that all of their protocols have, and add up to the lock; the interval at the\n"
    "end of a bar is of that step alone. On the grey ground: other differences, on their own pairs."
)


# --- Where each difference stands -------------------------------------------------------------------


def categories_of(rows: pd.DataFrame) -> list[Category]:
    """The categories of a frame: the steps, their sum, what is beside them, each other writer's records."""
    order = [step.condition for step in (*STEPS, ALL_STEPS, *CONTRASTS, ANOTHERS)]
    return sorted(set(_named(rows)), key=lambda name: (order.index(name[0]), name[1]))


def _named(rows: pd.DataFrame) -> list[Category]:
    return list(rows[["condition", "writer"]].itertuples(index=False, name=None))


def _labels(places: Mapping[Category, float]) -> dict[float, str]:
    return {
        y: NAMES.get(condition, "another's record\n- own" + (f" (by {writer})" if writer else ""))
        for (condition, writer), y in places.items()
    }


def _placed(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows from ``start`` on: value and interval are shifted by it, ``size`` is the value as it was."""
    rows = rows.assign(start=0.0)
    for _, cell in rows.groupby(["judge", "dataset", "quantity", "naming"], sort=False):
        value = dict(zip(cell["condition"], cell["value"], strict=True))
        whole = value.get(ALL_STEPS.condition, np.nan)
        begins = starts(np.array([value.get(step.condition, np.nan) for step in STEPS]), whole)
        for step, start in zip(STEPS, begins, strict=True):
            rows.loc[cell.index[cell["condition"] == step.condition], "start"] = start
    shifted = {name: rows[name] + rows["start"] for name in ("value", "ci_low", "ci_high")}
    return rows.assign(size=rows["value"], **shifted)


def starts(steps: Array, whole: float) -> Array:
    """Where each step begins: where those before it end, or, after one that is lacking, back from the whole.

    Parameters
    ----------
    steps : ndarray, shape (n,)
        nan for a step that was not run.
    whole : float
        What all steps come to.

    Returns
    -------
    ndarray, shape (n,)
        0 where neither is known.

    Examples
    --------
    >>> starts(np.array([0.1, -0.2, 0.05]), -0.05).round(2).tolist()
    [0.0, 0.1, -0.1]
    >>> starts(np.array([0.1, np.nan, 0.05]), -0.05).round(2).tolist()
    [0.0, 0.1, -0.1]
    """
    forwards = np.concatenate([[0.0], np.cumsum(steps)[:-1]])
    backwards = whole - np.cumsum(steps[::-1])[::-1]
    return np.nan_to_num(np.where(np.isnan(forwards), backwards, forwards))


# --- Marks ------------------------------------------------------------------------------------------


def _panel(axes: Axes, cell: pd.DataFrame, judges: Sequence[str], bounds: tuple[float, float]) -> None:
    is_step = cell["condition"].isin([step.condition for step in (*STEPS, ALL_STEPS)])
    if not is_step.all():
        below = cell.loc[~is_step, "y"]
        axes.axhspan(below.min() - 0.55, below.max() + 0.5, color=APART, lw=0, zorder=-1)
    for _, of_category in cell.groupby("y"):
        paper_strip(axes, of_category["y"].iloc[0], of_category, judges)
    for row in rows_of(cell):
        _step(axes, row, judges, bounds)


def _step(axes: Axes, row: dict[str, Any], judges: Sequence[str], bounds: tuple[float, float]) -> None:
    """A bar from the start to the end, the interval and the judge's mark at its end."""
    y, height = row["y"] - slot(judges, row["judge"]), 0.8 * OURS_WIDTH / len(judges)
    if pd.isna(row["value"]) and "not run" in str(row["note"]):
        axes.text(0, y, " not run", va="center", color=GREY, fontsize=7)
        return
    if pd.notna(row["size"]):
        axes.barh(y, row["size"], height, row["start"], color=NOISE, ec=ink(row["gate"]), lw=0.5, zorder=2)
    lying_mark(axes, y, row, marker_of(judges, row["judge"]), half_slot(judges))
    cut_sides(axes, y, row, bounds)
