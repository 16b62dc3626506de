"""The table about the instrument: what became of the answers, and who called a tie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from shared.reporting.answers import share_row, status_rows
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
        rows.append(share_row(study, "judge_ties", names, ok["verdict"] == "tie", ok, len(cell) - len(ok)))
        rows += _ends(study, names, cell)
    rows += _human_ties(study)
    return pd.DataFrame(rows)


def _ends(study: Study, names: Mapping[str, Any], cell: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Of all trials, those that ended at each step at which any did: an unreadable record asks no verdict."""
    unparsed = int((cell["status"] != "ok").sum())
    for step in ENDS:
        if (hits := cell["failed_step"] == step).any():
            yield share_row(study, f"ended_at_{step}", names, hits, cell, unparsed)


def _human_ties(study: Study) -> Iterator[dict[str, Any]]:
    """A tie is no failure of anybody; of people's labels none is unparsed."""
    items = study.judgements.drop_duplicates("item")
    for dataset, own in items.groupby("dataset", sort=False):
        yield share_row(study, "human_ties", {"dataset": dataset}, own["label"] == "tie", own, 0)
