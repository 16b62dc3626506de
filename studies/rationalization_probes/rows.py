"""Tidy frames of estimates: their columns, a row, and what a signed effect is tested with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.permutation import sign_flip_test
from shared.metrics.power import cluster_contributions, minimum_detectable_effect
from shared.metrics.resampling import Array, Estimate, Inference, bootstrap, cluster_sums, share

# The columns of every frame of estimates; those that do not apply to a row are nan.
COLUMNS = (
    "quantity", "judge", "scheme", "kind", "condition", "coding", "over", "wording",
    "value", "ci_low", "ci_high", "value_paper", "p", "p_holm", "mde", "null_low", "null_high",
    "count", "n_items", "n_trials", "n_clusters", "n_unparsed",
)  # fmt: skip


def entropy_of(rng: np.random.Generator) -> int:
    """A number from which each row of a frame draws its own generator (`named_generator`)."""
    return int(rng.integers(2**62))


def estimate(
    statistic: Callable[[Array], Array],
    columns: Array,
    used: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
    bounds: tuple[float, float],
) -> Estimate:
    """A function of summed columns, with an interval over whole clusters of ``used``."""
    return bootstrap(statistic, cluster_sums(columns, used["cluster"]), rng, inference, bounds)


FEWEST_GRADED = 3
"""Of fewer clusters no interval of a matter of degree is told: resamples of two give their values back."""


def graded_estimate(
    values: Array,
    used: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
    bounds: tuple[float, float],
) -> Estimate:
    """The mean of a quantity that is a matter of degree (a distance), with its percentile interval.

    Nothing is known of how far such a quantity goes in a cluster that was not seen, so that under
    `FEWEST_GRADED` clusters there is no interval.
    """
    found = estimate(share, np.column_stack([np.ones(len(values)), values]), used, rng, inference, bounds)
    return found if found.n_clusters >= FEWEST_GRADED else replace(found, low=np.nan, high=np.nan)


def signed_test(
    effects: Array,
    used: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
    *,
    graded: bool = False,
) -> dict[str, float]:
    """P-value and detectable effect of a signed effect, given row by row; nan for no rows.

    ``graded`` tells effects that are a matter of degree from those that are there or not.
    """
    if len(effects) == 0:
        return {}
    counts, sums = cluster_sums(np.column_stack([np.ones(len(effects)), effects]), used["cluster"]).T
    return {
        "p": sign_flip_test(sums, inference.permutations, rng),
        "mde": minimum_detectable_effect(cluster_contributions(sums, counts), inference.alpha, graded=graded),
    }


def row(
    quantity: str, names: dict[str, str], used: pd.DataFrame, cell: pd.DataFrame, found: Estimate
) -> dict[str, Any]:
    """An estimate with its names and sizes.

    Parameters
    ----------
    quantity : str
    names : dict
        What makes the cell; ``probe`` is called ``condition`` in the row.
    used, cell : DataFrame
        The rows that the estimate rests on, and all rows of the cell; the rest counts as unparsed.
    found : Estimate
    """
    cell_names = {("condition" if name == "probe" else name): value for name, value in names.items()}
    ours = {"value": found.value, "ci_low": found.low, "ci_high": found.high}
    counts = {
        "n_items": used["item"].nunique(),
        "n_trials": len(used),
        "n_clusters": used["cluster"].nunique(),
        "n_unparsed": len(cell) - len(used),
    }
    return {"quantity": quantity, **cell_names, **ours, **counts}


def frame(rows: list[dict[str, object]], by: Sequence[str] = ()) -> pd.DataFrame:
    """Rows as a frame of `COLUMNS`; further columns of ``by`` are kept."""
    extra = [name for name in by if name not in (*COLUMNS, "probe")]
    return pd.DataFrame(rows, columns=[*COLUMNS, *extra])
