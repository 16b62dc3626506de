"""The client: asks an engine for what the store lacks, in order, bounded, and keeps every answer."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from shared.judge.records import (
    BudgetSpent,
    Completion,
    Engine,
    EngineDied,
    EngineError,
    GaveUp,
    PromptTooLong,
    Request,
    Response,
    TransientError,
    fingerprint_id,
    request_key,
)
from shared.judge.store import Store

T = TypeVar("T")
R = TypeVar("R")

END: Any = object()
"""What follows the last trial."""

LONGEST_WAIT_S = 60.0
SILENT_TRIALS = 8
"""So many trials in a row given up: the engine counts as gone."""

ENDS_A_TRIAL = (PromptTooLong, GaveUp)
"""What ends one trial (status ``failed``); any other engine error ends the run."""


@dataclass
class Usage:
    """Calls and tokens of one kind (paid or replayed); ``cached`` is the part of ``prompt`` not computed."""

    calls: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    seconds: float = 0.0

    def add(self, completion: Completion) -> None:
        self.calls += 1
        self.prompt += completion.prompt_tokens
        self.cached += completion.cached_tokens
        self.completion += completion.completion_tokens
        self.seconds += completion.seconds


@dataclass
class Summary:
    """What a run cost: what was paid now, what was replayed from the store, what failed."""

    paid: Usage = field(default_factory=Usage)
    replayed: Usage = field(default_factory=Usage)
    retries: int = 0
    failed_trials: int = 0

    def __str__(self) -> str:
        def side(name: str, usage: Usage) -> str:
            return (
                f"{name} {usage.calls} calls, {usage.prompt} prompt tokens ({usage.cached} cached), "
                f"{usage.completion} completion tokens"
            )

        return (
            f"{side('paid', self.paid)}; {side('replayed', self.replayed)}; "
            f"retries {self.retries}, failed trials {self.failed_trials}"
        )


class Client:
    """Asks one engine, through one store.

    Parameters
    ----------
    engine : Engine
    store : Store
    concurrency : int
        Trials in flight, and so calls in flight, at most.
    retries : int
        Further tries of a call after a `TransientError`, with exponential backoff.
    token_budget : int or None
        Tokens (prompt and completion) that may be paid in this run. Checked before a call is sent.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        *,
        concurrency: int = 4,
        retries: int = 4,
        token_budget: int | None = None,
    ) -> None:
        self.engine = engine
        self.store = store
        self.concurrency = concurrency
        self.retries = retries
        self.token_budget = token_budget
        self.fingerprint = fingerprint_id(engine.fingerprint)
        self.summary = Summary()
        self._pending: dict[str, asyncio.Future[Completion]] = {}
        self._slots = asyncio.Semaphore(concurrency)

    async def ask(self, request: Request) -> Response:
        """One answer: from the store, from a twin in flight, or from the engine.

        Raises
        ------
        EngineError
            Its subclasses tell what happened: `PromptTooLong` and `GaveUp` end a trial, others a run.
        """
        key = request_key(self.fingerprint, request)
        stored = self.store.get(key)
        if stored is not None:
            self.summary.replayed.add(stored)
            return Response(stored, key, self.fingerprint, replayed=True)
        twin = self._pending.get(key)
        if twin is not None:
            completion = await asyncio.shield(twin)
            self.summary.replayed.add(completion)
            return Response(completion, key, self.fingerprint, replayed=True)
        return Response(await self._pay(key, request), key, self.fingerprint, replayed=False)

    async def _pay(self, key: str, request: Request) -> Completion:
        """Call the engine once for all who wait for ``key``, and keep the answer."""
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._pending[key] = future
        try:
            async with self._slots:
                completion = await self._try(request)
            if completion.text:  # an empty answer is never kept: the next run asks again
                self.store.put(key, self.fingerprint, completion)
            self.summary.paid.add(completion)
            future.set_result(completion)
            return completion
        except BaseException as error:
            if isinstance(error, Exception):
                future.set_exception(error)
                future.exception()  # mark as seen: there may be no twin
            else:
                future.cancel()
            raise
        finally:
            del self._pending[key]

    async def _try(self, request: Request) -> Completion:
        """The engine's answer, tried again while the error may pass."""
        for attempt in range(self.retries + 1):
            self._check_budget()
            try:
                return await self.engine.complete(request)
            except TransientError as error:
                if attempt == self.retries:
                    raise GaveUp(f"{request.item}: gave up after {attempt + 1} tries: {error}") from error
                self.summary.retries += 1
                await asyncio.sleep(_wait(attempt, error.retry_after))
        raise AssertionError("unreachable")

    def _check_budget(self) -> None:
        spent = self.summary.paid.prompt + self.summary.paid.completion
        if self.token_budget is not None and spent >= self.token_budget:
            raise BudgetSpent(
                f"token budget of {self.token_budget} is spent ({spent}); "
                "raise token_budget in params.yaml and run again"
            )

    async def run(
        self, trials: Iterable[T], protocol: Callable[[T], Awaitable[R]]
    ) -> AsyncIterator[tuple[T, R | EngineError]]:
        """Run a protocol over trials, at most ``concurrency`` at once, and yield results in trial order.

        A trial that failed yields its error in place of a result. An error that ends the run is raised
        after the trials in flight are cancelled; what was answered is in the store.
        """
        queue, create_task = iter(trials), asyncio.get_running_loop().create_task
        flying: deque[tuple[T, asyncio.Task[R | EngineError]]] = deque()
        silent = 0
        try:
            while True:
                while len(flying) < self.concurrency and (trial := next(queue, END)) is not END:
                    flying.append((trial, create_task(_outcome(protocol, trial))))
                if not flying:
                    return
                trial, task = flying[0]
                result = await task
                flying.popleft()
                silent = silent + 1 if isinstance(result, GaveUp) else 0
                self.summary.failed_trials += isinstance(result, EngineError)
                if silent == SILENT_TRIALS:
                    raise EngineDied(f"{silent} trials in a row got no answer; the last error: {result}")
                yield trial, result
        finally:
            for _, task in flying:
                task.cancel()
            await asyncio.gather(*(task for _, task in flying), return_exceptions=True)


async def _outcome(protocol: Callable[[T], Awaitable[R]], trial: T) -> R | EngineError:
    try:
        return await protocol(trial)
    except ENDS_A_TRIAL as error:
        return error


def _wait(attempt: int, retry_after: float | None) -> float:
    """Seconds to wait: what the server asked for, else 0.5, 1, 2, ... with jitter, at most a minute."""
    if retry_after is not None:
        return min(retry_after, LONGEST_WAIT_S)
    # Jitter keeps a crowd of calls from returning at once; it touches no result.
    return min(0.5 * 2**attempt * random.uniform(0.75, 1.25), LONGEST_WAIT_S)
