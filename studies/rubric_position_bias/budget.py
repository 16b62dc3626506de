"""How many orders it takes: the fewest whose average keeps the effect of place under a chosen size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.metrics.resampling import (
    Array,
    Inference,
    cluster_sums,
    named_generator,
    percentile_interval,
    share,
    unanimous_interval,
)
from studies.rubric_position_bias.grid import CELL, Grid, cells, grid
from studies.rubric_position_bias.metrics import (
    cluster_counts,
    null_range,
    permutation_null,
    shares,
    v_of_counts,
)
from studies.rubric_position_bias.orders import balanced
from studies.rubric_position_bias.params import Budget
from studies.rubric_position_bias.position import (
    NULL_DRAWS,
    Weights,
    balanced_scores,
    lacks_orders,
    undefined,
    weights_of,
)

DRAWN, ROTATIONS, CHEAPEST = "drawn orders", "rotations", "cheapest"
"""K of the balanced orders at random; or the n forward rotations, which no K below n can stand in for."""


def residual_share(k: npt.ArrayLike, orders: int) -> Array:
    """How much of a place effect is left in the average over k of the balanced orders, drawn at random.

    Parameters
    ----------
    k : array_like
        1 .. ``orders``.
    orders : int
        How many balanced orders there are (2 n).

    Returns
    -------
    ndarray
        sqrt((M - k) / (k (M - 1))) for M orders: 1 for one order, 0 for all. The standard deviation of a mean
        of k out of M values, drawn without replacement, over that of one value.

    References
    ----------
    Cochran (1977), Sampling Techniques, 3rd ed., theorem 2.2.

    Examples
    --------
    >>> residual_share([1, 5, 10], 10).round(3).tolist()
    [1.0, 0.333, 0.0]
    """
    array = np.asarray(k, dtype=float)
    return np.sqrt((orders - array) / (array * max(orders - 1, 1)))


def orders_needed(effect: npt.ArrayLike, limit: float, orders: int) -> Array:
    """The fewest drawn orders whose average keeps an effect no larger than ``limit``.

    Parameters
    ----------
    effect : array_like
        Of a single order; nan where it is undefined.
    limit : float
        On the scale of ``effect``.
    orders : int
        How many balanced orders there are.

    Returns
    -------
    ndarray
        1 .. ``orders``; nan where ``effect`` is.

    Examples
    --------
    >>> orders_needed([0.04, 0.10, 0.30], 0.05, 10).tolist()
    [1.0, 4.0, 8.0]
    """
    array = np.asarray(effect, dtype=float)
    # effect^2 (M - k) <= limit^2 k (M - 1), solved for k.
    least = array**2 * orders / (array**2 + limit**2 * (orders - 1))
    return np.where(array <= limit, 1.0, np.ceil(least - 1e-9)) + 0 * array


def corrected_v(counts: Array) -> tuple[float, float]:
    """Cramer's V of choices by place less what noise adds to it, and that addition (to V squared).

    Parameters
    ----------
    counts : ndarray, shape (clusters, n)
        Choices by place under balanced orders.

    Returns
    -------
    v : float
        sqrt(max(V^2 - noise, 0)), in [0, 1]; nan for no choices and under two clusters.
    noise : float
        n / (n - 1) times the summed variance of the places' shares, robust to clusters: the expected excess
        of V^2 over that of the population. It takes no stand on content, nor on whether there is a bias.

    References
    ----------
    Bergsma (2013), Journal of the Korean Statistical Society 42, 323-328 (the same for independent choices).
    """
    n_clusters, n = counts.shape
    if n_clusters < 2 or n < 2 or counts.sum() == 0:
        return np.nan, np.nan
    total = counts.sum()
    apart = (counts - counts.sum(axis=1, keepdims=True) * shares(counts.sum(axis=0))) / total
    noise = float((apart**2).sum() * n_clusters / (n_clusters - 1) * n / (n - 1))
    v = float(v_of_counts(counts.sum(axis=0)))
    return float(np.sqrt(max(v**2 - noise, 0.0))), noise


def budget_rows(
    judgements: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
    budget: Budget,
    by: Sequence[str] = CELL,
) -> pd.DataFrame:
    """The effect of place in averages over K orders, and the fewest orders that keep it under the budget.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; of the setting ``score`` the strategy ``balanced`` is used.
    rng : numpy.random.Generator
    inference : Inference
    budget : Budget
        ``position_effect`` is the limit.
    by : sequence of str
        What makes a cell; items are pooled over what is not named (criteria).

    Returns
    -------
    DataFrame
        For each cell:

        ``place_effect`` (``k`` = 1 .. M)
            How much more often than over all orders an option is chosen for where it stands, in the average
            over k of the M balanced orders: `corrected_v` times `residual_share`. ``null_low`` and
            ``null_high`` are its range without bias, from `metrics.permutation_null`.
        ``score_shift`` (``k`` = 1 .. M)
            Root mean square, over items and draws of k orders, of how far an item's mean score is from its
            mean over all M orders; as a share of the scale's range (n - 1 points). All that the orders change
            is in it, whatever the reason, and at temperatures above 0 the sampling noise too. It has no
            range without bias: scores dealt anew to their orders move as much.
        ``orders_needed``
            The fewest orders that keep ``place_effect`` within ``limit``: condition "drawn orders", k of the
            M at random; "rotations", n forward rotations, which balance places exactly, unless one order is
            enough; "cheapest", the fewer of the two.
        ``orders_needed_score`` (condition "drawn orders")
            The fewest that keep ``score_shift`` within ``limit``.

        The intervals of numbers of orders are those of the effects, put through the same formula; nan where
        both ends come out as the same number, since whole numbers tell too little of what is uncertain.

        Of a cell that was asked under fewer than all balanced orders (`position.lacks_orders`) the effect of
        place is not known: nan, with a ``note``. The shift of a score is: the orders asked are a random part.

    Notes
    -----
    Let d_p be the share of choices at place p less 1/n, over all items and balanced orders. Under one order
    the option at place p is chosen d_p more often than it would be on average over orders, and
    V = sqrt(n sum d_p^2 / (n - 1)). Over k drawn orders an option's excess is the mean of k of its M values
    of d, whose mean over all M is 0; the root of its mean square, on V's scale, is V `residual_share`. At
    k = M it is 0 by design, and has no interval.

    An effect of place that is the same for all items can be small while single items move a good deal:
    ``score_shift`` is the number for whoever ranks items.
    """
    entropy = int(rng.integers(2**62))
    weights = weights_of(entropy, inference)
    rows: list[dict[str, Any]] = []
    for names, cell in cells(balanced_scores(judgements, by), by):
        laid = grid(cell)
        answered = ~np.isnan(laid.scores)
        sizes = {
            "n_items": int(answered.any(axis=1).sum()),
            "n_trials": int(answered.sum()),
            "n_clusters": len(np.unique(laid.clusters[answered.any(axis=1)])),
            "n_unparsed": laid.n_unparsed,
            "limit": budget.position_effect,
        }
        null = permutation_null(
            laid,
            named_generator(entropy, "null", *map(str, names.values())),
            min(inference.permutations, NULL_DRAWS),
        )
        found = _cell_rows(laid, null, budget.position_effect, weights, inference)
        if lacks_orders(laid):
            found = (undefined(row) if row["quantity"] in OF_PLACE else row for row in found)
        rows += [names | sizes | row for row in found]
    return pd.DataFrame(rows)


OF_PLACE = ("place_effect", "orders_needed")

Ends = Array
"""A value with the two ends of its interval; shape (3,)."""


def _cell_rows(
    laid: Grid, null: Array, limit: float, weights: Weights, inference: Inference
) -> Iterator[dict[str, Any]]:
    m = len(balanced(laid.size))
    at_rest = _at_rest(laid, null, inference)
    place, score = _place_effect(laid, weights, inference), _score_shift(laid, m, weights, inference)
    for k in range(1, m + 1):
        left = float(residual_share(k, m))
        ends = at_rest * left if left > 0 else np.full(2, np.nan)
        of_place = _row("place_effect", DRAWN, _averaged(place, left))
        yield of_place | {"null_low": ends[0], "null_high": ends[1], "k": k}
        yield _row("score_shift", DRAWN, _averaged(score, left)) | {"k": k}
    drawn = orders_needed(place, limit, m)
    rotations = np.where(np.isnan(place), np.nan, np.where(place <= limit, 1.0, laid.size))
    yield _row("orders_needed", DRAWN, _with_width(drawn))
    yield _row("orders_needed", ROTATIONS, _with_width(rotations))
    yield _row("orders_needed", CHEAPEST, _with_width(np.minimum(drawn, rotations)))
    yield _row("orders_needed_score", DRAWN, _with_width(orders_needed(score, limit, m)))


def _averaged(ends: Ends, left: float) -> Ends:
    return ends * left if left > 0 else np.array([ends[0] * left, np.nan, np.nan])


def _with_width(ends: Ends) -> Ends:
    """Without an interval that has width 0."""
    return np.array([ends[0], np.nan, np.nan]) if ends[1] == ends[2] else ends


def _row(quantity: str, condition: str, ends: Ends) -> dict[str, Any]:
    value, low, high = ends.tolist()
    return {"quantity": quantity, "condition": condition, "value": value, "ci_low": low, "ci_high": high}


def _place_effect(laid: Grid, weights: Weights, inference: Inference) -> Ends:
    """`corrected_v`; in a resample V^2 has the noise twice, its own and the sample's."""
    counts = _chosen(laid)
    v, noise = corrected_v(counts)
    if np.isnan(v):
        return np.full(3, np.nan)
    draws = v_of_counts(weights(len(counts)) @ counts) ** 2 - 2 * noise
    return _ends(v, np.sqrt(np.maximum(draws, 0)), len(counts), inference)


