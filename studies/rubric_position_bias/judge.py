"""Puts the trials to one judge (stage ``judge``): ``python -m studies.rubric_position_bias.judge SLUG``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pandas as pd

from shared.errors import run_stage
from shared.frames import read, rows_of
from shared.judge.opening import takes_effort
from shared.judge.slug import slug_argument
from shared.judge.stage import ask_judge
from shared.params import Judge, load
from studies.rubric_position_bias.design import ITEMS, TRIALS
from studies.rubric_position_bias.levels import resized
from studies.rubric_position_bias.params import Section
from studies.rubric_position_bias.protocols import Criterion, Protocols, Trial

RESPONSES = Path("data/rubric_position_bias/responses")

DIFFERENT_RUBRICS = 256
"""Kept at hand in each of their sizes: an item's trials come together."""


def askable(trials: pd.DataFrame, judge: Judge) -> pd.DataFrame:
    """The trials that a judge can be asked: those with a reasoning effort only where its engine has a switch.

    What is left out is no failure of the judge, so it has no judgement either.
    """
    if takes_effort(judge):
        return trials
    return trials[trials["effort"] == ""].reset_index(drop=True)


def with_texts(trials: pd.DataFrame, items: pd.DataFrame) -> Iterator[Trial]:
    """Trials in design order, one at a time, with their items' texts and as many levels as they show."""
    texts = {row["item"]: row for row in rows_of(items)}
    for row in rows_of(trials):
        known = {**texts[row["item"]], **row}
        known["levels"] = _levels(known["levels"], row["size"]) if row["setting"] == "score" else ()
        known["criteria"] = _criteria(known["criteria"])
        yield Trial(**{name: known[name] for name in Trial._fields})


@lru_cache(DIFFERENT_RUBRICS)
def _levels(told: str, size: int) -> tuple[str, ...]:
    return tuple(resized(json.loads(told), size))


@lru_cache(DIFFERENT_RUBRICS)
def _criteria(told: str) -> tuple[Criterion, ...]:
    return tuple(Criterion(one["name"], one["question"]) for one in json.loads(told))


def left_out(slug: str, judge: Judge, count: int) -> str:
    """Why a judge was not asked some trials, in one line."""
    return (
        f"{slug}: {count} trials with a reasoning effort left out: "
        f"the engine {judge.engine} has no switch for it"
    )


def main() -> None:
    common, params = load("rubric_position_bias", Section)
    slug = slug_argument(sys.argv, common.judges)
    judge = common.judges[slug]
    designed = read(TRIALS, "design")
    trials = askable(designed, judge)
    if count := len(designed) - len(trials):
        print(left_out(slug, judge, count))
    ask_judge(
        common,
        slug,
        with_texts(trials, read(ITEMS, "data")),
        Protocols(params, judge.structured).run,
        RESPONSES / f"{slug}.parquet",
        total=len(trials),
    )


if __name__ == "__main__":
    run_stage(main)
