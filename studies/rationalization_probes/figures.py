"""The study's figures (stage ``figures``), drawn from its tables: ours beside the paper's five judges."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from shared.errors import run_stage
from shared.reporting.figures import Drawn, draw_all
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
    """Draw every figure from the tables in a folder."""
    draw_all(FIGURES, tables, folder)


def main() -> None:
    write_all()
    print(f"{FOLDER}: {len(FIGURES)} figures")


if __name__ == "__main__":
    run_stage(main)
