"""Where the lock's loss comes from: what it bundles, added one at a time, each step a paired difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference, rate_interval
from studies.evidence_lock.agreement import RATES, asked_of
from studies.evidence_lock.differences import MORE, beside, difference_row
from studies.evidence_lock.pairs import cells, main_cells
from studies.evidence_lock.rows import Draws, corrected, draws, frame, row


class Step(NamedTuple):
    """What a scheme does that another does not: ``scheme`` less ``reference``, under a name."""

    condition: str
    scheme: str
    reference: str


STEPS = (
    Step("second call", "conversation", "structured"),
    Step("record frozen", "lock_with_source", "conversation"),
    Step("source removed", "lock", "lock_with_source"),
)
"""From Structured to the lock: told not to choose, and the verdict asked for in a second call; then a fresh
context that has the record, as an earlier step's, and the source; then the record alone."""

ALL_STEPS = Step("all steps", "lock", "structured")

CHAIN = ("structured", "conversation", "lock_with_source", "lock")
"""The schemes of `STEPS`, which are compared on the pairs that all of them have."""

APART = (
    Step("source and verdict removed", "frozen_evidence", "structured"),
    Step("told not to choose", "lock", "frozen_evidence"),
    Step("evidence written", "structured", "standard"),
    Step("record added", "lock_with_source", "reread"),
)
"""Contrasts beside the steps: the same evidence decided from alone, and the lock's against it; what writing
evidence does before a verdict, and what a frozen record adds to a source that is read again."""

ANOTHERS = Step("another's record", "other_record", "lock")
"""The lock with a record that another judge wrote; a row for each writer."""

ON_COMMON = "on common pairs"

QUANTITIES = ("agreement", "inconsistency")

FAMILY = ("judge", "quantity")


def bundle_rows(pairs: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """What each part of the lock does to agreement and inconsistency.

    Parameters
    ----------
    pairs : DataFrame
        From `pairs.pairs`; the main cells are used.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, ``p_mcnemar`` and ``note``; for each judge and data set (and over all) and each of
        `QUANTITIES`:

        * a row for each of `STEPS`, by ``condition``: ``scheme`` less ``reference``, in [-1, 1], on the pairs
          that have a value under every scheme of `CHAIN` that was run;
        * "all steps": the lock less Structured on the same pairs, which the steps add up to;
        * "on common pairs": each scheme of the chain alone on these pairs, in [0, 1], not tested;
        * `APART` and "another's record", each on the pairs that its two schemes have.

        ``p`` flips the signs of whole clusters; ``p_holm`` corrects it over the steps, the contrasts beside
        them and the data sets of a judge, pooled rows apart and the sum not counted; ``mde`` is what the test
        would find with probability 0.8. A difference of which a scheme was not run has no value, and ``note``
        says which. ``n_trials`` and ``n_unparsed`` count those of both schemes; ``p_mcnemar`` is as in
        `differences`.

    Notes
    -----
    Steps bundle things too. The second call comes with the instruction not to choose, under which other
    evidence is written; the fresh context with a record that is restated, and said to be an earlier step's.
    Only the source is removed by itself. "Source and verdict removed" and "told not to choose" divide the
    same sum at another place: the first has Structured's very evidence, decided from alone. Another order of
    steps would divide it otherwise again.
    """
    by_name = draws(rng)
    rows: list[dict[str, Any]] = []
    for names, cell in cells(main_cells(pairs), ("judge", "naming")):
        for quantity in QUANTITIES:
            asked = asked_of(quantity, cell)
            chain = on_common(asked, quantity, CHAIN)
            rows += _differences(quantity, names, chain, (*STEPS, ALL_STEPS), by_name, inference)
            rows += _alone(quantity, names, chain, by_name, inference)
            rows += _differences(quantity, names, asked, APART, by_name, inference)
            rows += _anothers(quantity, names, asked, by_name, inference)
    return _with_holm(frame(rows, (*MORE, "note")))


def on_common(pairs: pd.DataFrame, quantity: str, schemes: Sequence[str]) -> pd.DataFrame:
    """The pairs of some schemes, whose value stands only where every one of them that was run has one.

    Parameters
    ----------
    pairs : DataFrame
        Of one judge; one row a scheme and item.
    quantity : str
        A key of `agreement.RATES`.
    schemes : sequence of str

    Returns
    -------
    DataFrame
        All rows of these schemes; the quantity's column is nan for the other items.
    """
    rows = pairs[pairs["scheme"].isin(schemes)]
    value = rows[RATES[quantity]]
    n_values = value.notna().groupby(rows["item"]).transform("sum")
    return rows.assign(**{RATES[quantity]: value.where(n_values == rows["scheme"].nunique())})


def _differences(
    quantity: str,
    names: Mapping[str, Any],
    cell: pd.DataFrame,
    steps: Sequence[Step],
    by_name: Draws,
    inference: Inference,
) -> Iterator[dict[str, Any]]:
    """A row for each step; one that says so where a scheme was not run."""
    for step in steps:
        own, reference = (cell[cell["scheme"] == scheme] for scheme in (step.scheme, step.reference))
        missing = [s for s, rows in zip(step[1:], (own, reference), strict=True) if rows.empty]
        told = {**names, **_chars(own), **step._asdict()}
        found = difference_row(quantity, told, beside(own, reference), by_name(quantity, told), inference)
        yield found | {"note": f"not run: {', '.join(missing)}" if missing else ""}


def _anothers(
    quantity: str, names: Mapping[str, Any], cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    """The lock with each other judge's records, less the lock."""
    is_anothers = cell["scheme"] == ANOTHERS.scheme
    for writer in cell.loc[is_anothers, "writer"].unique().tolist() or [""]:
        of_writer = cell[~is_anothers | (cell["writer"] == writer)]
        yield from _differences(
            quantity, {**names, "writer": writer}, of_writer, (ANOTHERS,), by_name, inference
        )


def _alone(
    quantity: str, names: Mapping[str, Any], chain: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    """Each scheme of the chain by itself, on the pairs that all of it has."""
    for scheme in CHAIN:
        own = chain[chain["scheme"] == scheme]
        if len(own):
            used = own[own[RATES[quantity]].notna()]
            told = {**names, **_chars(own), "scheme": scheme, "condition": ON_COMMON}
            rng = by_name(quantity, told)
            found = rate_interval(used[RATES[quantity]], used["cluster"], rng, inference)
            yield row(quantity, told, found, used, own) | {"note": ""}


def _chars(own: pd.DataFrame) -> dict[str, Any]:
    """The cap on its records, where there is one."""
    return {"record_chars": own["record_chars"].iloc[0]} if own["record_chars"].nunique() == 1 else {}


def _with_holm(rows: pd.DataFrame) -> pd.DataFrame:
    family = rows["reference"].notna() & (rows["condition"] != ALL_STEPS.condition)
    tested = corrected(rows[family], FAMILY)
    return rows.assign(p_holm=tested["p_holm"].reindex(rows.index))
