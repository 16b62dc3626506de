from __future__ import annotations

import copy

import pytest
from pydantic import ValidationError

from shared.params import ParamsError, parse_common, parse_section
from studies.rubric_position_bias.params import Section

NAME = "rubric_position_bias"

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
        "embedded": {"source": "embedded", "path": None, "items": None, "systems": None},
        "summeval": {"source": "external", "path": "summeval", "items": 0, "systems": ["M0", "M8"]},
    },
    "answer": {"reasoning_chars": 200, "max_tokens": 200, "top_logprobs": 20},
    "sets": {
        "main": {
            "setting": "score",
            "datasets": None,
            "items": 3,
            "schemes": ["base"],
            "sizes": [5],
            "strategies": ["balanced", "random", "fixed"],
            "k": None,
            "temperatures": [0],
            "efforts": None,
        },
        "criteria": {
            "setting": "criteria",
            "items": 1,
            "schemes": ["base"],
            "scales": ["12345", "54321"],
            "strategies": ["balanced"],
            "temperatures": [0],
        },
    },
    "calibration": {"items": 4, "repeats": 20},
    "budget": {"position_effect": 0.05},
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
    assert parsed(document).sizes() == [5]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("judges", ["smollm_135m"], "judges.0: no judge 'smollm_135m' under judges:; did you mean"),
        ("datasets", {}, "datasets: dictionary should have at least 1 item"),
        ("datasets.sumeval", {}, "datasets.sumeval: unknown key; did you mean 'summeval'?"),
        ("datasets.summeval.path", None, "datasets.summeval.path: null, but source is external; name a"),
        ("datasets.summeval.source", "embedded", "datasets.summeval.source: embedded, but only the data"),
        (
            "datasets.embedded",
            {"source": "external", "path": "texts", "items": None, "systems": None},
            "datasets.embedded.source: external, but use embedded",
        ),
        ("datasets.summeval.items", -1, "datasets.summeval.items: should be greater than or equal to 0"),
        ("datasets.summeval.systems", [], "datasets.summeval.systems: list should have at least 1 item"),
        ("datasets.summeval.systems", ["M0", "M0"], "datasets.summeval.systems: 'M0' stands twice"),
        ("answer.reasoning_chars", 0, "answer.reasoning_chars: should be greater than or equal to 1"),
        ("answer.top_logprobs", 21, "answer.top_logprobs: should be less than or equal to 20, not 21"),
        (
            "answer.top_logprobs",  # one of five options would be missing
            4,
            "answer.top_logprobs: must be 0 (off) or at least 5, the largest size of a set",
        ),
        ("sets", {}, "sets: dictionary should have at least 1 item"),
        ("sets.main.setting", "scores", "sets.main.setting: unknown value 'scores'; did you mean 'score'?"),
        ("sets.main.items", -1, "sets.main.items: should be greater than or equal to 0, not -1"),
        ("sets.main.schemes", ["bass"], "sets.main.schemes.0: unknown value 'bass'; did you mean 'base'?"),
        ("sets.main.schemes", ["base", "base"], "sets.main.schemes: 'base' stands twice; remove one"),
        ("sets.main.sizes", [4], "sets.main.sizes.0: "),
        ("sets.main.sizes", None, "sets.main.sizes: missing; say how many score options are shown"),
        ("sets.main.scales", ["12345"], "sets.main.scales: only the setting criteria lists a range"),
        ("sets.criteria.sizes", [5], "sets.criteria.sizes: only the setting score shows options"),
        ("sets.criteria.scales", None, "sets.criteria.scales: missing; say how the range is listed"),
        ("sets.criteria.scales", ["34512"], "sets.criteria.scales.0: unknown value '34512'; "),
        ("sets.main.strategies", ["balance"], "sets.main.strategies.0: unknown value 'balance'; did you"),
        ("sets.main.k", 0, "sets.main.k: should be greater than or equal to 1, not 0"),
        ("sets.main.temperatures", [], "sets.main.temperatures: list should have at least 1 item"),
        ("sets.main.temperatures", [-0.1], "sets.main.temperatures.0: should be greater than or equal to 0"),
        ("sets.main.temperatures", [0, 0.0], "sets.main.temperatures: '0.0' stands twice"),
        ("sets.main.efforts", ["hi"], "sets.main.efforts.0: unknown value 'hi'; did you mean 'high'?"),
        ("sets.main.datasets", ["sumeval"], "sets.main.datasets.0: unknown value 'sumeval'; did you mean"),
        (
            "sets.main.datasets",
            ["embedded", "hanna"],
            "sets.main.datasets.1: no data set 'hanna' under datasets:; use one of: embedded, summeval",
        ),
        (
            "sets.main.datasets",
            ["summeval"],
            "sets.main.datasets.0: datasets.summeval.items is 0; raise it, or drop the data set here",
        ),
        ("calibration.items", 0, "calibration.items: should be greater than or equal to 1, not 0"),
        ("calibration.repeats", 0, "calibration.repeats: should be greater than or equal to 1, not 0"),
        ("budget.position_effect", 0, "budget.position_effect: should be greater than 0, not 0"),
        ("budget.position_effect", 1, "budget.position_effect: should be less than 1, not 1"),
    ],
)
def test_an_impossible_value_is_one_line_with_its_key(document, key, value, said):
    set_to(document, key, value)
    assert message(document).startswith(f"params.yaml: {NAME}.{said}")


@pytest.mark.parametrize("name", ["Main", "2", "main-set", ""])
def test_a_sets_name_is_a_plain_word(document, name):
    sets = document[NAME]["sets"]
    sets[name] = sets["main"]
    assert "sets." in message(document) and "should match pattern" in message(document)


def test_a_set_that_is_left_out_neither_loads_data_nor_shows_options(document):
    set_to(document, "sets.main.datasets", ["summeval"])
    set_to(document, "sets.main.items", 0)
    set_to(document, "answer.top_logprobs", 4)
    assert parsed(document).sizes() == []


def test_sizes_are_gathered_over_the_sets(document):
    sets = document[NAME]["sets"]
    sets["sizes"] = sets["main"] | {"sizes": [9, 2]}
    assert parsed(document).sizes() == [2, 5, 9]


@pytest.mark.parametrize("count", [0, 5, 20])
def test_log_probabilities_are_off_or_reach_every_option(document, count):
    set_to(document, "answer.top_logprobs", count)
    assert parsed(document).answer.top_logprobs == count


def test_a_whole_number_is_a_temperature(document):
    assert parsed(document).sets["main"].temperatures == [0.0]


def test_the_section_refuses_a_silent_conversion(document):
    set_to(document, "calibration.items", "4")
    with pytest.raises(ValidationError):
        Section.model_validate(document[NAME])
