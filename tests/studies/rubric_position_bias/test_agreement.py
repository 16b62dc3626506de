"""Agreement with reference scores: by hand, against scipy, and on judges with a planted position prior."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shared.metrics.resampling import Inference
from studies.rubric_position_bias.agreement import (
    agreement_rows,
    claim_rows,
    gain_rows,
    gain_shares,
    k_curve_rows,
    rank_correlation,
)
from studies.rubric_position_bias.calibration import NO_GAIN
from studies.rubric_position_bias.correlation import pearson
from studies.rubric_position_bias.metrics import position_counts, v_of_counts
from studies.rubric_position_bias.strategies import CELL, side_by_side
from tests.studies.rubric_position_bias.planted import planted, planted_criteria, planted_items

QUICK = Inference(resamples=300)
ALL = ("balanced", "random", "fixed")
SLOPE = np.linspace(-1, 1, 5)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def judged(items=60, alpha=0.0, strategy=ALL, sharpness=1.0, seed=1, **names) -> pd.DataFrame:
    return planted(items, 5, strategy, alpha * SLOPE, 0, sharpness, rng(seed), **names)


def only(rows: pd.DataFrame, **names) -> pd.Series:
    for name, wanted in names.items():
        rows = rows[rows[name].isna() if wanted is None else rows[name] == wanted]
    assert len(rows) == 1, rows
    return rows.iloc[0]


# --- At the matched number of orders ----------------------------------------------------------------


def test_correlations_are_scipys():
    frame = judged(alpha=0.8)
    rows = agreement_rows(frame, rng(), QUICK)
    for strategy in ALL:
        by_item = frame[frame["strategy"] == strategy].groupby("item")
        means, reference = by_item["score"].mean(), by_item["reference"].first()
        for quantity, oracle in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
            found = only(rows, quantity=quantity, condition=strategy)
            assert found["value"] == pytest.approx(oracle(means, reference).statistic)
            assert (found["n_items"], found["n_clusters"], found["k"]) == (60, 60, 10)
            assert found["n_trials"] == 600 and found["ci_low"] < found["value"] < found["ci_high"]


def test_an_interval_agrees_with_scipys_bootstrap():
    frame = judged(alpha=0.5, strategy="balanced")
    found = agreement_rows(frame, rng(), Inference(resamples=10000)).iloc[0]
    by_item = frame.groupby("item")
    pairs = by_item["score"].mean().to_numpy(), by_item["reference"].first().to_numpy()

    def correlation(x, y, axis):
        return stats.pearsonr(x, y, axis=axis).statistic

    options = {"paired": True, "vectorized": True, "method": "percentile", "n_resamples": 10000}
    oracle = stats.bootstrap(pairs, correlation, rng=rng(9), **options).confidence_interval
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((oracle.low, oracle.high), abs=0.01)


def test_differences_are_of_the_same_items():
    # One item has no parsed answer under Fixed: it is left out of that difference alone.
    frame = judged(alpha=1.0)
    lost = frame["item"] == frame["item"].iloc[0]
    frame.loc[lost & (frame["strategy"] == "fixed"), "score"] = np.nan
    rows = agreement_rows(frame, rng(), QUICK)
    assert only(rows, quantity="pearson", condition="balanced - random")["n_items"] == 60
    compared = only(rows, quantity="pearson", condition="balanced - fixed")
    assert (compared["n_items"], compared["n_unparsed"]) == (59, 10)
    rest = agreement_rows(frame[~lost], rng(), QUICK)
    one, other = (only(rest, quantity="pearson", condition=name)["value"] for name in ("balanced", "fixed"))
    assert compared["value"] == pytest.approx(one - other)
    assert only(rows, quantity="pearson", condition="balanced")["n_items"] == 60


def test_one_strategy_cuts_no_comparison_of_others():
    frame = judged(alpha=1.0)
    once = frame[(frame["strategy"] != "fixed") | (frame["draw"] == 0)]
    short = once[(once["strategy"] != "random") | (once["draw"] < 4)]
    whole, cut = (agreement_rows(each, rng(), QUICK) for each in (once, short))
    k = only(cut, quantity="pearson", condition="balanced - random")["k"]
    assert k == only(cut, quantity="pearson", condition="random")["k"] == 4
    assert only(cut, quantity="pearson", condition="fixed")["k"] == 1  # its one answer stands for any k
    kept = [each[~each["condition"].str.contains("random")].reset_index(drop=True) for each in (whole, cut)]
    pd.testing.assert_frame_equal(*kept)
    gains = [gain_rows(each, rng(), QUICK) for each in (once, short)]
    pd.testing.assert_frame_equal(*gains)


def test_strategies_that_answer_alike_do_not_differ():
    # Random is Balanced under another name: every resample gives 0. Wilson's 0 of 60 is 0.0602, and a
    # difference reaches 2 either way.
    frame = judged(strategy="balanced")
    rows = agreement_rows(pd.concat([frame, frame.assign(strategy="random")]), rng(), QUICK)
    found = only(rows, quantity="pearson", condition="balanced - random")
    assert found["value"] == 0 and np.isnan(found["mde"])
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((-0.1204, 0.1204), abs=1e-3)


def test_a_constant_judge_has_no_correlation():
    frame = judged().assign(score=3.0)
    rows = agreement_rows(frame, rng(), QUICK)
    assert rows[["value", "ci_low", "ci_high", "mde"]].isna().all(axis=None)
    assert (rows["undefined_resamples"] == 300).all()
    assert gain_rows(frame, rng(), QUICK)["value"].isna().all()
    curve = k_curve_rows(frame, rng(), QUICK)
    assert curve["value"].isna().all() and curve["judge"].notna().all()


def test_resamples_without_variation_are_counted():
    # One item of six differs: of the resamples, (5/6)^6 = 0.335 lack it, more than an interval can leave out.
    frame = judged(items=6, strategy="balanced")
    frame["score"] = np.where(frame["item"] == frame["item"].iloc[0], 5.0, 2.0)
    found = only(agreement_rows(frame, rng(), Inference(resamples=2000)), quantity="pearson")
    assert found["undefined_resamples"] / 2000 == pytest.approx((5 / 6) ** 6, abs=0.035)
    assert np.isfinite(found["value"]) and np.isnan(found["ci_low"])


def test_all_orders_of_three_options_are_the_same_for_both_strategies():
    three = planted(30, 3, ALL, 0.0, 0, 1.0, rng())
    assert "balanced - random" not in set(agreement_rows(three, rng(), QUICK)["condition"])
    curve = k_curve_rows(three, rng(), QUICK)
    at = curve.loc[(curve["condition"] == "balanced - random") & (curve["quantity"] == "pearson"), "k"]
    assert sorted(at) == [1, 2, 3, 4, 5]


def test_criteria_are_pooled_or_not():
    items = planted_items(40, rng(), clusters=10, criteria=("quality",))
    frame = planted_criteria(items, ("style", "content", "form", "tone"), 0.3, rng(), strategy=ALL)
    pooled = only(agreement_rows(frame, rng(), QUICK), quantity="pearson", condition="balanced")
    assert (pooled["n_items"], pooled["n_clusters"], pooled["k"], pooled["setting"]) == (
        160,
        10,
        8,
        "criteria",
    )
    by_criterion = agreement_rows(frame, rng(), QUICK, by=(*CELL, "criterion"))
    alone = only(by_criterion, quantity="pearson", condition="balanced", criterion="style")
    means = frame[frame["strategy"].eq("balanced") & frame["criterion"].eq("style")].groupby("item")
    oracle = stats.pearsonr(means["score"].mean(), means["reference"].first()).statistic
    assert alone["value"] == pytest.approx(oracle) and alone["n_items"] == 40


def test_no_reference_no_agreement():
    frame = judged().assign(reference=np.nan)
    rows = agreement_rows(frame, rng(), QUICK)
    assert (rows["n_items"] == 0).all() and rows["value"].isna().all()
    assert k_curve_rows(frame, rng(), QUICK)["value"].isna().all()


def test_another_judge_moves_no_interval():
    frame = judged(alpha=0.5)
    alone = agreement_rows(frame, rng(5), QUICK)
    both = agreement_rows(pd.concat([judged(judge="another", seed=8), frame]), rng(5), QUICK)
    mine = both[both["judge"] == "planted"].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, alone)


def test_intervals_cover_a_known_correlation():
    # Pairs with a common part of their cluster: rho is cov / var = (0.5 + 0.1) / 1 by construction.
    covered = []
    for study in range(200):
        draws = rng(study)
        clusters = np.repeat(np.arange(40), 3)
        shared = draws.normal(size=(2, 40, 2)) @ np.array([[1, 0.5], [0, 0.75**0.5]])
        own = draws.normal(size=(120, 2)) @ np.array([[1, 0.7], [0, 0.51**0.5]])
        x, y = (0.5**0.5 * shared[0, clusters] + 0.5**0.5 * own).T
        weights = draws.multinomial(40, np.full(40, 1 / 40), size=400).T.astype(float)
        low, high = np.quantile(pearson(x, y, clusters, weights), [0.025, 0.975])
        covered.append(low < 0.6 < high)
    assert 0.89 <= np.mean(covered) <= 0.985  # three standard errors of 0.95 over 200 are 0.046


# --- Claims -----------------------------------------------------------------------------------------


def test_claims_by_hand():
    cell = {"setting": "score", "rater": "human", "scheme": "base", "size": 5}
    cell |= {"temperature": 0.0, "effort": "", "scale": "", "quantity": "pearson"}
    ends = [(-0.01, 0.02, 0.005), (0.01, 0.03, 0.02), (-0.03, -0.01, -0.02), (np.nan, np.nan, 0.9)]
    rows = pd.DataFrame(
        [
            cell | {"condition": "balanced - fixed", "ci_low": low, "ci_high": high, "value": value}
            for low, high, value in ends
        ]
    )
    claims = claim_rows(rows).set_index("quantity")
    # The cell without an interval decides nothing.
    assert claims["n_cells"].eq(3).all()
    assert claims["value"].to_dict() == {
        "pearson_cells_containing_0": 1,
        "pearson_cells_above_0": 1,
        "pearson_cells_below_0": 1,
        "pearson_smallest_difference": -0.02,
        "pearson_largest_difference": 0.02,
    }


def test_a_biased_judge_gains_from_balancing():
    # It prefers late places, where the fixed order has the high scores: these are all alike.
    items = planted_items(150, rng(), clusters=50)
    rows = agreement_rows(judged(items, 2.0, seed=3), rng(), QUICK)
    assert only(rows, quantity="pearson", condition="balanced - fixed")["ci_low"] > 0.1
    above = only(claim_rows(rows), quantity="pearson_cells_above_0", condition="balanced - fixed")
    assert (above["value"], above["n_cells"]) == (1, 1)


def test_random_orders_of_an_unbiased_judge_are_as_good_as_balanced_ones():
    # Its answers do not depend on the order: the true difference is 0, and 95 % of intervals contain it.
    studies = [judged(30, 0.0, ("balanced", "random"), seed=i, judge=f"study {i}") for i in range(60)]
    rows = agreement_rows(pd.concat(studies), rng(), Inference(resamples=200))
    claims = claim_rows(rows)
    inside = only(claims, quantity="pearson_cells_containing_0", condition="balanced - random")
    assert inside["n_cells"] == 60
    assert inside["value"] >= 52  # three standard errors of 57 are 5.1


# --- Over the number of orders ----------------------------------------------------------------------


def test_gain_shares_by_hand():
    # From 0.5 to 0.9: 0.6 is a quarter of the way. The second one loses: of no gain there is no share.
    curves = np.array([[[0.5], [0.6], [0.9]], [[0.95], [0.92], [0.9]]])
    shares = gain_shares(curves, np.array([0.9]))
    assert shares[0, :, 0] == pytest.approx([0, 0.25, 1])
    assert np.isnan(shares[1]).all()


def test_the_curve_by_hand():
    frame = judged(alpha=1.0)
    rows = k_curve_rows(frame, rng(), QUICK)
    mine = rows[rows["judge"].notna()]
    for k in (1, 4, 10):
        first = frame[(frame["strategy"] == "balanced") & (frame["draw"] < k)].groupby("item")
        oracle = stats.pearsonr(first["score"].mean(), first["reference"].first()).statistic
        found = only(mine, quantity="pearson", condition="balanced", k=k)
        assert found["value"] == pytest.approx(oracle)
        assert found["n_trials"] == 60 * k
    r = {
        name: mine[(mine["condition"] == name) & (mine["quantity"] == "pearson")].set_index("k")["value"]
        for name in (*ALL, "balanced - random")
    }
    share = only(mine, quantity="gain_share", condition="random", k=3)
    expected = (r["random"][3] - r["random"][1]) / (r["balanced"][10] - r["random"][1])
    assert share["value"] == pytest.approx(expected)
    assert r["balanced - random"][4] == pytest.approx(r["balanced"][4] - r["random"][4])
    gap = only(mine, quantity="curve_gap")
    assert gap["value"] == pytest.approx(r["balanced - random"].abs().max())
    assert gap["ci_low"] >= 0


def test_of_a_gain_that_may_be_none_there_is_no_share():
    """Of twelve items r rises from k = 1 to K by 0.14 to 0.34; the intervals of that reach 0."""
    rows = k_curve_rows(judged(12, sharpness=0.1), rng(), QUICK)
    r = rows[rows["quantity"] == "pearson"].set_index(["condition", "k"])["value"]
    shares = rows[rows["quantity"] == "gain_share"]
    assert all(r["balanced", 10] - r[strategy, 1] > 0.1 for strategy in ALL)
    assert shares["value"].isna().all() and (shares["note"] == NO_GAIN).all()
    assert shares["undefined_resamples"].isna().all()  # none was tried


def test_each_strategy_has_its_own_gain():
    # Balanced is as good at k = 1 as at 10; Random's and Fixed's first answers are noise.
    frame = judged(60, seed=3, sharpness=3)
    frame["score"] = frame["score"].where(frame["strategy"] != "balanced", frame["reference"])
    noise = pd.Series(rng(4).integers(1, 6, len(frame)), index=frame.index)
    frame["score"] = frame["score"].where((frame["strategy"] == "balanced") | (frame["draw"] > 0), noise)
    rows = k_curve_rows(frame, rng(), QUICK)
    shares = rows[rows["quantity"] == "gain_share"].groupby("condition")
    assert shares["value"].count().to_dict() == {"balanced": 0, "fixed": 9, "random": 9}
    assert shares["note"].agg(set).to_dict() == {"balanced": {NO_GAIN}, "fixed": {""}, "random": {""}}


def test_curves_end_where_their_own_orders_do():
    frame = judged(alpha=1.0)
    short = frame[(frame["strategy"] != "random") | (frame["draw"] < 4)]
    whole, cut = (k_curve_rows(each, rng(), QUICK) for each in (frame, short))
    ends = cut[cut["quantity"] == "pearson"].groupby("condition")["k"].max().to_dict()
    assert ends == {"balanced": 10, "balanced - fixed": 10, "balanced - random": 4, "fixed": 10, "random": 4}
    for condition in ("balanced", "fixed", "balanced - fixed"):
        kept = [each[each["condition"] == condition].reset_index(drop=True) for each in (whole, cut)]
        pd.testing.assert_frame_equal(*kept)
    r = cut[(cut["quantity"] == "pearson")].set_index(["condition", "k"])["value"]
    share = only(cut, quantity="gain_share", condition="random", k=4)["value"]
    expected = (r["random", 4] - r["random", 1]) / (r["balanced", 10] - r["random", 1])
    assert share == pytest.approx(expected)
    gap = only(cut, quantity="curve_gap")
    assert gap["k"] == 4 and gap["value"] == pytest.approx(
        max(abs(r["balanced", k] - r["random", k]) for k in (1, 2, 3, 4))
    )


def test_answers_without_a_score_are_counted_up_to_k():
    frame = judged(alpha=1.0, unparsed=0.2)
    rows = k_curve_rows(frame, rng(), QUICK)
    balanced = frame[frame["strategy"] == "balanced"]
    for k in (1, 4, 10):
        found = only(rows, quantity="pearson", condition="balanced", k=k)
        assert found["n_unparsed"] == balanced.loc[balanced["draw"] < k, "score"].isna().sum()


def test_a_single_cell_has_no_mean_over_cells():
    frame = judged(alpha=1.0)
    assert k_curve_rows(frame, rng(), QUICK)["judge"].notna().all()
    other = judged(alpha=1.0, seed=2).assign(dataset="other")  # of the same judge: nothing to count
    pooled = k_curve_rows(pd.concat([frame, other]), rng(), QUICK).query("judge.isna()")
    assert (pooled["n_cells"] == 2).all() and "judges_tracking" not in set(pooled["quantity"])


def test_repeating_a_fixed_order_gains_nothing_at_temperature_0():
    rows = k_curve_rows(judged(alpha=1.0), rng(), QUICK)
    fixed = rows[rows["judge"].notna() & (rows["condition"] == "fixed") & (rows["quantity"] == "gain_share")]
    assert (fixed["value"] == 0).all() and fixed["k"].max() == 10
    # 0 by construction: no estimate, and so no interval
    assert fixed["ci_high"].isna().all()
    once = judged(alpha=1.0)
    one = once[(once["strategy"] != "fixed") | (once["draw"] == 0)]
    again = k_curve_rows(one, rng(), QUICK)
    pd.testing.assert_series_equal(again["value"], rows["value"])


def test_items_of_a_curve_are_the_same_at_every_k():
    frame = judged(alpha=0.5, unparsed=0.2)
    rows = k_curve_rows(frame, rng(), QUICK)
    n_items = rows.loc[rows["judge"].notna() & (rows["quantity"] == "pearson"), "n_items"]
    assert n_items.nunique() == 1
    first = frame[(frame["draw"] == 0) & frame["score"].notna()].groupby("item").size()
    assert n_items.iloc[0] == (first == 3).sum() < 60


def test_pooled_curves_are_means_over_cells():
    items = planted_items(60, rng())
    frame = pd.concat([judged(items, alpha, judge=f"{alpha}", seed=4) for alpha in (0.5, 1.5)])
    rows = k_curve_rows(frame, rng(), QUICK)
    for k in (1, 10):
        each = rows[(rows["condition"] == "balanced") & (rows["k"] == k) & (rows["quantity"] == "pearson")]
        pooled = only(each, judge=None)
        assert pooled["value"] == pytest.approx(each.loc[each["judge"].notna(), "value"].mean())
        assert (pooled["n_cells"], pooled["n_clusters"]) == (2, 60)
    tracking = only(rows, quantity="judges_tracking")
    gaps = rows.loc[rows["quantity"] == "curve_gap", "value"]
    assert (tracking["value"], tracking["n_cells"]) == ((gaps <= 0.02).sum(), 2)
    assert tracking["n_clusters"] == 60  # so that it is told where these are too few


def test_averaging_recovers_what_one_order_loses():
    rows = k_curve_rows(judged(200, alpha=1.5, seed=11), rng(), QUICK)
    shares = rows[
        rows["judge"].notna() & (rows["quantity"] == "gain_share") & (rows["condition"] == "balanced")
    ]
    at = shares.set_index("k")["value"]
    assert at.index.tolist() == [2, 3, 4, 5, 6, 7, 8, 9]
    assert 0.3 < at[2] < at[5] < 1.05


def test_one_order_has_no_curve():
    frame = judged()
    assert k_curve_rows(frame[frame["draw"] == 0], rng(), QUICK).empty
    assert k_curve_rows(judged(strategy="balanced"), rng(), QUICK).empty


# --- The gain beside the bias -----------------------------------------------------------------------


def test_gains_stand_beside_v():
    items = planted_items(80, rng(), clusters=20)
    frame = pd.concat([judged(items, alpha, judge=f"{alpha}", seed=6) for alpha in (0.0, 1.0, 2.5)])
    shuffled = frame.sample(frac=1, random_state=1)  # the sequence of rows is not the sequence of clusters
    rows = gain_rows(shuffled, rng(), QUICK)
    agreement = agreement_rows(frame, rng(), QUICK)
    for names, cell in side_by_side(frame):
        found = only(rows, quantity="gain", judge=names["judge"])
        compared = only(agreement, quantity="pearson", condition="balanced - fixed", judge=names["judge"])
        assert found["value"] == pytest.approx(compared["value"])
        assert found["v"] == pytest.approx(float(v_of_counts(position_counts(cell.grids["balanced"]))))
    gains = rows[rows["quantity"] == "gain"]
    pooled = only(rows, quantity="gain_over_v")
    assert pooled["value"] == pytest.approx(stats.spearmanr(gains["value"], gains["v"]).statistic)
    assert pooled["n_cells"] == 3 and pooled["ci_low"] < pooled["ci_high"]


def test_gains_need_both_strategies_and_options_with_places():
    assert gain_rows(judged(strategy=("balanced", "random")), rng(), QUICK).empty
    criteria = planted_criteria(20, ("a", "b", "c"), 0.3, rng(), strategy=ALL)
    assert gain_rows(criteria, rng(), QUICK).empty


def test_rank_correlations_are_scipys():
    x, y = rng(1).integers(0, 5, (8, 30)).astype(float), rng(2).normal(size=(8, 30))
    oracle = [stats.spearmanr(one, other).statistic for one, other in zip(x.T, y.T, strict=True)]
    assert rank_correlation(x, y) == pytest.approx(oracle)
    x[0, 0] = np.nan
    assert (
        np.isnan(rank_correlation(x, y)[0]) and np.isnan(rank_correlation(np.ones((3, 1)), y[:3, :1])).all()
    )
