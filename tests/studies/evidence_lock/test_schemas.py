"""The form of each answer: what is written stands before the verdict, and is capped."""

import json

import pytest

from studies.evidence_lock import schemas

NAMES = ("Willow", "Cedar")
TEXT = {"type": "string", "maxLength": 48, "minLength": 12}


def test_a_verdict_is_one_of_three_words():
    [(key, form)] = schemas.verdict(NAMES)["properties"].items()
    assert (key, form) == ("verdict", {"enum": ["Willow", "Cedar", "tie"]})


def test_a_record_has_criteria_and_then_a_text_on_each_answer_in_their_order():
    form = schemas.evidence(NAMES, 48)
    assert list(form["properties"]) == ["criteria", "evidence"]
    assert form["properties"]["criteria"] == TEXT
    assert list(form["properties"]["evidence"]["properties"].items()) == [("Willow", TEXT), ("Cedar", TEXT)]


def test_a_record_has_no_place_for_a_verdict_and_structured_has_it_last():
    record, structured = (made(NAMES, 48) for made in (schemas.evidence, schemas.evidence_then_verdict))
    both = structured["properties"]
    assert list(both) == [*record["properties"], "verdict"]
    assert {name: both[name] for name in record["properties"]} == record["properties"]
    assert both["verdict"] == schemas.verdict(NAMES)["properties"]["verdict"]


def test_a_text_has_at_least_a_quarter_of_its_cap_and_is_never_empty():
    for chars, least in ((200, 50), (8, 2), (7, 1), (1, 1)):
        form = schemas.assessment(chars)["properties"]["assessment"]
        assert (form["minLength"], form["maxLength"]) == (least, chars)


def test_an_assessment_names_no_answer():
    form = schemas.assessment(48)
    assert list(form["properties"].items()) == [("criteria", TEXT), ("assessment", TEXT)]
    assert "enum" not in json.dumps(form)


@pytest.mark.parametrize(
    "form",
    [
        schemas.verdict(NAMES),
        schemas.evidence(NAMES, 48),
        schemas.evidence_then_verdict(NAMES, 48),
        schemas.assessment(48),
    ],
)
def test_every_key_must_be_there_and_no_other(form):
    objects = [form, *(part for part in form["properties"].values() if part.get("type") == "object")]
    for one in objects:
        assert one["required"] == list(one["properties"]) and one["additionalProperties"] is False
