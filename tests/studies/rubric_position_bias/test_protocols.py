import json
import re
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.judge.parsing import parse_ratings, parse_score
from studies.rubric_position_bias.orders import balanced
from studies.rubric_position_bias.params import HIGH, LOW
from studies.rubric_position_bias.protocols import PROMPTS, RANGE, Protocols, counted, sentence
from tests.studies.rubric_position_bias.asking import (
    ARMS,
    CRITERIA,
    LEVELS,
    PARAMS,
    SETTINGS,
    STRUCTURED,
    prompt,
    trial,
)

EVERY_ARM = pytest.mark.parametrize(("setting", "scheme"), list(product(SETTINGS, ARMS)))
BARE = [arm for arm in ARMS if arm not in ("cot", "verify")]
ORDERS = {"score": balanced(5), "criteria": balanced(3)}


def places(text: str, parts) -> list[int]:
    """Where each part stands last in a text; all must be there."""
    return [text.rindex(part) for part in parts]


# --- what is shown, and in which order ---


@pytest.mark.parametrize("scheme", ARMS)
@pytest.mark.parametrize("order", ["12345", "34512", "54321"])
def test_the_options_stand_in_the_trials_order_with_their_own_numbers(scheme, order):
    text = prompt(trial(scheme=scheme, order=order))
    options = text[text.index("score options:") :] if scheme != "prose" else text
    shown = [LEVELS[int(digit) - 1] for digit in order]
    assert places(options, shown) == sorted(places(options, shown))
    for digit, level in zip(order, shown, strict=True):
        label = (
            f"A score of {digit} is right where this holds: " if scheme == "prose" else f"\nScore {digit}: "
        )
        assert f"{label}{level}" in options


@pytest.mark.parametrize("scheme", ARMS)
@pytest.mark.parametrize(("order", "scale"), [("123", "12345"), ("312", "54321")])
def test_criteria_and_the_scale_stand_in_orders_of_their_own(scheme, order, scale):
    text = prompt(trial("criteria", scheme, order, scale=scale))
    levels = [f"\n{digit}: {RANGE[int(digit) - 1]}" for digit in scale]
    names = [CRITERIA[int(digit) - 1].name for digit in order]
    found = places(text, [*levels, *names])
    assert found == sorted(found)
    assert all(criterion.question in text for criterion in CRITERIA)


@EVERY_ARM
def test_orders_differ_in_nothing_but_the_order(setting, scheme):
    prompts = [prompt(trial(setting, scheme, order)) for order in ORDERS[setting]]
    assert len(set(prompts)) == len(prompts)
    words = {tuple(sorted(re.findall(r"\w+", text))) for text in prompts}
    # "One criterion is ... Another criterion is ..." goes by place, so it is the same bag of words too
    assert len(words) == 1


@EVERY_ARM
def test_what_does_not_depend_on_the_order_comes_first_and_is_shared(setting, scheme):
    turns = [STRUCTURED.request(trial(setting, scheme, order)).messages for order in ORDERS[setting]]
    assert len({system for system, _ in turns}) == 1
    system, user = turns[0]
    assert system.cuts == (len(system.content),)
    assert len({turn.content[: turn.cuts[-1]] for _, turn in turns}) == 1
    assert len({turn.cuts for _, turn in turns}) == 1
    # after the shared part: the list, and one short line
    closing = user.content.rpartition("\n\n")[2]
    assert closing.startswith("Answer with ") and len(closing.split()) <= 9
    assert all(turn.content.endswith(f"\n\n{closing}") for _, turn in turns)


@EVERY_ARM
def test_a_part_is_shared_with_all_who_have_it(setting, scheme):
    def turn(**changes):
        return STRUCTURED.request(trial(setting, scheme, **changes)).messages[1]

    one = turn()
    parts = [one.content[:cut] for cut in one.cuts]
    assert len(parts) == 4
    assert parts[0].endswith("</instruction>\n\n") and parts[1].endswith("</reference_answer>\n\n")
    assert turn(text="Fry it.").content.startswith(parts[0])  # another response to the same instruction
    assert turn(criterion="brevity").content.startswith(parts[1])
    arm = prompt(trial(setting, "base" if scheme != "base" else "debias"))
    if setting == "score":
        assert parts[2].endswith("needed?\n\n") and arm.startswith(parts[2])
    else:  # the scale does not depend on the order of the criteria
        assert parts[3].endswith(f"5: {RANGE[4]}\n\n") and arm.startswith(parts[1])


