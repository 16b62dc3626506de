"""What is lost as the record shrinks: agreement and inconsistency by the cap on its characters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import Array, Inference, rate_interval
from studies.evidence_lock.agreement import RATES, asked_of
from studies.evidence_lock.cost import mean_ratio
from studies.evidence_lock.differences import MORE, beside, difference_row
from studies.evidence_lock.pairs import CELL, REFERENCE, cells, largest_records
from studies.evidence_lock.params import chars_of_text
from studies.evidence_lock.rows import Draws, corrected, draws, frame, row

QUANTITIES = ("agreement", "inconsistency")

WRITERS = ("structured", "lock", "pointwise_lock")
"""Schemes that write what they decide from. All others with a record share the lock's, which is written once
for all of them."""

_AVERAGED = [*(RATES[quantity] for quantity in QUANTITIES), "tokens"]

FAMILY = ("judge", "quantity", "reference")


def budget_rows(
    pairs: pd.DataFrame, judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference
) -> pd.DataFrame:
    """Agreement, inconsistency and cost by ``record_chars``, and how much of it is written.

    Parameters
    ----------
    pairs : DataFrame
        From `pairs.pairs`; wording 1, neutral names, temperature 0.
    judgements : DataFrame
        With ``judge``; the same trials.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS` and ``p_mcnemar``. For each judge, data set (and over all) and scheme that was asked
        under several caps, a row a cap, over the pairs that have the quantity under all of them:

        * ``agreement``, ``inconsistency``: rates in [0, 1];
        * the same with ``reference`` "structured": less Structured's with its largest cap, in [-1, 1];
        * the same with the scheme itself as ``reference``: less its own with the largest cap, in [-1, 1];
        * ``tokens`` of a verdict, summed over its calls.

        And for each scheme of `WRITERS` and cap, whether it has several or not:

        * ``record_chars_written``: mean characters of the record's texts together;
        * ``cap_filled_rate``: share of the records in which a text on an answer is as long as one text may
          be, so that it was probably cut.

        ``p`` flips the signs of whole clusters; ``p_holm`` corrects it over the schemes, caps and data sets
        of a judge and reference, pooled rows apart; ``mde`` is what the test would find with probability 0.8.
        In the last two ``n_trials`` counts records, ``n_unparsed`` those that could not be read.
    """
    by_name = draws(rng)
    plain = _plain(pairs)
    structured = largest_records(plain[plain["scheme"] == REFERENCE])
    rows: list[dict[str, Any]] = []
    for names, cell in cells(plain):
        if cell["record_chars"].nunique() > 1:
            rows += _of_scheme(names, under_all_caps(cell), structured, by_name, inference)
    for names, cell in cells(records(_plain(judgements)), (*CELL, "record_chars")):
        rows += _written(names, cell, by_name, inference)
    return corrected(frame(rows, MORE), FAMILY)


def under_all_caps(cell: pd.DataFrame) -> pd.DataFrame:
    """The pairs of one scheme that were asked under each of its caps, so that caps differ in no item.

    Parameters
    ----------
    cell : DataFrame
        One row a cap and item.

    Returns
    -------
    DataFrame
        Rows of the items that were asked under all caps. What `budget_rows` averages is nan where the item
        lacks it under any of them.
    """
    n_caps = cell["record_chars"].nunique()
    caps = cell.groupby("item")["record_chars"].transform("nunique")
    asked = cell[caps == n_caps]
    values = asked[_AVERAGED]
    return asked.assign(**values.where(values.notna().groupby(asked["item"]).transform("sum") == n_caps))


def records(judgements: pd.DataFrame) -> pd.DataFrame:
    """What was written for each record of `WRITERS`, one row a trial that was not crossed.

    Returns
    -------
    DataFrame
        The judgements' rows with ``written`` (characters; nan where the record could not be read), ``filled``
        (1.0 where a text on an answer has all the characters that one text may have), ``longer`` (1.0 where
        it has more, since the engine enforces no schema), ``n_trials`` (1 for a record that could be read)
        and ``n_unparsed`` (1 for one that could not).
    """
    own = judgements["scheme"].isin(WRITERS) & (judgements["inspection"] == judgements["decision"])
    rows = judgements[own]
    texts = [rows[name].fillna("").str.len() for name in ("criteria", "evidence_1", "evidence_2")]
    lengths: Array = np.column_stack(texts).astype(float)
    there = (lengths > 0).all(axis=1)
    of_one_text = rows["record_chars"].map(chars_of_text).to_numpy(dtype=int)
    return rows.assign(
        written=np.where(there, lengths.sum(axis=1), np.nan),
        filled=np.where(there, lengths[:, 1:].max(axis=1, initial=0) >= of_one_text, np.nan),
        longer=np.where(there, lengths[:, 1:].max(axis=1, initial=0) > of_one_text, np.nan),
        n_trials=there.astype(int),
        n_unparsed=(~there).astype(int),
    )


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """As in `pairs.main_cells`, but with every cap."""
    plain = (frame["wording"] == 1) & (frame["temperature"] == 0) & (frame["replicate"] == 0)
    return frame[plain & (frame["naming"] == "neutral")]


def _of_scheme(
    names: Mapping[str, Any],
    cell: pd.DataFrame,
    structured: pd.DataFrame,
    by_name: Draws,
    inference: Inference,
) -> Iterator[dict[str, Any]]:
    largest = cell[cell["record_chars"] == cell["record_chars"].max()]
    for cap in sorted(cell["record_chars"].unique()):
        own, told = cell[cell["record_chars"] == cap], {**names, "record_chars": cap}
        yield from _rates(told, own, by_name, inference)
        if names["scheme"] != REFERENCE:
            yield from _differences(told, own, structured, REFERENCE, by_name, inference)
        if cap < largest["record_chars"].iloc[0]:
            yield from _differences(told, own, largest, names["scheme"], by_name, inference)


def _rates(
    names: Mapping[str, Any], own: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    for quantity in QUANTITIES:
        asked = asked_of(quantity, own)
        used = asked[asked[RATES[quantity]].notna()]
        rng = by_name(quantity, names)
        found = rate_interval(used[RATES[quantity]], used["cluster"], rng, inference)
        yield row(quantity, names, found, used, asked)
    yield _mean("tokens", "tokens", names, own, by_name, inference)


def _differences(
    names: Mapping[str, Any],
    own: pd.DataFrame,
    reference: pd.DataFrame,
    scheme: str,
    by_name: Draws,
    inference: Inference,
) -> Iterator[dict[str, Any]]:
    both = beside(own, reference)
    condition = "less the largest record" if scheme == names["scheme"] else f"{names['scheme']} - {scheme}"
    told = {**names, "condition": condition, "reference": scheme}
    for quantity in QUANTITIES:
        if len(asked_of(quantity, both)):
            yield difference_row(quantity, told, both, by_name(quantity, told), inference)


def _written(
    names: Mapping[str, Any], cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    yield _mean("record_chars_written", "written", names, cell, by_name, inference)
    used = cell[cell["filled"].notna()]
    for quantity, column in (("cap_filled_rate", "filled"), ("over_cap_rate", "longer")):
        found = rate_interval(used[column], used["cluster"], by_name(quantity, names), inference)
        yield row(quantity, names, found, used, cell)


def _mean(
    quantity: str,
    column: str,
    names: Mapping[str, Any],
    cell: pd.DataFrame,
    by_name: Draws,
    inference: Inference,
) -> dict[str, Any]:
    used = cell[cell[column].notna()]
    rng = by_name(quantity, names)
    found = mean_ratio(np.ones(len(used)), used[column], used, rng, inference)
    return row(quantity, names, found, used, cell)
