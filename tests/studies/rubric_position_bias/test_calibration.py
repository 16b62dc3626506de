"""Correcting single calls: priors by hand and of known judges, and rows against scipy on held-out items."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.special import softmax

from shared.metrics.resampling import Inference
from studies.rubric_position_bias.calibration import (
    FEW,
    METHODS,
    NO_GAIN,
    ORDERS_MEAN,
    SINGLE,
    calibration_rows,
    corrected,
    position_prior,
    rotation_prior,
)
from studies.rubric_position_bias.first_token import expected_score
from studies.rubric_position_bias.grid import grid
from studies.rubric_position_bias.orders import balanced
from studies.rubric_position_bias.params import Calibration
from studies.rubric_position_bias.position import NEEDS_ALL
from tests.studies.rubric_position_bias.planted import planted, planted_items

QUICK = Inference(resamples=300)
PRIOR = np.array([1.2, 0.4, 0.0, -0.4, -1.2])
P = [f"p_{option}" for option in range(1, 6)]


def of_judge(seed: int = 0, items: int = 80, alpha=PRIOR, sharpness: float = 1.0, **more) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = planted_items(items, rng, clusters=items // 2)
    return planted(table, 5, "balanced", alpha, 0.1, sharpness, rng, probabilities=True, **more)


def rows_of(judgements: pd.DataFrame, items: int = 8, repeats: int = 5) -> pd.DataFrame:
    chosen = Calibration(items=items, repeats=repeats)
    rows = calibration_rows(judgements, np.random.default_rng(0), QUICK, chosen)
    return rows.set_index(["quantity", "condition"]) if len(rows) else rows


def without_noise(items: int = 6, alpha=PRIOR, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Content (items, n), distributions (items, K, n) of content and prior alone, and orders."""
    content = np.random.default_rng(seed).normal(0, 1, (items, 5))
    orders = np.tile([[int(option) for option in order] for order in balanced(5)], (items, 1, 1))
    places = np.argsort(orders, axis=-1)
    return content, softmax(content[:, None] + np.asarray(alpha)[places], axis=-1), orders


# --- Priors and corrections -------------------------------------------------------------------------


def test_a_prior_by_hand():
    # Option 1 has odds of 4 where it is first and of 1 where it is last: content 2, place 2.
    probs, orders = np.array([[[0.8, 0.2], [0.5, 0.5]]]), np.array([[[1, 2], [2, 1]]])
    assert position_prior(probs, orders) == pytest.approx([2 / 3, 1 / 3])
    # Taken out, both orders say 2 to 1 for option 1.
    assert corrected(probs, orders, np.array([2 / 3, 1 / 3])) == pytest.approx(
        np.array([[[2, 1], [2, 1]]]) / 3
    )


@pytest.mark.parametrize("estimate", [position_prior, rotation_prior])
def test_a_known_prior_is_recovered_from_one_item_and_leaves_content(estimate):
    content, probs, orders = without_noise()
    for items in (slice(0, 1), slice(None)):
        prior = estimate(probs[items], orders[items])
        assert prior == pytest.approx(softmax(PRIOR))
    assert corrected(probs, orders, prior) == pytest.approx(
        np.broadcast_to(softmax(content, axis=-1)[:, None], probs.shape)
    )


def test_pride_by_hand():
    # Forward rotations alone, an item at a time; a reverse order changes nothing.
    _, probs, orders = without_noise()
    noisy = np.random.default_rng(0).dirichlet(np.ones(5), (6, 10))
    each = []
    for item in range(6):
        places = np.argsort(orders[item], axis=-1)
        logs = [[np.log(noisy[item, o][places[o] == p][0]) for p in range(5)] for o in range(5)]
        each.append(softmax(np.mean(logs, axis=0)))
    assert rotation_prior(noisy, orders) == pytest.approx(np.mean(each, axis=0))
    backwards = np.concatenate([noisy[:, :5], probs[:, 5:]], axis=1)
    assert rotation_prior(backwards, orders) == pytest.approx(np.mean(each, axis=0))


