"""Two groups of units whose clusters overlap: their difference within strata, tested, with its power."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.metrics.permutation import permutation_p
from shared.metrics.power import minimum_detectable_effect
from shared.metrics.resampling import Array, Estimate, Inference, bootstrap, cluster_sums, ratio
from studies.evidence_lock.cost import FEWEST

Codes = npt.NDArray[np.integer]
Flags = npt.NDArray[np.bool_]

_BLOCK = 4_000_000
"""How many memberships are in memory at once."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference of two means; ``n_clusters`` of its estimate is that of the smaller group, as compared."""

    estimate: Estimate
    p: float
    mde: float


def comparable(first: npt.ArrayLike, strata: npt.ArrayLike) -> Flags:
    """Which units have a unit of the other group in their stratum.

    Parameters
    ----------
    first : array_like of bool, shape (units,)
    strata : array_like, shape (units,)

    Examples
    --------
    >>> comparable([True, False, True, True], ["a", "a", "b", "b"]).tolist()
    [True, True, False, False]
    """
    member, codes = np.asarray(first, dtype=bool), _codes(strata)
    has_both = [
        np.bincount(codes[part], minlength=codes.max(initial=-1) + 1) > 0 for part in (member, ~member)
    ]
    return np.asarray((has_both[0] & has_both[1])[codes])


def contrasts(
    sums: Array,
    weights: Array,
    first: npt.ArrayLike,
    clusters: npt.ArrayLike,
    strata: npt.ArrayLike,
    reaches: Sequence[float],
    rng: np.random.Generator,
    inference: Inference,
) -> list[Contrast]:
    """The mean of several quantities over some units less that over the others, within strata.

    Parameters
    ----------
    sums, weights : ndarray, shape (units, quantities)
        A mean is the sum of ``sums`` over that of ``weights`` (1, or a number of sentences). Weight and sum
        are 0 where a unit lacks a quantity.
    first : array_like of bool, shape (units,)
        The units of the first group.
    clusters : array_like, shape (units,)
        A cluster may have units in both groups.
    strata : array_like, shape (units,)
        What must not differ between the groups. Only strata that have units in both count (`comparable`).
    reaches : sequence of float
        Of each quantity: its difference lies in [-reach, reach].
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    list of Contrast
        One a quantity: the mean of the strata's differences, each weighted by w v / (w + v) for the weights w
        and v of its two groups; nan where no stratum has both. The interval is nan where the smaller group
        has fewer than `cost.FEWEST` clusters, or more resamples lack a difference than it leaves out, and so
        is the detectable effect.

    Notes
    -----
    The interval resamples clusters, with all of their units. The test exchanges whole clusters' memberships
    among clusters with as many units in each stratum, so that a unit's membership goes to a unit of its own
    stratum: exact where which units are in which group has nothing to do with the quantity inside strata,
    whatever goes together inside clusters. The detectable effect is that of a t test on each cluster's linear
    contribution, which comes close to that test where groups are not small.

    References
    ----------
    Mantel and Haenszel (1959), Journal of the National Cancer Institute 22, 719-748, and Greenland and Robins
    (1985), Biometrics 41, 55-68 (the weights); Cameron, Gelbach and Miller (2008), Review of Economics and
    Statistics 90, 414-427 (the interval); Phipson and Smyth (2010), Statistical Applications in Genetics and
    Molecular Biology 9, 39 (the test).
    """
    kept = comparable(first, strata)
    if not kept.any():
        return [Contrast(Estimate(np.nan, np.nan, np.nan, 0), np.nan, np.nan) for _ in reaches]
    chosen, sums, weights = np.asarray(first, dtype=bool)[kept], sums[kept], weights[kept]
    codes, levels = (_codes(np.asarray(names, dtype=object)[kept]) for names in (clusters, strata))
    null = _null(sums, weights, chosen, codes, levels, inference.permutations, rng)
    found = []
    for place, reach in enumerate(reaches):
        totals = cluster_sums(_columns(sums[:, place], weights[:, place], chosen, levels), codes)
        estimate = _estimate(totals, reach, rng, inference)
        p = permutation_p(abs(estimate.value), np.abs(null[:, place]))
        found.append(Contrast(estimate, p, _detectable(totals, estimate, inference)))
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


def _codes(names: npt.ArrayLike) -> Codes:
    return pd.factorize(np.asarray(names, dtype=object))[0]


