"""What the study's section of params.yaml may say."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, Field, field_validator, model_validator

from shared.judge.hygiene import neutralise
from shared.params import Count, Distinct, Hub, JudgeSlug, SetName, Strict, Text, did_you_mean, keys, mistake

Scheme = Literal[
    "baseline",
    "forced",
    "scot",
    "scot_no_conciseness",
    "pbp_once",
    "pbp_repeated",
    "pbp_grafted",
    "pbp_no_conciseness",
    "pointwise",
]
Probe = Literal[
    "blind",
    "empty",
    "resample",
    "truth",
    "flip",
    "placebo",
    "relabel_llm",
    "relabel_tradml",
    "verbosity",
    "confidence",
    "free",
]
Kind = Literal["equal", "identical", "samples", "extractive", "damage", "qa_equal", "qa_damage"]
Attack = Literal["verbosity", "confidence"]
Family = Literal["label", "placebo", "verbosity", "confidence"]

KINDS: tuple[Kind, ...] = get_args(Kind)
DAMAGED: tuple[Kind, ...] = ("damage", "qa_damage")
ATTACKS: tuple[Attack, ...] = get_args(Attack)

COLUMNS = ("id", "text", "field", "summary", "paraphrase_1", "paraphrase_2", "samples", "damage")
CANDIDATE_COLUMNS = ("id", "system", "text")
QUESTION_COLUMNS = ("id", "question", "answer_1", "answer_2", "damage")
LABELS = ("llm", "tradml", "placebo")
CRITERIA = ("accuracy", "completeness", "conciseness", "fluency")

NO_CONCISENESS = "_no_conciseness"
"""How the schemes end that leave this criterion out."""

LEAST_SCORE, GREATEST_SCORE = 1, 5
"""Of one criterion, and so of a total."""


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


class Candidates(Strict):
    """Texts of two systems about the documents, in a file of their own."""

    path: Text
    columns: Annotated[dict[str, Text], keys(CANDIDATE_COLUMNS, required=CANDIDATE_COLUMNS)]
    systems: Annotated[Distinct[Text], Field(min_length=2, max_length=2)]


class Documents(Strict):
    """Where the documents come from."""

    source: Literal["embedded", "external", "hub"]
    path: Text | None
    hub: Hub | None
    columns: Annotated[dict[str, Text], keys(COLUMNS)]
    tokens: Tokens
    candidates: Candidates | None = None
    generate: Generate

    @model_validator(mode="after")
    def _source_is_told(self) -> Self:
        if self.source == "external" and self.path is None:
            raise mistake("null, but source is external; name a folder or a .jsonl file", "path")
        if self.source == "hub" and self.hub is None:
            raise mistake("null, but source is hub; give {dataset, revision, split}", "hub")
        return self


class Questions(Strict):
    """Where the pairs of answers to one question come from."""

    source: Literal["embedded", "external"]
    path: Text | None
    columns: Annotated[dict[str, Text], keys(QUESTION_COLUMNS)]

    @model_validator(mode="after")
    def _source_is_told(self) -> Self:
        if self.source == "external" and self.path is None:
            raise mistake("null, but source is external; name a folder or a .jsonl file", "path")
        return self


class Attacks(Strict):
    """Who rewrites the attacked texts: rules, or a judge asked to write."""

    writer: JudgeSlug | None
    max_tokens: Count


class Descriptors(Strict):
    """One wording of what a rationale is compared with: the cue's side, and the other."""

    favoured: Text
    opposite: Text


class Rationales(Strict):
    """How rationales are compared."""

    encoder: Text
    thresholds: Distinct[Annotated[float, Field(gt=0, lt=1)]]
    descriptors: Annotated[
        dict[Family, Annotated[list[Descriptors], Field(min_length=2)]],
        keys(get_args(Family), required=get_args(Family)),
    ]


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
    """Which items of one kind are put on trial, under what; ``items: 0`` leaves a set out."""

    kind: Kind | None = None
    items: Annotated[int, Field(ge=0)] | None
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

    def kind_of(self, name: str) -> str:
        """The kind of its items: its own, or the set's name."""
        return self.kind or name


class Section(Strict):
    """The section ``rationalization_probes``; load it with ``shared.params.load``."""

    judges: Distinct[JudgeSlug]
    documents: Documents
    questions: Questions
    attacks: Attacks
    rationales: Rationales
    resample_temperature: Annotated[float, Field(gt=0, le=2)]
    extractive_sentences: Count
    screen_orders: Literal["one", "both"]
    labels: Labels
    weights: Weights
    tie_margin: Annotated[float, Field(ge=0, lt=GREATEST_SCORE - LEAST_SCORE)]
    answer: Answer
    sets: Annotated[dict[SetName, TrialSet], Field(min_length=1)]

    @field_validator("sets")
    @classmethod
    def _kinds_and_levels(cls, sets: dict[str, TrialSet]) -> dict[str, TrialSet]:
        for name, trial_set in sets.items():
            kind = trial_set.kind_of(name)
            if kind not in KINDS:
                near = did_you_mean(kind, KINDS)
                raise mistake(
                    f"missing, and the set's name is not the kind of its items; {near}", f"{name}.kind"
                )
            if kind in DAMAGED and trial_set.levels is None:
                raise mistake("missing; say how many errors, e.g. [1, 2, 3]", f"{name}.levels")
            if kind not in DAMAGED and trial_set.levels is not None:
                raise mistake("only damaged items have levels; remove it", f"{name}.levels")
        return sets

    @model_validator(mode="after")
    def _something_besides_conciseness(self) -> Self:
        schemes = {scheme for chosen in self.asked().values() for scheme in chosen.schemes}
        leaves_out = any(scheme.endswith(NO_CONCISENESS) for scheme in schemes)
        if leaves_out and not any(w for name, w in self.weights.items() if name != "conciseness"):
            raise mistake("only conciseness has weight, and a scheme leaves it out; weigh another", "weights")
        return self

    def asked(self) -> dict[str, TrialSet]:
        """The sets that are not left out."""
        return {name: chosen for name, chosen in self.sets.items() if chosen.items != 0}

    def kinds(self) -> list[str]:
        """The kinds of all sets that are asked, each once, in the order of the sets."""
        return list(dict.fromkeys(chosen.kind_of(name) for name, chosen in self.asked().items()))

    def levels(self, kind: str) -> list[int]:
        """The numbers of errors that the sets of a kind ask for."""
        wanted = [
            chosen.levels or [] for name, chosen in self.asked().items() if chosen.kind_of(name) == kind
        ]
        return sorted({level for levels in wanted for level in levels})
