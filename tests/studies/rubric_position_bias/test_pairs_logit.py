"""The position prior from pairs of orders: by hand, against statsmodels, and on judges of known priors."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.discrete.conditional_models import ConditionalLogit

from studies.rubric_position_bias.first_token import of_items
from studies.rubric_position_bias.grid import Grid, grid
from studies.rubric_position_bias.orders import balanced
from studies.rubric_position_bias.pairs_logit import NO_FIT, ONE_SCORE, PairsFit, fit_pairs
from tests.studies.rubric_position_bias.planted import planted, planted_items

PRIOR = np.array([0.5, 0.1, -0.1, -0.2, -0.3])


def laid_out(*items: dict[str, float], sources: str = "") -> Grid:
    """A grid of items, each the score that it got under each order; every item a source unless told."""
    names = sources or "abcdefghijklmnopqrstuvwxyz"[: len(items)]
    return grid(
        pd.DataFrame(
            {
                "item": [str(number) for number, item in enumerate(items) for _ in item],
                "cluster": [names[number] for number, item in enumerate(items) for _ in item],
                "draw": [draw for item in items for draw in range(len(item))],
                "order": [order for item in items for order in item],
                "score": [float(score) for item in items for score in item.values()],
            }
        )
    )


def parts(whole: Grid, items: int) -> list[Grid]:
    """A grid cut into data sets of so many items."""
    return [of_items(whole, np.arange(start, start + items)) for start in range(0, len(whole.items), items)]


def some_judge(seed: int = 0, items: int = 30, **more) -> Grid:
    rng = np.random.default_rng(seed)
    table = planted_items(items, rng, clusters=items // 3)
    return grid(planted(table, 5, "balanced", PRIOR, 0.1, 2.0, rng, **more))


def test_two_options_by_hand():
    # Orders 12 and 21. An item that gets 1 and 2 took the first place twice, one that gets 2 and 1 the last
    # twice; 1 and 1 tells nothing. 3 of 4 took the first: odds 3 = exp(2 (alpha_1 - alpha_2)), so that
    # alpha = (log 3) / 4 and its negative.
    first, last, same = {"12": 1, "21": 2}, {"12": 2, "21": 1}, {"12": 1, "21": 1}
    found = fit_pairs(laid_out(first, first, first, last, same))
    assert found.alpha == pytest.approx([np.log(3) / 4, -np.log(3) / 4])
    assert found.sd_alpha == pytest.approx(np.log(3) / 4)
    # Four items chose first, first; first, first; first, first; last, last: 6 and 2, the same one 1 and 1.
    # Evenly spread it would be 5 each: 7 - 5 = 2.
    assert found.score.tolist() == [2, -2]
    # log-likelihood: 3 log(3/4) + log(1/4) against 4 log(1/2).
    assert found.lr == pytest.approx(2 * (3 * np.log(0.75) + np.log(0.25) - 4 * np.log(0.5)))
    # Each item's slope in t = alpha_1 - alpha_2 is 2 (hit - 3/4): 1/2, 1/2, 1/2, -3/2 and 0, their squares
    # sum to 3; the information is 4 items x 4 x 3/16 = 3. So var(t) = 3 / 9 x 5 / 4 sources, alpha_1 = t / 2.
    assert found.cov[0, 0] == pytest.approx(3 / 9 * 5 / 4 / 4)
    assert found.sd_se == pytest.approx(np.sqrt(3 / 9 * 5 / 4 / 4))


def test_a_pair_by_hand():
    # Under 123 the answer is 1, under 231 it is 2: places 1 and 1. Exchanged it would be 2 under 123, place
    # 2, and 1 under 231, place 3. At alpha = 0 the slope is half of (2, -1, -1), with weight 2 / 2.
    found = fit_pairs(laid_out({"123": 1, "231": 2}))
    assert found.score.tolist() == [1, -0.5, -0.5]
    assert found.information == pytest.approx(np.outer([2, -1, -1], [2, -1, -1]) / 4)


def pairs_of(laid: Grid) -> pd.DataFrame:
    """Every pair of an item's answers that differ, twice: as given, and exchanged."""
    rows = []
    places = laid.positions().astype(int) - 1
    identity = np.eye(laid.size)
    for item, scores in enumerate(laid.scores):
        answered = np.flatnonzero(~np.isnan(scores))
        for one in answered:
            for other in answered[answered > one]:
                a, b = int(scores[one]) - 1, int(scores[other]) - 1
                if a != b:
                    at = places[item]
                    given_ = identity[at[one, a]] + identity[at[other, b]]
                    swapped = identity[at[one, b]] + identity[at[other, a]]
                    pair = {"pair": len(rows), "item": item, "weight": 2 / len(answered)}
                    rows.append(pair | {"given": given_, "swapped": swapped})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("unparsed", [0.0, 0.2])
