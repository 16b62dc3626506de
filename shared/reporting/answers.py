"""What became of a cell's answers, as rows of a table: shares with their counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from shared.judge.records import STATUSES
from shared.metrics.resampling import rate_interval
from shared.reporting.results import Study


def status_rows(study: Study, names: Mapping[str, Any], cell: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The share and the count of the trials that ended with each status: ``ok_rate`` and so on.

    Parameters
    ----------
    study : Study
    names : mapping
        What names the cell, by column.
    cell : DataFrame
        One row a trial, with ``item, cluster, status``.
    """
    unparsed = int((cell["status"] != "ok").sum())
    for status in STATUSES:
        hits = cell["status"] == status
        yield share_row(study, f"{status}_rate", names, hits, cell, unparsed, drawn_as=status)


def share_row(
    study: Study,
    quantity: str,
    names: Mapping[str, Any],
    hits: pd.Series,
    rows: pd.DataFrame,
    n_unparsed: int,
    drawn_as: str = "",
) -> dict[str, Any]:
    """A share of some rows, how many hits that is, and what it rests on.

    Parameters
    ----------
    study : Study
    quantity : str
    names : mapping
        What names the cell, by column.
    hits : Series of bool
        One for each of ``rows``.
    rows : DataFrame
        With ``item, cluster``.
    n_unparsed : int
        Answers of the cell that could not be read, whether or not they are among ``rows``.
    drawn_as : str
        The last name of the generator of the interval; "" is ``quantity``.
    """
    rng = study.rng("answers", *map(str, names.values()), drawn_as or quantity)
    found = rate_interval(hits, rows["cluster"], rng, study.inference)
    return {
        "quantity": quantity,
        **names,
        **{"value": found.value, "ci_low": found.low, "ci_high": found.high},
        "count": int(hits.sum()),
        "n_trials": len(rows),
        "n_items": rows["item"].nunique(),
        "n_clusters": rows["cluster"].nunique(),
        "n_unparsed": n_unparsed,
    }
