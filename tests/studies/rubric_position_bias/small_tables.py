"""Every table of one planted judge on a few items, made once: for tests of what stands beside and below rows.

The numbers mean nothing; the rows are those that the stage ``tables`` makes.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference
from tests.studies.rubric_position_bias import planted_tables
from tests.studies.rubric_position_bias.planted import planted, planted_criteria, planted_items

FEW = Inference(resamples=20, permutations=19, few_clusters=2)


def judgements(judge: str = "smollm2_135m") -> pd.DataFrame:
    """Main design, another size, arm and temperature, criteria under two scales; one score in ten is lost."""
    rng = np.random.default_rng(3)
    items = planted_items(8, rng, clusters=4, dataset="embedded")
    prior = np.linspace(-0.5, 0.5, 5)
    told = {"judge": judge, "probabilities": True, "unparsed": 0.1}
    frames = [
        planted(items, 5, ("balanced", "random", "fixed"), prior, 0, 1.6, rng, **told),
        planted(items, 3, ("balanced", "fixed"), 0, 0, 3, rng, **told),
        planted(items, 5, "balanced", prior, 0, 1.6, rng, scheme="cot", **told),
        planted(items, 5, "balanced", prior, 0, 1.6, rng, temperature=0.6, **told),
        planted_criteria(
            items, planted_tables.CRITERIA, 0.2, rng, strategy=("balanced", "random", "fixed"),
            scales=("12345", "54321"), judge=judge,
        ),
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True).assign(rater="intended")


@cache
def tables() -> dict[str, pd.DataFrame]:
    """Every table, as it is written."""
    return planted_tables.tables(judgements(), FEW)
