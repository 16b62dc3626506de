"""Tests by permutation: sign flips and label swaps within clusters, exchanges between groups of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy import stats

from shared.metrics.resampling import Array

Alternative = Literal["two-sided", "greater", "less"]

# Sums that differ by less than this are equal: the order of additions must not decide a p-value.
_TOLERANCE = 1e-9


def sign_flip_test(
    sums: Array, permutations: int, rng: np.random.Generator, alternative: Alternative = "two-sided"
) -> float:
    """P-value of a mean effect, by flipping the sign of whole clusters.

    Under the null hypothesis that a paired effect is symmetric around 0 and clusters are independent,
    each cluster's sum could as well have had the other sign. Clusters without an effect take no part.

    Parameters
    ----------
    sums : ndarray, shape (clusters,)
        Sum of the signed, paired effects of each cluster.
    permutations : int
        All 2^m sign vectors of the m clusters with an effect are used where these are at most so many
        (the test is then exact); otherwise so many are drawn, and the observed one is counted with them.
    rng : numpy.random.Generator
        Used only in the second case.
    alternative : {"two-sided", "greater", "less"}

    Returns
    -------
    float
        In (0, 1]; 1 where no cluster has an effect, nan for no clusters at all.

    References
    ----------
    Fisher (1935), The Design of Experiments, section 21; Phipson and Smyth (2010), Statistical
    Applications in Genetics and Molecular Biology 9, 39 (counting the observed one).

    See Also
    --------
    scipy.stats.permutation_test : the oracle, ``permutation_type="samples"``.

    Examples
    --------
    >>> sign_flip_test(np.array([1.0, 2.0, 3.0]), 1000, np.random.default_rng(0), "greater")
    0.125
    """
    effects = np.asarray(sums, dtype=float)
    if len(effects) == 0 or np.isnan(effects).any():
        return float("nan")
    effects = effects[effects != 0]
    signs, exact = _sign_vectors(len(effects), permutations, rng)
    null = signs @ effects
    return _p_value(float(effects.sum()), null, exact, alternative)


def mean_difference_test(first: Array, second: Array, permutations: int, rng: np.random.Generator) -> float:
    """One-sided p-value of the first group's mean being above the second's, the groups being independent.

    Parameters
    ----------
    first, second : ndarray, shape (clusters,)
        A value of each cluster; the groups have no cluster in common.
    permutations : int
        All ways to divide the clusters are used where these are at most so many, otherwise so many draws.
    rng : numpy.random.Generator

    Returns
    -------
    float
        In (0, 1]; nan where a group has fewer than two clusters.

    References
    ----------
    Fisher (1935), as in `sign_flip_test`. Computed by `scipy.stats.permutation_test`.

    Examples
    --------
    >>> mean_difference_test(np.ones(3), np.zeros(3), 1000, np.random.default_rng(0))  # 1 / C(6, 3)
    0.05
    """
    if min(len(first), len(second)) < 2:
        return float("nan")

    def difference(one: Array, other: Array, axis: int) -> Array:
        return np.mean(one, axis=axis) - np.mean(other, axis=axis)

    test = stats.permutation_test(
        (first, second), difference, n_resamples=permutations, alternative="greater", rng=rng
    )
    return float(test.pvalue)


def smallest_p(n_clusters: int, alternative: Alternative = "two-sided") -> float:
    """The smallest p-value that `sign_flip_test` can give with so many clusters.

    Examples
    --------
    >>> smallest_p(5), smallest_p(6)
    (0.0625, 0.03125)
    """
    return min(1.0, (2.0 if alternative == "two-sided" else 1.0) * 0.5**n_clusters)


def swap_null(
    statistic: Callable[[Array, Array], Array],
    first: Array,
    second: Array,
    permutations: int,
    rng: np.random.Generator,
) -> Array:
    """What a statistic of two conditions gives where the conditions do not differ.

    The labels of the two conditions are exchanged within whole clusters: the null distribution for
    quantities that cannot be negative (a size, a distance, a share of movement) and that noise
    alone therefore keeps away from 0.

    Parameters
    ----------
    statistic : callable, ((..., k), (..., k)) -> (...)
        Of the summed columns of the two conditions; vectorised over leading axes.
    first, second : ndarray, shape (clusters, k)
        Per-cluster sums of the same clusters under the two conditions.
    permutations : int
        All 2^clusters exchanges where these are at most so many, otherwise so many draws.

    Returns
    -------
    ndarray, shape (exchanges,)
        May hold nan where the statistic is undefined.
    """
    if first.shape != second.shape:
        raise ValueError(f"conditions of shapes {first.shape} and {second.shape}: pair their clusters first")
    signs, _ = _sign_vectors(len(first), permutations, rng)
    # With s = +1 (stay) or -1 (swap), each condition's total is half the joint total plus or minus
    # half the signed difference.
    middle = (first + second).sum(axis=0) / 2
    half = (signs @ (first - second)) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        return statistic(middle + half, middle - half)


def permutation_p(observed: float, null: Array) -> float:
    """Share of the null that is at least as large as what was observed, which itself counts as one.

    Parameters
    ----------
    observed : float
        A non-negative quantity.
    null : ndarray
        From `swap_null`; undefined values are left out.

    Returns
    -------
    float
        (1 + #{null >= observed}) / (1 + #null), in (0, 1]; nan where ``observed`` is undefined.
    """
    if np.isnan(observed):
        return float("nan")
    defined = null[~np.isnan(null)]
    return float((1 + np.sum(defined >= observed - _TOLERANCE)) / (1 + len(defined)))


def _sign_vectors(n: int, permutations: int, rng: np.random.Generator) -> tuple[Array, bool]:
    """All sign vectors of length n, or random ones where all would be too many; and whether it is all."""
    if n < 63 and 2**n <= permutations:
        bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        return 1.0 - 2.0 * bits, True
    return 2.0 * rng.integers(0, 2, size=(permutations, n)) - 1.0, False


def _p_value(observed: float, null: Array, exact: bool, alternative: Alternative) -> float:
    """The share of the null that is at least as extreme; a drawn null also counts what was observed."""
    extreme = {
        "two-sided": np.abs(null) >= abs(observed) - _TOLERANCE,
        "greater": null >= observed - _TOLERANCE,
        "less": null <= observed + _TOLERANCE,
    }[alternative]
    extra = 0 if exact else 1
    return float((extreme.sum() + extra) / (len(null) + extra))
