"""Scripted judges with a planted bias, through design, protocols, client, parser and metrics."""

import json
import re
from contextlib import asynccontextmanager

import numpy as np
import pandas as pd
import pytest

from shared.draws import draw
from shared.judge import stage
from shared.judge.client import Client
from shared.judge.records import Request
from shared.judge.store import Store
from shared.metrics.resampling import Inference
from studies.rationalization_probes.design import design
from studies.rationalization_probes.judge import with_texts
from studies.rationalization_probes.judgements import judgements
from studies.rationalization_probes.metrics import cue_effects
from studies.rationalization_probes.params import TrialSet
from studies.rationalization_probes.protocols import Protocols
from tests.shared.judge.scripted import ScriptedEngine
from tests.studies.rationalization_probes.support import items, params

N = 240
INFERENCE = Inference(resamples=500, permutations=1000)
CUES = (
    r"summary_(\d) was written by LLM",
    r"summary_(\d) carries the badge",
)
MANY = items(
    *[
        {
            "item": f"doc{i}:equal",
            "cluster": f"doc{i}",
            "kind": "equal",
            "level": 0,
            "source": f"Document {i}.",
            "candidate_1": f"Text A of {i}.",
            "candidate_2": f"Text B of {i}.",
        }
        for i in range(N)
    ]
)


def follower(share: float):
    """Picks the cued candidate in ``share`` of the documents; else one of A, B, tie, whatever the cue."""

    def answer(request: Request) -> str:
        prompt = request.messages[-1].content
        document = re.search(r"Document (\d+)", prompt)[1]
        cued = next((m[1] for cue in CUES if (m := re.search(cue, prompt))), None)
        if cued and draw(range(1000), "follows", document) < 1000 * share:
            return verdict(f"summary_{cued}")
        wanted = draw(["Text A", "Text B", "tie"], "prefers", document)
        if wanted == "tie":
            return verdict("tie")
        shown = re.search(rf"<summary_(\d)>\n{wanted}", prompt)[1]
        return verdict(f"summary_{shown}")

    return answer


def always_first(request: Request) -> str:
    return verdict("summary_1")


def verdict(said: str) -> str:
    return json.dumps({"verdict": said, "rationale": "Because."})


@pytest.fixture
def effects(tmp_path, monkeypatch):
    """Cue effects, by probe, that the whole chain finds in a scripted judge."""

    def run(script, screen_orders="one") -> pd.DataFrame:
        @asynccontextmanager
        async def opened(common, slug):
            yield Client(ScriptedEngine(script), Store(tmp_path / "s.sqlite"))

        monkeypatch.setattr(stage, "open_client", opened)
        probes = ["blind", "truth", "flip", "placebo"]
        equal = TrialSet(items=None, schemes=["baseline"], probes=probes, reveal=False)
        section = params(sets={"equal": equal}, screen_orders=screen_orders)
        trials = design(MANY, section, seed=1)
        out = tmp_path / "judge.parquet"
        stage.ask_judge(None, "judge", with_texts(trials, MANY), Protocols(section, True).run, out)
        read = judgements(trials, pd.read_parquet(out), MANY.set_index("item")["source"], section)
        assert set(read["status"]) == {"ok"}
        found = cue_effects(read.assign(judge="judge"), np.random.default_rng(1), INFERENCE)
        return found[found["quantity"] == "cue_effect"].set_index("condition")

    return run


@pytest.mark.parametrize("screen_orders", ["one", "both"])
def test_a_judge_that_follows_cues_in_three_of_ten_documents_is_found_to(effects, screen_orders):
    found = effects(follower(0.3), screen_orders)
    # Among followers (3 of 10), the cued candidate is picked always under the cue, and one time in three
    # under Blind: 0.3 * (1 - 1/3) = 0.2
    assert set(found.index) == {"truth", "flip", "placebo"}
    assert (found["ci_low"].le(0.2) & found["ci_high"].ge(0.2)).all()
    assert found["value"].between(0.12, 0.28).all()
    assert found["p"].lt(0.01).all()


@pytest.mark.parametrize("judge", [follower(0.0), always_first])
def test_a_judge_that_no_cue_moves_is_found_clean(effects, judge):
    found = effects(judge)
    assert found["value"].eq(0).all()
    assert found["p"].eq(1).all()
    # never an interval of width 0: some documents that were not drawn might move
    assert found["ci_low"].lt(0).all() and found["ci_high"].gt(0).all()
