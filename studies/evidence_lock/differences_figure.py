"""The figure of differences: each protocol against Structured, by data set, with the paper's points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shared.reporting.drawing import gate_keys, judge_keys, legend
from shared.reporting.panels import (
    absent,
    cut_key,
    judges_of,
    name_panel,
    on_the_undefined,
    paper_keys,
    say_below,
    sheet,
)
from studies.evidence_lock.drawing import (
    ONE_NUMBER,
    dataset_name,
    datasets_of,
    frame_lying,
    height_of,
    limits,
    lying_marks,
    missable_key,
    names_below,
    paper_strip,
    scheme_name,
    with_missable,
)
from studies.evidence_lock.params import SCHEMES

TITLE = "What each protocol gains or loses against Structured"

QUANTITIES: Mapping[str, str] = {
    "agreement": "agreement less Structured's\n← worse      better →",
    "inconsistency": "inconsistency less Structured's\n← steadier      changes more →",
}
"""What is drawn, and what its axis says."""

NAMINGS = ("neutral", "letters")

Category = tuple[str, str, str]
"""A naming, a scheme, and who wrote the record."""


def draw_differences(rows: pd.DataFrame) -> Figure:
    """Paired differences from Structured of agreement and inconsistency.

    Parameters
    ----------
    rows : DataFrame
        The table ``differences``.

    Returns
    -------
    Figure
        A line of panels for each data set, and for all together: a protocol below the other, those under
        the paper's letters last.
    """
    rows = with_missable(rows[rows["quantity"].isin(list(QUANTITIES))])
    if rows.empty:
        return absent(TITLE)
    places = {category: -float(place) for place, category in enumerate(categories_of(rows))}
    rows = rows.assign(y=[places[category] for category in _named(rows)])
    judges, datasets = judges_of(rows), datasets_of(rows)
    of = {quantity: rows[rows["quantity"] == quantity] for quantity in QUANTITIES}
    bounds = {quantity: limits(cell) for quantity, cell in of.items()}
    figure, panels = sheet(TITLE, len(datasets), 2, height=height_of(len(places), judges), width=8.4)
    for line, dataset in zip(panels, datasets, strict=True):
        for axes, quantity in zip(line, QUANTITIES, strict=True):
            cell = of[quantity][of[quantity]["dataset"] == dataset]
            _panel(axes, cell, judges, bounds[quantity])
            frame_lying(axes, _labels(places), bounds[quantity], named=axes is line[0])
            names_below(axes, QUANTITIES[quantity], cell)
        name_panel(line[0], dataset_name(dataset))
    cuts = next(filter(None, (cut_key(of[quantity], bounds[quantity]) for quantity in QUANTITIES)), [])
    papers = paper_keys(rows, judges, ONE_NUMBER)
    legend(figure, [*judge_keys(judges), *missable_key(rows), *papers, *cuts, *gate_keys(rows)])
    say_below(figure, "\n".join(on_the_undefined(rows)))
    return figure


def categories_of(rows: pd.DataFrame) -> list[Category]:
    """The categories of a frame in the order of params, those under letters last."""

    def place(named: Category) -> tuple[int, int, str]:
        naming, scheme, writer = named
        return NAMINGS.index(naming), SCHEMES.index(scheme), writer

    return sorted(set(_named(rows)), key=place)


def _named(rows: pd.DataFrame) -> list[Category]:
    return list(rows[["naming", "scheme", "writer"]].itertuples(index=False, name=None))


def _labels(places: Mapping[Category, float]) -> dict[float, str]:
    return {y: scheme_name(scheme, writer, naming) for (naming, scheme, writer), y in places.items()}


def _panel(axes: Axes, cell: pd.DataFrame, judges: Sequence[str], bounds: tuple[float, float]) -> None:
    for _, of_category in cell.groupby("y"):
        paper_strip(axes, of_category["y"].iloc[0], of_category, judges)
    lying_marks(axes, cell, judges, bounds)
