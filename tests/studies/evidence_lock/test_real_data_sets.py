"""Real data sets go through loader and items, where they are at hand."""

from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from shared.reading import SourceError
from studies.evidence_lock.data import arranged, loaded
from studies.evidence_lock.params import DatasetParams

ROOT = Path(__file__).parents[3]
DATA = ROOT.parent / "shared" / "data"
DOUBLES = ("identical_answers", "repeated", "contradicted")


def made(name, folder, leave_out=(), items=None):
    """The items, and how many were left out."""
    if not (DATA / folder).is_dir():
        pytest.skip(f"real data sets are not here: {DATA / folder} is absent")
    sources = held(name, folder, leave_out)
    return arranged(sources, params(name, folder, leave_out, items), 1), sources[name].left_out


@lru_cache
def held(name, folder, leave_out):
    return loaded(params(name, folder, leave_out, None), DATA, ROOT)


def params(name, folder, leave_out, items):
    chosen = DatasetParams(source="external", path=folder, items=items, leave_out=list(leave_out) or None)
    return SimpleNamespace(datasets={name: chosen})


def test_feedbackqa():
    found, left_out = made("feedbackqa", "feedbackqa", leave_out=DOUBLES)
    # 3,404 pairs: three hold one passage twice, four stand twice (their passages once in either order), one
    # of these with another label.
    assert left_out == {"identical_answers": 3, "repeated": 3, "contradicted": 1}
    assert len(found) == 3404 - 3 - 4 and found["item"].is_unique
    assert found["subset"].unique().size == 4 and found["n_raters"].isin([2, 3]).all()
    assert found["label"].value_counts().to_dict() == {"1": 1537, "2": 1315, "tie": 545}
    # A tie is an equal mean, and nothing else is.
    assert (found["margin"].eq(0) == found["label"].eq("tie")).all() and found["margin"].max() <= 3
    # Three passages for most questions make three pairs.
    assert found["cluster"].nunique() == 1135 and found["cluster"].value_counts().max() == 3


def test_lfqa_experts():
    found, left_out = made("lfqa", "lfqa_eval")
    # 260 opinions: 60 pairs have one, 40 two, 40 three (60 + 80 + 120 = 260).
    assert found["n_raters"].value_counts().to_dict() == {1: 60, 2: 40, 3: 40}
    assert (len(found), found["cluster"].nunique(), left_out) == (140, 140, {})
    assert found["subset"].value_counts().eq(20).all() and found["subset"].nunique() == 7
    # Only two experts can be of two minds; one or three always have a majority.
    ties = found[found["label"] == "tie"]
    assert len(ties) == 11 and ties["n_raters"].eq(2).all()


def test_llmbars_own_pairs():
    found, left_out = made("llmbar", "llmbar")
    assert found["subset"].value_counts().to_dict() == {
        "Adversarial_Neighbor": 134,
        "Natural": 100,
        "Adversarial_GPTInst": 92,
        "Adversarial_GPTOut": 47,
        "Adversarial_Manual": 46,
    }
    assert (len(found), found["cluster"].nunique(), left_out) == (419, 418, {})
    assert set(found["label"]) == {"1", "2"} and set(found["rater"]) == {"gold"}


def test_pairs_that_llmbar_processed():
    found, left_out = made("llmbar_processed", "llmbar", leave_out=("empty_answer", *DOUBLES))
    assert left_out == {"empty_answer": 1, "identical_answers": 1, "repeated": 5}
    assert found["subset"].value_counts().to_dict() == {"LLMEval2": 198, "MT-Bench": 195, "FairEval": 66}
    assert len(found) == 466 - 7 and found["cluster"].nunique() == 337
    assert set(found["rater"]) == {"human"}


def test_faults_of_real_rows_are_told_unless_they_are_left_out():
    where = r"processed_LLMEval2\.json, row 58: both answers are the same to a reader; "
    with pytest.raises(SourceError, match=where) as caught:
        made("llmbar_processed", "llmbar")
    assert "add repeated to datasets.llmbar_processed.leave_out in params.yaml" in str(caught.value)


@pytest.mark.parametrize(("name", "folder"), [("feedbackqa", "feedbackqa"), ("llmbar", "llmbar")])
def test_thirty_pairs_are_whole_questions_but_for_the_last(name, folder):
    found, _ = made(name, folder, items=30, leave_out=DOUBLES)
    assert len(found) == 30
    starts = found["cluster"].ne(found["cluster"].shift()).sum()
    assert starts == found["cluster"].nunique()
