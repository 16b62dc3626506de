"""Fractional logit: by hand, against statsmodels, and where no finite answer exists."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from shared.metrics.fractional_logit import fractional_logit

# Two columns that no sign of one can stand in for: x = (1, 1), (1, -1), (2, 0), (-1, 1).
DESIGN = np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 0.0], [-1.0, 1.0]])


def test_slopes_by_hand():
    # As many patterns as slopes: the fit is exact. logit(0.75) = log 3 = b1 + b2 and
    # logit(0.25) = -log 3 = b1 - b2, so that b1 = 0 and b2 = log 3.
    assert fractional_logit([3, 1], [4, 4], DESIGN[:2]) == pytest.approx([0, np.log(3)])
    # A half of a hit is a tie: 7 hits and a tie of 10 are 7.5, and again logit(0.75) = log 3 = 2 b.
    assert fractional_logit([7.5], [10], [[2]]) == pytest.approx([np.log(3) / 2])


@pytest.mark.parametrize("seed", range(5))
def test_slopes_agree_with_statsmodels(seed):
    rng = np.random.default_rng(seed)
    design = rng.integers(-3, 4, size=(15, 3)).astype(float)
    trials = rng.integers(0, 12, size=15).astype(float)
    shares = 1 / (1 + np.exp(-design @ [0.5, -0.3, 0.8]))
    halves = rng.binomial(2 * trials.astype(int), shares) / 2
    used = trials > 0
    oracle = sm.GLM(
        halves[used] / trials[used], design[used], family=sm.families.Binomial(), freq_weights=trials[used]
    ).fit(tol=1e-12)
    assert fractional_logit(halves, trials, design) == pytest.approx(oracle.params, abs=1e-6)


def test_each_regression_is_alone():
    rng = np.random.default_rng(0)
    trials = rng.integers(1, 9, size=(2, 30, 4))
    hits = rng.binomial(2 * trials, 0.4) / 2
    together = fractional_logit(hits, trials, DESIGN)
    alone = [
        [fractional_logit(h, t, DESIGN) for h, t in zip(*pair, strict=True)]
        for pair in zip(hits, trials, strict=True)
    ]
    assert together.shape == (2, 30, 2)
    assert np.isfinite(together).any() and np.isnan(together).any()
    assert together == pytest.approx(np.array(alone), nan_ok=True)


COUNTS = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 8)), min_size=4, max_size=4)


@given(COUNTS)
def test_misses_for_hits_flip_the_signs(counts):
    hits, trials = (np.array([min(h / 2, t) for h, t in counts]), np.array([t for _, t in counts]))
    there, back = (fractional_logit(each, trials, DESIGN) for each in (hits, trials - hits))
    assert back == pytest.approx(-there, abs=1e-6, nan_ok=True)


@given(COUNTS)
def test_a_fit_is_at_the_top(counts):
    hits, trials = (np.array([min(h / 2, t) for h, t in counts]), np.array([t for _, t in counts]))
    slopes = fractional_logit(hits, trials, DESIGN)
    if separated(hits, trials):
        assert np.isnan(slopes).all()
    else:  # at a maximum the residuals are orthogonal to every column
        residuals = hits - trials / (1 + np.exp(-DESIGN @ slopes))
        assert np.abs(residuals @ DESIGN).max() < 1e-5


def separated(hits, trials) -> bool:
    """Whether some b, not 0, has x b >= 0 where all hit, <= 0 where none did and 0 elsewhere."""
    signs = np.where(hits == trials, 1.0, np.where(hits == 0, -1.0, 0.0))[:, None]
    extreme = signs[:, 0] != 0
    toward = (signs * DESIGN)[extreme]
    found = linprog(
        -toward.sum(axis=0),
        A_ub=-toward if extreme.any() else None,
        b_ub=np.zeros(extreme.sum()) if extreme.any() else None,
        A_eq=DESIGN[~extreme] if (~extreme).any() else None,
        b_eq=np.zeros((~extreme).sum()) if (~extreme).any() else None,
        bounds=[(-1, 1)] * 2,
    )
    return -found.fun > 1e-9


def test_separated_hits_have_no_slope():
    # All hits where x > 0 and none where x < 0: the larger the slope, the better.
    assert np.isnan(fractional_logit([4, 0], [4, 4], [[1], [-1]])).all()
    # Separated by one column only: the other has no slope either, for it is fitted beside an infinite one.
    assert np.isnan(fractional_logit([4, 0, 2, 2], [4] * 4, [[1, 1], [-1, 1], [0, 1], [0, -1]])).all()
    # One miss more, and there is a finite one: logit(7/8) = log 7.
    assert fractional_logit([4, 1], [4, 4], [[1], [-1]]) == pytest.approx([np.log(7)])


def test_columns_that_cannot_be_told_apart_have_no_slopes():
    assert np.isnan(fractional_logit([3, 2], [4, 4], [[1, 2], [2, 4]])).all()
    # Two columns, but only one pattern was tried.
    assert np.isnan(fractional_logit([3, 0], [4, 0], DESIGN[:2])).all()


def test_a_column_of_zeros_alone_is_left_out():
    slopes = fractional_logit([3, 1], [4, 4], [[1, 0], [-1, 0]])
    assert slopes[0] == pytest.approx(np.log(3)) and np.isnan(slopes[1])
    assert np.isnan(fractional_logit([1], [2], [[0, 0]])).all()


def test_nothing_tried_has_no_slopes():
    assert np.isnan(fractional_logit([0, 0], [0, 0], DESIGN[:2])).all()
    assert np.isnan(fractional_logit([], [], np.empty((0, 2)))).all()
