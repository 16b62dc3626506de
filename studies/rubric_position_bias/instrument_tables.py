"""Tables about the instrument: what became of the answers, and how even the balanced orders are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from shared.reporting.answers import status_rows
from shared.reporting.results import Study
from studies.rubric_position_bias.grid import cells
from studies.rubric_position_bias.levels import SIZES
from studies.rubric_position_bias.orders import balanced, neighbour_imbalance

CELL = ("judge", "setting", "dataset", "scheme", "size", "temperature", "effort")


def answer_rows(study: Study) -> Iterator[dict[str, Any]]:
    """How many trials ended with each status, one row a status: ``ok_rate``, ``unparsed_rate`` and so on.

    A trial of several criteria counts once; two strategies that show one order are two trials, one answer.
    """
    rows = study.judgements[[*CELL, "trial", "item", "cluster", "status"]]
    several = rows["setting"] == "criteria"
    trials = pd.concat([rows[~several], rows[several].drop_duplicates(["judge", "trial"])])
    for names, cell in cells(trials, CELL):
        yield from status_rows(study, names, cell)


def order_rows() -> pd.DataFrame:
    """How far the balanced orders of each size are from balancing neighbours too; 0 is even (no estimate)."""
    rows = [
        {
            "quantity": "neighbour_imbalance",
            "condition": f"{len(balanced(size))} balanced orders",
            "size": size,
            "value": neighbour_imbalance(balanced(size)),
        }
        for size in SIZES
    ]
    return pd.DataFrame(rows)
