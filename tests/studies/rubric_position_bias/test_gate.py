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
    assert gate(judged(8, sharpness=2.0), rng(), QUICK).verdict == "passed"
    # Six of eight texts have one score, and a seventh or eighth might have had it too.
    alike = gate(judged(8, sharpness=10.0), rng(), QUICK)
    assert alike.p <= 0.05 and alike.constant_share.high == 1 and alike.verdict == "too few to tell"
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


def test_the_items_that_each_number_rests_on_are_counted():
    frame = judged()
    names = frame["item"].unique()
    lost = frame["item"].isin(names[:2])
    frame = frame.assign(
        score=frame["score"].mask(lost), reference=frame["reference"].mask(frame["item"] == names[5])
    )
    rows = gate_rows(frame, rng(), QUICK).set_index("quantity")
    assert rows.loc["follows", ["n_items", "n_clusters"]].tolist() == [27, 27]
    assert rows.loc["constant_share", ["n_items", "n_clusters"]].tolist() == [28, 28]
    assert list(rows.index) == ["follows", "constant_share"]
    criteria = gate_rows(planted_criteria(12, ("style", "content"), 0.0, rng()), rng(), QUICK)
    # An item is scored by two criteria.
    assert criteria["n_items"].tolist() == [24] * 3 and criteria["n_clusters"].tolist() == [12] * 3


def counting(share: float, items=30, form=(1, 2, 3, 4)) -> pd.DataFrame:
    """A judge that reads the text, but for a share of its answers, which are ``form`` by place."""
    frame = planted_criteria(items, ("a", "b", "c", "d"), 0.0, rng(), noise=0.3)
    trials = frame.groupby(["item", "draw"], sort=False).ngroup()
    counts = (rng(6).random(trials.max() + 1) < share)[trials]
    by_place = frame["position"].map(dict(enumerate(form, start=1))).astype(float)
    return frame.assign(score=frame["score"].mask(counts, by_place))


def test_a_judge_that_counts_fails():
    # Each single score is as rare as it can be, the mean follows the texts, and four in five answers are
    # 1, 2, 3, 4 whatever was asked.
    result = gate(counting(0.8), rng(), QUICK)
    assert result.p <= 0.05 and result.constant_share.high < 0.5
    assert result.answer == "1, 2, 3, 4" and result.answer_share.value == pytest.approx(0.8, abs=0.05)
    assert result.verdict == "failed"
    rows = gate_rows(counting(0.8), rng(), QUICK)
    [shown] = rows[rows["quantity"] == "answer_share"].to_dict("records")
    assert shown["value"] == result.answer_share.value and shown["condition"] == "1, 2, 3, 4"
    assert set(rows["verdict"]) == {"failed"}
    assert gate(counting(0.8, items=8), rng(), QUICK).verdict == "too few to tell"


def test_a_judge_that_counts_now_and_then_passes():
    result = gate(counting(0.2), rng(), QUICK)
    assert result.answer == "1, 2, 3, 4" and result.answer_share.value == pytest.approx(0.2, abs=0.05)
    assert result.verdict == "passed"


def test_equal_scores_throughout_are_no_counting():
    # Good texts get 4 by all criteria: the answer tells nothing of places, and is left to its single score.
    result = gate(counting(0.7, form=(4, 4, 4, 4)), rng(), QUICK)
    assert result.answer_share.value < 0.1 and result.constant_share.value > 0.7
    assert result.verdict == "passed"
    level = gate(counting(1.0, form=(4, 4, 4, 4)), rng(), QUICK)
    assert (level.answer, level.answer_share.value, level.verdict) == ("", 0, "failed")


def test_scores_that_belong_to_criteria_are_no_counting_whatever_they_are():
    # Every text gets the same scores, in pairs: 2, 5, 2, 5 by place as often as 5, 2, 5, 2.
    frame = planted_criteria(30, ("a", "b", "c", "d"), 0.0, rng())
    scores = frame["criterion"].map({"a": 2.0, "b": 5.0, "c": 2.0, "d": 5.0})
    assert gate(frame.assign(score=scores), rng(), QUICK).answer_share.value == 0.5


def test_an_answer_that_lacks_a_score_is_no_whole_answer():
    frame = counting(0.8)
    first = frame.groupby(["item", "draw"], sort=False).ngroup() % 2 == 0
    frame["score"] = frame["score"].mask(first & (frame["criterion"] == "a"))
    frame["position"] = frame["position"].mask(frame["score"].isna())
    half = gate(frame, rng(), QUICK).answer_share
    assert half.value == pytest.approx(0.8, abs=0.08)
    none = gate(frame.assign(score=frame["score"].mask(frame["criterion"] == "a")), rng(), QUICK)
    assert np.isnan(none.answer_share.value)


