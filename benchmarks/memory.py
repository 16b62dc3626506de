"""Whether memory grows with the number of requests: peaks of a long and of a short run.

Run as ``python -m benchmarks.memory FOLDER``, this module is the process that is measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import psutil

from benchmarks import study
from benchmarks.engines import ScriptedEngine
from benchmarks.process import peak_bytes
from benchmarks.result import Measured
from benchmarks.stage import Question, judge
from shared.errors import UserError
from studies.rationalization_probes.judge import with_texts

ROOT = Path(__file__).parent.parent
MANY, FEW = 100_000, 10_000
DOCUMENTS = 2
"""Of the items that the trials are about; their texts are few, so that only trials and requests grow."""


def memory_ratio(many: int = MANY, few: int = FEW) -> Measured:
    """Peak resident memory less the trials table, of ``many`` requests over ``few``.

    Each is a run of the judge stage on a scripted engine, in a process of its own, from tables on disk.
    """
    large, small = (_peak_without_table(requests) for requests in (many, few))
    note = f"{large / 2**20:.1f} MiB at {many} requests, {small / 2**20:.1f} MiB at {few}, scripted engine"
    return Measured(large / small, many, note)


def _peak_without_table(requests: int) -> float:
    """Bytes."""
    with tempfile.TemporaryDirectory() as folder:
        _write_tables(Path(folder), requests // 2)  # each trial has two turns
        command = [sys.executable, "-m", "benchmarks.memory", folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(f"the run that is measured broke: {done.stderr.strip()[-2000:]}")
    measured = json.loads(done.stdout.splitlines()[-1])
    return float(measured["peak"] - measured["table"])


def _write_tables(folder: Path, trials: int) -> None:
    """Items, and as many trials as asked: the study's own, again and again under other names."""
    pairs = study.items(DOCUMENTS)
    pairs.to_parquet(folder / "items.parquet", index=False)
    frame = study.trials_table(pairs)
    rounds = -(-trials // len(frame))
    table = pd.concat([frame] * rounds, ignore_index=True)[:trials]
    table["trial"] = [f"{trial}|{i}" for i, trial in enumerate(table["trial"])]
    table.to_parquet(folder / "trials.parquet", index=False)


def _questions(trials: pd.DataFrame, items: pd.DataFrame) -> Iterator[Question]:
    """The trials as the study's judge stage goes through them."""
    for trial in with_texts(trials, items, study.NO_ATTACKS):
        yield Question(trial.trial, f"{trial.source}\n{trial.candidate_1}\n{trial.candidate_2}")


def main() -> None:
    """Run the stage over the tables in a folder; print the peak, and what the trials table takes of it.

    The table takes what the process grew by when it was read: the reader's own slack is no client's.
    """
    folder = Path(sys.argv[1])
    items = pd.read_parquet(folder / "items.parquet")  # first, so that the reader's start is in no table
    before = psutil.Process().memory_info().rss
    trials = pd.read_parquet(folder / "trials.parquet")
    table = psutil.Process().memory_info().rss - before
    judge(ScriptedEngine, _questions(trials, items), folder)
    print(json.dumps({"peak": peak_bytes(), "table": table}))


if __name__ == "__main__":
    main()
