"""Which trials a judge is asked by itself, and with which texts."""

import json

import pandas as pd
import pytest

from studies.evidence_lock.design import design
from studies.evidence_lock.judge import own, with_texts
from tests.studies.evidence_lock.asking import STRUCTURED, put
from tests.studies.evidence_lock.small_study import APART, FOUR, PARAMS, items


@pytest.fixture(scope="module")
def trials():
    asked = PARAMS.sets["main"].model_copy(update={"schemes": [*FOUR, *APART, "other_record"], "items": None})
    return design(items(), PARAMS.model_copy(update={"sets": {**PARAMS.sets, "main": asked}}), seed=1)


def test_what_needs_another_judge_waits_for_it(trials):
    kept = own(trials)
    assert set(trials["scheme"]) - set(kept["scheme"]) == {"other_record"}
    assert kept.index.tolist() == list(range(len(kept)))
    pd.testing.assert_frame_equal(kept, trials[trials["scheme"] != "other_record"].reset_index(drop=True))


def test_trials_come_in_design_order_with_their_items_texts(trials):
    found = list(with_texts(trials, items().iloc[::-1]))
    assert [one.trial for one in found] == trials["trial"].tolist()
    texts = items().set_index("item")
    for one in found:
        assert (one.context, one.answer_1, one.answer_2) == tuple(
            texts.loc[one.item, ["context", "answer_1", "answer_2"]]
        )
    assert {one.writer for one in found} == {""}
    assert {(one.name_1, one.name_2) for one in found if "letters" in one.trial} == {("A", "B"), ("B", "A")}


def test_a_trial_that_was_exchanged_knows_its_writer(trials):
    rows = trials[trials["scheme"] == "other_record"].assign(writer="big", text="its record")
    assert {one.writer for one in with_texts(rows, items())} == {"big"}


def test_what_a_judge_is_asked_can_be_sent(trials):
    """Plain numbers and texts, not a data frame's."""
    for one in with_texts(own(trials), items()):
        assert type(one.replicate) is int and type(one.temperature) is float and type(one.record_chars) is int
        names = {"Cedar": one.name_1, "Willow": one.name_2}
        said = json.dumps({"criteria": "x", "evidence": {name: "y" for name in names.values()}})
        for call in put(one, STRUCTURED, record=said):
            json.dumps([call.request.schema, [turn.content for turn in call.request.messages]])
