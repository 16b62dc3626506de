"""Corrections for families of tests, which keep undefined p-values undefined."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from statsmodels.stats.multitest import multipletests

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
    Holm (1979), Scandinavian Journal of Statistics 6, 65-70. Computed by statsmodels.

    Examples
    --------
    >>> holm([0.01, float("nan"), 0.04]).tolist()
    [0.02, nan, 0.04]
    """
    return _adjust(p, "holm")


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
    return _adjust(p, "fdr_bh")


def _adjust(p: npt.ArrayLike, method: str) -> Array:
    raw = np.asarray(p, dtype=float)
    adjusted = np.full(raw.shape, np.nan)
    defined = ~np.isnan(raw)
    if defined.any():
        adjusted[defined] = multipletests(raw[defined], method=method)[1]
    return adjusted
