"""What became of a cell's answers, as rows of a table: one a status, none left out."""

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
    for status in STATUSES:
        hits = cell["status"] == status
        rng = study.rng("answers", *map(str, names.values()), status)
        found = rate_interval(hits, cell["cluster"], rng, study.inference)
        yield {
            "quantity": f"{status}_rate",
            **names,
            **{"value": found.value, "ci_low": found.low, "ci_high": found.high},
            "count": int(hits.sum()),
            "n_trials": len(cell),
            "n_items": cell["item"].nunique(),
            "n_clusters": cell["cluster"].nunique(),
            "n_unparsed": int((cell["status"] != "ok").sum()),
        }
