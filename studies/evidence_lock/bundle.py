"""Where the lock's loss comes from: what it bundles, added one at a time, each step a paired difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from shared.metrics.resampling import Estimate, Inference, rate_interval
from studies.evidence_lock.agreement import RATES, asked_of
from studies.evidence_lock.differences import beside, difference_row
from studies.evidence_lock.pairs import cells, main_cells
from studies.evidence_lock.rows import Draws, corrected, draws, frame, row


class Step(NamedTuple):
    """What a scheme does that another does not: ``scheme`` less ``reference``, by the name of the difference."""

    condition: str
    scheme: str
    reference: str


STEPS = (
    Step("second call", "conversation", "structured"),
    Step("record frozen", "lock_with_source", "conversation"),
    Step("source removed", "lock", "lock_with_source"),
)
"""From Structured to the lock: two calls instead of one, then a fresh context that has the record and the
source, then the record alone."""

ALL_STEPS = Step("all steps", "lock", "structured")

CHAIN = ("structured", "conversation", "lock_with_source", "lock")
"""The schemes of `STEPS`, which are compared on the pairs that all of them have."""

APART = (
    Step("evidence written", "structured", "standard"),
    Step("record added", "lock_with_source", "reread"),
)
"""Contrasts beside the steps: what writing evidence does before a verdict, and what a frozen record adds to a
source that is read again."""

ANOTHERS = Step("another's record", "other_record", "lock")
"""The lock with a record that another judge wrote; a row for each writer."""

QUANTITIES = ("agreement", "inconsistency")

FAMILY = ("judge", "quantity")

MORE = ("note", "p_mcnemar")
"""Columns beyond `rows.COLUMNS`."""

NOWHERE = Estimate(float("nan"), float("nan"), float("nan"), 0)

_PAIR = ("judge", "item")


def bundle_rows(pairs: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """What each part of the lock does to agreement and inconsistency.

    Parameters
    ----------
    pairs : DataFrame
        From `pairs.pairs`; the main cells are used. A judge and data set without any scheme of a lock taken
        apart has rows that say so.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, ``note`` and ``p_mcnemar``; for each judge and data set (and over all) and each of
        `QUANTITIES`:

        * ``condition`` one of `STEPS`, a row a step: ``scheme`` less ``reference``, in [-1, 1], on the pairs
          that have a value under every scheme of `CHAIN` that was run;
        * "all steps": the lock less Structured on the same pairs, which the steps add up to;
        * "on common pairs": each scheme of the chain by itself on these pairs, a rate in [0, 1], not tested;
        * `APART` and "another's record", each on the pairs that its two schemes have.

        ``p`` flips the signs of whole clusters; ``p_holm`` corrects it over the steps, the contrasts and the
        data sets of a judge, pooled rows apart and the sum not counted; ``mde`` is what the test would find
        with probability 0.8. A step of which a scheme was not run is there without a value, and ``note`` says
        which. ``p_mcnemar`` is as in `differences`.
    """
    by_name = draws(rng)
    main = main_cells(pairs)
    rows: list[dict[str, Any]] = []
    for names, cell in cells(main[main["writer"] == ""], ("judge", "naming")):
        rows += _chain_rows(names, cell, by_name, inference)
        rows += _step_rows(names, cell, APART, by_name, inference)
    for names, cell in _with_writers(main):
        rows += _step_rows(names, cell, (ANOTHERS,), by_name, inference)
    return _with_holm(frame(rows, MORE))


def common_pairs(cell: pd.DataFrame, quantity: str, schemes: Iterable[str]) -> pd.DataFrame:
    """The rows of some schemes, of the pairs that have a value under every one of them that was run.

    Parameters
    ----------
    cell : DataFrame
        Pairs of one judge, one row a scheme and item.
    quantity : str
        A key of `agreement.RATES`.
    schemes : iterable of str

    Returns
    -------
    DataFrame
    """
    rows = cell[cell["scheme"].isin(list(schemes))]
    has_value = rows[rows[RATES[quantity]].notna()]
    found = has_value.groupby("item")["scheme"].nunique()
    return rows[rows["item"].isin(found.index[found == rows["scheme"].nunique()])]


# --- Rows -------------------------------------------------------------------------------------------


def _chain_rows(
    names: Mapping[str, Any], cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    for quantity in QUANTITIES:
        asked = asked_of(quantity, cell)
        common = common_pairs(asked, quantity, CHAIN)
        lost = _unparsed(asked)
        for step in (*STEPS, ALL_STEPS):
            yield _step_row(quantity, step, names, cell, common, by_name, inference) | lost.get
