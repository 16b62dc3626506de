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
from studies.rationalization_probes.params import CRITERIA
from studies.rationalization_probes.results import gate_checks, one_frame
from tests.studies.rationalization_probes.scripted_judgements import all_arms, judgement
from tests.studies.rationalization_probes.scripted_study import cell, finished, inputs_of, study_of
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


def test_notes_that_quote_nothing_are_neither_counted_nor_unparsed():
    # 1 of 2 found; d1 quoted nothing; d2's notes could not be read.
    spans = {"d0": (1, 2), "d1": (0, 0), "d2": None}
    rows = [judgement(name, "1", scheme="pbp_once", spans=pair) for name, pair in spans.items()]
    row = cell(one_frame(span_rows(study_of(rows))), "spans_found_rate")
    assert (row["value"], row["n_items"], row["n_clusters"], row["n_unparsed"]) == (0.5, 1, 1, 1)


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
    # Means over both candidates: (4 + 3) / 2 = 3.5, (2 + 1) / 2 = 1.5 and 2.5; over documents 2.5. Else 5.
    rest = dict.fromkeys(CRITERIA[1:], 5)
    scores = [
        {"1": {"accuracy": a, **rest}, "2": {"accuracy": b, **rest}} for a, b in ((4, 3), (2, 1), (3, 2))
    ]
    rows = [judgement(f"d{i}", "1", scores=given) for i, given in enumerate(scores)]
    rows.append(judgement("d3", None))
    table = one_frame(criteria_rows(study_of(rows), params()))
    assert table["quantity"].tolist() == [f"score_{name}" for name in CRITERIA]
    accuracy, fluency = cell(table, "score_accuracy"), cell(table, "score_fluency")
    assert (accuracy["value"], fluency["value"]) == (2.5, 5)
    assert (accuracy["n_items"], accuracy["n_unparsed"]) == (3, 1)
    assert 1 <= accuracy["ci_low"] <= 2.5 <= accuracy["ci_high"] <= 5


def test_a_scheme_whose_answers_were_all_lost_keeps_its_rows():
    rows = [judgement(f"d{i}", None, scheme="scot_no_conciseness") for i in range(3)]
    table = one_frame(criteria_rows(study_of(rows), params()))
    assert table["quantity"].tolist() == ["score_accuracy", "score_completeness", "score_fluency"]
    assert table["value"].isna().all() and (table["n_items"] == 0).all() and (table["n_unparsed"] == 3).all()


def test_only_blind_scores_of_equal_pairs_show_the_criteria():
    given = {"factual_accuracy": 3, "completeness": 5, "coherence_and_fluency": 4}
    scores = {"1": given, "2": {**given, "factual_accuracy": 4}}
    rows = [judgement(f"d{i}", "1", scheme="pointwise", scores=scores) for i in range(3)]
    others = {"kind": ("identical", "blind"), "probe": ("equal", "truth")}
    rows += [judgement("d0", "1", scheme="pointwise", kind=k, probe=p) for k, p in others.values()]
    table = one_frame(criteria_rows(study_of(rows), params()))
    assert set(table["condition"]) == {"blind"} and (table["n_trials"] == 3).all()
    assert cell(table, "score_factual_accuracy")["value"] == 3.5
    verdicts_alone = study_of([judgement("d0", "1", scheme="forced")])
    assert list(criteria_rows(verdicts_alone, params())) == []


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


def test_the_gate_counts_what_its_estimates_rest_on():
    # Twelve documents; of three the second order's damaged pair was lost: nine are parsed in both orders, and
    # 2 * 12 - 18 = 6 answers are left out. The equal pair of one more was lost.
    rows = [
        judgement(f"d{i}", None if order == "21" and i < 3 else "1", kind="damage", order=order)
        for i in range(12)
        for order in ("12", "21")
    ]
    rows += [judgement(f"d{i}", None if i == 11 else "tie") for i in range(12)]
    study = study_of(rows)
    gates = gate_checks(study)
    table = finished(study, one_frame(competence_rows(study, gates)))
    counted = table.set_index("quantity")[["n_items", "n_clusters", "n_unparsed"]]
    assert counted.loc["prefers_undamaged"].tolist() == [9, 9, 6]
    # Eight documents have both: 16 damaged answers and 8 equal ones, of 24 + 12.
    assert counted.loc["ties_less"].tolist() == [16, 8, 12]
    assert counted.loc["not_constant"].tolist() == [9 + 11, 12, 7]
    for (_, scheme, _), gate in gates.items():
        for quantity in counted.index:
            check = getattr(gate, quantity)
            assert cell(table, quantity, scheme=scheme)["n_clusters"] == check.estimate.n_clusters
    assert "too few" in cell(table, "prefers_undamaged")["note"]


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
    unasked = pd.DataFrame(protocol_rows(params(), calls[~calls["step"].isin(["reveal"])], inputs.trials))
    assert unasked["step"].tolist() == ["notes", "score", "control", "narrate"]  # of 0 calls: no turn
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
