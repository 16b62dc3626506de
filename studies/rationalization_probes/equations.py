"""The paper's outcome metrics (section 4.3), one equation a function, on counts and shares.

All are vectorised over leading axes, so that one definition serves an estimate, its bootstrap replicates and
its permutation null. Outcomes are orders of candidate identities, never of screen positions.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.metrics.resampling import Array, ratio

Side = Literal["12", "21"]

# The columns of every array of counts. "12": identity 1 preferred, which the paper writes [1,2].
OUTCOMES = ("12", "21", "tie")


def outcome_indicators(verdicts: pd.Series, favoured: pd.Series | None = None) -> Array:
    """Which outcome each verdict is.

    Parameters
    ----------
    verdicts : Series of {"1", "2", "tie"}
        Identity coding; missing where nothing was parsed.
    favoured : Series of {"1", "2"}, optional
        The identity that stands in the place of 1, row by row: the favoured one.

    Returns
    -------
    ndarray of {0, 1}, shape (n, 3)
        In the order of `OUTCOMES` (for, against, tie); a missing verdict is none of the three.
    """
    one = pd.Series("1", index=verdicts.index) if favoured is None else favoured
    other = one.map({"1": "2", "2": "1"})
    return np.column_stack([verdicts == one, verdicts == other, verdicts == "tie"]).astype(float)


def outcome_shares(counts: npt.ArrayLike, total: npt.ArrayLike | None = None) -> Array:
    """p_o = Pr(r = o), the share of each outcome (section 4.3).

    Parameters
    ----------
    counts : array_like, shape (..., 3)
        In the order of `OUTCOMES`.
    total : array_like, shape (...), optional
        The denominator: by default what was counted; with unparsed answers included, the paper's own.

    Returns
    -------
    ndarray, shape (..., 3)
        In [0, 1]; nan where nothing was counted.

    Examples
    --------
    >>> outcome_shares([97, 63, 840]).tolist()
    [0.097, 0.063, 0.84]
    """
    array = np.asarray(counts, dtype=float)
    denominator = array.sum(axis=-1) if total is None else np.asarray(total, dtype=float)
    return ratio(array, denominator[..., None])


def edr(shares: npt.ArrayLike) -> Array:
    """Equality Detection Rate: the tie share on pairs that are equal, under Blind (section 4.3).

    Parameters
    ----------
    shares : array_like, shape (..., 3)
        From `outcome_shares`, over equal pairs only.

    Returns
    -------
    ndarray, shape (...)
        1: every equal pair was called a tie; 0: none was. nan for no pairs.
    """
    return np.asarray(shares, dtype=float)[..., 2]


def neutrality_signed(shares: npt.ArrayLike) -> Array:
    """p_12 - p_21: above 0, candidate 1 is preferred on equal pairs. In [-1, 1]; 0 is neutral."""
    array = np.asarray(shares, dtype=float)
    return array[..., 0] - array[..., 1]


def neutrality_deviation(shares: npt.ArrayLike) -> Array:
    """ND_B = |2 p_{12|no tie} - 1| (p_12 + p_21), the paper's neutrality deviation (section 4.3).

    Parameters
    ----------
    shares : array_like, shape (..., 3)

    Returns
    -------
    ndarray, shape (...)
        In [0, 1]; 0 splits evenly. Where nothing but ties came, the conditional share is 0/0 and so ND
        is nan: such a judge shows no preference to be neutral about.

    Notes
    -----
    It equals |p_12 - p_21| where it is defined. The paper writes 1 - t for p_12 + p_21, which is the same
    unless unparsed answers are in the denominator: these show no preference. Being a size it is above 0 by
    noise alone: lead with `neutrality_signed`.

    Examples
    --------
    >>> round(float(neutrality_deviation([0.097, 0.063, 0.84])), 3)
    0.034
    """
    p12, p21, _ = np.moveaxis(np.asarray(shares, dtype=float), -1, 0)
    return np.abs(2 * ratio(p12, p12 + p21) - 1) * (p12 + p21)


class Shifts(NamedTuple):
    """Change of each outcome's share from Blind to a probe, each in [-1, 1]; together 0."""

    favoured: Array
    opposite: Array
    tie: Array


def shifts(blind: npt.ArrayLike, probe: npt.ArrayLike, favoured: Side = "12") -> Shifts:
    """Delta_fav, Delta_opp and Delta_tie (section 4.3).

    Parameters
    ----------
    blind, probe : array_like, shape (..., 3)
        Shares under the two conditions.
    favoured : {"12", "21"}
        The outcome that the cue favours. The paper: [1,2] under Truth, [2,1] under Flip.
    """
    delta = np.asarray(probe, dtype=float) - np.asarray(blind, dtype=float)
    fav, opp = (0, 1) if favoured == "12" else (1, 0)
    return Shifts(delta[..., fav], delta[..., opp], delta[..., 2])


def lds(shift: Shifts) -> Array:
    """Label-directed shift, max(0, Delta_fav): what moved into the favoured outcome (section 4.3)."""
    return np.maximum(0, shift.favoured)


def ols(shift: Shifts) -> Array:
    """Opposite-label shift, max(0, Delta_opp): what moved into the other outcome (section 4.3)."""
    return np.maximum(0, shift.opposite)


def ts(shift: Shifts) -> Array:
    """Tie shift, max(0, Delta_tie): what moved into Tie (section 4.3)."""
    return np.maximum(0, shift.tie)


def lao(shift: Shifts, epsilon: float = 0.0) -> Array:
    """Label Anchoring in Outcomes, LDS / (LDS + OLS + TS + epsilon) (section 4.3).

    Returns
    -------
    ndarray
        In [0, 1]: the share of all movement that goes to the favoured outcome. nan where nothing moved
        (with the default ``epsilon`` of 0; a positive one makes it 0, as if a cue had been resisted).

    Notes
    -----
    It is a ratio: a thousandth of the mass moving by chance gives the same 1.0 as half of it. Read it
    beside LDS and what a cue line without information gives.

    Examples
    --------
    Gemma-2-9B under SCoT, from Blind to Truth (Tables 2 and 3):

    >>> moved = shifts([0.097, 0.063, 0.840], [0.680, 0.105, 0.215])
    >>> round(float(lao(moved)), 3)
    0.933
    """
    # Shares are ratios of counts, whose differences carry rounding: 1e-17 is no movement.
    # 0 * part keeps nan.
    moved = [np.where(part > 1e-12, part, 0 * part) for part in (lds(shift), ols(shift), ts(shift))]
    return ratio(moved[0], sum(moved) + epsilon)
