"""Differences of two groups whose clusters overlap: values by hand, the test against scipy, its level."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import proportion_confint

from shared.metrics.resampling import Estimate, Inference
from studies.evidence_lock.contrasts import comparable, contrasts, with_width

QUICK = Inference(resamples=400, permutations=2000)


def contrast(values, first, clusters, weights=None, inference=QUICK, seed=0, strata=None):
    values = np.asarray(values, dtype=float)
    given = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    alike = np.zeros(len(values)) if strata is None else strata
    rng = np.random.default_rng(seed)
    return contrasts(values[:, None], given[:, None], first, clusters, alike, [1.0], rng, inference)[0]


def test_the_difference_by_hand():
    # First group: (0.9 + 0.5) / 2 = 0.7; second: (0.2 + 0.4 + 0.6) / 3 = 0.4.
    found = contrast([0.9, 0.2, 0.5, 0.4, 0.6], [1, 0, 1, 0, 0], ["a", "a", "b", "c", "d"])
    assert found.estimate.value == pytest.approx(0.3)
    assert found.estimate.n_clusters == 2  # of the smaller group


def test_weights_make_a_share_of_what_units_have():
    # Missing sentences: 3 of 4 and 1 of 6 are 0.4 of ten; 1 of 5 and 0 of 5 are 0.1 of ten.
    found = contrast([3, 1, 1, 0], [1, 1, 0, 0], list("abcd"), weights=[4, 6, 5, 5])
    assert found.estimate.value == pytest.approx(0.3)


def test_a_unit_without_a_quantity_does_not_count_for_it():
    clusters, first = list("abcdef"), np.array([1, 1, 1, 0, 0, 0], dtype=bool)
    sums = np.array([[0.9, 0.1], [0.7, 0.3], [0.0, 0.2], [0.4, 0.5], [0.2, 0.6], [0.3, 0.0]])
    weights = np.array([[1, 1], [1, 1], [0, 1], [1, 1], [1, 1], [1, 0]], dtype=float)
    one, other = contrasts(
        sums, weights, first, clusters, [0] * 6, [1.0, 1.0], np.random.default_rng(0), QUICK
    )
    assert one.estimate.value == pytest.approx(0.8 - 0.3)
    assert other.estimate.value == pytest.approx(0.2 - 0.55)
    assert (one.estimate.n_clusters, other.estimate.n_clusters) == (2, 2)


def test_the_test_counts_all_divisions_where_clusters_have_one_unit():
    rng = np.random.default_rng(3)
    values = rng.random(10) + np.array([0.25] * 4 + [0.0] * 6)
    first = np.arange(10) < 4
    found = contrast(values, first, range(10), inference=Inference(resamples=400, permutations=20000))
    exact = stats.permutation_test(
        (values[first], values[~first]), lambda x, y, axis: np.mean(x, axis) - np.mean(y, axis)
    )  # all 210 divisions
    assert exact.statistic == pytest.approx(found.estimate.value)
    expected = np.mean(np.abs(exact.null_distribution) >= abs(exact.statistic) - 1e-12)
    # Three Monte Carlo errors, each sqrt(p (1 - p) / 20000) < 0.004.
    assert found.p == pytest.approx(expected, abs=0.012)


def test_exchanging_the_groups_turns_the_sign_alone():
    rng = np.random.default_rng(5)
    values, first, clusters = rng.random(40), rng.random(40) < 0.4, np.repeat(np.arange(20), 2)
    one, other = contrast(values, first, clusters), contrast(values, ~first, clusters)
    assert one.estimate.value == pytest.approx(-other.estimate.value)
    assert one.estimate.low == pytest.approx(-other.estimate.high)
    assert (one.p, one.mde) == pytest.approx((other.p, other.mde))
    moved = contrast(values + 3, first, clusters)
    assert moved.estimate.value == pytest.approx(one.estimate.value) and moved.p == one.p


def test_the_detectable_effect_is_that_of_a_t_test_on_contributions():
    rng = np.random.default_rng(7)
    values, first = rng.random(30), np.arange(30) < 12
    found = contrast(values, first, range(30))
    # A cluster of one unit adds n (y - mean) / n1 in the first group, -n (y - mean) / n2 in the second.
    one, other = values[:12], values[12:]
    parts = np.concatenate([30 * (one - one.mean()) / 12, -30 * (other - other.mean()) / 18])
    expected = TTestPower().solve_power(nobs=30, alpha=0.05, power=0.8) * parts.std(ddof=1)
    assert found.mde == pytest.approx(expected, rel=1e-3)


def test_groups_that_are_empty_or_small():
    nobody = contrast([0.1, 0.2, 0.3], [0, 0, 0], list("abc"))
    assert np.isnan([nobody.estimate.value, nobody.estimate.low, nobody.p, nobody.mde]).all()
    assert nobody.estimate.n_clusters == 0
    # One cluster of twelve: a resample lacks it with probability (11/12)^12 = 0.35.
    single = contrast(np.linspace(0, 1, 12), [1] + [0] * 11, range(12))
    assert single.estimate.value < 0 and np.isnan([single.estimate.low, single.mde]).all()
    # It is the smallest of twelve: 1/12 of all exchanges give a difference so large, 1/12 one so small.
    assert single.p == pytest.approx(2 / 12, abs=0.03)
    none = contrast(np.zeros(0), [], [])
    assert np.isnan(none.estimate.value)


def test_values_that_are_all_alike_have_an_interval_and_no_evidence():
    found = contrast(np.full(24, 0.5), np.arange(24) % 2 == 0, np.arange(24) // 2)
    assert found.estimate.value == 0 and found.estimate.low < 0 < found.estimate.high
    assert found.p == 1 and np.isnan(found.mde)


def test_a_difference_of_rates_has_at_least_newcombe_s_interval():
    # Newcombe (1998), table II, method 10: 56/70 - 48/80 is 0.2, [0.0524, 0.3339].
    one, other = (
        Estimate(hits / n, *proportion_confint(hits, n, method="wilson"), n)
        for hits, n in ((56, 70), (48, 80))
    )
    narrow = with_width(Estimate(0.2, 0.1, 0.3, 70), one, other)
    assert (narrow.low, narrow.high) == pytest.approx((0.0524, 0.3339), abs=1e-4)
    wide = with_width(Estimate(0.2, 0.01, 0.4, 70), one, other)
    assert (wide.low, wide.high) == (0.01, 0.4)
    without = with_width(Estimate(0.2, np.nan, np.nan, 70), one, other)
    assert (without.low, without.high) == (narrow.low, narrow.high)
    nothing = Estimate(np.nan, np.nan, np.nan, 0)
    assert np.isnan(with_width(nothing, nothing, other).low)


def test_what_goes_together_in_clusters_is_no_evidence():
    """Values and memberships of a cluster's two units go together, and have nothing to do with each other."""
    rng, n, p, covered = np.random.default_rng(11), 24, [], 0
    quick = Inference(resamples=200, permutations=200)
    for seed in range(200):
        level, inclined = rng.normal(size=n), rng.random(n) < 0.4
        values = np.repeat(level, 2) + 0.3 * rng.normal(size=2 * n)
        first = np.repeat(inclined, 2) ^ (rng.random(2 * n) < 0.1)
        found = contrast(values, first, np.repeat(np.arange(n), 2), inference=quick, seed=seed)
        p.append(found.p)
        covered += found.estimate.low <= 0 <= found.estimate.high
    # 200 draws of 0.05 have a standard error of 0.015; a test that took units for independent would reject
    # about a sixth.
    assert np.mean(np.array(p) <= 0.05) < 0.05 + 3 * 0.015
    assert np.mean(np.array(p) <= 0.5) == pytest.approx(0.5, abs=0.1)
    assert covered / 200 > 0.88


