"""``kill -9`` at random moments: nothing that was answered is lost, and hardly anything is paid twice.

Run as ``python -m benchmarks.kill scripted|real FOLDER CALLS``, this module is the process that is killed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from benchmarks import study
from benchmarks.engines import Logged, ScriptedEngine
from benchmarks.result import Measured
from benchmarks.stage import CONCURRENCY, RESPONSES, STORE, Question, judge
from shared.errors import UserError, run_stage
from shared.judge.engines.llamacpp import LlamaCppEngine
from shared.judge.records import Engine
from shared.judge.store import Store
from shared.weights import MODEL

ROOT = Path(__file__).parent.parent
LOG = "calls.log"
LINE = 65
"""Bytes that a call adds to the log: a key in hex and a line's end."""

SEED = 1
DELAY_S = 0.002
"""Of a scripted answer, so that a kill finds calls in flight."""

LATEST = 0.95
"""The last kill comes before this share of the calls, so that it finds the process at work."""

Kind = Literal["scripted", "real"]


@dataclass(frozen=True)
class Plan:
    """How often a run of how many calls is killed, on which engine."""

    kind: Kind
    calls: int
    kills: int

    @property
    def most_extra(self) -> int:
        """Calls that may be paid beyond ``calls``: those in flight at each kill."""
        return self.kills * CONCURRENCY


SCRIPTED = Plan("scripted", calls=2000, kills=20)
REAL = Plan("real", calls=16, kills=1)


@dataclass(frozen=True)
class Life:
    """One process, from its start to its end: calls that it sent, answers that it left in the store."""

    sent: int
    kept: int
    killed: bool

    @property
    def lost(self) -> int:
        return self.sent - self.kept


def scripted(plan: Plan = SCRIPTED) -> Measured:
    """Calls paid beyond the undisturbed run's, on the scripted engine."""
    return extra_calls(plan)


def real(plan: Plan = REAL) -> Measured:
    """The same on the embedded judge."""
    return extra_calls(plan)


def extra_calls(plan: Plan) -> Measured:
    """Calls paid beyond the undisturbed run's number, over all lives of a run that is killed and finished.

    Flawed where the responses differ from the undisturbed run's, or fewer kills than planned were done.
    """
    with tempfile.TemporaryDirectory() as undisturbed, tempfile.TemporaryDirectory() as disturbed:
        wait(start(plan, Path(undisturbed)))
        lives = list(killed_and_finished(plan, Path(disturbed)))
        differing = differing_responses(Path(undisturbed), Path(disturbed))
        needed = sent_calls(Path(undisturbed))
    kills = sum(life.killed for life in lives)
    flaws = [f"{differing} responses differ"] * (differing > 0)
    flaws += [f"{kills} of {plan.kills} kills found the process at work"] * (kills < plan.kills)
    extra = sum(life.sent for life in lives) - needed
    note = f"{needed} calls, {kills} kills, concurrency {CONCURRENCY}, {plan.kind} engine, seed {SEED}"
    return Measured(extra, needed, note, "; ".join(flaws))


def killed_and_finished(plan: Plan, folder: Path, seed: int = SEED) -> Iterator[Life]:
    """Start the run as often as it takes: killed at random moments first, left alone at last."""
    rng = np.random.default_rng(seed)
    for moment in sorted(rng.choice(int(LATEST * plan.calls), size=plan.kills, replace=False)):
        yield _life(plan, folder, after=int(moment), pause=rng.uniform(0, DELAY_S))
    yield _life(plan, folder)


def _life(plan: Plan, folder: Path, after: int | None = None, pause: float = 0.0) -> Life:
    """One process; it is killed ``pause`` seconds after the log has more than ``after`` calls."""
    sent, kept = sent_calls(folder), kept_answers(folder)
    process = start(plan, folder)
    if after is not None:
        while process.poll() is None and sent_calls(folder) <= max(after, sent):
            time.sleep(DELAY_S / 4)
        time.sleep(pause)
        process.kill()
        process.communicate()
    else:
        wait(process)
    return Life(sent_calls(folder) - sent, kept_answers(folder) - kept, process.returncode < 0)


def start(plan: Plan, folder: Path) -> subprocess.Popen[str]:
    """The run, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.kill", plan.kind, str(folder), str(plan.calls)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait(process: subprocess.Popen[str]) -> None:
    """Let it finish.

    Raises
    ------
    UserError
        If it ends with an error; holds what it said.
    """
    said, _ = process.communicate()
    if process.returncode:
        raise UserError(f"the run that is to be killed broke by itself: {said.strip()[-2000:]}")


def sent_calls(folder: Path) -> int:
    """Calls in the log so far."""
    log = folder / LOG
    return log.stat().st_size // LINE if log.exists() else 0


def kept_answers(folder: Path) -> int:
    """Answers in the store so far."""
    store = Store(folder / STORE)
    try:
        return len(store)
    finally:
        store.close()


def differing_responses(one: Path, other: Path) -> int:
    """Rows that differ between two tables of responses, times apart; all where the lengths differ."""
    left, right = (pd.read_parquet(folder / RESPONSES).drop(columns="seconds") for folder in (one, other))
    if left.shape != right.shape:
        return max(len(left), len(right))
    same = (left == right) | (left.isna() & right.isna())
    return int((~same.all(axis=1)).sum())


def questions(kind: Kind, calls: int) -> list[Question]:
    """Half as many questions as calls: each has two turns. The real engine gets a real prompt."""
    text = study.first_requests(1)[0].messages[-1].content if kind == "real" else "scripted"
    return [Question(f"trial-{i}", text) for i in range(calls // 2)]


def engine(kind: Kind, log: Path) -> Engine:
    """The engine of that kind, its calls logged."""
    return Logged(LlamaCppEngine(model=MODEL) if kind == "real" else ScriptedEngine(DELAY_S), log)


def main() -> None:
    """The process that is killed."""
    kind: Kind = "real" if sys.argv[1] == "real" else "scripted"
    folder, calls = Path(sys.argv[2]), int(sys.argv[3])
    judge(lambda: engine(kind, folder / LOG), questions(kind, calls), folder)


if __name__ == "__main__":
    run_stage(main)
