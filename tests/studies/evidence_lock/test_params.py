from __future__ import annotations

import copy
from typing import get_args

import pytest
from pydantic import ValidationError

from shared.params import ParamsError, load, parse_common, parse_section
from studies.evidence_lock.params import CROSSABLE, SCHEMES, WITH_HUB, WITHOUT_RECORD, Dataset, Section

NAME = "evidence_lock"
COMMIT = "0123456789abcdef0123456789abcdef01234567"

COMMON = {
    "profile": "default",
    "seed": 1,
    "store": "store.sqlite",
    "judges": {"smollm2_135m": {"engine": "llamacpp", "model": "model.gguf"}},
    "data": {"external_dir": "data/external"},
    "statistics": {"confidence": 0.95, "resamples": 100, "permutations": 100, "few_clusters": 12},
}

SECTION = {
    "judges": ["smollm2_135m"],
    "datasets": {
        "embedded": {"source": "embedded", "path": None, "items": None},
        "lfqa": {"source": "external", "path": "lfqa_eval", "items": 0, "leave_out": ["empty_answer"]},
        "coval": {"source": "external", "path": "coval", "hub": None, "items": 2},
    },
    "answer": {"record_chars": 300, "max_tokens": 200},
    "encoder": "weights/all-MiniLM-L6-v2",
    "coverage": {"threshold": 0.5},
    "sets": {
        "main": {"datasets": None, "items": 3, "schemes": ["standard", "structured", "lock"]},
        "orders": {"items": 1, "schemes": ["lock"], "crossed": True, "wordings": [1, 2]},
        "resampled": {
            "items": 1,
            "schemes": ["lock"],
            "crossed": True,
            "temperatures": [0.7],
            "replicates": 2,
        },
        "letters": {"items": 1, "schemes": ["lock"], "naming": "letters"},
    },
}


@pytest.fixture
def document():
    return copy.deepcopy(COMMON | {NAME: SECTION})


def parsed(document):
    return parse_section(document, NAME, Section, parse_common(document))


def message(document):
    with pytest.raises(ParamsError) as caught:
        parsed(document)
    return str(caught.value)


def set_to(document, key, value):
    place = document[NAME]
    *parents, last = key.split(".")
    for parent in parents:
        place = place[parent]
    place[last] = value


def test_the_plain_section_passes(document):
    main = parsed(document).sets["main"]
    assert (main.crossed, main.wordings, main.naming) == (False, [1], "neutral")
    assert (main.record_chars, main.temperatures, main.replicates) == (None, [0.0], 1)


