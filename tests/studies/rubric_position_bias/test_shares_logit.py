"""The paper's conditional logit: against statsmodels, where it fails, and how far it can be trusted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.discrete.conditional_models import ConditionalLogit

from studies.rubric_position_bias.first_token import of_items
from studies.rubric_position_bias.grid import Grid, grid
from studies.rubric_position_bias.orders import balanced
from studies.rubric_position_bias.pairs_logit import fit_pairs
from studies.rubric_position_bias.shares_logit import SMOOTHING, Fit, fit_shares
from tests.studies.rubric_position_bias.planted import planted, planted_items

PRIOR = np.array([0.5, 0.1, -0.1, -0.2, -0.3])


def some_judge(seed: int = 0, items: int = 40, sharpness: float = 2.0, size: int = 5, **more) -> Grid:
    rng = np.random.default_rng(seed)
    table = planted_items(items, rng, clusters=items // 2)
    return grid(planted(table, size, "balanced", PRIOR[:size], 0.1, sharpness, rng, **more))


def long_form(laid: Grid) -> pd.DataFrame:
    """One row an option of each trial, with its columns of the model written out."""
    rows = []
    places = laid.positions()
    for item, scores in enumerate(laid.scores):
        answered = [int(score) for score in scores if not np.isnan(score)]
        for draw, score in enumerate(scores):
            if np.isnan(score) or len(answered) < 2:
                continue
            for option in range(1, laid.size + 1):
                others = answered.count(option) - (option == score)
                share = (others + SMOOTHING) / (len(answered) - 1 + laid.size * SMOOTHING)
                columns = {f"beta_{s}": float(option == s) for s in range(1, laid.size)}
                columns |= {
                    f"alpha_{p}": float(places[item, draw, option - 1] == p) for p in range(1, laid.size)
                }
                trial = {"trial": (item, draw), "item": item, "chosen": int(option == score)}
                rows.append(trial | {"content": np.log(share)} | columns)
    return pd.DataFrame(rows)


@pytest.mark.parametrize("unparsed", [0.0, 0.15])
def test_it_equals_statsmodels_conditional_logit(unparsed):
    laid = some_judge(items=16, size=3, unparsed=unparsed)
    table = long_form(laid)
    names = [name for name in table if name not in ("trial", "item", "chosen")]
    groups = pd.factorize(table["trial"])[0]
    full = ConditionalLogit(table["chosen"], table[names], groups=groups).fit(disp=0, gtol=1e-9)
    null_names = [name for name in names if not name.startswith("alpha")]
    null = ConditionalLogit(table["chosen"], table[null_names], groups=groups).fit(disp=0, gtol=1e-9)
    found = fit_shares(laid)
    for ours, theirs in ((found.beta, "beta"), (found.alpha, "alpha")):
        last = np.append(full.params.filter(like=theirs), 0.0)
        assert ours == pytest.approx(last - last.mean(), abs=1e-4)
    assert found.gamma == pytest.approx(full.params["content"], abs=1e-4)
    assert (found.loglik, found.loglik_null) == pytest.approx((full.llf, null.llf), abs=1e-6)
    assert found.lr == pytest.approx(2 * (full.llf - null.llf), abs=1e-5)
    assert found.p == pytest.approx(stats.chi2.sf(found.lr, 2))


def test_errors_are_the_sandwich_of_the_long_form():
    laid = some_judge(items=16, size=3)
    table, found = long_form(laid), fit_shares(laid)
    columns = table.drop(columns=["trial", "item", "chosen"]).to_numpy()
    fitted = np.concatenate(
        [[found.gamma], found.beta[:-1] - found.beta[-1], found.alpha[:-1] - found.alpha[-1]]
    )
    weights = np.exp(columns @ fitted).reshape(-1, 3)
    share = weights / weights.sum(axis=1, keepdims=True)
    stacked = columns.reshape(-1, 3, 5)
    apart = stacked - np.einsum("ts,tsc->tc", share, stacked)[:, None]
    information = np.einsum("ts,tsc,tsd->cd", share, apart, apart)
    slopes = np.einsum("ts,tsc->tc", table["chosen"].to_numpy().reshape(-1, 3), apart)
    sums = np.zeros((8, 5))
    np.add.at(sums, laid.clusters[table["item"].to_numpy()[::3]], slopes)
    inverse = np.linalg.inv(information)
    cov = inverse @ (sums.T @ sums) @ inverse * 8 / 7
    assert found.gamma_se == pytest.approx(np.sqrt(cov[0, 0]))
    centre = (np.eye(3) - 1 / 3)[:, :2]
    assert found.cov == pytest.approx(centre @ cov[3:, 3:] @ centre.T)
    assert found.beta_se == pytest.approx(np.sqrt(np.diag(centre @ cov[1:3, 1:3] @ centre.T)))
    slope = found.alpha / (3 * found.sd_alpha)
    assert found.sd_se == pytest.approx(np.sqrt(slope @ found.cov @ slope))


def test_a_score_that_is_never_given_is_left_out():
    # Its leniency is minus infinity; the others are as if it could not be chosen.
    laid = some_judge(items=60)
    found = fit_shares(replace(laid, scores=np.maximum(laid.scores, 2)))
    assert found.converged and np.isnan(found.beta[0]) and np.isfinite(found.beta[1:]).all()
    assert np.nansum(found.beta) == pytest.approx(0) and found.alpha.sum() == pytest.approx(0)


def nothing_fitted(found: Fit) -> bool:
    numbers = (
        found.gamma, found.beta, found.alpha, found.cov, found.loglik, found.loglik_null, found.lr, found.p,
        found.sd_alpha, found.sd_se, found.gamma_se, found.beta_se,
    )  # fmt: skip
    return not found.converged and all(np.isnan(number).all() for number in numbers)


def judged(score_of, items: int = 6) -> Grid:
    """A judge whose score is a function of item and order."""
    rows = [
        {
            "item": str(item),
            "cluster": str(item),
            "draw": draw,
            "order": order,
            "score": score_of(item, order),
        }
        for item in range(items)
        for draw, order in enumerate(balanced(5))
    ]
    return grid(pd.DataFrame(rows).astype({"score": float}))


@pytest.mark.parametrize(
    "score_of",
    [
        lambda item, order: 3,  # one score
        lambda item, order: int(order[0]),  # one place
        lambda item, order: 1 + item % 5,  # one score an item: content tells it without fail
        lambda item, order: np.nan,
        lambda item, order: 1 + item % 5 if order == "12345" else np.nan,  # one answer an item
    ],
)
def test_separated_answers_have_no_fit(score_of):
    assert nothing_fitted(fit_shares(judged(score_of)))


def test_no_items_have_no_fit():
    assert nothing_fitted(fit_shares(of_items(judged(lambda item, order: 3), np.arange(0))))


def test_the_sd_is_about_right_and_the_prior_bent():
    """What the docstring warns of: many items, and the estimate does not come nearer."""
    laid = some_judge(4, items=3000)
    shares, pairs = fit_shares(laid), fit_pairs(laid)
    assert shares.sd_alpha == pytest.approx(PRIOR.std(), rel=0.1)
    off = np.abs(shares.alpha - PRIOR) / np.sqrt(np.diag(shares.cov))
    assert off.max() > 3
    assert (np.abs(pairs.alpha - PRIOR) < 3.5 * np.sqrt(np.diag(pairs.cov))).all()


def test_over_200_unbiased_judges_its_likelihood_ratio_rejects_too_often():
    """200 simulated data sets without bias and with sharp content: the statistic averages more than its 4."""
    whole = grid(planted(200 * 60, 5, "balanced", 0.0, 0.0, 4.0, np.random.default_rng(5)))
    parts = [of_items(whole, np.arange(start, start + 60)) for start in range(0, 200 * 60, 60)]
    shares, pairs = np.array([(fit_shares(part).lr, fit_pairs(part).lr) for part in parts]).T
    assert shares.mean() > 4.25  # its standard error is sqrt(8 / 200) = 0.2
    assert 3.4 < pairs.mean() < 4.6
    assert shares.mean() > pairs.mean()
    assert np.mean(stats.chi2.sf(shares, 4) < 0.05) < 0.15  # off, but not useless
