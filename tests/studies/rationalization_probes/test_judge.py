"""Which texts a trial is shown with."""

import pandas as pd
import pytest

from studies.rationalization_probes.design import design
from studies.rationalization_probes.judge import with_texts
from studies.rationalization_probes.params import TrialSet
from studies.rationalization_probes.protocols import Protocols
from tests.studies.rationalization_probes.support import attacked, item, items, obedient, params, play

PROBES = ["blind", "truth", "verbosity", "confidence"]
ITEMS = items(item("a:equal"), item("b:equal"))


def attack(name: str, probe: str, carrier: int) -> dict[str, object]:
    return {
        "item": name,
        "probe": probe,
        "carrier": carrier,
        "text": f"{name} under {probe}.",
        "status": "ok",
    }


ATTACKS = attacked(
    attack("a:equal", "verbosity", 2), attack("a:equal", "confidence", 1), attack("b:equal", "verbosity", 1)
)


@pytest.fixture
def trials():
    equal = TrialSet(items=None, schemes=["forced", "pointwise"], probes=PROBES, reveal=False)
    section = params(sets={"equal": equal})
    return list(with_texts(design(ITEMS, ATTACKS, section, seed=1), ITEMS, ATTACKS))


def test_trials_come_in_design_order_with_their_items_texts(trials):
    asked = [(trial.item, trial.scheme, trial.probe) for trial in trials]
    assert asked == [
        *(("a:equal", scheme, probe) for scheme in ("forced", "pointwise") for probe in PROBES),
        # whose text could not be made more confident
        *(("b:equal", scheme, probe) for scheme in ("forced", "pointwise") for probe in PROBES[:3]),
    ]
    assert {trial.source for trial in trials} == {item()["source"]}
    assert {trial.kind for trial in trials} == {"equal"}


def test_an_attacked_text_is_shown_under_its_attack_and_nowhere_else(trials):
    rewritten = {(row["item"], row["probe"]): row for row in ATTACKS.to_dict("records")}
    for trial in trials:
        pair = {1: item()["candidate_1"], 2: item()["candidate_2"]}
        if row := rewritten.get((trial.item, trial.probe)):
            assert trial.carrier == row["carrier"]
            pair[row["carrier"]] = row["text"]
        assert (trial.candidate_1, trial.candidate_2) == (pair[1], pair[2])


def test_what_is_asked_holds_the_attacked_text_in_its_place(trials):
    protocols = Protocols(params(), structured=True)
    for trial in trials:
        asked = "".join(r.messages[-1].content for r in play(protocols, trial, obedient).requests)
        told = [text for text in ATTACKS["text"] if text in asked]
        known = ATTACKS[(ATTACKS["item"] == trial.item) & (ATTACKS["probe"] == trial.probe)]
        assert told == known["text"].tolist()
        if told and trial.scheme == "forced":
            assert f"<summary_{trial.place(trial.carrier)}>\n{told[0]}" in asked


def test_identical_texts_differ_under_attack_alone():
    same = items(item("a:identical", "identical") | {"candidate_2": item()["candidate_1"]})
    asked = TrialSet(items=None, schemes=["forced"], probes=["blind", "verbosity"], reveal=False)
    attacks = attacked(attack("a:identical", "verbosity", 2))
    table = design(same, attacks, params(sets={"identical": asked}), seed=1)
    blind, attacked_trial = with_texts(table, same, attacks)
    assert blind.candidate_1 == blind.candidate_2 == attacked_trial.candidate_1
    assert attacked_trial.candidate_2 == "a:identical under verbosity."


def test_without_attacks_every_text_is_the_items_own():
    equal = TrialSet(items=None, schemes=["forced"], probes=["blind"], reveal=False)
    table = design(ITEMS, attacked(), params(sets={"equal": equal}), seed=1)
    pd.testing.assert_series_equal(
        pd.Series([trial.candidate_1 for trial in with_texts(table, ITEMS, attacked())]),
        ITEMS["candidate_1"],
        check_names=False,
    )
