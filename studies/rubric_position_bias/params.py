"""What the study's section of params.yaml may say."""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from shared.params import Count, Distinct, JudgeSlug, SetName, Strict, Text, check_sets, check_source, mistake
from studies.rubric_position_bias.levels import Size
from studies.rubric_position_bias.orders import Strategy

Dataset = Literal["embedded", "mt_bench", "vicuna", "hanna", "summeval", "writingprompts"]
Setting = Literal["score", "criteria"]
Scheme = Literal["base", "prose", "debias", "cot", "verify", "anchor"]
Effort = Literal["low", "medium", "high"]
Scale = Literal["12345", "54321"]

SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
EFFORTS: tuple[Effort, ...] = get_args(Effort)
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

LOW, HIGH = 1, 5
"""The range in which each of several criteria is scored."""

Items = Annotated[int, Field(ge=0)] | None
"""How many items; 0 leaves a data set or a set out, null means all."""


class DatasetParams(Strict):
    """Where one data set comes from, and how much of it is taken; ``items`` counts for each setting."""

    source: Literal["embedded", "external"]
    path: Text | None
    items: Items
    systems: Distinct[Text] | None

    @model_validator(mode="after")
    def _source_is_told(self) -> Self:
        if self.source == "external" and self.path is None:
            raise mistake("null, but source is external; name a folder below data.external_dir", "path")
        return self


class Answer(Strict):
    """Caps on what a judge writes, and how many log-probabilities come with its first token; 0: none."""

    reasoning_chars: Count
    max_tokens: Count
    top_logprobs: Annotated[int, Field(ge=0, le=20)]


class TrialSet(Strict):
    """Which items are put on trial, under what; ``items`` counts for each data set, 0 leaves the set out."""

    setting: Setting
    datasets: Distinct[Dataset] | None = None
    items: Items
    schemes: Distinct[Scheme]
    sizes: Distinct[Size] | None = None
    scales: Distinct[Scale] | None = None
    strategies: Distinct[Strategy]
    k: Count | None = None
    temperatures: Distinct[Annotated[float, Field(ge=0, le=2)]]
    efforts: Distinct[Effort] | None = None

    @model_validator(mode="after")
    def _the_settings_own_keys(self) -> Self:
        score = self.setting == "score"
        if score and self.sizes is None:
            raise mistake("missing; say how many score options are shown, e.g. [5]", "sizes")
        if score and self.scales is not None:
            raise mistake("only the setting criteria lists a range; remove it", "scales")
        if not score and self.sizes is not None:
            raise mistake("only the setting score shows options; an item's criteria tell; remove it", "sizes")
        if not score and self.scales is None:
            raise mistake('missing; say how the range is listed, e.g. ["12345"]', "scales")
        return self


class Calibration(Strict):
    """How many items fit the position prior, and over how many random splits the gain is averaged."""

    items: Count
    repeats: Count


class Budget(Strict):
    """The size of a position effect (as Cramer's V) under which a judge counts as free of it."""

    position_effect: Annotated[float, Field(gt=0, lt=1)]


class Section(Strict):
    """The section ``rubric_position_bias``; load it with ``shared.params.load``."""

    judges: Distinct[JudgeSlug]
    datasets: Annotated[dict[Dataset, DatasetParams], Field(min_length=1)]
    answer: Answer
    sets: Annotated[dict[SetName, TrialSet], Field(min_length=1)]
    calibration: Calibration
    budget: Budget

    @model_validator(mode="after")
    def _only_one_data_set_is_embedded(self) -> Self:
        for name, dataset in self.datasets.items():
            check_source(name, dataset.source)
        return self

    @model_validator(mode="after")
    def _sets_name_data_sets_that_are_loaded(self) -> Self:
        check_sets(self.sets, self.datasets)
        return self

    @model_validator(mode="after")
    def _every_option_has_its_log_probability(self) -> Self:
        largest = max(self.sizes(), default=0)
        if 0 < self.answer.top_logprobs < largest:
            told = f"must be 0 (off) or at least {largest}, the largest size of a set"
            raise mistake(f"{told}; an option that is not listed seems impossible", "answer.top_logprobs")
        return self

    def sizes(self) -> list[int]:
        """The rubric sizes that any set asks for, ascending."""
        asked = [chosen.sizes or [] for chosen in self.sets.values() if chosen.items != 0]
        return sorted({size for sizes in asked for size in sizes})