@EVERY_ARM
def test_no_second_order_of_the_scores_is_told(setting, scheme):
    """Before the lists no score is named (no "from 1 to 5"), but the two that an anchor is about."""
    turn = STRUCTURED.request(trial(setting, scheme)).messages[1]
    lists = turn.cuts[-1] if setting == "score" else turn.cuts[-2]  # the scale, then the criteria
    named = {"anchor": ["1", "5"], "cot": ["80"], "verify": ["80"]}  # the others are characters
    assert re.findall(r"\d+", turn.content[:lists]) == named.get(scheme, [])
    closing = turn.content.rpartition("\n\n")[2]
    assert not re.search(r"\d", closing)


def test_every_arm_is_a_template_of_its_own_and_none_is_left_over():
    named = {path.stem for path in PROMPTS.glob("*.jinja")}
    arms = {f"{setting}_{scheme}" for setting, scheme in product(SETTINGS, ARMS)}
    parts = {"system", "texts", "criterion", "options", "scale", "criteria"}
    assert named == arms | parts
    for setting in SETTINGS:
        assert len({prompt(trial(setting, scheme)) for scheme in ARMS}) == len(ARMS)


@EVERY_ARM
def test_prompts_are_clean(setting, scheme):
    for changes in (
        {},
        {"instruction": "", "reference_answer": ""},
        {"source": "Eggs boil.", "question": ""},
    ):
        text = prompt(trial(setting, scheme, **changes))
        assert "\n\n\n" not in text and "  " not in text and "\x1f" not in text
        assert not re.search(r"[ \t]\n|\.\.|\s\.|:\n\n\S+:\n\n", text)
        assert text == text.strip()


def test_the_range_has_a_text_for_each_of_its_scores():
    assert len(set(RANGE)) == len(RANGE) == HIGH - LOW + 1
    assert all(sentence(text) == text for text in RANGE)


def test_texts_that_an_item_lacks_leave_nothing_behind():
    bare = trial(instruction="", reference_answer="")
    text = prompt(bare)
    assert text.startswith("<response>\n")
    assert "instruction" not in text and "reference" not in text and "source" not in text
    assert STRUCTURED.request(bare).messages[1].cuts[0] > 0
    assert prompt(bare._replace(source="Eggs boil.")).startswith(
        "<source>\nEggs boil.\n</source>\n\n<response>"
    )
    assert "criterion only, completeness.\n" in prompt(trial(question=""))
    assert "criterion only: Is it good?\n" in prompt(trial(criterion="", question="Is it good?"))


def test_what_sets_each_arm_apart():
    told = {scheme: " ".join(prompt(trial(scheme=scheme)).split()) for scheme in ARMS}
    assert "arbitrary" in told["debias"]
    assert "at most 80 characters" in told["cot"] and "at most 80 characters" in told["verify"]
    assert told["cot"].index('"reasoning"') < told["cot"].index('"score"')
    assert [told["verify"].index(f'"{key}"') for key in ("score", "check", "final")] == sorted(
        told["verify"].index(f'"{key}"') for key in ("score", "check", "final")
    )
    for scheme in ("base", "prose"):
        assert not re.search("arbitrary|fixed|reason|check", told[scheme])


@pytest.mark.parametrize("order", ["12345", "34512", "54321"])
def test_the_anchors_are_the_ends_of_the_scale_wherever_they_stand(order):
    text = prompt(trial(scheme="anchor", order=order))
    assert f"Score 1 is always the lowest; it means: {LEVELS[0]} " in text
    assert f"Score 5 is always the highest; it means: {LEVELS[4]} " in text
    many = prompt(trial("criteria", "anchor", scale="54321"))
    assert (
        f"1 is always the lowest; it means: {RANGE[0]} 5 is always the highest; it means: {RANGE[4]}" in many
    )


@pytest.mark.parametrize("size", [2, 3, 5, 9])
def test_every_size_is_shown_whole(size):
    levels = tuple(f"Level {chr(96 + n)}." for n in range(1, size + 1))
    text = prompt(trial(order=balanced(size)[1], levels=levels))
    assert re.findall(r"\nScore (\d): Level", text) == list(balanced(size)[1])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("It fits", "It fits."),
        ("It fits.", "It fits."),
        ("Does it?", "Does it?"),
        ("two\n lines ;", "two lines."),
        ("Halfway between “a” and “b”.", "Halfway between “a” and “b”."),
        ("It says “all.”", "It says “all.”"),
        ("It says “all”", "It says “all”."),
    ],
)
def test_a_level_is_one_line_that_ends_like_a_sentence(text, told):
    assert sentence(text) == told


@given(st.text(min_size=1))
def test_a_level_can_not_break_the_list(text):
    assert "\n" not in sentence(text) and sentence(sentence(text)) == sentence(text)


