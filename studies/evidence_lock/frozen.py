"""The records that are compared with the answers: those on which alone a verdict rests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from studies.evidence_lock.coverage import unnamed

LOCKS = ("lock", "pointwise_lock")
"""The paper's locks: the judge's own record, and no source at the decision."""


def frozen_records(judgements: pd.DataFrame) -> pd.DataFrame:
    """The rows of `LOCKS` with a verdict, under the usual conditions, at every length of records."""
    found = usual(judgements)
    return found[found["scheme"].isin(LOCKS) & (found["status"] == "ok")]


def usual(judgements: pd.DataFrame) -> pd.DataFrame:
    """Rows of strict pairs in one order throughout: wording 1, neutral names, temperature 0, replicate 0."""
    return judgements[
        (judgements["inspection"] == judgements["decision"])
        & (judgements["wording"] == 1)
        & (judgements["naming"] == "neutral")
        & (judgements["temperature"] == 0)
        & (judgements["replicate"] == 0)
        & (judgements["label"] != "tie")
    ]


def written(judgement: Mapping[str, Any], candidate: str) -> str:
    """What a record says on candidate "1" or "2", without the candidates' names."""
    return unnamed(judgement[f"evidence_{candidate}"], (judgement["name_1"], judgement["name_2"]))
