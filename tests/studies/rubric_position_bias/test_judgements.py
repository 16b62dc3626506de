import json
import math
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import UserError
from shared.judge import stage
from shared.judge.client import Client
from shared.judge.parsing import PARSER_VERSION
from shared.judge.store import Store
from shared.params import LlamaCppJudge
from studies.rubric_position_bias import judge as judge_stage
from studies.rubric_position_bias import judgements as judgements_stage
from studies.rubric_position_bias.judge import with_texts
from studies.rubric_position_bias.judgements import PROBABILITIES, judgements, option_distribution
from studies.rubric_position_bias.orders import balanced
from tests.shared.judge.scripted import ScriptedEngine, completion
from tests.studies.rubric_position_bias.asking import PARAMS, STRUCTURED, item, play, row

ITEMS = pd.DataFrame(
    [
        item("a", reference=4.0),
        item("b", reference=math.nan, rater="", system="s2"),
        item("c", "criteria"),
        item("d", "criteria", references='{"coherence": 1.5}'),
    ]
)


def tops(**top: float) -> str:
    """A response's first token: the likeliest of the given log-probabilities."""
    chosen = max(top, key=top.__getitem__)
    return json.dumps({"token": chosen, "logprob": top[chosen], "top": top})


def response(trial: str, text: str | None, reason: str | None = "stop", logprobs: str | None = None) -> dict:
    step = "judge" if text is not None else "failed"
    return {
        "trial": trial,
        "step": step,
        "text": text,
        "finish_reason": reason,
        "logprobs": logprobs,
        "fingerprint": "f",
    }


def read(*asked: tuple) -> pd.DataFrame:
    """Judgements of trials that are each given with text, finish reason and log-probabilities."""
    trials = pd.DataFrame([trial for trial, *_ in asked])
    answers = pd.DataFrame([response(trial["trial"], *rest) for trial, *rest in asked])
    return judgements(trials, answers, ITEMS)


# --- the setting score ---


@pytest.mark.parametrize(
    ("order", "said", "score", "position"),
    [
        ("12345", "4", 4, 4),
        ("34512", "3", 3, 1),
        ("34512", "2", 2, 5),
        ("21", "1", 1, 2),
        ("912345678", "9", 9, 1),
    ],
)
def test_a_score_is_an_option_and_stands_where_the_order_put_it(order, said, score, position):
    [one] = read((row("a", order), said)).to_dict("records")
    assert (one["status"], one["score"], one["position"]) == ("ok", score, position)
    assert (one["reference"], one["rater"], one["criterion"]) == (4.0, "intended", "completeness")
    assert (one["prompt"], one["system"], one["fingerprint"], one["parser"]) == (
        "eggs",
        "s1",
        "f",
        PARSER_VERSION,
    )


@pytest.mark.parametrize(
    ("scheme", "text", "score"),
    [
        ("cot", '{"reasoning": "Score: 5 is too much.", "score": 4}', 4),
        ("verify", '{"score": 5, "check": "No.", "final": 4}', 4),
        ("verify", '{"score": 4}', math.nan),  # no score was left after a check
        ("base", '{"score": 4}', 4),
        ("base", "Score: 4", 4),
    ],
)
def test_the_score_that_counts(scheme, text, score):
    [one] = read((row("a", "12345", scheme=scheme), text)).to_dict("records")
    assert one["score"] == pytest.approx(score, nan_ok=True)
    assert one["status"] == ("unparsed" if math.isnan(score) else "ok")


@pytest.mark.parametrize(
    ("text", "reason", "status"),
    [
        ("6", "stop", "unparsed"),
        ("3/5", "stop", "unparsed"),
        ("", "stop", "unparsed"),
        ("3", "length", "truncated"),
        ("3", "content_filter", "refused"),
        (None, None, "failed"),
    ],
)
def test_no_failure_is_ever_a_score(text, reason, status):
    trials = row("a", "34512"), row("c", "312", "criteria")
    table = read(*((trial, text, reason) for trial in trials))
    assert table["status"].tolist() == [status] * 4
    assert table["score"].isna().all() and table.loc[0, ["position"]].isna().all()
    assert table["position"].tolist()[1:] == [2.0, 3.0, 1.0]  # where a criterion stood needs no answer


def test_a_trial_that_was_never_asked_is_no_failure_of_the_judge():
    trials = pd.DataFrame([row("a", "12345"), row("a", "21345")])
    with pytest.raises(UserError, match=r"1 trials have no response, .*run the `judge` stage"):
        judgements(trials, pd.DataFrame([response(trials["trial"][1], "2")]), ITEMS)


def test_an_item_that_is_no_more_there_is_told():
    trials = pd.DataFrame([row("gone", "12345")])
    with pytest.raises(UserError, match=r"1 items are not there, e\.g\. 'gone'; run the `design` stage"):
        judgements(trials, pd.DataFrame([response(trials["trial"][0], "2")]), ITEMS)


