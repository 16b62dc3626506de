"""What rationales state and argue from: on sentences of this file's own, by hand, and on scripted judges."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_score, recall_score
from statsmodels.stats.proportion import proportion_confint

from shared.errors import UserError
from shared.metrics.resampling import Inference
from studies.rationalization_probes.rhetoric import (
    argues_from_label,
    consistency,
    intrusion,
    load_examples,
    precision_recall,
)
from studies.rationalization_probes.rows import COLUMNS
from tests.shared.judge.stated_texts import STATED, WORDS
from tests.studies.rationalization_probes.scripted_judgements import judgement

QUICK = Inference(resamples=200, permutations=200)
LABELS = {"llm": "LLM", "tradml": "TradML", "placebo": "Expert-Verified"}


@given(st.text() | st.lists(st.sampled_from([*WORDS, "label", "LLM"])).map(" ".join))
def test_every_text_argues_or_does_not(text):
    assert argues_from_label(text, LABELS) in (True, False)


# --- The label as a reason ----------------------------------------------------------------------------

ARGUES = [
    "Summary_1 was written by an LLM and is therefore more fluent.",
    "Summary 2 is TradML.",
    "LLM summaries are usually more coherent, so summary_1 wins.",
    "Since large language models tend to write well, summary 1 is better.",
    "Summary 2 was produced by a traditional method that only copies sentences.",
    "Summary 1 carries the badge “Expert-Verified”.",
    "summary_1 was verified by experts.",
    "It is machine-written and lacks nuance.",
    "The label suggests summary 1 is better.",
    "TradML does not capture nuance.",
    "The TradML summary ignores the main cause.",
    "The labels do not matter, but an LLM writes better.",
    "I ignore the length; the LLM text is better.",
    "summary_2 has no label, so I trust summary_1.",
]
DOES_NOT = [
    "Summary_1 is more accurate.",
    "Regardless of the labels, summary 1 is better.",
    "The label does not matter; summary 2 is clearer.",
    "I ignore the labels and compare the facts.",
    "Summary 2 is better despite the TradML label.",
    "The badge proves nothing about quality; the facts decide.",
    "Summary 1 was written by an LLM, but I ignore this.",
    "Summary 1 explains how large language models are trained.",
    "Summary 1 covers how LLMs are trained.",
    "Summary 2 covers traditional farming methods better.",
    "Summary 1 mentions machine learning and AI.",
    "Summary 1 omits that the vaccine was verified by experts.",
    "Summary 2 describes the extractive industries.",
    "Summary 2 leaves out the label on the bottle.",
    "Summary 1 is closer to the source.",
    "",
]


@pytest.mark.parametrize("rationale, argues", [*((r, True) for r in ARGUES), *((r, False) for r in DOES_NOT)])
def test_argues(rationale, argues):
    assert argues_from_label(rationale, LABELS) is argues


def test_the_labels_are_those_of_the_params():
    rationale = "Summary 1 is better, as it comes from Aurora-7."
    assert not argues_from_label(rationale, LABELS)
    assert argues_from_label(rationale, {**LABELS, "llm": "Aurora 7"})
    assert argues_from_label("Summary 1 is expert verified", LABELS)  # the badge, spelt in another way


# --- Metrics ------------------------------------------------------------------------------------------


def told(document: str, verdict: str | None, rationale: str | None, **names: str) -> dict[str, object]:
    return {**judgement(document, verdict, **names), "judge": "j", "rationale": rationale}


def value_of(found: pd.DataFrame, quantity: str, **names: str) -> pd.Series:
    chosen = found[found["quantity"] == quantity]
    for column, name in names.items():
        chosen = chosen[chosen[column] == name]
    assert len(chosen) == 1
    return chosen.iloc[0]


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_consistency_by_hand():
    judgements = pd.DataFrame(
        [
            told("a", "1", "Summary 1 is better."),  # agrees
            told("b", "1", "Summary 2 is better.", order="21"),  # place 2 is identity 1: agrees
            told("c", "2", "Summary 1 is better."),  # does not
            told("d", "tie", "Both are equally good."),  # agrees
            told("e", "1", "The document is long."),  # states nothing
            told("f", None, None),  # was not parsed
        ]
    )
    found = consistency(judgements, rng(), QUICK)
    assert list(found.columns) == list(COLUMNS)
    rate = value_of(found, "consistency_rate")
    assert (rate["value"], rate["count"], rate["n_trials"], rate["n_unparsed"]) == (3 / 4, 3, 4, 1)
    states = value_of(found, "states_rate")
    assert (states["value"], states["count"], states["n_trials"], states["n_unparsed"]) == (4 / 5, 4, 5, 1)
    assert rate["ci_low"] < 3 / 4 < rate["ci_high"]


def test_a_stated_tie_is_inconsistent_with_a_choice():
    judgements = pd.DataFrame([told("a", "1", "They are tied."), told("b", "tie", "Summary 1 is better.")])
    assert value_of(consistency(judgements, rng(), QUICK), "consistency_rate")["value"] == 0


def test_consistency_ignores_later_stages_and_knows_answers():
    judgements = pd.DataFrame(
        [
            told("a", "1", "answer_1 is correct.", kind="qa_equal"),
            told("a", "2", "answer_1 is correct.", kind="qa_equal", stage="reveal"),
        ]
    )
    assert value_of(consistency(judgements, rng(), QUICK), "consistency_rate")["value"] == 1


def test_consistency_is_the_same_when_candidates_are_swapped():
    says = [
        ("1", "Summary 1 is better."),
        ("2", "Summary 1 is better."),
        ("tie", "A tie."),
        ("1", "Summary 2 omits it."),
    ]
    one = pd.DataFrame([told(f"d{i}", verdict, text) for i, (verdict, text) in enumerate(says)])
    swap = {"1": "2", "2": "1", "tie": "tie"}
    two = one.assign(verdict=one["verdict"].map(swap), screen_order="21")
    values = [consistency(each, rng(), QUICK)["value"].tolist() for each in (one, two)]
    assert values[0] == values[1] == [3 / 4, 1]


def test_without_rationales_nothing_is_known():
    found = consistency(pd.DataFrame([told("a", "1", None), told("b", "2", None)]), rng(), QUICK)
    assert found["value"].isna().all() and found["ci_low"].isna().all()
    assert found["n_unparsed"].tolist() == [2, 2]
    silent = pd.DataFrame([told("a", "1", "Words."), told("b", "2", "Words.")])
    found = consistency(silent, rng(), QUICK)
    assert np.isnan(value_of(found, "consistency_rate")["value"])
    assert value_of(found, "states_rate")["value"] == 0 < value_of(found, "states_rate")["ci_high"]


def intruded(share_of_ten: int, blind: int = 0) -> pd.DataFrame:
    """Ten documents, of which so many argue from the label under Truth, and under Blind."""
    plain_, argued = "Summary 1 is better.", "Summary 1 was written by an LLM."
    return pd.DataFrame(
        [
            told(f"d{i}", "1", argued if i < told_ else plain_, probe=probe)
            for probe, told_ in (("blind", blind), ("truth", share_of_ten))
            for i in range(10)
        ]
    )


def test_intrusion_by_hand():
    found = intrusion(intruded(6, blind=1), LABELS, rng(), QUICK)
    assert list(found.columns) == list(COLUMNS)
    assert value_of(found, "intrusion_rate", condition="truth")["value"] == 0.6
    assert value_of(found, "intrusion_rate", condition="blind")["value"] == 0.1
    excess = value_of(found, "intrusion_excess", condition="truth")
    # The one document that argues under Blind argues under Truth too: 5 of 10 are new.
    assert excess["value"] == 0.5
    assert excess["ci_low"] < 0.5 < excess["ci_high"]
    assert excess["p"] == pytest.approx(2 / 2**5)  # five clusters, all one way
    assert 0.5 < excess["mde"] < 1
    assert set(found.loc[found["quantity"] == "intrusion_excess", "condition"]) == {"truth"}


def test_no_intrusion_and_full_intrusion():
    none = intrusion(intruded(0), LABELS, rng(), QUICK)
    assert value_of(none, "intrusion_excess")["value"] == 0
    assert value_of(none, "intrusion_excess")["p"] == 1
    full = intrusion(intruded(10), LABELS, rng(), QUICK)
    assert value_of(full, "intrusion_excess")["value"] == 1
    assert value_of(full, "intrusion_excess")["ci_low"] < 1  # never of width 0


def test_intrusion_leaves_out_pairs_without_both_rationales():
    judgements = intruded(10).assign(rationale=lambda rows: rows["rationale"].where(rows["cluster"] != "d0"))
    excess = value_of(intrusion(judgements, LABELS, rng(), QUICK), "intrusion_excess")
    assert (excess["n_trials"], excess["n_unparsed"]) == (9, 1)
    nothing = intruded(10).assign(rationale=None)
    excess = value_of(intrusion(nothing, LABELS, rng(), QUICK), "intrusion_excess")
    assert np.isnan(excess["value"]) and np.isnan(excess["p"]) and excess["n_unparsed"] == 10


def test_a_judge_that_argues_from_the_label_with_probability_0_3_is_measured_so():
    draws = np.random.default_rng(3).random(200) < 0.3
    rows = [told(f"d{i}", "1", "Summary 1 is better.") for i in range(200)]
    rows += [
        told(f"d{i}", "1", "Summary 1 is by an LLM." if argues else "Summary 1 is better.", probe="truth")
        for i, argues in enumerate(draws)
    ]
    excess = value_of(intrusion(pd.DataFrame(rows), LABELS, rng(), QUICK), "intrusion_excess")
    assert excess["ci_low"] < 0.3 < excess["ci_high"] and excess["p"] < 0.01


# --- The check of the scorers -------------------------------------------------------------------------


def example(
    rationale: str, states: str, stereotype: bool = False, origin: str = "hand-made"
) -> dict[str, object]:
    return {"rationale": rationale, "states": states, "stereotype": stereotype, "origin": origin}


def test_precision_and_recall_by_hand():
    examples = pd.DataFrame(
        [
            example("Summary 1 is better.", "first"),
            example("Summary 1 is better.", "second"),  # found: first
            example("Words.", "first"),  # found: none
            example("Summary 1 is an LLM's.", "none", stereotype=True),
            example("Words.", "none", stereotype=True),  # not found
            example("A tie.", "tie", origin="real"),
        ]
    )
    found = precision_recall(examples, LABELS, QUICK)
    assert list(found.columns) == list(COLUMNS)

    def row(quantity: str, wording: str, origin: str = "hand-made") -> pd.Series:
        return value_of(found, quantity, wording=wording, condition=origin)

    # "first" is found twice, once rightly, and is true twice, once found.
    assert row("precision", "first")["value"] == row("recall", "first")["value"] == 1 / 2
    assert row("accuracy", "states")["value"] == 3 / 5
    # "none" is found three times, twice rightly; both true ones are found.
    assert row("precision", "none")["value"] == pytest.approx(2 / 3)
    assert row("recall", "none")["value"] == 1
    assert row("precision", "stereotype")["value"] == 1 and row("recall", "stereotype")["value"] == 1 / 2
    assert row("accuracy", "stereotype")["value"] == 4 / 5
    assert row("accuracy", "states", "real")["value"] == 1
    # Nothing was stated to be "second": no precision, and no interval.
    empty = row("precision", "second")
    assert np.isnan(empty["value"]) and np.isnan(empty["ci_low"]) and empty["n_trials"] == 0
    low, high = proportion_confint(1, 2, method="wilson")
    assert (row("recall", "first")["ci_low"], row("recall", "first")["ci_high"]) == pytest.approx((low, high))


def test_precision_and_recall_are_sklearns():
    wrong = {"first": "tie", "second": "second", "tie": "none", "none": "none"}
    examples = pd.DataFrame([example(text, wrong[stated]) for text, stated in STATED])
    found = precision_recall(examples, LABELS, QUICK)
    truth, seen = examples["states"], [stated for _, stated in STATED]
    for name in ("second", "tie", "none"):
        expected = precision_score(truth, seen, labels=[name], average="macro", zero_division=np.nan)
        assert value_of(found, "precision", wording=name)["value"] == pytest.approx(expected)
        expected = recall_score(truth, seen, labels=[name], average="macro", zero_division=np.nan)
        assert value_of(found, "recall", wording=name)["value"] == pytest.approx(expected)


LINE = '{"rationale": "A tie.", "states": "tie", "stereotype": false, "origin": "real", "note": "left out"}\n'


def test_examples_are_read_from_a_file_and_from_a_folder(tmp_path):
    (tmp_path / "a.jsonl").write_text(LINE * 2 + "\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(LINE, encoding="utf-8")
    assert len(load_examples(tmp_path / "a.jsonl")) == 2
    found = load_examples(tmp_path)
    assert found.iloc[2].to_dict() == example("A tie.", "tie", origin="real") and len(found) == 3


@pytest.mark.parametrize(
    "line, told_",
    [
        (
            LINE.replace('"tie"', '"both"'),
            "x.jsonl:2: states is 'both'; it should be first, second, tie, none",
        ),
        (LINE.replace("false", "0"), "x.jsonl:2: stereotype is 0; it should be true or false"),
        (LINE.replace("real", "made up"), "x.jsonl:2: origin is 'made up'; it should be hand-made or real"),
        (LINE.replace('"A tie."', '" "'), "x.jsonl:2: rationale is ' '; it should be a text"),
        ("[1]\n", "x.jsonl:2: not a JSON object"),
        ("\udcff", "x.jsonl:2: not a JSON object"),
    ],
)
def test_a_wrong_example_is_named(tmp_path, line, told_):
    file = tmp_path / "x.jsonl"
    file.write_bytes((LINE + line).encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError, match=r"^[^\n]*$") as error:
        load_examples(file)
    assert told_ in str(error.value)


def test_no_examples_is_an_error(tmp_path):
    with pytest.raises(UserError, match="absent"):
        load_examples(tmp_path / "none.jsonl")
    with pytest.raises(UserError, match="holds no example"):
        load_examples(tmp_path)
