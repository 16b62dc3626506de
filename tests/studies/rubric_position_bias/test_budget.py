"""How many orders it takes: the formulas against all subsets of orders, and the rows on planted judges."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.metrics.resampling import Inference
from studies.rubric_position_bias.budget import (
    CHEAPEST,
    DRAWN,
    ROTATIONS,
    budget_rows,
    corrected_v,
    orders_needed,
    residual_share,
)
from studies.rubric_position_bias.first_token import of_items
from studies.rubric_position_bias.grid import grid
from studies.rubric_position_bias.metrics import cluster_counts, v_of_counts
from studies.rubric_position_bias.orders import balanced
from studies.rubric_position_bias.params import Budget
from studies.rubric_position_bias.position import NEEDS_ALL
from tests.studies.rubric_position_bias.planted import planted, planted_items

QUICK = Inference(resamples=400)
PRIOR = np.array([0.6, 0.2, 0.0, -0.2, -0.6])


def of_judge(alpha=PRIOR, items: int = 200, seed: int = 0, size: int = 5, **more) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = planted_items(items, rng, clusters=items // 2)
    return planted(table, size, "balanced", alpha, 0.1, 2.0, rng, **more)


def rows_of(judgements: pd.DataFrame, limit: float = 0.05) -> pd.DataFrame:
    rows = budget_rows(judgements, np.random.default_rng(0), QUICK, Budget(position_effect=limit))
    return rows.set_index(["quantity", "condition", rows["k"].fillna(0)]) if len(rows) else rows


def value(rows: pd.DataFrame, quantity: str, condition: str = DRAWN, k: int = 0) -> float:
    return float(rows.loc[(quantity, condition, k), "value"])


@pytest.mark.parametrize("k", [1, 2, 3, 7, 9])
def test_what_an_average_over_k_orders_leaves_equals_all_subsets_of_orders(k):
    # d: how much more often whatever stands at a place is chosen. Of every set of k of the 10 orders, the
    # mean excess of each option; the root of the mean square over options and sets, on V's scale.
    d = np.array([0.12, 0.03, -0.02, -0.05, -0.08])
    places = np.array([[order.index(str(option)) for option in range(1, 6)] for order in balanced(5)])
    excess = d[places]  # order, option
    squares = [(excess[list(chosen)].mean(axis=0) ** 2).sum() for chosen in combinations(range(10), k)]
    v = np.sqrt(5 * (d**2).sum() / 4)
    assert np.sqrt(5 * np.mean(squares) / 4) == pytest.approx(v * residual_share(k, 10))


def test_rotations_balance_places():
    places = np.array([[order.index(str(option)) for option in range(1, 6)] for order in balanced(5)[:5]])
    assert (np.sort(places, axis=0) == np.arange(5)[:, None]).all()


@given(st.floats(0, 1), st.floats(0.001, 0.999), st.integers(2, 18))
def test_orders_needed_are_the_fewest_that_are_enough(effect, limit, orders):
    k = int(orders_needed(effect, limit, orders))
    assert 1 <= k <= orders
    assert effect * residual_share(k, orders) <= limit * (1 + 1e-6)
    if k > 1:
        assert effect * residual_share(k - 1, orders) > limit * (1 - 1e-6)


def test_orders_needed_by_hand():
    # 0.10 sqrt(6 / 36) = 0.041; with one order fewer 0.10 sqrt(7 / 27) = 0.051.
    assert orders_needed([0.10, 0.05, np.nan], 0.05, 10).tolist() == pytest.approx(
        [4, 1, np.nan], nan_ok=True
    )


def test_corrected_v_by_hand():
    # Two sources that chose place 1 three times of four, and once of four: shares 1/2, 1/2, and V = 0.
    # Apart: (1, -1) / 8 and (-1, 1) / 8; squares sum to 4 / 64; times 2 / 1 sources, times 2 / 1 places: 1/4.
    assert corrected_v(np.array([[3.0, 1.0], [1.0, 3.0]])) == pytest.approx((0, 0.25))
    # All sources alike: nothing to take away. Shares 3/4 and 1/4: V = 1/2.
    assert corrected_v(np.array([[3.0, 1.0]] * 2)) == pytest.approx((0.5, 0))
    for nothing in (np.zeros((3, 5)), np.ones((1, 5)), np.ones((4, 1))):
        assert np.isnan(corrected_v(nothing)).all()


def test_corrected_v_is_right_on_average_and_plain_v_is_not():
    whole = grid(of_judge(items=100 * 24, alpha=PRIOR / 4))
    truth = float(v_of_counts(cluster_counts(whole).sum(axis=0)))
    parts = [cluster_counts(of_items(whole, np.arange(at, at + 24))) for at in range(0, 2400, 24)]
    squares = np.array([float(v_of_counts(part.sum(axis=0))) ** 2 for part in parts])
    noise = np.array([corrected_v(part)[1] for part in parts])
    error = np.std(squares) / 10
    assert abs(np.mean(squares - noise) - truth**2) < 3 * error
    assert np.mean(squares) - truth**2 > 3 * error


def test_rows_of_a_biased_judge():
    judgements = of_judge()
    rows = rows_of(judgements)
    v, _ = corrected_v(cluster_counts(grid(judgements)))
    assert value(rows, "place_effect", k=1) == pytest.approx(v) and 0.08 < v < 0.2
    assert value(rows, "place_effect", k=4) == pytest.approx(v * np.sqrt(6 / 36))
    needed = rows.loc[("orders_needed", DRAWN, 0)]
    assert needed["value"] == orders_needed(v, 0.05, 10) > 1
    assert needed["ci_low"] <= needed["value"] <= needed["ci_high"]
    assert value(rows, "orders_needed", ROTATIONS) == 5
    assert value(rows, "orders_needed", CHEAPEST) == min(needed["value"], 5)
    assert (
        (rows["limit"] == 0.05).all() and (rows["n_items"] == 200).all() and (rows["n_clusters"] == 100).all()
    )


def test_the_last_order_leaves_nothing_by_design():
    rows = rows_of(of_judge())
    for quantity in ("place_effect", "score_shift"):
        last = rows.loc[(quantity, DRAWN, 10)]
        assert last["value"] == 0 and np.isnan(last["ci_low"]) and np.isnan(last["ci_high"])


def test_the_shift_of_scores_equals_all_pairs_of_orders():
    judgements = of_judge(items=20)
    scores = grid(judgements).scores
    means = np.stack([scores[:, list(pair)].mean(axis=1) for pair in combinations(range(10), 2)])
    shift = np.sqrt(np.mean((means - scores.mean(axis=1)) ** 2)) / 4
    assert value(rows_of(judgements), "score_shift", k=2) == pytest.approx(shift)


def test_missing_answers_shift_the_estimate_by_little():
    whole, lacking = rows_of(of_judge()), rows_of(of_judge(unparsed=0.2))
    for quantity in ("place_effect", "score_shift"):
        assert value(lacking, quantity, k=1) == pytest.approx(value(whole, quantity, k=1), rel=0.15)
    assert lacking["n_unparsed"].iloc[0] > 300


def test_an_unbiased_judge_needs_one_order():
    rows = rows_of(of_judge(alpha=0.0))
    for condition in (DRAWN, ROTATIONS, CHEAPEST):
        assert value(rows, "orders_needed", condition) == 1
    # And yet its single items move.
    assert value(rows, "score_shift", k=1) > 0.05 and value(rows, "orders_needed_score") > 1


def test_the_effect_of_place_stands_beside_what_chance_gives():
    """Without bias the effect lies within the range, with one beyond it; k orders leave the same of both."""
    for alpha, beyond in ((0.0, False), (PRIOR, True)):
        rows = rows_of(of_judge(alpha=alpha))
        one, four = (rows.loc[("place_effect", DRAWN, k)] for k in (1, 4))
        assert (one["value"] > one["null_high"]) == beyond
        assert four["null_high"] == pytest.approx(one["null_high"] * np.sqrt(6 / 36))
        assert np.isnan(rows.loc[("place_effect", DRAWN, 10), "null_high"])


def test_over_a_part_of_the_orders_the_shift_of_a_score_is_known_and_the_effect_of_place_is_not():
    judgements = of_judge(items=400)
    part, whole = rows_of(judgements[judgements["draw"] < 3]), rows_of(judgements)
    of_place = part.loc[["place_effect", "orders_needed"]]
    numbers = ["value", "ci_low", "ci_high", "null_low", "null_high"]
    assert of_place[numbers].isna().all(axis=None) and (of_place["note"] == NEEDS_ALL).all()
    shift = value(part, "score_shift", k=1)
    assert shift == pytest.approx(value(whole, "score_shift", k=1), rel=0.1)
    assert np.isfinite(value(part, "orders_needed_score"))


def test_one_score_and_one_place():
    judgements = of_judge()
    same = rows_of(judgements.assign(score=3.0))
    assert value(same, "place_effect", k=1) == pytest.approx(0, abs=1e-6)
    assert value(same, "score_shift", k=1) == 0
    # What all sources agree on has an interval all the same.
    assert same.loc[("score_shift", DRAWN, 1), "ci_high"] > 0
    first = rows_of(judgements.assign(score=judgements["order"].str[0].astype(float)))
    assert value(first, "place_effect", k=1) == pytest.approx(1)
    assert value(first, "orders_needed", DRAWN) == 10 and value(first, "orders_needed", CHEAPEST) == 5


def test_a_number_of_orders_has_no_interval_of_width_0():
    # A strong bias: rotations need five orders at both ends, and are the cheapest; drawn orders differ.
    rows = rows_of(of_judge(alpha=PRIOR * 3, items=40), limit=0.05)
    number, whole = rows.loc[("orders_needed", ROTATIONS, 0)], rows.loc[("orders_needed", DRAWN, 0)]
    assert number["value"] == 5 and number[["ci_low", "ci_high"]].isna().all()
    assert rows.loc[("orders_needed", CHEAPEST, 0), ["ci_low", "ci_high"]].isna().all()
    assert whole["ci_low"] < whole["ci_high"]
    # The score never moves: one order, at both ends.
    same = rows_of(of_judge().assign(score=3.0)).loc[("orders_needed_score", DRAWN, 0)]
    assert same["value"] == 1 and same[["ci_low", "ci_high"]].isna().all()


def test_no_answers_and_one_source_and_nothing():
    judgements = of_judge(items=20)
    nothing = rows_of(judgements.assign(score=np.nan))
    assert nothing.loc[["orders_needed", "orders_needed_score"], "value"].isna().all()
    single = rows_of(judgements.assign(cluster="one"))
    assert single.loc[["place_effect", "orders_needed"], "value"].isna().all()
    assert np.isnan(single.loc[("score_shift", DRAWN, 1), "ci_low"])
    assert rows_of(judgements.iloc[:0]).empty


@pytest.mark.parametrize(("size", "orders"), [(2, 2), (3, 6), (9, 18)])
def test_other_sizes(size, orders):
    rows = rows_of(of_judge(alpha=np.linspace(0.5, -0.5, size), size=size, items=60))
    assert rows["k"].max() == orders
    assert 1 <= value(rows, "orders_needed", CHEAPEST) <= size
