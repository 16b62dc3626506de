"""Rankings under two sets of orders: by hand, against scipy, and against every way to break ties."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shared.metrics.resampling import Inference
from studies.rubric_position_bias.position import NEEDS_ALL
from studies.rubric_position_bias.ranking import (
    HALVES,
    ONE,
    Contests,
    by_order,
    contests,
    excess_columns,
    kendall_tau,
    random_halves,
    ranking_rows,
    top1_changes,
)
from studies.rubric_position_bias.strategies import side_by_side
from tests.studies.rubric_position_bias.planted import planted, planted_items

QUICK = Inference(resamples=300)
ALL = ("balanced", "random", "fixed")
NAN = float("nan")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def among(*sizes: int) -> Contests:
    """Contests of so many candidates, of one item each."""
    n = sum(sizes)
    return Contests(np.arange(n), np.arange(n), np.cumsum(sizes) - sizes, np.arange(len(sizes)))


def only(rows: pd.DataFrame, **names) -> pd.Series:
    for name, wanted in names.items():
        rows = rows[rows[name] == wanted]
    assert len(rows) == 1, rows
    return rows.iloc[0]


# --- Two rankings -----------------------------------------------------------------------------------


def test_kendall_by_hand():
    # 1 2 3 4 against 1 3 2 4: one of six pairs is discordant, (5 - 1) / 6. Then 1 2 against 2 1.
    x, y = np.array([1.0, 2, 3, 4, 1, 2]), np.array([1.0, 3, 2, 4, 2, 1])
    assert kendall_tau(x, y, among(4, 2)) == pytest.approx([4 / 6, -1])
    # A tie in x: of three pairs two count for x, three for y: 2 / sqrt(2 * 3).
    assert kendall_tau(np.array([1.0, 1, 2]), np.array([1.0, 2, 3]), among(3)) == pytest.approx([2 / 6**0.5])


def test_a_ranking_of_nothing_but_ties_has_no_tau():
    x, y = np.array([2.0, 2, 2, 1, 2]), np.array([1.0, 2, 3, 1, 2])
    assert kendall_tau(x, y, among(3, 2)) == pytest.approx([NAN, 1], nan_ok=True)


CONTEST = st.lists(st.tuples(st.integers(2, 10), st.integers(1, 5), st.booleans()), min_size=2, max_size=6)


@settings(deadline=None, max_examples=80)
@given(st.lists(CONTEST, min_size=1, max_size=4))
def test_rankings_agree_with_scipy_and_with_all_ways_to_break_ties(groups):
    rows = [candidate for group in groups for candidate in group]
    x = np.array([first / 2 for first, _, _ in rows])
    y = np.array([NAN if lost else float(second) for _, second, lost in rows])
    of = among(*map(len, groups))
    taus, (lows, highs) = kendall_tau(x, y, of), top1_changes(x, y, of)
    for place, members in enumerate(np.split(np.arange(len(rows)), of.starts[1:])):
        kept = members[~np.isnan(y[members])]
        if len(kept) < 2:
            assert np.isnan([taus[place], lows[place], highs[place]]).all()
            continue
        varied = min(len(set(x[kept])), len(set(y[kept]))) > 1
        expected = stats.kendalltau(x[kept], y[kept]).statistic if varied else NAN
        assert taus[place] == pytest.approx(expected, nan_ok=True)
        best = [kept[values[kept] == values[kept].max()] for values in (x, y)]
        changes = [one != other for one, other in itertools.product(*best)]
        assert (lows[place], highs[place]) == (min(changes), max(changes))


def test_rankings_are_invariant():
    generator = rng(2)
    x, y = generator.integers(1, 6, 20).astype(float), generator.integers(1, 6, 20).astype(float)
    of = among(*[4] * 5)
    assert kendall_tau(x**3, y, of) == pytest.approx(kendall_tau(x, y, of), nan_ok=True)
    assert kendall_tau(y, x, of) == pytest.approx(kendall_tau(x, y, of), nan_ok=True)
    for ours, swapped in zip(top1_changes(x, y, of), top1_changes(y, x, of), strict=True):
        assert ours.tolist() == swapped.tolist()
    # Leading axes are rankings of their own.
    stacked = kendall_tau(np.stack([x, y]), np.stack([y, y]), of)
    assert stacked[0] == pytest.approx(kendall_tau(x, y, of), nan_ok=True)


def test_means_of_several_items_do_not_rank_by_rounding():
    # 0.1 + 0.2 + 0.3 in either sequence: two candidates of three criteria each, whose means are a tie.
    of = Contests(np.arange(6), np.array([0, 3]), np.array([0]), np.array([0]))
    means = of.means(np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1]))
    assert means[0] == means[1] == pytest.approx(0.2)
    assert np.isnan(of.means(np.array([1.0, NAN, 2, 1, 1, 1]))).tolist() == [True, False]


def test_halves_are_disjoint():
    # Orders 0 to 9 have the scores 1, 2, 4, ..., 512: a mean tells which orders it is over.
    scores = np.tile(2.0 ** np.arange(10), (3, 1))
    one, other = random_halves(scores, rng(), splits=7)
    assert one.shape == (7, 3)
    assert (5 * one + 5 * other == 1023).all()
    assert len(np.unique(one)) > 15  # drawn anew for each item and split
    odd, rest = random_halves(scores[:, :3], rng())
    assert np.isin(odd + rest, [3, 5, 6]).all()  # of three orders one is in none


def test_an_answer_without_a_score_is_left_out_of_its_half():
    scores = np.array([[1.0, NAN, 3.0, NAN]])
    one, other = random_halves(scores, rng(), splits=50)
    assert {1.0, 2.0, 3.0} >= set(one[~np.isnan(one)])
    assert np.isnan(one).any() and (np.isnan(one) == (other == 2.0)).all()


def test_scores_by_order_are_of_one_order_for_all_items():
    frame = judged(3, 2)
    frame.loc[0, "score"] = NAN
    cell = next(side_by_side(frame))[1]
    table = by_order(cell)
    own = frame[frame["strategy"] == "balanced"].pivot(index="item", columns="order", values="score")
    oracle = own.loc[cell.items["item"]].to_numpy().T
    assert table.shape == oracle.shape == (10, 6)
    assert sorted(map(str, table.tolist())) == sorted(map(str, oracle.tolist()))
    assert np.isnan(table).sum() == 1


# --- Contests ---------------------------------------------------------------------------------------


def judged(prompts=40, systems=4, criteria=("quality",), alpha=0.0, sharpness=1.0, **names) -> pd.DataFrame:
    items = planted_items(prompts * systems * len(criteria), rng(1), clusters=prompts, criteria=criteria)
    slope = alpha * np.linspace(-1, 1, 5)
    return planted(items, 5, ALL, slope, 0, sharpness, rng(2), **names)


def asked_once(frame: pd.DataFrame) -> pd.DataFrame:
    """As at temperature 0: the fixed order's first answer stands for all."""
    return frame[(frame["strategy"] != "fixed") | (frame["draw"] == 0)]


