"""Params, items and a scripted judge for this study's tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from shared.judge.records import Completion, Request, Response
from shared.params import load
from studies.rationalization_probes.params import Section
from tests.shared.judge.scripted import completion

ROOT = Path(__file__).parents[3]


def params(**changes: object) -> Section:
    """The committed params of this study, changed at the top."""
    _, section = load("rationalization_probes", Section, ROOT / "params.yaml")
    return section.model_copy(update=changes)


def item(name: str = "doc:equal", kind: str = "equal", level: int = 0) -> dict[str, object]:
    return {
        "item": name,
        "cluster": name.split(":")[0],
        "kind": kind,
        "level": level,
        "source": "The ferry opened in May and carries 900 people a day.",
        "candidate_1": "A ferry opened in May.",
        "candidate_2": "In May a ferry line began.",
    }


def items(*rows: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame(list(rows))


class Transcript:
    """An ``ask`` that answers by script and remembers step, request and lock."""

    def __init__(self, script: Callable[[str, Request], str | Completion]) -> None:
        self.script = script
        self.steps: list[str] = []
        self.requests: list[Request] = []
        self.locks: list[str | None] = []

    async def ask(self, step: str, request: Request, lock: str | None = None) -> Response:
        self.steps.append(step)
        self.requests.append(request)
        self.locks.append(lock)
        answer = self.script(step, request)
        done = completion(answer) if isinstance(answer, str) else answer
        return Response(done, f"key-{len(self.steps)}", "fingerprint", replayed=False)

    def of(self, step: str) -> Request:
        return self.requests[self.steps.index(step)]

    def prompt(self, step: str) -> str:
        return "\n".join(m.content for m in self.of(step).messages)


def play(protocols, trial, script) -> Transcript:
    """Run one trial's protocol against a script."""
    transcript = Transcript(script)
    asyncio.run(protocols.run(trial, transcript.ask))
    return transcript


def scores(first: int, second: int) -> str:
    criteria = ("accuracy", "completeness", "conciseness", "fluency")
    return json.dumps({f"summary_{n}": dict.fromkeys(criteria, s) for n, s in ((1, first), (2, second))})


def notes(quote: str = "carries 900 people a day") -> str:
    criteria = ("accuracy", "completeness", "conciseness", "fluency")
    return json.dumps(
        {f"summary_{n}": {c: {"note": f"note {n} {c}", "quote": quote} for c in criteria} for n in (1, 2)}
    )
