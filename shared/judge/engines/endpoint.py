"""The endpoint engine: asks an OpenAI-compatible server that is already running."""

from __future__ import annotations

import asyncio
import math
import os
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Annotated, Any
from urllib.parse import urlsplit

import openai
from pydantic import BaseModel, BeforeValidator, FiniteFloat, ValidationError

from shared.judge.parsing import status_before_reading
from shared.judge.records import Completion, EngineError, PromptTooLong, Request, TransientError

WORTH_A_RETRY = {408, 409, 425, 429}
"""Statuses below 500 that may pass; all from 500 on may."""

TOO_LONG = re.compile(r"context[ _-]?(length|size|window)|prompt is too long", re.IGNORECASE)
"""How vLLM, llama-server, Ollama and the hosted APIs say that a prompt does not fit."""

_FILTERED = b'{"choices": [{"message": {}, "finish_reason": "content_filter"}]}'
"""What most servers reply where their filter stops an answer; others refuse the call with status 400."""


class EndpointEngine:
    """Any running OpenAI-compatible server: vLLM, llama-server, Ollama, a hosted API.

    Each call is tried once: what is worth a retry is raised as `TransientError`, and the client decides.

    Parameters
    ----------
    base_url : str
        Where the API lives, usually up to and including ``/v1``. A user name and password in it are
        sent (HTTP Basic) and never shown.
    model : str
        The model as the server names it.
    api_key_env : str, optional
        *Name* of the environment variable that holds the key. None: no key is sent, whatever else the
        environment holds.
    structured : bool
        Send ``request.schema`` as ``response_format``. False: the schema is not sent, the answer is
        free text.
    timeout_s : float
        Seconds for one whole call, waiting in the server's queue included.
    extra_headers : mapping of str to str, optional
        Sent with each call. Values are never shown and are not part of the fingerprint.
    context : int, optional
        Tokens that the server holds, prompt and answer together. Servers that cut long prompts silently
        (Ollama) are caught by it: an answer to a prompt that leaves no room for ``max_tokens`` is
        refused. Needs the server's token counts. None: the server's own refusal is relied on.
    allow_other_model : bool
        Take answers of a model whose name differs from ``model`` (an alias that the server resolves).

    Attributes
    ----------
    fingerprint : mapping
        Engine, address, model and the flags that change an answer. The weights behind an address cannot
        be seen from here: when they change under the same name, stored answers are replayed.

    Raises
    ------
    EngineError
        If the address is no HTTP address, or the key's variable is missing or unusable.
    """

    fingerprint: Mapping[str, Any]

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key_env: str | None = None,
        structured: bool = True,
        timeout_s: float = 120.0,
        extra_headers: Mapping[str, str] | None = None,
        context: int | None = None,
        allow_other_model: bool = False,
    ) -> None:
        self.base_url = _shown(base_url)
        self.model = model
        self.structured = structured
        self.timeout_s = timeout_s
        self.context = context
        self.allow_other_model = allow_other_model
        self.fingerprint = {
            "engine": "endpoint",
            "base_url": self.base_url,
            "model": model,
            "structured": structured,
            # An answer of another model, once stored, must not be replayed to who forbids it.
            "allow_other_model": allow_other_model,
        }
        key = _key_from(api_key_env)
        extra = dict(extra_headers or {})
        self._key_env = api_key_env
        self._headers = _headers(key, extra)
        self._secrets = _secrets(key, urlsplit(base_url).password, *extra.values())
        # The library would take a key from the environment by itself: the headers above decide instead.
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key="unused", max_retries=0, timeout=None)

    def __repr__(self) -> str:
        return f"EndpointEngine(base_url={self.base_url!r}, model={self.model!r})"

    async def complete(self, request: Request) -> Completion:
        """Ask once and give the answer exactly as it came.

        Token counts that the server does not send, or that cannot be true, are 0; ``logprobs`` is None
        where it sends none. Hidden reasoning (``reasoning_content``) is dropped. A refusal in the message's
        own field comes back as text with the finish reason ``refusal``. The text is empty only where the
        finish reason explains it: a content filter, or hidden reasoning that used up ``max_tokens``. A
        filter's refusal of the whole call (HTTP 400, Azure OpenAI) is such an answer, without tokens.

        Raises
        ------
        TransientError
            429, 408, 409, 5xx, a broken connection, a timeout, a reply that is not the protocol's JSON, no
            answer in it and no reason for that. ``retry_after`` holds the server's wish in seconds.
        PromptTooLong
            The server, or ``context``, says that prompt and answer do not fit. Names the item.
        EngineError
            Any other refusal, or an answer from another model.
        """
        started = time.perf_counter()
        reply = self._read(await self._post(request), request)
        self._check(reply, request)
        return self._completion(reply, time.perf_counter() - started)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _post(self, request: Request) -> bytes:
        """The body of a reply with status 200."""
        try:
            async with asyncio.timeout(self.timeout_s):
                raw = await self._client.chat.completions.with_raw_response.create(
                    **self._payload(request), extra_headers=self._headers
                )
            body: bytes = raw.http_response.content
            return body
        except TimeoutError:
            words = f"no answer in {self.timeout_s:g} s; see whether the server is overloaded"
            raise self._transient(words) from None
        except openai.APIConnectionError as error:
            cause = error.__cause__
            words = f"{type(cause).__name__}: {cause}; see whether the server is running"
            raise self._transient(words) from None
        except openai.APIStatusError as error:
            if error.status_code == 400 and _is_filtered(error.body):
                return _FILTERED
            after = _retry_after(error.response.headers)
            raise self._refused(error.status_code, error.body, request, after) from None

    def _payload(self, request: Request) -> dict[str, Any]:
        """The call in the words of the wire protocol."""
        payload: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": turn.role, "content": turn.content} for turn in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "top_p": request.top_p,
            # A server repeats itself on the same seed: replicates must differ in it.
            "seed": request.seed + request.replicate,
        }
        if request.schema is not None and self.structured:
            schema = {"name": "answer", "schema": dict(request.schema), "strict": True}
            payload["response_format"] = {"type": "json_schema", "json_schema": schema}
        if request.top_logprobs:
            payload |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        if request.effort is not None:
            payload["reasoning_effort"] = request.effort
        return payload

    def _read(self, body: bytes, request: Request) -> _Reply:
        """The reply, checked against the protocol; some gateways send errors with status 200."""
        try:
            reply = _Reply.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "body"
            words = f"reply is not the protocol's JSON ({place}: {first['msg']})"
            raise self._transient(f"{words}; see whether base_url ends in /v1") from None
        if reply.error:
            raise self._refused(_code(reply.error), reply.error, request)
        return reply

    def _check(self, reply: _Reply, request: Request) -> None:
        """Refuse the answer of another model, and one to a prompt that was probably cut."""
        if reply.model and reply.model != self.model and not self.allow_other_model:
            fix = "put that name in `model`, or set allow_other_model: true"
            raise EngineError(self._says(f"answered by model {reply.model!r}; {fix}"))
        prompt_tokens = reply.usage.prompt_tokens if reply.usage else None
        if self.context and prompt_tokens and prompt_tokens + request.max_tokens > self.context:
            needed = f"{prompt_tokens} prompt tokens and max_tokens {request.max_tokens}"
            raise self._too_long(f"{needed} exceed context {self.context}", request)

    def _completion(self, reply: _Reply, seconds: float) -> Completion:
        if not reply.choices:
            raise self._transient("reply holds no choices")
        choice = reply.choices[0]
        text, finish_reason = choice.message.content, choice.finish_reason or ""
        if not text and choice.message.refusal:
            text, finish_reason = choice.message.refusal, "refusal"
        if not text and status_before_reading("", finish_reason) not in ("refused", "truncated"):
            raise self._transient(f"empty answer (finish_reason {finish_reason!r})")
        usage = reply.usage or _Usage()
        details = usage.prompt_tokens_details or _PromptDetails()
        return Completion(
            text=text or "",
            finish_reason=finish_reason,
            prompt_tokens=usage.prompt_tokens or 0,
            cached_tokens=details.cached_tokens or 0,
            completion_tokens=usage.completion_tokens or 0,
            seconds=seconds,
            model=reply.model or "",
            logprobs=_logprobs(choice),
        )

    def _refused(
        self, status: int | None, body: object, request: Request, after: float | None = None
    ) -> EngineError:
        """The error for a status and an error body."""
        # Secrets go before the cut, which could leave half of one.
        words = _cut(self._scrubbed(_words(body)))
        line = f"HTTP {status}: {words}" if status else words
        if status == 429 and "insufficient_quota" in words:
            return EngineError(self._says(f"{line}; the account is empty: waiting will not help"))
        if status is not None and (status in WORTH_A_RETRY or status >= 500):
            return self._transient(line, after)
        if status == 413 or TOO_LONG.search(words):
            return self._too_long(line, request)
        return EngineError(self._says(f"{line}; {self._fix(status, words)}"))

    def _fix(self, status: int | None, words: str) -> str:
        if status in (401, 403):
            if self._key_env is None:
                return "name the variable that holds the key in api_key_env"
            return f"see whether the key in {_name_or_hint(self._key_env)} is valid for this server"
        if status == 404:
            return "see whether base_url ends in /v1 and the server lists that model"
        if status in (400, 422) and "reasoning" in words.casefold():
            return "if the model has no such switch, ask it without a reasoning effort"
        if status in (400, 422) and self.structured:
            return "if the server takes no JSON schemas, set structured: false"
        return "see the server's log"

    def _too_long(self, words: str, request: Request) -> PromptTooLong:
        item = request.item or "a request without an item"
        return PromptTooLong(self._says(f"{item}: {words}; shorten its text or raise the server's context"))

    def _transient(self, words: str, after: float | None = None) -> TransientError:
        return TransientError(self._says(words), after)

    def _says(self, words: str) -> str:
        """One line that names the endpoint."""
        return f"endpoint {self.base_url}, model {self.model!r}: {' '.join(self._scrubbed(words).split())}"

    def _scrubbed(self, words: str) -> str:
        """The words without any secret: servers echo keys in their errors."""
        for secret in self._secrets:
            words = words.replace(secret, "***")
        return words


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Candidate(BaseModel):
    token: str
    logprob: FiniteFloat


