"""What every row says besides its estimate: the gate's verdict, the paper's numbers, what it rests on."""

import numpy as np
import pandas as pd
import pytest

from shared.errors import UserError
from shared.metrics.resampling import Estimate
from studies.rationalization_probes.results import (
    COLUMNS,
    finisher,
    gate_checks,
    one_frame,
    read_judgements,
)
from studies.rationalization_probes.rows import row
from tests.studies.rationalization_probes.scripted_judgements import all_arms, items_of, judgement
from tests.studies.rationalization_probes.scripted_study import finished, study_of


def damaged_pairs(verdict, documents=16, kind="damage", scheme="scot"):
    return [
        judgement(f"d{n}", verdict, kind=kind, scheme=scheme, order=order)
        for n in range(documents)
        for order in ("12", "21")
    ]


def equal_pairs(documents=16, kind="equal", scheme="scot"):
    return [judgement(f"d{n}", ("tie", "1", "2")[n % 3], kind=kind, scheme=scheme) for n in range(documents)]


# --- Reading ----------------------------------------------------------------------------------------


def test_systems_come_from_the_items(tmp_path):
    rows = pd.DataFrame([judgement("d0", "1", kind="extractive", system="lexrank"), judgement("d0", "1")])
    rows.to_parquet(tmp_path / "judge.parquet")
    read = read_judgements(["judge"], items_of(rows), tmp_path)
    assert read["system"].tolist() == ["lexrank", ""]
    assert read["writer"].tolist() == ["given", ""]
    assert set(read["judge"]) == {"judge"}


def test_a_judge_that_was_not_run_is_named_with_the_fix(tmp_path):
    with pytest.raises(UserError, match=r"judge\.parquet: absent; run the `judgements` stage"):
        read_judgements(["judge"], items_of(pd.DataFrame([judgement("d0", "1")])), tmp_path)


# --- The gate ---------------------------------------------------------------------------------------


def test_summaries_and_answers_have_gates_of_their_own():
    rows = [
        *damaged_pairs("1"),
        *equal_pairs(),
        *damaged_pairs("2", kind="qa_damage"),
        *equal_pairs(kind="qa_equal"),
    ]
    gates = gate_checks(study_of(rows, judge="j"))
    assert {key: gate.verdict for key, gate in gates.items()} == {
        ("j", "scot", "summary"): "passed",
        ("j", "scot", "answer"): "failed",
    }


def test_a_task_that_was_not_run_has_no_gate():
    assert set(gate_checks(study_of(damaged_pairs("1"), judge="j"))) == {("j", "scot", "summary")}


def test_grafted_notes_pass_with_the_scheme_that_asks_the_same_without_a_cue():
    rows = [*damaged_pairs("1", scheme="pbp_once"), *equal_pairs(scheme="pbp_once")]
    grafted = judgement("d0", "1", scheme="pbp_grafted")
    gates = gate_checks(study_of([*rows, grafted], judge="j"))
    assert gates["j", "pbp_grafted", "summary"].verdict == "passed"
    alone = gate_checks(study_of([grafted], judge="j"))
    assert alone == {}  # no damaged pair was shown: not asked, and so not passed


def test_the_gate_looks_at_blind_alone():
    misled = [row | {"probe": "truth"} for row in damaged_pairs("2")]
    gates = gate_checks(study_of([*damaged_pairs("1"), *equal_pairs(), *misled], judge="j"))
    assert gates["j", "scot", "summary"].verdict == "passed"


# --- What rows are marked with ----------------------------------------------------------------------


def plain(kind="equal", **changes):
    names = {"judge": "j", "scheme": "scot", "kind": kind, "condition": "blind", "quantity": "share_tie"}
    return pd.DataFrame([names | {"value": 0.5, "n_clusters": 16} | changes])


@pytest.fixture(scope="module")
def two_tasks():
    """Passes the gate on summaries, and fails that on answers."""
    return study_of(
        [
            *damaged_pairs("1"),
            *equal_pairs(),
            *damaged_pairs("2", kind="qa_damage"),
            *equal_pairs(kind="qa_equal"),
        ],
        judge="j",
    )


@pytest.mark.parametrize(
    ("changes", "gate", "note"),
    [
        ({}, "passed", ""),
        ({"n_clusters": 11}, "passed", "too few to conclude"),
        ({"kind": "qa_equal"}, "failed", "instrument check"),
        ({"kind": "qa_damage", "n_clusters": 3}, "failed", "instrument check; too few to conclude"),
        ({"kind": None}, "passed", ""),  # rows over all kinds go by the summaries' gate
        ({"scheme": "forced"}, "not asked", "gate not asked"),
        ({"scheme": ""}, "", ""),  # of no scheme, and so of no gate
        ({"scheme": float("nan"), "judge": float("nan")}, "", ""),  # as where a frame has no such column
    ],
)
def test_rows_are_marked_by_their_own_tasks_gate_and_by_their_documents(two_tasks, changes, gate, note):
    [row] = finished(two_tasks, plain(**changes)).to_dict("records")
    assert (row["gate"], row["note"]) == (gate, note)


def test_every_row_has_every_column_and_says_what_it_rests_on(two_tasks):
    table = finished(two_tasks, plain().assign(step="judge"), "step")
    assert tuple(table.columns) == (*COLUMNS, "step")
    [row] = table.to_dict("records")
    assert (row["profile"], row["fingerprint"], row["step"]) == ("smoke", "0123456789ab", "judge")
    assert (row["coding"], row["system"], row["published_id"]) == ("", "", "")


def test_a_table_without_rows_keeps_its_columns(two_tasks):
    empty = finisher(two_tasks, gate_checks(two_tasks))(one_frame([]))
    assert empty.empty and tuple(empty.columns) == COLUMNS


def test_the_papers_numbers_stand_beside_ours(two_tasks):
    # Table 2, PBP, Gemma: 937 ties of 1,000
    row = plain(judge="gemma_2_9b", scheme="pbp_once")
    [found] = finished(two_tasks, row).to_dict("records")
    assert found["published_id"] == "rationalization_probes.t02.gemma_2_9b.pbp.blind.tie"
    assert found["published"] == 0.937 <= found["paper_high"]
    [other] = finished(two_tasks, plain()).to_dict("records")
    assert other["published_id"] == "" and np.isnan(other["published"])
    assert other["paper_low"] <= other["paper_high"]


def test_an_estimates_row_counts_the_trials_that_were_used():
    rows = pd.DataFrame(damaged_pairs("1", documents=2))
    used = pd.Series([True, True, True, False])
    names = {"judge": "j", "probe": "blind"}
    found = row("lds", names, rows[used], rows, Estimate(0.5, 0.1, 0.9, 2))
    assert (found["condition"], found["value"], found["ci_high"]) == ("blind", 0.5, 0.9)
    assert (found["n_items"], found["n_trials"], found["n_clusters"], found["n_unparsed"]) == (2, 3, 2, 1)


def test_each_table_draws_from_a_generator_of_its_own():
    study = study_of([judgement("d0", "1")])
    assert study.rng("a").random() == study.rng("a").random() != study.rng("b").random()


def test_judgements_of_some_kinds_and_probes():
    study = study_of(all_arms(1))
    assert set(study.of(["qa_equal"])["kind"]) == {"qa_equal"}
    assert set(study.of(["equal", "samples"], "blind", "flip")["probe"]) == {"blind", "flip"}
