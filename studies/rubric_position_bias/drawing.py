"""What the study's figures share: the cells they show, and how these are called."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from shared.reporting import panels
from studies.rubric_position_bias.pages import SOURCES
from studies.rubric_position_bias.results import ALL, MAIN

DATASET_NAMES: Mapping[str, str] = {
    "embedded": "embedded texts",
    "mt_bench": "MT-Bench",
    "vicuna": "Vicuna-Bench",
    "hanna": "HANNA",
    "summeval": "SummEval",
    "writingprompts": "WritingPrompts",
    ALL: "mean over judges and data sets",
}


def main_design(rows: pd.DataFrame, *but: str) -> pd.DataFrame:
    """The rows of the paper's main design (`results.MAIN`); ``but`` names what the figure varies itself."""
    for name in MAIN.keys() - set(but):
        rows = rows[rows[name] == MAIN[name]]
    return rows


def datasets_of(rows: pd.DataFrame) -> list[str]:
    """The data sets of a frame in the order of figures, means last; a name that is new comes before them."""
    return panels.datasets_of(rows, DATASET_NAMES)


def dataset_name(dataset: str) -> str:
    """A data set's name for people."""
    return DATASET_NAMES.get(dataset, dataset)


def contexts_of(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each data set and setting, named, those of one criterion a prompt first.

    A mean over data sets, whose ``dataset`` is empty, is named by its setting alone.
    """
    rank = {dataset: place for place, dataset in enumerate(datasets_of(rows))}
    by = [rows["setting"] == "criteria", rows["dataset"].map(rank), rows["size"], rows["scale"].astype(str)]
    groups = rows.groupby(by, sort=True)
    return [(_context_name(cell.iloc[0]), cell) for _, cell in groups]


def _context_name(row: pd.Series) -> str:
    criteria, backwards = row["setting"] == "criteria", str(row["scale"]).startswith("54321")
    several = f"{row['size']:.0f} criteria in one prompt" if criteria else ""
    options = "" if criteria or row["size"] == MAIN["size"] else f"{row['size']:.0f} score options"
    parts = [dataset_name(row["dataset"]), several, options, "range listed from 5 to 1" if backwards else ""]
    return "\n".join(filter(None, parts)) or "one criterion in a prompt"


def names_below(axes: Axes, label: str, cell: pd.DataFrame) -> None:
    """What the axis is, and below it what the panel rests on."""
    panels.names_below(axes, label, cell, SOURCES)