def test_a_real_difference_is_found():
    rng = np.random.default_rng(13)
    first = rng.random(80) < 0.5
    values = np.where(first, 0.4, 0.6) + 0.1 * rng.normal(size=80)
    found = contrast(values, first, np.repeat(np.arange(40), 2))
    assert found.p < 0.005 and found.estimate.high < -0.1
    assert 0 < found.mde < 0.1


# --- Strata -----------------------------------------------------------------------------------------


def test_a_difference_within_strata_by_hand():
    # Stratum x: (0.9 + 0.5) / 2 - 0.4 = 0.3, weight 2 1 / 3; y: 0.2 - 0.1 = 0.1, weight 1 1 / 2; z has none
    # of the second group. (0.3 2/3 + 0.1 1/2) / (2/3 + 1/2) = 0.25 / (7/6) = 3/14.
    first, strata = np.array([1, 1, 0, 1, 0, 1], dtype=bool), list("xxxyyz")
    found = contrast([0.9, 0.5, 0.4, 0.2, 0.1, 9.0], first, list("abcdef"), strata=strata)
    assert found.estimate.value == pytest.approx(3 / 14)
    assert found.estimate.n_clusters == 2  # c and e
    assert comparable(first, strata).tolist() == [True] * 5 + [False]
    alone = contrast([0.9, 0.5], [True, False], list("ab"), strata=list("xy"))
    assert np.isnan([alone.estimate.value, alone.estimate.low, alone.p, alone.mde]).all()