def test_the_repositorys_own_params_pass(root):
    _, section = load(NAME, Section, root / "params.yaml")
    asked = {scheme for chosen in section.sets.values() for scheme in chosen.schemes}
    assert asked == set(SCHEMES) and set(section.datasets) == set(get_args(Dataset))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("judges", ["smollm_135m"], "judges.0: no judge 'smollm_135m' under judges:; did you mean"),
        ("judges", [], "judges: list should have at least 1 item"),
        ("datasets", {}, "datasets: dictionary should have at least 1 item"),
        ("datasets.lfqua", {}, "datasets.lfqua: unknown key; did you mean 'lfqa'?"),
        ("datasets.lfqa.pth", "x", "datasets.lfqa.pth: unknown key; did you mean 'path'?"),
        ("datasets.lfqa.path", None, "datasets.lfqa.path: null, but source is external; name a place below"),
        ("datasets.lfqa.path", "", "datasets.lfqa.path: string should have at least 1 character"),
        ("datasets.lfqa.source", "embeded", "datasets.lfqa.source: unknown value 'embeded'; did you mean"),
        (
            "datasets.lfqa.source",
            "embedded",
            "datasets.lfqa.source: embedded, but only the data",
        ),
        ("datasets.embedded.source", "hub", "datasets.embedded.hub: null, but source is hub; write"),
        (
            "datasets.embedded",
            {"source": "external", "path": "pairs", "items": None},
            "datasets.embedded.source: external, but use embedded",
        ),
        ("datasets.coval.source", "hub", "datasets.coval.hub: null, but source is hub; write {dataset, "),
        (
            "datasets.coval.hub",
            {"dataset": "openai/coval", "revision": "main", "split": "train"},
            "datasets.coval.hub.revision: string should match pattern",
        ),
        (
            "datasets.lfqa",
            {
                "source": "hub",
                "path": None,
                "hub": {"dataset": "a/b", "revision": COMMIT, "split": "s"},
                "items": 1,
            },
            "datasets.lfqa.source: hub, but only helpsteer3, coval can be read from one; use external",
        ),
        ("datasets.lfqa.items", -1, "datasets.lfqa.items: should be greater than or equal to 0, not -1"),
        ("datasets.lfqa.items", "all", "datasets.lfqa.items: should be a valid integer, not 'all'"),
        ("datasets.lfqa.leave_out", [], "datasets.lfqa.leave_out: list should have at least 1 item"),
        (
            "datasets.lfqa.leave_out",
            ["identical"],
            "datasets.lfqa.leave_out.0: unknown value 'identical'; did you mean 'identical_answers'?",
        ),
        (
            "datasets.lfqa.leave_out",
            ["repeated", "repeated"],
            "datasets.lfqa.leave_out: 'repeated' stands twice; remove one",
        ),
        ("answer.record_chars", 23, "answer.record_chars: should be greater than or equal to 24, not 23"),
        ("answer.max_tokens", 0, "answer.max_tokens: should be greater than or equal to 1, not 0"),
        ("encoder", "", "encoder: string should have at least 1 character"),
        ("coverage.threshold", 1, "coverage.threshold: should be less than 1, not 1"),
        ("coverage.threshold", -1, "coverage.threshold: should be greater than -1, not -1"),
        ("sets", {}, "sets: dictionary should have at least 1 item"),
        ("sets.main.items", -1, "sets.main.items: should be greater than or equal to 0, not -1"),
        ("sets.main.schemes", [], "sets.main.schemes: list should have at least 1 item"),
        ("sets.main.schemes", ["lok"], "sets.main.schemes.0: unknown value 'lok'; did you mean 'lock'?"),
        ("sets.main.schemes", ["lock", "lock"], "sets.main.schemes: 'lock' stands twice; remove one"),
        ("sets.main.crossed", "yes", "sets.main.crossed: should be a valid boolean, not 'yes'"),
        ("sets.main.crossed", True, "sets.main.schemes.0: standard has no record to show in another order"),
        (
            "sets.orders.schemes",
            ["lock", "conversation"],
            "sets.orders.schemes.1: conversation has no record to show in another order; cross only lock, ",
        ),
        ("sets.orders.naming", "letters", "sets.orders.naming: letters name answers by their order, which"),
        ("sets.letters.naming", "letter", "sets.letters.naming: unknown value 'letter'; did you mean"),
        ("sets.main.record_chars", [], "sets.main.record_chars: list should have at least 1 item"),
        ("sets.main.record_chars", [20], "sets.main.record_chars.0: should be greater than or equal to 24"),
        ("sets.main.record_chars", [60, 60], "sets.main.record_chars: '60' stands twice; remove one"),
        ("sets.orders.wordings", [3], "sets.orders.wordings.0: unknown value 3; use one of: 1, 2"),
        ("sets.orders.wordings", [1, 1], "sets.orders.wordings: '1' stands twice; remove one"),
        ("sets.main.temperatures", [-0.1], "sets.main.temperatures.0: should be greater than or equal to 0"),
        ("sets.main.temperatures", [2.5], "sets.main.temperatures.0: should be less than or equal to 2"),
        ("sets.main.temperatures", [0, 0.0], "sets.main.temperatures: '0.0' stands twice; remove one"),
        ("sets.main.replicates", 0, "sets.main.replicates: should be greater than or equal to 1, not 0"),
        ("sets.main.replicates", 2, "sets.main.replicates: at temperature 0 a replicate is the same answer;"),
        (
            "sets.resampled.temperatures",
            [0.7, 0],
            "sets.resampled.replicates: at temperature 0 a replicate is the same answer; use 1, or a",
        ),
        ("sets.main.datasets", ["coval", "lfqua"], "sets.main.datasets.1: unknown value 'lfqua'; did you"),
        (
            "sets.main.datasets",
            ["coval", "llmbar"],
            "sets.main.datasets.1: no data set 'llmbar' under datasets:; use one of: embedded, lfqa, coval",
        ),
        (
            "sets.main.datasets",
            ["lfqa"],
            "sets.main.datasets.0: datasets.lfqa.items is 0; raise it, or drop the data set here",
        ),
        ("sets.main.scheme", ["lock"], "sets.main.scheme: unknown key; did you mean 'schemes'?"),
    ],
)
def test_an_impossible_value_is_one_line_with_its_key(document, key, value, said):
    set_to(document, key, value)
    told = message(document)
    assert told.startswith(f"params.yaml: {NAME}.{said}")
    assert "\n" not in told


