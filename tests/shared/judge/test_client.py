import asyncio
import time

import pytest

from shared.judge import client as client_module
from shared.judge.client import Client
from shared.judge.records import (
    BudgetSpent,
    EngineDied,
    EngineError,
    GaveUp,
    PromptTooLong,
    TransientError,
)
from shared.judge.store import Store
from tests.shared.judge.scripted import ScriptedEngine, completion, request

REAL_WAIT = client_module._wait


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "s.sqlite")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(client_module, "_wait", lambda attempt, retry_after: 0.0)


def echo(asked):
    return f"answer to {asked.messages[0].content}"


def collect(client, texts, protocol=None):
    async def ask(text):
        return (await client.ask(request(text))).text

    async def gather():
        return [pair async for pair in client.run(texts, protocol or ask)]

    return asyncio.run(gather())


def test_results_come_in_trial_order_whatever_finishes_first(store):
    engine = ScriptedEngine(echo)

    async def slow_first(text):
        await asyncio.sleep(0.02 if text == "0" else 0.0)
        return (await client.ask(request(text))).text

    client = Client(engine, store, concurrency=3)
    texts = [str(i) for i in range(7)]
    assert collect(client, texts, slow_first) == [(t, f"answer to {t}") for t in texts]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_calls_in_flight_never_exceed_the_concurrency(store, concurrency):
    engine = ScriptedEngine(echo, delay=0.001)
    collect(Client(engine, store, concurrency=concurrency), [str(i) for i in range(20)])
    assert engine.most_flying == concurrency


def test_a_second_run_pays_nothing_and_gives_the_same(store):
    texts = [str(i) for i in range(5)]
    first = Client(ScriptedEngine(echo), store)
    answers = collect(first, texts)
    assert (first.summary.paid.calls, first.summary.replayed.calls) == (5, 0)
    engine = ScriptedEngine(echo)
    second = Client(engine, store)
    assert collect(second, texts) == answers
    assert engine.calls == []
    # 5 answers of 10 prompt tokens, 4 of them cached, and 2 completion tokens each
    replayed = second.summary.replayed
    assert (replayed.calls, replayed.prompt, replayed.cached, replayed.completion) == (5, 50, 20, 10)
    assert second.summary.paid.calls == 0


def test_twins_in_flight_are_one_call(store):
    engine = ScriptedEngine(echo, delay=0.01)
    client = Client(engine, store, concurrency=4)
    assert collect(client, ["same"] * 4) == [("same", "answer to same")] * 4
    assert len(engine.calls) == 1
    assert (client.summary.paid.calls, client.summary.replayed.calls) == (1, 3)


def test_a_twin_of_a_failed_call_fails_too_and_nothing_is_stored(store):
    def fail(_):
        raise PromptTooLong("too long")

    client = Client(ScriptedEngine(fail, delay=0.01), store, concurrency=2)
    results = collect(client, ["same", "same"])
    assert [type(r) for _, r in results] == [PromptTooLong, PromptTooLong]
    assert len(store) == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (request("a"), request("b")),
        (request("a"), request("a", replicate=1)),
        (request("a"), request("a", temperature=0.5)),
        (request("a"), request("a", seed=1)),
        (request("a"), request("a", schema={"type": "object"})),
        (request("a", schema={"a": 1, "b": 2}), request("a", schema={"b": 2, "a": 1})),
        (request("a"), request("a", top_logprobs=2)),
    ],
)
def test_whatever_determines_an_answer_is_part_of_its_key(store, first, second):
    engine = ScriptedEngine(echo)
    client = Client(engine, store)
    collect(client, [first, second], client.ask)
    assert len(engine.calls) == 2


def test_the_item_name_is_not_part_of_the_key(store):
    client = Client(engine := ScriptedEngine(echo), store)
    collect(client, [request("a", item="x"), request("a", item="y")], client.ask)
    assert len(engine.calls) == 1


def test_another_judge_never_reuses_an_answer(store):
    collect(Client(ScriptedEngine(lambda _: "one", "judge 1"), store), ["a"])
    other = Client(ScriptedEngine(lambda _: "two", "judge 2"), store)
    assert collect(other, ["a"]) == [("a", "two")]


def test_an_empty_answer_is_passed_on_but_never_kept(store):
    engine = ScriptedEngine(lambda _: completion("", "content_filter"))
    client = Client(engine, store)
    assert collect(client, ["a"]) == [("a", "")]
    # paid, and not tried again
    assert (len(engine.calls), client.summary.paid.calls, client.summary.paid.prompt) == (1, 1, 10)
    collect(Client(engine, store), ["a"])
    assert len(engine.calls) == 2


