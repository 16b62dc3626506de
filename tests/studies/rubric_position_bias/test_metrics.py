"""Counts by place: by hand, against scipy and statsmodels, and against all permutations."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.gof import chisquare_effectsize
from statsmodels.stats.power import GofChisquarePower

from shared.metrics.permutation import permutation_p
from shared.metrics.resampling import Inference, bootstrap, resample_weights
from studies.rubric_position_bias import metrics
from studies.rubric_position_bias.grid import Grid, grid
from studies.rubric_position_bias.metrics import (
    by_order,
    chi_square,
    cluster_counts,
    cramers_v,
    detectable_v,
    direction,
    interval,
    null_range,
    null_ratio,
    permutation_null,
    permutation_pool,
    position_counts,
    printed_v,
    shares,
    v_of_counts,
)
from tests.studies.rubric_position_bias.planted import planted, planted_items


def laid_out(*items: tuple[str, dict[str, float]]):
    """A grid of (cluster, {order: score}), one item each."""
    rows = [
        {"item": f"i{number}", "cluster": cluster, "draw": draw, "order": order, "score": score}
        for number, (cluster, scores) in enumerate(items)
        for draw, (order, score) in enumerate(scores.items())
    ]
    return grid(pd.DataFrame(rows))


# --- Counts -----------------------------------------------------------------------------------------


def test_counts_by_hand():
    # Item 0: 3 under 123 stands third, 3 under 312 first. Item 1: 1 under 231 stands third.
    laid = laid_out(("a", {"123": 3, "312": 3}), ("b", {"231": 1, "123": np.nan}))
    assert cluster_counts(laid).tolist() == [[1, 0, 1], [0, 0, 1]]
    assert position_counts(laid).tolist() == [1, 0, 2]
    assert shares([1, 0, 3]).tolist() == [0.25, 0, 0.75] and np.isnan(shares([0, 0])).all()


def test_counts_equal_the_judgements_own_positions():
    rng = np.random.default_rng(2)
    rows = planted(planted_items(60, rng, clusters=20), 9, "balanced", 0.5, 0, 1, rng, unparsed=0.1)
    told = rows["position"].value_counts().reindex(np.arange(1.0, 10), fill_value=0)
    laid = grid(rows)
    assert position_counts(laid).tolist() == told.tolist()
    assert cluster_counts(laid).shape == (20, 9)


def test_chi_square_and_v_by_hand():
    # Of 80, 16 expected at each place: (24^2 + 4 * 6^2) / 16 = 45; V = sqrt(45 / (80 * 4)) = 0.375.
    counts = [40, 10, 10, 10, 10]
    assert chi_square(counts) == 45
    assert cramers_v(45, 80, 5) == 0.375 and printed_v(45, 80, 5) == 0.375**2
    assert v_of_counts([7, 7, 7]) == 0 and v_of_counts([0, 21, 0]) == 1
    assert np.isnan(v_of_counts([0, 0, 0])) and np.isnan(chi_square([0, 0]))
    assert np.isnan(v_of_counts([4]))  # a single place can't be preferred


COUNTS = st.lists(st.integers(0, 60), min_size=2, max_size=9).filter(any)


@given(COUNTS)
def test_chi_square_equals_scipy_and_v_statsmodels(counts):
    assert chi_square(counts) == pytest.approx(stats.chisquare(counts).statistic, abs=1e-9)
    uniform = np.full(len(counts), 1 / len(counts))
    effect = chisquare_effectsize(uniform, np.array(counts) / sum(counts))
    assert v_of_counts(counts) == pytest.approx(effect / np.sqrt(len(counts) - 1), abs=1e-9)


@given(COUNTS)
def test_statistics_keep_their_ranges_and_symmetries(counts):
    assert 0 <= v_of_counts(counts) <= 1 + 1e-12
    assert -1 <= direction(counts) <= 1
    # V does not know which place is which; direction turns round with the list.
    assert v_of_counts(counts[::-1]) == pytest.approx(v_of_counts(counts), abs=1e-9)
    assert direction(counts[::-1]) == pytest.approx(-direction(counts), abs=1e-12)
    # Neither knows how much there is of it.
    assert v_of_counts(np.multiply(counts, 7)) == pytest.approx(v_of_counts(counts), abs=1e-9)


def test_direction_by_hand():
    assert direction([9, 0, 0, 0, 0]) == -1 and direction([0, 0, 9]) == 1
    # Mean place 2.5 of 1..4 is the middle; liking both ends is no direction.
    assert direction([5, 0, 0, 5]) == 0
    # (1 * -1 + 3 * 1) / 4 = 0.5
    assert direction([1, 3]) == 0.5
    assert np.isnan(direction([0, 0, 0])) and np.isnan(direction([4]))


def test_statistics_are_vectorised():
    table = np.random.default_rng(0).integers(0, 40, size=(4, 3, 5))
    for statistic in (chi_square, v_of_counts, direction):
        one_by_one = [[statistic(counts) for counts in rows] for rows in table]
        np.testing.assert_allclose(statistic(table), one_by_one)


@pytest.mark.parametrize(("n", "size"), [(320, 5), (3200, 5), (5760, 9), (640, 2)])
def test_what_could_be_found_equals_statsmodels(n, size):
    effect = GofChisquarePower().solve_power(nobs=n, alpha=0.05, power=0.8, n_bins=size)
    assert detectable_v(n, size, 1.0, 0.05) == pytest.approx(effect / np.sqrt(size - 1), rel=1e-4)
    # A null a quarter as wide finds half as large a V.
    assert detectable_v(n, size, 0.25, 0.05) == pytest.approx(detectable_v(n, size, 1.0, 0.05) / 2)


def test_what_could_be_found_is_undefined_without_room():
    assert np.isnan(detectable_v(100, 5, 0.0, 0.05)) and np.isnan(detectable_v(0, 5, 1.0, 0.05))
    assert np.isnan(detectable_v(100, 5, np.nan, 0.05)) and np.isnan(detectable_v(100, 1, 1.0, 0.05))


# --- The permutation null ---------------------------------------------------------------------------


def every_arrangement(scores: np.ndarray, orders: list[str]) -> np.ndarray:
    """Counts by place of one cluster, (items, K) scores, under all K! ways to deal them to the orders."""
    k, found = len(orders), []
    for dealt in itertools.permutations(range(k)):
        counts = np.zeros(len(orders[0]))
        for item in scores:
            for order, source in zip(orders, dealt, strict=True):
                if not np.isnan(item[source]):
                    counts[order.index(str(int(item[source])))] += 1
        found.append(counts)
    return np.array(found)


def test_the_null_is_all_ways_to_deal_a_sources_scores():
    orders = ["123", "231", "312", "321"]
    scores = np.array([[1, 1, 3, 2], [3, 3, 3, np.nan]])
    laid = laid_out(*(("a", dict(zip(orders, item, strict=True))) for item in scores))
    draws = [permutation_null(laid, np.random.default_rng(seed), 200) for seed in range(40)]
    exact = every_arrangement(scores, orders)
    # Every pool is a random part of the 24 arrangements; over pools the null is all of them.
    expected, found = (
        {tuple(counts): np.mean((table == counts).all(axis=1)) for counts in exact}
        for table in (exact, np.concatenate(draws))
    )
    assert {tuple(counts) for counts in np.concatenate(draws)} == set(expected)
    assert found == pytest.approx(expected, abs=0.04)


def test_clusters_are_dealt_apart():
    orders = ["12", "21"]
    # Each source has 1 under 12 and 2 under 21: both stand first; dealt anew, both stand last.
    laid = laid_out(*((f"s{i}", {"12": 1, "21": 2}) for i in range(3)))
    null = permutation_null(laid, np.random.default_rng(0), 4000)
    firsts = np.bincount(null[:, 0].astype(int), minlength=7) / 4000
    # 2 x Binomial(3, 1/2)
    assert firsts[[0, 2, 4, 6]] == pytest.approx([1 / 8, 3 / 8, 3 / 8, 1 / 8], abs=0.06)
    together = laid_out(*(("s", dict(zip(orders, (1, 2), strict=True))) for _ in range(3)))
    assert set(permutation_null(together, np.random.default_rng(0), 100)[:, 0]) == {0, 6}


def test_the_null_keeps_what_cannot_move():
    rng = np.random.default_rng(3)
    one_score = planted(20, 5, "balanced", 0, 0, 1e6, rng)
    assert (permutation_null(grid(one_score), rng, 50) == 40).all()  # 200 scores over 5 places
    repeated = planted(20, 5, "fixed", 0, 0, 1, rng, temperature=1.0)
    laid = grid(repeated)
    assert (permutation_null(laid, rng, 50) == position_counts(laid)).all()
    lost = grid(planted(20, 5, "balanced", 0, 0, 1, rng, unparsed=0.3))
    assert (permutation_null(lost, rng, 50).sum(axis=1) == position_counts(lost).sum()).all()
    nothing = grid(planted(20, 5, "balanced", 0, 0, 1, rng, unparsed=1.0))
    assert (permutation_null(nothing, rng, 5) == 0).all()


def test_balanced_orders_are_dealt_by_order_whatever_their_draw():
    rng = np.random.default_rng(4)
    rows = planted(planted_items(30, rng, clusters=6), 5, "balanced", 1, 0, 1, rng)
    other = rows.assign(draw=rows.groupby("item")["order"].rank().astype(int) - 1)
    one, two = (permutation_null(grid(table), np.random.default_rng(0), 100) for table in (rows, other))
    assert (one == two).all()
    aligned = by_order(grid(rows))
    assert (aligned.orders == aligned.orders[:1]).all()
    assert (position_counts(aligned) == position_counts(grid(rows))).all()
    # Random orders differ from item to item, and stay as they are.
    drawn = grid(planted(30, 5, "random", 0, 0, 1, rng))
    assert by_order(drawn) is drawn


def parts(whole: Grid, items: int, clusters: int) -> Iterator[Grid]:
    """A grid cut into data sets of so many items and clusters."""
    for start in range(0, len(whole.items), items):
        cut = slice(start, start + items)
        names = ("items", "clusters", "prompts", "reference", "scores", "orders", "probs")
        part = replace(whole, **{name: getattr(whole, name)[cut] for name in names})
        yield replace(part, clusters=part.clusters % clusters)


@pytest.mark.parametrize("strategy", ["balanced", "random"])
def test_the_p_value_is_exact_even_with_a_pool_of_three(monkeypatch, strategy):
    monkeypatch.setattr(metrics, "POOL", 3)
    rng = np.random.default_rng(5)
    sources = planted_items(8 * 500, rng, clusters=4 * 500)
    p = []
    for laid in parts(grid(planted(sources, 4, strategy, 0, 0.5, 0.5, rng)), 8, 4):
        v = v_of_counts(permutation_null(laid, rng, 39))
        p.append(permutation_p(float(v_of_counts(position_counts(laid))), v))
    # P(p <= a) <= a, with margins of three standard deviations of a share of 500. Draws from a pool in which
    # the observed has no place of its own would reject two or three times too often at 0.025.
    for level, most in ((0.025, 0.046), (0.1, 0.14), (0.5, 0.567)):
        assert np.mean(np.array(p) <= level) <= most


def test_the_pool_holds_permutations():
    pool = permutation_pool(6, np.random.default_rng(0))
    assert pool.shape == (metrics.POOL, 6) and (np.sort(pool, axis=1) == np.arange(6)).all()


def test_sharp_content_makes_chi_square_conservative():
    rng = np.random.default_rng(6)
    blunt, sharp = (
        null_ratio(permutation_null(grid(planted(100, 5, "balanced", 0, 0, s, rng)), rng, 400))
        for s in (0, 6)
    )
    # Without content the choices are independent; with sharp content there is little that could move.
    assert blunt == pytest.approx(1, abs=0.2)
    assert sharp < 0.5
    assert np.isnan(null_ratio(np.ones((5, 1))))


# --- Intervals --------------------------------------------------------------------------------------


def test_intervals_equal_the_shared_bootstrap():
    rng = np.random.default_rng(7)
    counts = cluster_counts(grid(planted(150, 5, "balanced", [1, 0, 0, 0, 0], 0, 1, rng)))
    inference = Inference(resamples=4000)
    totals = resample_weights(len(counts), 4000, rng) @ counts
    ours = interval(direction, counts, totals, inference, (-1, 1))
    theirs = bootstrap(direction, counts, rng, inference, (-1, 1))
    assert (ours.value, ours.n_clusters) == (theirs.value, theirs.n_clusters)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_intervals_that_are_not_there_or_have_no_width():
    inference = Inference(resamples=50)
    weights = resample_weights(4, 50, np.random.default_rng(0))
    same = np.tile([6.0, 0, 0], (4, 1))
    always_first = interval(direction, same, weights @ same, inference, (-1, 1))
    assert (always_first.value, always_first.low) == (-1, -1) and always_first.high > -1
    lone = interval(direction, same[:1], same[:1], inference, (-1, 1))
    assert lone.value == -1 and np.isnan(lone.low)
    none = interval(direction, same[:0], same[:0], inference, (-1, 1))
    assert np.isnan(none.value) and none.n_clusters == 0


def test_the_range_of_a_null():
    low, high = null_range(np.append(np.arange(101.0), np.nan), Inference(confidence=0.9))
    assert (low, high) == pytest.approx((5, 95))
    assert np.isnan(null_range(np.array([np.nan]), Inference())).all()
