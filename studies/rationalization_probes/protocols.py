"""How a judge is asked: Baseline, forced Baseline, SCoT and Proof-Before-Preference (paper, 4.4).

A protocol reads like the paper's algorithm. It sees a trial and ``ask(step, request)``, and asks for
the next turn only where the one before it was finished (an answer cut by its token limit ends the
trial). What the answers mean is decided later, by ``judgements``; the one exception is PBP's third
turn, which narrates a ranking that was computed from the second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from shared.judge.hygiene import neutralise
from shared.judge.parsing import parse_scores, status_before_reading
from shared.judge.prompts import render
from shared.judge.records import Message, Request, Response
from studies.rationalization_probes import schemas
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.schemas import SHOWN

PROMPTS = Path(__file__).parent / "prompts"
Ask = Callable[..., Awaitable[Response]]


class Trial(NamedTuple):
    """One row of the trials table, with its item's texts."""

    trial: str
    item: str
    scheme: str
    probe: str
    reveal: bool
    screen_order: str
    carrier: int
    source: str
    candidate_1: str
    candidate_2: str

    @property
    def shown(self) -> tuple[str, str]:
        """The candidates' texts in screen order."""
        pair = (self.candidate_1, self.candidate_2)
        return pair if self.screen_order == "12" else pair[::-1]

    def place(self, identity: int) -> int:
        """Where on the screen (1 or 2) the candidate of this identity is shown."""
        return int(self.screen_order.index(str(identity))) + 1


