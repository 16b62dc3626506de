"""Verdicts made from several answers: by hand, and on scripted judges."""

import itertools

import numpy as np
import pandas as pd
import pytest

from shared.metrics.resampling import Inference
from studies.evidence_lock.rows import COLUMNS
from studies.evidence_lock.verdicts import majority, majority_all, order_averaged, verdict_rows
from tests.studies.evidence_lock.planted import planted, planted_items

QUICK = Inference(resamples=200, permutations=200)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def told(*verdicts: str, judge: str = "a", **kinds: object) -> pd.DataFrame:
    """One item with these verdicts of its trials, in their sequence; "" could not be parsed."""
    frame = planted(planted_items(1), rng(), judge=judge, schemes=["lock"], **kinds)
    assert len(frame) == len(verdicts)
    return frame.assign(
        verdict=[verdict or None for verdict in verdicts],
        status=["ok" if verdict else "unparsed" for verdict in verdicts],
    )


def only(decided: pd.DataFrame, judge: str = "a") -> object:
    (verdict,) = decided.loc[decided["judge"] == judge, "verdict"]
    return None if pd.isna(verdict) else verdict


def row(found: pd.DataFrame, quantity: str, **names: object) -> pd.Series:
    chosen = found["quantity"] == quantity
    for name, value in names.items():
        chosen &= found[name] == value
    (at,) = found.index[chosen]
    return found.loc[at]


@pytest.mark.parametrize(
    ("one", "other", "averaged", "most"),
    [
        ("1", "1", "1", "1"),
        ("1", "2", "tie", "tie"),
        ("1", "tie", "1", "tie"),  # (1 + 0) / 2 > 0, but one vote each
        ("tie", "2", "2", "tie"),
        ("tie", "tie", "tie", "tie"),
        ("1", "", None, None),  # the place of one order alone would decide
        ("", "", None, None),
    ],
)
def test_two_orders(one, other, averaged, most):
    frame = told(one, other)
    assert only(order_averaged(frame)) == averaged
    assert only(majority(frame)) == most


EIGHT = ("1", "2", "2", "2", "1", "2", "2")
"""Of four combinations of orders, in two wordings; the paper's two orders are the 1st and the 7th trial."""


def test_the_majority_of_all_counts_every_trial_of_the_item():
    # 2 stands five times, 1 twice, one answer is lost.
    frame = told(*EIGHT, "", crossed=True, wordings=[1, 2])
    assert only(majority_all(frame)) == "2"
    (decided,) = majority_all(frame).to_dict("records")
    assert (decided["n_trials"], decided["n_unparsed"]) == (8, 1)
    votes = row(verdict_rows(frame, rng(), QUICK), "majority_all_votes")
    assert (votes["value"], votes["n_items"]) == (7, 1)
    # The others take the two orders of the first wording alone, which differ.
    assert only(order_averaged(frame)) == only(majority(frame)) == "tie"
    (decided,) = majority(frame).to_dict("records")
    assert (decided["n_trials"], decided["n_unparsed"]) == (2, 0)


def test_without_the_two_orders_nothing_decides():
    frame = told("", *EIGHT, crossed=True, wordings=[1, 2])
    assert only(majority_all(frame)) is None and only(majority(frame)) is None


def test_votes_by_equal_skill_are_equal_under_every_protocol():
    """A protocol that has eight trials of a pair does not look better for it beside one that has two."""
    kinds = {"agree": 1.0, "noise": 0.6}
    items = planted_items(300)
    frames = [
        planted(items, rng(1), schemes=["structured"], **kinds),
        planted(items, rng(2), schemes=["lock"], crossed=True, wordings=[1, 2], **kinds),
    ]
    found = verdict_rows(pd.concat(frames), rng(), QUICK)
    two = found[found["quantity"] == "majority_agreement"]
    # A verdict is right with 0.4 + 0.6 / 2; both are with 0.7^2.
    assert two["value"].tolist() == pytest.approx([0.49, 0.49], abs=0.09)
    assert set(two["n_trials"]) == {600}
    eight = found[found["quantity"] == "majority_all_agreement"]
    assert eight["scheme"].tolist() == ["lock"] and eight["value"].iloc[0] > 0.75
    assert row(found, "majority_all_votes")["value"] == 8


def test_pairs_that_were_asked_no_more_have_no_part_in_the_vote_of_all():
    more = planted(planted_items(4), rng(), schemes=["lock"], crossed=True)
    frame = pd.concat([more, planted(planted_items(6, dataset="other"), rng(), schemes=["lock"])])
    found = verdict_rows(frame, rng(), QUICK)
    of_all = found[found["quantity"].str.startswith("majority_all")]
    assert set(of_all["dataset"]) == {"planted"} and set(of_all["n_items"]) == {4}