def test_contests_of_a_prompt():
    frame = judged(3, 2, ("style", "content"))
    cell = next(side_by_side(frame))[1]
    whole, each = contests(cell), contests(cell, ("prompt", "criterion"))
    assert (len(whole.starts), len(whole.candidates), len(whole.items)) == (3, 6, 12)
    assert (len(each.starts), len(each.candidates), len(each.items)) == (6, 12, 12)
    told = cell.items.iloc[each.items]
    pairs = told.groupby(["prompt", "criterion"], sort=False)["system"].agg(list)
    assert pairs.tolist() == [["system0", "system1"]] * 6
    assert whole.clusters.tolist() == [0, 1, 2]


def test_a_prompt_of_one_candidate_is_no_contest():
    frame = judged(3, 2)
    lone = frame["item"].str.contains("planted-0/system1")
    assert len(contests(next(side_by_side(frame[~lone]))[1]).starts) == 2
    assert contests(next(side_by_side(frame.assign(prompt="")))[1]) is None
    assert ranking_rows(frame.assign(prompt=""), rng(), QUICK).empty


# --- Rows -------------------------------------------------------------------------------------------


def test_rows_are_means_over_prompts():
    frame = judged(alpha=1.0)
    rows = ranking_rows(frame, rng(), QUICK)
    means = frame.groupby(["prompt", "system", "strategy"])["score"].mean().unstack("strategy").round(9)
    taus = [
        stats.kendalltau(prompt["balanced"], prompt["fixed"]).statistic
        for _, prompt in means.groupby("prompt")
        if prompt["fixed"].nunique() > 1 and prompt["balanced"].nunique() > 1
    ]
    found = only(rows, quantity="kendall_tau", condition="balanced - fixed")
    assert found["value"] == pytest.approx(np.mean(taus))
    assert (found["n_contests"], found["n_undefined"], found["n_items"]) == (40, 40 - len(taus), 160)
    low, high = (
        only(rows, quantity=f"top1_change_{end}", condition="balanced - fixed")["value"]
        for end in ("low", "high")
    )
    first = means.groupby("prompt").idxmax()  # one of the ways to break ties
    assert low <= (first["balanced"] != first["fixed"]).mean() <= high


