"""How a judge is asked: Baseline, forced Baseline, SCoT, Proof-Before-Preference (paper, 4.4), pointwise.

A protocol reads like the paper's algorithm. It sees a trial and ``ask(step, request)``, and asks for
the next turn only where the one before it was finished (an answer cut by its token limit ends the
trial). What the answers mean is decided later, by ``judgements``; the one exception is PBP's third
turn, which narrates a ranking that was computed from the second.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from shared.judge.hygiene import neutralise
from shared.judge.parsing import parse_scores, status_before_reading
from shared.judge.prompts import marked, render
from shared.judge.records import Message, Request, Response
from studies.rationalization_probes import schemas
from studies.rationalization_probes.params import NO_CONCISENESS, Section
from studies.rationalization_probes.tasks import SUMMARIES, Task, task_of

PROMPTS = Path(__file__).parent / "prompts"
Ask = Callable[..., Awaitable[Response]]

POINTWISE = ("factual_accuracy", "completeness", "coherence_and_fluency")
"""The criteria of the paper's Table 1 and Appendix A."""


class Trial(NamedTuple):
    """One row of the trials table, with its item's texts."""

    trial: str
    item: str
    kind: str
    scheme: str
    probe: str
    reveal: bool
    screen_order: str
    carrier: int
    source: str
    candidate_1: str
    candidate_2: str

    @property
    def task(self) -> Task:
        return task_of(self.kind)

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

    ``structured`` asks for a JSON schema to be enforced; without it the same prompts are free text, as
    they always are under the probe ``free``.
    """

    params: Section
    structured: bool

    async def run(self, trial: Trial, ask: Ask) -> None:
        """All turns of one trial, Reveal-After and its control included where the trial has them."""
        if trial.scheme == "pointwise":
            await self.one_by_one(trial, ask)
        elif trial.scheme.startswith("pbp"):
            await self.proof_before_preference(trial, ask)
        else:
            await self.one_turn(trial, ask)

    async def one_turn(self, trial: Trial, ask: Ask) -> None:
        """Baseline, forced Baseline and SCoT: one answer holds verdict or scores, and rationale."""
        form = trial.scheme.removesuffix(NO_CONCISENESS)
        request = self._request(
            trial, (self._system(trial), self._compare(trial, form, self.cue(trial))), form
        )
        answer = await ask("judge", request)
        if trial.reveal and finished(answer):
            await self._reveal_after(trial, ask, request, answer)

    async def proof_before_preference(self, trial: Trial, ask: Ask) -> None:
        """Evidence lock -> score -> rank.

        In the arm ``pbp_once`` the cue is seen in turn 1 alone, so that later turns can follow it
        through the notes only; in ``pbp_repeated`` it is shown again at scoring; in ``pbp_grafted`` notes
        written without a cue are scored with it.
        """
        cue = self.cue(trial)
        opening = self._compare(trial, "notes", "" if trial.scheme == "pbp_grafted" else cue)
        notes = await ask("notes", self._request(trial, (self._system(trial), opening), "notes"))
        if not finished(notes):
            return
        locked = LockedNotes(notes.text)
        again = cue if trial.scheme in ("pbp_repeated", "pbp_grafted") else ""
        turn = self._turn(trial, "score", locked, cue=again)
        request = self._request(trial, (self._system(trial), turn), "score")
        answer = await ask("score", request, lock=locked.sha256)
        if not finished(answer):
            return
        if trial.reveal:
            await self._reveal_after(trial, ask, request, answer, lock=locked.sha256)
        await self._narrate(trial, ask, locked, answer)

    async def one_by_one(self, trial: Trial, ask: Ask) -> None:
        """The paper's Appendix A: each candidate alone, three criteria from 1 to 5; no rationale."""
        for place, text in enumerate(trial.shown, start=1):
            turn = self._render(
                trial, "pointwise", source=trial.source, text=text, cue=self._own_cue(trial, place)
            )
            request = self._request(trial, (self._system(trial), turn), "pointwise")
            await ask(f"score_{place}", request)

    async def _narrate(self, trial: Trial, ask: Ask, locked: LockedNotes, answer: Response) -> None:
        """Turn 3: the ranking is computed; the judge only says why, from the notes."""
        totals = self.totals(trial, answer)
        if totals is None:
            return
        result = result_of(totals, self.params.tie_margin, trial.task.shown)
        turn = self._turn(trial, "narrate", locked, totals=[f"{t:g}" for t in totals], result=result)
        request = self._request(trial, (self._system(trial), turn), "narrate")
        await ask("narrate", request, lock=locked.sha256)

    async def _reveal_after(
        self, trial: Trial, ask: Ask, request: Request, answer: Response, lock: str | None = None
    ) -> None:
        """The same conversation goes on: once with the true labels, once with nothing new."""
        text, _ = neutralise(answer.text)
        said = Message("assistant", text, cuts=(len(text),))
        for step, turn in (
            ("reveal", render(PROMPTS, "reveal", cue=self._labels(trial, llm=3 - trial.carrier))),
            ("control", render(PROMPTS, "ask_again")),
        ):
            messages = (*request.messages, said, turn)
            await ask(
                step, Request(messages, request.max_tokens, schema=request.schema, item=trial.item), lock=lock
            )

    def cue(self, trial: Trial) -> str:
        """The one line in which probes differ, its cut marked; empty under Blind and where texts differ."""
        match trial.probe:
            case "truth" | "flip":
                return self._labels(trial, llm=trial.carrier)
            case "empty":
                return self._label_line(trial, [None, None])
            case "relabel_llm" | "relabel_tradml":
                words: list[str | None] = [None, None]
                words[trial.place(trial.carrier) - 1] = self.params.labels[
                    trial.probe.removeprefix("relabel_")
                ]
                return self._label_line(trial, words)
            case "placebo":
                names = {"carrier": trial.place(trial.carrier), "badge": self.params.labels["placebo"]}
                return marked(PROMPTS, "cue_badge", task=trial.task, **names)
        return ""

    def totals(self, trial: Trial, answer: Response) -> tuple[float, float] | None:
        """Weighted totals of a scoring answer, by place on the screen; None where it does not parse."""
        weights = weights_of(trial.scheme, self.params)
        shown = trial.task.shown
        parsed = parse_scores(answer.text, answer.completion.finish_reason, shown, list(weights), 1, 5)
        if parsed.status != "ok":
            return None
        return weighted_totals(parsed.fields["scores"], weights, shown)

    def _labels(self, trial: Trial, llm: int) -> str:
        """The label line that says the candidate of identity ``llm`` was written by an LLM."""
        words: list[str | None] = [self.params.labels["tradml"]] * 2
        words[trial.place(llm) - 1] = self.params.labels["llm"]
        return self._label_line(trial, words)

    def _label_line(self, trial: Trial, words: Sequence[str | None]) -> str:
        """What is said of each place on the screen; None: that it has no label."""
        return marked(PROMPTS, "cue_labels", task=trial.task, labels=words)

    def _own_cue(self, trial: Trial, place: int) -> str:
        """What the cue says of one candidate that is shown alone."""
        carries = trial.place(trial.carrier) == place
        labels = self.params.labels
        words: str | None = None
        match trial.probe:
            case "truth" | "flip":
                words = labels["llm"] if carries else labels["tradml"]
            case "relabel_llm" | "relabel_tradml":
                words = labels[trial.probe.removeprefix("relabel_")] if carries else None
            case "placebo":
                return marked(PROMPTS, "cue_badge_alone", task=trial.task, badge=labels["placebo"]) * carries
            case "empty":
                words = None
            case _:
                return ""
        return marked(PROMPTS, "cue_label_alone", task=trial.task, label=words)

    def _system(self, trial: Trial) -> Message:
        """Cut at its end: it is all that the turns about different locked notes share."""
        turn = render(PROMPTS, "system", "system", task=trial.task)
        return replace(turn, cuts=(len(turn.content),))

    def _compare(self, trial: Trial, task_name: str, cue: str) -> Message:
        return self._render(
            trial, "compare", source=trial.source, shown=trial.shown, instruction=task_name, cue=cue
        )

    def _turn(self, trial: Trial, name: str, locked: LockedNotes, **values: Any) -> Message:
        """A turn built from the locked record alone; a delimiter inside the notes is neutralised."""
        return self._render(trial, name, notes=neutralise(locked.text)[0], **values)

    def _render(self, trial: Trial, name: str, **values: Any) -> Message:
        criteria = list(weights_of(trial.scheme, self.params))
        return render(PROMPTS, name, task=trial.task, criteria=criteria, **values)

    def _request(self, trial: Trial, messages: tuple[Message, ...], form: str) -> Request:
        structured = self.structured and trial.probe != "free"
        sampled = trial.probe == "resample"
        return Request(
            messages,
            self.params.answer.max_tokens,
            temperature=self.params.resample_temperature if sampled else 0.0,
            schema=self._schema(trial, form) if structured else None,
            replicate=int(sampled),
            item=trial.item,
        )

    def _schema(self, trial: Trial, form: str) -> dict[str, Any]:
        caps = self.params.answer
        shown = trial.task.shown
        criteria = list(weights_of(trial.scheme, self.params))
        match form:
            case "baseline":
                return schemas.verdict_first((*shown, "tie"), caps.rationale_chars)
            case "forced":
                return schemas.verdict_first(shown, caps.rationale_chars)
            case "scot":
                return schemas.notes_then_scores(shown, criteria, caps.note_chars, caps.rationale_chars)
            case "notes":
                return schemas.evidence(shown, criteria, caps.note_chars, caps.quote_chars)
            case "score":
                return schemas.scores(shown, criteria)
            case "pointwise":
                return schemas.scores([trial.task.candidate], criteria)
            case "narrate":
                return schemas.rationale(caps.rationale_chars)
        raise ValueError(f"unknown form of answer: {form}")


