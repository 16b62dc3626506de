"""The engines that benchmarks ask: a scripted one, the embedded judge, and wrappers that write down calls."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from shared.judge.engines.llamacpp import LlamaCppEngine
from shared.judge.records import Completion, Engine, Request, request_key
from shared.weights import MODEL

ANSWER_DIGESTS = 8
"""A scripted answer's length, in SHA-256 digests of 64 characters: about that of a real one."""


class ScriptedEngine:
    """Answers at once, or after ``delay`` seconds, with a text that depends on the request alone."""

    def __init__(self, delay: float = 0.0) -> None:
        self.fingerprint: Mapping[str, Any] = {"engine": "scripted"}
        self.delay = delay

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(self.delay)
        digest = hashlib.sha256("".join(m.content for m in request.messages).encode()).hexdigest()
        return Completion(digest * ANSWER_DIGESTS, "stop", 1000, 900, 120, self.delay, "scripted")

    async def aclose(self) -> None: ...


class Recording:
    """Passes requests on to an engine, and remembers those that it was really asked, in order."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.fingerprint = engine.fingerprint
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        return await self.engine.complete(request)

    async def aclose(self) -> None:
        await self.engine.aclose()


class Logged:
    """Passes requests on to an engine, and appends each one's key to a file before it does.

    A call counts as paid from the moment at which it is sent, whether or not its answer came back.
    """

    def __init__(self, engine: Engine, log: Path) -> None:
        self.engine = engine
        self.fingerprint = engine.fingerprint
        self._file = os.open(log, os.O_APPEND | os.O_CREAT | os.O_WRONLY)

    async def complete(self, request: Request) -> Completion:
        os.write(self._file, f"{request_key('', request)}\n".encode())
        return await self.engine.complete(request)

    async def aclose(self) -> None:
        os.close(self._file)
        await self.engine.aclose()


@asynccontextmanager
async def embedded_judge() -> AsyncIterator[LlamaCppEngine]:
    """The embedded judge, freshly started, in exact mode, as the default params serve it."""
    engine = LlamaCppEngine(model=MODEL, context=4096, threads=2, prefix_cache="exact")
    try:
        yield engine
    finally:
        await engine.aclose()
