"""The study's figures (stage ``figures``), drawn from its tables: ours beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shared.errors import run_stage
from shared.reporting.figures import Drawn, draw_all
from studies.rubric_position_bias import (
    agreement_figures,
    calibration_figure,
    criterion_figure,
    position_figures,
    prior_figures,
    ranking_figure,
)

TABLES = Path("paper_tables/rubric_position_bias")
FOLDER = Path("figures/rubric_position_bias")

FIGURES: Mapping[str, Drawn] = {
    "position": Drawn("position", position_figures.POSITION, position_figures.draw_position),
    "rubric_size": Drawn("rubric_size", position_figures.SIZES, position_figures.draw_sizes),
    "criterion_order": Drawn("criterion_order", criterion_figure.TITLE, criterion_figure.draw_criteria),
    "gain": Drawn("gain", agreement_figures.GAIN, agreement_figures.draw_gain),
    "k_curve": Drawn("k_curve", agreement_figures.CURVE, agreement_figures.draw_curves),
    "k_share": Drawn("k_curve", agreement_figures.SHARE, agreement_figures.draw_shares),
    "ranking": Drawn("ranking", ranking_figure.TITLE, ranking_figure.draw_ranking),
    "prompt_arms": Drawn("prompt_arms", prior_figures.ARMS, prior_figures.draw_arms),
    "temperature": Drawn("temperature", prior_figures.TEMPERATURE, prior_figures.draw_temperature),
    "calibration": Drawn("calibration", calibration_figure.TITLE, calibration_figure.draw_calibration),
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
