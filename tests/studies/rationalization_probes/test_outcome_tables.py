"""Outcome tables on scripted judgements: cells by hand, codings, floors, and the paper's numbers beside."""

import numpy as np
import pandas as pd
import pytest

from studies.rationalization_probes.metrics import revisions
from studies.rationalization_probes.outcome_tables import (
    cross_task_rows,
    outcome_rows,
    probe_rows,
    relabel_rows,
    shift_rows,
    with_floor,
)
from studies.rationalization_probes.pairing import as_floor
from studies.rationalization_probes.tables import effect_rows
from tests.studies.rationalization_probes.scripted_judgements import all_arms, every_arm, judgement
from tests.studies.rationalization_probes.scripted_study import cell, finished, study_of


@pytest.fixture(scope="module")
def by_hand():
    """Four documents under SCoT; one answer under Blind could not be parsed."""
    blind, truth = ("tie", "1", "1", None), ("1", "1", "1", "tie")
    rows = [judgement(f"d{i}", verdict) for i, verdict in enumerate(blind)]
    rows += [judgement(f"d{i}", verdict, probe="truth") for i, verdict in enumerate(truth)]
    return study_of(rows)


@pytest.fixture(scope="module")
def sound():
    """A judge that passes the gate, asked what the paper's main tables show."""
    return study_of(every_arm(16))


@pytest.fixture(scope="module")
def asked_all():
    return study_of(all_arms(4))


def test_shares_by_hand(by_hand):
    # Parsed: tie, 1, 1. Of all four, the tie is a quarter.
    table = finished(by_hand, outcome_rows(by_hand, "equal", "blind"))
    tie = cell(table, "share_tie")
    assert (tie["count"], tie["n_items"], tie["n_clusters"], tie["n_unparsed"]) == (1, 3, 3, 1)
    assert (tie["value"], tie["value_paper"]) == pytest.approx((1 / 3, 1 / 4))
    assert (tie["paper_low"], tie["paper_high"]) == pytest.approx((0.71, 0.84))
    assert cell(table, "neutrality_signed")["value"] == pytest.approx(2 / 3)


def test_movement_by_hand(by_hand):
    # Pairs with both parsed: d0 to d2. [1,2] rises from 2/3 to 1, all of it from Tie: LDS 1/3, LAO 1.
    table = finished(by_hand, probe_rows(by_hand, "truth"))
    assert cell(table, "lds")["value"] == pytest.approx(1 / 3)
    assert cell(table, "shift_tie")["value"] == pytest.approx(-1 / 3)
    assert cell(table, "lao")["value"] == 1
    assert cell(table, "lao")["n_unparsed"] == 1
    # No empty line was shown.
    assert np.isnan([cell(table, "lao")[name] for name in ("floor_value", "floor_low", "floor_high")]).all()


def test_codings_of_a_flip(sound):
    truth, flip, placebo = (
        finished(sound, probe_rows(sound, probe)) for probe in ("truth", "flip", "placebo")
    )
    assert set(truth["coding"]) == {"", "carrier"}
    assert set(flip["coding"]) == set(placebo["coding"]) == {"", "carrier", "always_12"}
    # Always [1,2], while every verdict went to 2, the carrier: what was LDS is OLS.
    led = cell(flip, "lds", scheme="scot", coding="carrier")
    other = cell(flip, "ols", scheme="scot", coding="always_12")
    assert led["value"] == other["value"] == 0.75


@pytest.mark.parametrize("probe", ["truth", "flip", "placebo"])
def test_the_floor_is_what_an_empty_line_moves(sound, probe):
    # Every eighth of 16 documents went from Tie to 1 when a line without information was added: towards the
    # candidate that carries the cue under Truth, away from it where 2 does.
    table = probe_rows(sound, probe)
    towards = {"lds": 1 / 8, "ols": 0, "lao": 1} if probe == "truth" else {"lds": 0, "ols": 1 / 8, "lao": 0}
    for quantity, moved in (towards | {"shift_tie": -1 / 8, "ts": 0}).items():
        row = cell(table, quantity, scheme="scot", coding="carrier")
        assert row["floor_value"] == moved
        # Of two moved documents an eighth of the resamples have none, in which LAO is undefined.
        assert row["floor_low"] <= moved <= row["floor_high"] or quantity == "lao"
        assert np.isnan(row["floor_low"]) == (quantity == "lao")
    # A forced choice said 1 to these in any case: nothing moved, and LAO is undefined.
    assert np.isnan(cell(table, "lao", scheme="forced", coding="carrier")["floor_value"])
    assert cell(table, "lds", scheme="forced", coding="carrier")["floor_value"] == 0
    assert table.loc[table["quantity"].str.startswith("share"), "floor_value"].isna().all()


def test_a_floor_is_of_the_same_kind_of_pairs(asked_all):
    # Two samples were shown no empty line: the equal pairs' floor is not theirs.
    moved = shift_rows(asked_all, asked_all.of(["equal", "samples"], "blind", "truth"), "carrier")
    resting = as_floor(asked_all.of(["equal"], "blind", "empty", "truth"), "truth")
    floored = with_floor(moved, shift_rows(asked_all, resting, "carrier"))
    assert len(floored) == len(moved)
    assert floored.loc[floored["kind"] == "samples", "floor_value"].isna().all()
    assert cell(floored, "lds", kind="equal", scheme="scot")["floor_value"] == 0.25