def test_one_score_in_nearly_all_answers_is_constant():
    # Three for every text but the best one and the worst of thirty: its mean cannot but follow.
    frame = judged(40)
    quality = frame["reference"]
    score = np.select([quality == quality.max(), quality == quality.min()], [5.0, 1.0], 3.0)
    result = gate(frame.assign(score=score), rng(), QUICK)
    assert result.constant_share.value == 0.95 < result.constant_share.high and result.p <= 0.05
    assert result.verdict == "failed"


def test_criteria_have_a_gate_of_their_own_scale():
    frame = planted_criteria(30, ("style", "content"), 0.0, rng())
    assert gate(frame, rng(), QUICK).verdict == "passed"
    # Where a criterion stood is no answer: its place has no part in constancy.
    assert gate(frame.assign(position=1.0), rng(), QUICK).constant_share.value < 1


# --- The exchanges ----------------------------------------------------------------------------------


def items(clusters, criteria, systems=None) -> pd.DataFrame:
    """By default an item of a criterion is of the system that it is the how-many-eth of in its cluster."""
    table = pd.DataFrame({"cluster": clusters, "criterion": criteria})
    numbers = table.groupby(["cluster", "criterion"]).cumcount()
    return table.assign(system=numbers if systems is None else systems)


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


@pytest.mark.parametrize("shuffled", [False, True])
def test_references_of_a_system_turn_together(shuffled):
    # Clusters a and b with systems 0 and 1, criteria s and t. The references of a cluster's systems may be
    # turned, of both criteria at once, and exchanged with the other cluster's: 2 * 2^2 = 8 arrangements.
    x = np.array([1.0, 2, 4, 8, 3, 7, 5, 6])
    y = np.array([3.0, 1, 7, 2, 8, 4, 6, 5])
    table = items([*"aaaabbbb"], [*"ssttsstt"], [*"01010101"])
    allowed = set()
    for swapped, *turned in itertools.product([False, True], repeat=3):
        arranged = np.empty(8)
        for cluster, turn in zip((0, 1), turned, strict=True):
            # a's items are 0 to 3: s of 0, s of 1, t of 0, t of 1; a turn exchanges the systems.
            source = y.reshape(2, 4)[1 - cluster if swapped else cluster]
            arranged[4 * cluster : 4 * cluster + 4] = source[[1, 0, 3, 2]] if turn else source
        allowed.add(round(stats.spearmanr(x, arranged).statistic, 9))
    order = rng(5).permutation(8) if shuffled else np.arange(8)
    null = exchanged(x[order], y[order], table.iloc[order], 3000, rng())
    assert len(allowed) == 8 and set(null.round(9)) == allowed


def test_systems_with_other_criteria_turn_apart():
    # Systems 0 and 1 have s and t, systems 2 and 3 have s alone: 2 * 2 arrangements of one cluster.
    x, y = np.array([1.0, 4, 2, 6, 3, 5]), np.array([6.0, 1, 5, 3, 2, 4])
    table = items(["a"] * 6, [*"ststss"], [*"001123"])
    null = exchanged(x, y, table, 500, rng())
    allowed = {
        round(stats.spearmanr(x, y[[*first, *second]]).statistic, 9)
        for first in ([0, 1, 2, 3], [2, 3, 0, 1])
        for second in ([4, 5], [5, 4])
    }
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


@pytest.mark.parametrize("shared", ["clusters", "items", "nothing"])
def test_scores_that_have_nothing_to_do_with_references_pass_at_the_nominal_rate(shared):
    # Scores and references each have a part that all items of a cluster share, where free permutations of
    # items would reject far too often; or that the criteria of a system share, where criteria that turned
    # one by one would; or none.
    p = []
    for study in range(200):
        generator = rng(study)
        clusters = np.repeat(np.arange(6), 16)
        systems = np.tile(np.repeat(np.arange(4), 4), 6)
        x, y = generator.normal(size=(2, 96))
        if shared == "clusters":
            x, y = (v + 2 * generator.normal(size=6)[clusters] for v in (x, y))
        if shared == "items":
            x, y = (v + 2 * generator.normal(size=(6, 4))[clusters, systems] for v in (x, y))
        rho = stats.spearmanr(x, y).statistic
        table = items(clusters, [*"stuv"] * 24, systems)
        p.append(permutation_p(rho, exchanged(x, y, table, 99, generator)))
    rejected = np.mean(np.array(p) <= 0.05)
    assert 0.05 - 0.046 < rejected <= 0.05 + 0.046  # three standard errors of 200 studies


def test_a_planted_judge_passes_with_candidates_of_prompts():
    table = planted_items(96, rng(), clusters=24, criteria=("quality",))
    assert gate(planted(table, 5, "balanced", 0, 0, 1.0, rng()), rng(), QUICK).verdict == "passed"
