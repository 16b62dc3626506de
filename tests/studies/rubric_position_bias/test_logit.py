"""Rows of the conditional logit: what they say of planted judges, of degenerate ones, and side by side."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.spatial.distance import mahalanobis

from shared.metrics.resampling import Inference
from studies.rubric_position_bias import logit
from studies.rubric_position_bias.first_token import of_items
from studies.rubric_position_bias.grid import grid
from studies.rubric_position_bias.logit import (
    ALL,
    NO_PRIOR,
    logit_rows,
    one_step_sd,
    score_test,
    sd_row,
)
from studies.rubric_position_bias.metrics import permutation_null, position_counts
from studies.rubric_position_bias.pairs_logit import NO_FIT, ONE_SCORE, fit_pairs
from studies.rubric_position_bias.shares_logit import fit_shares
from tests.studies.rubric_position_bias.planted import planted, planted_items

QUICK = Inference(resamples=100, permutations=200)
PRIOR = np.array([0.5, 0.1, -0.1, -0.2, -0.3])


def of_judge(seed: int = 0, items: int = 60, alpha=PRIOR, sharpness: float = 2.0, **more) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = planted_items(items, rng, clusters=items // 2)
    return planted(table, 5, "balanced", alpha, 0.1, sharpness, rng, **more)


def rows_of(judgements: pd.DataFrame) -> pd.DataFrame:
    return logit_rows(judgements, np.random.default_rng(0), QUICK)


def arms_of(judgements: pd.DataFrame) -> pd.DataFrame:
    return logit.arm_rows(judgements, np.random.default_rng(0), QUICK)


def temperatures_of(judgements: pd.DataFrame) -> pd.DataFrame:
    return logit.temperature_rows(judgements, np.random.default_rng(0), QUICK)


def named(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.set_index(["quantity", "condition"])


def test_rows_are_the_fits():
    judgements = of_judge(unparsed=0.1)
    laid = grid(judgements)
    pairs, shares, rows = fit_pairs(laid), fit_shares(laid), named(rows_of(judgements))
    assert [rows.loc[("alpha", f"place {p}"), "value"] for p in range(1, 6)] == pytest.approx(
        list(pairs.alpha)
    )
    assert [rows.loc[("beta", f"score {s}"), "value"] for s in range(1, 6)] == pytest.approx(
        list(shares.beta)
    )
    sd = rows.loc[("sd_alpha", "balanced")]
    assert (sd["value"], sd["p"]) == pytest.approx((pairs.sd_alpha, pairs.wald()[1]))
    # Student's t on 29 degrees of freedom at 0.975 is 2.0452.
    assert sd["ci_high"] - sd["value"] == pytest.approx(2.0452 * pairs.sd_se, rel=1e-4)
    paper = rows.loc[("lr_shares", "balanced")]
    assert (paper["value"], paper["p"]) == pytest.approx((shares.lr, shares.p))
    assert rows.loc[("lr", "balanced"), "value"] == pytest.approx(pairs.lr)
    first = rows.iloc[0]
    assert (first["n_items"], first["n_clusters"], first["k"]) == (60, 30, 10)
    assert first["n_trials"] + first["n_unparsed"] == 600 and first["n_unparsed"] > 30


def test_only_balanced_score_options_count():
    judgements = of_judge()
    more = [judgements.assign(strategy="random"), judgements.assign(setting="criteria"), judgements]
    pd.testing.assert_frame_equal(rows_of(pd.concat(more)), rows_of(judgements))


def test_cells_do_not_depend_on_each_other():
    one, other = of_judge(judge="one"), of_judge(1, judge="other", scheme="prose")
    both = rows_of(pd.concat([other, one]))
    alone = rows_of(one)
    kept = both[both["judge"] == "one"].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, alone)


def test_the_family_is_the_main_design():
    cells = [
        of_judge(judge="one"),
        of_judge(1, alpha=0.0, judge="two"),
        of_judge(2, judge="one", scheme="prose"),
    ]
    found = rows_of(pd.concat(cells)).query("quantity == 'sd_alpha'").set_index(["judge", "scheme"])
    p = found["p"]
    assert found.loc[("one", "base"), "p_holm"] == pytest.approx(2 * p[("one", "base")])
    assert found.loc[("two", "base"), "p_holm"] == pytest.approx(
        max(p[("two", "base")], 2 * p[("one", "base")])
    )
    assert np.isnan(found.loc[("one", "prose"), "p_holm"])


def test_without_bias_the_interval_reaches_down_to_0():
    found = named(rows_of(of_judge(alpha=0.0)))
    sd = found.loc[("sd_alpha", "balanced")]
    assert sd["p"] > 0.05 and sd["ci_low"] == 0 and sd["value"] > 0
    assert sd["null_low"] < sd["value"] < sd["null_high"] < sd["mde"] * 2
    assert found.loc[("score_test", "balanced"), "p"] > 0.05


def test_a_prior_is_found_and_in_its_interval():
    found = named(rows_of(of_judge(items=200)))
    sd = found.loc[("sd_alpha", "balanced")]
    assert sd["ci_low"] < PRIOR.std() < sd["ci_high"]
    assert sd["ci_low"] > sd["null_high"] and sd["p"] < 1e-6
    assert found.loc[("score_test", "balanced"), "p"] == pytest.approx(1 / 201)  # none of 200 is as far


@pytest.mark.parametrize(("alpha", "found"), [(0.0, False), (PRIOR, True)])
def test_the_paper_s_form_has_a_test_and_an_interval_that_agree(alpha, found):
    judgements = of_judge(alpha=alpha, items=120)
    sd = named(rows_of(judgements)).loc[("sd_alpha_shares", "balanced")]
    assert sd["p"] == fit_shares(grid(judgements)).wald()[1]
    assert bool(sd["p"] <= 0.05) is bool(sd["ci_low"] > 0) is found


def test_one_score():
    found = named(rows_of(of_judge().assign(score=3.0)))
    for quantity in ("sd_alpha", "lr"):
        assert np.isnan(found.loc[(quantity, "balanced"), "value"])
        assert found.loc[(quantity, "balanced"), "note"] == ONE_SCORE
    assert found.loc[("lr_shares", "balanced"), "note"] == NO_FIT
    test = found.loc[("score_test", "balanced")]
    assert (test["value"], test["p"]) == pytest.approx((0, 1))
    assert found.loc["alpha"][["value", "ci_low", "ci_high"]].isna().all(axis=None)


def test_one_place_is_no_fit_and_yet_found():
    judgements = of_judge()
    judgements = judgements.assign(score=judgements["order"].str[0].astype(float))
    found = named(rows_of(judgements))
    sd = found.loc[("sd_alpha", "balanced")]
    assert sd[["value", "ci_low", "ci_high", "p", "mde"]].isna().all() and sd["note"] == NO_FIT
    assert found.loc[("score_test", "balanced"), "p"] == pytest.approx(1 / 201)


def test_no_answers():
    found = rows_of(of_judge().assign(score=np.nan))
    assert found[["value", "ci_low", "ci_high", "p"]].isna().all(axis=None)
    assert (found["n_trials"] == 0).all() and (found["n_unparsed"] == 600).all()
    assert rows_of(of_judge().iloc[:0]).empty


def test_a_score_that_is_never_given_has_no_leniency():
    judgements = of_judge()
    found = named(rows_of(judgements.assign(score=judgements["score"].clip(upper=4))))
    assert found.loc[("beta", "score 5"), "note"] == "n/a: never given"
    assert np.isnan(found.loc[("beta", "score 5"), "value"])
    assert np.isfinite(found.loc[("sd_alpha_shares", "balanced"), "value"])


# --- Tests by permutation ---------------------------------------------------------------------------


def test_the_score_test_is_a_mahalanobis_distance():
    rng = np.random.default_rng(0)
    null = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 3))
    counts = np.array([1.0, -2.0, 0.5])
    every = np.vstack([counts, null])
    inverse = np.linalg.inv(np.cov(every.T))
    distances = [mahalanobis(row, every.mean(axis=0), inverse) ** 2 for row in every]
    found, p = score_test(counts, null)
    assert found == pytest.approx(distances[0])
    assert p == (1 + np.sum(np.array(distances[1:]) >= distances[0])) / 51


def test_one_step_by_hand():
    # Two options: information is 4 x (1, -1; -1, 1) for 4 items that differ, as x = (2, -2), weight 1, / 4.
    # A null count of (7, 3) against its mean (5, 5): slope (2, -2), so that alpha = (1/4, -1/4), sd 1/4.
    judgements = pd.DataFrame(
        {
            "item": np.repeat(list("abcd"), 2),
            "cluster": np.repeat(list("abcd"), 2),
            "draw": [0, 1] * 4,
            "order": ["12", "21"] * 4,
            "score": [1.0, 2, 1, 2, 1, 2, 2, 1],
        }
    )
    fit = fit_pairs(grid(judgements))
    assert fit.information == pytest.approx(np.array([[4, -4], [-4, 4]]))
    assert one_step_sd(fit, np.array([[7.0, 3.0], [3.0, 7.0]])) == pytest.approx([0.25, 0.25])


@pytest.mark.parametrize("sources", [6, 12, 100])
def test_what_could_be_found_is_found_with_a_power_of_80_percent(sources):
    """10,000 draws of an estimate and its covariance, were the sd just what the row says could be found."""
    fit = fit_pairs(grid(of_judge(items=2 * sources)))
    mde = sd_row(fit, QUICK)["mde"]
    # A covariance of v (I - 1/n) is v I in the four coordinates beside the mean, and n sd^2 the square of
    # their vector, which may point anywhere.
    v = np.trace(fit.cov) / 4
    rng = np.random.default_rng(0)
    means = np.array([np.sqrt(5) * mde, 0, 0, 0]) + np.sqrt(v) * rng.normal(size=(10_000, 4))
    covariances = stats.wishart(sources - 1, v * np.eye(4) / (sources - 1)).rvs(10_000, rng)
    wald = (means * np.linalg.solve(covariances, means[..., None])[..., 0]).sum(axis=1)
    scaled = wald * (sources - 4) / (4 * (sources - 1))  # as `PairsFit.wald`
    assert np.mean(stats.f.sf(scaled, 4, sources - 4) <= 0.05) == pytest.approx(0.8, abs=0.015)


@pytest.mark.parametrize("sources", [3, 4])
def test_too_few_sources_for_a_test_have_no_mde(sources):
    row = sd_row(fit_pairs(grid(of_judge(items=2 * sources, alpha=0.0, sharpness=0.5))), QUICK)
    assert np.isfinite(row["value"]) and np.isnan(row["mde"]) and np.isnan(row["p"])


def test_over_200_unbiased_judges_all_tests_keep_their_level():
    """200 simulated data sets without bias: rejections by the exact test, and by the robust ones."""
    whole = grid(planted(200 * 40, 5, "balanced", 0.0, 0.2, 2.0, np.random.default_rng(6)))
    rng = np.random.default_rng(7)
    exact, robust, paper = [], [], []
    for start in range(0, 200 * 40, 40):
        laid = of_items(whole, np.arange(start, start + 40))
        exact.append(score_test(position_counts(laid), permutation_null(laid, rng, 99))[1] <= 0.05)
        robust.append(fit_pairs(laid).wald()[1] <= 0.05)
        paper.append(fit_shares(laid).wald()[1] <= 0.05)
    for rejected in (exact, robust, paper):  # a standard error of 0.015
        assert 0.01 < np.mean(rejected) < 0.10


def test_sources_of_their_own_mind_mislead_the_likelihood_ratio_only():
    """40 data sets of 25 sources, each with a prior of its own, which average 0: do they share one?"""
    rng = np.random.default_rng(8)
    like = grid(planted(6 * 25, 5, "balanced", 0.0, 0.0, 1.0, rng))
    sources = np.arange(6 * 25) // 6
    likelihood, robust = [], []
    for _ in range(40):
        own = rng.normal(0, 0.5, (25, 5))[sources]
        content = -((np.arange(1, 6) - rng.uniform(1, 5, (150, 1))) ** 2)
        utility = content[:, None] + np.take_along_axis(
            own[:, None], like.positions().astype(int) - 1, axis=2
        )
        scores = (utility + rng.gumbel(size=utility.shape)).argmax(axis=2) + 1.0
        fit = fit_pairs(replace(like, scores=scores, clusters=sources))
        likelihood.append(fit.lr > 9.49)
        robust.append(fit.wald()[1] < 0.05)
    assert np.mean(likelihood) > 0.3
    assert np.mean(robust) < 0.15


# --- Side by side -----------------------------------------------------------------------------------


def in_arms(scales: dict[str, float], judges=("one", "two"), items: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = planted_items(items, rng, clusters=items // 2)
    return pd.concat(
        planted(table, 5, "balanced", PRIOR * scale * 2, 0.1, 2.0, rng, judge=judge, scheme=scheme)
        for judge in judges
        for scheme, scale in scales.items()
    )


def test_arms_by_hand():
    judgements = in_arms({"base": 1.0, "anchor": 0.5}, judges=["one"])
    rows = named(arms_of(judgements))
    fits = {scheme: fit_pairs(grid(cell)) for scheme, cell in judgements.groupby("scheme")}
    base, anchor = fits["base"], fits["anchor"]
    assert rows.loc[("sd_alpha", "base"), "value"] == pytest.approx(base.sd_alpha)
    difference = rows.loc[("sd_alpha_difference", "anchor - base")]
    assert difference["value"] == pytest.approx(anchor.sd_alpha - base.sd_alpha)
    # The same items in both: a source moves the difference by the difference of what it moves.
    moves = pd.Series(anchor.sd_influence - base.sd_influence).groupby(np.arange(60) // 2).sum()
    error = np.sqrt((moves**2).sum() * 30 / 29)
    assert difference["ci_high"] - difference["value"] == pytest.approx(2.0452 * error, rel=1e-4)
    assert difference["mde"] == pytest.approx((2.0452 + 0.8416) * error, rel=1e-4)
    ratio = rows.loc[("sd_alpha_ratio", "anchor / base")]
    assert ratio["value"] == pytest.approx(anchor.sd_alpha / base.sd_alpha)
    assert ratio["ci_low"] * ratio["ci_high"] == pytest.approx(ratio["value"] ** 2)  # even on the log scale
    assert (difference["n_items"], difference["n_clusters"], difference["n_trials"]) == (60, 30, 1200)


def test_an_arm_against_itself_is_no_different():
    judgements = in_arms({"base": 1.0}, judges=["one"])
    twin = named(arms_of(pd.concat([judgements, judgements.assign(scheme="prose")])))
    difference = twin.loc[("sd_alpha_difference", "prose - base")]
    assert difference["value"] == pytest.approx(0, abs=1e-12)
    assert twin.loc[("sd_alpha_ratio", "prose / base"), "value"] == pytest.approx(1)


def test_the_mean_is_over_judges_that_were_asked_under_all_arms():
    judgements = in_arms({"base": 1.0, "prose": 1.2, "anchor": 0.5}, judges=("one", "two", "three"))
    lacking = judgements[(judgements["judge"] != "three") | (judgements["scheme"] != "anchor")]
    rows = arms_of(lacking)
    sds = rows[rows["quantity"] == "sd_alpha"].pivot(index="judge", columns="condition", values="value")
    for arm in ("base", "prose", "anchor"):
        assert sds.loc[ALL, arm] == pytest.approx(sds.loc[["one", "two"], arm].mean())
    ratio = named(rows[rows["judge"] == ALL]).loc[("sd_alpha_ratio", "anchor / base")]
    assert ratio["value"] == pytest.approx(sds.loc[ALL, "anchor"] / sds.loc[ALL, "base"])
    # The judges were asked about the same sources, which count once.
    assert ratio["n_clusters"] == 30


def stuck_on_a_place(judgements: pd.DataFrame, judge: str) -> pd.DataFrame:
    """One judge always takes what stands first: no bias is larger, and it has no finite fit."""
    first = judgements["order"].str[0].astype(float)
    return judgements.assign(score=judgements["score"].mask(judgements["judge"] == judge, first))


def test_a_mean_says_which_cells_it_lacks():
    judgements = in_arms({"base": 1.0, "prose": 1.2}, judges=("one", "two", "three"))
    of_all = arms_of(judgements).query("judge == @ALL")
    assert (of_all["n_cells"] == 3).all() and set(of_all["note"]) == {""}
    rows = arms_of(stuck_on_a_place(judgements, "three"))
    fewer = rows[rows["judge"] == ALL]
    assert len(fewer) == len(of_all) and (fewer["n_cells"] == 2).all()
    assert fewer["note"].str.startswith("mean over 2 of 3 cells").all()
    assert rows.loc[rows["judge"] != ALL, "n_cells"].isna().all()


@pytest.mark.parametrize("judges", [["one"], ["one", "two", "three"]])
def test_no_ratio_to_a_base_without_a_prior(judges):
    rows = arms_of(in_arms({"base": 0.0, "prose": 1.0}, judges=judges))
    rows = named(rows[rows["judge"] == (ALL if len(judges) > 1 else "one")])
    ratio = rows.loc[("sd_alpha_ratio", "prose / base")]
    assert np.isnan(ratio["value"]) and ratio["note"] == NO_PRIOR
    assert rows.loc[("sd_alpha_difference", "prose - base"), "ci_low"] > 0


@pytest.mark.parametrize("judges", [["one"], ["one", "two", "three"]])
def test_every_sd_has_a_test_and_what_chance_would_show(judges):
    rows = arms_of(in_arms({"base": 0.0, "prose": 1.0}, judges=judges))
    rows = named(rows[rows["judge"] == (ALL if len(judges) > 1 else "one")])
    base, prose = rows.loc[("sd_alpha", "base")], rows.loc[("sd_alpha", "prose")]
    assert base["p"] > 0.05 and base["ci_low"] == 0 < base["null_low"] < base["null_high"]
    assert prose["p"] < 0.01 and prose["ci_low"] > prose["null_high"]


def test_means_without_bias_are_found_so_about_as_often_as_the_level_says():
    """60 data sets of two judges without bias, which err alike under an order: 12 sources of 2 items."""
    rng = np.random.default_rng(11)
    rejected = []
    for _ in range(60):
        table = planted_items(24, rng, clusters=12)
        one = planted(table, 5, "balanced", 0.0, 0.1, 2.0, rng)
        own = planted(table, 5, "balanced", 0.0, 0.1, 2.0, rng)["score"].to_numpy()
        twin = one.assign(score=np.where(rng.random(len(one)) < 0.7, one["score"], own))
        judges = pd.concat([one.assign(judge="one"), twin.assign(judge="two")])
        arms = pd.concat([judges, judges.assign(scheme="prose")])
        of_all = arms_of(arms).query("judge == @ALL and quantity == 'sd_alpha' and condition == 'base'")
        rejected += list(of_all["p"] <= 0.05)
    assert len(rejected) > 50 and np.mean(rejected) < 0.13  # a standard error of 0.028


def test_an_arm_without_a_fit_is_not_compared():
    judgements = in_arms({"base": 1.0, "prose": 1.0}, judges=["one"])
    stuck = judgements.assign(score=judgements["score"].where(judgements["scheme"] == "base", 3.0))
    rows = named(arms_of(stuck))
    assert rows.loc[("sd_alpha", "prose"), "note"] == ONE_SCORE
    for quantity, condition in (("sd_alpha_difference", "prose - base"), ("sd_alpha_ratio", "prose / base")):
        row = rows.loc[(quantity, condition)]
        assert row[["value", "ci_low", "ci_high", "p", "mde"]].isna().all() and row["note"] == NO_FIT


def of_some(judgements: pd.DataFrame, items: slice) -> pd.DataFrame:
    """Judgements of which the arm prose has an answer to some items alone."""
    lost = (judgements["scheme"] == "prose") & ~judgements["item"].isin(judgements["item"].unique()[items])
    return judgements.assign(score=judgements["score"].mask(lost))


def test_arms_are_compared_on_the_items_that_both_answered():
    judgements = of_some(in_arms({"base": 1.0, "prose": 1.2}), slice(20))
    rows = arms_of(judgements)
    few = judgements[judgements["item"].isin(judgements["item"].unique()[:20])]
    pd.testing.assert_frame_equal(compared(rows), compared(arms_of(few)))
    of_one = named(rows[rows["judge"] == "one"])
    difference = of_one.loc[("sd_alpha_difference", "prose - base")]
    assert (difference["n_items"], difference["n_clusters"], difference["n_trials"]) == (20, 10, 400)
    # The base alone is on all of its items.
    everything = judgements[(judgements["judge"] == "one") & (judgements["scheme"] == "base")]
    alone = of_one.loc[("sd_alpha", "base")]
    assert alone["n_items"] == 60
    assert alone["value"] == pytest.approx(fit_pairs(grid(everything)).sd_alpha)
    together = named(rows[rows["judge"] == ALL]).loc[("sd_alpha_difference", "prose - base")]
    assert together["value"] == pytest.approx(
        compared(rows).query("judge != @ALL and quantity == 'sd_alpha_difference'")["value"].mean()
    )
    assert (together["n_items"], together["n_clusters"]) == (40, 10)


def compared(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["quantity"].isin(["sd_alpha_difference", "sd_alpha_ratio"])].reset_index(drop=True)


def test_an_item_s_criteria_are_items_of_their_own():
    one = in_arms({"base": 1.0, "prose": 1.0}, judges=["one"], items=40)
    both = pd.concat([one.assign(criterion="relevance"), one.assign(criterion="fluency")])
    kept = both[(both["scheme"] == "base") | (both["criterion"] == "fluency")]
    rows = compared(arms_of(kept))
    assert list(rows["n_items"]) == [40, 40]
    assert list(rows["value"]) == pytest.approx(list(compared(arms_of(one))["value"]))


def test_arms_without_a_common_item_are_not_compared():
    judgements = in_arms({"base": 1.0, "prose": 1.0}, judges=["one"])
    first = judgements["item"].isin(judgements["item"].unique()[:30])
    rows = compared(arms_of(judgements[first == (judgements["scheme"] == "base")]))
    assert rows[["value", "ci_low", "ci_high", "p", "mde"]].isna().all(axis=None)
    assert (rows["note"] == NO_FIT).all() and (rows[["n_items", "n_clusters"]] == 0).all(axis=None)


def test_an_arm_of_fewer_items_differs_no_more_often_than_by_chance():
    """100 simulated data sets of no bias: base 12 sources of 3 items, the other arm 6 of them with 1."""
    rng = np.random.default_rng(9)
    table = planted_items(100 * 36, rng, clusters=100 * 12)
    place = pd.DataFrame({"item": table["item"], "source": np.arange(len(table)) // 3})
    place["judge"] = (place["source"] // 12).astype(str)
    asked = place.loc[(place["source"] % 12 < 6) & ~place["source"].duplicated(), "item"]
    base, prose = (
        planted(table, 5, "balanced", 0.0, 0.1, 2.0, rng, scheme=scheme)
        .drop(columns="judge")
        .merge(place, on="item")
        for scheme in ("base", "prose")
    )
    rows = arms_of(pd.concat([base, prose[prose["item"].isin(asked)]]))
    found = rows[(rows["quantity"] == "sd_alpha_difference") & (rows["judge"] != ALL)]
    assert len(found) == 100 and set(found["n_items"]) == set(found["n_clusters"]) == {6}
    assert found["value"].notna().mean() > 0.9
    assert np.mean(found["p"] <= 0.05) < 0.08  # about 0.16 on all items of each arm


def test_arms_need_a_base():
    assert arms_of(in_arms({"prose": 1.0, "anchor": 1.0}, judges=["one"])).empty
    assert arms_of(in_arms({"base": 1.0}, judges=["one"])).empty


def test_temperatures_and_efforts():
    base = in_arms({"base": 1.0}, judges=["one"]).assign(effort="low")
    hot, hard = base.assign(temperature=0.6), base.assign(effort="high")
    rows = named(temperatures_of(pd.concat([hot, hard, base])))
    assert ("sd_alpha_difference", "0.6 - 0") in rows.index
    assert ("sd_alpha_difference", "high - low") in rows.index
    of_effort = rows.loc[("sd_alpha_difference", "high - low")]
    assert (of_effort["effort"], of_effort["temperature"]) == ("high", 0)
    # Without efforts there are no such rows.
    plain = base.assign(effort="")
    assert set(temperatures_of(pd.concat([plain, plain.assign(temperature=1.0)]))["condition"]) == {
        "0", "1", "1 - 0", "1 / 0",
    }  # fmt: skip