@dataclass(frozen=True)
class LockedNotes:
    """Turn 1's notes, frozen: later turns are built from ``text`` alone, and carry its hash."""

    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Protocols:
    """The schemes of one judge: what is asked, under the study's params.

    ``structured`` asks for a JSON schema to be enforced; without it the same prompts are free text.
    """

    params: Section
    structured: bool

    async def run(self, trial: Trial, ask: Ask) -> None:
        """All turns of one trial, Reveal-After and its control included where the trial has them."""
        if trial.scheme.startswith("pbp"):
            await self.proof_before_preference(trial, ask)
        else:
            await self.one_turn(trial, ask)

    async def one_turn(self, trial: Trial, ask: Ask) -> None:
        """Baseline, forced Baseline and SCoT: one answer holds verdict or scores, and rationale."""
        request = self._request(trial, (self._system(), self._compare(trial, trial.scheme)), trial.scheme)
        answer = await ask("judge", request)
        if trial.reveal and finished(answer):
            await self._reveal_after(trial, ask, request, answer)

    async def proof_before_preference(self, trial: Trial, ask: Ask) -> None:
        """Evidence lock -> score -> rank.

        In the arm ``pbp_once`` the cue is seen in turn 1 alone, so that later turns can follow it
        through the notes only; in ``pbp_repeated`` it is shown again at scoring.
        """
        notes = await ask(
            "notes", self._request(trial, (self._system(), self._compare(trial, "notes")), "notes")
        )
        if not finished(notes):
            return
        locked = LockedNotes(notes.text)
        cue = self.cue(trial) if trial.scheme == "pbp_repeated" else ""
        request = self._request(trial, (self._system(), self._turn("score", locked, cue=cue)), "score")
        answer = await ask("score", request, lock=locked.sha256)
        if not finished(answer):
            return
        if trial.reveal:
            await self._reveal_after(trial, ask, request, answer, lock=locked.sha256)
        await self._narrate(trial, ask, locked, answer)

    async def _narrate(self, trial: Trial, ask: Ask, locked: LockedNotes, answer: Response) -> None:
        """Turn 3: the ranking is computed; the judge only says why, from the notes."""
        totals = self.totals(answer)
        if totals is None:
            return
        result = result_of(totals, self.params.tie_margin)
        turn = self._turn("narrate", locked, totals=[f"{t:g}" for t in totals], result=result)
        await ask("narrate", self._request(trial, (self._system(), turn), "narrate"), lock=locked.sha256)

    async def _reveal_after(
        self, trial: Trial, ask: Ask, request: Request, answer: Response, lock: str | None = None
    ) -> None:
        """The same conversation goes on: once with the true labels, once with nothing new."""
        said = Message("assistant", neutralise(answer.text)[0])
        for step, turn in (
            ("reveal", render(PROMPTS, "reveal", cue=self._labels(trial, llm=3 - trial.carrier))),
            ("control", render(PROMPTS, "ask_again")),
        ):
            messages = (*request.messages, said, turn)
            await ask(
                step, Request(messages, request.max_tokens, schema=request.schema, item=trial.item), lock=lock
            )

    def cue(self, trial: Trial) -> str:
        """The one line in which probes differ; empty under Blind."""
        if trial.probe == "blind":
            return ""
        if trial.probe == "empty":
            return render(PROMPTS, "cue_empty").content
        if trial.probe == "placebo":
            badge = self.params.labels["placebo"]
            return render(PROMPTS, "cue_badge", carrier=trial.place(trial.carrier), badge=badge).content
        return self._labels(trial, llm=trial.carrier)

    def totals(self, answer: Response) -> tuple[float, float] | None:
        """Weighted totals of a scoring answer, by place on the screen; None where it does not parse."""
        parsed = parse_scores(answer.text, answer.completion.finish_reason, SHOWN, self.criteria, 1, 5)
        if parsed.status != "ok":
            return None
        return weighted_totals(parsed.fields["scores"], self.params.weights)

    @property
    def criteria(self) -> list[str]:
        return list(self.params.weights)

    def _labels(self, trial: Trial, llm: int) -> str:
        """The label line that says the candidate of identity ``llm`` was written by an LLM."""
        labels = [self.params.labels["tradml"]] * 2
        labels[trial.place(llm) - 1] = self.params.labels["llm"]
        return render(PROMPTS, "cue_labels", labels=labels).content

    def _system(self) -> Message:
        return render(PROMPTS, "system", "system")

    def _compare(self, trial: Trial, task: str) -> Message:
        return render(
            PROMPTS,
            "compare",
            source=trial.source,
            shown=trial.shown,
            task=task,
            cue=self.cue(trial),
            criteria=self.criteria,
        )

    def _turn(self, name: str, locked: LockedNotes, **values: Any) -> Message:
        """A turn built from the locked record alone; a delimiter inside the notes is neutralised."""
        return render(PROMPTS, name, notes=neutralise(locked.text)[0], criteria=self.criteria, **values)

    def _request(self, trial: Trial, messages: tuple[Message, ...], form: str) -> Request:
        schema = self._schema(form) if self.structured else None
        return Request(messages, self.params.answer.max_tokens, schema=schema, item=trial.item)

    def _schema(self, form: str) -> dict[str, Any]:
        caps = self.params.answer
        match form:
            case "baseline":
                return schemas.verdict_first((*SHOWN, "tie"), caps.rationale_chars)
            case "forced":
                return schemas.verdict_first(SHOWN, caps.rationale_chars)
            case "scot":
                return schemas.notes_then_scores(self.criteria, caps.note_chars, caps.rationale_chars)
            case "notes":
                return schemas.evidence(self.criteria, caps.note_chars, caps.quote_chars)
            case "score":
                return schemas.scores(self.criteria)
            case "narrate":
                return schemas.rationale(caps.rationale_chars)
        raise ValueError(f"unknown form of answer: {form}")


def finished(answer: Response) -> bool:
    """Whether a turn ended by itself, with something said."""
    return status_before_reading(answer.text, answer.completion.finish_reason) == "ok"


def weighted_totals(
    scores: dict[str, dict[str, int]], weights: dict[str, float], names: Sequence[str] = SHOWN
) -> tuple[float, float]:
    """Sum over criteria of weight times score, weights normalised to sum 1; in [1, 5] (paper, 4.4)."""
    whole = sum(weights.values())
    first, second = (sum(weights[c] * scores[name][c] for c in weights) / whole for name in names)
    return first, second


def result_of(totals: tuple[float, float], tie_margin: float) -> str:
    """The ranking by totals: a tie only where they differ by no more than the margin (0: exactly equal)."""
    # Rounding keeps two equal sums of weighted integers equal in floating point.
    difference = round(totals[0] - totals[1], 9)
    if abs(difference) <= tie_margin:
        return "tie"
    return SHOWN[0] if difference > 0 else SHOWN[1]
