"""Tables about rationales and attacks: which rows they are put together from."""

import numpy as np
import pytest

from studies.rationalization_probes.rationale_tables import (
    alignment_rows,
    attack_rows,
    consistency_rows,
    drift_rows,
)
from tests.studies.rationalization_probes.scripted_judgements import all_arms, judgement
from tests.studies.rationalization_probes.scripted_study import cell, finished, study_of
from tests.studies.rationalization_probes.support import params

FORCED = {"scheme": "forced", "kind": "equal"}


@pytest.fixture(scope="module")
def study():
    return study_of(all_arms(4))


@pytest.fixture(scope="module")
def drift(study):
    return drift_rows(study, params())


@pytest.fixture(scope="module")
def alignment(study):
    return alignment_rows(study, params())


@pytest.fixture(scope="module")
def verbosity(study, drift, alignment):
    return finished(study, attack_rows(study, "verbosity", drift, alignment))


def test_damaged_pairs_are_the_gates_and_not_compared(drift, alignment):
    for table in (drift, alignment):
        assert set(table["kind"]) == {"equal", "identical", "samples", "extractive", "qa_equal"}


def test_a_scheme_that_asks_for_no_rationale_has_no_rows(study, drift, alignment):
    consistency = consistency_rows(study, params().labels)
    assert "pointwise" in set(study.judgements["scheme"])
    assert not any("pointwise" in set(table["scheme"]) for table in (drift, alignment, consistency))


def test_drift_stands_beside_both_floors_and_above_them(drift):
    assert {"empty", "resample", "truth", "verbosity"} <= set(drift["condition"])
    # Free text is an answer to the same prompt in another form: neither a cue nor a floor.
    assert "free" not in set(drift["condition"])
    resample = cell(drift, "drift", condition="resample", over="all", **FORCED)
    # The script writes Blind's words again, and another text under Truth.
    assert resample["value"] == 0 < cell(drift, "drift", condition="truth", over="all", **FORCED)["value"]
    above = cell(drift, "drift_above_resample", condition="truth", over="all", **FORCED)
    truth = cell(drift, "drift", condition="truth", over="all", **FORCED)
    assert above["value"] == pytest.approx(truth["value"])


def test_change_rates_have_the_thresholds_of_params(drift):
    told = set(drift.loc[drift["quantity"] == "change_rate", "wording"])
    assert told == {f"> {threshold:g}" for threshold in params().rationales.thresholds}


def test_alignment_has_every_wording_their_mean_and_their_range(alignment):
    rows = alignment.query(
        "condition == 'truth' and scheme == 'forced' and kind == 'equal' and over == 'all'"
    )
    wordings = len(params().rationales.descriptors["label"])
    lai = rows[rows["quantity"] == "lai"]
    assert lai["wording"].tolist() == [*map(str, range(1, wordings + 1)), "mean"]
    assert len(rows[rows["quantity"] == "lai_wording_range"]) == 1
    assert not {"empty", "resample", "free"} & set(alignment["condition"])


def test_an_attack_is_outcomes_shifts_drift_and_cue_aligned_rationales_by_kind(verbosity):
    assert set(verbosity["condition"]) == {"verbosity"}
    for kind in ("equal", "identical"):
        of_kind = verbosity[verbosity["kind"] == kind]
        assert {"share_12", "lds", "lao", "drift", "lai", "drift_above_resample"} <= set(of_kind["quantity"])
    # 2 was attacked, and always picked; under Blind it was picked from every other document.
    assert cell(verbosity, "shift_favoured", **FORCED)["value"] == 0.5
    assert set(verbosity.loc[verbosity["coding"] != "", "coding"]) == {"carrier"}


def test_the_papers_numbers_stand_beside_an_attack_on_equal_pairs(verbosity):
    assert np.isfinite(cell(verbosity, "lds", **FORCED)["paper_high"])
    assert np.isnan(cell(verbosity, "lds", scheme="forced", kind="identical")["paper_high"])


def test_rationales_are_read_for_what_they_state_and_argue_from(study):
    table = consistency_rows(study, params().labels)
    assert cell(table, "consistency_rate", condition="truth", **FORCED)["value"] == 1
    # Under a label the script argues from it, and never without one.
    assert cell(table, "intrusion_rate", condition="truth", **FORCED)["value"] == 1
    assert cell(table, "intrusion_rate", condition="blind", **FORCED)["value"] == 0
    assert cell(table, "intrusion_excess", condition="truth", **FORCED)["value"] == 1
    assert "damage" not in set(table["kind"])


def test_answers_rationales_are_read_too(study):
    table = consistency_rows(study, params().labels)
    assert cell(table, "consistency_rate", condition="flip", scheme="forced", kind="qa_equal")["value"] == 1


def test_an_attack_that_was_not_run_has_no_rows():
    alone = study_of([judgement("d0", "1"), judgement("d0", "2", probe="truth")])
    drift, alignment = drift_rows(alone, params()), alignment_rows(alone, params())
    assert attack_rows(alone, "confidence", drift, alignment).empty
    # there was no rationale either: the rows are there and say n/a
    assert drift["value"].isna().all() and (drift["n_items"] == 0).all() and len(drift) > 0