def test_it_equals_statsmodels_logit_of_the_pairs(unparsed):
    laid = some_judge(unparsed=unparsed)
    pairs = pairs_of(laid)
    terms = np.stack(pairs["given"]) - np.stack(pairs["swapped"])
    family = sm.families.Binomial()
    model = sm.GLM(np.ones(len(pairs)), terms[:, :-1], family=family, freq_weights=pairs["weight"])
    oracle = model.fit(tol=1e-12)
    found = fit_pairs(laid)
    alpha = np.append(oracle.params, 0.0)
    assert found.alpha == pytest.approx(alpha - alpha.mean(), abs=1e-8)
    nothing = -np.log(2) * pairs["weight"].sum()
    assert found.lr == pytest.approx(2 * (oracle.llf - nothing), abs=1e-6)
    # The sandwich: slopes summed by source, between the model's own covariances.
    slopes = (pairs["weight"].to_numpy() * (1 - oracle.fittedvalues))[:, None] * terms[:, :-1]
    sums = pd.DataFrame(slopes).groupby(laid.clusters[pairs["item"]]).sum().to_numpy()
    c, centre = laid.n_clusters, (np.eye(5) - 0.2)[:, :4] @ oracle.cov_params()
    assert found.cov == pytest.approx(centre @ sums.T @ sums @ centre.T * c / (c - 1), abs=1e-8)


def test_two_orders_equal_the_conditional_logit():
    laid = some_judge(items=90, k=2)
    pairs = pairs_of(laid)
    places = np.vstack([np.stack(pairs["given"]), np.stack(pairs["swapped"])])
    chosen = np.repeat([1, 0], len(pairs))
    model = ConditionalLogit(chosen, places[:, :-1], groups=np.tile(np.arange(len(pairs)), 2))
    found = fit_pairs(laid)
    ours = found.alpha[:-1] - found.alpha[-1]
    assert model.score(ours) == pytest.approx(np.zeros(4), abs=1e-6)  # their top is where ours is
    assert found.lr == pytest.approx(2 * (model.loglike(ours) - model.loglike(np.zeros(4))))
    assert model.fit(disp=0).params == pytest.approx(ours, abs=1e-3)


def test_the_score_is_the_counts_less_what_the_scores_give_over_the_orders():
    laid = some_judge(unparsed=0.1)
    expected, observed = np.zeros(5), np.zeros(5)
    for scores, places in zip(laid.scores, laid.positions().astype(int) - 1, strict=True):
        answered = np.flatnonzero(~np.isnan(scores))
        for draw in answered:
            option = int(scores[draw]) - 1
            observed[places[draw, option]] += 1
            np.add.at(expected, places[answered, option], 1 / len(answered))
    assert fit_pairs(laid).score == pytest.approx(observed - expected)


def test_content_and_leniency_leave_the_estimate_alone():
    # Whatever is added to an item's utility of a score is in both orders: only which answers come changes.
    rng = np.random.default_rng(1)
    items = planted_items(1500, rng)
    for beta, sharpness in ((0.0, 0.0), (np.linspace(-1, 1, 5), 0.3), (0.0, 3.0)):
        found = fit_pairs(grid(planted(items, 5, "balanced", PRIOR, beta, sharpness, rng)))
        errors = np.sqrt(np.diag(found.cov))
        assert (np.abs(found.alpha - PRIOR) < 4 * errors).all()
        assert errors.max() < 0.07


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(5)), st.integers(0, 5))
def test_renaming_options_changes_nothing(names, seed):
    laid = some_judge(seed, items=12)
    renamed = np.array(names) + 1
    other = replace(
        laid,
        scores=renamed[laid.scores.astype(int) - 1].astype(float),
        orders=renamed[laid.orders.astype(int) - 1].astype(np.int8),
    )
    before, after = fit_pairs(laid), fit_pairs(other)
    assert after.alpha == pytest.approx(before.alpha, abs=1e-8, nan_ok=True)
    assert after.cov == pytest.approx(before.cov, abs=1e-8, nan_ok=True)


def test_the_prompt_upside_down_turns_the_prior_over():
    laid = some_judge()
    turned = replace(laid, orders=laid.orders[..., ::-1])
    assert fit_pairs(turned).alpha == pytest.approx(fit_pairs(laid).alpha[::-1])


def test_items_twice_in_their_sources_change_no_estimate_and_no_error():
    laid = some_judge(items=12)
    doubled = of_items(laid, np.tile(np.arange(12), 2))
    before, after = fit_pairs(laid), fit_pairs(doubled)
    assert after.alpha == pytest.approx(before.alpha) and after.cov == pytest.approx(before.cov)
    assert after.lr == pytest.approx(2 * before.lr)  # which takes the copies for news