def test_what_the_fixed_order_adds_to_a_floor():
    rows = ranking_rows(asked_once(judged(alpha=2.0)), rng(), QUICK)
    found = {key: own.set_index("condition") for key, own in rows.groupby("quantity")}
    low, high = found["top1_change_low"], found["top1_change_high"]
    over = "balanced - fixed over one"
    # Bounds of a difference: each end takes the other end of what is taken away.
    ours = "balanced - fixed"
    assert low.loc[over, "value"] == pytest.approx(low.loc[ours, "value"] - high.loc[ONE, "value"])
    assert high.loc[over, "value"] == pytest.approx(high.loc[ours, "value"] - low.loc[ONE, "value"])
    assert rows["k"].groupby(rows["condition"]).first().to_dict() == {
        **dict.fromkeys([ours, over, "balanced - random"], 10), HALVES: 5, ONE: 1,
    }  # fmt: skip
    assert rows["n_contests"].notna().all() and rows["n_unparsed"].notna().all()


def test_the_floor_is_that_of_how_often_fixed_is_asked():
    """One answer is no mean over half of the orders; and a mean over K of them is not one."""
    frame = judged(20)
    once, often = (set(ranking_rows(each, rng(), QUICK)["condition"]) for each in (asked_once(frame), frame))
    assert once - often == {"balanced - fixed over one"}
    assert often - once == {"balanced - fixed over halves"}


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_an_order_like_any_other_adds_nothing(alpha):
    """Each balanced order in turn stands for Fixed; candidates of a prompt are shown the same one."""
    frame = judged(40, 4, alpha=alpha)
    balanced = frame[frame["strategy"] == "balanced"]
    found = []
    for _, answers in balanced.groupby("order"):
        both = pd.concat([balanced, answers.assign(strategy="fixed", draw=0)])
        rows = ranking_rows(both, rng(), Inference(resamples=20))
        over = rows[rows["condition"] == "balanced - fixed over one"]
        found.append(over.set_index("quantity")["value"])
    mean = pd.concat(found, axis=1).mean(axis=1)
    assert len(found) == 10
    assert mean["kendall_tau"] == pytest.approx(0, abs=0.01)
    assert mean["top1_change_low"] == pytest.approx(-mean["top1_change_high"])
    assert mean["top1_change_low"] < 0  # ties: the bounds hold 0


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(*[st.integers(1, 3)] * 4),
        min_size=2,
        max_size=4,
    )
)
def test_bounds_of_an_excess_hold_over_all_ways_to_break_ties(candidates):
    ours, floor = np.array(candidates, float).T[:2], np.array(candidates, float).T[2:]
    of = among(len(candidates))
    best = [np.flatnonzero(scores == scores.max()) for scores in (*ours, *floor)]
    differences = [
        (one != other) - int(first != second) for one, other, first, second in itertools.product(*best)
    ]
    columns = []
    for x, y in (ours, floor):
        low, high = top1_changes(x, y, of)
        columns.append(np.stack([[1.0], [0.0], [1.0], low, high], axis=-1))
    [[*_, low, high]] = excess_columns(*columns)
    assert (low, high) == (min(differences), max(differences))


def test_a_difference_is_of_the_contests_that_both_have():
    # (has tau, tau, has best, low, high). In the second contest ours has no tau; the floor has one in half
    # of its splits, of 0.1 / 0.5. The third has no two candidates under the floor.
    ours = np.array([[1, 0.5, 1, 0, 1], [0, 0, 1, 1, 1], [1, 0.9, 1, 0, 0]])
    floor = np.array([[0.5, 0.1, 1, 0.25, 0.75], [1, 0.3, 1, 0.5, 0.5], [0, 0, 0, 0, 0]])
    expected = [[1, 0.3, 1, -0.75, 0.75], [0, 0, 1, 0.5, 0.5], [0, 0, 0, 0, 0]]
    assert excess_columns(ours, floor) == pytest.approx(np.array(expected))