def test_smaller_records_and_letters_have_no_vote():
    frame = told("1", "2", "1", "2", record_chars=[150, 600])
    small = frame["record_chars"] == 150
    frame = frame.assign(verdict=np.where(small, "2", "1"))
    found = verdict_rows(pd.concat([frame, frame.assign(naming="letters", verdict="2")]), rng(), QUICK)
    assert (found.loc[found["quantity"].str.endswith("agreement"), "value"] == 1).all()
    assert set(found["naming"]) == {"neutral"} and set(found["n_trials"]) == {2}


@pytest.mark.parametrize("verdicts", [*itertools.product(["1", "2", "tie"], repeat=2)])
def test_several_judges_decide_together(verdicts):
    frame = pd.concat([told(v, v, judge=judge) for judge, v in zip("ab", verdicts, strict=True)])
    score = sum({"1": 1, "2": -1, "tie": 0}[verdict] for verdict in verdicts)
    assert only(order_averaged(frame), "all") == ("1" if score > 0 else "2" if score < 0 else "tie")
    assert only(majority(frame), "all") == (verdicts[0] if len(set(verdicts)) == 1 else "tie")


def test_a_judge_without_two_verdicts_leaves_the_average_of_all_open():
    frame = pd.concat([told("1", "1"), told("1", "", judge="b")])
    assert only(order_averaged(frame), "all") is None
    assert only(majority(frame), "all") is None and only(majority(frame)) == "1"


def test_a_single_judge_is_not_all():
    found = verdict_rows(planted(6, rng()), rng(), QUICK)
    assert set(found["judge"]) == {"scripted"}


def test_rows_by_hand():
    items = planted_items(4).assign(label=["1", "2", "2", "tie"])
    frame = planted(items, rng(), schemes=["lock"])
    # Averages: 1, tie, 1 (of 1 and tie), and a human tie that is left out; majorities: 1, tie, tie.
    frame = frame.assign(verdict=["1", "1", "1", "1", "1", "2", "tie", "1"])
    found = verdict_rows(frame, rng(), QUICK)
    assert list(found.columns) == list(COLUMNS)
    values = {name: value for name, value in zip(found["quantity"], found["value"], strict=True)}
    assert values == pytest.approx(
        {
            "order_averaged_agreement": 1 / 3,
            "order_averaged_tie_rate": 1 / 3,
            "majority_agreement": 1 / 3,
            "majority_tie_rate": 2 / 3,
        }
    )
    one = row(found, "majority_agreement")
    assert one[["n_items", "n_trials", "n_clusters", "n_unparsed"]].tolist() == [3, 6, 3, 0]


def test_lost_answers_are_counted():
    frame = told("1", "")
    found = verdict_rows(frame, rng(), QUICK)
    averaged = row(found, "order_averaged_agreement")
    assert np.isnan(averaged["value"]) and (averaged["n_items"], averaged["n_unparsed"]) == (0, 1)
    most = row(found, "majority_agreement")
    assert np.isnan(most["value"]) and (most["n_items"], most["n_unparsed"]) == (0, 1)


def test_data_sets_are_pooled_for_judges_and_for_all():
    frames = [
        planted(planted_items(6, dataset=name), rng(), judge=judge, schemes=["lock"])
        for name in ("one", "other")
        for judge in "ab"
    ]
    found = verdict_rows(pd.concat(frames), rng(), QUICK)
    agreement = found[found["quantity"] == "majority_agreement"]
    assert set(zip(agreement["judge"], agreement["dataset"], strict=True)) == set(
        itertools.product(["a", "b", "all"], ["one", "other", "all"])
    )


def test_records_of_others_are_apart_by_writer():
    items = planted_items(6)
    frames = [
        planted(items, rng(), judge=judge, schemes=["other_record"], writer=writer)
        for judge, writer in ("ab", "ba")
    ]
    found = verdict_rows(pd.concat(frames), rng(), QUICK)
    assert set(zip(found["judge"], found["writer"], strict=True)) == {("a", "b"), ("b", "a")}


def test_more_judges_and_replicates_agree_more_often():
    # Each trial's verdict is random with probability 0.6; a vote of 10 finds what a single one does not.
    items = planted_items(200)
    kinds = {"schemes": ["lock"], "agree": 1.0, "noise": 0.6}
    frame = planted(items, rng(4), temperatures=[0.0, 1.0], replicates=4, **kinds)
    found = verdict_rows(frame, rng(), QUICK)
    single = frame["verdict"].eq(frame["label"]).mean()
    assert single == pytest.approx(0.7, abs=0.03)  # 0.4 + 0.6 / 2
    assert row(found, "majority_all_agreement")["value"] > 0.8
    assert row(found, "majority_all_agreement")["n_trials"] == 2000
    assert row(found, "majority_all_votes")["value"] == 10


def test_of_nothing_there_are_no_rows():
    assert verdict_rows(planted(2, rng()).iloc[:0], rng(), QUICK).empty