@given(arrays(float, (2, 10, 5), elements=st.floats(0, 1)), st.permutations(range(5)))
def test_priors_are_distributions_that_follow_the_places(weights, moved):
    probs = (weights + 1e-3) / (weights + 1e-3).sum(axis=-1, keepdims=True)
    _, _, orders = without_noise(2)
    for estimate in (position_prior, rotation_prior):
        assert estimate(probs, orders).sum() == pytest.approx(1)
    fixed = corrected(probs, orders, position_prior(probs, orders))
    assert fixed.sum(axis=-1) == pytest.approx(np.ones((2, 10)))
    # Once is enough: of corrected distributions the prior is even, if every option stands everywhere alike.
    assert position_prior(fixed, orders) == pytest.approx(np.full(5, 0.2), abs=1e-6)
    # Places renamed, orders and prior alike.
    assert position_prior(probs, orders[..., moved]) == pytest.approx(position_prior(probs, orders)[moved])


def test_a_missing_option_counts_as_very_unlikely():
    _, probs, orders = without_noise()
    probs[0, 0] = [0.6, 0.4, 0, 0, 0]
    prior = position_prior(probs, orders)
    assert np.isfinite(prior).all() and (prior > 0).all()
    assert corrected(probs, orders, prior)[0, 0, 2:] == pytest.approx([0, 0, 0])


def test_no_items_have_no_prior():
    _, probs, orders = without_noise()
    assert np.isnan(position_prior(probs[:0], orders[:0])).all()
    assert np.isnan(rotation_prior(probs[:0], orders[:0])).all()


# --- Rows -------------------------------------------------------------------------------------------


def copies(judgements: pd.DataFrame, sources: int) -> pd.DataFrame:
    """The same items in several sources, so that it does not matter which one is left out."""
    return pd.concat(
        [
            judgements.assign(item=judgements["item"] + f"/{number}", cluster=f"source {number}")
            for number in range(sources)
        ],
        ignore_index=True,
    )


def test_rows_equal_scipy_where_it_does_not_matter_what_is_held_out():
    judgements = of_judge(items=12)
    rows, laid = rows_of(copies(judgements, 4), items=1), grid(judgements)
    expected, k = expected_score(laid.probs), 10
    reference = np.repeat(laid.reference, k)
    others = (laid.scores.sum(axis=1, keepdims=True) - laid.scores) / (k - 1)

    def r(x, y) -> float:
        return stats.pearsonr(np.ravel(x), np.ravel(y)).statistic

    assert rows.loc[("r_reference", SINGLE), "value"] == pytest.approx(r(laid.scores, reference))
    assert rows.loc[("r_reference", "expected score"), "value"] == pytest.approx(r(expected, reference))
    mean = r(laid.scores.mean(axis=1), laid.reference)
    assert rows.loc[("r_reference", ORDERS_MEAN), "value"] == pytest.approx(mean)
    assert rows.loc[("r_other_orders", SINGLE), "value"] == pytest.approx(r(laid.scores, others))
    assert rows.loc[("r_other_orders", "expected score"), "value"] == pytest.approx(r(expected, others))
    gain = rows.loc[("r_reference_gain", f"expected score - {SINGLE}"), "value"]
    assert gain == pytest.approx(r(expected, reference) - r(laid.scores, reference))


def test_corrected_scores_equal_a_correction_with_the_true_prior():
    # Distributions of content and prior alone: every split finds the same prior, whatever its items are.
    content, probs, _ = without_noise(12)
    judgements = of_judge(items=12).sort_values(["item", "draw"], ignore_index=True)
    judgements = judgements.assign(
        order=np.tile(balanced(5), 12),
        score=probs.argmax(axis=-1).ravel() + 1.0,
        **{name: probs[..., number].ravel() for number, name in enumerate(P)},
    )
    rows = rows_of(copies(judgements, 4), items=1)
    reference = grid(judgements).reference
    truth = stats.pearsonr(expected_score(softmax(content, axis=-1)), reference).statistic
    for source in ("corrected", "PriDe"):
        assert rows.loc[("r_reference", f"{source} expected score"), "value"] == pytest.approx(truth)
        found = [rows.loc[("prior", f"{source} place {place}"), "value"] for place in range(1, 6)]
        assert found == pytest.approx(list(softmax(PRIOR)))


def test_a_strong_prior_is_worth_correcting():
    rows = rows_of(of_judge(items=200))
    for target in ("r_reference", "r_other_orders"):
        gain = rows.loc[(f"{target}_gain", f"corrected expected score - {SINGLE}")]
        assert gain["ci_low"] > 0
        plain = rows.loc[(f"{target}_gain", f"expected score - {SINGLE}")]
        assert gain["value"] > plain["value"]
    share = rows.loc[("gain_share", "corrected expected score")]
    assert 0 < share["ci_low"] < share["value"] < share["ci_high"]
    whole = rows["value"]["r_reference", ORDERS_MEAN] - rows["value"]["r_reference", SINGLE]
    part = rows["value"]["r_reference", "corrected expected score"] - rows["value"]["r_reference", SINGLE]
    assert share["value"] == pytest.approx(part / whole)


