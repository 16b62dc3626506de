"""Fractional logit by maximum likelihood: one small regression on many sets of counts at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from shared.metrics.resampling import Array

MOST_STEPS, MOST_HALVINGS = 30, 12
"""Newton's steps, and the halvings of each. Where there is no finite maximum no step gets small."""

SETTLED = 1e-8
"""A step that moves no linear predictor by more than this is the last one."""


def fractional_logit(hits: npt.ArrayLike, trials: npt.ArrayLike, design: npt.ArrayLike) -> Array:
    """Slopes b of P(hit) = 1 / (1 + exp(-x b)), where a hit may be a fraction (a tie: half a one).

    Parameters
    ----------
    hits, trials : array_like, shape (..., patterns)
        Summed hits and number of trials of each pattern, 0 <= hits <= trials. The leading axes are
        regressions of their own: what a bootstrap resamples are sums.
    design : array_like, shape (patterns, k)
        A pattern's columns x, the same in all regressions. There is no intercept but a column of ones.

    Returns
    -------
    ndarray, shape (..., k)
        nan where the likelihood has no finite, single maximum: the hits are separated by the columns, or
        the columns that have trials depend on each other. A column that is 0 throughout has no slope
        (nan), and the others are fitted without it.

    Notes
    -----
    The Bernoulli quasi-likelihood sum(hits * x b - trials * log(1 + exp(x b))) is concave: Newton's steps
    from 0, halved where they would lower it. Its standard errors are not those of a binomial model, so that
    none are given: resample whole clusters.

    References
    ----------
    Papke and Wooldridge (1996), Journal of Applied Econometrics 11, 619-632; Albert and Anderson (1984),
    Biometrika 71, 1-10 (separation).

    See Also
    --------
    statsmodels.genmod.generalized_linear_model.GLM : the oracle, with ``freq_weights``. It fits one
        regression a call, and a bootstrap takes thousands.

    Examples
    --------
    3 of 4 hits where x = 1: the slope is log 3.

    >>> fractional_logit([3], [4], [[1]]).round(4).tolist()
    [1.0986]
    """
    columns = np.asarray(design, dtype=float)
    sums, sizes = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(trials, dtype=float))
    present = (columns != 0).any(axis=0)
    slopes = np.full((*sums.shape[:-1], columns.shape[1]), np.nan)
    if present.any():
        flat_sums, flat_sizes = (each.reshape(-1, len(columns)) for each in (sums, sizes))
        fitted = _fit(flat_sums, flat_sizes, columns[:, present])
        slopes[..., present] = fitted.reshape(*sums.shape[:-1], -1)
    return slopes


def _fit(hits: Array, trials: Array, design: Array) -> Array:
    """Climb all regressions together; each leaves when it has settled, or has no way up."""
    fitted = np.full((len(hits), design.shape[1]), np.nan)
    left, slopes = np.arange(len(hits)), np.zeros_like(fitted)
    for _ in range(MOST_STEPS):
        steps = _newton_steps(slopes, hits[left], trials[left], design)
        reach = np.abs(steps @ design.T).max(axis=1)
        fitted[left[reach <= SETTLED]] = slopes[reach <= SETTLED]
        going = reach > SETTLED  # neither settled nor nan
        left, slopes, steps = left[going], slopes[going], steps[going]
        if len(left) == 0:
            break
        slopes = slopes + _that_climb(steps, slopes, hits[left], trials[left], design)
    return fitted


def _newton_steps(slopes: Array, hits: Array, trials: Array, design: Array) -> Array:
    """The inverse information times the score; nan where the information is singular."""
    shares = expit(slopes @ design.T)
    score = (hits - trials * shares) @ design
    products = np.einsum("pj,pk->pjk", design, design)
    information = np.tensordot(trials * shares * (1 - shares), products, axes=1)
    regular = np.linalg.matrix_rank(information, hermitian=True) == design.shape[1]
    steps = np.full_like(slopes, np.nan)
    steps[regular] = np.linalg.solve(information[regular], score[regular][..., None])[..., 0]
    return steps


def _that_climb(steps: Array, slopes: Array, hits: Array, trials: Array, design: Array) -> Array:
    """The steps, halved until none lowers the likelihood."""
    before = _likelihood(slopes, hits, trials, design)
    for _ in range(MOST_HALVINGS):
        after = _likelihood(slopes + steps, hits, trials, design)
        # Near the top the likelihoods differ by rounding alone.
        lower = after < before - 1e-9 * (1 + np.abs(before))
        if not lower.any():
            break
        steps = np.where(lower[:, None], steps / 2, steps)
    return steps


def _likelihood(slopes: Array, hits: Array, trials: Array, design: Array) -> Array:
    predictor = slopes @ design.T
    return np.asarray((hits * predictor - trials * np.logaddexp(0, predictor)).sum(axis=-1))
