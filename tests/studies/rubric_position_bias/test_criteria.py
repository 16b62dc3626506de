"""The order of criteria: Friedman by hand and by scipy, planted shifts recovered, clean judges clean."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shared.metrics.multiplicity import holm
from shared.metrics.resampling import Inference
from studies.rubric_position_bias.criteria import (
    SCALES,
    Profile,
    block_columns,
    criteria_rows,
    friedman,
    kendalls_w,
    largest_shift,
    last_minus_first,
    means_of,
    place_means,
    place_null,
    profile,
    why_tests_differ,
)
from tests.studies.rubric_position_bias.planted import planted_criteria, planted_items

QUICK = Inference(resamples=200, permutations=199)
CRITERIA = ["coherence", "consistency", "fluency", "relevance"]


def summed(blocks) -> np.ndarray:
    """`block_columns` of (items, places), summed over items."""
    return block_columns(np.asarray(blocks, dtype=float).T).sum(axis=-1)


def rows_of(judgements: pd.DataFrame, inference: Inference = QUICK, seed: int = 1) -> pd.DataFrame:
    return criteria_rows(judgements, np.random.default_rng(seed), inference)


def of(rows: pd.DataFrame, quantity: str, criterion: str = "coherence", **where: object) -> pd.Series:
    found = rows[(rows["quantity"] == quantity) & (rows["criterion"] == criterion)]
    for name, value in where.items():
        found = found[found[name] == value]
    assert len(found) == 1
    return found.iloc[0]


# --- Friedman ---------------------------------------------------------------------------------------


def test_friedman_by_hand():
    # Three items that all rank three places alike: ranks 1, 2, 3 add up to 3, 6, 9; N (m - 1) = 6.
    sums = summed([[1, 2, 3], [2, 3, 5], [1, 4, 5]])
    assert sums[:5].tolist() == [3, 0, 3, 6, 9]
    assert friedman(sums) == 6 and kendalls_w(sums) == 1
    assert means_of(sums).tolist() == [4 / 3, 3, 13 / 3]
    assert largest_shift(sums) == last_minus_first(sums) == 3
    # A tie of two has t^3 - t = 6, and both have rank 1.5.
    assert summed([[2, 2, 3]])[:5].tolist() == [1, 6, 1.5, 1.5, 3]
    # Turned round and back: no place is better.
    assert friedman(summed([[1, 2, 3], [3, 2, 1]])) == 0


def test_friedman_is_undefined_without_a_difference():
    assert np.isnan(friedman(summed([[2, 2, 2], [4, 4, 4]])))
    assert np.isnan(friedman(np.zeros(8))) and np.isnan(kendalls_w(np.zeros(8)))
    assert np.isnan(means_of(np.zeros(8))).all()
    # An item that lacks a place adds nothing.
    assert (summed([[1, 2, 3], [5, np.nan, 1]]) == summed([[1, 2, 3]])).all()


BLOCKS = st.integers(3, 6).flatmap(
    lambda m: st.lists(st.lists(st.integers(1, 5), min_size=m, max_size=m), min_size=2, max_size=12)
)


@given(BLOCKS)
def test_friedman_equals_scipy(blocks):
    if all(len(set(block)) == 1 for block in blocks):
        return  # scipy divides 0 by 0
    expected = stats.friedmanchisquare(*np.transpose(blocks)).statistic
    assert friedman(summed(blocks)) == pytest.approx(expected, abs=1e-9)
    assert 0 <= kendalls_w(summed(blocks)) <= 1 + 1e-12


@given(BLOCKS)
def test_friedman_ignores_how_high_an_item_scores_and_which_place_is_which(blocks):
    moved = np.array(blocks) + np.arange(len(blocks))[:, None]
    np.testing.assert_allclose(friedman(summed(moved)), friedman(summed(blocks)), atol=1e-9)
    np.testing.assert_allclose(friedman(summed(moved[:, ::-1])), friedman(summed(blocks)), atol=1e-9)
    assert last_minus_first(summed(moved[:, ::-1])) == pytest.approx(-last_minus_first(summed(moved)))


def test_means_by_place():
    scores, places = np.array([[1.0, 2, 3, np.nan], [np.nan, 2, 4, np.nan]]), np.array([0, 1, 0, 1])
    np.testing.assert_array_equal(place_means(scores, places, 2), [[2, 2], [4, 2]])
    nothing = np.full((1, 4), np.nan)
    assert np.isnan(place_means(nothing, places, 2)).all()


# --- Laying out and dealing -------------------------------------------------------------------------


def test_a_profile_equals_a_pivot():
    rng = np.random.default_rng(1)
    items = planted_items(12, rng, clusters=4)
    rows = planted_criteria(items, CRITERIA, 0.5, rng, unparsed=0.1)
    rows = rows[rows["criterion"] == "fluency"].sample(frac=1, random_state=0)
    found = profile(rows)
    assert found.scores.shape == (12, 8) and found.size == 4
    assert found.items.tolist() == rows["item"].unique().tolist()
    table = rows.pivot(index="item", columns="order", values="score")
    np.testing.assert_array_equal(found.scores, table.loc[found.items].to_numpy())
    # Fluency is criterion 3.
    assert found.places.tolist() == [order.index("3") for order in table.columns]
    assert found.n_unparsed == rows["score"].isna().sum() > 0


def test_what_is_no_profile_is_refused():
    rows = planted_criteria(5, CRITERIA, 0, np.random.default_rng(0))
    with pytest.raises(ValueError, match="one criterion"):
        profile(rows)
    one = rows[rows["criterion"] == "fluency"]
    with pytest.raises(ValueError, match="one scale"):
        profile(pd.concat([one, one.assign(scale="54321")]))
    with pytest.raises(ValueError, match="several places in one order"):
        profile(one.assign(position=one["position"].where(one["item"] != one["item"].iloc[0], 1)))


def laid(scores: np.ndarray, places, clusters) -> Profile:
    names = np.arange(len(scores)).astype(object)
    return Profile(names, scores, np.array(places), np.array(clusters), int(np.isnan(scores).sum()))


def test_the_null_deals_a_sources_scores_to_all_orders_alike():
    # One source of two items under four orders that put the criterion first, second, first, second.
    scores = np.array([[1.0, 1, 5, 2], [3, 4, 4, np.nan]])
    found = laid(scores, [0, 1, 0, 1], [0, 0])
    exact = [
        block_columns(place_means(scores[:, list(dealt)], found.places, 2).T).sum(axis=-1)
        for dealt in itertools.permutations(range(4))
    ]
    draws = np.concatenate([place_null(found, np.random.default_rng(seed), 50) for seed in range(60)])
    assert {tuple(np.round(row, 9)) for row in draws} == {tuple(np.round(row, 9)) for row in exact}
    np.testing.assert_allclose(draws.mean(axis=0), np.mean(exact, axis=0), atol=0.25)


def test_the_null_of_scores_that_do_not_move_is_what_was_observed():
    scores = np.tile(np.arange(1.0, 6)[:, None], (1, 8))
    places = np.repeat(np.arange(4), 2)
    found = laid(scores, places, [0, 0, 1, 2, 2])
    null = place_null(found, np.random.default_rng(0), 20)
    assert np.isnan(friedman(null)).all() and (largest_shift(null) == 0).all()


# --- Rows -------------------------------------------------------------------------------------------


def test_a_planted_shift_is_recovered():
    rng = np.random.default_rng(2)
    items = planted_items(200, rng, clusters=50)
    # Half a point at the last place; scores are rounded and cut off at 1 and 5, which costs some of it.
    judgements = planted_criteria(items, CRITERIA, [0, 0, 0, 0.5], rng)
    found = rows_of(judgements)
    assert set(found["criterion"]) == set(CRITERIA)
    for criterion in CRITERIA:
        signed, size = of(found, "last_minus_first", criterion), of(found, "largest_shift", criterion)
        assert 0.3 < signed["ci_low"] < 0.5 < signed["ci_high"] + 0.1 < 0.8 and signed["p"] <= 0.005
        assert size["value"] >= signed["value"] and size["p"] == 0.005 and size["null_high"] < size["value"]
        w = of(found, "kendalls_w", criterion)
        assert w["p"] == 0.005 and w["changed"] == "no" and w["null_high"] < w["ci_low"]
        means = found[(found["quantity"] == "criterion_mean") & (found["criterion"] == criterion)]
        rows = judgements[judgements["criterion"] == criterion]
        by_place = rows.groupby("position")["score"].mean()
        assert means["value"].to_numpy() == pytest.approx(by_place.to_numpy())
        assert means["condition"].tolist() == [f"place {place}" for place in (1, 2, 3, 4)]
    assert 0 < w["mde"] < w["value"]
    assert (w["n_items"], w["n_trials"], w["n_clusters"], w["n_unparsed"], w["k"]) == (200, 1600, 50, 0, 8)


def test_friedman_rows_are_scipys_test_and_holms_family():
    rng = np.random.default_rng(3)
    base = planted_criteria(60, CRITERIA, [0.2, 0, 0, 0], rng)
    other = planted_criteria(60, CRITERIA, [0.2, 0, 0, 0], rng, temperature=0.3)
    found = rows_of(pd.concat([base, other]))
    for criterion, rows in base.groupby("criterion"):
        blocks = rows.groupby(["item", "position"])["score"].mean().unstack()
        expected = stats.friedmanchisquare(*blocks.to_numpy().T)
        row = of(found, "friedman", criterion, temperature=0.0)
        assert (row["value"], row["p"]) == pytest.approx((expected.statistic, expected.pvalue))
        assert of(found, "kendalls_w", criterion, temperature=0.0)["value"] == pytest.approx(
            row["value"] / 180
        )
    for quantity in ("friedman", "kendalls_w"):
        family = found[(found["quantity"] == quantity) & (found["temperature"] == 0)]
        assert family["p_holm"].tolist() == holm(family["p"]).tolist()
    assert found[found["temperature"] == 0.3]["p_holm"].isna().all()


def test_a_judge_that_ignores_places_is_found_clean_at_the_nominal_rate():
    rng = np.random.default_rng(4)
    rows = planted_criteria(planted_items(12 * 100, rng, clusters=6 * 100), ["a", "b", "c"], 0, rng)
    numbers = pd.factorize(rows["item"])[0] // 12
    rows = rows.assign(judge=numbers.astype(str))[rows["criterion"] == "b"]
    found = rows_of(rows, Inference(resamples=2, permutations=99))
    for quantity in ("kendalls_w", "largest_shift", "last_minus_first"):
        p = found[found["quantity"] == quantity]["p"]
        # Of 100 at 0.1: 10 +- 3
        assert len(p) == 100 and 1 <= (p <= 0.1).sum() <= 19


def test_a_judge_that_gives_one_score_has_no_test():
    rows = planted_criteria(10, CRITERIA, 0, np.random.default_rng(5)).assign(score=3.0)
    found = rows_of(rows)
    assert np.isnan(of(found, "friedman")["value"]) and np.isnan(of(found, "kendalls_w")["p"])
    shift = of(found, "largest_shift")
    # No resample moves it, and yet the interval has a width: some sources that were not drawn might.
    assert shift["value"] == 0 < shift["ci_high"] and shift["p"] == 1
    assert of(found, "last_minus_first")["p"] == 1


def test_lost_answers_are_counted_and_items_without_a_place_left_out():
    rng = np.random.default_rng(6)
    rows = planted_criteria(40, CRITERIA, 0, rng, unparsed=0.1)
    first = (rows["item"] == rows["item"].iloc[0]) & (rows["position"] == 2)
    rows["score"] = rows["score"].mask(first)
    mine = rows[rows["criterion"] == "coherence"]
    found = of(rows_of(rows), "kendalls_w")
    blocks = mine.groupby(["item", "position"])["score"].mean().unstack().dropna()
    assert found["n_items"] == len(blocks) < 40 and found["n_unparsed"] == mine["score"].isna().sum()
    expected = stats.friedmanchisquare(*blocks.to_numpy().T).statistic / (len(blocks) * 3)
    assert found["value"] == pytest.approx(expected)
    nothing = rows_of(rows.assign(score=np.nan))
    assert nothing["n_items"].eq(0).all() and nothing["value"].isna().all()


# --- Where the two tests differ -----------------------------------------------------------------------


def test_what_the_texts_are_worth_does_not_move_friedmans_mean_without_bias():
    # Sharp content, of which half of the items have one score under all orders: midranks all alike.
    rng = np.random.default_rng(10)
    judgements = planted_criteria(planted_items(60, rng), CRITERIA, 0, rng, noise=0.2)
    for criterion in CRITERIA:
        found = profile(judgements[judgements["criterion"] == criterion])
        assert np.nanmean(friedman(place_null(found, rng, 2000))) / 3 == pytest.approx(1, abs=0.1)


def test_why_the_two_tests_differ():
    # Friedman's test takes all items for independent: what a source's items have in common decides.
    together = why_tests_differ(0.01, 0.2, 1.8, 4, 0.05)
    assert together.startswith("yes: only Friedman's test rejects; a source's items move together")
    assert together.endswith("it would average 5.4, with 3 degrees of freedom")
    against = why_tests_differ(0.2, 0.01, 0.5, 4, 0.05)
    assert against.startswith("yes: only the permutation test rejects; a source's items move against")
    for ratio in (1.0, 0.5):
        assert "not for what a source's items have in common" in why_tests_differ(0.04, 0.06, ratio, 4, 0.05)
    for told in (together, against):
        assert "content" not in told and "chi-square" not in told
    assert why_tests_differ(0.01, 0.01, 1, 4, 0.05) == "no"
    assert why_tests_differ(np.nan, 0.01, 1, 4, 0.05) == ""


def test_items_that_move_together_are_told():
    # Twelve items of each of five sources, whose scores under an order have a part in common.
    rng = np.random.default_rng(0)
    rows = planted_criteria(planted_items(60, rng, clusters=5), CRITERIA, 0, rng)
    shared = rng.normal(0, 1.5, len(rows.groupby(["cluster", "order", "criterion"])))
    moved = rows["score"] + shared[rows.groupby(["cluster", "order", "criterion"]).ngroup()]
    found = rows_of(rows.assign(score=np.clip(np.rint(moved), 1, 5)))
    told = found.loc[found["quantity"].isin(["friedman", "kendalls_w"]), "changed"]
    assert any("a source's items move together" in why for why in told)
    assert not told.str.contains("sharp content").any()


# --- Two orders of the range ------------------------------------------------------------------------


def test_what_one_order_of_the_range_does_the_other_cannot_undo():
    # Under "12345" the last place gives a point, under "54321" it takes one: the mean over both is flat.
    rng = np.random.default_rng(11)
    items = planted_items(60, rng, clusters=30)
    rows = planted_criteria(
        items, CRITERIA, [0, 0, 0, 1], rng, scales=SCALES, interaction=[0, 0, 0, -2], noise=0.3
    )
    found = rows_of(rows)
    for criterion in CRITERIA:
        up, down = (of(found, "last_minus_first", criterion, scale=scale) for scale in SCALES)
        assert up["ci_low"] > 0.5 and down["ci_high"] < -0.5
        for scale in SCALES:
            assert of(found, "largest_shift", criterion, scale=scale)["value"] > 0.5
            assert of(found, "kendalls_w", criterion, scale=scale)["p"] == 0.005
            assert of(found, "friedman", criterion, scale=scale)["p"] < 1e-6
    # Each is what it would be without the other, but for Holm's family, which has both.
    alone = rows_of(rows[rows["scale"] == "54321"])
    kept = found[found["scale"] == "54321"].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept.drop(columns="p_holm"), alone.drop(columns="p_holm"))
    family = found[found["quantity"] == "friedman"]
    assert len(family) == 8 and family["p_holm"].tolist() == holm(family["p"]).tolist()


def test_only_the_rows_about_both_orders_of_the_range_have_none():
    rng = np.random.default_rng(12)
    rows = planted_criteria(30, CRITERIA, 0.3, rng, scales=SCALES, unparsed=0.05)
    # One item was asked under one of the two alone.
    rows = rows[(rows["scale"] == "12345") | (rows["item"] != rows["item"].iloc[0])]
    found = rows_of(rows)
    pooled = found["quantity"].isin(["scale_shift", "shift_difference", "axes_interaction"])
    assert set(found.loc[pooled, "scale"]) == {""} and set(found.loc[~pooled, "scale"]) == set(SCALES)
    by_place = rows.groupby(["criterion", "scale", "item", "position"])["score"].mean().unstack()
    for criterion, scores in by_place.groupby("criterion"):
        complete = scores.dropna().loc[criterion]
        both = set(complete.loc["12345"].index) & set(complete.loc["54321"].index)
        assert of(found, "scale_shift", criterion)["n_items"] == len(both) < 30
        one = of(found, "last_minus_first", criterion, scale="12345")
        assert one["n_items"] == len(complete.loc["12345"])
        mine = rows[rows["criterion"] == criterion]
        assert of(found, "scale_shift", criterion)["n_unparsed"] == mine["score"].isna().sum()
        kept = [complete.loc[scale].loc[sorted(both)].to_numpy().mean() for scale in SCALES]
        assert of(found, "scale_shift", criterion)["value"] == pytest.approx(kept[0] - kept[1])


# --- The two axes -----------------------------------------------------------------------------------


def axes(items: pd.DataFrame, interaction) -> pd.DataFrame:
    """The first place gives 0.4 points under both scales; ``interaction`` is added under the last."""
    rng = np.random.default_rng(7)
    return planted_criteria(items, CRITERIA, [0.4, 0, 0, 0], rng, scales=SCALES, interaction=interaction)


def test_independent_axes_are_found_independent_at_the_nominal_rate():
    # The last scale takes half a point from every place alike: a shift of the scale, and no interaction.
    rows = axes(planted_items(20 * 100, np.random.default_rng(7), clusters=10 * 100), [-0.5] * 4)
    numbers = pd.factorize(rows["item"])[0] // 20
    rows = rows.assign(judge=numbers.astype(str))[rows["criterion"] == "fluency"]
    found = rows_of(rows, Inference(resamples=200, permutations=99)).set_index("quantity")
    scale = found.loc["scale_shift"]
    assert len(scale) == 100 and (scale["p"] <= 0.05).mean() > 0.9 and scale["value"].mean() > 0.3
    # Of 100 at 0.1: 10 +- 3
    assert (found.loc["axes_interaction"]["p"] <= 0.1).sum() <= 19
    difference = found.loc["shift_difference"]
    assert (difference["ci_low"].le(0) & difference["ci_high"].ge(0)).mean() >= 0.85


def test_axes_that_depend_on_each_other_are_found():
    # Under the last scale the first place's bonus is gone, and the last place has it.
    items = planted_items(120, np.random.default_rng(7), clusters=40)
    found = rows_of(axes(items, [-0.4, 0, 0, 0.9]))
    for criterion in CRITERIA:
        test = of(found, "axes_interaction", criterion)
        assert test["p"] == 0.005 and test["value"] > test["null_high"] and test["ci_low"] > 0.2
        # Which has no test of its own.
        difference = of(found, "shift_difference", criterion)
        assert difference["ci_low"] <= difference["value"] <= difference["ci_high"] < 0
        assert difference[["p", "null_low", "null_high"]].isna().all()


def test_one_scale_tells_nothing_of_the_other_axis():
    found = rows_of(planted_criteria(10, CRITERIA, 0, np.random.default_rng(8), scales=("12345",)))
    assert not found["quantity"].isin(["scale_shift", "shift_difference", "axes_interaction"]).any()


def test_a_row_does_not_depend_on_other_cells():
    rng = np.random.default_rng(9)
    one, other = (
        planted_criteria(12, CRITERIA, 0.3, rng, scales=SCALES, judge=name, strategy=("balanced", "fixed"))
        for name in ("one", "other")
    )
    both, alone = rows_of(pd.concat([one, other])), rows_of(one)
    cells = both[both["judge"] == "one"].reset_index(drop=True)
    pd.testing.assert_frame_equal(cells.drop(columns="p_holm"), alone.drop(columns="p_holm"))
    assert set(both["strategy"]) == {"balanced"}
    assert rows_of(one.assign(setting="score")).empty
