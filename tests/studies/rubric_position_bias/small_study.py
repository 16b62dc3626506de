"""Two embedded texts put to a judge that takes what stands first, as the stages leave it: for tests only."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd

from shared.judge.records import Completion, Request
from studies.rubric_position_bias.data import ITEMS
from studies.rubric_position_bias.data import items as made
from studies.rubric_position_bias.design import TRIALS, design
from studies.rubric_position_bias.judge import RESPONSES, with_texts
from studies.rubric_position_bias.judgements import JUDGEMENTS, judgements
from studies.rubric_position_bias.params import Section
from tests.shared.judge.scripted import completion
from tests.studies.rubric_position_bias.asking import STRUCTURED, play

ROOT = Path(__file__).parents[3]

ASKED = {"items": 2, "schemes": ["base"], "strategies": ["balanced", "fixed"], "temperatures": [0]}
PARAMS = Section.model_validate(
    {
        "judges": ["smollm2_135m"],
        "datasets": {"embedded": {"source": "embedded", "path": None, "items": None, "systems": None}},
        "answer": {"reasoning_chars": 96, "max_tokens": 160, "top_logprobs": 20},
        "sets": {
            "main": {"setting": "score", "sizes": [5], **ASKED},
            "criteria": {"setting": "criteria", "scales": ["12345"], **ASKED},
        },
        "calibration": {"items": 1, "repeats": 2},
        "budget": {"position_effect": 0.05},
    }
)


def write(folder: Path, judge: str = "smollm2_135m") -> None:
    """Items, trials, responses and judgements below a folder."""
    items = made(PARAMS, Path(), ROOT, seed=1)
    trials = design(items, PARAMS, seed=1)
    responses = play(STRUCTURED, with_texts(trials, items), first_shown).assign(error=None)
    _write(folder / ITEMS, items)
    _write(folder / TRIALS, trials)
    _write(folder / RESPONSES / f"{judge}.parquet", responses)
    _write(folder / JUDGEMENTS / f"{judge}.parquet", judgements(trials, responses, items))


def first_shown(request: Request) -> Completion:
    """The first option, at 0.9 of the probability; of several criteria the middle of the range for each."""
    asked = request.messages[-1].content
    options = re.findall(r"^Score (\d):", asked, re.MULTILINE)
    if not options:
        names = re.findall(r"^(\w+): ", asked.split("The criteria:")[1], re.MULTILINE)
        return completion(json.dumps(dict.fromkeys(names, 3)))
    top = {option: math.log(0.9 if option == options[0] else 0.1 / 4) for option in options}
    first = {"token": options[0], "logprob": top[options[0]], "top": top}
    return replace(completion(options[0]), logprobs=[first])


def _write(file: Path, table: pd.DataFrame) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(file, index=False)
