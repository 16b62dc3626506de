"""The endpoint engine against a local server: what it sends, what it takes, how each failure is named."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.judge.engines import endpoint
from shared.judge.engines.endpoint import EndpointEngine
from shared.judge.records import (
    Completion,
    EngineError,
    Message,
    PromptTooLong,
    Request,
    TransientError,
    canonical_json,
)
from tests.shared.judge.scripted_server import Reply, ScriptedServer, chat, scripted_server

CANARY = "sk-canary-5f1d"
SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string"}}}
MESSAGES = (Message("system", "Judge."), Message("user", "A or B?"))
REQUEST = Request(MESSAGES, max_tokens=16, seed=11, item="doc_3")


def ask(server: ScriptedServer, request: Request = REQUEST, **options: Any) -> Completion:
    async def call() -> Completion:
        engine = EndpointEngine(**{"base_url": server.url, "model": "judge", **options})
        try:
            return await engine.complete(request)
        finally:
            await engine.aclose()

    return asyncio.run(call())


def answer(reply: Any, request: Request = REQUEST, **options: Any) -> Completion:
    """The completion made of one reply: a body, or a whole Reply."""
    with scripted_server(reply if isinstance(reply, Reply) else Reply(reply)) as server:
        return ask(server, request, **options)


def failure(reply: Any, request: Request = REQUEST, **options: Any) -> EngineError:
    with pytest.raises(EngineError) as caught:
        answer(reply, request, **options)
    assert "\n" not in str(caught.value)
    return caught.value


# What is sent


def test_request_is_sent_in_the_words_of_the_protocol() -> None:
    with scripted_server(Reply(chat())) as server:
        ask(server)
    (call,) = server.calls
    assert call.path == "/v1/chat/completions"
    assert call.body == {
        "model": "judge",
        "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": "A or B?"}],
        "max_tokens": 16,
        "temperature": 0.0,
        "top_p": 1.0,
        "seed": 11,
    }


def test_schema_is_sent_only_when_structured() -> None:
    request = Request(MESSAGES, max_tokens=16, schema=SCHEMA)
    with scripted_server(Reply(chat()), Reply(chat())) as server:
        ask(server, request)
        ask(server, request, structured=False)
    structured, free = (call.body for call in server.calls)
    assert structured["response_format"]["json_schema"]["schema"] == SCHEMA
    assert structured["response_format"]["type"] == "json_schema"
    assert "response_format" not in free


def test_replicates_differ_in_the_seed() -> None:
    with scripted_server(Reply(chat()), Reply(chat())) as server:
        for replicate in (0, 2):
            ask(server, Request(MESSAGES, max_tokens=16, seed=11, replicate=replicate))
    assert [call.body["seed"] for call in server.calls] == [11, 13]


def test_an_effort_is_sent_only_where_it_is_asked_for() -> None:
    with scripted_server(Reply(chat()), Reply(chat())) as server:
        for effort in (None, "high"):
            ask(server, replace(REQUEST, effort=effort))
    assert "reasoning_effort" not in server.calls[0].body
    assert server.calls[1].body["reasoning_effort"] == "high"


def test_a_model_without_that_switch_is_said_to_have_none() -> None:
    body = {
        "error": {"message": "Unsupported parameter: 'reasoning_effort'", "code": "unsupported_parameter"}
    }
    told = str(failure(Reply(body, status=400), replace(REQUEST, effort="low")))
    assert told.endswith("if the model has no such switch, ask it without a reasoning effort")


# What is taken


def test_answer_is_kept_exactly_as_it_came() -> None:
    body = chat("  Ja, <b>\u200bB</b>\n")
    body["choices"][0]["finish_reason"] = "length"
    body["choices"][0]["message"]["reasoning_content"] = "hidden"
    got = answer(body)
    assert (got.text, got.finish_reason, got.model) == ("  Ja, <b>\u200bB</b>\n", "length", "judge")
    assert (got.prompt_tokens, got.cached_tokens, got.completion_tokens) == (7, 3, 1)
    assert 0 < got.seconds < 60
    assert got.logprobs is None


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens_details": None}])
def test_missing_usage_counts_as_no_tokens(usage: Any) -> None:
    got = answer(chat(usage=usage))
    assert (got.prompt_tokens, got.cached_tokens, got.completion_tokens) == (0, 0, 0)


def test_missing_fields_that_say_nothing_about_the_answer_are_tolerated() -> None:
    got = answer({"choices": [{"message": {"content": "B"}}]})
    assert (got.text, got.finish_reason, got.model, got.prompt_tokens) == ("B", "", "", 0)


def test_logprobs_are_asked_for_and_mapped() -> None:
    body = chat("B")
    body["choices"][0]["logprobs"] = {
        "content": [
            {
                "token": "B",
                "logprob": -0.25,
                # Two byte fragments print alike: the likelier one, -2, stays.
                "top_logprobs": [
                    {"token": "B", "logprob": -0.25},
                    {"token": "\ufffd", "logprob": -2.0},
                    {"token": "\ufffd", "logprob": -9.0},
                ],
            }
        ]
    }
    with scripted_server(Reply(body)) as server:
        got = ask(server, Request(MESSAGES, max_tokens=16, top_logprobs=3))
    assert (server.calls[0].body["logprobs"], server.calls[0].body["top_logprobs"]) == (True, 3)
    assert got.logprobs == [{"token": "B", "logprob": -0.25, "top": {"B": -0.25, "\ufffd": -2.0}}]


def test_refusal_field_is_the_answer_where_there_is_no_other() -> None:
    body = chat(None)
    body["choices"][0]["message"]["refusal"] = "I can't judge this."
    got = answer(body)
    assert (got.text, got.finish_reason) == ("I can't judge this.", "refusal")


def ended(body: dict[str, Any], reason: str) -> dict[str, Any]:
    body["choices"][0]["finish_reason"] = reason
    return body


@pytest.mark.parametrize("content", ["", None])
@pytest.mark.parametrize("reason", ["content_filter", "length", "max_tokens"])
def test_an_explained_empty_answer_is_taken_and_its_tokens_count(reason: str, content: str | None) -> None:
    body = ended(chat(content), reason)
    body["choices"][0]["message"]["reasoning_content"] = "thought until the limit"
    got = answer(body)
    assert (got.text, got.finish_reason) == ("", reason)
    assert (got.prompt_tokens, got.cached_tokens, got.completion_tokens) == (7, 3, 1)


def test_a_call_that_a_filter_refused_is_an_empty_answer() -> None:
    filtered = {"error": {"message": "The response was filtered", "code": "content_filter"}}
    got = answer(Reply(filtered, status=400))
    assert (got.text, got.finish_reason, got.prompt_tokens) == ("", "content_filter", 0)
    assert type(failure(Reply(filtered, status=401))) is EngineError  # of the run, not of the call


@pytest.mark.parametrize("count", [-1, 2**53, 10**30, 1e300, 0.5, True, "7", []])
def test_a_number_of_tokens_that_can_be_none_counts_as_missing(count: Any) -> None:
    details = {"cached_tokens": count}
    usage = {"prompt_tokens": count, "completion_tokens": count, "prompt_tokens_details": details}
    got = answer(chat("B", usage=usage), context=100)
    assert (got.prompt_tokens, got.cached_tokens, got.completion_tokens) == (0, 0, 0)


def test_the_largest_numbers_of_tokens_are_taken() -> None:
    # 2**53 - 1 = 9007199254740991; some servers write 7.0 for 7
    got = answer(chat("B", usage={"prompt_tokens": 2**53 - 1, "completion_tokens": 7.0}))
    assert (got.prompt_tokens, got.completion_tokens) == (9007199254740991, 7)


# Failures that may pass


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_passing_statuses_are_transient(status: int) -> None:
    error = failure(Reply({"error": {"message": "busy"}}, status=status))
    assert isinstance(error, TransientError)
    assert f"HTTP {status}: busy" in str(error)
    assert error.retry_after is None


@pytest.mark.parametrize("wait", ["7", "7.0"])
def test_retry_after_in_seconds(wait: str) -> None:
    error = failure(Reply(b"slow down", status=429, headers={"Retry-After": wait}))
    assert isinstance(error, TransientError) and error.retry_after == 7.0


def test_retry_after_as_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    error = failure(Reply(b"", status=503, headers={"Retry-After": soon}))
    assert isinstance(error, TransientError) and error.retry_after is not None
    assert 80 < error.retry_after <= 90


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("-5", None),  # no time to wait can be negative
        ("inf", None),
        ("nan", None),
        ("", None),
        ("soon", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),  # has passed
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0.0),  # a date without a zone
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015 07:28:00 +99999999999999", None),
    ],
)
def test_retry_after_that_is_odd(value: str, seconds: float | None) -> None:
    assert endpoint._retry_after({"retry-after": value}) == seconds


DATES = st.from_regex(r"(Mon, )?\d{1,2} Oct \d{1,6} \d\d:\d\d:\d\d( [+-]\d{1,20}| GMT)?", fullmatch=True)


@given(st.text() | DATES)
def test_retry_after_is_total(value: str) -> None:
    seconds = endpoint._retry_after({"retry-after": value})
    assert seconds is None or 0 <= seconds < float("inf")


@pytest.mark.parametrize(
    "reply",
    [
        Reply(reset=True),
        Reply(chat(), missing=20),  # the connection ends 20 bytes early
        Reply(b'{"choices": [{"mess'),
        Reply(b"<html>Welcome</html>", headers={"content-type": "text/html"}),
        Reply(b"not gzip", headers={"content-encoding": "gzip"}),
        Reply(b""),
        Reply(b"null"),
        Reply(b"[]"),
        Reply(b'{"choices": [{"message": {"content": "\\ud800"}}]}'),  # half a character can't be stored
        Reply({"choices": [{"message": {"content": 5}}]}),
        Reply({"choices": [{"text": "of another protocol"}]}),
        Reply({"choices": []}),
        Reply({}),
        Reply(chat(None)),
        Reply(chat("")),
    ],
)
def test_broken_replies_are_transient(reply: Reply) -> None:
    error = failure(reply)
    assert isinstance(error, TransientError)
    assert "http://127.0.0.1:" in str(error) and "'judge'" in str(error)


def test_infinite_logprob_is_no_answer() -> None:
    body = chat("B")
    body["choices"][0]["logprobs"] = {"content": [{"token": "B", "logprob": float("-inf")}]}
    assert isinstance(failure(body), TransientError)


@pytest.mark.parametrize("reason", ["stop", "", "error", "tool_calls"])
def test_empty_answer_that_nothing_explains_says_so_with_its_finish_reason(reason: str) -> None:
    error = failure(ended(chat(None), reason))
    assert isinstance(error, TransientError) and f"empty answer (finish_reason {reason!r})" in str(error)


def test_timeout_is_transient_and_names_the_time() -> None:
    error = failure(Reply(chat(), delay_s=30), timeout_s=0.2)
    assert isinstance(error, TransientError)
    assert "no answer in 0.2 s" in str(error)


def test_no_server_is_transient() -> None:
    with scripted_server() as server:
        url = server.url
    with pytest.raises(TransientError, match="see whether the server is running"):
        ask(server, base_url=url)


def test_a_call_is_tried_once() -> None:
    with scripted_server(Reply(b"", status=503), Reply(chat())) as server:
        with pytest.raises(TransientError):
            ask(server)
        assert len(server.calls) == 1


def test_engine_answers_after_a_failure() -> None:
    async def twice(url: str) -> str:
        engine = EndpointEngine(base_url=url, model="judge")
        with pytest.raises(TransientError):
            await engine.complete(REQUEST)
        text = (await engine.complete(REQUEST)).text
        await engine.aclose()
        return text

    with scripted_server(Reply(reset=True), Reply(chat("B"))) as server:
        assert asyncio.run(twice(server.url)) == "B"


def test_calls_run_at_once() -> None:
    async def four(url: str) -> list[Completion]:
        engine = EndpointEngine(base_url=url, model="judge")
        got = await asyncio.gather(*(engine.complete(REQUEST) for _ in range(4)))
        await engine.aclose()
        return got

    async def timed(url: str) -> float:
        started = asyncio.get_running_loop().time()
        assert [c.text for c in await four(url)] == ["yes"] * 4
        return asyncio.get_running_loop().time() - started

    with scripted_server(*[Reply(chat(), delay_s=0.5)] * 4) as server:
        assert asyncio.run(timed(server.url)) < 1.5  # one after another they would take 2 s


# Failures that stay


@pytest.mark.parametrize(
    ("status", "fix"),
    [
        (400, "structured: false"),
        (401, "api_key_env"),
        (402, "the server's log"),
        (403, "api_key_env"),
        (404, "base_url ends in /v1"),
        (422, "structured: false"),
    ],
)
def test_lasting_statuses_name_server_model_and_fix(status: int, fix: str) -> None:
    error = failure(Reply({"error": {"message": "no\nway"}}, status=status))
    assert type(error) is EngineError
    assert "http://127.0.0.1:" in str(error) and "'judge'" in str(error)
    assert f"HTTP {status}: no way" in str(error) and fix in str(error)


def test_an_empty_account_is_not_worth_a_retry() -> None:
    body = {"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}
    assert type(failure(Reply(body, status=429))) is EngineError


@pytest.mark.parametrize(
    ("status", "error_body"),
    [
        (
            400,
            {"message": "This model's maximum context length is 4096 tokens. However, you requested 5000."},
        ),  # vLLM
        (400, {"message": "too big", "type": "exceed_context_size_error", "code": 400}),  # llama-server
        (400, {"message": "Please reduce.", "code": "context_length_exceeded"}),  # hosted
        (400, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}),  # hosted
        (413, {"message": "payload"}),
    ],
)
def test_a_prompt_that_does_not_fit_names_the_item(status: int, error_body: dict[str, Any]) -> None:
    error = failure(Reply({"error": error_body}, status=status))
    assert isinstance(error, PromptTooLong)
    assert "doc_3" in str(error)


def test_an_answer_to_a_cut_prompt_is_refused() -> None:
    # 7 prompt tokens + 16 for the answer = 23.
    assert answer(chat(), context=23).text == "yes"
    error = failure(chat(), context=22)
    assert isinstance(error, PromptTooLong)
    assert "doc_3" in str(error) and "context 22" in str(error)
    assert answer(chat(usage=None), context=22).text == "yes"  # nothing to check by


@pytest.mark.parametrize(
    "error_body", [{"message": "model is gone", "code": 404}, {"message": "model is gone"}, "model is gone"]
)
def test_error_under_status_200(error_body: Any) -> None:
    error = failure({"error": error_body})
    assert type(error) is EngineError
    assert "model is gone" in str(error)


def test_passing_error_under_status_200_is_transient() -> None:
    error = failure({"error": {"message": "upstream is full", "code": 502}, "choices": None})
    assert isinstance(error, TransientError)


def test_another_model_is_refused_unless_allowed() -> None:
    error = failure(chat(model="judge-2026-01-01"))
    assert type(error) is EngineError
    assert "'judge-2026-01-01'" in str(error) and "allow_other_model" in str(error)
    assert answer(chat(model="judge-2026-01-01"), allow_other_model=True).model == "judge-2026-01-01"


def test_long_explanations_are_cut() -> None:
    assert len(str(failure(Reply(b"x" * 100_000, status=400)))) < 1_000


# Keys


def test_key_goes_from_the_named_variable_into_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", f" {CANARY}\n")
    with scripted_server(Reply(chat())) as server:
        ask(server, api_key_env="JUDGE_KEY")
    assert server.calls[0].headers["authorization"] == f"Bearer {CANARY}"


def test_no_variable_named_no_key_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {CANARY}")
    with scripted_server(Reply(chat())) as server:
        ask(server)
    assert "authorization" not in server.calls[0].headers
    assert CANARY not in str(server.calls[0])


@pytest.mark.parametrize("value", [None, "", " \n"])
def test_missing_key_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("JUDGE_KEY", value)
    with pytest.raises(
        EngineError, match=r"^endpoint: environment variable JUDGE_KEY is not set or empty; export it"
    ):
        EndpointEngine(base_url="http://localhost/v1", model="judge", api_key_env="JUDGE_KEY")


def test_key_in_place_of_its_variables_name_is_not_shown() -> None:
    with pytest.raises(EngineError) as caught:
        EndpointEngine(base_url="http://localhost/v1", model="judge", api_key_env=CANARY)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("key", [f"{CANARY}\n{CANARY}", f"{CANARY}é"])
def test_key_that_no_header_can_carry_is_not_shown(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("JUDGE_KEY", key)
    with pytest.raises(EngineError, match="JUDGE_KEY holds characters") as caught:
        EndpointEngine(base_url="http://localhost/v1", model="judge", api_key_env="JUDGE_KEY")
    assert "canary" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "reply",
    [
        Reply({"error": {"message": f"Incorrect API key provided: {CANARY}", "code": CANARY}}, status=401),
        Reply(("x" * 490 + CANARY).encode(), status=400),  # a cut through the key must not leave half of it
        Reply({"error": f"key {CANARY} is over quota"}, status=429),
        Reply({"error": {"message": CANARY}}),
        Reply(chat(model=CANARY)),
        Reply({"choices": CANARY}),
        Reply(reset=True),
    ],
)
@pytest.mark.parametrize("place", ["key", "header", "url"])
def test_no_secret_in_errors(monkeypatch: pytest.MonkeyPatch, reply: Reply, place: str) -> None:
    monkeypatch.setenv("JUDGE_KEY", CANARY)
    with scripted_server(reply) as server:
        secret_in: dict[str, dict[str, Any]] = {
            "key": {"api_key_env": "JUDGE_KEY"},
            "header": {"extra_headers": {"api-key": CANARY}},
            "url": {"base_url": server.url.replace("//", f"//user:{CANARY}@")},
        }
        with pytest.raises(EngineError) as caught:
            ask(server, **secret_in[place])
        assert CANARY in str(server.calls[0].headers) or place == "url"  # the secret did go out
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert "canary" not in shown


def test_no_secret_in_fingerprint_or_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", CANARY)
    engine = EndpointEngine(
        base_url=f"https://user:{CANARY}@host.example:8443/v1/?token={CANARY}#{CANARY}",
        model="judge",
        api_key_env="JUDGE_KEY",
        extra_headers={"X-Key": CANARY},
    )
    assert engine.fingerprint["base_url"] == "https://host.example:8443/v1"
    assert CANARY not in canonical_json(engine.fingerprint) + repr(engine) + str(engine)


def test_password_in_the_address_is_sent() -> None:
    with scripted_server(Reply(chat())) as server:
        ask(server, base_url=server.url.replace("//", "//user:pass@"))
    assert server.calls[0].headers["authorization"] == "Basic dXNlcjpwYXNz"  # base64 of user:pass


@pytest.mark.parametrize("name", ["Authorization", "authorization", "X-Route"])
def test_extra_headers_are_sent(name: str) -> None:
    with scripted_server(Reply(chat())) as server:
        ask(server, extra_headers={name: "blue"})
    assert server.calls[0].headers[name.lower()] == "blue"


@pytest.mark.parametrize(
    "base_url", [f"{CANARY}@host/v1", "localhost:8000/v1", "ftp://host/v1", "http://", "http://h:x/v1", ""]
)
def test_wrong_address_is_refused_unshown(base_url: str) -> None:
    with pytest.raises(EngineError, match=r"base_url must be an address") as caught:
        EndpointEngine(base_url=base_url, model="judge")
    assert "canary" not in str(caught.value)


# Fingerprint


def fingerprint(**options: Any) -> str:
    return canonical_json(
        EndpointEngine(**{"base_url": "http://a/v1", "model": "judge", **options}).fingerprint
    )


@pytest.mark.parametrize(
    "options",
    [{"base_url": "http://b/v1"}, {"model": "other"}, {"structured": False}, {"allow_other_model": True}],
)
def test_what_changes_an_answer_changes_the_fingerprint(options: dict[str, Any]) -> None:
    assert fingerprint(**options) != fingerprint()


@pytest.mark.parametrize(
    "options",
    [{"base_url": "http://a/v1/"}, {"timeout_s": 1.0}, {"extra_headers": {"a": "b"}}, {"context": 64}],
)
def test_what_does_not_change_an_answer_leaves_the_fingerprint(options: dict[str, Any]) -> None:
    assert fingerprint(**options) == fingerprint()
