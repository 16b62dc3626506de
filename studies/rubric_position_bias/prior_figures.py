"""Figures of the position prior, sd(alpha): under each prompt, over temperature and over reasoning effort."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shared.reporting.drawing import Key, gate_keys, judge_keys, legend
from shared.reporting.figures import GREY, INK
from shared.reporting.panels import (
    MEAN,
    absent,
    categories,
    cut_key,
    judges_of,
    least_gate,
    limits,
    marks,
    name_panel,
    on_the_undefined,
    paper_column,
    paper_keys,
    say_below,
    sheet,
    width_of,
)
from studies.rubric_position_bias.drawing import dataset_name, datasets_of, main_design, names_below
from studies.rubric_position_bias.params import EFFORTS, SCHEMES
from studies.rubric_position_bias.results import ALL

ARMS = "The position prior under each prompt"
TEMPERATURE = "The position prior over temperature and reasoning effort"

SD, DIFFERENCE = "sd_alpha", "sd_alpha_difference"

SIZE_AND_NOISE = (
    "sd(alpha): spread of the log-odds that places add. Noise keeps it above 0: "
    "where its interval starts at 0, no prior was found."
)


class Line(NamedTuple):
    """A line of panels: its name, its rows with ``x``, the levels along the axis, and what these are."""

    name: str
    rows: pd.DataFrame
    levels: Sequence[str]
    axis: str

    @property
    def is_mean(self) -> bool:
        return bool((self.rows["judge"] == ALL).all())


def draw_arms(rows: pd.DataFrame) -> Figure:
    """sd(alpha) under each prompt, and its difference to the base prompt's.

    Parameters
    ----------
    rows : DataFrame
        The table ``prompt_arms``; of five options, temperature 0 and no reasoning effort.

    Returns
    -------
    Figure
        A line of panels for each data set, and one for the mean over judges and data sets where there are
        several. The paper's numbers are such means: they stand beside it or, without one, beside every line.
    """
    return _figure(ARMS, list(_by_dataset(main_design(rows, "scheme"), SCHEMES, "prompt")), "base")


def draw_temperature(rows: pd.DataFrame) -> Figure:
    """sd(alpha) over temperature and over reasoning effort, and its difference to the lowest one's.

    Parameters
    ----------
    rows : DataFrame
        The table ``temperature``; of five options and the base prompt.

    Returns
    -------
    Figure
        A line of panels for each data set and each of the two, and for their means over judges and data sets.
    """
    heat = main_design(rows, "temperature")
    levels = [f"{level:g}" for level in sorted(heat["temperature"].dropna().unique())]
    effort = main_design(rows, "effort")
    lines = [
        *_by_dataset(heat, levels, "temperature"),
        *_by_dataset(effort[effort["effort"] != ""], EFFORTS, "reasoning effort"),
    ]
    return _figure(TEMPERATURE, lines, "the lowest")


def _by_dataset(rows: pd.DataFrame, levels: Sequence[str], axis: str) -> Iterator[Line]:
    """The lines of one axis, with the levels that any data set has."""
    rows = rows[rows["quantity"].isin([SD, DIFFERENCE])]
    level = rows["condition"].str.split().str[0]
    shown = [name for name in levels if (level == name).any()]
    rows = rows.assign(x=level.map({name: x for x, name in enumerate(shown)}))
    for dataset in datasets_of(rows):
        yield Line(dataset_name(dataset), _gated(rows, dataset), shown, axis)


def _gated(rows: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """A data set's rows; a mean has the gate of the worst cell under the same condition."""
    cell = rows[rows["dataset"] == dataset]
    if dataset != ALL:
        return cell
    single = rows[rows["dataset"] != ALL]
    return cell.assign(gate=[least_gate(single.loc[single["x"] == x, "gate"]) for x in cell["x"]])


def _figure(title: str, lines: Sequence[Line], base: str) -> Figure:
    """sd(alpha) left, its difference to the base's right."""
    if not lines:
        return absent(title)
    rows = pd.concat([line.rows for line in lines])
    judges = judges_of(rows)
    papers = _beside_papers(lines)
    sd, moved = (rows[rows["quantity"] == quantity] for quantity in (SD, DIFFERENCE))
    bounds = (0.0, limits(sd, 0.0, *papers[["published", "paper_high"]].max().dropna())[1])
    reach = limits(moved, 0.0)
    width = width_of(2, max(len(line.levels) for line in lines), judges)
    figure, panels = sheet(title, len(lines), 2, height=2.1, width=width)
    for (left, right), line in zip(panels, lines, strict=True):
        _panel(left, line, SD, judges, bounds)
        _panel(right, line, DIFFERENCE, judges, reach)
        for x in range(len(line.levels)):
            printed = papers[(papers.index.isin(line.rows.index)) & (papers["x"] == x)]
            paper_column(left, x, printed, judges)
        right.set_xlim(0.5, len(line.levels) - 0.5)  # the base has no difference to itself
        right.axhline(0, color=GREY, lw=0.8, zorder=1)
        left.set_ylabel("sd(alpha), log-odds", fontsize=8)
        right.set_ylabel(f"less that of {base}", fontsize=8)
        name_panel(left, line.name)
    cut = cut_key(sd, bounds) or cut_key(moved, reach)
    own = [*judge_keys(judges), *_mean_key(lines)]
    legend(figure, [*own, *paper_keys(papers, judges), *cut, *gate_keys(rows)])
    say_below(figure, "\n".join([SIZE_AND_NOISE, *on_the_undefined(rows)]))
    return figure


def _panel(axes: Axes, line: Line, quantity: str, judges: Sequence[str], bounds: tuple[float, float]) -> None:
    cell = line.rows[line.rows["quantity"] == quantity]
    marks(axes, cell, [ALL] if line.is_mean else judges, bounds)
    categories(axes, line.levels)
    names_below(axes, line.axis, cell)


def _beside_papers(lines: Sequence[Line]) -> pd.DataFrame:
    """The rows of sd(alpha) that have the paper's number beside them."""
    means = [line for line in lines if line.is_mean]
    rows = pd.concat([line.rows for line in means or lines])
    return rows[rows["quantity"] == SD]


def _mean_key(lines: Sequence[Line]) -> list[Key]:
    if not any(line.is_mean for line in lines):
        return []
    return [Line2D([], [], color=INK, marker=MEAN, lw=1.1, ms=7, label="mean over judges and data sets")]
