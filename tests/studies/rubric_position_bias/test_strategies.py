"""The strategies side by side: which orders are averaged, and on which items."""

import numpy as np
import pandas as pd
import pytest

from shared.metrics.resampling import Inference
from studies.rubric_position_bias.orders import balanced
from studies.rubric_position_bias.strategies import estimate, resamples, side_by_side

QUICK = Inference(resamples=200)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def judged(item: str, strategy: str, scores: list[float], **names) -> pd.DataFrame:
    """One item's judgements under one strategy, draw after draw; nan is an answer without a score."""
    orders = balanced(5) if strategy != "fixed" else ["12345"] * len(scores)
    rows = pd.DataFrame({"score": scores, "draw": range(len(scores)), "order": orders[: len(scores)]})
    cell = {"judge": "j", "setting": "score", "dataset": "d", "rater": "human", "scheme": "base", "size": 5}
    rest = {"temperature": 0.0, "effort": "", "scale": "", "cluster": item, "prompt": "", "system": "s"}
    status = np.where(rows["score"].isna(), "unparsed", "ok")
    return rows.assign(item=item, strategy=strategy, status=status, criterion="c", reference=3.0).assign(
        **(cell | rest | names)
    )


def only_cell(*frames: pd.DataFrame):
    found = list(side_by_side(pd.concat(frames, ignore_index=True)))
    assert len(found) == 1
    return found[0][1]


def test_the_first_k_by_hand():
    nan = float("nan")
    cell = only_cell(judged("a", "balanced", [1, 3, 5, nan]), judged("b", "balanced", [nan, 4, 2, 2]))
    assert cell.matched_k == 4
    # Of the first two: (1 + 3) / 2; 4 alone. Of all four: 9 / 3; 8 / 3.
    assert cell.means("balanced", 2).tolist() == [2, 4]
    assert cell.means("balanced", 4) == pytest.approx([3, 8 / 3])
    assert np.isnan(cell.means("balanced", 1)[1])
    assert cell.n_unparsed(4, "balanced") == 2


def test_answers_without_a_score_are_those_of_the_first_k():
    nan = float("nan")
    cell = only_cell(judged("a", "balanced", [nan, 3, nan, nan]), judged("a", "fixed", [nan]))
    assert [cell.n_unparsed(k, "balanced") for k in (1, 2, 3, 4)] == [1, 1, 2, 3]
    assert cell.n_unparsed(4, "fixed") == 1
    assert cell.n_unparsed(2, "balanced", "fixed") == 2


def test_strategies_are_compared_at_what_these_have():
    # Random's two orders cut nothing in which Random plays no part.
    four = [judged("a", name, [1, 2, 3, 4]) for name in ("balanced", "fixed")]
    cell = only_cell(*four, judged("a", "random", [1, 2]))
    assert cell.common_k("balanced", "fixed") == cell.common_k("balanced") == 4
    assert cell.common_k("balanced", "random") == cell.matched_k == 2


def test_an_item_that_was_not_asked_under_all_k_has_no_mean():
    # b has two orders: its mean over four would be one over two.
    cell = only_cell(judged("a", "balanced", [1, 3, 5, 5]), judged("b", "balanced", [4, 2]))
    assert cell.means("balanced", 2).tolist() == [2, 3]
    assert np.isnan(cell.means("balanced", 4)).tolist() == [False, True]
    assert np.isnan(cell.means("balanced", 5)).all()


def test_one_fixed_answer_stands_for_any_k():
    cell = only_cell(judged("a", "balanced", [1, 3, 5, 5]), judged("a", "fixed", [2]))
    assert cell.matched_k == 4
    assert cell.means("fixed", 4).tolist() == [2]
    # Several replicates are what they are: three of them match three orders.
    warm = only_cell(judged("a", "balanced", [1, 3, 5, 5]), judged("a", "fixed", [2, 3, 4]))
    assert warm.matched_k == 3
    assert warm.means("fixed", 2).tolist() == [2.5] and np.isnan(warm.means("fixed", 4)).all()
    assert only_cell(judged("a", "fixed", [2])).matched_k == 1


def test_items_are_matched_by_name():
    # Random lacks item a, and its rows begin with c.
    cell = only_cell(
        judged("c", "random", [5, 5]),
        judged("b", "random", [4, 4]),
        judged("b", "balanced", [2, 2]),
        judged("a", "balanced", [1, 1]),
    )
    assert cell.items["item"].tolist() == ["a", "b", "c"]
    assert cell.means("balanced", 2)[:2].tolist() == [1, 2] and np.isnan(cell.means("balanced", 2)[2])
    assert cell.means("random", 2)[1:].tolist() == [4, 5] and np.isnan(cell.means("random", 2)[0])


def test_criteria_of_one_answer_are_items_of_their_own():
    both = [
        judged("a", "balanced", scores, setting="criteria", scale="12345").assign(criterion=criterion)
        for criterion, scores in (("style", [1, 1]), ("content", [5, 5]))
    ]
    cell = only_cell(*both)
    assert cell.items["item"].tolist() == ["a/content", "a/style"]
    assert cell.means("balanced", 2).tolist() == [5, 1]
    assert cell.n_clusters == 1


def test_what_differs_in_more_than_the_strategy_is_another_cell():
    rows = judged("a", "balanced", [1, 2])
    found = list(side_by_side(pd.concat([rows, rows.assign(size=3, order="123", draw=[0, 1])])))
    assert [names["size"] for names, _ in found] == [5, 3]
    assert found[0][0]["temperature"] == 0.0


def test_resamples_hold_the_sample_and_are_shared_by_cells_of_a_data_set():
    weights = resamples(rng(), QUICK)
    drawn = weights("d", 7)
    assert drawn.shape == (7, 201)
    assert drawn[:, 0].tolist() == [1] * 7
    assert (drawn.sum(axis=0) == 7).all()
    assert drawn is weights("d", 7)
    assert not np.array_equal(drawn, weights("e", 7))
    assert np.array_equal(drawn, resamples(rng(), QUICK)("d", 7))


def test_estimates_of_draws():
    # 1001 draws of 0.000 to 1.000 after an estimate of 0.4: the central 95 % are 0.025 to 0.975.
    draws = np.concatenate([[0.4], np.linspace(0, 1, 1001)])
    found = estimate(draws, 30, (-1, 1), QUICK)
    assert (found.value, found.low, found.high) == pytest.approx((0.4, 0.025, 0.975))
    unanimous = estimate(np.full(201, 1.0), 20, (-1, 1), QUICK)
    # Wilson's 0 of 20 is 0.161, of a range of 2 below.
    assert (unanimous.low, unanimous.high) == pytest.approx((1 - 2 * 0.1611, 1), abs=1e-3)
    for undefined in (estimate(draws, 1, (-1, 1), QUICK), estimate(np.full(201, np.nan), 9, (-1, 1), QUICK)):
        assert np.isnan([undefined.low, undefined.high]).all()
