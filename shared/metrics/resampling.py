"""Intervals by resampling whole clusters: weights over clusters times per-cluster sums, in one product."""

from __future__ import annotations

import hashlib
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
    codes, names = pd.factorize(np.asarray(clusters, dtype=object))
    if (codes < 0).any():
        raise ValueError("a row has no cluster: give every row the name of its source")
    sums = np.zeros((len(names), rows.shape[1]))
    np.add.at(sums, codes, rows)
    return sums


def replicates(statistic: Statistic, sums: Array, resamples: int, rng: np.random.Generator) -> Array:
    """The statistic of `resamples` draws of clusters with replacement.

    Drawing n of n clusters with replacement is drawing multinomial counts, so that all resampled
    totals are one matrix product, (resamples, clusters) @ (clusters, k).
    """
    n = len(sums)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
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
    low, high = percentile_interval(draws, inference.confidence)
    if high - low < 1e-12:
        # All resamples agree, or all but a tail do (a quantity cut off at 0).
        low, high = unanimous_interval(value, n, bounds, inference.confidence)
    return Estimate(value, low, high, n)


def share(sums: Array) -> Array:
    """Column 1 over column 0: the statistic of a rate whose columns are (1, hit). 0/0 is nan."""
    return ratio(sums[..., 1], sums[..., 0])


def ratio(numerator: Any, denominator: Any) -> Array:
    """Divide, with nan where the denominator is 0."""
    top, bottom = np.broadcast_arrays(np.asarray(numerator, float), np.asarray(denominator, float))
    return np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom != 0)


def rate_interval(
    hits: npt.ArrayLike, clusters: npt.ArrayLike, rng: np.random.Generator, inference: Inference
) -> Estimate:
    """A proportion over observations, with an interval over clusters.

    Percentile bootstrap over clusters; where every resample gives the same rate (all hits, none, or
    the same rate in every cluster) Wilson with clusters as trials, so that the width is never 0.

    Parameters
    ----------
    hits : array_like of bool or {0, 1}, shape (n,)
    clusters : array_like, shape (n,)

    Returns
    -------
    Estimate
        nan for no observations; a nan interval for a single cluster.
    """
    flags = np.asarray(hits, dtype=float)
    if len(flags) == 0:
        return Estimate(np.nan, np.nan, np.nan, 0)
    sums = cluster_sums(np.column_stack([np.ones_like(flags), flags]), clusters)
    return bootstrap(share, sums, rng, inference)
