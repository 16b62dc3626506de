"""What one verdict costs under each protocol: calls, tokens and seconds, and tokens against Structured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.metrics.resampling import Estimate, Inference, bootstrap, cluster_sums, share
from studies.evidence_lock.differences import SAME_PAIR
from studies.evidence_lock.pairs import REFERENCE, cells, main_cells
from studies.evidence_lock.rows import Draws, draws, frame, row

COSTS = ("calls", "tokens", "seconds")

FEWEST = 3
"""Of fewer clusters no interval is told: resamples of two give their values back."""

# A cost has no greatest value, so that where all clusters agree no interval can be told.
_UNBOUNDED = (np.nan, np.nan)


def cost_rows(pairs: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """Mean cost of a verdict by judge, data set and protocol, and its ratio to Structured's.

    Parameters
    ----------
    pairs : DataFrame
        From `pairs.pairs`; the main cells are used.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`. ``calls``, ``tokens`` (prompt and completion) and ``seconds`` are means over verdicts,
        each summed over all calls of its protocol; ``tokens_ratio`` is the tokens over Structured's, both
        summed over the pairs that have two verdicts under both (``reference`` names it; Structured itself has
        none). Pairs without two verdicts, and those whose answers do not tell the cost, are left out. A cost
        that is the same in every cluster has no interval, nor has one of fewer than `FEWEST` clusters.

    Notes
    -----
    A request that several trials share is asked once and counted for each, since that is what one verdict
    costs. Seconds are those of the run that paid, on its machine, with as many trials in flight as it had.
    """
    by_name = draws(rng)
    main = main_cells(pairs)
    spent = main.loc[main["scheme"] == REFERENCE, [*SAME_PAIR, "tokens"]]
    beside = main.merge(spent, on=list(SAME_PAIR), how="left", suffixes=("", "_reference"), validate="m:1")
    rows = [
        made
        for names, cell in cells(beside)
        for made in (*_means(names, cell, by_name, inference), *_ratio(names, cell, by_name, inference))
    ]
    return frame(rows)


def _means(
    names: Mapping[str, Any], cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    for quantity in COSTS:
        used = cell[cell[quantity].notna()]
        found = mean_ratio(np.ones(len(used)), used[quantity], used, by_name(quantity, names), inference)
        yield row(quantity, names, found, used, cell)


def _ratio(
    names: Mapping[str, Any], cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    used = cell[cell[["tokens", "tokens_reference"]].notna().all(axis=1)]
    if names["scheme"] != REFERENCE and len(used):
        told = {**names, "condition": f"{names['scheme']} / {REFERENCE}", "reference": REFERENCE}
        rng = by_name("tokens_ratio", told)
        found = mean_ratio(used["tokens_reference"], used["tokens"], used, rng, inference)
        yield row("tokens_ratio", told, found, used, cell)


def mean_ratio(
    below: npt.ArrayLike,
    above: npt.ArrayLike,
    used: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
) -> Estimate:
    """The sum of one column over the sum of another, with a percentile interval over clusters."""
    sums = cluster_sums(np.column_stack([below, above]), used["cluster"])
    found = bootstrap(share, sums, rng, inference, _UNBOUNDED)
    return found if found.n_clusters >= FEWEST else replace(found, low=np.nan, high=np.nan)
