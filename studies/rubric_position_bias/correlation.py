"""Pearson's and Spearman's correlation of all resamples of clusters at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from shared.metrics.resampling import Array, ratio
from studies.rubric_position_bias.strategies import Codes

Correlation = Callable[[Array, Array, Codes, Array], Array]

CONSTANT = 1e-12
"""A variance below this share of the mean square about the whole sample's mean is rounding: there is none."""

BLOCK = 2**16
"""How many ranks are held at once: half a megabyte, which stays in a core's cache."""


def pearson(x: Array, y: Array, clusters: Codes, weights: Array) -> Array:
    """Pearson's r of each resample.

    Parameters
    ----------
    x : ndarray, shape (..., n)
        Scores; the leading axes are vectors of their own. Where x or y is nan, the item is left out.
    y : ndarray, shape (n,)
        Reference scores.
    clusters : ndarray of int, shape (n,)
        Codes 0..C - 1, ascending, each there.
    weights : ndarray, shape (C, R)
        How often each resample draws each cluster.

    Returns
    -------
    ndarray, shape (..., R)
        In [-1, 1]; nan where x or y is constant.

    Notes
    -----
    r is a function of the sums of 1, x, y, xx, yy and xy, so that all resamples are one product of their
    weights and the sums of each cluster. Both are centred first: a sum of squares far from 0 loses digits.

    See Also
    --------
    scipy.stats.pearsonr : the oracle; one resample a call.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    >>> pearson(x, y, np.arange(3), np.ones((3, 1))).tolist()
    [0.5]
    """
    starts = np.flatnonzero(np.diff(clusters, prepend=-1))
    sums = np.add.reduceat(_moments(x, y), starts, axis=-1)
    # As one product of two matrices: a stack of small ones is slower.
    totals = (sums.reshape(-1, len(weights)) @ weights).reshape(*sums.shape[:-1], -1)
    n, sx, sy, sxx, syy, sxy = totals
    deviations = ratio(sxy - ratio(sx * sy, n), np.sqrt(_spread(sxx, sx, n) * _spread(syy, sy, n)))
    return np.clip(deviations, -1, 1)


def _moments(x: Array, y: Array) -> Array:
    """1, x, y, xx, yy and xy of each item, centred; 0 where one of the two is nan: (6, ..., n)."""
    used = ~np.isnan(x + y)
    x, y = (
        np.where(used, values - _mean(values, used), 0.0) for values in (x, np.broadcast_to(y, np.shape(x)))
    )
    return np.stack([used.astype(float), x, y, x * x, y * y, x * y])


def _mean(values: Array, used: Array) -> Array:
    return ratio(np.where(used, values, 0.0).sum(axis=-1), used.sum(axis=-1))[..., None]


def _spread(squares: Array, total: Array, n: Array) -> Array:
    """The sum of squared deviations; 0, not rounding, where all values are the same."""
    spread = squares - ratio(total**2, n)
    return np.where(spread > CONSTANT * squares, spread, 0.0)


def spearman(x: Array, y: Array, clusters: Codes, weights: Array) -> Array:
    """Spearman's rho of each resample, ties at their mean rank.

    Parameters
    ----------
    x, y, clusters, weights
        As in `pearson`; the codes need not be in sequence.

    Returns
    -------
    ndarray, shape (..., R)
        In [-1, 1]; nan where x or y is constant.

    Notes
    -----
    A resample draws whole clusters, so that it moves no item in the sorted list; it only changes how often
    each stands there. The mean rank of a value is then the number of drawn items below it and half of those
    that have it. The values are sorted once; each resample is a cumulative sum.

    See Also
    --------
    scipy.stats.spearmanr : the oracle; one resample a call.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([10.0, 30.0, 20.0])
    >>> spearman(x, y, np.arange(3), np.ones((3, 1))).tolist()
    [0.5]
    """
    vectors = np.reshape(x, (-1, len(y)))
    groups = _by_items(vectors, y, clusters, len(weights))
    rho = np.empty((len(vectors), weights.shape[1]))
    step = max(1, BLOCK // max(1, len(y)))
    for start in range(0, weights.shape[1], step):
        block = slice(start, start + step)
        drawn = np.ascontiguousarray(weights[:, block])
        for group in groups:
            rho[group.places, block] = _rank_correlations(group, drawn)
    return rho.reshape(*np.shape(x)[:-1], -1)


class _Sorted(NamedTuple):
    """How many items of each cluster have each value, (values, clusters); and where each item's value is."""

    counts: sparse.csr_array
    codes: Codes


class _Group(NamedTuple):
    """Vectors that leave out the same items: their places among all vectors, they themselves, and y."""

    places: list[int]
    vectors: list[_Sorted]
    y: _Sorted
    clusters: Codes


def _by_items(vectors: Array, y: Array, clusters: Codes, n_clusters: int) -> list[_Group]:
    groups: dict[bytes, _Group] = {}
    for place, vector in enumerate(vectors):
        used = ~np.isnan(vector + y)
        if (key := used.tobytes()) not in groups:
            groups[key] = _Group([], [], _sorted(y[used], clusters[used], n_clusters), clusters[used])
        group = groups[key]
        group.places.append(place)
        group.vectors.append(_sorted(vector[used], clusters[used], n_clusters))
    return list(groups.values())


def _sorted(values: Array, clusters: Codes, n_clusters: int) -> _Sorted:
    different, codes = np.unique(values, return_inverse=True)
    shape = (len(different), n_clusters)
    return _Sorted(sparse.csr_array((np.ones(len(values)), (codes, clusters)), shape=shape), codes)


def _rank_correlations(group: _Group, weights: Array) -> Array:
    """rho of each of the group's vectors and each column of weights."""
    if len(group.clusters) == 0:
        return np.full((len(group.places), weights.shape[1]), np.nan)
    ranks_y, spread_y = _centred_ranks(group.y, weights)
    weighted = weights[group.clusters] * ranks_y[group.y.codes]
    found = []
    for x in group.vectors:
        ranks_x, spread_x = _centred_ranks(x, weights)
        product = (weighted * ranks_x[x.codes]).sum(axis=0)
        found.append(ratio(product, np.sqrt(spread_x * spread_y)))
    return np.clip(found, -1, 1)


def _centred_ranks(items: _Sorted, weights: Array) -> tuple[Array, Array]:
    """Each value's mean rank less the mean of all ranks, (values, R), and the ranks' summed squares (R,)."""
    counts = items.counts @ weights
    ranks = np.cumsum(counts, axis=0)
    # Below and half of equal is the mean rank less 1/2; the mean of all ranks less 1/2 is n / 2.
    ranks = ranks - counts / 2 - ranks[-1] / 2
    return ranks, np.einsum("vr,vr,vr->r", counts, ranks, ranks)
