"""What the study's figures share: names, cells, marks along the axis below, the range that a test misses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.markers import CARETLEFT, CARETRIGHT
from matplotlib.patches import Rectangle

from shared.frames import rows_of
from shared.reporting import panels
from shared.reporting.drawing import NOISE, Key, ink, marker_of
from shared.reporting.figures import GREY, LIGHT
from shared.reporting.panels import OURS_WIDTH, PAPERS, PAPERS_WIDTH, lying_mark, papers, slot, spread
from studies.evidence_lock.pages import SCHEME_NAMES, SOURCES
from studies.evidence_lock.pairs import POOLED

DATASET_NAMES: Mapping[str, str] = {
    "embedded": "embedded pairs",
    "feedbackqa": "FeedbackQA",
    "lfqa": "LFQA",
    "llmbar": "LLMBar",
    "llmbar_processed": "LLMBar, processed",
    "helpsteer3": "HelpSteer3",
    "coval": "CoVal",
    POOLED: "all data sets together",
}

APART = "#f4f4f4"
"""The ground of categories that are no result like their neighbours."""

ONE_NUMBER = "paper (one number, over its data sets)"

MARK_HEIGHT, CATEGORY_HEIGHT = 0.11, 0.3
"""In inches: a mark, and the least for a category with its name, both along the axis on the left."""


# --- Which rows a figure shows ----------------------------------------------------------------------


def datasets_of(rows: pd.DataFrame) -> list[str]:
    """The data sets of a frame in the order of figures, what pools several last."""
    return panels.datasets_of(rows, DATASET_NAMES)


def dataset_name(dataset: str) -> str:
    """A data set's name for people."""
    return DATASET_NAMES.get(dataset, dataset)


def scheme_name(scheme: str, writer: str = "", naming: str = "neutral") -> str:
    """A scheme's name for people; whose record it rests on, and letters, where these are told."""
    told = [SCHEME_NAMES.get(scheme, scheme), f"({writer})" if writer else ""]
    return " ".join(filter(None, told)) + (", letters" if naming == "letters" else "")


def contexts_of(rows: pd.DataFrame, by: Sequence[str] = ()) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each data set and of what else figures have a panel for, named.

    Parameters
    ----------
    rows : DataFrame
    by : sequence of {"scheme", "writer", "record_chars", "temperature"}
        Told in a name where rows of the frame differ in it.
    """
    differing = [name for name in by if rows[name].nunique() > 1]
    for dataset in datasets_of(rows):
        for _, cell in rows[rows["dataset"] == dataset].groupby(["dataset", *by], sort=False):
            told = cell.iloc[0]
            parts = [_PARTS[name].format(_called(told[name])) for name in differing if told[name] != ""]
            yield ", ".join([dataset_name(dataset), *parts]), cell


_PARTS = {
    "scheme": "{}",
    "writer": "record by {}",
    "record_chars": "{} characters",
    "temperature": "temperature {}",
}


def _called(value: Any) -> str:
    return SCHEME_NAMES.get(value, value) if isinstance(value, str) else f"{value:g}"


def names_below(axes: Axes, label: str, cell: pd.DataFrame, line: int = panels.LINE) -> None:
    """What the axis is, and below it what the panel rests on; what was not run rests on nothing."""
    run = cell[cell["n_items"] > 0]
    panels.names_below(axes, label, cell if run.empty else run, SOURCES, line)


# --- What a test can miss ---------------------------------------------------------------------------


def with_missable(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the effects that their test finds less than four times in five, as the range behind marks."""
    return rows.assign(null_low=-rows["mde"], null_high=rows["mde"])


def without_range(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of what is not tested: no range behind their marks."""
    return rows.assign(null_low=np.nan, null_high=np.nan)


def limits(rows: pd.DataFrame, *extra: float) -> tuple[float, float]:
    """The ends of an axis of differences: values, 0 and the paper's numbers; a missable range is cut."""
    printed = panels.finite(rows, "published", "paper_low", "paper_high")
    return panels.limits(without_range(rows), 0.0, *printed, *extra)


def missable_key(rows: pd.DataFrame) -> list[Key]:
    """The thick grey bar, where there is any."""
    return panels.null_key(with_missable(rows), "below MDE: found less than 4 times in 5")


# --- Marks along the axis below ---------------------------------------------------------------------


def height_of(categories: int, judges: Sequence[str]) -> float:
    """How high a panel must be for marks, names and what stands below it, in inches."""
    of_one = max(CATEGORY_HEIGHT, MARK_HEIGHT * len(judges) / OURS_WIDTH)
    return 0.75 + of_one * categories


def lying_marks(axes: Axes, rows: pd.DataFrame, judges: Sequence[str], bounds: tuple[float, float]) -> None:
    """Values with their intervals along the axis below, judge below judge.

    Parameters
    ----------
    axes : Axes
    rows : DataFrame
        With ``y``, the middle of each row's category, and ``null_low``, ``null_high``.
    judges : sequence of str
    bounds : (float, float)
        The ends of the axis; an interval that goes on beyond them ends in an arrow.
    """
    for row in rows_of(rows):
        y = row["y"] - slot(judges, row["judge"])
        lying_mark(axes, y, row, marker_of(judges, row["judge"]), half_slot(judges))
        cut_sides(axes, y, row, bounds)


def half_slot(judges: Sequence[str]) -> float:
    """Half of what a judge takes of a category."""
    return OURS_WIDTH / len(judges) / 2


def cut_sides(axes: Axes, y: float, row: dict[str, Any], bounds: tuple[float, float]) -> None:
    """Arrows where an interval, or the value itself, lies beyond the axis."""
    low, high = bounds
    for is_beyond, end, marker in (
        (row["ci_low"] < low or row["value"] < low, low, CARETLEFT),
        (row["ci_high"] > high or row["value"] > high, high, CARETRIGHT),
    ):
        if is_beyond:
            axes.plot(end, y, marker=marker, color=ink(row["gate"]), ms=5, zorder=3)


def paper_strip(axes: Axes, y: float, cell: pd.DataFrame, judges: Sequence[str]) -> None:
    """What the paper prints about the rows of a category, in a light strip below our judges.

    As `shared.reporting.panels.paper_column`, which stands on its end.
    """
    found = list(dict.fromkeys(papers(cell, judges)))
    if not found:
        return
    middle = y - PAPERS
    axes.axhspan(middle - PAPERS_WIDTH / 2, middle + PAPERS_WIDTH / 2, color=LIGHT, lw=0, zorder=0)
    for (marker, low, high), shift in zip(found, spread(len(found), PAPERS_WIDTH), strict=True):
        at = middle - shift
        if marker:
            axes.plot(low, at, marker, mfc="white", mec=GREY, mew=0.9, ms=5, clip_on=False, zorder=4)
        else:
            box = Rectangle((low, at - 0.05), high - low, 0.1, fc="white", ec=GREY, lw=0.9, zorder=3)
            axes.add_patch(box)


def frame_lying(axes: Axes, labels: Mapping[float, str], bounds: tuple[float, float], *, named: bool) -> None:
    """Names left of the first panel of a line, a line at 0, and grid lines that stand."""
    axes.axvline(0, color=GREY, lw=0.8, zorder=1)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.set_yticks(list(labels), list(labels.values()) if named else [""] * len(labels), fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=panels.SMALL)
    axes.set_xlim(*bounds)
    axes.set_ylim(min(labels) - 0.55, max(labels) + 0.5)


def bar_key(told: str) -> Key:
    """A wide grey line."""
    return Line2D([], [], color=NOISE, lw=6, solid_capstyle="butt", label=told)
