"""A judge's position prior from pairs of orders: whatever an item's content is, it cancels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit

from shared.metrics.fractional_logit import fractional_logit
from shared.metrics.resampling import Array
from studies.rubric_position_bias.grid import Codes, Grid

SHIFT = 5
"""Base in which the terms of a pair, each -2 to 2, are written as one number."""

ONE_SCORE = "n/a: no item has two different scores"
NO_FIT = "n/a: no finite fit: the answers are too few or too clear-cut"


@dataclass(frozen=True, slots=True, eq=False)
class PairsFit:
    """The position prior of one cell. ``alpha``, ``cov`` and ``influence`` are nan without a finite fit.

    Attributes
    ----------
    alpha : ndarray, shape (n,)
        Log-odds that a place adds to whatever option stands there, first place first; they sum to 0.
    cov : ndarray, shape (n, n)
        Covariance of ``alpha``, robust to whatever the items of a cluster have in common.
    influence : ndarray, shape (items, n)
        How far each item moves ``alpha`` (to first order): ``cov`` is their sum over clusters squared, and
        the covariance of two cells with common sources follows from theirs.
    score : ndarray, shape (n,)
        The likelihood's slope at alpha = 0: how many more choices stood at each place than each item's
        scores, spread evenly over its orders, would have put there.
    information : ndarray, shape (n, n)
        At alpha = 0. Its (pseudo-)inverse times ``score`` is a one-step estimate of ``alpha``.
    lr : float
        Twice the gain in log-likelihood over alpha = 0, on ``df`` degrees of freedom. Its chi-square law
        needs items that answer independently: see `fit_pairs`.
    df : int
    n_clusters : int
        With an answer.
    note : str
        Why there is no fit; empty where there is one.
    """

    alpha: Array
    cov: Array
    influence: Array
    score: Array
    information: Array
    lr: float
    df: int
    n_clusters: int
    note: str

    @property
    def converged(self) -> bool:
        return not self.note

    @property
    def sd_alpha(self) -> float:
        """The population standard deviation of ``alpha`` over places: the paper's size of a prior."""
        return float(np.std(self.alpha))

    @property
    def sd_influence(self) -> Array:
        """How far each item moves `sd_alpha`, to first order; (items,). nan where all places are alike."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.influence @ self.alpha / (len(self.alpha) * self.sd_alpha)

    @property
    def sd_se(self) -> float:
        """Standard error of `sd_alpha` by the delta method; too small where the sd is not clear of 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            variance = self.alpha @ self.cov @ self.alpha
            return float(np.sqrt(variance) / (len(self.alpha) * self.sd_alpha))

    def wald(self) -> tuple[float, float]:
        """`robust_wald` of alpha = 0; nan, nan without a fit."""
        return robust_wald(self.alpha, self.cov, self.n_clusters) if self.converged else (np.nan, np.nan)


def robust_wald(alpha: Array, cov: Array, n_clusters: int) -> tuple[float, float]:
    """The Wald statistic of alpha = 0 with a covariance from so many clusters, and its p-value.

    Parameters
    ----------
    alpha : ndarray, shape (n,)
        Which sum to 0: df = n - 1.
    cov : ndarray, shape (n, n)
    n_clusters : int

    Returns
    -------
    w, p : float
        Its reference is Hotelling's: W (C - df) / (df (C - 1)) is F on df and C - df degrees of freedom, for
        C clusters. nan, nan with too few clusters for one.
    """
    df = len(alpha) - 1
    spare = n_clusters - df
    if df < 1 or spare < 1 or not np.isfinite(cov).all():
        return np.nan, np.nan
    w = float(alpha @ np.linalg.pinv(cov, rcond=1e-10, hermitian=True) @ alpha)
    return w, float(stats.f.sf(w * spare / (df * (n_clusters - 1)), df, spare))


