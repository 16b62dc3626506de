"""Position bias as counts: which places a judge's choices stood at, and what no bias would have given.

Every statistic is a function of counts by place, so that one definition gives the estimate, its bootstrap
replicates and its permutation null.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from shared.metrics.resampling import (
    Array,
    Estimate,
    Inference,
    Statistic,
    from_replicates,
    ratio,
)
from studies.rubric_position_bias.grid import Codes, Grid, asked

POOL = 256
"""Arrangements of a cluster among which the draws of a permutation null choose."""

# --- Counts -----------------------------------------------------------------------------------------


def position_counts(grid: Grid) -> Array:
    """How many of the chosen options stood at each place.

    Returns
    -------
    ndarray, shape (n,)
        Trials without a score are not counted.
    """
    return cluster_counts(grid).sum(axis=0)


def cluster_counts(grid: Grid) -> Array:
    """`position_counts` of each cluster; shape (clusters, n), in the order of the codes."""
    chosen = (grid.orders == grid.scores[..., None]).sum(axis=1)
    counts = np.zeros((grid.n_clusters, grid.size))
    np.add.at(counts, grid.clusters, chosen)
    return counts


def shares(counts: npt.ArrayLike) -> Array:
    """Each place's share of the choices; nan for no choices. Vectorised over leading axes."""
    array = np.asarray(counts, dtype=float)
    return ratio(array, array.sum(axis=-1, keepdims=True))


def chi_square(counts: npt.ArrayLike) -> Array:
    """Pearson's chi-square of counts against every place being chosen equally often.

    Parameters
    ----------
    counts : array_like, shape (..., n)
        Counts by place under *balanced* orders, where every option stands equally often at every place.
        Counts of scores against uniform would mean nothing: texts differ in quality.

    Returns
    -------
    ndarray, shape (...)
        0 where all places are chosen equally often, N (n - 1) where one place has all N choices; nan for no
        choices.

    Notes
    -----
    Its reference distribution takes the N choices for independent. Under balanced orders they are not: an
    item that gets one score under all its orders fills every place alike, whatever the score, so that sharp
    content makes the test conservative, and a favourite score somewhat. See `permutation_null`.

    See Also
    --------
    scipy.stats.chisquare : the oracle; this one takes leading axes at the speed of a product.
    """
    array = np.asarray(counts, dtype=float)
    total = array.sum(axis=-1)
    return array.shape[-1] * ratio((array**2).sum(axis=-1), total) - np.where(total == 0, np.nan, total)


def cramers_v(chi2: npt.ArrayLike, n_choices: npt.ArrayLike, size: int) -> Array:
    """Cramer's V of a goodness of fit: sqrt(chi2 / (N (n - 1))).

    Parameters
    ----------
    chi2 : array_like
        From `chi_square`.
    n_choices : array_like
        N: items times orders, less what has no score.
    size : int
        n, the number of options.

    Returns
    -------
    ndarray
        In [0, 1]. 0: all places equally often; 1: always one place. Noise alone keeps it above 0.

    References
    ----------
    Cramer (1946), Mathematical Methods of Statistics, section 21.9. The paper prints `printed_v`.

    Examples
    --------
    >>> float(cramers_v(chi_square([40, 10, 10, 10, 10]), 80, 5))
    0.375
    """
    return np.sqrt(np.maximum(printed_v(chi2, n_choices, size), 0))


def printed_v(chi2: npt.ArrayLike, n_choices: npt.ArrayLike, size: int) -> Array:
    """chi2 / (N (n - 1)): the paper's formula for V as printed, which is the square of `cramers_v`."""
    return ratio(chi2, np.asarray(n_choices, dtype=float) * (size - 1))


def v_of_counts(counts: npt.ArrayLike) -> Array:
    """`cramers_v` of counts by place; vectorised over leading axes."""
    array = np.asarray(counts, dtype=float)
    return cramers_v(chi_square(array), array.sum(axis=-1), array.shape[-1])


