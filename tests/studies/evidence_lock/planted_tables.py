"""Tables of planted judges, as the stage ``tables`` makes those that figures draw: for tests only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference
from shared.reporting.results import Study
from studies.evidence_lock.agreement import agreement_rows
from studies.evidence_lock.budgets import budget_rows
from studies.evidence_lock.bundle import bundle_rows
from studies.evidence_lock.cost import cost_rows
from studies.evidence_lock.differences import difference_rows
from studies.evidence_lock.lost import lost_rows
from studies.evidence_lock.orders import order_rows
from studies.evidence_lock.pairs import pairs
from studies.evidence_lock.params import SCHEMES
from studies.evidence_lock.results import finisher, gates_of, verdicts
from tests.studies.evidence_lock.planted import planted, planted_items

QUICK = Inference(resamples=60, permutations=59)

OWN = [scheme for scheme in SCHEMES if scheme != "other_record"]

AGREE = {"lock": 0.7, "pointwise_lock": 0.65, "standard": 0.75, "lock_with_source": 0.8, "other_record": 0.65}
FLIP = {"lock": 0.1, "pointwise_lock": 0.15}
THROUGH = {"lock": 0.2, "other_record": 0.2, "lock_with_source": 0.1}
"""Of the sound judge, by scheme; any other scheme agrees with `USUAL` and changes with no order."""

USUAL = 0.85

ARMS: Sequence[dict[str, Any]] = (
    {"schemes": OWN},
    {"schemes": ["lock"], "crossed": True, "wordings": (1, 2)},
    {"schemes": ["lock"], "crossed": True, "temperatures": (0.7,), "replicates": 2},
    {"schemes": ["lock"], "record_chars": (72,)},
    {"schemes": ["structured", "lock"], "naming": "letters"},
)

FACTS = ("It leaves at nine.", "The platform is two.", "The ticket costs four.", "A seat is kept.")


def items(pairs: int, datasets: Sequence[str]) -> pd.DataFrame:
    """Pairs of two answers of two sentences; people call one in six a tie."""
    texts = {"context": "When?", "answer_1": " ".join(FACTS[:2]), "answer_2": " ".join(FACTS[2:])}
    found = [planted_items(pairs, dataset=dataset, tied=pairs // 6) for dataset in datasets]
    return pd.concat(found, ignore_index=True).assign(**texts, reason="", told="", n_raters=np.nan)


def judgements(pairs: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    """Every arm of the study; a judge called ``failing`` agrees with people half of the time."""
    rng = np.random.default_rng(5)
    told = pairs.drop(columns=["context", "answer_1", "answer_2", "reason", "told", "n_raters"])
    return pd.concat([_of_judge(told, judge, judges, rng) for judge in judges], ignore_index=True)


def _of_judge(
    pairs: pd.DataFrame, judge: str, judges: Sequence[str], rng: np.random.Generator
) -> pd.DataFrame:
    kinds: dict[str, Any] = {"judge": judge, "noise": 0.1, "unparsed": 0.03, "ties": 0.9}
    sound = {scheme: AGREE.get(scheme, USUAL) for scheme in SCHEMES}
    kinds["agree"] = 0.5 if judge == "failing" else sound
    kinds["flip"] = {scheme: FLIP.get(scheme, 0.0) for scheme in SCHEMES}
    kinds["through"] = {scheme: THROUGH.get(scheme, 0.0) for scheme in SCHEMES}
    arms = [*ARMS, *({"schemes": ["other_record"], "writer": writer} for writer in judges if writer != judge)]
    frame = pd.concat([planted(pairs, rng, **kinds, **arm) for arm in arms]).drop_duplicates("trial")
    return frame.assign(**{name: rng.choice(FACTS, len(frame)) for name in ("evidence_1", "evidence_2")})


def tables(
    number: int, datasets: Sequence[str], judges: Sequence[str], inference: Inference = QUICK
) -> dict[str, pd.DataFrame]:
    """The tables that figures draw, of so many pairs a data set; ``agreement`` tells tokens too."""
    texts = items(number, datasets)
    study = Study(judgements(texts, judges), inference, 1, "smoke")
    finish = finisher(study, verdicts(gates_of(study)))
    return {name: finish(name, rows) for name, rows in _rows(study, texts).items()}


def _rows(study: Study, texts: pd.DataFrame) -> dict[str, pd.DataFrame]:
    judged, rng, inference = study.judgements, study.rng("planted"), study.inference
    vectors = dict(zip((*FACTS, "Both answers were read."), np.eye(5), strict=True))
    both = pairs(judged)
    cost = cost_rows(both, rng, inference)
    agreement = agreement_rows(both, rng, inference)
    tokens = cost[cost["quantity"] == "tokens"]
    return {
        "agreement": pd.concat([agreement[agreement["quantity"] != "tokens"], tokens], ignore_index=True),
        "differences": difference_rows(both, rng, inference),
        "bundle": bundle_rows(both, rng, inference),
        "orders": order_rows(judged, rng, inference),
        "budgets": budget_rows(both, judged, rng, inference),
        "lost": lost_rows(judged, texts, vectors, 0.5, rng, inference),
    }


SEVEN = ("gpt_oss_20b", "gpt_oss_120b", "qwen35_9b", "qwen35_27b_instruct", "gemma_3_12b", "other", "last")

DATASETS = ("embedded", "all")


@cache
def two_judges() -> dict[str, pd.DataFrame]:
    """Tables of two judges on one data set, of whom the second fails the gate."""
    return tables(18, ("embedded",), ("sound", "failing"))


@cache
def few() -> dict[str, pd.DataFrame]:
    """Tables of one judge on six pairs, without the scheme that needs another judge."""
    return tables(6, ("embedded",), ("sound",))


@cache
def many() -> dict[str, pd.DataFrame]:
    """The sound judge's tables under seven names, and on several data sets."""
    return {name: _renamed(rows[rows["judge"] == "sound"]) for name, rows in two_judges().items()}


def _renamed(rows: pd.DataFrame) -> pd.DataFrame:
    named = [rows.assign(judge=judge, dataset=dataset) for judge in SEVEN for dataset in DATASETS]
    return pd.concat(named, ignore_index=True)
