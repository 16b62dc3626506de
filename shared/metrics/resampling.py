"""Intervals by resampling whole clusters: weights over clusters times per-cluster sums, in one product."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

Array = npt.NDArray[np.floating[Any]]

# A statistic of summed columns: takes (..., k) and returns (...), so that one function gives the
# estimate (from the totals) and all its replicates (from the resampled totals).
Statistic = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Inference:
    """How intervals and tests are made: the fields of ``statistics`` in ``params.yaml``.

    ``confidence`` is the level of intervals, 1 - ``confidence`` that of tests; ``resamples`` and
    ``permutations`` are Monte Carlo sizes; below ``few_clusters`` clusters nothing is concluded from
    a test that finds nothing.
    """

    confidence: float = 0.95
    resamples: int = 2000
    permutations: int = 10000
    few_clusters: int = 12

    @property
    def alpha(self) -> float:
        return 1 - self.confidence


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval; nan where it is undefined. ``n_clusters`` is what the interval rests on."""

    value: float
    low: float
    high: float
    n_clusters: int


def named_generator(entropy: int, *names: str) -> np.random.Generator:
    """A generator for one cell of a table, so that adding a cell moves no other cell's interval.

    Parameters
    ----------
    entropy : int
        Drawn once by the caller from the generator that it was given.
    *names : str
        What names the cell (judge, scheme, probe, quantity).
    """
    digest = hashlib.sha256("\x1f".join([str(entropy), *names]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def cluster_sums(values: npt.ArrayLike, clusters: npt.ArrayLike) -> Array:
    """Sum the rows of each cluster.

    Parameters
    ----------
    values : array_like, shape (n,) or (n, k)
        One row an observation. Put a column of ones first where a statistic needs the count.
    clusters : array_like, shape (n,)
        The independent source of each row (document, story, question).

    Returns
    -------
    ndarray, shape (clusters, k)
        In order of first appearance.

    Raises
    ------
    ValueError
        If a cluster is missing: a row of no source cannot be resampled.

    Examples
    --------
    >>> cluster_sums([[1, 2], [1, 3], [1, 4]], ["a", "b", "a"]).tolist()
    [[2.0, 6.0], [1.0, 3.0]]
    """
    rows = np.asarray(values, dtype=float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    # A series keeps categories, which are codes already; an array would make texts of them.
    codes, names = pd.factorize(pd.Series(clusters))
    if (codes < 0).any():
        raise ValueError("a row has no cluster: give every row the name of its source")
    sums = np.empty((len(names), rows.shape[1]))
    for number, column in enumerate(rows.T):
        sums[:, number] = np.bincount(codes, column, len(names))
    return sums


def resample_weights(n_clusters: int, resamples: int, rng: np.random.Generator) -> Array:
    """How often each cluster is drawn in each resample, with replacement; shape (resamples, clusters).

    The same as multinomial counts, in a third of the time.
    """
    drawn = rng.integers(n_clusters, size=(resamples, n_clusters))
    drawn += np.arange(resamples)[:, None] * n_clusters
    counts = np.bincount(drawn.ravel(), minlength=resamples * n_clusters)
    return counts.reshape(resamples, n_clusters).astype(float)


def replicates(statistic: Statistic, sums: Array, resamples: int, rng: np.random.Generator) -> Array:
    """The statistic of `resamples` draws of clusters with replacement.

    All resampled totals are one matrix product, (resamples, clusters) @ (clusters, k).
    """
    weights = resample_weights(len(sums), resamples, rng)
    with np.errstate(invalid="ignore", divide="ignore"):
        return statistic(weights @ sums)


def percentile_interval(draws: Array, confidence: float = 0.95) -> tuple[float, float]:
    """The central interval of the draws that are defined.

    nan, nan where more draws are undefined than the interval leaves out: the undefined ones alone could
    then fill both tails.
    """
    defined = draws[~np.isnan(draws)]
    if len(defined) == 0 or len(defined) < confidence * len(draws):
        return np.nan, np.nan
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def unanimous_interval(
    value: float, n_clusters: int, bounds: tuple[float, float], confidence: float = 0.95
) -> tuple[float, float]:
    """An interval for what came out the same in every resample, which a bootstrap would give no width.

    Wilson's interval for 0 of n clusters says how large a share of clusters could still differ, and
    none of them can differ by more than the quantity's own range allows. For a rate of 0 or 1 this is
    Wilson's interval itself, with clusters as the trials.

    Parameters
    ----------
    value : float
        The value that all resamples share.
    n_clusters : int
        Number of independent clusters.
    bounds : (float, float)
        The range of the quantity: (0, 1) for a rate, (-1, 1) for a difference of two.

    References
    ----------
    Wilson (1927), JASA 22, 209-212.

    Examples
    --------
    >>> low, high = unanimous_interval(0.0, 10, (0, 1))
    >>> low, round(high, 3)
    (0.0, 0.278)
    """
    share = proportion_confint(0, n_clusters, alpha=1 - confidence, method="wilson")[1]
    low, high = bounds
    return float(value - share * (value - low)), float(value + share * (high - value))


def bootstrap(
    statistic: Statistic,
    sums: Array,
    rng: np.random.Generator,
    inference: Inference,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Estimate:
    """A statistic of cluster totals with its percentile interval over clusters.

    Parameters
    ----------
    statistic : callable, (..., k) -> (...)
        Must be vectorised over leading axes.
    sums : ndarray, shape (clusters, k)
        From `cluster_sums`.
    rng : numpy.random.Generator
    inference : Inference
        ``confidence`` and ``resamples`` are used.
    bounds : (float, float)
        The range of the quantity, for `unanimous_interval`.

    Returns
    -------
    Estimate
        With a nan interval under two clusters, and where the value is undefined; never of width 0: a
        statistic on which the resamples agree, but for a tail, gets `unanimous_interval`.

    Notes
    -----
    With few clusters percentile intervals are too narrow; tables therefore print ``n_clusters``, and a
    caller says "too few to conclude" below ``Inference.few_clusters``.

    References
    ----------
    Cameron, Gelbach and Miller (2008), Review of Economics and Statistics 90, 414-427 (pairs cluster
    bootstrap).
    """
    n = len(sums)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(statistic(sums.sum(axis=0)))
    if n < 2 or np.isnan(value):
        return Estimate(value, np.nan, np.nan, n)
    draws = replicates(statistic, sums, inference.resamples, rng)
    return from_replicates(value, draws, n, bounds, inference)


def bootstrap_difference(
    first: Array, second: Array, rng: np.random.Generator, inference: Inference
) -> Estimate:
    """The mean of one group of clusters less that of another: each group is resampled by itself.

    Parameters
    ----------
    first, second : ndarray, shape (clusters,)
        A rate of each cluster, in [0, 1]; the two groups have no cluster in common.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    Estimate
        In [-1, 1]; nan where a group is empty, a nan interval where it has one cluster. Where all resamples
        agree, `unanimous_interval` of the smaller group.
    """
    n, fewest = len(first) + len(second), min(len(first), len(second))
    value = float(np.mean(first) - np.mean(second)) if fewest else np.nan
    if fewest < 2:
        return Estimate(value, np.nan, np.nan, n)
    means = (
        replicates(share, np.column_stack([np.ones(len(group)), group]), inference.resamples, rng)
        for group in (first, second)
    )
    draws = np.subtract(*means)
    found = from_replicates(value, draws, fewest, (-1.0, 1.0), inference)
    return Estimate(value, found.low, found.high, n)


def from_replicates(
    value: float, draws: Array, n_clusters: int, bounds: tuple[float, float], inference: Inference
) -> Estimate:
    """An estimate whose replicates over clusters are there already.

    Parameters
    ----------
    value : float
    draws : ndarray, shape (resamples,)
    n_clusters : int
    bounds : (float, float)
        The range of the quantity, for `unanimous_interval`.
    inference : Inference

    Returns
    -------
    Estimate
        With a nan interval under two clusters, where the value is undefined, and where more replicates are
        undefined than the interval leaves out; never of width 0.
    """
    if n_clusters < 2 or np.isnan(value):
        return Estimate(value, np.nan, np.nan, n_clusters)
    low, high = percentile_interval(draws, inference.confidence)
    if high - low < 1e-12:
        # All resamples agree, or all but a tail do (a quantity cut off at 0).
        low, high = unanimous_interval(value, n_clusters, bounds, inference.confidence)
    return Estimate(value, low, high, n_clusters)


def share(sums: Array) -> Array:
    """Column 1 over column 0: the statistic of a rate whose columns are (1, hit). 0/0 is nan."""
    return ratio(sums[..., 1], sums[..., 0])


def ratio(numerator: Any, denominator: Any) -> Array:
    """Divide, with nan where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    return np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom != 0)


def rate_interval(
    hits: npt.ArrayLike,
    clusters: npt.ArrayLike,
    rng: np.random.Generator,
    inference: Inference,
    trials: npt.ArrayLike = 1,
) -> Estimate:
    """A proportion with an interval over clusters: the outer envelope of two.

    Parameters
    ----------
    hits : array_like, shape (n,)
        How many of each row's trials hit.
    clusters : array_like, shape (n,)
    rng : numpy.random.Generator
    inference : Inference
    trials : array_like, shape (n,) or ()
        Each row's trials: 1, so that a hit is yes or no, or a count (quoted spans).

    Returns
    -------
    Estimate
        From the lower of the lower ends to the higher of the higher ends of the percentile bootstrap over
        clusters and Wilson's interval with clusters as trials. nan for no trials; a nan interval for a
        single cluster. Clusters without trials do not count.

    Notes
    -----
    A percentile interval is too narrow where few clusters hit, and Wilson's takes no notice of clusters
    that differ in size. With 25 clusters of one row each, a rate of 0.05, 0.1 and 0.15 is covered with
    probability 0.999, 0.991 and 0.881 by the percentile interval and 0.999, 0.991 and 0.957 by the
    envelope, for a nominal 0.95. Where a cluster has several rows the envelope covers more than that.

    References
    ----------
    Wilson (1927), JASA 22, 209-212; Brown, Cai and DasGupta (2001), Statistical Science 16, 101-133.
    """
    hit = np.asarray(hits, dtype=float)
    sums = cluster_sums(np.column_stack([np.broadcast_to(trials, hit.shape), hit]), clusters)
    sums = sums[sums[:, 0] > 0]
    n = len(sums)
    if n == 0:
        return Estimate(np.nan, np.nan, np.nan, 0)
    resampled = bootstrap(share, sums, rng, inference)
    low, high = proportion_confint(resampled.value * n, n, alpha=inference.alpha, method="wilson")
    # np: one cluster has no resampled ends, and nan stays nan.
    ends = np.minimum(low, resampled.low), np.maximum(high, resampled.high)
    return Estimate(resampled.value, float(ends[0]), float(ends[1]), n)


def signed_interval(
    effects: npt.ArrayLike, clusters: npt.ArrayLike, rng: np.random.Generator, inference: Inference
) -> Estimate:
    """The mean of signed effects with an interval over clusters: the outer envelope of two.

    Parameters
    ----------
    effects : array_like, shape (n,)
        Each in [-1, 1], such as a verdict's move; for quantities that are a matter of degree it is too wide.
    clusters : array_like, shape (n,)
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    Estimate
        In [-1, 1]. From the lower of the lower ends to the higher of the higher ends of the percentile
        bootstrap over clusters and of `mover`, which adds up Wilson's limits of the mean positive and of the
        mean negative part, with clusters as trials. nan for no effects; a nan interval for a single cluster.

    Notes
    -----
    Where few clusters move, a percentile interval is too narrow, and it jumps: where one of 12 moves it is
    [0, 0.25], where none does [-0.24, 0.24]. With 12 clusters of one row each, of which one moves up with
    probability 0.05, 0.1 and 0.3 and down with 0.1, 0.2 and 0.1, the mean is covered with probability 0.79,
    0.88 and 0.90 by the percentile interval and 0.99, 0.98 and 0.95 by the envelope, for a nominal 0.95; with
    25 clusters 0.90, 0.93 and 0.94, and 0.97, 0.95 and 0.96.

    Examples
    --------
    >>> found = signed_interval([1] + [0] * 11, range(12), np.random.default_rng(1), Inference())
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.083, -0.169, 0.354)
    """
    signed = np.asarray(effects, dtype=float)
    if signed.size == 0:
        return Estimate(np.nan, np.nan, np.nan, 0)
    parts = [np.ones(len(signed)), signed, np.maximum(signed, 0), np.maximum(-signed, 0)]
    sums = cluster_sums(np.column_stack(parts), clusters)
    resampled = bootstrap(share, sums[:, :2], rng, inference, (-1.0, 1.0))
    gained, lost = sums[:, 2:].sum(axis=0) / len(signed)
    low, high = mover(gained, lost, len(sums), inference.confidence)
    # np: one cluster has no resampled ends, and nan stays nan.
    ends = np.minimum(low, resampled.low), np.maximum(high, resampled.high)
    return Estimate(resampled.value, float(ends[0]), float(ends[1]), len(sums))


def mover(gained: float, lost: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Limits of the difference of two shares of the same trials, of which a trial is in one at most.

    Parameters
    ----------
    gained, lost : float
        In [0, 1], and so is their sum.
    n : int
        Number of trials.
    confidence : float

    Returns
    -------
    (float, float)
        In [-1, 1]: Wilson's limits of each share, combined by the method of variance estimates recovery,
        with the correlation of two cells of a multinomial. Where either share is 0 (and the other below 1)
        that is 0; where they add up to 1 it is -1, and the limits are Wilson's, stretched to [-1, 1].

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17, 2635-2650; Zou and Donner (2008), Statistics in Medicine 27,
    1693-1702.

    Examples
    --------
    >>> [round(limit, 3) for limit in mover(0.0, 0.0, 12)]
    [-0.242, 0.242]
    """
    (least_gained, most_gained), (least_lost, most_lost) = (
        proportion_confint(part * n, n, alpha=1 - confidence, method="wilson") for part in (gained, lost)
    )
    both = -1.0 if max(gained, lost) == 1 else -math.sqrt(gained * lost / ((1 - gained) * (1 - lost)))

    def reach(one: float, other: float) -> float:
        return math.sqrt(one**2 - 2 * both * one * other + other**2)

    difference = gained - lost
    low = difference - reach(gained - least_gained, most_lost - lost)
    high = difference + reach(most_gained - gained, lost - least_lost)
    return max(low, -1.0), min(high, 1.0)
