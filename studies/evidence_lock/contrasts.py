"""Two groups of units whose clusters overlap: the difference of their means, tested, with its power."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.metrics.permutation import permutation_p
from shared.metrics.power import minimum_detectable_effect
from shared.metrics.resampling import Array, Estimate, Inference, bootstrap, cluster_sums, ratio

Codes = npt.NDArray[np.integer]
Flags = npt.NDArray[np.bool_]

_BLOCK = 4_000_000
"""How many memberships are in memory at once."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference of two means; ``n_clusters`` of its estimate is that of the smaller group."""

    estimate: Estimate
    p: float
    mde: float


def contrasts(
    sums: Array,
    weights: Array,
    first: npt.ArrayLike,
    clusters: npt.ArrayLike,
    reaches: Sequence[float],
    rng: np.random.Generator,
    inference: Inference,
) -> list[Contrast]:
    """The mean of several quantities over some units less that over the others.

    Parameters
    ----------
    sums, weights : ndarray, shape (units, quantities)
        A mean is the sum of ``sums`` over that of ``weights`` (1, or a number of sentences). Weight and sum
        are 0 where a unit lacks a quantity.
    first : array_like of bool, shape (units,)
        The units of the first group.
    clusters : array_like, shape (units,)
        A cluster may have units in both groups. Units of a cluster stand in one order (12 before 21).
    reaches : sequence of float
        Of each quantity: its difference lies in [-reach, reach].
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    list of Contrast
        One a quantity; nan where a group is empty. The interval is nan where more resamples lack a group than
        it leaves out (a group of two clusters), and so is the detectable effect.

    Notes
    -----
    The interval resamples clusters, with all of their units. The test exchanges whole clusters' memberships
    among clusters with as many units: exact where which units are in which group has nothing to do with the
    quantity, whatever goes together inside clusters. The detectable effect is that of a t test on each
    cluster's linear contribution, which comes close to that test where groups are not small.

    References
    ----------
    Cameron, Gelbach and Miller (2008), Review of Economics and Statistics 90, 414-427 (the interval); Phipson
    and Smyth (2010), Statistical Applications in Genetics and Molecular Biology 9, 39 (the test).
    """
    chosen, codes = np.asarray(first, dtype=bool), pd.factorize(np.asarray(clusters, dtype=object))[0]
    null = _null(sums, weights, chosen, codes, inference.permutations, rng)
    found = []
    for place, reach in enumerate(reaches):
        own = _columns(sums[:, place], weights[:, place], chosen)
        estimate = _estimate(cluster_sums(own, codes), reach, rng, inference)
        p = permutation_p(abs(estimate.value), np.abs(null[:, place]))
        found.append(Contrast(estimate, p, _detectable(cluster_sums(own, codes), estimate, inference)))
    return found


def with_width(difference: Estimate, first: Estimate, second: Estimate) -> Estimate:
    """A difference of two rates whose interval knows that a rate of 0 or 1 is uncertain, too.

    Parameters
    ----------
    difference : Estimate
        From `contrasts`. A group that has the rate 0 or 1 adds nothing to its interval.
    first, second : Estimate
        Of each group by itself, from `shared.metrics.resampling.rate_interval`.

    Returns
    -------
    Estimate
        In [-1, 1]: the outer envelope of its interval and of the two groups' limits, combined by the method
        of variance estimates recovery; the latter alone where it has none. nan where a group has no interval
        either.

    Notes
    -----
    The second takes the groups for independent. Clusters in both are mostly alike in both, which makes the
    difference less uncertain than that.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17, 873-890 (method 10); Zou and Donner (2008), Statistics in
    Medicine 27, 1693-1702.

    Examples
    --------
    >>> one, none = Estimate(1.0, 0.6, 1.0, 5), Estimate(0.0, 0.0, 0.3, 9)
    >>> found = with_width(Estimate(1.0, 1.0, 1.0, 5), one, none)
    >>> round(found.low, 3), found.high
    (0.5, 1.0)
    """
    below = math.hypot(first.value - first.low, second.high - second.value)
    above = math.hypot(first.high - first.value, second.value - second.low)
    low = np.fmin(difference.low, max(difference.value - below, -1.0))
    high = np.fmax(difference.high, min(difference.value + above, 1.0))
    return Estimate(difference.value, float(low), float(high), difference.n_clusters)


def _columns(sums: Array, weights: Array, first: Flags) -> Array:
    """(weight, sum) in the first group, and in the second."""
    return np.column_stack([weights * first, sums * first, weights * ~first, sums * ~first])


def _difference(totals: Array) -> Array:
    return ratio(totals[..., 1], totals[..., 0]) - ratio(totals[..., 3], totals[..., 2])


def _estimate(totals: Array, reach: float, rng: np.random.Generator, inference: Inference) -> Estimate:
    found = bootstrap(_difference, totals, rng, inference, (-reach, reach))
    smaller = int((totals[:, [0, 2]] > 0).sum(axis=0).min()) if len(totals) else 0
    return Estimate(found.value, found.low, found.high, smaller)


def _detectable(totals: Array, estimate: Estimate, inference: Inference) -> float:
    """The detectable effect of a t test over clusters' linear contributions to the difference."""
    if np.isnan(estimate.low):
        return np.nan
    whole = totals.sum(axis=0)
    one = (totals[:, 1] - totals[:, 0] * whole[1] / whole[0]) / whole[0]
    other = (totals[:, 3] - totals[:, 2] * whole[3] / whole[2]) / whole[2]
    effects = estimate.value + len(totals) * (one - other)
    return minimum_detectable_effect(effects, inference.alpha, graded=True)


def _null(
    sums: Array, weights: Array, first: Flags, codes: Codes, permutations: int, rng: np.random.Generator
) -> Array:
    """Differences, (permutations, quantities), after exchanges of memberships among clusters of one size."""
    columns = np.concatenate([weights, sums], axis=1)
    inside = np.zeros((permutations, columns.shape[1]))
    for units in _by_size(codes):
        members, values = first[units], columns[units].reshape(units.size, -1)
        step = max(1, _BLOCK // units.size)
        for start in range(0, permutations, step):
            rows = min(step, permutations - start)
            drawn = rng.random((rows, len(units))).argsort(axis=1)
            inside[start : start + rows] += members[drawn].reshape(rows, -1).astype(float) @ values
    pairs = np.stack([inside, columns.sum(axis=0) - inside]).reshape(2, permutations, 2, sums.shape[1])
    means = ratio(pairs[:, :, 1], pairs[:, :, 0])
    return np.asarray(means[0] - means[1])


def _by_size(codes: Codes) -> Iterator[Codes]:
    """The units of the clusters of each size: an array of (clusters, size)."""
    order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes) if len(codes) else np.array([], int)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes):
        yield order[starts[sizes == size][:, None] + np.arange(size)]
