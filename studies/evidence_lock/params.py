"""What the study's section of params.yaml may say."""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from shared.params import (
    Count,
    Distinct,
    Hub,
    JudgeSlug,
    SetName,
    Strict,
    Text,
    check_sets,
    check_source,
    mistake,
)

Dataset = Literal["embedded", "feedbackqa", "lfqa", "llmbar", "llmbar_processed", "helpsteer3", "coval"]
Scheme = Literal[
    "standard", "structured", "lock", "pointwise_lock",
    "frozen_evidence", "lock_with_source", "conversation", "reread", "other_record",
]  # fmt: skip
Naming = Literal["neutral", "letters"]
Wording = Literal[1, 2]
Fault = Literal["empty_answer", "identical_answers", "repeated", "contradicted"]

SCHEMES: tuple[Scheme, ...] = get_args(Scheme)

WITH_HUB: tuple[Dataset, ...] = ("helpsteer3", "coval")
"""Data sets that a hub has in the layout that is read here."""

CROSSABLE: tuple[Scheme, ...] = ("lock", "lock_with_source", "other_record")
"""Schemes whose record is frozen, so that its parts can be shown in another order than they were written."""

ORDERS = ("12", "21")
"""Of the candidates: as the data set has them, and exchanged."""

WITHOUT_RECORD: tuple[Scheme, ...] = ("standard", "reread")
"""Schemes whose verdict rests on nothing that was written before."""

TEXTS_OF_RECORD = 3
"""The criteria, and the evidence about each of two answers."""

LEAST_CHARS = 8
"""Of each text of a record."""


def chars_of_text(record_chars: int) -> int:
    """Characters that each text of a record may have, so that a whole record has ``record_chars``.

    Of two assessments too: what is written about an answer is as long, and the criteria come twice.
    """
    return record_chars // TEXTS_OF_RECORD


class DatasetParams(Strict):
    """Where one data set comes from, and how much of it is taken; ``leave_out`` names faults of its rows."""

    source: Literal["embedded", "external", "hub"]
    path: Text | None
    hub: Hub | None = None
    items: Annotated[int, Field(ge=0)] | None
    leave_out: Distinct[Fault] | None = None

    @model_validator(mode="after")
    def _source_is_told(self) -> Self:
        if self.source == "external" and self.path is None:
            raise mistake("null, but source is external; name a place below data.external_dir", "path")
        if self.source == "hub" and self.hub is None:
            raise mistake("null, but source is hub; write {dataset, revision, split}", "hub")
        return self


class Answer(Strict):
    """Caps on what a judge writes: characters of a whole record, tokens of an answer."""

    record_chars: Annotated[int, Field(ge=TEXTS_OF_RECORD * LEAST_CHARS)]
    max_tokens: Count


class Coverage(Strict):
    """The cosine below which a sentence of an answer counts as missing in the record."""

    threshold: Annotated[float, Field(gt=-1, lt=1)]


class TrialSet(Strict):
    """Which items are put on trial, under what; ``items`` counts for each data set, 0 leaves the set out."""

    datasets: Distinct[Dataset] | None = None
    items: Annotated[int, Field(ge=0)] | None
    schemes: Distinct[Scheme]
    crossed: bool = False
    record_chars: Distinct[Annotated[int, Field(ge=TEXTS_OF_RECORD * LEAST_CHARS)]] | None = None
    wordings: Distinct[Wording] = Field(default=[1])
    naming: Naming = "neutral"
    temperatures: Distinct[Annotated[float, Field(ge=0, le=2)]] = Field(default=[0.0])
    replicates: Count = 1

    @model_validator(mode="after")
    def _can_be_crossed(self) -> Self:
        if not self.crossed:
            return self
        for index, scheme in enumerate(self.schemes):
            if scheme not in CROSSABLE:
                told = f"{scheme} has no record to show in another order; cross only {', '.join(CROSSABLE)}"
                raise mistake(told, f"schemes.{index}")
        if self.naming == "letters":
            raise mistake("letters name answers by their order, which is crossed; use neutral", "naming")
        return self

    @model_validator(mode="after")
    def _caps_have_a_record(self) -> Self:
        if self.record_chars is not None and set(self.schemes) <= set(WITHOUT_RECORD):
            raise mistake(f"{' and '.join(self.schemes)} rest on no record; remove it", "record_chars")
        return self

    @model_validator(mode="after")
    def _replicates_differ(self) -> Self:
        if self.replicates > 1 and 0 in self.temperatures:
            told = "at temperature 0 a replicate is the same answer; use 1, or a temperature above 0"
            raise mistake(told, "replicates")
        return self


class Section(Strict):
    """The section ``evidence_lock``; load it with ``shared.params.load``."""

    judges: Distinct[JudgeSlug]
    datasets: Annotated[dict[Dataset, DatasetParams], Field(min_length=1)]
    answer: Answer
    encoder: Text
    coverage: Coverage
    sets: Annotated[dict[SetName, TrialSet], Field(min_length=1)]

    @model_validator(mode="after")
    def _sources_fit_the_data_sets(self) -> Self:
        for name, dataset in self.datasets.items():
            check_source(name, dataset.source)
            if dataset.source == "hub" and name not in WITH_HUB:
                told = f"hub, but only {', '.join(WITH_HUB)} can be read from one; use external"
                raise mistake(told, f"datasets.{name}.source")
        return self

    @model_validator(mode="after")
    def _no_record_is_longer_than_the_main_one(self) -> Self:
        longest = self.answer.record_chars
        for name, chosen in self.sets.items():
            for index, chars in enumerate(chosen.record_chars or []):
                if chars > longest:
                    told = f"{chars}, above answer.record_chars ({longest}), at which schemes are compared"
                    raise mistake(f"{told}; raise that, or lower this", f"sets.{name}.record_chars.{index}")
        return self

    @model_validator(mode="after")
    def _sets_name_data_sets_that_are_loaded(self) -> Self:
        check_sets(self.sets, self.datasets)
        return self
