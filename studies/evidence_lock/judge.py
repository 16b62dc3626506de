"""Puts the trials to one judge (stage ``judge``): ``python -m studies.evidence_lock.judge SLUG``."""

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
from studies.evidence_lock.design import ITEMS, TRIALS
from studies.evidence_lock.params import Section
from studies.evidence_lock.protocols import Protocols, Trial

RESPONSES = Path("data/evidence_lock/responses")


def own(trials: pd.DataFrame) -> pd.DataFrame:
    """The trials in which a judge writes its own record; the others wait for all judges (``exchange``)."""
    return trials[trials["scheme"] != "other_record"].reset_index(drop=True)


def with_texts(trials: pd.DataFrame, items: pd.DataFrame) -> Iterator[Trial]:
    """Trials in the frame's order, one at a time, with their items' texts."""
    texts = {row["item"]: row for row in rows_of(items)}
    for row in rows_of(trials):
        known = {"writer": "", **texts[row["item"]], **row}
        yield Trial(**{name: known[name] for name in Trial._fields})


def main() -> None:
    common, params = load("evidence_lock", Section)
    slug = slug_argument(sys.argv, common.judges)
    trials = own(read(TRIALS, "design"))
    ask_judge(
        common,
        slug,
        with_texts(trials, read(ITEMS, "data")),
        Protocols(params, common.judges[slug].structured).run,
        RESPONSES / f"{slug}.parquet",
        total=len(trials),
    )


if __name__ == "__main__":
    run_stage(main)