def test_the_sds_error_is_the_slope_of_the_sd():
    found = fit_pairs(some_judge())
    # d sd / d alpha_p = (alpha_p - mean) / (n sd), alpha having mean 0.
    slope = found.alpha / (5 * found.sd_alpha)
    assert found.sd_se == pytest.approx(np.sqrt(slope @ found.cov @ slope))
    step = 1e-6 * found.influence[3]
    moved = np.std(found.alpha + step) - found.sd_alpha
    assert found.sd_influence[3] == pytest.approx(moved / 1e-6, rel=1e-3)


def test_the_wald_test_is_hotellings():
    found = fit_pairs(some_judge())
    drop = found.alpha[:-1] @ np.linalg.solve(found.cov[:-1, :-1], found.alpha[:-1])
    w, p = found.wald()
    assert w == pytest.approx(drop)  # any four of the five that sum to 0
    assert p == pytest.approx(stats.f.sf(w * (10 - 4) / (4 * 9), 4, 6))


def nothing_fitted(found: PairsFit) -> bool:
    numbers = (found.alpha, found.cov, found.influence, found.sd_alpha, found.sd_se, found.lr, found.wald())
    return not found.converged and all(np.isnan(number).all() for number in numbers)


def test_one_score_has_no_fit():
    always = {order: 3 for order in balanced(5)}
    found = fit_pairs(laid_out(always, always))
    assert nothing_fitted(found) and found.note == ONE_SCORE
    assert found.score == pytest.approx(np.zeros(5))


def test_one_score_an_item_has_no_fit():
    found = fit_pairs(laid_out({order: 3 for order in balanced(5)}, {order: 4 for order in balanced(5)}))
    assert nothing_fitted(found) and found.note == ONE_SCORE


@pytest.mark.parametrize("place", [0, 2])
def test_one_place_has_no_fit(place):
    items = [{order: int(order[place]) for order in balanced(5)} for _ in range(6)]
    found = fit_pairs(laid_out(*items))
    assert nothing_fitted(found) and found.note == NO_FIT
    # But how far the counts are from even is known: 60 choices of one place, of which 12 would do.
    assert found.score == pytest.approx(np.where(np.arange(5) == place, 48, -12))


def test_a_place_that_no_answer_compares_leaves_no_fit():
    # Only 123 and 213 are shown: what stands third never moves.
    found = fit_pairs(laid_out({"123": 1, "213": 2}, {"123": 2, "213": 1}, {"123": 1, "213": 2}))
    assert nothing_fitted(found) and found.note == NO_FIT


def test_too_few_answers_have_no_fit():
    single = laid_out({"123": 1}, {"231": 2})
    assert nothing_fitted(fit_pairs(single))
    lost = laid_out({"123": 1, "231": float("nan")}, {"123": float("nan"), "231": float("nan")})
    assert nothing_fitted(fit_pairs(lost)) and fit_pairs(lost).n_clusters == 1


def test_a_single_source_has_a_prior_without_an_error():
    laid = some_judge(items=30)
    found = fit_pairs(replace(laid, clusters=np.zeros(30, int)))
    assert found.converged and np.isfinite(found.alpha).all()
    assert np.isnan(found.cov).all() and np.isnan(found.sd_se) and np.isnan(found.wald()).all()


def test_nine_options_and_random_orders():
    rng = np.random.default_rng(2)
    alpha = np.linspace(0.6, -0.6, 9)
    for strategy in ("balanced", "random"):
        found = fit_pairs(grid(planted(250, 9, strategy, alpha, 0.0, 0.5, rng)))
        assert (np.abs(found.alpha - alpha) < 4 * np.sqrt(np.diag(found.cov))).all()


def test_over_200_judges_intervals_cover_and_the_test_keeps_its_level():
    """Two hundred simulated data sets each: with this prior, and with none."""
    rng = np.random.default_rng(3)
    biased, unbiased = (
        [fit_pairs(part) for part in parts(grid(planted(200 * 60, 5, "balanced", prior, 0.2, 2.0, rng)), 60)]
        for prior in (PRIOR, 0.0)
    )
    critical = stats.t.ppf(0.975, 59)
    covered = [np.abs(fit.alpha - PRIOR) < critical * np.sqrt(np.diag(fit.cov)) for fit in biased]
    rejected = [fit.wald()[1] < 0.05 for fit in unbiased]
    # 1,000 intervals, dependent by five: a standard error of 0.015 at most. 200 tests: 0.015.
    assert 0.91 < np.mean(covered) < 0.99
    assert 0.01 < np.mean(rejected) < 0.10
