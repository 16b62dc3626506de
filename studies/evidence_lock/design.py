"""The experimental design: one row a trial (stage ``design``).

An item's two names are drawn once, from a hash of the seed and its id, and are the same in every trial: names
then tell nothing about order, and protocols differ in nothing but what their calls see.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from shared.draws import number
from shared.errors import UserError, run_stage
from shared.frames import read
from shared.params import load
from shared.selection import first_items
from studies.evidence_lock.params import ORDERS, SCHEMES, WITHOUT_RECORD, Section, TrialSet

ITEMS = Path("data/evidence_lock/items.parquet")
TRIALS = Path("data/evidence_lock/trials.parquet")

SCHEME_PLACES: dict[str, int] = {name: place for place, name in enumerate(SCHEMES)}

NAMES = (
    "Alder", "Aspen", "Birch", "Cedar", "Cypress", "Hawthorn", "Hazel", "Holly", "Juniper", "Larch", "Laurel",
    "Linden", "Maple", "Myrtle", "Olive", "Poplar", "Rowan", "Spruce", "Sycamore", "Walnut", "Willow",
)  # fmt: skip
"""Names without a rank, which letters and numbers have."""

LETTERS = ("A", "B")


class Condition(NamedTuple):
    """What is asked about one item in one trial."""

    scheme: str
    inspection: str
    decision: str
    record_chars: int
    wording: int
    naming: str
    temperature: float
    replicate: int


COLUMNS = ("trial", "item", "cluster", "dataset", *Condition._fields, "name_1", "name_2")

SAME_RECORD = ("item", "inspection", "record_chars", "wording", "naming", "temperature", "replicate")
"""What decides a judge's record: all of a trial but who decides, and in which order."""


def design(items: pd.DataFrame, params: Section, seed: int) -> pd.DataFrame:
    """All trials, in the order in which they run: item, inspection order, scheme, what else differs.

    Parameters
    ----------
    items : DataFrame
        One row an item, in the file's order.
    params : Section
    seed : int

    Returns
    -------
    DataFrame
        Columns `COLUMNS`. A trial that two sets ask for is there once. ``record_chars`` is 0 for the
        schemes whose verdict rests on nothing written, but for ``reread``, whose first call is the lock's.
        Schemes that are not crossed have the decision in the order of the inspection.

    Raises
    ------
    UserError
        If an item's texts hold all of `NAMES` but one, or ``other_record`` is asked where no set asks the
        lock for the record that it needs.
    """
    chosen = [(trial_set, selected(items, trial_set)) for trial_set in params.sets.values()]
    rows = [
        row
        for item in items.itertuples(index=False)
        for row in _item_trials(item, [asks for asks, names in chosen if item.item in names], params, seed)
    ]
    trials = pd.DataFrame(rows, columns=list(COLUMNS))
    _records_are_written(trials)
    return trials


def selected(items: pd.DataFrame, chosen: TrialSet) -> set[str]:
    """The ids of a set's items: of its data sets, as many as it asks of each (see `first_items`)."""
    found = items if chosen.datasets is None else items[items["dataset"].isin(chosen.datasets)]
    return set(first_items(found, chosen.items)["item"])


def neutral_names(texts: Iterable[str], seed: int, item: str) -> tuple[str, str]:
    """Two of `NAMES` that stand in none of an item's texts, drawn by its id.

    Raises
    ------
    UserError
        If there are no two.
    """
    words = " ".join(texts).casefold()
    free = [name for name in NAMES if name.casefold() not in words]
    if len(free) < 2:
        raise UserError(f"item {item}: its texts hold nearly every neutral name; add names to design.NAMES")
    first, second = sorted(free, key=lambda name: number(seed, "name", item, name))[:2]
    return first, second


def _records_are_written(trials: pd.DataFrame) -> None:
    """Said before any judge is asked: another judge's record is the one that it wrote for its own lock."""
    keys = list(SAME_RECORD)
    own = trials.loc[trials["scheme"] == "lock", keys].drop_duplicates()
    asked = trials.loc[trials["scheme"] == "other_record", ["trial", *keys]]
    found = asked.merge(own, on=keys, how="left", indicator=True)
    lacking = found.loc[found["_merge"] == "left_only", "trial"]
    if len(lacking):
        raise UserError(
            f"evidence_lock.sets: {len(lacking)} trials of other_record have no lock to take a record from, "
            f"e.g. {lacking.iloc[0]!r}; ask `lock` about the same items, orders and record_chars too"
        )


def _item_trials(
    item: Any, sets: Iterable[TrialSet], params: Section, seed: int
) -> Iterator[tuple[Any, ...]]:
    """What all sets together ask about an item, each once, in the order in which it runs."""
    about = (item.item, item.cluster, item.dataset)
    neutral = neutral_names((item.context, item.answer_1, item.answer_2), seed, item.item)
    for asked in sorted({asked for chosen in sets for asked in _asked(chosen, params)}, key=_place):
        names = _names(asked, neutral)
        yield "|".join(map(str, (*about[:1], *asked))), *about, *asked, *names


def _names(asked: Condition, neutral: tuple[str, str]) -> tuple[str, str]:
    """Names of candidates 1 and 2: neutral ones, or the paper's, by which A is the first shown."""
    if asked.naming == "neutral":
        return neutral
    return LETTERS if asked.inspection == "12" else (LETTERS[1], LETTERS[0])


def _asked(chosen: TrialSet, params: Section) -> Iterator[Condition]:
    crossed = itertools.product(
        chosen.schemes, _orders(chosen), chosen.wordings, chosen.temperatures, range(chosen.replicates)
    )
    for scheme, (inspection, decision), wording, temperature, replicate in crossed:
        for chars in _record_chars(scheme, chosen, params):
            yield Condition(
                scheme, inspection, decision, chars, wording, chosen.naming, temperature, replicate
            )


def _orders(chosen: TrialSet) -> list[tuple[str, str]]:
    if chosen.crossed:
        return list(itertools.product(ORDERS, ORDERS))
    return [(order, order) for order in ORDERS]


def _record_chars(scheme: str, chosen: TrialSet, params: Section) -> list[int]:
    if scheme == "reread":
        return [params.answer.record_chars]  # its first call is the lock's own
    if scheme in WITHOUT_RECORD:
        return [0]
    return chosen.record_chars or [params.answer.record_chars]


def _place(asked: Condition) -> tuple[Any, ...]:
    """A key to sort by: what stands early in a prompt changes last, so that calls share long prefixes."""
    inspection, scheme = asked.inspection, SCHEME_PLACES[asked.scheme]
    return asked.temperature, asked.naming, inspection, asked.wording, scheme, *asked


def main() -> None:
    common, params = load("evidence_lock", Section)
    trials = design(read(ITEMS, "data"), params, common.seed)
    if trials.empty:
        raise UserError("evidence_lock.sets: no set finds an item, so that there is no trial")
    trials.to_parquet(TRIALS, index=False)
    print(f"{len(trials)} trials of {trials['item'].nunique()} items")


if __name__ == "__main__":
    run_stage(main)
