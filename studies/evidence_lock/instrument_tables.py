"""The table about the instrument: what became of the answers, and who called a tie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import rate_interval
from shared.reporting.answers import status_rows
from shared.reporting.results import Study

CELL = ("judge", "dataset", "scheme", "naming", "temperature")


def answer_rows(study: Study) -> pd.DataFrame:
    """Statuses of all trials, and ties: the judge's among its verdicts, people's among the items.

    Returns
    -------
    DataFrame
        For each judge, data set, scheme, naming and temperature ``ok_rate``, ``unparsed_rate`` and so on, and
        ``judge_ties``; for each data set ``human_ties``, without a judge. ``count`` says how many.
    """
    judged = study.judgements
    rows: list[dict[str, Any]] = []
    for key, cell in judged.groupby(list(CELL), sort=False):
        names = dict(zip(CELL, key, strict=True))
        rows += status_rows(study, names, cell)
        ok = cell[cell["status"] == "ok"]
        rows.append(_ties(study, "judge_ties", names, ok, ok["verdict"], len(cell) - len(ok)))
    rows += _human_ties(study)
    return pd.DataFrame(rows)


def _human_ties(study: Study) -> Iterator[dict[str, Any]]:
    items = study.judgements.drop_duplicates("item")
    for dataset, own in items.groupby("dataset", sort=False):
        yield _ties(study, "human_ties", {"dataset": dataset}, own, own["label"])


def _ties(
    study: Study,
    quantity: str,
    names: Mapping[str, Any],
    rows: pd.DataFrame,
    said: pd.Series,
    n_unparsed: int = 0,
) -> dict[str, Any]:
    """The share of ties, which is no failure of anybody, and how many there are."""
    hits = np.asarray(said == "tie", dtype=float)
    rng = study.rng("answers", *map(str, names.values()), quantity)
    found = rate_interval(hits, rows["cluster"], rng, study.inference)
    return {
        "quantity": quantity,
        **names,
        **{"value": found.value, "ci_low": found.low, "ci_high": found.high},
        "count": int(hits.sum()),
        "n_items": rows["item"].nunique(),
        "n_trials": len(rows),
        "n_clusters": rows["cluster"].nunique(),
        "n_unparsed": n_unparsed,
    }