def _by_stratum(values: Array, strata: Codes) -> Array:
    """Columns of units, spread over a column a stratum; shape (units, columns, strata)."""
    is_of = strata[:, None] == np.arange(strata.max() + 1)
    return np.asarray(values[:, :, None] * is_of[:, None, :])


def _columns(sums: Array, weights: Array, first: Flags, strata: Codes) -> Array:
    """(weight, sum) in the first group, and in the second, each by stratum; shape (units, 4 strata)."""
    columns = np.column_stack([weights * first, sums * first, weights * ~first, sums * ~first])
    return _by_stratum(columns, strata).reshape(len(columns), -1)


def _parts(totals: Array) -> tuple[Array, Array]:
    """What a stratum adds to the difference, and its weight; shape (..., strata).

    ``totals`` has the columns of `_columns`.
    """
    weight, total, other_weight, other_total = _split(totals)
    both = weight + other_weight
    product = total * other_weight - other_total * weight
    return np.nan_to_num(ratio(product, both)), np.nan_to_num(ratio(weight * other_weight, both))


def _split(totals: Array) -> Array:
    """Weight and sum of either group, (4, ..., strata)."""
    return np.moveaxis(totals.reshape(*totals.shape[:-1], 4, totals.shape[-1] // 4), -2, 0)


def _difference(totals: Array) -> Array:
    above, below = _parts(totals)
    return ratio(above.sum(axis=-1), below.sum(axis=-1))


def _estimate(totals: Array, reach: float, rng: np.random.Generator, inference: Inference) -> Estimate:
    found = bootstrap(_difference, totals, rng, inference, (-reach, reach))
    weight, _, other_weight, _ = _split(totals)
    smaller = min(int((of_group > 0).any(axis=-1).sum()) for of_group in (weight, other_weight))
    told = replace(found, n_clusters=smaller)
    return told if smaller >= FEWEST else replace(told, low=np.nan, high=np.nan)


def _detectable(totals: Array, estimate: Estimate, inference: Inference) -> float:
    """The detectable effect of a t test over clusters' linear contributions to the difference."""
    if np.isnan(estimate.low):
        return np.nan
    whole = totals.sum(axis=0)
    above, below = _parts(whole)
    weight, total, other_weight, other_total = _split(whole)
    own_weight, own_total, own_other_weight, own_other_total = _split(totals)
    both, own = weight + other_weight, own_weight + own_other_weight
    # The derivatives of what `_parts` has, along each cluster.
    of_above = own_total * other_weight + total * own_other_weight
    of_above = ratio(of_above - own_other_total * weight - other_total * own_weight - above * own, both)
    of_below = ratio(own_weight * other_weight + weight * own_other_weight - below * own, both)
    moved = np.nansum(of_above - estimate.value * of_below, axis=1) / below.sum()
    effects = estimate.value + len(totals) * moved
    return minimum_detectable_effect(effects, inference.alpha, graded=True)


def _null(
    sums: Array,
    weights: Array,
    first: Flags,
    codes: Codes,
    strata: Codes,
    permutations: int,
    rng: np.random.Generator,
) -> Array:
    """Differences, (permutations, quantities), after exchanges of memberships among alike clusters."""
    columns = _by_stratum(np.concatenate([weights, sums], axis=1), strata)
    inside = np.zeros((permutations, columns[0].size))
    for units in _alike(codes, strata):
        members, values = first[units], columns[units].reshape(units.size, -1)
        step = max(1, _BLOCK // units.size)
        for start in range(0, permutations, step):
            rows = min(step, permutations - start)
            drawn = rng.random((rows, len(units))).argsort(axis=1)
            inside[start : start + rows] += members[drawn].reshape(rows, -1).astype(float) @ values
    n = sums.shape[1]
    inside = inside.reshape(permutations, 2, n, -1)
    outside = columns.sum(axis=0).reshape(2, n, -1) - inside
    totals = np.stack([inside[:, 0], inside[:, 1], outside[:, 0], outside[:, 1]], axis=2)
    return _difference(totals.reshape(permutations, n, -1))


def _alike(codes: Codes, strata: Codes) -> Iterator[Codes]:
    """The units of the clusters that have as many in each stratum: arrays of (clusters, size)."""
    order = np.lexsort([strata, codes])
    clusters = pd.Series(order).groupby(codes[order], sort=False).agg(tuple)
    kinds = clusters.map(lambda units: tuple(strata[list(units)]))
    for _, own in clusters.groupby(kinds, sort=False):
        yield np.array(own.tolist())
