"""How a judge compares two answers: the paper's four protocols, and the lock taken apart.

A protocol reads like the paper's algorithm. It sees a trial and ``ask(step, request)``; a step that follows
another is asked only where the one before it can be read (an unreadable record ends the trial). What the
verdicts mean is decided later, by ``judgements``.

Every protocol calls the answers by the same two names, caps each text alike, and asks for the verdict in the
same words. Where a record is written before a verdict is asked for, the judge is told not to choose; only in
`frozen_evidence` it is not, whose record is what Structured wrote.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from shared.judge.hygiene import neutralise
from shared.judge.parsing import parse_evidence, parse_texts
from shared.judge.prompts import render
from shared.judge.records import Message, Request, Response
from studies.evidence_lock import schemas
from studies.evidence_lock.params import Section, chars_of_text

PROMPTS = Path(__file__).parent / "prompts"
Ask = Callable[..., Awaitable[Response]]

TEXTS_OF_ASSESSMENTS = 4
"""Two assessments, each of them criteria and findings."""

ASSESSMENT = ("criteria", "assessment")

CRITERIA = "What a good answer must do"
"""How the deciding call is told the criteria."""


class Answer(NamedTuple):
    """One of the two answers, under its name."""

    name: str
    text: str


class Line(NamedTuple):
    """A text of a record, and what it is about, as the deciding call is shown it."""

    about: str
    text: str


class Trial(NamedTuple):
    """One row of the trials table, with its item's texts.

    ``inspection`` and ``decision`` are orders of the candidates 1 and 2: in which they are inspected, and in
    which the deciding call is shown them or what is known about them. ``writer`` is the judge who wrote the
    record, "" for the judge itself.
    """

    trial: str
    item: str
    scheme: str
    inspection: str
    decision: str
    record_chars: int
    wording: int
    temperature: float
    replicate: int
    name_1: str
    name_2: str
    context: str
    answer_1: str
    answer_2: str
    writer: str = ""

    def answers(self, order: str) -> tuple[Answer, Answer]:
        """Both answers in an order."""
        pair = Answer(self.name_1, self.answer_1), Answer(self.name_2, self.answer_2)
        return pair if order == "12" else pair[::-1]

    def names(self, order: str) -> tuple[str, str]:
        """The names of both answers in an order."""
        first, second = self.answers(order)
        return first.name, second.name


@dataclass(frozen=True)
class Record:
    """What call 1 wrote, frozen: the deciding call is built from it, and carries its hash."""

    text: str
    criteria: str
    evidence: Mapping[str, str]

    @property
    def sha256(self) -> str:
        return sha256(self.text)

    def lines(self, names: tuple[str, str]) -> list[Line]:
        """Its texts, those about answers in the order of ``names``."""
        about = [Line(f"About the answer {name}", self.evidence[name]) for name in names]
        return [Line(CRITERIA, self.criteria), *about]


@dataclass(frozen=True)
class Protocols:
    """What one judge is asked, under the study's params.

    ``enforced`` asks for a JSON schema to be enforced; without it the same prompts are free text.
    """

    params: Section
    enforced: bool

    async def run(self, trial: Trial, ask: Ask) -> None:
        """All calls of one trial."""
        protocol = {
            "standard": self.standard,
            "structured": self.structured,
            "lock": self.evidence_lock,
            "pointwise_lock": self.pointwise_lock,
            "frozen_evidence": self.frozen_evidence,
            "lock_with_source": self.lock_with_source,
            "conversation": self.conversation,
            "reread": self.reread,
        }[trial.scheme]
        await protocol(trial, ask)

    # --- the paper's four ---------------------------------------------------------------------------

    async def standard(self, trial: Trial, ask: Ask) -> None:
        """Both answers, and the verdict at once."""
        turn = self._turn(trial, "standard", trial.decision)
        await ask("verdict", self._request(trial, (turn,), self._verdict(trial)))

    async def structured(self, trial: Trial, ask: Ask) -> None:
        """Criteria and evidence, then the verdict, in one answer."""
        await ask("verdict", self._inspect_and_decide(trial))

    async def evidence_lock(self, trial: Trial, ask: Ask) -> None:
        """Call 1 sees both answers and writes a record; call 2 sees the record alone."""
        if record := read_record(trial, await ask("record", self._inspect(trial))):
            await self.decide(trial, record, ask)

    async def pointwise_lock(self, trial: Trial, ask: Ask) -> None:
        """Each answer is assessed alone; the third call sees both assessments."""
        assessments = {}
        for place, answer in enumerate(trial.answers("12"), start=1):
            said = await ask(f"assess_{place}", self._assess(trial, answer))
            assessments[answer.name] = (said.text, read_assessment(said))
        frozen = sha256("\n".join(text for text, _ in assessments.values()))
        lines = [
            Line(f"{about} the answer {name}", fields[key])
            for name in trial.names(trial.decision)
            if (fields := assessments[name][1])
            for about, key in zip((f"{CRITERIA}, by the assessment of", "About"), ASSESSMENT, strict=True)
        ]
        if len(lines) == TEXTS_OF_ASSESSMENTS:
            await self._decide(trial, "decide", ask, lines, lock=frozen)

    # --- the lock taken apart -----------------------------------------------------------------------

    async def frozen_evidence(self, trial: Trial, ask: Ask) -> None:
        """As the lock, but the record is the evidence of Structured's own answer, without its verdict."""
        if record := read_record(trial, await ask("record", self._inspect_and_decide(trial))):
            await self.decide(trial, record, ask)

    async def lock_with_source(self, trial: Trial, ask: Ask) -> None:
        """As the lock, but call 2 sees the answers too."""
        if record := read_record(trial, await ask("record", self._inspect(trial))):
            lines = record.lines(trial.names(trial.decision))
            await self._decide(trial, "decide_with_source", ask, lines, lock=record.sha256)

    async def conversation(self, trial: Trial, ask: Ask) -> None:
        """Two calls and nothing frozen: the conversation in which the record was written goes on."""
        inspect = self._inspect(trial)
        said = await ask("record", inspect)
        if read_record(trial, said):
            text, _ = neutralise(said.text)
            turns = (*inspect.messages[1:], Message("assistant", text, cuts=(len(text),)))
            go_on = self._turn(trial, "go_on", trial.decision)
            await ask("verdict", self._request(trial, (*turns, go_on), self._verdict(trial)))

    async def reread(self, trial: Trial, ask: Ask) -> None:
        """As the lock, but call 2 sees the answers and no record."""
        if read_record(trial, await ask("record", self._inspect(trial))):
            await self._decide(trial, "reread", ask, [])

    async def decide(self, trial: Trial, record: Record, ask: Ask) -> None:
        """The lock's call 2, also for a record that another judge wrote."""
        await self._decide(trial, "decide", ask, record.lines(trial.names(trial.decision)), record.sha256)

    # --- requests -----------------------------------------------------------------------------------

    def _inspect(self, trial: Trial) -> Request:
        schema = schemas.evidence(trial.names(trial.inspection), chars_of_text(trial.record_chars))
        return self._request(trial, (self._turn(trial, "record", trial.inspection),), schema)

    def _inspect_and_decide(self, trial: Trial) -> Request:
        turn = self._turn(trial, "structured", trial.decision)
        schema = schemas.evidence_then_verdict(trial.names(trial.decision), chars_of_text(trial.record_chars))
        return self._request(trial, (turn,), schema)

    def _assess(self, trial: Trial, answer: Answer) -> Request:
        turn = self._turn(trial, "assess", trial.inspection, text=answer.text, names=(answer.name,))
        return self._request(trial, (turn,), schemas.assessment(chars_of_text(trial.record_chars)))

    async def _decide(
        self, trial: Trial, name: str, ask: Ask, lines: list[Line], lock: str | None = None
    ) -> None:
        """A deciding call in a fresh context; what the record says can't close its delimiters."""
        # In one line, so that no text can look like the next one's.
        safe = [Line(line.about, neutralise(line.text)[0].replace("\n", " ")) for line in lines]
        turn = self._turn(trial, name, trial.decision, record=safe)
        await ask("verdict", self._request(trial, (turn,), self._verdict(trial)), lock=lock)

    def _turn(self, trial: Trial, name: str, order: str, **values: Any) -> Message:
        known: dict[str, Any] = {
            "context": trial.context,
            "answers": trial.answers(order),
            "names": trial.names(order),
            "wording": trial.wording,
            "chars": chars_of_text(trial.record_chars),
        }
        turn = render(PROMPTS, name, **(known | values))
        if trial.temperature > 0:  # the same request is asked again, as a replicate
            turn = replace(turn, cuts=(*turn.cuts, len(turn.content)))
        return turn

    def _request(self, trial: Trial, turns: tuple[Message, ...], schema: dict[str, Any]) -> Request:
        return Request(
            (_system(), *turns),
            self.params.answer.max_tokens,
            temperature=trial.temperature,
            schema=schema if self.enforced else None,
            replicate=trial.replicate,
            item=trial.item,
        )

    def _verdict(self, trial: Trial) -> dict[str, Any]:
        return schemas.verdict(trial.names(trial.decision))


def read_record(trial: Trial, said: Response) -> Record | None:
    """The record in the answer of call 1; None where it can't be read, which ends the trial."""
    return record_of(trial, said.text, said.completion.finish_reason)


def record_of(trial: Trial, text: str, finish_reason: str) -> Record | None:
    """As `read_record`, from a text that was stored."""
    parsed = parse_evidence(text, finish_reason, trial.names(trial.inspection))
    if parsed.status != "ok":
        return None
    return Record(text, parsed.fields["criteria"], parsed.fields["evidence"])


def read_assessment(said: Response) -> dict[str, str] | None:
    """Criteria and assessment of one answer; None where they can't be read."""
    parsed = parse_texts(said.text, said.completion.finish_reason, ASSESSMENT)
    return dict(parsed.fields) if parsed.status == "ok" else None


def sha256(text: str) -> str:
    """The hash that a frozen text is known by."""
    # surrogatepass: a judge may answer with half of a UTF-16 pair
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _system() -> Message:
    """Cut at its end: it is all that prompts about different questions share."""
    turn = render(PROMPTS, "system", "system")
    return replace(turn, cuts=(len(turn.content),))