def test_a_passing_error_is_tried_again_then_given_up(store):
    fails = iter([TransientError("busy"), TransientError("busy")])

    def flaky(asked):
        for error in fails:
            raise error
        return echo(asked)

    client = Client(ScriptedEngine(flaky), store, retries=2)
    assert collect(client, ["a"]) == [("a", "answer to a")]
    assert client.summary.retries == 2

    def busy(_):
        raise TransientError("busy")

    client = Client(engine := ScriptedEngine(busy), store, retries=2)
    [(_, result)] = collect(client, ["b"])
    assert isinstance(result, GaveUp)
    assert "gave up after 3 tries: busy" in str(result)
    assert len(engine.calls) == 3
    assert client.summary.failed_trials == 1


def test_waits_grow_and_obey_the_server():
    # 0.5 * 2^attempt, give or take a quarter
    assert 0.375 <= REAL_WAIT(0, None) <= 0.625
    assert 3.0 <= REAL_WAIT(3, None) <= 5.0
    assert REAL_WAIT(20, None) == client_module.LONGEST_WAIT_S
    assert REAL_WAIT(0, 7.0) == 7.0
    assert REAL_WAIT(0, 1e9) == client_module.LONGEST_WAIT_S


def test_a_lasting_error_ends_the_run_with_what_was_answered_kept(store):
    def refuse(asked):
        if asked.messages[0].content == "3":
            raise EngineError("401: check the key")
        return echo(asked)

    client = Client(ScriptedEngine(refuse), store, concurrency=1)
    with pytest.raises(EngineError, match="401"):
        collect(client, [str(i) for i in range(6)])
    assert len(store) == 3


def test_an_engine_that_is_silent_for_many_trials_counts_as_gone(store):
    def busy(_):
        raise TransientError("no route")

    client = Client(engine := ScriptedEngine(busy), store, concurrency=1, retries=0)
    with pytest.raises(EngineDied, match="no route"):
        collect(client, [str(i) for i in range(100)])
    assert len(engine.calls) == client_module.SILENT_TRIALS


def test_the_token_budget_stops_the_run_before_the_next_call(store):
    # each call costs 10 + 2 tokens: after 3 calls 36 >= 30
    client = Client(engine := ScriptedEngine(echo), store, concurrency=1, token_budget=30)
    with pytest.raises(BudgetSpent, match="token budget of 30 is spent"):
        collect(client, [str(i) for i in range(9)])
    assert len(engine.calls) == len(store) == 3
    # what was answered is replayed for nothing, so a new budget goes on from there
    client = Client(engine, store, concurrency=1, token_budget=30)
    with pytest.raises(BudgetSpent):
        collect(client, [str(i) for i in range(9)])
    assert len(store) == 6


def test_trials_are_drawn_from_the_iterator_only_as_needed(store):
    drawn = []

    def trials():
        for i in range(1000):
            drawn.append(i)
            yield str(i)

    client = Client(ScriptedEngine(echo), store, concurrency=4)

    async def first_three():
        results = client.run(trials(), lambda t: client.ask(request(t)))
        for _ in range(3):
            await anext(results)
        await results.aclose()

    asyncio.run(first_three())
    assert len(drawn) <= 3 + 4


def test_stopping_early_cancels_what_is_in_flight(store):
    engine = ScriptedEngine(echo, delay=5)
    client = Client(engine, store, concurrency=2)

    async def stop():
        task = asyncio.create_task(anext(client.run(["a", "b"], lambda t: client.ask(request(t)))))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    started = time.perf_counter()
    asyncio.run(stop())
    assert time.perf_counter() - started < 2
    assert engine.flying == 0


def test_a_protocol_of_several_turns_sees_its_own_answers(store):
    async def two_turns(text):
        first = await client.ask(request(text))
        return (await client.ask(request(first.text))).text

    client = Client(ScriptedEngine(echo), store)
    assert collect(client, ["a"], two_turns) == [("a", "answer to answer to a")]


def test_the_summary_tells_paid_from_replayed(store):
    client = Client(ScriptedEngine(lambda _: completion("x")), store)
    collect(client, ["a", "b"])
    collect(client, ["a"])
    assert "paid 2 calls, 20 prompt tokens (8 cached), 4 completion tokens" in str(client.summary)
    assert "replayed 1 calls" in str(client.summary)
