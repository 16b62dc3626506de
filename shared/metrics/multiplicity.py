"""Corrections for families of tests, which keep undefined p-values undefined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from statsmodels.stats.multitest import fdrcorrection

from shared.metrics.resampling import Array


def holm(p: npt.ArrayLike) -> Array:
    """Holm's adjusted p-values: the family-wise error rate, under any dependence.

    Parameters
    ----------
    p : array_like, shape (tests,)
        nan marks a test that could not be made; it stays nan and does not count towards the family.

    Returns
    -------
    ndarray, shape (tests,)

    References
    ----------
    Holm (1979), Scandinavian Journal of Statistics 6, 65-70.

    See Also
    --------
    statsmodels.stats.multitest.multipletests : the oracle. Its Holm collects garbage in every call, which
        takes longer than the rest of a table.

    Examples
    --------
    >>> holm([0.01, float("nan"), 0.04]).tolist()
    [0.02, nan, 0.04]
    """
    return _adjust(p, _holm)


def benjamini_hochberg(p: npt.ArrayLike) -> Array:
    """Benjamini and Hochberg's adjusted p-values: the false discovery rate, where many cells are screened.

    Parameters and nan are as in `holm`.

    References
    ----------
    Benjamini and Hochberg (1995), JRSS B 57, 289-300. Computed by statsmodels.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.02, float("nan")]).tolist()
    [0.02, 0.02, nan]
    """
    return _adjust(p, lambda defined: fdrcorrection(defined)[1])


def _holm(p: Array) -> Array:
    """The k-th smallest of m times m - k + 1, never falling, at most 1."""
    order = np.argsort(p)
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def _adjust(p: npt.ArrayLike, correct: Callable[[Array], Array]) -> Array:
    raw = np.asarray(p, dtype=float)
    adjusted = np.full(raw.shape, np.nan)
    defined = ~np.isnan(raw)
    if defined.any():
        adjusted[defined] = correct(raw[defined])
    return adjusted
