"""Every table of planted judges on a few items, made once: for tests of what stands beside and below rows.

The numbers mean nothing; the rows are those that the stage ``tables`` makes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference
from tests.studies.rubric_position_bias import planted_tables
from tests.studies.rubric_position_bias.planted import planted, planted_criteria, planted_items

FEW = Inference(resamples=20, permutations=19, few_clusters=2)
ALL = ("balanced", "random", "fixed")
PRIOR = np.linspace(-0.5, 0.5, 5)
HEAT: Any = [{"temperature": 1.0}, *({"effort": effort} for effort in ("low", "medium", "high"))]


def judgements(judge: str = "smollm2_135m") -> pd.DataFrame:
    """Main design and criteria on two data sets; one has another size, arm and temperature too."""
    rng = np.random.default_rng(3)
    frames = []
    for dataset, arms in (("embedded", 4), ("hanna", 1)):
        items = planted_items(8, rng, clusters=4, dataset=dataset)
        scales = ("12345", "54321")[:arms]
        criteria = planted_criteria(items, planted_tables.CRITERIA, 0.2, rng, strategy=ALL, scales=scales)
        frames += [*_score_arms(items, rng)[:arms], criteria]
        if dataset == "hanna":  # of which the paper tells what temperature and effort do
            frames += [planted(items, 5, "balanced", PRIOR, 0, 1.6, rng, **names) for names in HEAT]
    return pd.concat(frames, ignore_index=True).assign(judge=judge)


def _score_arms(items: pd.DataFrame, rng: np.random.Generator) -> list[pd.DataFrame]:
    """The first is the main design; one score in ten is lost."""
    told: Any = {"probabilities": True, "unparsed": 0.1}
    return [
        planted(items, 5, ALL, PRIOR, 0, 1.6, rng, **told),
        planted(items, 3, ("balanced", "fixed"), 0, 0, 3, rng, **told),
        planted(items, 5, "balanced", PRIOR, 0, 1.6, rng, scheme="cot", **told),
        planted(items, 5, "balanced", PRIOR, 0, 1.6, rng, temperature=0.6, **told),
    ]


@cache
def tables() -> dict[str, pd.DataFrame]:
    """Every table, as it is written: of one judge, and of a second on the main design alone."""
    second = judgements("other")
    shared = second["scheme"].eq("base") & second["temperature"].eq(0) & second["effort"].eq("")
    return planted_tables.tables(pd.concat([judgements(), second[shared]]), FEW)
