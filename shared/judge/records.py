"""The whole contract between protocols, client, store and engines, on one page."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import orjson

from shared.errors import UserError

Role = Literal["system", "user", "assistant"]
Status = Literal["ok", "unparsed", "truncated", "refused", "failed"]
Effort = Literal["low", "medium", "high"]
STATUSES: tuple[Status, ...] = ("ok", "unparsed", "truncated", "refused", "failed")


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation.

    ``cuts`` are character offsets into ``content``: after each of them requests begin to differ, so
    the text before it is a prefix that an engine may compute once (see ``llamacpp``).
    """

    role: Role
    content: str
    cuts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a judge: everything here but ``item`` determines the answer.

    ``schema`` is a JSON schema that the answer must follow, or None for free text. ``replicate``
    tells apart repeated samples of one request. ``effort`` is how long a reasoning model may think, for
    engines that have such a switch; None leaves it to the model. ``item`` names the item in errors and is
    not part of the key.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    schema: Mapping[str, Any] | None = None
    top_logprobs: int = 0
    replicate: int = 0
    effort: Effort | None = None
    item: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Completion:
    """What an engine answered, exactly as it came.

    ``finish_reason`` is the server's own word (``stop``, ``length``, ``content_filter``, ...).
    Token counts are the engine's; ``cached_tokens`` is the part of ``prompt_tokens`` that it did not
    compute for this call. A shared prefix that it computed ahead of the calls counts as cached in each of
    them, the first too: the work is charged to none. ``seconds`` is wall time inside the engine.
    ``logprobs`` holds, for each generated token,
    ``{"token": str, "logprob": float, "top": {token: logprob}}``.
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    seconds: float
    model: str
    logprobs: list[dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """A completion with its key and fingerprint; ``replayed`` tells a stored answer from a paid one."""

    completion: Completion
    key: str
    fingerprint: str
    replayed: bool

    @property
    def text(self) -> str:
        return self.completion.text


class Engine(Protocol):
    """Anything that answers. ``fingerprint`` names all that changes an answer besides the request."""

    fingerprint: Mapping[str, Any]

    async def complete(self, request: Request) -> Completion: ...

    async def aclose(self) -> None: ...


class EngineError(UserError):
    """The engine could not answer; the message names the thing and the fix. Not worth a retry."""


class TransientError(EngineError):
    """Worth another try (429, 5xx, reset, timeout); ``retry_after`` in seconds, where the server said so."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class EngineDied(EngineError):
    """The engine is gone: the stage ends, with everything answered kept."""


class PromptTooLong(EngineError):
    """The prompt and its answer do not fit the context; prompts are never cut silently."""


class GaveUp(EngineError):
    """Every try of one call failed for a passing reason; the trial counts as failed."""


class BudgetSpent(EngineError):
    """The run's token budget is used up; what was answered is kept."""


def canonical_json(value: Any) -> str:
    """One text for equal values: keys sorted, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def fingerprint_id(fingerprint: Mapping[str, Any]) -> str:
    """Twelve hex digits that stand for a fingerprint in tables and in keys' payloads."""
    return hashlib.sha256(canonical_json(fingerprint).encode()).hexdigest()[:12]


def request_key(fingerprint: str, request: Request) -> str:
    """SHA-256 of all that determines a response: fingerprint and all of the request but its item."""
    return hashlib.sha256(key_bytes(fingerprint, request)).hexdigest()


def key_bytes(fingerprint: str, request: Request) -> bytes:
    """What `request_key` hashes; unequal requests never give equal bytes.

    A JSON head that holds everything but the texts, and their lengths; then the texts. The texts, which
    are nearly all of it, are not escaped: that would take longer than the whole lookup in the store.
    The schema keeps its key order, which is the order in which a judge must write.
    """
    # surrogatepass: a judge may answer with half of a UTF-16 pair, which comes back in a later turn
    texts = [m.content.encode("utf-8", "surrogatepass") for m in request.messages]
    head: list[Any] = [
        fingerprint,
        [(m.role, m.cuts, len(text)) for m, text in zip(request.messages, texts, strict=True)],
        [request.max_tokens, request.temperature, request.top_p, request.seed],
        request.schema,
        request.top_logprobs,
        request.replicate,
    ]
    if request.effort is not None:  # only then, so that a request without it keeps the key it always had
        head.append(request.effort)
    return b"".join([orjson.dumps(head), *texts])
