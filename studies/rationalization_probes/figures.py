"""The study's figures (stage ``figures``), drawn from its tables: ours beside the paper's five judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from shared.errors import UserError, run_stage
from shared.reporting.figures import Caption, save, style
from shared.reporting.tables import read
from studies.rationalization_probes import diagram, invariance_figure, price_figure
from studies.rationalization_probes.outcome_figures import PLOTS, REVISION, draw_marks, draw_revision
from studies.rationalization_probes.rationale_figures import (
    ALIGNMENT,
    ATTACKS,
    DRIFT,
    draw_alignment,
    draw_attack,
    draw_drift,
)

TABLES = Path("paper_tables/rationalization_probes")
FOLDER = Path("figures/rationalization_probes")


class FiguresError(UserError):
    """A table that a figure draws is not there; the message names it and the fix."""


class Drawn(NamedTuple):
    """A figure: the table that it draws, how it is called, and what draws it."""

    table: str
    caption: str
    draw: Callable[[pd.DataFrame], Figure]


FIGURES: Mapping[str, Drawn] = {
    "figure_01_protocols": Drawn("protocols", diagram.TITLE, diagram.draw_protocols),
    **{name: Drawn(plot.table, plot.caption, partial(draw_marks, plot)) for name, plot in PLOTS.items()},
    "figure_03_revision": Drawn(REVISION.table, REVISION.caption, draw_revision),
    "figure_05a_drift": Drawn(DRIFT.table, DRIFT.caption, draw_drift),
    "figure_05b_alignment": Drawn(ALIGNMENT.table, ALIGNMENT.caption, draw_alignment),
    "figure_06_verbosity": Drawn("attack_verbosity", ATTACKS["verbosity"], partial(draw_attack, "verbosity")),
    "figure_07_confidence": Drawn(
        "attack_confidence", ATTACKS["confidence"], partial(draw_attack, "confidence")
    ),
    "cue_invariance": Drawn("invariance", invariance_figure.TITLE, invariance_figure.draw_invariance),
    "price": Drawn("price", price_figure.TITLE, price_figure.draw_price),
}
"""Every figure by the name of its file."""


def write_all(tables: Path = TABLES, folder: Path = FOLDER) -> None:
    """Draw every figure from the tables in a folder.

    Raises
    ------
    FiguresError
        If a table is not there.
    """
    with style():
        for name, figure in FIGURES.items():
            rows, source = _read(tables, figure.table)
            save(figure.draw(rows), folder / f"{name}.svg", Caption(figure.caption, source))


def _read(folder: Path, name: str) -> tuple[pd.DataFrame, str]:
    path = folder / f"{name}.csv"
    if not path.is_file():
        raise FiguresError(f"{path} is absent; run `make repro`, which writes it")
    return read(path), path.as_posix()


def main() -> None:
    write_all()
    print(f"{FOLDER}: {len(FIGURES)} figures")


if __name__ == "__main__":
    run_stage(main)
