"""Which trials a judge is asked, and with which texts."""

import asyncio
import json

import pandas as pd
import pytest

from shared.judge.engines.endpoint import EndpointEngine
from shared.judge.opening import takes_effort
from shared.params import EndpointJudge, LlamaCppJudge
from studies.rubric_position_bias.judge import askable, left_out, with_texts
from studies.rubric_position_bias.levels import resized
from studies.rubric_position_bias.orders import balanced
from tests.studies.rubric_position_bias.asking import CRITERIA, LEVELS, STRUCTURED, item, prompt, row

EMBEDDED = LlamaCppJudge(engine="llamacpp", model="m.gguf")
SERVED = EndpointJudge(engine="endpoint", model="m", base_url="http://127.0.0.1:1/v1")

ITEMS = pd.DataFrame(
    [
        item("a", text="Boil it."),
        item("b", text="Fry it.", criterion="brevity", levels=json.dumps([f"b{n}" for n in range(1, 6)])),
        item("c", "criteria", text="Bake it."),
    ]
)


def asked(*rows) -> list:
    return list(with_texts(pd.DataFrame(rows), ITEMS))


def test_trials_come_in_design_order_with_their_items_texts():
    trials = asked(row("a", "51234"), row("b", "12345"), row("a", "12345"), row("c", "312", "criteria"))
    assert [one.text for one in trials] == ["Boil it.", "Fry it.", "Boil it.", "Bake it."]
    assert [one.order for one in trials] == ["51234", "12345", "12345", "312"]
    assert [one.criterion for one in trials] == ["completeness", "brevity", "completeness", ""]
    assert [one.levels for one in trials] == [LEVELS, tuple(f"b{n}" for n in range(1, 6)), LEVELS, ()]
    assert [one.criteria for one in trials] == [(), (), (), CRITERIA]
    assert trials[0].trial == "a|base|5|51234||0.0||balanced|0|0"


@pytest.mark.parametrize("size", [2, 3, 5, 9])
def test_a_rubric_is_told_in_as_many_levels_as_the_trial_shows(size):
    [one] = asked(row("a", balanced(size)[-1]))
    assert one.levels == tuple(resized(LEVELS, size))
    text = prompt(one)
    assert text.count("\nScore ") == size and f"Score {size}: {LEVELS[-1]}" in text


def test_what_a_judge_is_asked_can_be_sent():
    """Plain numbers and texts, not a data frame's."""
    for one in asked(row("a", "51234", temperature=0.3, replicate=2), row("c", "312", "criteria")):
        assert type(one.replicate) is int and type(one.temperature) is float
        json.dumps(STRUCTURED.request(one).schema)


EFFORTS = pd.DataFrame(row("a", "12345", effort=effort) for effort in ("", "low", "medium", "high"))


def test_an_engine_without_a_switch_is_asked_nothing_about_effort():
    assert takes_effort(SERVED) and not takes_effort(EMBEDDED)
    assert askable(EFFORTS, EMBEDDED)["effort"].tolist() == [""]
    assert askable(EFFORTS, SERVED).equals(EFFORTS)
    assert left_out("small", EMBEDDED, 3) == (
        "small: 3 trials with a reasoning effort left out: the engine llamacpp has no switch for it"
    )


def test_an_engine_with_a_switch_is_sent_the_efforts():
    engine = EndpointEngine(base_url="http://127.0.0.1:1/v1", model="m")
    sent = [engine._payload(STRUCTURED.request(one)) for one in with_texts(askable(EFFORTS, SERVED), ITEMS)]
    asyncio.run(engine.aclose())
    assert [body.get("reasoning_effort") for body in sent] == [None, "low", "medium", "high"]
