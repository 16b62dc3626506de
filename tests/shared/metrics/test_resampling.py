"""The cluster bootstrap: its arithmetic, its degenerate cases, and how often its intervals cover."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from shared.metrics.resampling import (
    Inference,
    bootstrap,
    bootstrap_difference,
    cluster_sums,
    mover,
    named_generator,
    percentile_interval,
    rate_interval,
    ratio,
    replicates,
    resample_weights,
    share,
    signed_interval,
    unanimous_interval,
)

QUICK = Inference(resamples=500)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_sums_of_nothing_have_no_rows():
    assert cluster_sums(np.zeros((0, 2)), []).shape == (0, 2)
    assert cluster_sums(np.zeros((0, 0)), []).shape == (0, 0)


def test_cluster_sums_by_hand():
    # a: rows 0 and 2; b: row 1; c: row 3.
    sums = cluster_sums([[1, 5], [1, 6], [1, 7], [1, 8]], ["a", "b", "a", "c"])
    assert sums.tolist() == [[2, 12], [1, 6], [1, 8]]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.sampled_from("abcd")), min_size=1, max_size=30))
def test_cluster_sums_lose_nothing(rows):
    values, clusters = zip(*rows, strict=True)
    sums = cluster_sums(values, clusters)
    assert sums.sum() == sum(values)
    assert len(sums) == len(set(clusters))


def test_a_row_without_a_cluster_is_an_error():
    with pytest.raises(ValueError, match="a row has no cluster"):
        cluster_sums([1, 2], ["a", None])


def test_replicates_are_a_loop_over_drawn_clusters():
    # The same weights, applied one resample and one cluster at a time.
    sums = np.array([[1.0, 1.0], [2.0, 0.0], [3.0, 3.0]])
    weights = resample_weights(3, 50, rng(7))
    looped = [sum(w * s[1] for w, s in zip(row, sums, strict=True)) / (row @ sums[:, 0]) for row in weights]
    assert replicates(share, sums, 50, rng(7)) == pytest.approx(looped)


def test_bootstrap_of_a_mean_agrees_with_scipy():
    # scipy resamples observations: the same thing where every cluster is one observation.
    values = rng(1).normal(size=60)
    sums = cluster_sums(np.column_stack([np.ones(60), values]), np.arange(60))
    ours = bootstrap(share, sums, rng(2), Inference(resamples=20000), bounds=(-9, 9))
    oracle = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20000, rng=rng(3)
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((oracle.low, oracle.high), abs=0.01)
    assert ours.value == pytest.approx(values.mean())


def test_clusters_widen_the_interval():
    # 10 documents of 10 equal rows are 10 observations, not 100.
    hits = np.repeat(np.arange(10) % 2, 10)
    by_row = rate_interval(hits, np.arange(100), rng(), QUICK)
    by_document = rate_interval(hits, np.repeat(np.arange(10), 10), rng(), QUICK)
    assert by_document.high - by_document.low > 2 * (by_row.high - by_row.low)


@pytest.mark.parametrize("hit", [0, 1])
def test_a_rate_of_0_or_1_gets_wilson_over_clusters(hit):
    # 30 rows in 10 documents: the trials are the documents.
    estimate = rate_interval([hit] * 30, np.repeat(np.arange(10), 3), rng(), QUICK)
    oracle = proportion_confint(10 * hit, 10, method="wilson")
    assert (estimate.value, estimate.n_clusters) == (hit, 10)
    assert (estimate.low, estimate.high) == pytest.approx(oracle)


def test_a_rate_that_is_the_same_in_every_cluster_has_width():
    # One hit and one miss in each of 8 documents: every resample gives 0.5, and Wilson's 4 of 8 is left.
    estimate = rate_interval([0, 1] * 8, np.repeat(np.arange(8), 2), rng(), QUICK)
    assert (estimate.low, estimate.high) == pytest.approx(proportion_confint(4, 8, method="wilson"))


def test_rates_of_counts():
    # 1 of 2 and 3 of 4 spans; the document without any has no say: 4 of 6 over two documents.
    estimate = rate_interval([1, 3, 0], ["a", "b", "c"], rng(), QUICK, trials=[2, 4, 0])
    assert (estimate.value, estimate.n_clusters) == (pytest.approx(4 / 6), 2)
    none = rate_interval([0, 0], ["a", "b"], rng(), QUICK, trials=[0, 0])
    assert np.isnan(none.value) and none.n_clusters == 0


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.15, 0.85, 0.9, 0.95])
def test_rates_near_0_and_1_are_covered(rate):
    # Every result that 25 documents of one row can give, 0 to 25 hits, weighted by its probability.
    hits = np.arange(26)
    ends = [rate_interval(np.arange(25) < k, np.arange(25), rng(), Inference()) for k in hits]
    covers = [estimate.low <= rate <= estimate.high for estimate in ends]
    assert stats.binom.pmf(hits, 25, rate)[covers].sum() >= 0.93


def test_a_difference_of_groups_agrees_with_scipy():
    first, second = rng(1).uniform(size=30), rng(2).uniform(size=12)
    ours = bootstrap_difference(first, second, rng(3), Inference(resamples=20000))
    oracle = stats.bootstrap(
        (first, second),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        method="percentile",
        n_resamples=20000,
        rng=rng(4),
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((oracle.low, oracle.high), abs=0.01)
    assert (ours.value, ours.n_clusters) == (pytest.approx(first.mean() - second.mean()), 42)


def test_a_difference_of_degenerate_groups():
    # All and none: every resample gives 1. Wilson's 0 of 10, the smaller group, of a range of 2.
    estimate = bootstrap_difference(np.ones(20), np.zeros(10), rng(), QUICK)
    u = proportion_confint(0, 10, method="wilson")[1]
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((1, 1 - 2 * u, 1))
    one = bootstrap_difference(np.ones(5), np.zeros(1), rng(), QUICK)
    assert one.value == 1 and np.isnan([one.low, one.high]).all()
    assert np.isnan(bootstrap_difference(np.ones(5), np.zeros(0), rng(), QUICK).value)


def test_a_signed_interval_by_hand():
    # One of 12 moved up. Wilson: 1 of 12 lies in [0.0149, 0.3539], 0 of 12 in [0, 0.2425]. As nothing moved
    # down the two are uncorrelated: 1/12 - sqrt(0.0685^2 + 0.2425^2) = -0.169, and 1/12 + (0.3539 - 1/12).
    estimate = signed_interval([1] + [0] * 11, np.arange(12), rng(), QUICK)
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((1 / 12, -0.169, 0.354), abs=1e-3)
    # The percentile interval alone was [0, 0.25], and [-0.24, 0.24] where nothing moved.
    still = signed_interval([0] * 12, np.arange(12), rng(), QUICK)
    assert (still.value, still.low, still.high) == pytest.approx((0, -0.2425, 0.2425), abs=1e-4)


@pytest.mark.parametrize("up", [0, 3, 9, 12])
def test_signs_without_a_tie_have_wilsons_interval_stretched(up):
    oracle = np.array(proportion_confint(up, 12, method="wilson"))
    assert mover(up / 12, 1 - up / 12, 12) == pytest.approx(2 * oracle - 1)


def test_a_signed_interval_turns_with_the_sign():
    effects = np.array([1.0, 0.5, -1.0, 0.0, 0.0, 0.5, 1.0, 0.0])
    clusters = np.array(list("aabcdefg"))
    there, back = (signed_interval(sign * effects, clusters, rng(3), QUICK) for sign in (1, -1))
    assert (back.value, back.low, back.high) == pytest.approx((-there.value, -there.high, -there.low))
    assert there.n_clusters == 7 and there.value == pytest.approx(0.25)  # 2 / 8 rows
    assert -1 <= there.low < there.value < there.high <= 1


def test_degenerate_signed_effects():
    one = signed_interval([1, -1], ["a", "a"], rng(), QUICK)
    assert one.value == 0 and np.isnan([one.low, one.high]).all() and one.n_clusters == 1
    none = signed_interval([], [], rng(), QUICK)
    assert np.isnan([none.value, none.low, none.high]).all() and none.n_clusters == 0


@pytest.mark.parametrize("n", [12, 25])
def test_signed_effects_near_0_are_covered(n):
    # Every result that n documents of one row can give, so many up, so many down, by its probability.
    moved = [(up, down) for up in range(n + 1) for down in range(n + 1 - up)]
    ends = [
        signed_interval([1] * up + [-1] * down + [0] * (n - up - down), np.arange(n), rng(), QUICK)
        for up, down in moved
    ]
    for up, down in ((0.05, 0.1), (0.1, 0.2), (0.3, 0.1)):
        weights = stats.multinomial.pmf([(a, b, n - a - b) for a, b in moved], n, [up, down, 1 - up - down])
        covers = [estimate.low <= up - down <= estimate.high for estimate in ends]
        assert weights[covers].sum() >= 0.93


def test_unanimous_differences_reach_both_ways():
    # No change in any of 20 clusters: u = 0.1611, of a range of -1 to 1.
    low, high = unanimous_interval(0.0, 20, (-1, 1))
    assert -low == pytest.approx(high) == pytest.approx(proportion_confint(0, 20, method="wilson")[1])


def test_one_cluster_has_no_interval():
    estimate = rate_interval([0, 1, 1], ["a", "a", "a"], rng(), QUICK)
    assert estimate.value == pytest.approx(2 / 3)
    assert np.isnan(estimate.low) and np.isnan(estimate.high)


def test_nothing_observed_is_undefined():
    estimate = rate_interval([], [], rng(), QUICK)
    assert np.isnan(estimate.value) and np.isnan(estimate.low) and estimate.n_clusters == 0


def test_undefined_draws_may_not_fill_the_tails():
    # 4 of 100 undefined: fewer than the 5% outside the interval; 6 of 100: more.
    few = np.append(np.linspace(0, 1, 96), [np.nan] * 4)
    many = np.append(np.linspace(0, 1, 94), [np.nan] * 6)
    assert percentile_interval(few) == pytest.approx((0.025, 0.975))
    assert np.isnan(percentile_interval(many)).all()
    assert np.isnan(percentile_interval(np.array([np.nan]))).all()


def test_division_by_zero_is_undefined():
    assert ratio([1, 0, 3], [2, 0, 0]) == pytest.approx([0.5, np.nan, np.nan], nan_ok=True)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=25),
    st.integers(0, 2**32 - 1),
)
def test_rate_intervals_hold_their_rate(rows, seed):
    hits, clusters = zip(*rows, strict=True)
    estimate = rate_interval(hits, clusters, rng(seed), Inference(resamples=200))
    assert 0 <= estimate.value <= 1
    if estimate.n_clusters == 1:
        assert np.isnan(estimate.low)
    else:
        assert 0 <= estimate.low <= 1 and 0 <= estimate.high <= 1
        assert estimate.low < estimate.high


def test_named_generators_depend_on_their_names_alone():
    first = named_generator(5, "judge", "scheme").random()
    named_generator(5, "another").random()
    assert named_generator(5, "judge", "scheme").random() == first
    # A separator keeps ("ab", "c") and ("a", "bc") apart.
    assert named_generator(5, "ab", "c").random() != named_generator(5, "a", "bc").random()


def test_coverage_is_about_nominal():
    # 400 studies of 40 documents with 4 rows each. A document's own rate is drawn from Beta(2, 3), so
    # that the rate over documents is 0.4 and rows of one document go together. Percentile intervals of
    # 40 clusters cover a little under 95%; three standard errors of 400 studies are 3.3%. Wilson's interval
    # takes a document for one row, so that the envelope covers more.
    generator = rng(11)
    clusters = np.repeat(np.arange(40), 4)
    covered = np.zeros(2)
    for _ in range(400):
        rates = generator.beta(2, 3, size=40)
        hits = generator.random(160) < np.repeat(rates, 4)
        sums = cluster_sums(np.column_stack([np.ones(160), hits]), clusters)
        for method, estimate in enumerate(
            (bootstrap(share, sums, generator, QUICK), rate_interval(hits, clusters, generator, QUICK))
        ):
            covered[method] += estimate.low <= 0.4 <= estimate.high
    assert 0.90 <= covered[0] / 400 <= 0.98
    assert covered[1] / 400 > 0.98


def test_a_quantity_cut_off_at_0_has_no_interval_of_width_0():
    # of 15 clusters one moves by +1, six by -1: the mean is -5/15, cut off at 0, and nearly every
    # resample is cut off too
    effects = np.array([1.0] + [-1.0] * 6 + [0.0] * 8)
    sums = np.column_stack([np.ones(15), effects])
    estimate = bootstrap(lambda s: np.maximum(0, share(s)), sums, np.random.default_rng(1), Inference())
    assert estimate.value == estimate.low == 0.0
    # Wilson's upper limit for 0 of 15: z^2 / (15 + z^2) = 3.841 / 18.841
    assert estimate.high == pytest.approx(3.8415 / 18.8415, abs=1e-4)


def test_resamples_draw_as_many_clusters_as_there_are():
    weights = resample_weights(7, 5000, np.random.default_rng(0))
    assert (weights.sum(axis=1) == 7).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(7), abs=0.07)
    # Multinomial counts: variance 1 - 1/7.
    assert weights.var(axis=0) == pytest.approx(np.full(7, 6 / 7), abs=0.1)