def fit_pairs(grid: Grid) -> PairsFit:
    """Fit the position prior to pairs of an item's answers under two orders.

    Parameters
    ----------
    grid : Grid
        Of the setting ``score``; any orders, any answers missing.

    Returns
    -------
    PairsFit
        Without a finite fit where no item has two different scores (`ONE_SCORE`), and where answers are
        separated, as those of a judge that always takes one place are (`NO_FIT`): its prior has no bound.

    Notes
    -----
    Let item i's score s, shown at place p, have the log-odds theta_is + alpha_p: item and score have any
    content, leniency included. Given that the answers under two orders o and u were the two scores a and b,
    in one sequence or the other, the log-odds of (a under o, b under u) against (b under o, a under u) are

        alpha[o(a)] + alpha[u(b)] - alpha[o(b)] - alpha[u(a)],

    with o(a) the place of a in o: theta is gone. The log-likelihood is the sum over all pairs of an item's
    answers, times 2 / K for K answers, over all items; the weight makes ``score`` a count of choices, and
    the pairs of an item, which are not independent, count for about what its answers tell. (For K = 2 this is
    the conditional logit itself.) Standard errors are from the sums of scores over clusters, with the factor
    C / (C - 1). ``lr`` has its chi-square law about right where items are independent given alpha.

    References
    ----------
    Chamberlain (1980), Review of Economic Studies 47, 225-238 (conditioning the content away); Liang and
    Qin (2000), JRSS B 62, 773-786 (pairs); Varin, Reid and Firth (2011), Statistica Sinica 21, 5-42
    (composite likelihoods, their errors); Cameron and Miller (2015), Journal of Human Resources 50, 317-372.

    See Also
    --------
    statsmodels.discrete.conditional_models.ConditionalLogit : the oracle, a pair a group.
    """
    weights, codes = _pairs(grid)
    inverse, distinct = pd.factorize(codes.ravel())
    terms = _decoded(np.asarray(distinct), grid.size)
    hits = np.bincount(inverse, np.repeat(weights, codes.shape[1]), minlength=len(terms))
    told = hits * (terms != 0).any(axis=1)  # a pair of equal scores tells nothing
    slopes = fractional_logit(told, told, terms[:, :-1]) if told.any() else np.full(grid.size - 1, np.nan)
    alpha = np.append(slopes, 0.0)
    score, information = told @ terms / 2, (terms * told[:, None]).T @ terms / 4
    note = "" if np.isfinite(alpha).all() else NO_FIT if told.any() else ONE_SCORE
    influence = np.full((len(weights), grid.size), np.nan)
    if not note:
        pulls = _pulls(alpha, terms, weights, inverse.reshape(codes.shape))
        influence = pulls @ _inverse_information(alpha, terms, told)
    return PairsFit(
        alpha=alpha - alpha.mean() if not note else np.full(grid.size, np.nan),
        cov=_clustered(influence[weights > 0], grid.clusters[weights > 0]),
        influence=influence,
        score=score,
        information=information,
        lr=float(2 * told @ (np.log(2) - np.logaddexp(0, -terms @ alpha))) if not note else np.nan,
        df=max(grid.size - 1, 0),
        n_clusters=len(np.unique(grid.clusters[(~np.isnan(grid.scores)).any(axis=1)])),
        note=note,
    )


def _pairs(grid: Grid) -> tuple[Array, Codes]:
    """Each item's weight, 2 / K or 0, and the terms of each of its pairs, one number each: (items, pairs).

    The terms are how often each place's prior counts for the answers as they were given, less how often for
    the same two answers exchanged. All are 0 for equal scores, and for a pair that lacks one.
    """
    answered = ~np.isnan(grid.scores)
    k = answered.sum(axis=1)
    options = np.where(answered, grid.scores, 1).astype(np.intp) - 1
    # The power of each option's place, under each order.
    powers = (SHIFT ** np.arange(grid.size, dtype=np.int64))[grid.positions().astype(np.intp) - 1]
    one, other = np.triu_indices(grid.scores.shape[1], 1)
    item = np.arange(len(options))[:, None]
    given = powers[item, one, options[:, one]] + powers[item, other, options[:, other]]
    exchanged = powers[item, one, options[:, other]] + powers[item, other, options[:, one]]
    codes = np.where(answered[:, one] & answered[:, other], given - exchanged, 0)
    return np.where(k > 1, 2 / np.maximum(k, 1), 0.0), codes


def _decoded(codes: Codes, size: int) -> Array:
    """The terms of each place, -2 to 2, that `_pairs` wrote as one number; shape (codes, n)."""
    terms = np.zeros((len(codes), size))
    left = codes.astype(np.int64)
    for place in range(size):
        digit = (left + SHIFT // 2) % SHIFT - SHIFT // 2
        terms[:, place] = digit
        left = (left - digit) // SHIFT
    return terms


def _pulls(alpha: Array, terms: Array, weights: Array, patterns: Codes) -> Array:
    """Each item's slope of the log-likelihood at ``alpha``; shape (items, n)."""
    surprise = expit(-terms @ alpha)
    return (terms * surprise[:, None])[patterns].sum(axis=1) * weights[:, None]


def _inverse_information(alpha: Array, terms: Array, told: Array) -> Array:
    """Of priors that sum to 0: the pseudo-inverse, since adding the same to all places changes nothing."""
    share = expit(terms @ alpha)
    information = (terms * (told * share * (1 - share))[:, None]).T @ terms
    return np.linalg.pinv(information, rcond=1e-12, hermitian=True)


def _clustered(influence: Array, clusters: Codes) -> Array:
    """Sum of squares over clusters, with the factor C / (C - 1); nan under two clusters."""
    codes, names = pd.factorize(clusters)
    if len(names) < 2:
        return np.full((influence.shape[1],) * 2, np.nan)
    sums = np.zeros((len(names), influence.shape[1]))
    np.add.at(sums, codes, influence)
    return sums.T @ sums * len(names) / (len(names) - 1)