def test_two_clusters_have_no_interval():
    found = contrast([0.9, 0.8, 0.1, 0.3, 0.2, 0.4], [1, 1, 0, 0, 0, 0], list("abcdef"))
    assert found.estimate.n_clusters == 2
    assert np.isnan([found.estimate.low, found.estimate.high, found.mde]).all() and found.p < 1


def mixed(seed: int):
    """Two data sets of 30 questions in two orders; level, and the group's share, differ between data sets,
    and with the place of the better answer; inside, nothing has to do with the group."""
    rng = np.random.default_rng(seed)
    dataset, place = np.repeat([0, 1], 60), np.tile([0, 1], 60)
    values = (
        0.3 * dataset + 0.2 * place + np.repeat(0.1 * rng.normal(size=60), 2) + 0.05 * rng.normal(size=120)
    )
    first = rng.random(120) < 0.7 - 0.4 * dataset - 0.2 * place
    return values, first, np.repeat(np.arange(60), 2), 2 * dataset + place


def test_what_differs_between_strata_is_no_difference():
    quick = Inference(resamples=200, permutations=200)
    pooled = [contrast(*mixed(seed)[:3], inference=quick, seed=seed) for seed in range(5)]
    assert max(found.p for found in pooled) < 0.01 and max(f.estimate.high for f in pooled) < 0
    p, covered = [], 0
    for seed in range(100):
        values, first, clusters, strata = mixed(seed)
        found = contrast(values, first, clusters, inference=quick, seed=seed, strata=strata)
        p.append(found.p)
        covered += found.estimate.low <= 0 <= found.estimate.high
    # 100 draws of 0.05 have a standard error of 0.022, 100 of 0.95 too.
    assert np.mean(np.array(p) <= 0.05) < 0.05 + 3 * 0.022
    assert np.mean(np.array(p) <= 0.5) == pytest.approx(0.5, abs=0.15)
    assert covered / 100 > 0.95 - 3 * 0.022


def test_a_difference_inside_strata_is_found_with_the_power_that_is_told():
    quick, found = Inference(resamples=100, permutations=199), []
    effect = contrast(*mixed(0)[:3], inference=quick, strata=mixed(0)[3]).mde
    for seed in range(100):
        values, first, clusters, strata = mixed(seed)
        moved = values + effect * first
        found.append(contrast(moved, first, clusters, inference=quick, seed=seed, strata=strata).p <= 0.05)
    # 0.8, with a standard error of 0.04; the exchange pairs orders of a question less finely than a t test.
    assert np.mean(found) == pytest.approx(0.8, abs=0.2)
