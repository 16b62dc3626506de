"""Tables of planted judges, as the stage ``tables`` makes them, for figures and pages: for tests only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference
from shared.reporting.results import Study
from studies.rubric_position_bias.params import Budget, Calibration
from studies.rubric_position_bias.tables import all_tables
from tests.shared.reporting.drawn import SEVEN
from tests.studies.rubric_position_bias.planted import planted, planted_criteria, planted_items

QUICK = Inference(resamples=100, permutations=99)

STRENGTHS = (0.7, -0.4, 0.1, 0.25, -0.15, 0.0, 1.2)
"""Of the judges' preference for later places, in log-odds from the middle place to the last."""

ARMS = {"prose": 1.2, "debias": 1.0, "cot": 0.9, "verify": 0.9, "anchor": 0.6}
"""What each prompt makes of that preference."""

CRITERIA = ("coherence", "consistency", "fluency", "relevance")
WITH_CRITERIA = ("embedded", "hanna", "summeval")


def judgements(
    judges: Sequence[str] = ("sound", "failing"),
    datasets: Sequence[str] = ("embedded", "mt_bench"),
    prompts: int = 16,
    efforts: Sequence[str] = (),
) -> pd.DataFrame:
    """Every arm of the study; a judge called ``failing`` does not read what it scores."""
    rng = np.random.default_rng(7)
    frames = []
    for dataset in datasets:
        items = planted_items(2 * prompts, rng, clusters=prompts, dataset=dataset)
        for judge, strength in zip(judges, STRENGTHS, strict=False):
            sharpness = 0.0 if judge == "failing" else 1.6
            frames += _score_arms(items, judge, strength, sharpness, efforts, rng)
            if dataset in WITH_CRITERIA:
                frames.append(_criteria_arm(items, judge, strength, rng))
    return pd.concat(frames, ignore_index=True)


def _score_arms(
    items: pd.DataFrame,
    judge: str,
    strength: float,
    sharpness: float,
    efforts: Sequence[str],
    rng: np.random.Generator,
) -> list[pd.DataFrame]:
    def asked(size: int, strategy: str | Sequence[str], times: float = 1.0, **names: Any) -> pd.DataFrame:
        alpha = times * strength * np.linspace(-1, 1, size)
        known = {"judge": judge, "probabilities": True, "unparsed": 0.02, **names}
        return planted(items, size, strategy, alpha, 0, sharpness * (5 / size) ** 1.5, rng, **known)

    return [
        asked(5, ("balanced", "random", "fixed")),
        *(asked(size, ("balanced", "fixed")) for size in (2, 3, 9)),
        *(asked(5, "balanced", times, scheme=arm) for arm, times in ARMS.items()),
        *(asked(5, "balanced", temperature=heat) for heat in (0.3, 0.6, 1.0)),
        *(asked(5, "balanced", effort=effort) for effort in efforts),
    ]


def _criteria_arm(items: pd.DataFrame, judge: str, strength: float, rng: np.random.Generator) -> pd.DataFrame:
    alpha = 0.5 * strength * np.linspace(-1, 1, len(CRITERIA))
    strategies = ("balanced", "random", "fixed")
    return planted_criteria(items, CRITERIA, alpha, rng, strategy=strategies, judge=judge)


def tables(rows: pd.DataFrame, inference: Inference = QUICK) -> dict[str, pd.DataFrame]:
    """Every table of these judgements."""
    params: Any = SimpleNamespace(
        calibration=Calibration(items=4, repeats=5), budget=Budget(position_effect=0.05)
    )
    return dict(all_tables(Study(rows, inference, 1, "smoke"), params))


@cache
def two_judges() -> dict[str, pd.DataFrame]:
    """Tables of two judges on two data sets, of whom the second fails the gate where options are shown."""
    return tables(judgements(prompts=14))


@cache
def few() -> dict[str, pd.DataFrame]:
    """Tables of one judge with too few sources, with reasoning efforts."""
    return tables(judgements(("sound",), ("embedded",), prompts=6, efforts=("low", "high")))


@cache
def many() -> dict[str, pd.DataFrame]:
    """One judge's tables under seven names."""
    return {name: _renamed(rows) for name, rows in two_judges().items()}


def _renamed(rows: pd.DataFrame) -> pd.DataFrame:
    sound = rows[rows["judge"] == "sound"]
    pooled = rows[rows["judge"].isin(["", "all"])]
    return pd.concat([*(sound.assign(judge=judge) for judge in SEVEN), pooled], ignore_index=True)
