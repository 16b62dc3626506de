"""What each turn of a protocol sees and makes, found by running the protocol itself on a made-up trial."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from shared.judge.records import Completion, Request, Response
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.protocols import Protocols, Trial
from studies.rationalization_probes.tasks import SUMMARIES

SOURCE, ONE, OTHER = "words of the source", "words of one candidate", "words of the other candidate"


class Turn(NamedTuple):
    """One turn: its step, what its prompt holds, what its answer must hold."""

    step: str
    sees: tuple[str, ...]
    makes: tuple[str, ...]


def turns(params: Section, scheme: str) -> list[Turn]:
    """The turns of a scheme under Flip, in order, with Reveal-After and its control.

    The protocol is really run, with an answer made from each turn's schema; what a turn sees is found in
    its prompt, and so can't differ from what a judge is asked.
    """
    trial = Trial("t", "i", "equal", scheme, "flip", scheme != "pointwise", "12", 2, SOURCE, ONE, OTHER)
    protocols = Protocols(params, structured=True)
    found: list[Turn] = []

    async def ask(step: str, request: Request, lock: str | None = None) -> Response:
        found.append(Turn(step, tuple(_seen(request)), tuple(_made(request.schema or {}))))
        text = json.dumps(_filled(request.schema or {}))
        return Response(Completion(text, "stop", 0, 0, 0, 0.0, "made up"), "", "", replayed=False)

    asyncio.run(protocols.run(trial, ask))
    return found


def _seen(request: Request) -> Iterator[str]:
    """What stands in the last turn; and whether an answer of the judge's own stands before it."""
    said = request.messages[-1].content
    if any(message.role == "assistant" for message in request.messages):
        yield "its own answer"
    if SOURCE in said:
        yield "document"
    if ONE in said or OTHER in said:
        yield "both candidates" if ONE in said and OTHER in said else "one candidate"
    if "<notes>" in said:
        yield "locked notes"
    if "Source label" in said:
        yield "cue"


def _made(schema: Mapping[str, Any]) -> Iterator[str]:
    """The answer's parts; of parts by candidate, what they are."""
    for name, part in schema["properties"].items():
        if not name.startswith(SUMMARIES.candidate):
            yield name
        elif name in (SUMMARIES.candidate, SUMMARIES.shown[0]):
            [inner, *_] = part["properties"].values()
            yield "scores" if "enum" in inner else "notes with quotations"


def _filled(schema: Mapping[str, Any]) -> Any:
    """The least answer that follows a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "object":
        return {name: _filled(part) for name, part in schema["properties"].items()}
    return "words"
