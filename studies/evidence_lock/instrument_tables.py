"""The table about the instrument: what became of the answers, and who called a tie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import rate_interval
from shared.reporting.answers import status_rows
from shared.reporting.results import Study

CELL = ("judge", "dataset", "scheme", "record_chars", "naming", "wording", "temperature", "condition")
"""``condition`` tells crossed trials, which schemes with one call have not."""

CROSSED = "crossed"

ENDS = ("record", "assess_1", "assess_2", "verdict")
"""The steps at which a trial can end without a verdict."""


def answer_rows(study: Study) -> pd.DataFrame:
    """Statuses of all trials, and ties: the judge's among its verdicts, people's among the items.

    Returns
    -------
    DataFrame
        For each cell of `CELL` ``ok_rate``, ``unparsed_rate`` and so on, ``judge_ties``, and for each step at
        which trials ended ``ended_at_<step>``; for each data set ``human_ties``, without a judge. ``count``
        says how many.
    """
    judged = study.judgements
    crossed = (judged["inspection"] != judged["decision"]).map({True: CROSSED, False: ""})
    judged = judged.assign(condition=crossed)
    rows: list[dict[str, Any]] = []
    for key, cell in judged.groupby(list(CELL), sort=False):
        names = dict(zip(CELL, key, strict=True))
        rows += status_rows(study, names, cell)
        ok = cell[cell["status"] == "ok"]
        rows.append(_ties(study, "judge_ties", names, ok, ok["verdict"], len(cell) - len(ok)))
        rows += _ends(study, names, cell)
    rows += _human_ties(study)
    return pd.DataFrame(rows)


def _ends(study: Study, names: Mapping[str, Any], cell: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Of all trials, those that ended at each step at which any did: an unreadable record asks no verdict."""
    for step in ENDS:
        if (hits := cell["failed_step"] == step).any():
            rng = study.rng("answers", *map(str, names.values()), f"ended_at_{step}")
            found = rate_interval(hits, cell["cluster"], rng, study.inference)
            yield {
                "quantity": f"ended_at_{step}",
                **names,
                **{"value": found.value, "ci_low": found.low, "ci_high": found.high},
                "count": int(hits.sum()),
                "n_items": cell["item"].nunique(),
                "n_trials": len(cell),
                "n_clusters": cell["cluster"].nunique(),
                "n_unparsed": int((cell["status"] != "ok").sum()),
            }


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
