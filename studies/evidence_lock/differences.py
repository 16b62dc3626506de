"""What a protocol changes against another on the same pairs: agreement and inconsistency, paired.

Agreement is compared by order-averaged values and a sign-flip test of whole clusters; McNemar's test is for
inconsistency alone, since the two orders of a pair are one item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.contingency_tables import mcnemar

from shared.metrics.resampling import Inference, signed_interval
from studies.evidence_lock.agreement import FAMILY, NAMINGS, RATES, STEP, asked_of
from studies.evidence_lock.pairs import REFERENCE, cells, main_cells
from studies.evidence_lock.rows import corrected, draws, frame, row, signed_test

COMPARED = ("agreement", "agreement_half", "inconsistency")

MORE = ("p_mcnemar",)
"""Columns beyond `rows.COLUMNS`."""

SAME_PAIR = ("judge", "item", "naming")


def difference_rows(pairs: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """Each protocol less Structured, on the pairs that have two verdicts under both.

    Parameters
    ----------
    pairs : DataFrame
        From `pairs.pairs`; the main cells are used, of neutral names and of letters.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS` and ``p_mcnemar``: a row a judge, data set (and over all), protocol, quantity and
        writer of records. ``quantity`` is one of `COMPARED`, ``condition`` says ``lock - structured``,
        ``reference`` names the second. ``value`` in [-1, 1] is the mean over pairs of the order-averaged
        agreement (or of the verdict's change) less the reference's; ``p`` flips the signs of clusters,
        ``p_holm`` corrects it over the protocols and data sets of a judge, and apart from them over the
        protocols of its rows that pool data sets; ``mde`` is what the test would find with probability 0.8.
        ``p_mcnemar`` is McNemar's exact test, which takes pairs for independent: where clusters have several
        it is too small. ``n_trials`` and ``n_unparsed`` count those of both protocols.
    """
    by_name = draws(rng)
    rows: list[dict[str, Any]] = []
    for naming in NAMINGS:
        main = main_cells(pairs, naming)
        is_reference = main["scheme"] == REFERENCE
        for names, cell in cells(beside(main[~is_reference], main[is_reference])):
            told = {**names, "condition": f"{names['scheme']} - {REFERENCE}", "reference": REFERENCE}
            for quantity in COMPARED:
                if len(asked_of(quantity, cell)):
                    rows.append(difference_row(quantity, told, cell, by_name(quantity, told), inference))
    return corrected(frame(rows, MORE), FAMILY)


def beside(pairs: pd.DataFrame, reference: pd.DataFrame, on: Sequence[str] = SAME_PAIR) -> pd.DataFrame:
    """The pairs that were asked under both, with the reference's values beside.

    Parameters
    ----------
    pairs, reference : DataFrame
        From `pairs.pairs`; the reference has each combination of ``on`` once.
    on : sequence of str
        What one pair is known by.

    Returns
    -------
    DataFrame
        The rows of ``pairs`` that have a partner, with ``<column>_reference`` for the columns that `RATES`
        are made from; ``n_trials`` and ``n_unparsed`` are those of both.

    Raises
    ------
    pandas.errors.MergeError
        If the reference has one pair twice (several budgets, writers or wordings).
    """
    values = [*RATES.values(), "n_trials", "n_unparsed"]
    both = pairs.merge(
        reference[[*on, *values]], on=list(on), suffixes=("", "_reference"), validate="many_to_one"
    )
    counts = {name: both[name] + both[f"{name}_reference"] for name in ("n_trials", "n_unparsed")}
    return both.assign(**counts)


def difference_row(
    quantity: str,
    names: Mapping[str, Any],
    both: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
) -> dict[str, Any]:
    """One paired difference, without ``p_holm``.

    Parameters
    ----------
    quantity : str
        A key of `RATES`.
    names : mapping
        Columns that name the row.
    both : DataFrame
        From `beside`; pairs without a value under either are left out.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    dict
        As a row of `difference_rows`; nan where no pair has both values.
    """
    column, asked = RATES[quantity], asked_of(quantity, both)
    effects = asked[column] - asked[f"{column}_reference"]
    used = asked[effects.notna()]
    effects = effects[effects.notna()]
    found = signed_interval(effects, used["cluster"], rng, inference)
    made = {
        **row(quantity, names, found, used, asked),
        **signed_test(effects, used["cluster"], rng, inference, STEP[quantity]),
    }
    if quantity == "inconsistency":
        made["p_mcnemar"] = mcnemar_p(used[column], used[f"{column}_reference"])
    return made


def mcnemar_p(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """McNemar's exact test of two paired yes-or-no outcomes.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        1 for yes, 0 for no.

    Returns
    -------
    float
        In (0, 1]; 1 where no pair differs, nan for no pairs.

    References
    ----------
    McNemar (1947), Psychometrika 12, 153-157. Computed by statsmodels.

    Examples
    --------
    >>> float(mcnemar_p([1, 1, 1, 1], [0, 0, 0, 1]))  # three pairs differ, all one way: 2 / 2^3
    0.25
    """
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if len(one) == 0:
        return float("nan")
    table = [[np.sum(one & other), np.sum(one & ~other)], [np.sum(~one & other), np.sum(~one & ~other)]]
    return float(mcnemar(table, exact=True).pvalue)