def test_the_size_bounds_the_scores():
    table = read((row("a", "12"), "3"), (row("a", "123"), "3"))
    assert table["status"].tolist() == ["unparsed", "ok"]


def test_an_item_without_a_reference_has_none():
    table = read((row("b", "12345"), "2"))
    assert table["reference"].isna().all() and table["system"].tolist() == ["s2"]


# --- the setting criteria ---


def test_each_criterion_has_a_row_with_its_own_score_place_and_reference():
    answer = json.dumps({"fluency": 5, "relevance": 3, "coherence": 1})
    trial = row("c", "312", "criteria")
    table = read((trial, answer))
    assert table["criterion"].tolist() == ["relevance", "coherence", "fluency"]
    assert table["score"].tolist() == [3.0, 1.0, 5.0]
    assert table["position"].tolist() == [2.0, 3.0, 1.0]
    assert table["reference"].tolist() == [2.0, 3.0, 4.0]
    assert table["trial"].tolist() == [trial["trial"]] * 3
    assert table[["mass", *PROBABILITIES]].isna().all(axis=None)


def test_a_criterion_that_nobody_rated_has_no_reference():
    answer = json.dumps({"relevance": 3, "coherence": 1, "fluency": 5})
    np.testing.assert_equal(
        read((row("d", "123", "criteria"), answer))["reference"].to_numpy(), [np.nan, 1.5, np.nan]
    )


def test_one_criterion_missing_makes_the_whole_answer_unparsed():
    table = read((row("c", "123", "criteria"), '{"relevance": 3, "coherence": 1}'))
    assert table["status"].tolist() == ["unparsed"] * 3 and table["score"].isna().all()


@pytest.mark.parametrize("scheme", ["cot", "verify"])
def test_criteria_in_an_object(scheme):
    rated = {"relevance": 3, "coherence": 1, "fluency": 5}
    other = dict.fromkeys(rated, 2)
    answer = (
        {"reasoning": "x", "scores": rated}
        if scheme == "cot"
        else {"scores": other, "check": "x", "final": rated}
    )
    table = read((row("c", "123", "criteria", scheme=scheme), json.dumps(answer)))
    assert table["score"].tolist() == [3.0, 1.0, 5.0]


def test_both_settings_stay_in_the_trials_order_and_keep_their_columns():
    rated = json.dumps({"relevance": 3, "coherence": 1, "fluency": 5})
    asked = [
        (row("c", "123", "criteria"), rated),
        (row("a", "21"), "2"),
        (row("c", "231", "criteria"), rated),
    ]
    table = read(*asked)
    assert table["trial"].tolist() == [
        t["trial"] for t, _ in asked for _ in range(1 if t["item"] == "a" else 3)
    ]
    assert table.columns.tolist() == [
        *asked[0][0],
        *("criterion", "prompt", "system", "reference", "rater", "status", "score", "position", "mass"),
        *PROBABILITIES,
        *("fingerprint", "parser"),
    ]
    alone = read(asked[1])
    pd.testing.assert_frame_equal(alone, table[table["item"] == "a"].reset_index(drop=True))


# --- the first token ---


def test_the_distribution_by_hand():
    # p(1) = 0.2, p(2) = 0.1 + 0.1 with its space, p(3) = 0, elsewhere 0.4: of 0.4, a half each
    first = tops(**{"1": math.log(0.2), "2": math.log(0.1), " 2": math.log(0.1), "The": math.log(0.4)})
    mass, probabilities = option_distribution(first, 3)
    assert mass == pytest.approx(0.4)
    assert probabilities == pytest.approx([0.5, 0.5, 0.0])
    [one] = read((row("a", "231"), "1", "stop", first)).to_dict("records")
    assert [one[name] for name in ("mass", "p_1", "p_2", "p_3")] == pytest.approx([0.4, 0.5, 0.5, 0.0])
    assert all(math.isnan(one[f"p_{option}"]) for option in range(4, 10))


@pytest.mark.parametrize(
    "top",
    [
        {"The": -0.1},
        {"12": -0.1, "4": -0.2, "1.": -0.3, "  1": -0.4, "１": -0.5, "\n1": -0.6, "": -0.7},  # no option of 3
        {"1": -math.inf, "The": -0.1},
        {"1": -9999.0, "The": -0.1},  # what a server writes for a token that it forbids
    ],
)
def test_without_an_option_among_the_likeliest_there_is_no_distribution(top):
    mass, probabilities = option_distribution(tops(**top), 3)
    assert math.isnan(mass) and np.isnan(probabilities).all() and len(probabilities) == 3