def direction(counts: npt.ArrayLike) -> Array:
    """Which way the choices lean: the mean place, put on a scale from -1 to 1.

    Parameters
    ----------
    counts : array_like, shape (..., n)
        Counts by place.

    Returns
    -------
    ndarray, shape (...)
        -1: always the first place; 1: always the last; 0: neither way, which a judge that likes the middle,
        or both ends, has too. nan for no choices, or a single place.
    """
    array = np.asarray(counts, dtype=float)
    n = array.shape[-1]
    if n < 2:
        return np.full(array.shape[:-1], np.nan)
    return ratio(array @ np.linspace(-1, 1, n), array.sum(axis=-1))


def detectable_v(n_choices: float, size: int, null_ratio: float, alpha: float, power: float = 0.8) -> float:
    """The smallest `cramers_v` that a test of level ``alpha`` would find with probability ``power``.

    Parameters
    ----------
    n_choices : float
    size : int
    null_ratio : float
        The mean of chi-square without bias over its n - 1 degrees of freedom (`null_ratio`), which stands
        for how far the choices are from independent.

    Returns
    -------
    float
        nan where content leaves no room (a ratio of 0) or nothing was chosen.

    Notes
    -----
    chi2 / ratio is taken for a noncentral chi-square with noncentrality N V^2 (n - 1) / ratio.

    See Also
    --------
    statsmodels.stats.power.GofChisquarePower : the oracle, for a ratio of 1.
    """
    if size < 2 or not null_ratio > 0 or n_choices == 0:
        return float("nan")
    return float(np.sqrt(_noncentrality(size - 1, alpha, power) * null_ratio / (n_choices * (size - 1))))


@cache
def _noncentrality(df: int, alpha: float, power: float) -> float:
    critical = stats.chi2.ppf(1 - alpha, df)
    return float(optimize.brentq(lambda x: stats.ncx2.sf(critical, df, x) - power, 1e-9, 1000.0))


# --- What no bias would give ------------------------------------------------------------------------


def permutation_null(grid: Grid, rng: np.random.Generator, permutations: int) -> Array:
    """Counts by place of a judge with the same scores whose scores have nothing to do with the orders.

    In each draw every cluster's scores are dealt anew to its orders, all items of the cluster by one
    permutation. Whatever an item's scores are stays as it is: the test is exact under any content.

    Parameters
    ----------
    grid : Grid
    rng : numpy.random.Generator
    permutations : int
        Number of draws.

    Returns
    -------
    ndarray, shape (permutations, n)

    Notes
    -----
    Where all items have the same set of orders (balanced), the permutation is one of orders, so that what
    a source's items have in common under an order stays together; where each has its own (random), it is
    one of draws. An answer that could not be parsed is dealt like a score, and counts nowhere. A score that
    comes to a draw that an item lacks is left out.

    Every draw takes for each cluster one of `POOL` arrangements, whose counts are computed once. The
    arrangement observed is put at a random place among those of the pool (`arrangements`), which makes the
    draws and what was observed exchangeable: (1 + #{null >= observed}) / (1 + #draws) is an exact p-value,
    whatever the pool.

    References
    ----------
    Besag and Clifford (1989), Biometrika 76, 633-642; Hemerik and Goeman (2018), TEST 27, 811-825 (exact
    tests from a part of all permutations).
    """
    aligned = by_order(grid)
    pool = permutation_pool(aligned.scores.shape[1], rng)
    starts = rng.integers(len(pool), size=grid.n_clusters)
    moves = _moves(aligned)[np.arange(grid.n_clusters)[:, None], pool[starts]]
    # Row j of `ones` marks slot u and where arrangement j sends it: (M, K K) @ (C, K K, n).
    ones = _one_hot(pool)
    tables = ones @ moves.reshape(grid.n_clusters, ones.shape[1], grid.size)
    return null_sums(tables, rng, permutations)


def permutation_pool(k: int, rng: np.random.Generator) -> Codes:
    """`POOL` random permutations of 0 .. k-1; shape (POOL, k)."""
    return rng.permuted(np.tile(np.arange(k), (POOL, 1)), axis=1)


