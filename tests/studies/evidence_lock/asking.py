"""One trial put to a judge that answers by script, and what it was asked: for tests only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

from shared.judge.records import Completion, Request, Response
from studies.evidence_lock.protocols import Protocols, Trial
from tests.shared.judge.scripted import completion

NAMES = ("Cedar", "Willow")

# Rare words, so that what a prompt holds of them can be told from its own.
CONTEXT = "Whence departs the Zwolle ferry, and how oft on Candlemas?"
ANSWERS = ("Quay nine; hourly save Candlemas, when twice.", "Hard by the lighthouse: thrice, I reckon.")
RARE = ("zwolle", "ferry", "candlemas", "quay", "hourly", "twice", "lighthouse", "thrice", "reckon")

PARAMS: Any = SimpleNamespace(answer=SimpleNamespace(record_chars=300, max_tokens=160))
STRUCTURED = Protocols(PARAMS, enforced=True)
FREE = Protocols(PARAMS, enforced=False)

CRITERIA = "Names the place and the hours."
EVIDENCE = {"Cedar": "Gives a place, and hours for both days.", "Willow": "Vague on the place; one number."}

Said = Mapping[str, str | Completion]


class Call(NamedTuple):
    """One call of a trial."""

    step: str
    request: Request
    lock: str | None

    @property
    def prompt(self) -> str:
        """Its last turn."""
        return self.request.messages[-1].content


def trial(scheme: str = "lock", inspection: str = "12", decision: str = "", **changes: Any) -> Trial:
    """A trial of the item above, under one order unless two are told."""
    return Trial(
        trial="t",
        item="i",
        scheme=scheme,
        inspection=inspection,
        decision=decision or inspection,
        record_chars=300,
        wording=1,
        temperature=0.0,
        replicate=0,
        name_1=NAMES[0],
        name_2=NAMES[1],
        context=CONTEXT,
        answer_1=ANSWERS[0],
        answer_2=ANSWERS[1],
    )._replace(**changes)


def record(criteria: str = CRITERIA, evidence: Mapping[str, str] = EVIDENCE) -> str:
    """What call 1 answers."""
    return json.dumps({"criteria": criteria, "evidence": evidence})


def assessment(said: str) -> str:
    """What an assessing call answers."""
    return json.dumps({"criteria": f"Must say {said}.", "assessment": f"It says {said}."})


SAID: Said = {
    "record": record(),
    "assess_1": assessment("one thing"),
    "assess_2": assessment("another"),
    "verdict": json.dumps({"verdict": "Cedar"}),
}
"""By step; what Structured says is read by nobody here."""


def put(asked: Trial, protocols: Protocols = STRUCTURED, **said: str | Completion) -> list[Call]:
    """The calls of one trial, each answered by what is said at its step."""
    calls: list[Call] = []

    async def ask(step: str, request: Request, lock: str | None = None) -> Response:
        calls.append(Call(step, request, lock))
        answer = {**SAID, **said}[step]
        done = completion(answer) if isinstance(answer, str) else answer
        return Response(done, "key", "f", replayed=False)

    asyncio.run(protocols.run(asked, ask))
    return calls


def last(asked: Trial, protocols: Protocols = STRUCTURED, **said: str | Completion) -> Call:
    """The call in which the verdict is reached."""
    call = put(asked, protocols, **said)[-1]
    assert call.step == "verdict"
    return call
