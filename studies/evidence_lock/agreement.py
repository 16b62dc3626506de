"""How often a judge agrees with people, changes with the order, ties, and prefers a place: by protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference, rate_interval, signed_interval
from studies.evidence_lock.pairs import CELL, NEUTRAL, cells, main_cells
from studies.evidence_lock.rows import Draws, corrected, draws, frame, row, signed_test

RATES = {
    "agreement": "agreement",
    "agreement_half": "agreement_half",
    "agreement_all": "agreement_all",
    "inconsistency": "changed",
    "tie_rate": "ties",
}
"""Each rate, and the column of `pairs.pairs` that it is the mean of."""

STEP = {
    "agreement": 0.5,
    "agreement_half": 0.25,
    "agreement_all": 0.5,
    "inconsistency": 1.0,
    "tie_rate": 0.5,
    "first_shown": 0.5,
}
"""The least that one pair moves a quantity, of another verdict in one of its two orders."""

OF_SUBSETS = ("agreement", "inconsistency")

NAMINGS = (NEUTRAL, "letters")

FAMILY = ("judge", "naming", "quantity")


def agreement_rows(pairs: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """Agreement and inconsistency of each judge under each protocol, by data set and over all.

    Parameters
    ----------
    pairs : DataFrame
        From `pairs.pairs`; the main cells are used, of neutral names and of letters.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`. ``agreement``, ``agreement_half`` and ``agreement_all``, in [0, 1], are means over the
        pairs with a strict label; ``inconsistency`` and ``tie_rate``, in [0, 1], and ``first_shown``, in
        [-1, 1], over all pairs. Each is averaged over both orders within a pair, so that picking always the
        first shown agrees with half. All but ``agreement_all`` leave out pairs without two verdicts, which
        ``n_unparsed`` counts by trial. ``first_shown`` is tested against 0 by flipping the signs of clusters:
        ``p``, ``p_holm`` over the protocols and data sets of a judge, ``mde``. Where a data set has several
        subsets, ``agreement`` and ``inconsistency`` come by ``subset`` too.
    """
    by_name = draws(rng)
    main = pd.concat([main_cells(pairs, naming) for naming in NAMINGS])
    rows: list[dict[str, Any]] = []
    for names, cell in cells(main):
        rows += _rates(RATES, names, cell, by_name, inference)
        rows += _place(names, cell, by_name, inference)
    for names, cell in _subsets(main):
        rows += _rates({name: RATES[name] for name in OF_SUBSETS}, names, cell, by_name, inference)
    return corrected(frame(rows), FAMILY)


def _subsets(main: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The cells of each subset of the data sets that have several."""
    several = main.groupby("dataset")["subset"].transform("nunique") > 1
    for names, cell in cells(main[several], (*CELL, "subset")):
        if cell["dataset"].nunique() == 1:  # two data sets' subsets of one name have nothing in common
            yield names, cell


def _rates(
    columns: Mapping[str, str],
    names: Mapping[str, Any],
    cell: pd.DataFrame,
    by_name: Draws,
    inference: Inference,
) -> Iterator[dict[str, Any]]:
    for quantity, column in columns.items():
        asked = asked_of(quantity, cell)
        if len(asked):
            used = asked[asked[column].notna()]
            rng = by_name(quantity, names)
            found = rate_interval(used[column], used["cluster"], rng, inference)
            yield row(quantity, names, found, used, asked)


def asked_of(quantity: str, pairs: pd.DataFrame) -> pd.DataFrame:
    """The pairs that a quantity is about: with a strict label for agreement, all for the others."""
    return pairs[pairs["label"] != "tie"] if quantity.startswith("agreement") else pairs


def _place(
    names: Mapping[str, Any], cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    used = cell[cell["first_shown"].notna()]
    rng = by_name("first_shown", names)
    found = signed_interval(used["first_shown"], used["cluster"], rng, inference)
    yield {
        **row("first_shown", names, found, used, cell),
        **signed_test(used["first_shown"], used["cluster"], rng, inference, STEP["first_shown"]),
    }
