"""Sign flips and label swaps: by hand, against scipy, and at their nominal rate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shared.metrics.permutation import (
    mean_difference_test,
    permutation_p,
    sign_flip_test,
    smallest_p,
    swap_null,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_exact_by_hand():
    # Sums 1, 2, 3: of 8 sign vectors, |sum| >= 6 for two (+++ and ---); sum >= 6 for one.
    sums = np.array([1.0, 2.0, 3.0])
    assert sign_flip_test(sums, 8, rng()) == 2 / 8
    assert sign_flip_test(sums, 8, rng(), "greater") == 1 / 8
    assert sign_flip_test(sums, 8, rng(), "less") == 1
    # Sums 3, -1, 1 total 3. The totals are +-3 (four times) and +-5, +-1: |total| >= 3 for 6 of 8.
    assert sign_flip_test(np.array([3.0, -1.0, 1.0]), 8, rng()) == 6 / 8


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_exact_agrees_with_scipy(alternative):
    sums = rng(3).normal(0.4, 1, size=10)
    oracle = stats.permutation_test(
        (sums,), np.sum, permutation_type="samples", alternative=alternative, n_resamples=np.inf
    )
    assert sign_flip_test(sums, 2**10, rng(), alternative) == pytest.approx(oracle.pvalue)


def test_monte_carlo_is_near_exact_and_never_0():
    sums = rng(5).normal(0.5, 1, size=12)
    exact = sign_flip_test(sums, 2**12, rng())
    drawn = sign_flip_test(sums, 2**12 - 1, rng(1))
    assert drawn == pytest.approx(exact, abs=0.02)  # three standard errors of 4,095 draws
    assert sign_flip_test(np.ones(100), 99, rng()) == 1 / 100  # (0 + 1) / (99 + 1)


def test_clusters_without_an_effect_change_nothing():
    sums = np.array([1.0, 2.0, -3.0, 4.0])
    padded = np.append(sums, np.zeros(60))
    assert sign_flip_test(padded, 16, rng()) == sign_flip_test(sums, 16, rng())


def test_degenerate_input():
    assert sign_flip_test(np.zeros(5), 100, rng()) == 1
    assert sign_flip_test(np.array([2.0]), 100, rng()) == 1
    assert np.isnan(sign_flip_test(np.array([]), 100, rng()))
    assert np.isnan(sign_flip_test(np.array([1.0, np.nan]), 100, rng()))


@settings(deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_invariances(sums, random):
    """Two-sided p-values do not change with scale, sign or order; one-sided ones mirror each other."""
    array = np.array(sums, dtype=float)
    p = sign_flip_test(array, 512, rng())
    shuffled = np.array(random.sample(sums, len(sums)), dtype=float)
    assert p == sign_flip_test(-0.1 * array, 512, rng()) == sign_flip_test(shuffled, 512, rng())
    assert 0 < p <= 1
    assert sign_flip_test(array, 512, rng(), "greater") == sign_flip_test(-array, 512, rng(), "less")


@pytest.mark.parametrize("n", [1, 4, 6])
def test_smallest_p_is_reached(n):
    assert sign_flip_test(np.ones(n), 64, rng()) == smallest_p(n)
    assert sign_flip_test(np.ones(n), 64, rng(), "greater") == smallest_p(n, "greater")


def test_no_effect_is_rejected_at_the_nominal_rate():
    # 1,000 studies of 15 clusters without an effect, at 0.05: three standard errors are 0.021.
    generator = rng(9)
    rejected = [sign_flip_test(generator.normal(size=15), 500, generator) <= 0.05 for _ in range(1000)]
    assert np.mean(rejected) == pytest.approx(0.05, abs=0.021)


def test_group_differences_by_hand():
    # Means 2.5 and 1: of the 6 ways to choose two of {2, 3, 1, 1}, one has as large a first mean.
    first, second = np.array([2.0, 3.0]), np.array([1.0, 1.0])
    assert mean_difference_test(first, second, 6, rng()) == pytest.approx(1 / 6)
    assert mean_difference_test(second, first, 6, rng()) == 1
    # 24 ones against 12 zeros, drawn: no draw is as large, and the observed one is counted.
    assert mean_difference_test(np.ones(24), np.zeros(12), 99, rng()) == 1 / 100
    # One cluster on either side cannot be exchanged usefully.
    assert np.isnan(mean_difference_test(np.ones(5), np.zeros(1), 99, rng()))
    assert np.isnan(mean_difference_test(np.zeros(0), np.zeros(5), 99, rng()))


def test_group_differences_are_seeded():
    first, second = rng(1).uniform(size=20), rng(2).uniform(size=20)
    p = [mean_difference_test(first, second, 500, rng(seed)) for seed in (3, 3, 4)]
    assert p[0] == p[1] != p[2]


def difference(first, second):
    return first[..., 0] - second[..., 0]


def test_swaps_by_hand():
    # Totals stay 3 + 5: no swap gives (3, 5), swapping cluster 1 (a 1 for a 4) gives (6, 2), cluster 2
    # (a 2 for a 1) gives (2, 6), both give (5, 3).
    first, second = np.array([[1.0], [2.0]]), np.array([[4.0], [1.0]])
    null = swap_null(difference, first, second, 4, rng())
    assert sorted(null) == [-4, -2, 2, 4]
    # |difference| observed is 2: all four are as large.
    assert permutation_p(2.0, np.abs(null)) == 1
    assert permutation_p(4.0, np.abs(null)) == 3 / 5


def test_swaps_of_a_difference_are_sign_flips():
    first, second = rng(1).normal(0.5, 1, (8, 1)), rng(2).normal(size=(8, 1))
    null = swap_null(difference, first, second, 256, rng())
    observed = abs((first - second).sum())
    exact = np.mean(np.abs(null) >= observed - 1e-9)
    assert exact == sign_flip_test((first - second)[:, 0], 256, rng())


def test_undefined_draws_are_left_out():
    assert permutation_p(1.0, np.array([np.nan, 0.0, 2.0])) == 2 / 3
    assert np.isnan(permutation_p(np.nan, np.array([1.0])))
    assert permutation_p(1.0, np.array([])) == 1


def test_unpaired_conditions_are_an_error():
    with pytest.raises(ValueError, match="pair their clusters first"):
        swap_null(difference, np.ones((3, 1)), np.ones((4, 1)), 8, rng())
