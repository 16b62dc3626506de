"""The study ``rubric_position_bias``: what its prompts share, and what its analysis costs at full size.

Run as ``python -m benchmarks.rubric``, this module is the process whose analysis is measured.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.engines import embedded_judge
from benchmarks.process import peak_bytes, peak_while
from benchmarks.result import Measured
from shared.errors import UserError
from shared.judge.records import Request
from shared.metrics.resampling import Inference
from shared.params import load
from shared.reporting.results import Study
from studies.rubric_position_bias.data import items
from studies.rubric_position_bias.design import design
from studies.rubric_position_bias.judge import with_texts
from studies.rubric_position_bias.params import Section
from studies.rubric_position_bias.protocols import Protocols
from studies.rubric_position_bias.tables import all_tables

ROOT = Path(__file__).parent.parent
STUDY = "rubric_position_bias"
SCORE_ITEMS, CRITERIA_ITEMS = 6, 2


def cached_share() -> Measured:
    """Share of the prompts' tokens that the engine did not compute, over the main design of embedded items.

    What it computes to save a prefix counts as computed.
    """
    requests = list(_requests())
    total, computed = asyncio.run(_ask(requests))
    note = (
        f"{computed} of {total} prompt tokens computed, from cold; {SCORE_ITEMS} items under the balanced "
        f"orders and the fixed one, {CRITERIA_ITEMS} under those of their criteria, by two scales"
    )
    return Measured(1 - computed / total, len(requests), note)


def _requests() -> Iterator[Request]:
    common, section = load(STUDY, Section)
    wanted = {"main": SCORE_ITEMS, "criteria": CRITERIA_ITEMS}
    own = {"k": None, "datasets": ["embedded"], "strategies": ["balanced", "fixed"]}
    sets = {
        name: section.sets[name].model_copy(update={"items": count, **own}) for name, count in wanted.items()
    }
    data = {
        name: chosen.model_copy(update={"items": None if name == "embedded" else 0})
        for name, chosen in section.datasets.items()
    }
    section = section.model_copy(update={"sets": sets, "datasets": data})
    found = items(section, common.data.external_dir, ROOT, common.seed)
    protocols = Protocols(section, structured=True)
    requests = [protocols.request(t) for t in with_texts(design(found, section, common.seed), found)]
    for index, request in enumerate(requests):
        if request not in requests[:index]:  # a client asks once
            yield request


async def _ask(requests: list[Request]) -> tuple[int, int]:
    """Prompt tokens, and how many of them the engine computed."""
    async with embedded_judge() as engine:
        total = 0
        for request in requests:
            total += (await engine.complete(request)).prompt_tokens
        return total, engine.computed_tokens


def analysis_seconds() -> Measured:
    """Wall time of every table's rows for simulated judgements of the paper's size, `planted.paper_grid`."""
    done = _analysis()
    return Measured(done["seconds"], int(done["rows"]), _note(done))


def analysis_gb() -> Measured:
    """Peak resident memory of its two processes, in 10^9 bytes, the judgements themselves included."""
    done = _analysis()
    return Measured(done["peak"] / 1e9, int(done["rows"]), _note(done))


def _note(done: dict[str, float]) -> str:
    statistics = load(STUDY, Section)[0].statistics
    told = f"{statistics.resamples} resamples, {statistics.permutations} permutations"
    return f"{done['rows']:.0f} simulated judgements of all settings, {told}"


@cache
def _analysis() -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.rubric"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"the run that is measured broke: {done.stderr.strip()[-2000:]}")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def analyse(judgements: pd.DataFrame, inference: Inference | None = None) -> float:
    """Seconds that all tables' rows take, by default under the statistics of params.

    Raises
    ------
    UserError
        If a table has no rows: then what is measured is not the whole analysis.
    """
    common, section = load(STUDY, Section)
    inference = inference or Inference(**common.statistics.model_dump())
    empty, started = [], time.perf_counter()
    for name, rows in all_tables(Study(judgements, inference, common.seed, "benchmark"), section):
        print(f"{name}: {len(rows)} rows, {time.perf_counter() - started:.1f} s", file=sys.stderr)
        empty += [] if len(rows) else [name]
    seconds = time.perf_counter() - started
    if empty:
        raise UserError(f"no rows in {', '.join(empty)}: the judgements that are timed lack what they need")
    return seconds


def main() -> None:
    from tests.studies.rubric_position_bias.planted import paper_grid  # a scripted judge, and no finding

    judgements = paper_grid(np.random.default_rng(1), probabilities=True)
    seconds, peak = peak_while(lambda: analyse(judgements))
    print(json.dumps({"rows": len(judgements), "seconds": seconds, "peak": max(peak, peak_bytes())}))


if __name__ == "__main__":
    main()
