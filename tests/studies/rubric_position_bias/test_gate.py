"""The gate on judges whose competence is known, and its test against all exchanges and against scipy."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shared.metrics.permutation import permutation_p
from shared.metrics.resampling import Inference
from studies.rubric_position_bias.gate import exchanged, gate, gate_rows
from tests.studies.rubric_position_bias.planted import planted, planted_criteria, planted_items

QUICK = Inference(resamples=200, permutations=500)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def judged(items=30, alpha=0.0, sharpness=1.0, **names) -> pd.DataFrame:
    return planted(items, 5, "balanced", alpha, 0, sharpness, rng(1), **names)


# --- Verdicts ---------------------------------------------------------------------------------------


def test_a_judge_that_follows_the_content_passes():
    result = gate(judged(), rng(), QUICK)
    assert result.verdict == "passed"
    assert result.p == 1 / 501  # no drawn exchange is as good
    assert result.follows.low > 0.3 and result.follows.n_clusters == 30
    assert result.constant_share.value < 0.5


def test_follows_is_spearmans_rho():
    frame = judged()
    by_item = frame.groupby("item")
    oracle = stats.spearmanr(by_item["score"].mean(), by_item["reference"].first()).statistic
    assert gate(frame, rng(), QUICK).follows.value == pytest.approx(oracle)


def test_always_the_same_score_fails():
    result = gate(judged().assign(score=3.0), rng(), QUICK)
    assert np.isnan(result.follows.value) and np.isnan(result.p)
    assert (result.constant_share.value, result.verdict) == (1, "failed")
    assert result.constant_share.low < 1


def test_always_the_first_place_fails():
    # Whatever stands first is chosen: over the balanced orders every item has the mean 3 and all scores.
    frame = judged()
    frame = frame.assign(score=frame["order"].str[0].astype(float), position=1.0)
    result = gate(frame, rng(), QUICK)
    assert np.isnan(result.follows.value)
    assert (result.constant_share.value, result.verdict) == (1, "failed")


def test_a_judge_that_guesses_fails():
    frame = judged(40)
    result = gate(frame.assign(score=rng(2).integers(1, 6, len(frame)).astype(float)), rng(), QUICK)
    assert result.p > 0.05 and result.verdict == "failed"


def test_a_judge_that_prefers_the_worse_fails():
    frame = judged()
    result = gate(frame.assign(score=6 - frame["score"]), rng(), QUICK)
    assert result.follows.value < -0.3 and result.p > 0.9 and result.verdict == "failed"


def test_few_clusters_are_too_few_to_tell():
    few = judged(8)
    guess = few.assign(score=rng(2).integers(1, 6, len(few)).astype(float))
    assert gate(guess, rng(), QUICK).verdict == "too few to tell"
    assert gate(judged(8, sharpness=10.0), rng(), QUICK).verdict == "passed"
    assert gate(judged(1), rng(), QUICK).verdict == "too few to tell"


def test_without_references_or_answers_there_is_nothing_to_tell():
    unreferenced = gate(judged().assign(reference=np.nan), rng(), QUICK)
    assert unreferenced.verdict == "too few to tell" and unreferenced.follows.n_clusters == 0
    nothing = gate(judged().assign(score=np.nan, position=np.nan), rng(), QUICK)
    assert nothing.verdict == "too few to tell" and np.isnan(nothing.constant_share.value)
    assert gate(judged().assign(strategy="fixed"), rng(), QUICK).verdict == "too few to tell"


def test_one_cell_at_a_time():
    both = pd.concat([judged(), judged(judge="another", scheme="cot")])
    with pytest.raises(ValueError, match="one cell at a time, not several of judge, scheme"):
        gate(both, rng(), QUICK)
    rows = gate_rows(both, rng(), QUICK)
    assert rows["verdict"].tolist() == ["passed"] * 4
    assert rows.loc[rows["quantity"] == "follows", "p"].notna().all()
    assert rows["n_trials"].tolist() == [300] * 4


def test_criteria_have_a_gate_of_their_own_scale():
    frame = planted_criteria(30, ("style", "content"), 0.0, rng())
    assert gate(frame, rng(), QUICK).verdict == "passed"
    # Where a criterion stood is no answer: its place has no part in constancy.
    assert gate(frame.assign(position=1.0), rng(), QUICK).constant_share.value < 1


# --- The exchanges ----------------------------------------------------------------------------------


def items(clusters, criteria) -> pd.DataFrame:
    return pd.DataFrame({"cluster": clusters, "criterion": criteria})


def test_single_items_are_permuted_like_scipys_pairings():
    x, y = rng(3).normal(size=7), rng(4).normal(size=7)
    null = exchanged(x, y, items(range(7), ["c"] * 7), 4000, rng())
    oracle = stats.permutation_test(
        (x,),
        lambda one: stats.spearmanr(one, y).statistic,
        permutation_type="pairings",
        alternative="greater",
        n_resamples=np.inf,
    )
    assert permutation_p(oracle.statistic, null) == pytest.approx(oracle.pvalue, abs=0.03)


def test_references_of_one_cluster_and_one_criterion_stay_together():
    # Clusters a and b, criteria s and t of two items each. The references of a criterion may be turned and,
    # together with those of the other, exchanged: 2 * 2^4 = 32 arrangements, where free ones were 8!.
    x = np.array([1.0, 2, 4, 8, 3, 7, 5, 6])
    y = np.array([3.0, 1, 7, 2, 8, 4, 6, 5])
    table = items([*"aaaabbbb"], [*"ssttsstt"])
    pairs = {(c, k): [i for i in range(8) if (table.iloc[i] == [c, k]).all()] for c in "ab" for k in "st"}
    allowed = set()
    for swapped, *turned in itertools.product([False, True], repeat=5):
        arranged = np.empty(8)
        for turn, ((cluster, criterion), places) in zip(turned, pairs.items(), strict=True):
            source = pairs[("b" if cluster == "a" else "a") if swapped else cluster, criterion]
            arranged[places] = y[source[::-1] if turn else source]
        allowed.add(round(stats.spearmanr(x, arranged).statistic, 9))
    null = exchanged(x, y, table, 3000, rng())
    assert set(null.round(9)) == allowed


def test_clusters_of_other_make_up_exchange_nothing():
    # One cluster of two items, one of three, one of a criterion of its own: only turns are left.
    x, y = np.arange(6.0), np.array([1.0, 2, 4, 5, 6, 3])
    table = items([*"aabbbc"], [*"sssss", "t"])
    null = exchanged(x, y, table, 2000, rng())
    # c keeps its reference; 2 turns times 3.
    assert len(set(null.round(9))) <= 6
    assert null.max() <= 1


def test_the_sequence_of_rows_says_nothing():
    # Candidates listed from worst to best in every cluster, by both: the turns start from a drawn sequence.
    x = y = np.tile([1.0, 2, 3], 12)
    table = items(np.repeat(range(12), 3), ["c"] * 36)
    assert permutation_p(1.0, exchanged(x, y, table, 2000, rng())) < 0.01


@pytest.mark.parametrize("shared", ["clusters", "candidates"])
def test_scores_that_have_nothing_to_do_with_references_pass_at_the_nominal_rate(shared):
    # Scores and references each have a part that all items of a cluster share, where free permutations of
    # items would reject far too often; or none.
    p = []
    for study in range(200):
        generator = rng(study)
        clusters = np.repeat(np.arange(15), 4)
        x, y = generator.normal(size=(2, 60))
        if shared == "clusters":
            x, y = (v + 2 * generator.normal(size=15)[clusters] for v in (x, y))
        rho = stats.spearmanr(x, y).statistic
        table = items(clusters, ["s", "s", "t", "t"] * 15)
        p.append(permutation_p(rho, exchanged(x, y, table, 200, generator)))
    rejected = np.mean(np.array(p) <= 0.05)
    assert 0.05 - 0.046 < rejected <= 0.05 + 0.046  # three standard errors of 200 studies


def test_a_planted_judge_passes_with_candidates_of_prompts():
    table = planted_items(96, rng(), clusters=24, criteria=("quality",))
    assert gate(planted(table, 5, "balanced", 0, 0, 1.0, rng()), rng(), QUICK).verdict == "passed"
