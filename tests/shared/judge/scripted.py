"""A scripted engine for tests: answers at once what a function says, and counts its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from shared.judge.records import Completion, Message, Request


def completion(text: str, finish_reason: str = "stop") -> Completion:
    return Completion(
        text=text,
        finish_reason=finish_reason,
        prompt_tokens=10,
        cached_tokens=4,
        completion_tokens=2,
        seconds=0.0,
        model="scripted",
    )


def request(text: str, **values: object) -> Request:
    return Request((Message("user", text),), max_tokens=8, **values)  # type: ignore[arg-type]


class ScriptedEngine:
    """Answers what ``script(request)`` returns (a text or a completion) or raises."""

    def __init__(
        self, script: Callable[[Request], str | Completion], name: str = "scripted", delay: float = 0.0
    ):
        self.script = script
        self.fingerprint = {"engine": name}
        self.delay = delay
        self.calls: list[Request] = []
        self.flying = 0
        self.most_flying = 0

    async def complete(self, asked: Request) -> Completion:
        self.calls.append(asked)
        self.flying += 1
        self.most_flying = max(self.most_flying, self.flying)
        try:
            await asyncio.sleep(self.delay)
            answer = self.script(asked)
        finally:
            self.flying -= 1
        return completion(answer) if isinstance(answer, str) else answer

    async def aclose(self) -> None: ...
