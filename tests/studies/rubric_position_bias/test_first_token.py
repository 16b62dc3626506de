"""The first token's distribution: by hand, against scipy, against all permutations, and on planted judges."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shared.metrics.resampling import Inference
from studies.rubric_position_bias.first_token import (
    at_places,
    expected_score,
    first_token_rows,
    has_distribution,
    moments,
    of_items,
    pearson_of,
    probability_null,
    total_variation,
)
from studies.rubric_position_bias.grid import grid
from studies.rubric_position_bias.metrics import v_of_counts
from studies.rubric_position_bias.position import NEEDS_ALL
from tests.studies.rubric_position_bias.planted import planted, planted_items

QUICK = Inference(resamples=200, permutations=400)
PRIOR = np.array([0.6, 0.2, 0.0, -0.2, -0.6])
P = [f"p_{option}" for option in range(1, 6)]


def of_judge(seed: int = 0, items: int = 60, alpha=PRIOR, **more) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = planted_items(items, rng, clusters=items // 2)
    return planted(table, 5, "balanced", alpha, 0.1, 2.0, rng, probabilities=True, **more)


def rows_of(judgements: pd.DataFrame) -> pd.DataFrame:
    rows = first_token_rows(judgements, np.random.default_rng(0), QUICK)
    return rows.set_index(["quantity", "condition"]) if len(rows) else rows


def test_expected_score_by_hand():
    assert expected_score(np.array([0.5, 0.0, 0.25, 0.25, 0.0])) == pytest.approx(0.5 + 0.75 + 1)
    assert np.isnan(expected_score(np.full(5, np.nan)))


def test_places_by_hand():
    # Order 312: option 3 stands first.
    assert at_places(np.array([0.7, 0.2, 0.1]), np.array([3, 1, 2])).tolist() == [0.1, 0.7, 0.2]
    assert np.isnan(at_places(np.array([0.7, 0.2, 0.1]), np.array([0, 0, 0]))).all()  # no such trial


@given(st.lists(st.integers(0, 9), min_size=2, max_size=6))
def test_total_variation_keeps_its_range(counts):
    found = total_variation(counts)
    if sum(counts) == 0:
        assert np.isnan(found)
    else:
        assert 0 <= found <= 1 - 1 / len(counts) + 1e-12
        assert found == pytest.approx(total_variation(counts[::-1]))
        alone = np.array(counts) == sum(counts)
        assert (found > 1 - 1 / len(counts) - 1e-9) == alone.any()


def test_r_of_moments_equals_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(1, 5, 40), rng.integers(1, 6, 40).astype(float)
    assert pearson_of(moments(x, y, 5).sum(axis=0)) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert np.isnan(pearson_of(moments(np.full(40, 4.2), y, 5).sum(axis=0)))
    assert np.isnan(pearson_of(np.zeros(6)))


# --- Rows -------------------------------------------------------------------------------------------


def test_rows_by_hand():
    # Two items under 12 and 21. Item a: option 1 has .8 where first, .6 where last; item b: .4 and .4.
    # Place 1: .8 + .4 (21 shows option 2 first) + .4 + .6 = 2.2 of 4; place 2: 1.8.
    judgements = of_judge(items=2)[:4].assign(
        size=2,
        order=["12", "21"] * 2,
        draw=[0, 1] * 2,
        score=[1.0, 1, 2, 2],
        item=["a", "a", "b", "b"],
        cluster=["a", "a", "b", "b"],
        criterion="",
        mass=[0.9, 0.7, np.nan, 0.8],
        p_1=[0.8, 0.6, 0.4, 0.4],
        p_2=[0.2, 0.4, 0.6, 0.6],
    )
    rows = rows_of(judgements)["value"]
    assert rows["mass_share", "place 1"] == pytest.approx(0.55)
    assert rows["mass_direction", "balanced"] == pytest.approx(-0.1)
    assert rows["mass_v", "balanced"] == pytest.approx(0.1)  # of two places: |.55 - .45|
    assert rows["mass_total_variation", "balanced"] == pytest.approx(0.05)
    assert rows["answers_v", "balanced"] == 0  # 1 is first, then last; so is 2
    assert rows["mass_v_difference", "balanced"] == pytest.approx(0.1)
    assert rows["likeliest_is_answer_rate", "trials"] == 1
    assert rows["distribution_rate", "balanced"] == 0.75 and rows["legal_mass", "balanced"] == pytest.approx(
        0.8
    )
    expected, given_ = [1.2, 1.4, 1.6, 1.6], [1, 1, 2, 2]
    r = stats.pearsonr(expected, given_).statistic
    assert rows["expected_score_correlation", "trials"] == pytest.approx(r)
    # Of two items: 1.3 and 1, 1.6 and 2.
    assert rows["expected_score_correlation", "mean over orders"] == pytest.approx(1)


def test_a_biased_judge_is_found_and_an_unbiased_one_is_not():
    biased, unbiased = rows_of(of_judge()), rows_of(of_judge(alpha=0.0))
    place = ("mass_v", "balanced")
    assert biased.loc[place, "p"] == pytest.approx(1 / 401) and unbiased.loc[place, "p"] > 0.05
    assert biased.loc[place, "value"] > biased.loc[place, "null_high"]
    assert unbiased.loc[place, "null_low"] < unbiased.loc[place, "value"] < unbiased.loc[place, "null_high"]
    first = biased.loc[("mass_share", "place 1")]
    assert 0.2 < first["ci_low"] < first["value"] < first["ci_high"] and first["null_high"] < 0.22
    assert biased.loc[("mass_direction", "balanced"), "ci_high"] < 0


def test_distributions_tell_a_prior_from_fewer_items_than_answers_do():
    rows = rows_of(of_judge(items=40, alpha=PRIOR / 3))
    mass, answers = rows.loc[("mass_v", "balanced")], rows.loc[("answers_v", "balanced")]
    assert mass["ci_high"] - mass["ci_low"] < answers["ci_high"] - answers["ci_low"]


def test_content_alone_is_spread_evenly():
    # The same distribution over options whatever the order: every place gets 1/n, exactly.
    judgements = of_judge(alpha=0.0)
    first = judgements.groupby("item")[P].transform("first")
    rows = rows_of(judgements.assign(**first))
    assert rows.loc["mass_share"]["value"].to_numpy() == pytest.approx([0.2] * 5)
    assert rows.loc[("mass_v", "balanced"), "p"] == 1


def test_a_single_option_of_mass_one_gives_the_answers_own_v():
    judgements = of_judge()
    sure = {f"p_{option}": (judgements["score"] == option).astype(float) for option in range(1, 6)}
    rows = rows_of(judgements.assign(**sure))
    assert rows.loc[("mass_v_difference", "balanced"), "value"] == pytest.approx(0)
    assert rows.loc[("expected_score_correlation", "trials"), "value"] == pytest.approx(1)
    assert rows.loc[("mass_v", "balanced"), "value"] == pytest.approx(
        float(v_of_counts(judgements["position"].value_counts().to_numpy()))
    )


def test_items_that_lack_a_distribution_are_left_out_of_places():
    judgements = of_judge()
    lost = judgements["item"].isin(judgements["item"].unique()[:10]) & (judgements["draw"] == 0)
    gone = judgements.assign(**{name: judgements[name].where(~lost) for name in [*P, "mass"]})
    rows = rows_of(gone)
    assert rows.loc[("mass_v", "balanced"), "n_items"] == 50
    assert rows.loc[("expected_score_correlation", "trials"), "n_trials"] == 590
    assert rows.loc[("distribution_rate", "balanced"), "value"] == pytest.approx(590 / 600)
    kept = judgements[~judgements["item"].isin(judgements["item"].unique()[:10])]
    assert rows.loc[("mass_v", "balanced"), "value"] == pytest.approx(
        rows_of(kept).loc[("mass_v", "balanced"), "value"]
    )


def test_an_unparsed_answer_still_has_its_distribution():
    rows = rows_of(of_judge(unparsed=0.2))
    assert rows.loc[("mass_v", "balanced"), "n_items"] == 60
    row = rows.loc[("expected_score_correlation", "trials")]
    assert row["n_trials"] == 600 - row["n_unparsed"] < 600


def test_no_distributions_give_no_rows():
    assert rows_of(of_judge().assign(**dict.fromkeys([*P, "mass"], np.nan))).empty
    assert rows_of(of_judge().iloc[:0]).empty


def test_no_item_with_all_distributions():
    judgements = of_judge()
    gone = judgements.assign(**{name: judgements[name].where(judgements["draw"] > 0) for name in P})
    rows = rows_of(gone)
    assert rows.loc[("mass_v", "balanced"), ["value", "ci_low", "p", "mde"]].isna().all()
    assert rows.loc[("mass_v", "balanced"), "n_items"] == 0
    assert np.isfinite(rows.loc[("expected_score_correlation", "trials"), "value"])


def test_a_single_source_has_no_interval():
    rows = rows_of(of_judge().assign(cluster="one"))
    assert np.isfinite(rows["value"]).all()
    estimates = rows.loc[["mass_v", "legal_mass", "expected_score_correlation"]]
    assert estimates[["ci_low", "ci_high"]].isna().all(axis=None)


# --- The null ---------------------------------------------------------------------------------------


def test_the_null_is_all_ways_to_deal_a_sources_distributions():
    # Two sources of two items under 12 and 21: four equally likely ways to deal.
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1], 8)
    laid = grid(
        pd.DataFrame(
            {
                "item": np.repeat(list("abcd"), 2),
                "cluster": np.repeat(list("xxyy"), 2),
                "draw": [0, 1, 1, 0, 0, 1, 1, 0],  # an item's draws may be in another sequence
                "order": ["12", "21"] * 4,
                "score": 1.0,
                "p_1": p[:, 0],
                "p_2": p[:, 1],
            }
        )
    )
    by_order = p.reshape(4, 2, 2)  # item, order, option
    possible = []
    for deals in product(permutations(range(2)), repeat=2):
        total = np.zeros(2)
        for item, dealt in zip(range(4), np.repeat(deals, 2, axis=0), strict=True):
            for order, options in enumerate(((0, 1), (1, 0))):
                total += by_order[item, dealt[order]][list(options)]
        possible.append(total)
    null = probability_null(laid, rng, 4000)
    distances = np.abs(null[:, None] - np.array(possible)).max(axis=-1)
    assert distances.min(axis=1).max() < 1e-9
    assert np.bincount(distances.argmin(axis=1)) / 4000 == pytest.approx([0.25] * 4, abs=0.04)


def test_over_200_unbiased_judges_the_test_keeps_its_level():
    whole = grid(of_judge(3, items=200 * 16, alpha=0.0))
    rng = np.random.default_rng(4)
    rejected = []
    for start in range(0, len(whole.items), 16):
        laid = of_items(whole, np.arange(start, start + 16))
        null = v_of_counts(probability_null(laid, rng, 99))
        observed = v_of_counts(at_places(laid.probs, laid.orders).sum(axis=(0, 1)))
        rejected.append((1 + (null >= observed - 1e-12).sum()) / 100 <= 0.05)
    assert 0.01 < np.mean(rejected) < 0.10  # a standard error of 0.015


def test_a_part_of_a_grid():
    laid = grid(of_judge())
    part = of_items(laid, np.array([7, 6, 2]))
    assert part.items.tolist() == laid.items[[7, 6, 2]].tolist()
    assert part.clusters.tolist() == [0, 0, 1]  # items 6 and 7 are of one source
    assert has_distribution(part).all()


@pytest.mark.parametrize(("alpha", "beyond"), [(0.0, False), (PRIOR, True)])
def test_the_answers_have_a_test_of_their_own(alpha, beyond):
    found = rows_of(of_judge(alpha=alpha)).loc[("answers_v", "balanced")]
    assert bool(found["p"] <= 0.05) is bool(found["value"] > found["null_high"]) is beyond
    assert 0 < found["null_low"] < found["null_high"]


def test_over_a_part_of_the_orders_only_the_permutation_tests_are_defined():
    rows = rows_of(of_judge(k=3))
    by_place = rows[rows["note"] == NEEDS_ALL]
    of_place = {"mass_share", "mass_direction", "mass_v", "mass_total_variation", "answers_v"}
    assert set(by_place.index.get_level_values(0)) == of_place | {"mass_v_difference"}
    assert by_place[["value", "ci_low", "ci_high", "null_low", "null_high", "mde"]].isna().all(axis=None)
    tested = by_place[by_place["p"].notna()].index.get_level_values(0)
    assert set(tested) == of_place - {"mass_share"}
    assert rows.loc[("legal_mass", "balanced"), "value"] > 0