def test_without_noise_between_orders_there_is_no_gain_to_share():
    judgements = of_judge()
    same = judgements.groupby("item")[[*P, "score"]].transform("first")
    rows = rows_of(judgements.assign(**same))
    share = rows.loc[("gain_share", "expected score")]
    assert np.isnan(share["value"]) and share["note"] == NO_GAIN
    assert rows.loc[("r_reference_gain", f"{ORDERS_MEAN} - {SINGLE}"), "value"] == pytest.approx(0, abs=1e-12)
    assert rows.loc[("r_other_orders", SINGLE), "value"] == pytest.approx(1)


def test_whole_sources_are_held_out_and_calls_counted():
    rows = rows_of(of_judge(), items=1)
    # One item fits, its source has two: 78 of 80 are left.
    assert (rows["n_items"] == 78).all() and (rows["n_trials"] == 780).all()
    calls = rows.loc["r_reference"]["calls"]
    assert calls[SINGLE] == calls["expected score"] == 1 and calls[ORDERS_MEAN] == 10
    assert calls["corrected answer"] == pytest.approx(1 + 10 / 78)
    assert calls["PriDe answer"] == pytest.approx(1 + 5 / 78)
    assert set(calls.index) == set(METHODS)


def test_items_without_a_reference_count_for_the_other_orders_alone():
    judgements = of_judge()
    rows, all_lost = rows_of(judgements), rows_of(judgements.assign(reference=np.nan))
    assert all_lost.loc["r_reference"]["value"].isna().all()
    pd.testing.assert_frame_equal(all_lost.loc["r_other_orders"], rows.loc["r_other_orders"])


def test_items_that_lack_something_are_left_out():
    judgements = of_judge()
    some = judgements["item"].isin(judgements["item"].unique()[:4]) & (judgements["draw"] == 3)
    rows = rows_of(judgements.assign(score=judgements["score"].mask(some)), items=1)
    assert (rows["n_items"] == 74).all() and (rows["n_unparsed"] == 4).all()


@pytest.mark.parametrize("lost", ["items", "distributions", "sources"])
def test_too_little_is_said_to_be_too_little(lost):
    judgements = of_judge(items=8)
    if lost == "distributions":
        judgements = judgements.assign(p_1=judgements["p_1"].where(judgements["draw"] > 0))
    if lost == "sources":
        judgements = judgements.assign(cluster="one")
    rows = rows_of(judgements, items=8 if lost == "items" else 2)
    assert len(rows) == 1 and rows["note"].iloc[0] == FEW and np.isnan(rows["value"].iloc[0])


@pytest.mark.parametrize("k", [1, 4, 9])
def test_without_all_balanced_orders_there_is_no_prior(k):
    part, whole = of_judge(judge="part", k=k), of_judge(judge="whole")
    rows = rows_of(pd.concat([part, whole], ignore_index=True))
    found = rows[rows["judge"] == "part"]
    assert found.index.tolist() == [("r_reference", SINGLE)]
    assert found["note"].iloc[0] == NEEDS_ALL and np.isnan(found["value"].iloc[0]) and found["k"].iloc[0] == k
    others = rows[rows["judge"] == "whole"]
    assert len(others) > 1 and (others["k"] == 10).all() and not (others["note"] == NEEDS_ALL).any()


def test_no_distributions_give_no_rows():
    assert rows_of(of_judge().assign(**dict.fromkeys(P, np.nan))).empty
    assert rows_of(of_judge().iloc[:0]).empty


def test_a_constant_judge_has_no_correlations():
    even = dict.fromkeys(P, 0.2)
    rows = rows_of(of_judge().assign(score=3.0, **even))
    assert rows.loc[["r_reference", "r_other_orders", "gain_share"], "value"].isna().all()
    assert rows.loc["prior"]["value"].to_numpy() == pytest.approx(np.full(10, 0.2))


def test_cells_do_not_depend_on_each_other():
    one, other = of_judge(judge="one"), of_judge(1, judge="other")
    both = rows_of(pd.concat([other, one], ignore_index=True))
    alone = rows_of(one)
    pd.testing.assert_frame_equal(both[both["judge"] == "one"], alone)
