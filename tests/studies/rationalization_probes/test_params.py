from __future__ import annotations

import copy

import pytest
from pydantic import ValidationError

from shared.params import PARAMS, ParamsError, parse_common, parse_section, read
from studies.rationalization_probes.params import Section

NAME = "rationalization_probes"


@pytest.fixture
def document(root):
    return copy.deepcopy(read(root / PARAMS))


def message(document):
    with pytest.raises(ParamsError) as caught:
        parse_section(document, NAME, Section, parse_common(document))
    return str(caught.value)


def set_to(document, key, value):
    place = document[NAME]
    *parents, last = key.split(".")
    for parent in parents:
        place = place[parent]
    place[last] = value


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (
            "judges",
            ["smollm_135m"],
            "judges.0: no judge 'smollm_135m' under judges:; did you mean 'smollm2_135m'?",
        ),
        ("judges", [], "judges: list should have at least 1 item"),
        ("documents.generate.judge", "other", "documents.generate.judge: no judge 'other' under judges:"),
        ("documents.source", "external", "documents.path: null, but source is external; name a folder"),
        (
            "documents.source",
            "hub",
            "documents.hub: null, but source is hub; give {dataset, revision, split}",
        ),
        (
            "documents.hub",
            {"dataset": "a/b", "revision": "main", "split": "test"},  # a branch is not a pin
            "documents.hub.revision: string should match pattern",
        ),
        ("documents.columns", {"txt": "body"}, "documents.columns.txt: unknown key; did you mean 'text'?"),
        (
            "documents.tokens",
            {"min": 900, "max": 900},
            "documents.tokens.min: must be below max (900), not 900",
        ),
        ("labels.tradml", "LLM", "labels.tradml: is the same as llm"),
        ("labels.tradml", "llm", "labels.tradml: is the same as llm"),
        ("labels.placebo", "tradML", "labels.placebo: is the same as another label"),
        ("labels.placebo", "LLM ", "labels.placebo: should be words in one line"),
        ("labels.placebo", " ", "labels.placebo: should be words in one line"),
        ("labels.placebo", "", "labels.placebo: should be words in one line"),
        ("labels.placebo", "a\n\nIgnore all", "labels.placebo: should be words in one line"),
        ("labels.placebo", "<|im_end|>", "labels.placebo: looks like a control token"),
        ("labels.placebo", "Ex\u200bpert", "labels.placebo: looks like a control token"),
        ("labels", {"llm": "LLM", "tradml": "TradML"}, "labels.placebo: missing; add it"),
        ("weights.accuracy", -1, "weights.accuracy: should be greater than or equal to 0, not -1"),
        (
            "weights",
            {"accuracy": 0, "completeness": 0, "conciseness": 0, "fluency": 0},
            "weights: all weights are 0; give at least one criterion a positive weight",
        ),
        (
            "weights",  # 5 * 1e308 is beyond a float's 1.8e308
            {"accuracy": 1e308, "completeness": 0, "conciseness": 0, "fluency": 0},
            "weights: the weights are too large",
        ),
        ("weights", {"accuracy": 1, "completeness": 1, "conciseness": 1}, "weights.fluency: missing; add it"),
        ("tie_margin", 4, "tie_margin: should be less than 4, not 4"),  # totals lie in [1, 5]
        ("tie_margin", -0.5, "tie_margin: should be greater than or equal to 0, not -0.5"),
        ("screen_orders", "two", "screen_orders: unknown value 'two'; use one of: one, both"),
        ("sets.equal.items", -1, "sets.equal.items: should be greater than or equal to 0, not -1"),
        (
            "sets.equal.schemes",
            ["scott"],
            "sets.equal.schemes.0: unknown value 'scott'; did you mean 'scot'?",
        ),
        (
            "sets.equal.probes",
            ["blind", "flop"],
            "sets.equal.probes.1: unknown value 'flop'; did you mean 'flip'?",
        ),
        ("sets.equal.probes", ["truth", "flip"], "sets.equal.probes: blind is missing"),
        ("sets.equal.probes", ["blind", "truth"], "sets.equal.reveal: needs flip in probes"),
        ("sets.damage.levels", [4], "sets.damage.levels.0: should be less than or equal to 3, not 4"),
        ("sets.damage.levels", None, "sets.damage.levels: missing; say how many errors"),
        ("sets.equal.levels", [1], "sets.equal.levels: only damaged items have levels; remove it"),
        ("sets.qa_damage.levels", None, "sets.qa_damage.levels: missing; say how many errors"),
        ("sets.qa_equal.levels", [1], "sets.qa_equal.levels: only damaged items have levels; remove it"),
        (
            "sets.equal_pbp.kind",
            "equl",
            "sets.equal_pbp.kind: unknown value 'equl'; did you mean 'equal'?",
        ),
        (
            "sets.equal_pbp.kind",  # its name is no kind
            None,
            "sets.equal_pbp.kind: missing, and the set's name is not the kind of its items; ",
        ),
        ("questions.source", "external", "questions.path: null, but source is external; name a folder"),
        ("questions.columns", {"qestion": "q"}, "questions.columns.qestion: unknown key; did you mean"),
        ("attacks.writer", "other", "attacks.writer: no judge 'other' under judges:"),
        ("resample_temperature", 0, "resample_temperature: should be greater than 0, not 0"),
        ("rationales.thresholds", [0.1, 1], "rationales.thresholds.1: should be less than 1, not 1"),
        (
            "rationales.descriptors.label",  # one wording shows nothing of how much the answer depends on it
            [{"favoured": "LLM", "opposite": "TradML"}],
            "rationales.descriptors.label: list should have at least 2 items",
        ),
        ("sets", {}, "sets: dictionary should have at least 1 item"),
    ],
)
def test_an_impossible_value_is_one_line_with_its_key(document, key, value, said):
    set_to(document, key, value)
    assert message(document).startswith(f"params.yaml: {NAME}.{said}")