@pytest.mark.parametrize("key", ["judges", "answer", "encoder", "coverage", "sets", "datasets.lfqa.items"])
def test_what_is_missing_is_named(document, key):
    place = document[NAME]
    *parents, last = key.split(".")
    for parent in parents:
        place = place[parent]
    del place[last]
    assert message(document) == f"params.yaml: {NAME}.{key}: missing; add it"


@pytest.mark.parametrize("name", ["Main", "2", "main-set", ""])
def test_a_sets_name_is_a_plain_word(document, name):
    sets = document[NAME]["sets"]
    sets[name] = sets["main"]
    assert "sets." in message(document) and "should match pattern" in message(document)


def test_no_set_asks_for_a_longer_record_than_the_main_one(document):
    """It would silently become the lock's main cell, beside a Structured of another cap."""
    longest = document[NAME]["answer"]["record_chars"]
    set_to(document, "sets.main.record_chars", [longest])
    parsed(document)
    set_to(document, "sets.main.record_chars", [24, longest + 1])
    told = f"sets.main.record_chars.1: {longest + 1}, above answer.record_chars ({longest})"
    assert told in message(document)


def test_a_set_that_is_left_out_may_name_data_that_is_left_out(document):
    set_to(document, "sets.main.datasets", ["lfqa"])
    set_to(document, "sets.main.items", 0)
    assert parsed(document).sets["main"].items == 0


def test_one_judge_alone_may_be_asked_for_anothers_record(document):
    """Its rows then say that it was not run."""
    set_to(document, "sets.main.schemes", ["lock", "other_record"])
    set_to(document, "sets.main.crossed", True)
    assert parsed(document).sets["main"].schemes == ["lock", "other_record"]


@pytest.mark.parametrize("name", WITH_HUB)
def test_what_a_hub_has_is_pinned_to_a_commit(document, name):
    hub = {"dataset": "owner/name", "revision": COMMIT, "split": "train"}
    own = {"source": "hub", "path": None, "hub": hub, "items": None}
    document[NAME]["datasets"][name] = own
    assert parsed(document).datasets[name].hub.revision == COMMIT


def test_what_has_no_record_is_not_crossed():
    assert set(CROSSABLE) < set(SCHEMES) and not set(CROSSABLE) & set(WITHOUT_RECORD)


def test_a_whole_number_is_a_temperature(document):
    set_to(document, "sets.main.temperatures", [0, 1])
    assert parsed(document).sets["main"].temperatures == [0.0, 1.0]


def test_the_section_refuses_a_silent_conversion(document):
    for key, value in (("answer.max_tokens", "4"), ("sets.main.items", 1.0), ("coverage.threshold", "0.5")):
        changed = copy.deepcopy(document)
        set_to(changed, key, value)
        with pytest.raises(ValidationError):
            Section.model_validate(changed[NAME])