def _chosen(laid: Grid) -> Array:
    """Choices by place of the clusters that have any."""
    counts = cluster_counts(laid)
    return counts[counts.sum(axis=1) > 0]


def _at_rest(laid: Grid, null: Array, inference: Inference) -> Array:
    """Between which values `corrected_v` would lie without bias; shape (2,)."""
    _, noise = corrected_v(_chosen(laid))
    return np.array(null_range(np.sqrt(np.maximum(v_of_counts(null) ** 2 - noise, 0)), inference))


def _score_shift(laid: Grid, m: int, weights: Weights, inference: Inference) -> Ends:
    """Root mean square distance of one order's score from the item's mean over M, as a share of the range."""
    used = (~np.isnan(laid.scores)).sum(axis=1) > 1
    if laid.size < 2 or not used.any():
        return np.full(3, np.nan)
    variance = np.nanvar(laid.scores[used], axis=1, ddof=1) * (m - 1) / m / (laid.size - 1) ** 2
    sums = cluster_sums(np.column_stack([np.ones(len(variance)), variance]), laid.clusters[used])
    value = float(np.sqrt(share(sums.sum(axis=0))))
    if len(sums) < 2:
        return np.array([value, np.nan, np.nan])
    return _ends(value, np.sqrt(share(weights(len(sums)) @ sums)), len(sums), inference)


def _ends(value: float, draws: Array, n_clusters: int, inference: Inference) -> Ends:
    """With the percentile interval, or, where all draws agree, what so many clusters cannot rule out."""
    low, high = percentile_interval(draws, inference.confidence)
    if high - low < 1e-12:
        low, high = unanimous_interval(value, n_clusters, (0.0, 1.0), inference.confidence)
    return np.array([value, low, high])
