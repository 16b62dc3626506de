from shared.judge.schemas import object_of, text


def test_an_object_has_its_keys_in_the_order_that_is_given_and_no_other():
    parts = {"second": text(4), "first": {"enum": [1]}}
    made = object_of(**parts)
    assert list(made["properties"].items()) == list(parts.items())
    assert made["required"] == ["second", "first"]
    assert made["type"] == "object" and made["additionalProperties"] is False


def test_an_object_of_nothing_takes_nothing():
    assert object_of()["properties"] == {} and object_of()["required"] == []


def test_a_text_may_be_empty_unless_a_least_length_is_asked():
    assert text(96) == {"type": "string", "maxLength": 96}
    assert text(96, 1) == {"type": "string", "maxLength": 96, "minLength": 1}