def weights_of(scheme: str, params: Section) -> dict[str, float]:
    """A scheme's criteria and their weights: section 4.4's four, three without conciseness, or Table 1's.

    Without conciseness a judge is not told to punish length, which a verbosity attack adds.
    """
    if scheme == "pointwise":
        return dict.fromkeys(POINTWISE, 1.0)
    if scheme.endswith(NO_CONCISENESS):
        return {name: weight for name, weight in params.weights.items() if name != "conciseness"}
    return dict(params.weights)


def finished(answer: Response) -> bool:
    """Whether a turn ended by itself, with something said."""
    return status_before_reading(answer.text, answer.completion.finish_reason) == "ok"


def weighted_totals(
    scores: dict[str, dict[str, int]], weights: dict[str, float], names: Sequence[str] = SUMMARIES.shown
) -> tuple[float, float]:
    """Sum over criteria of weight times score, weights normalised to sum 1; in [1, 5] (paper, 4.4)."""
    whole = sum(weights.values())
    first, second = (sum(weights[c] * scores[name][c] for c in weights) / whole for name in names)
    return first, second


def result_of(totals: tuple[float, float], tie_margin: float, names: Sequence[str] = SUMMARIES.shown) -> str:
    """The ranking by totals: a tie only where they differ by no more than the margin (0: exactly equal)."""
    # Rounding keeps two equal sums of weighted integers equal in floating point.
    difference = round(totals[0] - totals[1], 9)
    if abs(difference) <= tie_margin:
        return "tie"
    return names[0] if difference > 0 else names[1]