# --- what is asked ---


@pytest.mark.parametrize("size", [2, 3, 5, 9])
@pytest.mark.parametrize("scheme", BARE)
def test_a_bare_score_is_all_of_the_answer_and_its_distribution_is_asked_for(scheme, size):
    asked = trial(scheme=scheme, order=balanced(size)[0], levels=LEVELS[:1] * size)
    request = STRUCTURED.request(asked)
    assert request.schema == {"enum": list(range(1, size + 1))}
    assert (request.top_logprobs, request.max_tokens, request.item) == (20, 60, "i")


@EVERY_ARM
def test_log_probabilities_only_where_the_first_token_is_the_score(setting, scheme):
    expected = 20 if setting == "score" and scheme in BARE else 0
    assert STRUCTURED.request(trial(setting, scheme)).top_logprobs == expected
    off = replace_answer(top_logprobs=0)
    assert off.request(trial(setting, scheme)).top_logprobs == 0


def replace_answer(**changes) -> Protocols:
    answer = type(PARAMS.answer)(**{**vars(PARAMS.answer), **changes})
    return Protocols(type(PARAMS)(answer=answer), structured=True)


def test_the_order_of_keys_is_the_arm():
    def properties(setting, scheme, order=""):
        return STRUCTURED.request(trial(setting, scheme, order)).schema["properties"]

    five = {"enum": [1, 2, 3, 4, 5]}
    text = {"type": "string", "maxLength": 80}
    assert list(properties("score", "cot").items()) == [("reasoning", text), ("score", five)]
    assert list(properties("score", "verify").items()) == [("score", five), ("check", text), ("final", five)]
    for scheme in BARE:
        rated = properties("criteria", scheme, "312")
        assert list(rated.items()) == [("fluency", five), ("relevance", five), ("coherence", five)]
    assert list(properties("criteria", "cot")) == ["reasoning", "scores"]
    assert list(properties("criteria", "verify")) == ["scores", "check", "final"]
    assert next(iter(properties("criteria", "verify", "321")["final"]["properties"])) == "fluency"


@pytest.mark.parametrize("scheme", ARMS)
def test_the_schema_of_a_score_tells_no_order(scheme):
    schemas = {
        json.dumps(STRUCTURED.request(trial(scheme=scheme, order=order)).schema) for order in balanced(5)
    }
    assert len(schemas) == 1


@EVERY_ARM
def test_free_text_is_the_same_request_without_a_schema(setting, scheme):
    asked = trial(setting, scheme)
    free = Protocols(PARAMS, structured=False).request(asked)
    assert free == replace(STRUCTURED.request(asked), schema=None)


@EVERY_ARM
def test_temperature_replicate_and_effort_are_the_trials(setting, scheme):
    plain = STRUCTURED.request(trial(setting, scheme))
    assert (plain.temperature, plain.replicate, plain.effort) == (0.0, 0, None)
    hot = STRUCTURED.request(trial(setting, scheme, temperature=0.6, replicate=4, effort="high"))
    assert (hot.temperature, hot.replicate, hot.effort) == (0.6, 4, "high")
    # where one order is asked again, all of the prompt is shared
    assert hot.messages[1].cuts == (*plain.messages[1].cuts, len(plain.messages[1].content))
    assert hot.messages[1].content == plain.messages[1].content


def test_trials_that_differ_in_strategy_alone_are_one_request():
    one, other = (STRUCTURED.request(trial(trial=f"i|{name}")) for name in ("balanced", "random"))
    assert one == other


# --- what counts of an answer ---


def least(schema):
    """The least answer that follows a schema; the score that counts is 2."""
    if "enum" in schema:
        return schema["enum"][1]
    if schema["type"] == "object":
        return {name: least(part) for name, part in schema["properties"].items()}
    return "Score: 5"


@EVERY_ARM
def test_an_answer_that_follows_the_schema_is_read(setting, scheme):
    answer = json.dumps(least(STRUCTURED.request(trial(setting, scheme)).schema))
    key = counted(setting, scheme)
    if setting == "score":
        assert parse_score(answer, "stop", range(1, 6), key).fields[key] == 2
    else:
        names = [criterion.name for criterion in CRITERIA]
        assert parse_ratings(answer, "stop", names, 1, 5, key).fields[key] == dict.fromkeys(names, 2)


def test_of_a_verified_score_the_last_counts():
    answer = '{"score": 5, "check": "Not all of it fits.", "final": 4}'
    assert parse_score(answer, "stop", range(1, 6), counted("score", "verify")).fields["final"] == 4