def test_what_a_difference_counts_is_in_both():
    frame = asked_once(judged(30, 3, alpha=1.0))
    tied = frame["strategy"].eq("fixed") & frame["prompt"].isin(frame["prompt"].unique()[:10])
    rows = ranking_rows(frame.assign(score=frame["score"].where(~tied, 3.0)), rng(), QUICK)
    ours, over = (
        only(rows, quantity="kendall_tau", condition=name)
        for name in ("balanced - fixed", "balanced - fixed over one")
    )
    assert (over["n_contests"], over["n_undefined"]) == (30, ours["n_undefined"])
    assert ours["n_undefined"] >= 10


def test_one_strategy_cuts_no_comparison_of_others():
    frame = asked_once(judged(20))
    short = frame[(frame["strategy"] != "random") | (frame["draw"] < 4)]
    whole, cut = (ranking_rows(each, rng(), QUICK) for each in (frame, short))
    assert (cut.loc[cut["condition"] == "balanced - random", "k"] == 4).all()
    kept = [each[~each["condition"].str.contains("random")].reset_index(drop=True) for each in (whole, cut)]
    pd.testing.assert_frame_equal(*kept)


def test_without_all_orders_there_is_no_floor_of_one():
    frame = asked_once(judged(20))
    some = frame[frame["draw"] < 4]
    rows = ranking_rows(some, rng(), QUICK)
    lacking = rows[rows["condition"] == ONE]
    assert len(lacking) == 3 and lacking["value"].isna().all() and (lacking["note"] == NEEDS_ALL).all()
    assert not rows["condition"].str.contains("over").any()
    assert only(rows, quantity="kendall_tau", condition=HALVES)["k"] == 2


def test_a_judge_that_no_order_moves_ranks_alike():
    # Every answer is the content's: tau 1 and no change, of halves too; intervals keep a width.
    frame = judged()
    frame["score"] = frame["system"].str[-1].astype(float) + 1
    rows = ranking_rows(frame, rng(), QUICK)
    expected = {"kendall_tau": 1, "top1_change_low": 0, "top1_change_high": 0}
    for quantity, value in expected.items():
        found = rows[(rows["quantity"] == quantity) & ~rows["condition"].str.contains("over")]
        assert (found["value"] == value).all() and len(found) == 4
        assert (found["ci_low"] < found["ci_high"]).all()
    # Wilson's 0 of 40.
    flip = only(rows, quantity="top1_change_high", condition="balanced - fixed")
    assert (flip["ci_low"], flip["ci_high"]) == pytest.approx((0, 0.0876), abs=1e-3)


def test_a_judge_that_ties_all_candidates():
    rows = ranking_rows(judged().assign(score=3.0), rng(), QUICK)
    found = only(rows, quantity="kendall_tau", condition="balanced - fixed")
    assert np.isnan(found["value"]) and found["n_undefined"] == 40
    # The best may be the same, or any other one.
    ends = [
        only(rows, quantity=f"top1_change_{e}", condition="balanced - fixed")["value"]
        for e in ("low", "high")
    ]
    assert ends == [0, 1]


def test_several_criteria_are_ranked_both_ways():
    rows = ranking_rows(judged(20, 3, ("style", "content")), rng(), QUICK)
    taus = rows[(rows["quantity"] == "kendall_tau") & (rows["condition"] == "balanced - random")]
    assert taus.set_index("contest")["n_contests"].to_dict() == {"prompt": 20, "prompt and criterion": 40}
    assert (taus["n_clusters"] == 20).all()
    assert set(ranking_rows(judged(), rng(), QUICK)["contest"]) == {"prompt"}


def test_noise_alone_changes_the_best_candidate():
    # No bias, and yet one order in common and all orders differ in their best candidate.
    rows = ranking_rows(judged(150, 4), rng(), QUICK)
    low, high = (only(rows, quantity=f"top1_change_{end}", condition=ONE) for end in ("low", "high"))
    assert low["ci_low"] > 0.1 and high["value"] > 0.3


def test_cells_do_not_move_each_other():
    frame = judged(alpha=0.5)
    alone = ranking_rows(frame, rng(5), QUICK)
    both = ranking_rows(pd.concat([judged(judge="another"), frame]), rng(5), QUICK)
    mine = both[both["judge"] == "planted"].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, alone)