def null_sums(tables: Array, rng: np.random.Generator, permutations: int) -> Array:
    """Totals over clusters, each taking one of its arrangements at random.

    Parameters
    ----------
    tables : ndarray, shape (clusters, arrangements, k)
        What each cluster adds under each arrangement.

    Returns
    -------
    ndarray, shape (permutations, k)
    """
    clusters, arrangements, k = tables.shape
    chosen = rng.integers(arrangements, size=(clusters, permutations), dtype=np.int32)
    total, drawn = np.zeros((permutations, k)), np.empty((permutations, k), dtype=tables.dtype)
    for table, rows in zip(tables, chosen, strict=True):
        np.take(table, rows, axis=0, out=drawn, mode="clip")  # without a mode it would buffer
        total += drawn
    return total


def null_ratio(null: Array) -> float:
    """The mean of chi-square without bias over its n - 1 degrees of freedom.

    1: chi-square's own reference distribution is about right; below 1 it is conservative (sharp content);
    above 1 it rejects too often (what is dealt together moves together).
    """
    return float(np.mean(chi_square(null)) / (null.shape[-1] - 1)) if null.shape[-1] > 1 else float("nan")


def by_order(grid: Grid) -> Grid:
    """The draws put in one sequence of orders where all items have the same orders; otherwise as they are."""
    digits = grid.orders.astype(np.int64) @ (10 ** np.arange(grid.size))
    sequence = np.argsort(digits, axis=1, kind="stable")
    ordered = np.take_along_axis(digits, sequence, axis=1)
    if not asked(grid.orders).all() or (ordered != ordered[:1]).any():
        return grid
    return replace(
        grid,
        scores=np.take_along_axis(grid.scores, sequence, axis=1),
        orders=np.take_along_axis(grid.orders, sequence[..., None], axis=1),
        probs=np.take_along_axis(grid.probs, sequence[..., None], axis=1),
    )


def _moves(grid: Grid) -> npt.NDArray[np.float32]:
    """B[c, o, u, p]: how many of cluster c's scores given in draw o would stand at place p in draw u."""
    k, n = grid.orders.shape[1:]
    item, draw = np.nonzero(~np.isnan(grid.scores))
    option = grid.scores[item, draw].astype(np.intp) - 1
    place = grid.positions()[item, :, option]
    cell = (((grid.clusters[item] * k + draw) * k)[:, None] + np.arange(k)) * n + place - 1
    counts = np.bincount(cell[place > 0], minlength=grid.n_clusters * k * k * n)
    return counts.astype(np.float32).reshape(grid.n_clusters, k, k, n)


def _one_hot(pool: Codes) -> npt.NDArray[np.float32]:
    """Row j has a one at u K + pool[j, u] for every u; shape (M, K K)."""
    m, k = pool.shape
    ones = np.zeros((m, k, k), dtype=np.float32)
    np.put_along_axis(ones, pool[..., None], 1, axis=-1)
    return ones.reshape(m, k * k)


# --- Intervals --------------------------------------------------------------------------------------


def interval(
    statistic: Statistic,
    sums: Array,
    totals: Array,
    inference: Inference,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Estimate:
    """`shared.metrics.resampling.bootstrap` for totals that several statistics share.

    Parameters
    ----------
    statistic : callable, (..., k) -> (...)
    sums : ndarray, shape (clusters, k)
    totals : ndarray, shape (resamples, k)
        `shared.metrics.resampling.resample_weights` times ``sums``.
    inference : Inference
    bounds : (float, float)
        The quantity's range.

    Returns
    -------
    Estimate
        nan for the interval under two clusters and where the value is undefined; never of width 0.
    """
    n = len(sums)
    value = float(statistic(sums.sum(axis=0))) if n else float("nan")
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = statistic(totals)
    return from_replicates(value, draws, n, bounds, inference)


def null_range(null: Array, inference: Inference) -> tuple[float, float]:
    """Between which values the null's draws lie with probability ``confidence``; nan for none defined."""
    defined = null[~np.isnan(null)]
    if len(defined) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [inference.alpha / 2, 1 - inference.alpha / 2])
    return float(low), float(high)
