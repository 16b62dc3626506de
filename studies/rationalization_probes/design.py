"""The experimental design: one row a trial (stage ``design``).

What must not differ between conditions is drawn once per item, from a hash of its id and the seed: the
screen order is held over probes, schemes and judges; which candidate is "1" (labelled LLM under Truth)
was drawn when the items were made; the candidate that carries the placebo badge is drawn here, the one
that is attacked where its text was rewritten.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from shared.draws import draw
from shared.errors import UserError, run_stage
from shared.frames import read, rows_of
from shared.params import load
from studies.rationalization_probes.attacks import REWRITTEN
from studies.rationalization_probes.params import ATTACKS, DAMAGED, Section, TrialSet
from studies.rationalization_probes.selection import select

ITEMS = Path("data/rationalization_probes/items.parquet")
TRIALS = Path("data/rationalization_probes/trials.parquet")

FAVOURED = {"truth": "12", "flip": "21", **dict.fromkeys(("blind", "empty", "resample", "free"), "")}
"""The paper's coding (4.3): the non-tie outcome that the labels favour; elsewhere the carrier's side."""


def design(items: pd.DataFrame, attacks: pd.DataFrame, params: Section, seed: int) -> pd.DataFrame:
    """All trials, in the order in which they run: item, presentation, scheme, probe.

    Parameters
    ----------
    items : DataFrame
        One row an item, in document order.
    attacks : DataFrame
        One row an item and attack, with ``probe``, ``carrier`` and ``status``; a text that could not be
        rewritten is not put on trial.
    params : Section
    seed : int

    Returns
    -------
    DataFrame
        Columns trial, item, cluster, kind, level, scheme, probe, reveal, screen_order, carrier,
        favoured, replicate. A trial that two sets ask for is there once, revealed if either asks.
    """
    attacked = _carriers(attacks)
    rows = [
        row
        for name, chosen in params.sets.items()
        for item in select(items, name, chosen).itertuples(index=False)
        for row in _item_trials(item, chosen, attacked, params.screen_orders, seed)
    ]
    if not rows:
        return pd.DataFrame()
    trials = pd.DataFrame(rows)
    trials["reveal"] = trials.groupby("trial")["reveal"].transform("any")
    return trials.drop_duplicates("trial", ignore_index=True)


def _carriers(attacks: pd.DataFrame) -> dict[tuple[str, str], int]:
    """The identity whose text was rewritten, by item and attack."""
    good = attacks[attacks["status"] == "ok"]
    return {(row["item"], row["probe"]): int(row["carrier"]) for row in rows_of(good)}


def _item_trials(
    item: Any, chosen: TrialSet, attacked: dict[tuple[str, str], int], screen_orders: str, seed: int
) -> Iterator[dict[str, Any]]:
    orders = _orders(item, screen_orders, seed)
    for order, scheme, probe in itertools.product(orders, chosen.schemes, chosen.probes):
        if probe in ATTACKS and (item.item, probe) not in attacked:
            continue
        carrier = attacked.get((item.item, probe)) or _carrier(item.item, probe, seed)
        yield {
            "trial": f"{item.item}|{scheme}|{probe}|{order}",
            "item": item.item,
            "cluster": item.cluster,
            "kind": item.kind,
            "level": item.level,
            "scheme": scheme,
            "probe": probe,
            "reveal": chosen.reveal and probe == "flip" and scheme != "pointwise",
            "screen_order": order,
            "carrier": carrier,
            "favoured": FAVOURED.get(probe, "12" if carrier == 1 else "21"),
            "replicate": 0,
        }


def _orders(item: Any, screen_orders: str, seed: int) -> list[str]:
    """Both orders for damaged pairs, since the competence gate needs them; else as params say."""
    if screen_orders == "both" or item.kind in DAMAGED:
        return ["12", "21"]
    return [draw(["12", "21"], seed, item.item, "screen order")]


def _carrier(item: str, probe: str, seed: int) -> int:
    """The identity that carries the cue; where there is none, the one that would carry it under Truth."""
    if probe == "placebo":
        return draw([1, 2], seed, item, "placebo carrier")
    return 2 if probe == "flip" else 1


def main() -> None:
    common, params = load("rationalization_probes", Section)
    trials = design(read(ITEMS, "data"), read(REWRITTEN, "attacks"), params, common.seed)
    if trials.empty:
        raise UserError("rationalization_probes.sets: no set finds an item, so that there is no trial")
    trials.to_parquet(TRIALS, index=False)
    print(f"{len(trials)} trials of {trials['item'].nunique()} items")


if __name__ == "__main__":
    run_stage(main)
