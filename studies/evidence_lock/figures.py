"""The study's figures (stage ``figures``), drawn from its tables: ours beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shared.errors import run_stage
from shared.reporting.figures import Drawn, draw_all
from studies.evidence_lock import (
    budgets_figure,
    bundle_figure,
    coverage_figure,
    differences_figure,
    orders_figure,
    plane_figure,
)

TABLES = Path("paper_tables/evidence_lock")
FOLDER = Path("figures/evidence_lock")

FIGURES: Mapping[str, Drawn] = {
    "plane": Drawn("agreement", plane_figure.TITLE, plane_figure.draw_plane),
    "differences": Drawn("differences", differences_figure.TITLE, differences_figure.draw_differences),
    "bundle": Drawn("bundle", bundle_figure.TITLE, bundle_figure.draw_bundle),
    "orders": Drawn("orders", orders_figure.TITLE, orders_figure.draw_orders),
    "budgets": Drawn("budgets", budgets_figure.TITLE, budgets_figure.draw_budgets),
    "coverage": Drawn("lost", coverage_figure.TITLE, coverage_figure.draw_coverage),
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
