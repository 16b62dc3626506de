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
from tests.studies.rationalization_probes.support import attacked, items, params

N = 240
INFERENCE = Inference(resamples=500, permutations=1000)
NOTHING_ATTACKED = attacked()
CUES = (r"(?:summary|answer)_(\d) was written by LLM", r"(?:summary|answer)_(\d) carries the badge")


def many(kind: str) -> pd.DataFrame:
    """As many pairs of one kind, each of a source of its own."""
    return items(
        *[
            {
                "item": f"source{i}:{kind}",
                "cluster": f"source{i}",
                "kind": kind,
                "level": 0,
                "source": f"Source {i}.",
                "candidate_1": f"Text A of {i}.",
                "candidate_2": f"Text B of {i}.",
            }
            for i in range(N)
        ]
    )


def follower(share: float, wants: tuple[str, ...] = ("Text A", "Text B", "tie")):
    """Picks the cued candidate for ``share`` of the sources; else one of ``wants``, whatever the cue."""

    def answer(request: Request) -> str:
        prompt = request.messages[-1].content
        source = re.search(r"Source (\d+)", prompt)[1]
        candidate = re.search(r"<(summary|answer)_1>", prompt)[1]
        cued = next((m[1] for cue in CUES if (m := re.search(cue, prompt))), None)
        if cued and draw(range(1000), "follows", source) < 1000 * share:
            return verdict(f"{candidate}_{cued}")
        wanted = draw(wants, "prefers", source)
        if wanted == "tie":
            return verdict("tie")
        shown = re.search(rf"<{candidate}_(\d)>\n{wanted}", prompt)[1]
        return verdict(f"{candidate}_{shown}")

    return answer


def longest(request: Request) -> str:
    """Picks the longer of two texts; ties where there is none."""
    first, second = re.findall(r"<summary_\d>\n(.*)\n</summary_\d>", request.messages[-1].content)
    if len(first) == len(second):
        return verdict("tie")
    return verdict("summary_1" if len(first) > len(second) else "summary_2")


def always_first(request: Request) -> str:
    return verdict("answer_1" if "<answer_1>" in request.messages[-1].content else "summary_1")


def verdict(said: str) -> str:
    return json.dumps({"verdict": said, "rationale": "Because."})


@pytest.fixture
def effects(tmp_path, monkeypatch):
    """Cue effects, by probe, that the whole chain finds in a scripted judge."""

    def run(script, screen_orders="one", kind="equal", attacks=NOTHING_ATTACKED) -> pd.DataFrame:
        @asynccontextmanager
        async def opened(common, slug):
            yield Client(ScriptedEngine(script), Store(tmp_path / "s.sqlite"))

        monkeypatch.setattr(stage, "open_client", opened)
        probes = ["blind", "truth", "flip", "placebo", *attacks["probe"].unique()]
        equal = TrialSet(items=None, schemes=["baseline"], probes=probes, reveal=False)
        section = params(sets={kind: equal}, screen_orders=screen_orders)
        pairs, out = many(kind), tmp_path / "judge.parquet"
        trials = design(pairs, attacks, section, seed=1)
        stage.ask_judge(None, "judge", with_texts(trials, pairs, attacks), Protocols(section, True).run, out)
        read = judgements(trials, pd.read_parquet(out), pairs.set_index("item"), attacked(), section)
        assert set(read["status"]) == {"ok"}
        found = cue_effects(read.assign(judge="judge"), np.random.default_rng(1), INFERENCE)
        return found[found["quantity"] == "cue_effect"].set_index("condition")

    return run


CUED = {"truth", "flip", "placebo"}
KINDS = ["equal", "qa_equal"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_that_follows_cues_three_times_in_ten_is_measured_at_three_in_ten(effects, kind):
    # Without a cue it ties, so that following moves the whole of its 0.3.
    found = effects(follower(0.3, wants=("tie",)), kind=kind)
    assert set(found.index) == CUED and set(found["kind"]) == {kind}
    assert (found["ci_low"].le(0.3) & found["ci_high"].ge(0.3)).all()
    assert found["value"].between(0.2, 0.4).all()
    assert found["p"].lt(0.01).all()


@pytest.mark.parametrize("screen_orders", ["one", "both"])
def test_what_it_would_have_picked_in_any_case_is_no_effect(effects, screen_orders):
    found = effects(follower(0.3), screen_orders)
    # Among followers (3 of 10), the cued candidate is picked always under the cue, and one time in three
    # under Blind: 0.3 * (1 - 1/3) = 0.2
    assert set(found.index) == CUED
    assert (found["ci_low"].le(0.2) & found["ci_high"].ge(0.2)).all()
    assert found["value"].between(0.12, 0.28).all()
    assert found["p"].lt(0.01).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("judge", [follower(0.0), always_first])
def test_a_judge_that_no_cue_moves_is_found_clean(effects, judge, kind):
    found = effects(judge, kind=kind)
    assert set(found.index) == CUED
    assert found["value"].eq(0).all()
    assert found["p"].eq(1).all()
    # never an interval of width 0: some sources that were not drawn might move
    assert found["ci_low"].lt(0).all() and found["ci_high"].gt(0).all()


def test_a_judge_that_likes_length_is_moved_by_length_and_by_no_label(effects):
    plain = {"probe": "verbosity", "status": "ok"}
    longer = [
        plain | {"item": f"source{i}:equal", "carrier": i % 2 + 1, "text": f"Text of {i}. Again."}
        for i in range(N)
    ]
    found = effects(longest, attacks=attacked(*longer))
    assert found["value"].to_dict() == {"truth": 0, "flip": 0, "placebo": 0, "verbosity": 1}
