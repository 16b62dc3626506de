"""Params, items and a scripted judge for this study's tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from shared.judge.records import Completion, Request, Response
from shared.params import load
from studies.rationalization_probes.params import CRITERIA, Section
from studies.rationalization_probes.protocols import Trial
from studies.rationalization_probes.tasks import SUMMARIES
from tests.shared.judge.scripted import completion

ROOT = Path(__file__).parents[3]
ATTACK_COLUMNS = ("item", "probe", "carrier", "text", "status")


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


def attacked(*rows: Mapping[str, object]) -> pd.DataFrame:
    """The table of rewritten texts; no rows: nothing is attacked."""
    return pd.DataFrame(list(rows), columns=list(ATTACK_COLUMNS))


def trial(scheme: str = "baseline", probe: str = "blind", order: str = "12", **changes: Any) -> Trial:
    """A trial of `item`, with the LLM label on candidate 2 under Flip and else on candidate 1."""
    row: dict[str, Any] = item()
    return Trial(
        trial="t",
        item=row["item"],
        kind=row["kind"],
        scheme=scheme,
        probe=probe,
        reveal=False,
        screen_order=order,
        carrier=2 if probe == "flip" else 1,
        source=row["source"],
        candidate_1=row["candidate_1"],
        candidate_2=row["candidate_2"],
    )._replace(**changes)


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


def obedient(step: str, request: Request) -> str:
    """The least answer that follows the request's schema: first verdicts, scores of 1, the word "words"."""
    return json.dumps(_least(request.schema or {"type": "string"}))


def _least(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: _least(part) for name, part in schema["properties"].items()}
    return "words"


def scores(
    first: int,
    second: int,
    shown: Sequence[str] = SUMMARIES.shown,
    criteria: Sequence[str] = CRITERIA,
) -> str:
    return json.dumps(
        {name: dict.fromkeys(criteria, score) for name, score in zip(shown, (first, second), strict=True)}
    )


def notes(
    quote: str = "carries 900 people a day",
    shown: Sequence[str] = SUMMARIES.shown,
    criteria: Sequence[str] = CRITERIA,
) -> str:
    return json.dumps(
        {
            name: {c: {"note": f"note {n} {c}", "quote": quote} for c in criteria}
            for n, name in enumerate(shown, start=1)
        }
    )
