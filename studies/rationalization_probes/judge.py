"""Puts the trials to one judge (stage ``judge``): ``python -m studies.rationalization_probes.judge SLUG``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from shared.errors import run_stage
from shared.frames import read, rows_of
from shared.judge.slug import slug_argument
from shared.judge.stage import ask_judge
from shared.params import load
from studies.rationalization_probes.attacks import REWRITTEN
from studies.rationalization_probes.design import ITEMS, TRIALS
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.protocols import Protocols, Trial

RESPONSES = Path("data/rationalization_probes/responses")


def with_texts(trials: pd.DataFrame, items: pd.DataFrame, attacks: pd.DataFrame) -> Iterator[Trial]:
    """Trials in design order, one at a time, with their items' texts; an attack rewrites the carrier's."""
    texts = {row["item"]: row for row in rows_of(items)}
    rewritten = {(row["item"], row["probe"]): row for row in rows_of(attacks)}
    for row in rows_of(trials):
        known = {**texts[row["item"]], **row}
        if attack := rewritten.get((row["item"], row["probe"])):
            known[f"candidate_{attack['carrier']}"] = attack["text"]
        yield Trial(**{name: known[name] for name in Trial._fields})


def main() -> None:
    common, params = load("rationalization_probes", Section)
    slug = slug_argument(sys.argv, common.judges)
    trials = read(TRIALS, "design")
    protocols = Protocols(params, common.judges[slug].structured)
    ask_judge(
        common,
        slug,
        with_texts(trials, read(ITEMS, "data"), read(REWRITTEN, "attacks")),
        protocols.run,
        RESPONSES / f"{slug}.parquet",
        total=len(trials),
    )


if __name__ == "__main__":
    run_stage(main)
