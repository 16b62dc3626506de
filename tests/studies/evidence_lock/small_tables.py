"""Every table of planted judges on a few pairs, made once: for tests of what stands beside and below rows.

The numbers mean nothing; the rows are those that the stage ``tables`` makes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference
from shared.reporting.results import Study
from studies.evidence_lock.tables import Texts, all_tables
from tests.studies.evidence_lock.planted import ARMS, planted, planted_items

FEW = Inference(resamples=20, permutations=19, few_clusters=2)
JUDGES = ("smollm2_135m", "other")
SENTENCES = ("Both answers were read.", "It leaves at nine.", "The platform is two.")
PLANTED = {"agree": 0.7, "flip": 0.1, "through": 0.1, "noise": 0.2, "unparsed": 0.05}
SOME: Any = [{"schemes": ["structured", "lock"]}]


def items() -> pd.DataFrame:
    """Two data sets, one of them with two subsets; some pairs are ties."""
    found = [
        planted_items(8, dataset="embedded", clusters=4, tied=2).assign(rater="intended"),
        planted_items(8, dataset="lfqa", clusters=4, tied=2, subsets=("law", "physics")),
    ]
    texts = {"context": "When does it leave?", "answer_1": " ".join(SENTENCES[1:]), "answer_2": SENTENCES[1]}
    return pd.concat(found, ignore_index=True).assign(**texts, reason="", told="", n_raters=np.nan)


def judgements() -> pd.DataFrame:
    """Of a judge with all arms on one data set and few on another, which a second judge has too.

    One answer in twenty is lost, and one record in three names a winner.
    """
    rng = np.random.default_rng(3)
    pairs = items().drop(columns=["context", "answer_1", "answer_2", "reason", "told", "n_raters"])
    frames = []
    for judge, other, dataset, arms in (
        (*JUDGES, "embedded", ARMS),
        (*JUDGES, "lfqa", SOME),
        (*JUDGES[::-1], "lfqa", SOME),
    ):
        told: Any = {"judge": judge, **PLANTED}
        of_set = pairs[pairs["dataset"] == dataset]
        asked = [*arms, {"schemes": ["other_record"], "writer": other}]
        made = pd.concat([planted(of_set, rng, **told, **arm) for arm in asked])
        frames.append(made.drop_duplicates("trial"))
    found = pd.concat(frames, ignore_index=True)
    written = ~found["scheme"].isin(["standard", "pointwise_lock"])
    named = np.where(written, rng.choice(["1", "2", "none"], len(found)), "")
    return found.assign(named=named, leans=named)


@cache
def tables() -> dict[str, pd.DataFrame]:
    """Every table, as it is written."""
    vectors = {text: row for text, row in zip(SENTENCES, np.eye(3), strict=True)}
    study = Study(judgements(), FEW, seed=1, profile="smoke")
    return dict(all_tables(study, Texts(items(), vectors, threshold=0.5)))