class _Token(_Candidate):
    top_logprobs: list[_Candidate] = []


class _Logprobs(BaseModel):
    content: list[_Token] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


def _count(value: object) -> int | None:
    """A number of tokens; None for what can be none. From 2**53 on, tables and JSON lose digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value < 2**53 and value == int(value) else None


_Count = Annotated[int | None, BeforeValidator(_count)]


class _PromptDetails(BaseModel):
    cached_tokens: _Count = None


class _Usage(BaseModel):
    prompt_tokens: _Count = None
    completion_tokens: _Count = None
    prompt_tokens_details: _PromptDetails | None = None


class _Reply(BaseModel):
    """The part of a chat completion that is used; servers add to it and leave out of it."""

    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


def _logprobs(choice: _Choice) -> list[dict[str, Any]] | None:
    if choice.logprobs is None or choice.logprobs.content is None:
        return None
    return [
        {"token": token.token, "logprob": token.logprob, "top": _top(token.top_logprobs)}
        for token in choice.logprobs.content
    ]


def _top(candidates: list[_Candidate]) -> dict[str, float]:
    """Log-probability by token; of tokens that print alike (broken bytes) the likeliest stays."""
    return {c.token: c.logprob for c in sorted(candidates, key=lambda c: c.logprob)}


def _words(body: object) -> str:
    """What an error body says, in any of the shapes that servers use."""
    if not isinstance(body, dict):
        return str(body or "no explanation")
    message = body.get("message") or body.get("detail") or body.get("error") or "no explanation"
    labels = [f"[{body[name]}]" for name in ("code", "type") if isinstance(body.get(name), str)]
    return " ".join([*labels, str(message)])


def _is_filtered(body: object) -> bool:
    """Whether an error body says that a content filter refused this one call."""
    return isinstance(body, dict) and body.get("code") == "content_filter"


def _cut(words: str, longest: int = 500) -> str:
    return words if len(words) <= longest else f"{words[:longest]} ..."


def _code(error: object) -> int | None:
    """The HTTP status inside an error body."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that ``Retry-After`` asks to wait; None without the header or where it is unreadable.

    RFC 9110, 10.2.3: a number of seconds or an HTTP date. A date that has passed means 0.
    """
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        return _seconds_until(value)
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _seconds_until(date: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except (ValueError, OverflowError):  # a zone or a year of twenty digits overflows
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())


def _shown(base_url: str) -> str:
    """The address without user, password, query and fragment: all that may be shown of it.

    The error for a wrong one doesn't repeat it, since what stands there may be a secret.
    """
    try:
        parts = urlsplit(base_url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise EngineError(
            "endpoint: base_url must be an address like http://127.0.0.1:8000/v1; correct it in params.yaml"
        )
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def _key_from(variable: str | None) -> str | None:
    """The key in an environment variable, or None where no variable is named."""
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise EngineError(
            f"endpoint: {_name_or_hint(variable)} is not set or empty; "
            "export it, or drop api_key_env if the server needs no key"
        )
    return _printable(key, _name_or_hint(variable))


def _name_or_hint(variable: str) -> str:
    """The variable's name, unless it may be a key that was put there by mistake."""
    if re.fullmatch(r"[A-Z_][A-Z0-9_]*", variable):
        return f"environment variable {variable}"
    return "the environment variable that api_key_env names"


def _printable(value: str, name: str) -> str:
    """Refuse what can't stand in a header: the library's own error would show the value."""
    if not (value.isascii() and value.isprintable()):
        raise EngineError(f"endpoint: {name} holds characters that a header can't carry; enter it again")
    return value


def _headers(key: str | None, extra: Mapping[str, str]) -> dict[str, str | openai.Omit]:
    """Headers of each call. What the library would add from the environment by itself is left out."""
    mine: dict[str, str | openai.Omit] = {
        "authorization": f"Bearer {key}" if key else openai.omit,
        "openai-organization": openai.omit,
        "openai-project": openai.omit,
    }
    return mine | {name: _printable(value, f"extra_headers.{name}") for name, value in extra.items()}


def _secrets(key: str | None, password: str | None, *header_values: str) -> tuple[str, ...]:
    """What no message may hold; a short header value (a version, a flag) is no secret and blots out words."""
    values = [key, password, *(value for value in header_values if len(value) >= 8)]
    return tuple(value for value in values if value)
