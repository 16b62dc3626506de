"""What the study's section of params.yaml may say."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from shared.judge.hygiene import neutralise
from shared.params import Count, Distinct, JudgeSlug, Strict, Text, keys, mistake

Scheme = Literal["baseline", "forced", "scot", "pbp_once", "pbp_repeated"]
Probe = Literal["blind", "empty", "truth", "flip", "placebo"]
SetName = Literal["equal", "identical", "samples", "extractive", "damage"]

COLUMNS = ("id", "text", "field", "summary", "paraphrase_1", "paraphrase_2", "samples", "damage")
LABELS = ("llm", "tradml", "placebo")
CRITERIA = ("accuracy", "completeness", "conciseness", "fluency")

LEAST_SCORE, GREATEST_SCORE = 1, 5
"""Of one criterion, and so of a total."""


class Hub(Strict):
    """A data set on a hub, pinned: a branch's name would change under the study."""

    dataset: Text
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    split: Text


class Tokens(Strict):
    """The range of a document's length."""

    min: Count
    max: Count

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min >= self.max:
            raise mistake(f"must be below max ({self.max}), not {self.min}", "min")
        return self


class Generate(Strict):
    """Who writes what the documents lack."""

    judge: JudgeSlug | None
    samples: Annotated[int, Field(ge=0)]
    max_tokens: Count


class Documents(Strict):
    """Where the documents come from."""

    source: Literal["embedded", "external", "hub"]
    path: Text | None
    hub: Hub | None
    columns: Annotated[dict[str, Text], keys(COLUMNS)]
    tokens: Tokens
    generate: Generate

    @model_validator(mode="after")
    def _source_is_told(self) -> Self:
        if self.source == "external" and self.path is None:
            raise mistake("null, but source is external; name a folder or a .jsonl file", "path")
        if self.source == "hub" and self.hub is None:
            raise mistake("null, but source is hub; give {dataset, revision, split}", "hub")
        return self


def _label(text: str) -> str:
    """A label stands in a line of the prompt as it is, so nothing in it may be changed or end the line."""
    if not text or " ".join(text.split()) != text:
        raise mistake("should be words in one line, with single spaces between them and none around")
    if neutralise(text) != (text, 0):
        raise mistake("looks like a control token or a delimiter, or hides a character; use plain words")
    return text


def _labels_differ(labels: dict[str, str]) -> dict[str, str]:
    words = {name: label.casefold() for name, label in labels.items()}
    if words["llm"] == words["tradml"]:
        raise mistake("is the same as llm; a flip would change nothing", "tradml")
    if words["placebo"] in (words["llm"], words["tradml"]):
        raise mistake("is the same as another label; the badge must say something else", "placebo")
    return labels


def _some_weight(weights: dict[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    if not total > 0:
        raise mistake("all weights are 0; give at least one criterion a positive weight")
    if not math.isfinite(GREATEST_SCORE * total):  # the greatest total before it is divided by the weights
        raise mistake("the weights are too large to be summed; only their proportions matter")
    return weights


Label = Annotated[str, AfterValidator(_label)]
Labels = Annotated[dict[str, Label], keys(LABELS, required=LABELS), AfterValidator(_labels_differ)]
"""The cues' words, as a judge reads them."""

Weight = Annotated[float, Field(ge=0)]
Weights = Annotated[dict[str, Weight], keys(CRITERIA, required=CRITERIA), AfterValidator(_some_weight)]
"""How much each criterion counts in a total."""


class Answer(Strict):
    """Caps on what a judge writes."""

    rationale_chars: Count
    note_chars: Count
    quote_chars: Count
    max_tokens: Count


class TrialSet(Strict):
    """Which items of one kind are put on trial, under what."""

    items: Count | None
    levels: Distinct[Annotated[int, Field(ge=1, le=3)]] | None = None
    schemes: Distinct[Scheme]
    probes: Distinct[Probe]
    reveal: bool

    @model_validator(mode="after")
    def _probes_suffice(self) -> Self:
        if "blind" not in self.probes:
            raise mistake("blind is missing; every cue's effect is measured against it", "probes")
        if self.reveal and "flip" not in self.probes:
            raise mistake(
                "needs flip in probes: the reveal follows a flipped label; add it or set false", "reveal"
            )
        return self


class Section(Strict):
    """The section ``rationalization_probes``; load it with ``shared.params.load``."""

    judges: Distinct[JudgeSlug]
    documents: Documents
    extractive_sentences: Count
    screen_orders: Literal["one", "both"]
    labels: Labels
    weights: Weights
    tie_margin: Annotated[float, Field(ge=0, lt=GREATEST_SCORE - LEAST_SCORE)]
    answer: Answer
    sets: Annotated[dict[SetName, TrialSet], Field(min_length=1)]

    @field_validator("sets")
    @classmethod
    def _levels_of_damage(cls, sets: dict[SetName, TrialSet]) -> dict[SetName, TrialSet]:
        for name, trial_set in sets.items():
            if name == "damage" and trial_set.levels is None:
                raise mistake("missing; say how many errors, e.g. [1, 2, 3]", f"{name}.levels")
            if name != "damage" and trial_set.levels is not None:
                raise mistake("only damaged items have levels; remove it", f"{name}.levels")
        return sets
