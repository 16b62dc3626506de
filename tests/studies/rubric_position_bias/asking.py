"""Items, trials and a scripted judge for the tests of what is asked and what is read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pandas as pd

from shared.judge.records import Completion, Request, Response
from studies.rubric_position_bias.protocols import Criterion, Protocols, Trial
from tests.shared.judge.scripted import completion

LEVELS = ("Nothing fits.", "Little fits.", "Some of it fits.", "Much of it fits.", "All of it fits.")
CRITERIA = (
    Criterion("relevance", "Does it keep to the point?"),
    Criterion("coherence", "Does one thing follow from another?"),
    Criterion("fluency", ""),
)
ARMS = ("base", "prose", "debias", "cot", "verify", "anchor")
SETTINGS = ("score", "criteria")

PARAMS: Any = SimpleNamespace(answer=SimpleNamespace(reasoning_chars=80, max_tokens=60, top_logprobs=20))
STRUCTURED = Protocols(PARAMS, structured=True)


def trial(setting: str = "score", scheme: str = "base", order: str = "", **changes: Any) -> Trial:
    """A trial of one response: of all five options, or of three criteria."""
    is_score = setting == "score"
    return Trial(
        trial="t",
        item="i",
        setting=setting,
        scheme=scheme,
        order=order or ("12345" if is_score else "123"),
        scale="" if is_score else "12345",
        temperature=0.0,
        effort="",
        replicate=0,
        instruction="Say how to boil an egg.",
        source="",
        text="Put it in boiling water for six minutes.",
        reference_answer="Lower it into boiling water; take it out after six to ten minutes.",
        criterion="completeness" if is_score else "",
        question="Does the response say all that is needed?" if is_score else "",
        levels=LEVELS if is_score else (),
        criteria=() if is_score else CRITERIA,
    )._replace(**changes)


def prompt(asked: Trial, protocols: Protocols = STRUCTURED) -> str:
    """The user turn of a trial's request."""
    return protocols.request(asked).messages[1].content


def item(name: str, setting: str = "score", **changes: object) -> dict[str, object]:
    """A row of the items' table."""
    asked = trial(setting)
    references = {criterion.name: 2.0 + place for place, criterion in enumerate(CRITERIA)}
    return {
        "item": name,
        "dataset": "embedded",
        "cluster": name.split("/")[0],
        "prompt": "eggs",
        "system": "s1",
        "setting": setting,
        "instruction": asked.instruction,
        "text": asked.text,
        "source": asked.source,
        "reference_answer": asked.reference_answer,
        "criterion": asked.criterion,
        "question": asked.question,
        "levels": json.dumps(LEVELS if setting == "score" else []),
        "criteria": json.dumps([criterion._asdict() for criterion in asked.criteria]),
        "reference": 4.0 if setting == "score" else float("nan"),
        "references": json.dumps({} if setting == "score" else references),
        "rater": "intended",
        **changes,
    }


def row(name: str, order: str, setting: str = "score", **changes: object) -> dict[str, object]:
    """A row of the trials' table."""
    asked = {
        "item": name,
        "cluster": name.split("/")[0],
        "dataset": "embedded",
        "setting": setting,
        "scheme": "base",
        "size": len(order),
        "strategy": "balanced",
        "draw": 0,
        "order": order,
        "scale": "" if setting == "score" else "12345",
        "temperature": 0.0,
        "effort": "",
        "replicate": 0,
        **changes,
    }
    parts = ("scheme", "size", "order", "scale", "temperature", "effort", "strategy", "draw", "replicate")
    return {"trial": "|".join([name, *(str(asked[part]) for part in parts)]), **asked}


def play(
    protocols: Protocols, trials: Iterable[Trial], script: Callable[[Request], str | Completion]
) -> pd.DataFrame:
    """The responses' table of a judge that answers by script, as the stage ``judge`` would write it."""
    rows: list[dict[str, Any]] = []

    async def run(asked: Trial) -> None:
        async def ask(step: str, request: Request, lock: str | None = None) -> Response:
            answer = script(request)
            done = completion(answer) if isinstance(answer, str) else answer
            first = json.dumps(done.logprobs[0]) if done.logprobs else None
            rows.append(
                {
                    "trial": asked.trial,
                    "step": step,
                    "text": done.text,
                    "finish_reason": done.finish_reason,
                    "logprobs": first,
                    "fingerprint": "f",
                }
            )
            return Response(done, "key", "f", replayed=False)

        await protocols.run(asked, ask)

    for one in trials:
        asyncio.run(run(one))
    return pd.DataFrame(rows)
