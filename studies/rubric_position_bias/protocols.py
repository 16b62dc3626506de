"""How a judge is asked to grade one text: one call a trial, in two settings and six prompt arms.

In the setting ``score`` a criterion's score options are listed in the trial's order; in the setting
``criteria`` several criteria are, each to be scored in one range whose levels are listed in the order of
``scale``. What does not depend on these orders stands before them and is marked as shared, so that an engine
computes it once for all of an item's orders.

No prompt but one names the scores outside the options ("from 1 to 5"): that would be a second order, the same
in every trial. ``anchor`` does: to name the lowest and the highest score as fixed points is what that arm is,
and so its list is not the only order that the judge sees.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from shared.judge.prompts import render
from shared.judge.records import Effort, Message, Request, Response
from studies.rubric_position_bias import schemas
from studies.rubric_position_bias.params import Section

PROMPTS = Path(__file__).parent / "prompts"
Ask = Callable[..., Awaitable[Response]]

RANGE = (
    "The response fails on this criterion.",
    "The response is weak on this criterion and has serious flaws.",
    "The response is acceptable on this criterion and has some flaws.",
    "The response is good on this criterion and has only small flaws.",
    "The response is excellent on this criterion and leaves nothing to be desired.",
)
"""What the scores of the setting ``criteria`` mean, worst first; the same words for every criterion."""

OBJECTS = ("cot", "verify")
"""Arms whose answer is an object in both settings; elsewhere a score is answered bare."""


class Option(NamedTuple):
    """A score and what it stands for, in one line that ends like a sentence."""

    number: int
    text: str


class Criterion(NamedTuple):
    """One of several criteria; the question is "" where the name says it all."""

    name: str
    question: str


class Trial(NamedTuple):
    """One row of the trials table, with its item's texts.

    ``levels`` are the rubric's, as many as the trial shows, worst first; they, ``criterion`` and ``question``
    are empty in the setting ``criteria``, and ``criteria`` is empty in the setting ``score``.
    """

    trial: str
    item: str
    setting: str
    scheme: str
    order: str
    scale: str
    temperature: float
    effort: str
    replicate: int
    instruction: str
    source: str
    text: str
    reference_answer: str
    criterion: str
    question: str
    levels: tuple[str, ...]
    criteria: tuple[Criterion, ...]

    @property
    def shown(self) -> list[Option]:
        """The score options in the order in which the prompt lists them."""
        return _options(self.levels, self.order)

    @property
    def shown_criteria(self) -> list[Criterion]:
        """The criteria in the order in which the prompt lists them."""
        return [self.criteria[int(digit) - 1] for digit in self.order]


@dataclass(frozen=True)
class Protocols:
    """What one judge is asked, under the study's params.

    ``structured`` asks for a JSON schema to be enforced; without it the same prompts are free text.
    """

    params: Section
    structured: bool

    async def run(self, trial: Trial, ask: Ask) -> None:
        """The one call of a trial."""
        await ask("judge", self.request(trial))

    def request(self, trial: Trial) -> Request:
        """What is asked. Log-probabilities only where the first token is the score."""
        answer = self.params.answer
        bare = trial.setting == "score" and trial.scheme not in OBJECTS
        return Request(
            (_system(), self._turn(trial)),
            answer.max_tokens,
            temperature=trial.temperature,
            schema=self._schema(trial) if self.structured else None,
            top_logprobs=answer.top_logprobs if bare else 0,
            replicate=trial.replicate,
            effort=_effort(trial),
            item=trial.item,
        )

    def _turn(self, trial: Trial) -> Message:
        told = _options(RANGE, trial.scale) if trial.setting == "criteria" else trial.shown
        turn = render(
            PROMPTS,
            f"{trial.setting}_{trial.scheme}",
            **_texts(trial),
            options=told,
            lowest=min(told),
            highest=max(told),
            criteria=trial.shown_criteria if trial.setting == "criteria" else [],
            reasoning_chars=self.params.answer.reasoning_chars,
        )
        if trial.temperature > 0:  # the same order is asked again, at other temperatures or as a replicate
            turn = replace(turn, cuts=(*turn.cuts, len(turn.content)))
        return turn

    def _schema(self, trial: Trial) -> dict[str, Any]:
        if trial.setting == "score":
            answer, key = schemas.score(len(trial.levels)), "score"
        else:
            names = [criterion.name for criterion in trial.shown_criteria]
            answer, key = schemas.ratings(names, len(RANGE)), "scores"
        chars = self.params.answer.reasoning_chars
        match trial.scheme:
            case "cot":
                return schemas.reasoned(answer, key, chars)
            case "verify":
                return schemas.verified(answer, key, chars)
        return answer


def counted(setting: str, scheme: str) -> str:
    """The field of an answer that counts: of a verified one, what stood after the check."""
    if scheme == "verify":
        return "final"
    return "score" if setting == "score" else "scores"


def sentence(text: str) -> str:
    """A level's text in one line that ends like a sentence, so that it reads well in a list and in prose."""
    line = " ".join(text.split())
    return line if line.rstrip("”\"')").endswith((".", "!", "?", "…")) else f"{line.rstrip(' ,;:')}."


def _options(levels: tuple[str, ...], order: str) -> list[Option]:
    return [Option(int(digit), sentence(levels[int(digit) - 1])) for digit in order]


@cache
def _system() -> Message:
    """Cut at its end: it is all that prompts about different texts share."""
    turn = render(PROMPTS, "system", "system")
    return replace(turn, cuts=(len(turn.content),))


def _texts(trial: Trial) -> dict[str, Any]:
    names = ("instruction", "source", "text", "reference_answer", "criterion", "question")
    return {name: getattr(trial, name) for name in names}


def _effort(trial: Trial) -> Effort | None:
    match trial.effort:
        case "low" | "medium" | "high":
            return trial.effort
    return None
