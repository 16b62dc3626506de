"""The experimental design: one row a trial (stage ``design``).

What must not differ between conditions is drawn once per item, from a hash of its id and the seed: the
screen order is held over probes, schemes and judges; which candidate is "1" (labelled LLM under Truth)
was drawn when the items were made; the candidate that carries the placebo badge is drawn here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from shared.draws import draw
from shared.errors import UserError, run_stage
from shared.frames import read
from shared.params import load
from studies.rationalization_probes.params import Section, TrialSet

ITEMS = Path("data/rationalization_probes/items.parquet")
TRIALS = Path("data/rationalization_probes/trials.parquet")

FAVOURED = {"blind": "", "empty": "", "truth": "12", "flip": "21"}
"""The paper's coding (4.3): the non-tie outcome that the labels favour."""


def design(items: pd.DataFrame, params: Section, seed: int) -> pd.DataFrame:
    """All trials, in the order in which they run: item, presentation, scheme, probe.

    Parameters
    ----------
    items : DataFrame
        One row an item, in document order.
    params : Section
    seed : int

    Returns
    -------
    DataFrame
        Columns trial, item, cluster, kind, level, scheme, probe, reveal, screen_order, carrier,
        favoured, replicate.
    """
    rows = [
        row
        for kind, chosen in params.sets.items()
        for item in _select(items, kind, chosen).itertuples(index=False)
        for row in _item_trials(item, chosen, params.screen_orders, seed)
    ]
    return pd.DataFrame(rows)


def _select(items: pd.DataFrame, kind: str, chosen: TrialSet) -> pd.DataFrame:
    """The set's items: those of the first ``chosen.items`` documents, and of the asked levels."""
    of_kind = items[items["kind"] == kind]
    if chosen.levels is not None:
        of_kind = of_kind[of_kind["level"].isin(chosen.levels)]
    documents = of_kind["cluster"].unique()[: chosen.items]
    return of_kind[of_kind["cluster"].isin(documents)]


def _item_trials(item: Any, chosen: TrialSet, screen_orders: str, seed: int) -> Iterator[dict[str, Any]]:
    orders = _orders(item, screen_orders, seed)
    for order, scheme, probe in itertools.product(orders, chosen.schemes, chosen.probes):
        carrier = _carrier(item.item, probe, seed)
        yield {
            "trial": f"{item.item}|{scheme}|{probe}|{order}",
            "item": item.item,
            "cluster": item.cluster,
            "kind": item.kind,
            "level": item.level,
            "scheme": scheme,
            "probe": probe,
            "reveal": chosen.reveal and probe == "flip",
            "screen_order": order,
            "carrier": carrier,
            "favoured": FAVOURED.get(probe, "12" if carrier == 1 else "21"),
            "replicate": 0,
        }


def _orders(item: Any, screen_orders: str, seed: int) -> list[str]:
    """Both orders for damaged pairs, since the competence gate needs them; else as params say."""
    if screen_orders == "both" or item.kind == "damage":
        return ["12", "21"]
    return [draw(["12", "21"], seed, item.item, "screen order")]


def _carrier(item: str, probe: str, seed: int) -> int:
    """The identity that carries the cue; where there is none, the one that would carry it under Truth."""
    if probe == "placebo":
        return draw([1, 2], seed, item, "placebo carrier")
    return 2 if probe == "flip" else 1


def main() -> None:
    common, params = load("rationalization_probes", Section)
    trials = design(read(ITEMS, "data"), params, common.seed)
    if trials.empty:
        raise UserError("rationalization_probes.sets: no set finds an item, so that there is no trial")
    trials.to_parquet(TRIALS, index=False)
    print(f"{len(trials)} trials of {trials['item'].nunique()} items")


if __name__ == "__main__":
    run_stage(main)
