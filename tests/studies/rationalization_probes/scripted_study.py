"""A study of scripted judgements, with all that its tables are made from: for tests only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from shared.draws import number
from shared.metrics.resampling import Inference
from studies.rationalization_probes.attacks import Rewritten, table
from studies.rationalization_probes.embedding import texts_to_embed
from studies.rationalization_probes.results import Study, finisher, gate_checks, with_writers
from studies.rationalization_probes.tables import Inputs
from tests.studies.rationalization_probes.scripted_judgements import items_of
from tests.studies.rationalization_probes.support import params

QUICK = Inference(resamples=100, permutations=100, few_clusters=12)

TRIAL = (
    "trial", "item", "cluster", "kind", "level", "scheme", "probe", "reveal", "screen_order", "carrier",
    "favoured", "replicate",
)  # fmt: skip


def study_of(rows: object, judge: str = "smollm2_135m", inference: Inference = QUICK) -> Study:
    """One judge's judgements; each text has a vector drawn from itself."""
    frame = pd.DataFrame(rows).assign(judge=judge)
    vectors = {text: vector(text) for text in texts_to_embed([frame], params().rationales)}
    return Study(with_writers(frame, items_of(frame)), inference, 1, "smoke", vectors)


def finished(study: Study, rows: pd.DataFrame, *own: str) -> pd.DataFrame:
    """Rows with all that every table says besides."""
    return finisher(study, gate_checks(study))(rows, *own)


def cell(table: pd.DataFrame, quantity: str, **names: object) -> pd.Series:
    """The one row of that name."""
    rows = table[table["quantity"] == quantity]
    for name, value in names.items():
        rows = rows[rows[name] == value]
    assert len(rows) == 1, f"{len(rows)} rows of {quantity} with {names}"
    return rows.iloc[0]


def vector(text: str) -> np.ndarray:
    return np.random.default_rng(number("vector", text)).normal(size=4)


def inputs_of(study: Study) -> Inputs:
    """Trials and calls that give these judgements, two attacked texts, and two labelled rationales."""
    first = study.judgements[study.judgements["stage"] == "first"]
    trials = first[list(TRIAL)].drop_duplicates("trial", ignore_index=True)
    return Inputs(params(), attacked_texts(), trials, calls_of(study.judgements), labelled())


def calls_of(judgements: pd.DataFrame) -> pd.DataFrame:
    """As the stage ``judge`` writes them, each answer of 2 tokens after a prompt of 10, 4 of them cached."""
    asked = judgements.drop_duplicates(["judge", "trial", "stage"])
    rows = [
        {"judge": row.judge, "trial": row.trial, "step": step, "key": f"{row.trial}|{step}", "error": None}
        for row in asked.itertuples()
        for step in (steps_of(row.scheme) if row.stage == "first" else [row.stage])
    ]
    counted = {"prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 2, "seconds": 0.5}
    return pd.DataFrame(rows).assign(**counted)


def steps_of(scheme: str) -> Sequence[str]:
    if scheme == "pointwise":
        return ["score_1", "score_2"]
    return ["notes", "score", "narrate"] if scheme.startswith("pbp") else ["judge"]


def attacked_texts() -> pd.DataFrame:
    """One text twice as long as it was, of which a second one lost a number."""
    return table([attacked_text(0, True), attacked_text(1, False)])


def attacked_text(document: int, kept: bool) -> Rewritten:
    told: Mapping[str, str] = {"fingerprint": "", "key": ""}
    return Rewritten(
        item=f"doc-{document:02d}:equal",
        cluster=f"doc-{document:02d}",
        kind="equal",
        probe="verbosity",
        carrier=2,
        text="Longer.",
        writer="rules",
        status="ok" if kept else "facts lost",
        numbers_survive=kept,
        names_survive=True,
        words_before=10,
        words_after=20,
        **told,
    )


def labelled() -> pd.DataFrame:
    return pd.DataFrame(
        [
            ("summary_1 is better because it keeps the facts.", "first", False, "hand-made"),
            ("summary_2 is better because it was written by LLM.", "second", True, "hand-made"),
        ],
        columns=["rationale", "states", "stereotype", "origin"],
    )