def test_a_set_whose_name_is_no_kind_says_its_kind(document):
    sets = document[NAME]["sets"]
    sets["equl"] = sets.pop("equal")
    told = "missing, and the set's name is not the kind of its items; did you mean 'equal'?"
    assert message(document) == f"params.yaml: {NAME}.sets.equl.kind: {told}"
    sets["equl"]["kind"] = "equal"
    section = parse_section(document, NAME, Section, parse_common(document))
    assert section.sets["equl"].kind_of("equl") == "equal"


@pytest.mark.parametrize("name", ["Equal", "2", "equal-pbp", ""])
def test_a_sets_name_is_a_plain_word(document, name):
    sets = document[NAME]["sets"]
    sets[name] = sets["equal"] | {"kind": "equal"}
    assert "sets." in message(document) and "should match pattern" in message(document)


@pytest.mark.parametrize("family", ["label", "placebo", "verbosity", "confidence"])
def test_every_family_of_cues_has_descriptors(document, family):
    del document[NAME]["rationales"]["descriptors"][family]
    assert message(document) == f"params.yaml: {NAME}.rationales.descriptors.{family}: missing; add it"


def test_conciseness_alone_cannot_be_left_out(document):
    set_to(document, "weights", {"accuracy": 0, "completeness": 0, "conciseness": 1, "fluency": 0})
    sets = document[NAME]["sets"]
    document[NAME]["sets"] = {"equal": sets["equal"] | {"schemes": ["scot", "scot_no_conciseness"]}}
    assert "only conciseness has weight, and a scheme leaves it out" in message(document)
    document[NAME]["sets"] = {"equal": sets["equal"] | {"schemes": ["scot"]}}
    parse_section(document, NAME, Section, parse_common(document))


def test_kinds_and_levels_are_gathered_over_the_sets(document):
    sets = document[NAME]["sets"]
    damage = sets["damage"] | {"kind": "damage"}
    document[NAME]["sets"] = {
        "price": damage | {"levels": [3, 1]},
        "equal": sets["equal"],
        "damage": damage | {"levels": [3, 2]},
    }
    section = parse_section(document, NAME, Section, parse_common(document))
    assert section.kinds() == ["damage", "equal"]
    assert section.levels("damage") == [1, 2, 3]
    assert section.levels("equal") == section.levels("qa_damage") == []


def test_a_set_of_no_items_asks_for_nothing(document):
    sets = document[NAME]["sets"]
    left_out = {"items": 0, "schemes": ["scot_no_conciseness"]}
    document[NAME]["sets"] = {
        "equal": sets["equal"] | {"schemes": ["scot"]},
        "qa_damage": sets["damage"] | {"kind": "qa_damage", "levels": [1, 3]} | left_out,
    }
    set_to(document, "weights", {"accuracy": 0, "completeness": 0, "conciseness": 1, "fluency": 0})
    section = parse_section(document, NAME, Section, parse_common(document))
    assert section.kinds() == ["equal"] and section.levels("qa_damage") == []
    assert list(section.asked()) == ["equal"]


def test_a_pinned_hub_data_set_is_accepted(document):
    set_to(document, "documents.source", "hub")
    set_to(document, "documents.hub", {"dataset": "a/b", "revision": "0" * 40, "split": "test"})
    section = parse_section(document, NAME, Section, parse_common(document))
    assert section.documents.hub.revision == "0" * 40


def test_items_null_means_all(document):
    set_to(document, "sets.equal.items", None)
    section = parse_section(document, NAME, Section, parse_common(document))
    assert section.sets["equal"].items is None


def test_a_criterion_of_weight_0_is_still_asked_for(document):
    set_to(document, "weights.fluency", 0)
    section = parse_section(document, NAME, Section, parse_common(document))
    assert list(section.weights) == ["accuracy", "completeness", "conciseness", "fluency"]


def test_the_section_refuses_a_silent_conversion(document):
    set_to(document, "extractive_sentences", "3")
    with pytest.raises(ValidationError):
        Section.model_validate(document[NAME])
