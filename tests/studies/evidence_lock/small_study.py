"""Two pairs put to a judge that takes what stands first, as the stages leave them: for tests only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from shared.judge.records import Completion, Request, Response, request_key
from shared.judge.stage import SCHEMA
from shared.reporting.notebooks import Asked
from studies.evidence_lock.data import ITEMS
from studies.evidence_lock.design import TRIALS, design
from studies.evidence_lock.judge import RESPONSES, own, with_texts
from studies.evidence_lock.judgements import JUDGEMENTS, judgements
from studies.evidence_lock.params import Section
from studies.evidence_lock.protocols import Protocols
from tests.shared.judge.scripted import completion

Script = Callable[[Request], str | Completion]

MARK = "0123456789ab"
FOUR = ["standard", "structured", "lock", "pointwise_lock"]
APART = ["lock_with_source", "conversation", "reread"]
PARAMS = Section.model_validate(
    {
        "judges": ["smollm2_135m"],
        "datasets": {"embedded": {"source": "embedded", "path": None, "items": None}},
        "answer": {"record_chars": 300, "max_tokens": 160},
        "encoder": "weights/none",
        "coverage": {"threshold": 0.5},
        "sets": {
            "main": {"items": 1, "schemes": [*FOUR, *APART]},
            "orders": {"items": 1, "schemes": ["lock"], "crossed": True, "wordings": [1, 2]},
            "budgets": {"items": 2, "schemes": ["lock"], "record_chars": [72]},
            "letters": {"items": 1, "schemes": ["structured", "lock"], "naming": "letters"},
        },
    }
)


def items() -> pd.DataFrame:
    """The first is the one that all schemes are asked about."""
    about = {"dataset": "embedded", "subset": "", "rater": "intended", "margin": float("nan")}
    pair = {"answer_1": "At nine, from platform two.", "answer_2": "At nine.", "n_raters": float("nan")}
    told = {"reason": "unanswered_part", "told": "Answer 2 leaves the platform out."}
    rows = [
        {"item": "embedded/train", "cluster": "embedded/1", "context": "When does it leave, and where?"},
        {"item": "embedded/boat", "cluster": "embedded/2", "context": "And the boat?"},
    ]
    return pd.DataFrame(rows).assign(**about, **pair, **told, label=["1", "tie"])


def first_shown(request: Request) -> str:
    """Whatever the schema asks for; the verdict is the answer that stands first in it."""
    asked = (request.schema or {})["properties"]
    return json.dumps({name: _written(name, form) for name, form in asked.items()})


def _written(name: str, form: dict[str, Any]) -> Any:
    if name == "verdict":
        return form["enum"][0]
    if name == "evidence":
        return {answer: f"{answer} says nine." for answer in form["properties"]}
    return f"The {name}."


def play(
    trials: pd.DataFrame,
    script: Callable[[Request], str | Completion] = first_shown,
    params: Section = PARAMS,
    texts: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """The responses of a scripted judge to trials (of `items`), as the stage ``judge`` writes them."""
    rows: list[dict[str, Any]] = []
    for trial in with_texts(trials, items() if texts is None else texts):

        async def ask(
            step: str, request: Request, lock: str | None = None, of: str = trial.trial
        ) -> Response:
            said = script(request)
            done = completion(said) if isinstance(said, str) else said
            key = request_key(MARK, request)
            spent = {name: getattr(done, name) for name in SCHEMA.names if hasattr(done, name)}
            told = {"trial": of, "step": step, "key": key, "fingerprint": MARK, "lock": lock}
            rows.append(dict.fromkeys(SCHEMA.names) | spent | told | {"logprobs": None})
            return Response(done, key, MARK, replayed=False)

        asyncio.run(Protocols(params, enforced=True).run(trial, ask))
    return pd.DataFrame(rows, columns=SCHEMA.names)


def asked(script: Script = first_shown, params: Section = PARAMS) -> Asked:
    """Trials, and what a scripted judge says to each."""
    texts = items()
    trials = own(design(texts, params, seed=1))
    responses = play(trials, script, params)
    by_item = {row["item"]: row for row in texts.to_dict("records")}
    return Asked(by_item, trials, responses, judgements(trials, responses, texts))


def write(folder: Path, judge: str = "smollm2_135m") -> None:
    """Items, trials, responses and judgements below a folder."""
    found = asked()
    for file, table in (
        (ITEMS, items()),
        (TRIALS, found.trials),
        (RESPONSES / f"{judge}.parquet", found.responses),
        (JUDGEMENTS / f"{judge}.parquet", found.judgements),
    ):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        table.to_parquet(folder / file, index=False)
