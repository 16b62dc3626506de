"""The experimental design: one row a trial (stage ``design``).

Everything drawn is drawn from a hash of the seed and the item's id: an item's balanced and random orders are
the same under every prompt arm, scale, effort and temperature, so that conditions differ in nothing else, and
adding an item moves no other item's orders.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from shared.errors import UserError, run_stage
from shared.frames import read
from shared.params import load
from shared.selection import first_items
from studies.rubric_position_bias.orders import MOST, Strategy, balanced, sequence
from studies.rubric_position_bias.params import EFFORTS, SCHEMES, STRATEGIES, Section, TrialSet

ITEMS = Path("data/rubric_position_bias/items.parquet")
TRIALS = Path("data/rubric_position_bias/trials.parquet")

SCHEME_PLACES: dict[str, int] = {name: place for place, name in enumerate(SCHEMES)}
EFFORT_PLACES: dict[str, int] = {name: place for place, name in enumerate(("", *EFFORTS))}
STRATEGY_PLACES: dict[str, int] = {name: place for place, name in enumerate(STRATEGIES)}

FEWEST_CRITERIA = 2
"""One criterion has no order."""


class Condition(NamedTuple):
    """What is asked about one item in one trial, and as which draw of which strategy."""

    scheme: str
    size: int
    strategy: Strategy
    draw: int
    order: str
    scale: str
    temperature: float
    effort: str
    replicate: int


COLUMNS = ("trial", "item", "cluster", "dataset", "setting", *Condition._fields)


def design(items: pd.DataFrame, params: Section, seed: int) -> pd.DataFrame:
    """All trials, in the order in which they run: item, scheme, size, scale, effort, temperature, draw.

    Parameters
    ----------
    items : DataFrame
        One row an item, in the file's order.
    params : Section
    seed : int

    Returns
    -------
    DataFrame
        Columns trial, item, cluster, dataset, setting, scheme, size, strategy, draw, order, scale,
        temperature, effort, replicate. A trial that two sets ask for is there once.

    Raises
    ------
    UserError
        If an item's criteria are too many or too few to be put in an order.

    Notes
    -----
    The strategy ``fixed`` asks one request again and again. At temperature 0 it yields one trial, draw 0,
    since a deterministic engine gives the same answer to every repeat: that answer stands for any number of
    draws. Above it yields k trials, each a replicate of its own. Balanced and random orders differ, so each
    is asked once, as replicate 0. Two trials with the same request (a random order that is balanced too) are
    two rows; the client asks once.
    """
    chosen = [(trial_set, selected(items, trial_set)) for trial_set in params.sets.values()]
    rows = [
        row
        for item in items.itertuples(index=False)
        for row in _item_trials(item, [asks for asks, names in chosen if item.item in names], seed)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def selected(items: pd.DataFrame, chosen: TrialSet) -> set[str]:
    """The ids of a set's items: its setting's, of its data sets, as many as it asks of each.

    Where not all are asked for, prompts take turns: see `first_items`.
    """
    found = items[items["setting"] == chosen.setting]
    if chosen.datasets is not None:
        found = found[found["dataset"].isin(chosen.datasets)]
    return set(first_items(found, chosen.items)["item"])


def _item_trials(item: Any, sets: Iterable[TrialSet], seed: int) -> Iterator[tuple[Any, ...]]:
    """What all sets together ask about an item, each once, in the order in which it runs."""
    about = (item.item, item.cluster, item.dataset, item.setting)
    for asked in sorted({asked for chosen in sets for asked in _asked(item, chosen, seed)}, key=_place):
        yield _trial(item.item, asked), *about, *asked


def _place(asked: Condition) -> tuple[Any, ...]:
    """A key to sort by: what stands early in a prompt changes last, so that calls share long prefixes."""
    return (
        SCHEME_PLACES[asked.scheme],
        asked.size,
        asked.scale,
        EFFORT_PLACES[asked.effort],
        asked.temperature,
        STRATEGY_PLACES[asked.strategy],
        asked.draw,
    )


def _asked(item: Any, chosen: TrialSet, seed: int) -> Iterator[Condition]:
    for size, strategy in itertools.product(_sizes(item, chosen), chosen.strategies):
        orders = sequence(size, strategy, chosen.k or len(balanced(size)), seed, item.item)
        crossed = itertools.product(
            chosen.schemes, chosen.scales or ("",), chosen.efforts or ("",), chosen.temperatures
        )
        for scheme, scale, effort, temperature in crossed:
            repeats_say_nothing = strategy == "fixed" and temperature == 0
            for draw, order in enumerate(orders[:1] if repeats_say_nothing else orders):
                replicate = draw if strategy == "fixed" else 0
                yield Condition(scheme, size, strategy, draw, order, scale, temperature, effort, replicate)


def _sizes(item: Any, chosen: TrialSet) -> Sequence[int]:
    """How many options are shown: as the set says; or as many as the item has criteria."""
    if chosen.setting == "score":
        return chosen.sizes or []
    count = len(json.loads(item.criteria))
    if not FEWEST_CRITERIA <= count <= MOST:
        told = f"an order takes {FEWEST_CRITERIA} to {MOST}; split them, or leave some out"
        raise UserError(f"item {item.item}: has {count} criteria, but {told}")
    return [count]


def _trial(item: str, asked: Condition) -> str:
    """The trial's id: it tells all that is asked."""
    return (
        f"{item}|{asked.scheme}|{asked.size}|{asked.order}|{asked.scale}|{asked.temperature}|{asked.effort}"
        f"|{asked.strategy}|{asked.draw}|{asked.replicate}"
    )


def main() -> None:
    common, params = load("rubric_position_bias", Section)
    trials = design(read(ITEMS, "data"), params, common.seed)
    if trials.empty:
        raise UserError("rubric_position_bias.sets: no set finds an item, so that there is no trial")
    trials.to_parquet(TRIALS, index=False)
    print(f"{len(trials)} trials of {trials['item'].nunique()} items")


if __name__ == "__main__":
    run_stage(main)
