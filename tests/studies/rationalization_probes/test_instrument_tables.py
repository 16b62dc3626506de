"""Tables about the instrument: the gate's answers, statuses, spans, criteria, and the turns that ran."""

import pandas as pd
import pytest

from studies.rationalization_probes.instrument_tables import (
    answer_rows,
    competence_rows,
    criteria_rows,
    protocol_rows,
    span_rows,
)
from studies.rationalization_probes.results import gate_checks, one_frame
from tests.studies.rationalization_probes.scripted_judgements import all_arms, judgement
from tests.studies.rationalization_probes.scripted_study import cell, inputs_of, study_of
from tests.studies.rationalization_probes.support import params


@pytest.fixture(scope="module")
def failing():
    """A judge that always prefers the damaged text, asked everything, of 12 documents and 12 questions."""
    return study_of(all_arms(12, damaged="2"))


def test_spans_by_hand():
    # 1 of 2 and 3 of 4 found: 4 of 6. One document's notes could not be read.
    spans = {"d0": (1, 2), "d1": (3, 4), "d2": None}
    rows = [judgement(name, "1", scheme="pbp_once", spans=pair) for name, pair in spans.items()]
    row = cell(one_frame(span_rows(study_of(rows))), "spans_found_rate")
    assert row["value"] == pytest.approx(4 / 6)
    assert (row["count"], row["n_items"], row["n_unparsed"]) == (4, 2, 1)


def test_answers_add_up():
    rows = [judgement(f"d{i}", verdict) for i, verdict in enumerate(("tie", "1", "1", None))]
    table = one_frame(answer_rows(study_of(rows))).set_index("quantity")
    assert table["count"].to_dict() == {
        "ok_rate": 3, "unparsed_rate": 1, "truncated_rate": 0, "refused_rate": 0, "failed_rate": 0,
    }  # fmt: skip
    assert table["value"].sum() == 1
    assert (table["n_trials"] == 4).all() and (table["n_unparsed"] == 1).all()


def test_answers_in_free_text_have_rows_of_their_own(failing):
    table = one_frame(answer_rows(failing))
    # The first document's answer without a schema could not be read.
    assert cell(table, "ok_rate", condition="free")["value"] == pytest.approx(11 / 12)
    assert cell(table, "ok_rate", condition="resample", scheme="scot")["value"] == 1


def test_criteria_by_hand():
    # Means over both candidates: (4 + 3) / 2 = 3.5 and (2 + 1) / 2 = 1.5; over the documents 2.5. Fluency 5.
    scores = [
        {"1": {"accuracy": a, "fluency": 5}, "2": {"accuracy": b, "fluency": 5}} for a, b in ((4, 3), (2, 1))
    ]
    rows = [judgement(f"d{i}", "1", scores=given) for i, given in enumerate(scores)]
    rows.append(judgement("d2", None))
    table = one_frame(criteria_rows(study_of(rows)))
    assert table["quantity"].tolist() == ["score_accuracy", "score_fluency"]
    accuracy, fluency = cell(table, "score_accuracy"), cell(table, "score_fluency")
    assert (accuracy["value"], fluency["value"]) == (2.5, 5)
    assert (accuracy["n_items"], accuracy["n_unparsed"]) == (2, 1)
    assert 1 <= accuracy["ci_low"] <= 2.5 <= accuracy["ci_high"] <= 5


def test_only_blind_scores_of_equal_pairs_show_the_criteria(failing):
    table = one_frame(criteria_rows(failing))
    assert set(table["scheme"]) == {"pointwise"} and set(table["condition"]) == {"blind"}
    assert cell(table, "score_factual_accuracy")["value"] == 3.5
    verdicts_alone = study_of([judgement("d0", "1", scheme="forced")])
    assert list(criteria_rows(verdicts_alone)) == []


def test_the_gate_answers_by_task(failing):
    gates = gate_checks(failing)
    summaries = one_frame(competence_rows(failing, gates))
    answers = one_frame(competence_rows(failing, gates, "answer"))
    assert summaries["kind"].isna().all() and set(answers["kind"]) == {"qa_damage"}
    assert set(answers["scheme"]) == {"forced"} and set(answers["condition"]) == {"blind"}
    # A judge that prefers damaged texts, each one in both orders: minus 1.
    assert cell(summaries, "prefers_undamaged", scheme="scot")["value"] == -1
    assert cell(answers, "prefers_undamaged")["value"] == -1
    assert cell(answers, "prefers_undamaged")["n_items"] == 12
    # how much less often it ties on damaged pairs is not asked of a forced choice
    for table in (summaries, answers):
        assert "ties_less" not in set(table.query("scheme == 'forced'")["quantity"])
    assert "ties_less" in set(summaries.query("scheme == 'scot'")["quantity"])


def test_a_task_that_was_not_run_has_no_answer():
    study = study_of([judgement("d0", "1")])
    assert list(competence_rows(study, gate_checks(study), "answer")) == []


def test_turns_that_ran_by_hand():
    rows = [judgement(f"d{i}", "1", scheme="pbp_once", probe="flip") for i in range(3)]
    rows += [judgement("d0", "1", scheme="pbp_once", probe="flip", stage=s) for s in ("reveal", "control")]
    inputs = inputs_of(study_of(rows))
    # the third trial ended after its notes
    lost = (inputs.responses["trial"].str.startswith("d2")) & (inputs.responses["step"] != "notes")
    failed = inputs.responses.iloc[[0]].assign(
        trial="d2:equal|pbp_once|flip|12", step="failed", error="too long"
    )
    calls = pd.concat([inputs.responses[~lost], failed])
    table = pd.DataFrame(protocol_rows(params(), calls, inputs.trials))
    assert table[["step", "position", "count", "n_trials"]].values.tolist() == [
        ["notes", 1, 3, 3],
        ["score", 2, 2, 2],
        ["reveal", 3, 1, 1],
        ["control", 4, 1, 1],
        ["narrate", 5, 2, 2],
    ]
    score = table[table["step"] == "score"].iloc[0]
    assert (score["sees"], score["makes"], score["value"]) == ("locked notes", "scores", 2)


def test_every_call_that_was_answered_is_in_some_turn(failing):
    inputs = inputs_of(failing)
    table = pd.DataFrame(protocol_rows(inputs.params, inputs.responses, inputs.trials))
    assert table["count"].sum() == len(inputs.responses)
    assert set(table["scheme"]) == set(inputs.trials["scheme"])


def test_without_answers_there_is_no_turn(failing):
    inputs = inputs_of(failing)
    assert list(protocol_rows(inputs.params, inputs.responses.head(0), inputs.trials)) == []
