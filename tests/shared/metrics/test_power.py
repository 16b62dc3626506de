"""Minimum detectable effects: against statsmodels, by simulation, and where nothing varies."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from shared.metrics.permutation import sign_flip_test
from shared.metrics.power import (
    cluster_contributions,
    minimum_detectable_effect,
    minimum_detectable_share,
)


@pytest.mark.parametrize("n", [10, 25, 1000])
def test_agrees_with_statsmodels(n):
    effects = np.random.default_rng(n).choice([-1.0, 1.0], size=n)
    oracle = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8) * effects.std(ddof=1)
    assert minimum_detectable_effect(effects) == pytest.approx(oracle, rel=1e-4)


def test_an_effect_of_that_size_is_mostly_found():
    # 500 studies of 20 clusters with sd 1 and the effect that is said to be found 4 times in 5.
    generator = np.random.default_rng(1)
    unit = np.tile([-1.0, 1.0], 10) / np.std(np.tile([-1.0, 1.0], 10), ddof=1)
    effect = minimum_detectable_effect(unit)
    found = [sign_flip_test(generator.normal(effect, 1, 20), 400, generator) <= 0.05 for _ in range(500)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.06)


def test_scales_with_the_effects():
    effects = np.tile([-0.5, 0.5], 20)
    assert minimum_detectable_effect(2 * effects) == pytest.approx(2 * minimum_detectable_effect(effects))
    assert minimum_detectable_effect(effects + 0.5) == pytest.approx(minimum_detectable_effect(effects))


def test_fewer_than_two_clusters_are_undefined():
    assert np.isnan(minimum_detectable_effect([])) and np.isnan(minimum_detectable_effect([0.3]))


@pytest.mark.parametrize("moved", range(6))
def test_a_judge_that_hardly_moved_is_not_proof_of_nothing(moved):
    # 1 of 25 moved: sd 0.2, which alone would promise to find 2.92 * 0.2 / 5 = 0.117. But 5 of 25 all one way
    # (0.2) have p = 2 / 2^5 = 0.0625: it takes 6, and a share s with P(Bin(25, s) >= 6) = 0.8 to see them.
    effects = np.repeat([1.0, 0.0], [moved, 25 - moved])
    share = minimum_detectable_effect(effects)
    assert share == minimum_detectable_share(25) == pytest.approx(0.298, abs=5e-4)
    assert stats.binom.sf(5, 25, share) == pytest.approx(0.8)
    assert sign_flip_test(effects, 64, np.random.default_rng(0)) > 0.05


def test_five_clusters_can_never_reject():
    assert np.isnan(minimum_detectable_effect([1, -1, 1, -1, 1]))
    assert np.isnan(minimum_detectable_share(5))  # 2 / 2^5 = 0.0625 > 0.05
    assert minimum_detectable_share(6) == pytest.approx(0.8 ** (1 / 6))  # all six must move


def test_contributions_of_unequal_clusters():
    # Sums 1 of 2 and 1 of 1: mean 2/3, N/n = 1.5. Residuals 1 - 4/3 = -1/3 and 1 - 2/3 = 1/3.
    values = cluster_contributions([1, 1], [2, 1])
    assert values == pytest.approx([2 / 3 - (1 / 3) / 1.5, 2 / 3 + (1 / 3) / 1.5])
    # Equal clusters: simply their means.
    assert cluster_contributions([1, 2], [4, 4]) == pytest.approx([0.25, 0.5])
    assert np.isnan(cluster_contributions([0.0], [0])).all()


def test_a_distance_has_no_share_of_clusters_that_must_move():
    """Twelve documents that each drift by about 0.03: a whole unit's limit, 0.58, would be absurd."""
    drifts = np.random.default_rng(0).normal(0.03, 0.01, 12)
    graded = minimum_detectable_effect(drifts, graded=True)
    assert 0 < graded < 0.03 < minimum_detectable_effect(drifts) == minimum_detectable_share(12)
    assert np.isnan(minimum_detectable_effect(drifts[:4], graded=True))  # 2 / 2^4 > 0.05: none can be found
    assert np.isnan(minimum_detectable_effect(np.full(12, 0.03), graded=True))