def test_the_sampled_token_counts_even_if_it_is_none_of_the_likeliest():
    first = {"token": "3", "logprob": math.log(0.1), "top": {"1": math.log(0.3), "The": math.log(0.4)}}
    mass, probabilities = option_distribution(json.dumps(first), 3)
    assert mass == pytest.approx(0.4) and probabilities == pytest.approx([0.75, 0.0, 0.25])
    # but alone it would seem certain, where the options that were not sampled are not known
    assert math.isnan(option_distribution(json.dumps({**first, "top": {"The": -0.1}}), 3)[0])


def test_no_log_probabilities_give_nan_and_cost_no_score():
    table = read((row("a", "12345"), "3"), (row("a", "21345"), "3", "stop", tops(**{"3": -0.5})))
    assert table["score"].tolist() == [3.0, 3.0]
    assert table["mass"].isna().tolist() == [True, False]
    assert table.loc[1, PROBABILITIES[:5]].tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


@given(st.lists(st.floats(-30, 0), min_size=2, max_size=9))
def test_probabilities_sum_to_one_and_follow_the_log_probabilities(logprobs):
    top = {str(option): value for option, value in enumerate(logprobs, start=1)}
    mass, probabilities = option_distribution(tops(**top), len(logprobs))
    assert 0 < mass <= 1
    assert sum(probabilities) == pytest.approx(1)
    weights = np.exp(logprobs)
    np.testing.assert_allclose(probabilities, weights / weights.sum())


# --- from trials to judgements through the stages themselves ---


def test_a_judge_that_takes_the_first_option_is_always_at_place_1():
    trials = pd.DataFrame(
        [row("a", order, draw=draw) for draw, order in enumerate(balanced(5))]
        + [row("c", order, "criteria", draw=draw) for draw, order in enumerate(balanced(3))]
    )

    def first_option(request):
        text = request.messages[-1].content
        if "Score " in text:
            return text.partition("\nScore ")[2][0]
        return json.dumps({name: 2 for name in request.schema["properties"]})

    answers = play(STRUCTURED, with_texts(trials, ITEMS), first_option)
    table = judgements(trials, answers, ITEMS)
    assert table["status"].eq("ok").all()
    scores = table[table["setting"] == "score"]
    assert scores["position"].eq(1).all()
    assert scores["score"].value_counts().to_dict() == dict.fromkeys(range(1, 6), 2)
    # each criterion stands twice in each place
    assert table[table["setting"] == "criteria"].groupby(["criterion", "position"]).size().eq(2).all()


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A folder with items and trials, one of them with an effort, and a scripted judge behind both stages."""
    monkeypatch.chdir(tmp_path)
    trials = pd.DataFrame(
        [
            row("a", "12345"),
            row("a", "12345", strategy="fixed"),
            row("a", "12345", effort="low"),
            row("c", "312", "criteria"),
        ]
    )
    for path, table in ((judge_stage.ITEMS, ITEMS), (judge_stage.TRIALS, trials)):
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_parquet(path, index=False)
    common = SimpleNamespace(judges={"small": LlamaCppJudge(engine="llamacpp", model="m.gguf")})
    for module in (judge_stage, judgements_stage):
        monkeypatch.setattr(module, "load", lambda name, model: (common, PARAMS))
    monkeypatch.setattr(sys, "argv", ["stage", "small"])

    def script(request):
        if request.top_logprobs:
            return replace(completion("4"), logprobs=[json.loads(tops(**{"4": -0.1, "3": -2.5}))])
        return json.dumps(dict.fromkeys(request.schema["properties"], 3))

    engine = ScriptedEngine(script)

    @asynccontextmanager
    async def opened(common, slug):
        yield Client(engine, Store(tmp_path / "s.sqlite"), concurrency=2, retries=0)

    monkeypatch.setattr(stage, "open_client", opened)
    return engine


def test_the_two_stages_end_to_end(study, capsys):
    judge_stage.main()
    judgements_stage.main()
    table = pd.read_parquet(judgements_stage.JUDGEMENTS / "small.parquet")
    # the trial with an effort was not asked: it is no failure, and it has no row
    assert table["score"].tolist() == [4.0, 4.0, 3.0, 3.0, 3.0]
    assert table["effort"].eq("").all() and table["status"].eq("ok").all()
    assert len(study.calls) == 2  # equal requests of two strategies are asked once
    # exp(-0.1) = 0.9048, exp(-2.5) = 0.0821: of 0.9869
    assert table["mass"][:2].tolist() == pytest.approx([0.9869] * 2, abs=1e-4)
    assert table["p_4"][0] == pytest.approx(0.9168, abs=1e-4)
    printed = capsys.readouterr().out
    assert (
        "small: 1 trials with a reasoning effort left out: the engine llamacpp has no switch for it"
        in printed
    )
    assert "small: 5 judgements: 5 ok" in printed and "option distributions of 2" in printed
