"""Tables of planted judges, as the stage ``tables`` makes those that figures draw: for tests only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference
from shared.reporting.results import Study
from studies.evidence_lock.agreement import NAMINGS, agreement_rows
from studies.evidence_lock.budgets import budget_rows
from studies.evidence_lock.bundle import bundle_rows
from studies.evidence_lock.cost import cost_rows
from studies.evidence_lock.differences import difference_rows
from studies.evidence_lock.lost import lost_rows
from studies.evidence_lock.orders import order_rows
from studies.evidence_lock.pairs import pairs
from studies.evidence_lock.params import SCHEMES
from studies.evidence_lock.results import finisher
from tests.shared.reporting.drawn import SEVEN
from tests.studies.evidence_lock.planted import ARMS, planted, planted_items

QUICK = Inference(resamples=60, permutations=59)

AGREE = {"lock": 0.7, "pointwise_lock": 0.65, "standard": 0.75, "lock_with_source": 0.8, "other_record": 0.65}
FLIP = {"lock": 0.1, "pointwise_lock": 0.15}
THROUGH = {"lock": 0.2, "other_record": 0.2, "lock_with_source": 0.1}
"""By scheme; any other scheme agrees with `USUAL` and changes with no order."""

USUAL = 0.85

FACTS = ("It leaves at nine.", "The platform is two.", "The ticket costs four.", "A seat is kept.")


def items(pairs: int) -> pd.DataFrame:
    """Pairs of two answers of two sentences; people call one in six a tie."""
    texts = {"context": "When?", "answer_1": " ".join(FACTS[:2]), "answer_2": " ".join(FACTS[2:])}
    found = planted_items(pairs, dataset="embedded", tied=pairs // 6)
    return found.assign(**texts, reason="", told="", n_raters=np.nan)


def judgements(pairs: pd.DataFrame, writers: Sequence[str]) -> pd.DataFrame:
    """Every arm of the study, of the judge ``sound``; ``writers`` wrote the records that are not its own."""
    rng = np.random.default_rng(5)
    told = pairs.drop(columns=["context", "answer_1", "answer_2", "reason", "told", "n_raters"])
    kinds: dict[str, Any] = {"judge": "sound", "noise": 0.1, "unparsed": 0.03, "ties": 0.9}
    kinds["agree"] = {scheme: AGREE.get(scheme, USUAL) for scheme in SCHEMES}
    kinds["flip"] = {scheme: FLIP.get(scheme, 0.0) for scheme in SCHEMES}
    kinds["through"] = {scheme: THROUGH.get(scheme, 0.0) for scheme in SCHEMES}
    arms = [*ARMS, *({"schemes": ["other_record"], "writer": writer} for writer in writers)]
    frame = pd.concat([planted(told, rng, **kinds, **arm) for arm in arms]).drop_duplicates("trial")
    return frame.assign(**{name: rng.choice(FACTS, len(frame)) for name in ("evidence_1", "evidence_2")})


def tables(
    number: int, gate: str, writers: Sequence[str] = (), inference: Inference = QUICK
) -> dict[str, pd.DataFrame]:
    """The tables that figures draw, of so many pairs; ``agreement`` tells tokens too, all have one gate."""
    texts = items(number)
    study = Study(judgements(texts, writers), inference, 1, "smoke")
    gates = {("sound", "embedded", scheme, naming): gate for scheme in SCHEMES for naming in NAMINGS}
    finish = finisher(study, gates)
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


DATASETS = ("embedded", "all")


SHIFT = 0.013
"""By how much all values of the second judge differ from the first's."""


@cache
def two_judges() -> dict[str, pd.DataFrame]:
    """Tables of two judges on one data set, of whom the second fails the gate."""
    return {name: pd.concat([rows, _second(rows)], ignore_index=True) for name, rows in _sound().items()}


@cache
def _sound() -> dict[str, pd.DataFrame]:
    return tables(18, "passed", ("failing",))


def _second(rows: pd.DataFrame) -> pd.DataFrame:
    shifted = {name: rows[name] + SHIFT for name in ("value", "ci_low", "ci_high")}
    named = {"judge": "failing", "gate": "failed", "note": "instrument check"}
    return rows.assign(**shifted, **named, writer=rows["writer"].replace("failing", "sound"))


@cache
def few() -> dict[str, pd.DataFrame]:
    """Tables of one judge on six pairs, without the scheme that needs another judge."""
    return tables(6, "too few to tell")


@cache
def many() -> dict[str, pd.DataFrame]:
    """The sound judge's tables under seven names, and on two data sets."""
    return {name: _renamed(rows) for name, rows in _sound().items()}


def _renamed(rows: pd.DataFrame) -> pd.DataFrame:
    named = [rows.assign(judge=judge, dataset=dataset) for judge in SEVEN for dataset in DATASETS]
    return pd.concat(named, ignore_index=True)
