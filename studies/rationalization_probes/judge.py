"""Puts the trials to one judge (stage ``judge``): ``python -m studies.rationalization_probes.judge SLUG``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from shared.errors import run_stage
from shared.judge.stage import ask_judge
from shared.params import load
from studies.rationalization_probes.design import ITEMS, TRIALS
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.protocols import Protocols, Trial

RESPONSES = Path("data/rationalization_probes/responses")


def with_texts(trials: pd.DataFrame, items: pd.DataFrame) -> Iterator[Trial]:
    """Trials in design order, each with its item's texts (looked up one by one: memory stays flat)."""
    texts = items.set_index("item")[["source", "candidate_1", "candidate_2"]]
    for row in trials[[f for f in Trial._fields if f in trials.columns]].to_dict("records"):
        yield Trial(**row, **texts.loc[row["item"]].to_dict())


def main() -> None:
    slug = sys.argv[1]
    common, params = load("rationalization_probes", Section)
    trials = pd.read_parquet(TRIALS)
    protocols = Protocols(params, common.judges[slug].structured)
    ask_judge(
        common,
        slug,
        with_texts(trials, pd.read_parquet(ITEMS)),
        protocols.run,
        RESPONSES / f"{slug}.parquet",
        total=len(trials),
    )


if __name__ == "__main__":
    run_stage(main)