def test_the_empty_line_is_outside_the_family_of_tests(sound):
    table = effect_rows(sound)
    row = cell(table, "cue_effect", scheme="scot", condition="empty")
    assert row["value"] == 1 / 8 and np.isnan(row["p_holm"])
    cued = table.query("kind == 'equal' and condition != 'empty'")
    assert cued["p_holm"].notna().all() and set(cued["condition"]) == {"truth", "flip", "placebo"}


def test_shifts_of_two_samples_have_the_papers_tables_beside():
    rows = [
        judgement(f"d{i}", verdict, kind=kind, probe=probe)
        for i in range(2)
        for kind in ("equal", "samples")
        for probe, verdict in (("blind", "tie"), ("truth", "1"))
    ]
    study = study_of(rows, judge="gemma_2_9b")
    samples, equal = (finished(study, probe_rows(study, "truth", kind)) for kind in ("samples", "equal"))
    # Table 6 prints 0.583, and Tables 2 and 3 have [1,2] rise from 97 to 680.
    printed, computed = (cell(table, "lds") for table in (samples, equal))
    assert (printed["published_id"], printed["published"]) == (
        "rationalization_probes.t06.gemma_2_9b.scot.truth.lds",
        0.583,
    )
    assert (computed["published_id"], computed["published"]) == ("", pytest.approx(0.583))
    assert set(samples["kind"]) == {"samples"} and set(equal["kind"]) == {"equal"}


def test_revision_by_hand(sound):
    # Under Flip all picked 2; revealed, all went to 1, which has the label now; asked again, none did.
    table = finished(sound, revisions(sound.judgements, sound.rng("revision"), sound.inference))
    rates = {
        name: cell(table, "revision_rate", scheme="scot", condition=name)["value"]
        for name in ("reveal", "control", "difference")
    }
    assert rates == {"reveal": 1, "control": 0, "difference": 1}
    assert cell(table, "revised_towards", scheme="scot", condition="reveal")["value"] == 1
    paper = cell(table, "revision_rate", scheme="scot", condition="reveal")
    assert (paper["paper_low"], paper["paper_high"]) == pytest.approx((0.76, 0.82))


def test_extractive_pairs_by_system(sound):
    row = cell(
        finished(sound, outcome_rows(sound, "extractive", "blind", "truth")),
        "share_12",
        scheme="scot",
        system="textrank",
    )
    assert (row["value"], row["count"], row["paper_low"]) == (1, 16, 1)
    assert row["writer"] == "given"
    assert set(finished(sound, outcome_rows(sound, "equal", "blind"))["writer"]) == {""}


def test_relabelling_by_hand(asked_all):
    # All picked 1, the relabelled one, under Blind and as LLM; as TradML none did.
    table = relabel_rows(asked_all)
    effects = {
        condition: cell(table, "cue_effect", condition=condition)["value"]
        for condition in ("relabel_llm", "relabel_tradml", "relabel_contrast")
    }
    # One label against the other, on the same text: all against none.
    assert effects == {"relabel_llm": 0, "relabel_tradml": -1, "relabel_contrast": 1}
    shares = table[(table["quantity"] == "share_12") & (table["scheme"] == "forced")].set_index("condition")
    assert shares["value"].to_dict() == {"blind": 1, "relabel_llm": 1, "relabel_tradml": 0}
    assert set(shares["system"]) == {"textrank"}
    assert set(table["condition"]) == {"blind", "relabel_llm", "relabel_tradml", "relabel_contrast"}


def test_answers_are_a_table_of_their_own(asked_all):
    # Every other document's 1 under Blind; under a cue always its carrier's: from a half to all.
    table = cross_task_rows(asked_all)
    assert set(table["kind"]) == {"qa_equal"}
    for condition in ("truth", "flip", "placebo"):
        assert cell(table, "cue_effect", condition=condition)["value"] == 0.5
    assert cell(table, "share_12", condition="blind")["value"] == 0.5


@pytest.mark.parametrize("rows", [relabel_rows, cross_task_rows])
def test_what_was_not_run_has_no_rows(by_hand, rows):
    assert rows(by_hand).empty


def test_swapping_the_candidates_turns_the_table_round(by_hand):
    def swapped(verdict):
        return {"1": "2", "2": "1"}.get(verdict, verdict)

    rows = by_hand.judgements.drop(columns=["judge", "system", "writer"])
    other = study_of(rows.assign(verdict=rows["verdict"].map(swapped), carrier=3 - rows["carrier"]))
    first, second = (outcome_rows(study, "equal", "blind") for study in (by_hand, other))
    assert cell(first, "share_12")["value"] == cell(second, "share_21")["value"]
    assert cell(first, "neutrality_signed")["value"] == -cell(second, "neutrality_signed")["value"]
    ours, theirs = (cell(effect_rows(study), "cue_effect")["value"] for study in (by_hand, other))
    assert ours == theirs  # the carrier was swapped with them
    pd.testing.assert_series_equal(
        cell(probe_rows(by_hand, "truth"), "lds")[["value", "count"]],
        cell(probe_rows(other, "truth"), "lds")[["value", "count"]],
        check_names=False,
    )
