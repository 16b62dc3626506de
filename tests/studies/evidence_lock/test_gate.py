"""The gate on scripted judges whose competence is known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.metrics.resampling import Inference
from studies.evidence_lock.gate import MORE, as_damage, gate_rows
from studies.evidence_lock.rows import COLUMNS
from tests.studies.evidence_lock.planted import many_judges, planted, planted_items

QUICK = Inference(resamples=200, permutations=500)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def judged(items: int | pd.DataFrame = 30, **kinds: object) -> pd.DataFrame:
    return planted(items, rng(1), **{"schemes": ["lock"], **kinds})


def found_of(judgements: pd.DataFrame) -> pd.DataFrame:
    return gate_rows(judgements, rng(), QUICK)


def verdict(judgements: pd.DataFrame) -> str:
    (said,) = found_of(judgements)["gate"].unique()
    return str(said)


def row(found: pd.DataFrame, quantity: str) -> pd.Series:
    (at,) = found.index[found["quantity"] == quantity]
    return found.loc[at]


def test_a_judge_that_agrees_passes():
    found = found_of(judged(agree=0.9))
    assert list(found.columns) == [*COLUMNS, *MORE]
    assert found["quantity"].tolist() == ["prefers_better", "not_constant"]
    assert found["verdict"].tolist() == found["gate"].tolist() == ["passed", "passed"]
    prefers = row(found, "prefers_better")
    assert prefers["p"] <= 0.01 and prefers["ci_low"] > 0.3
    assert prefers[["n_items", "n_trials", "n_clusters", "n_unparsed"]].tolist() == [30, 60, 30, 0]


@given(st.lists(st.sampled_from(["1", "2", "tie"]), min_size=12, max_size=12))
@settings(max_examples=20)
def test_prefers_better_is_the_mean_sign_of_both_orders(verdicts):
    frame = judged(6).assign(verdict=verdicts)
    signs = frame["verdict"].map({"1": 1, "2": -1, "tie": 0}) * frame["label"].map({"1": 1, "2": -1})
    assert row(found_of(frame), "prefers_better")["value"] == pytest.approx(signs.mean())


def test_always_the_first_shown_fails():
    found = found_of(judged(agree=0.5, flip=1.0, first=1.0))
    assert set(found["gate"]) == {"failed"}
    assert row(found, "prefers_better")["value"] == 0
    constant = row(found, "not_constant")
    assert constant["value"] == 1 and constant["ci_low"] < 1 and constant["verdict"] == "failed"


@pytest.mark.parametrize("name", ["1", "2"])
def test_always_the_same_candidate_fails(name):
    # Half of the labels are 1: it is right in half of the pairs.
    found = found_of(judged().assign(verdict=name))
    assert row(found, "prefers_better")[["value", "verdict"]].tolist() == [0, "failed"]
    assert row(found, "not_constant")["verdict"] == "passed" and set(found["gate"]) == {"failed"}


def test_always_a_tie_fails():
    found = found_of(judged().assign(verdict="tie"))
    assert set(found["gate"]) == {"failed"} and row(found, "not_constant")["value"] == 1


def test_a_judge_that_prefers_the_worse_fails():
    found = found_of(judged(agree=0.1))
    assert row(found, "prefers_better")["value"] < -0.5 and set(found["gate"]) == {"failed"}


def test_few_clusters_are_too_few_to_tell():
    assert verdict(judged(8, agree=0.5)) == "too few to tell"
    assert verdict(judged(8, agree=1.0)) == "passed"
    assert verdict(judged(1)) == "too few to tell"
    one_question = judged(30, agree=0.5).assign(cluster="q")
    assert verdict(one_question) == "too few to tell"


def test_a_data_set_with_human_ties_asks_about_ties():
    items = planted_items(40, tied=16)
    found = found_of(judged(items, agree=0.9, ties=0.9))
    ties = row(found, "ties_less")
    assert ties["verdict"] == "passed" and ties["value"] > 0.5 and ties["n_items"] == 40
    # A judge that never ties has no more on human ties than elsewhere.
    never = found_of(judged(items, agree=0.9, ties=0.0))
    # Each row has the answer of its own question; the gate sums them.
    assert never["verdict"].tolist() == ["passed", "failed", "passed"]
    assert never["gate"].tolist() == ["failed"] * 3


def test_human_ties_have_no_part_in_the_preference():
    items = planted_items(40, tied=16)
    prefers = row(found_of(judged(items)), "prefers_better")
    assert (prefers["n_items"], prefers["n_trials"]) == (24, 48)


def test_lost_answers_drop_their_pair_and_are_counted():
    frame = judged(20, agree=0.9)
    lost = frame["trial"] == frame["trial"].iloc[0]
    frame = frame.assign(status=frame["status"].mask(lost, "truncated"), verdict=frame["verdict"].mask(lost))
    prefers = row(found_of(frame), "prefers_better")
    assert (prefers["n_items"], prefers["n_trials"], prefers["n_unparsed"]) == (19, 38, 1)
    none = found_of(judged(20, unparsed=1.0))
    assert set(none["gate"]) == {"too few to tell"} and none["value"].isna().all()


def test_each_judge_and_data_set_has_its_gate():
    frames = [
        judged(planted_items(20, dataset=dataset), judge=judge, naming=naming, agree=agree)
        for dataset in ("one", "other")
        for judge, naming, agree in [("a", "neutral", 0.95), ("a", "letters", 0.5), ("b", "neutral", 0.5)]
    ]
    prefers = found_of(pd.concat(frames)).query("quantity == 'prefers_better'")
    assert len(prefers) == 9  # two judges, of whom one was asked by letters too, on two data sets and on both
    assert prefers.loc[prefers["dataset"] == "all", "n_items"].tolist() == [40, 40, 40]
    passed = prefers[prefers["gate"] == "passed"]
    # That the judge can do the task with neutral names says nothing of letters.
    assert set(zip(passed["judge"], passed["naming"], strict=True)) == {("a", "neutral")}


def test_records_of_several_writers_are_one_gate():
    frames = [judged(20, schemes=["other_record"], writer=writer, agree=0.9) for writer in "bc"]
    prefers = row(found_of(pd.concat(frames)), "prefers_better")
    assert prefers[["n_items", "n_trials", "gate"]].tolist() == [20, 80, "passed"]


def test_crossed_trials_other_wordings_and_budgets_have_no_part():
    more = judged(12, crossed=True, wordings=[1, 2], record_chars=[150, 600])
    assert len(more) == 12 * 4 * 2 * 2
    assert row(found_of(more), "prefers_better")["n_trials"] == 24


def test_turning_a_pair_keeps_what_the_screen_shows():
    frame = judged(2).assign(verdict=["1", "1", "tie", "2"])
    told = as_damage(frame)
    # Item 1 has the label 2: under 12 the judge took candidate 1, the first shown and the worse.
    worse = told[told["item"] == "planted/1"]
    assert worse["screen_order"].tolist() == ["21", "12"] and worse["verdict"].tolist() == ["2", "1"]
    first_before = frame["verdict"].str[0] == frame["decision"].str[0]
    assert (told["verdict"].str[0] == told["screen_order"].str[0]).tolist() == first_before.tolist()


def test_a_judge_without_competence_passes_at_no_more_than_the_nominal_rate():
    found = found_of(many_judges(60, 24, rng(), schemes=["lock"], agree=0.5, flip=0.2))
    prefers = found[found["quantity"] == "prefers_better"]
    # 0.05 and three standard errors of 60 draws.
    assert (prefers["gate"] == "passed").mean() <= 0.05 + 0.085
    assert set(prefers["gate"]) == {"passed", "failed"}


def test_of_nothing_there_are_no_rows():
    assert found_of(judged(2).iloc[:0]).empty
