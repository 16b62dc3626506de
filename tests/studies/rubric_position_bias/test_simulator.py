"""The simulated judge that the study's tests rest on: it is what it says it is."""

import numpy as np
import pytest

from tests.studies.rubric_position_bias.planted import planted, planted_criteria, planted_items

TRIAL = ["item", "scheme", "size", "order", "scale", "temperature", "effort", "strategy", "draw", "replicate"]


@pytest.mark.parametrize("strategy", ["balanced", "random", "fixed"])
@pytest.mark.parametrize("size", [2, 3, 5, 9])
def test_a_judgement_is_consistent(strategy, size):
    rows = planted(6, size, strategy, 0.3, 0.1, 1, np.random.default_rng(0), probabilities=True)
    k = {2: 2, 3: 6}.get(size, 2 * size) if strategy != "fixed" else 2 * size
    assert len(rows) == 6 * k and rows["draw"].max() == k - 1
    # A trial's name is made of what makes it.
    assert (rows["trial"] == rows[TRIAL].astype(str).agg("|".join, axis=1)).all()
    assert rows["trial"].is_unique
    place = [
        order.index(str(int(score))) + 1 for order, score in zip(rows["order"], rows["score"], strict=True)
    ]
    assert rows["position"].tolist() == place
    names = [f"p_{option}" for option in range(1, size + 1)]
    assert rows[names].sum(axis=1).to_numpy() == pytest.approx(np.ones(len(rows)))
    assert (rows[names].to_numpy().argmax(axis=1) + 1 == rows["score"]).all()
    if strategy != "fixed":
        assert not rows.duplicated(["item", "order"]).any()


def test_equal_requests_are_answered_alike_by_all_strategies():
    rng = np.random.default_rng(1)
    rows = planted(50, 3, ("balanced", "random", "fixed"), 0, 0, 0, rng)
    assert rows.groupby(["item", "order"])["score"].nunique().max() == 1
    # Above temperature 0 a repeat is another draw.
    warm = planted(50, 3, "fixed", 0, 0, 0, rng, temperature=1.0)
    assert warm["replicate"].tolist() == warm["draw"].tolist()
    assert warm.groupby("item")["score"].nunique().max() == 3


def test_scores_are_draws_from_the_softmax():
    alpha, beta = np.array([0.8, -0.2, -0.6]), np.array([0.0, 0.5, -0.5])
    rows = planted(4000, 3, "fixed", alpha, beta, 0, np.random.default_rng(2), k=1)
    # In the canonical order option s stands at place s.
    expected = np.exp(alpha + beta) / np.exp(alpha + beta).sum()
    assert rows["score"].value_counts(normalize=True).sort_index().to_numpy() == pytest.approx(
        expected, abs=0.02
    )


def test_sharp_content_leaves_one_score_and_references_follow_quality():
    rng = np.random.default_rng(3)
    items = planted_items(300, rng, clusters=50, criteria=("a", "b"))
    assert items["item"].is_unique and items.groupby("cluster").size().eq(6).all()
    assert items["prompt"].equals(items["cluster"].rename("prompt"))  # three systems compete for each
    rows = planted(items, 5, "balanced", 1, 0, 1e6, rng)
    assert rows.groupby("item")["score"].nunique().eq(1).all()
    means = rows.groupby("item")[["score", "reference"]].mean()
    assert np.corrcoef(means.T)[0, 1] > 0.7
    assert (planted_items(5, rng)["prompt"] == "").all()


def test_criteria_have_a_row_each_and_places_of_their_own():
    rows = planted_criteria(
        200, ["a", "b", "c"], [1, 0, 0], np.random.default_rng(4), scales=("12345", "54321"), unparsed=0.1
    )
    assert len(rows) == 200 * 6 * 3 * 2 and rows["trial"].nunique() == len(rows) / 3
    index = rows["criterion"].map({"a": "1", "b": "2", "c": "3"})
    assert [o.index(i) + 1 for o, i in zip(rows["order"], index, strict=True)] == rows["position"].tolist()
    means = rows.groupby("position")["score"].mean()
    assert means[1] - means[3] == pytest.approx(0.95, abs=0.15)
    assert (rows["status"] == "ok").mean() == pytest.approx(0.9, abs=0.02)
    assert rows["score"].isna().equals(rows["status"] != "ok")
    # A draw shows one order, whatever the scale.
    assert rows.groupby(["item", "draw"])["order"].nunique().eq(1).all()
