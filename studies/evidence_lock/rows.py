"""Rows of results: an estimate with its names, its test, and what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.metrics.multiplicity import holm
from shared.metrics.permutation import sign_flip_test
from shared.metrics.power import cluster_contributions, minimum_detectable_effect
from shared.metrics.resampling import Estimate, Inference, cluster_sums, named_generator
from studies.evidence_lock.pairs import POOLED

COLUMNS = (
    "quantity", "judge", "dataset", "scheme", "condition", "reference", "subset", "record_chars", "wording",
    "naming", "temperature", "writer", "value", "ci_low", "ci_high", "p", "p_holm", "mde",
    "n_items", "n_trials", "n_clusters", "n_unparsed",
)  # fmt: skip
"""Of every frame of rows; what does not apply to a row is nan."""

Draws = Callable[..., np.random.Generator]
"""A generator for what the names name, in whatever sequence rows are made."""


def draws(rng: np.random.Generator) -> Draws:
    """Generators by name, so that adding a cell moves no other cell's interval.

    Examples
    --------
    >>> by_name = draws(np.random.default_rng(0))
    >>> bool(by_name("agreement", {"judge": "a"}).random() == by_name("agreement", {"judge": "a"}).random())
    True
    """
    entropy = int(rng.integers(2**62))

    def of(quantity: str, names: Mapping[str, Any]) -> np.random.Generator:
        told = (f"{name}={names[name]}" for name in sorted(names))
        return named_generator(entropy, quantity, *told)

    return of


def row(
    quantity: str, names: Mapping[str, Any], found: Estimate, used: pd.DataFrame, asked: pd.DataFrame
) -> dict[str, Any]:
    """An estimate with its names and sizes.

    Parameters
    ----------
    quantity : str
    names : mapping
        What names the cell, by column.
    found : Estimate
    used, asked : DataFrame
        The rows that the estimate rests on, and all that it was asked of, both with ``item, cluster,
        n_trials, n_unparsed``.

    Returns
    -------
    dict
        ``n_items``, ``n_clusters`` and ``n_trials`` count what was used, ``n_unparsed`` the trials without a
        verdict in all that was asked.
    """
    return {
        "quantity": quantity,
        **names,
        "value": found.value,
        "ci_low": found.low,
        "ci_high": found.high,
        "n_items": used["item"].nunique(),
        "n_trials": int(used["n_trials"].sum()),
        "n_clusters": used["cluster"].nunique(),
        "n_unparsed": int(asked["n_unparsed"].sum()),
    }


def signed_test(
    effects: npt.ArrayLike,
    clusters: npt.ArrayLike,
    rng: np.random.Generator,
    inference: Inference,
    unit: float = 1.0,
) -> dict[str, float]:
    """P-value and detectable effect of signed effects in [-1, 1], given one by one.

    Parameters
    ----------
    effects, clusters : array_like, shape (n,)
    rng : numpy.random.Generator
    inference : Inference
    unit : float
        The least by which an effect differs from 0, if it does: 1 of a verdict that is another or not, 0.5 of
        the mean of two.

    Returns
    -------
    dict
        ``p``: the sign-flip test of whole clusters, two-sided; ``mde``: the smallest effect that it would
        find with probability 0.8. Nothing for no effects.

    Notes
    -----
    The detectable effect is the larger of that by the clusters' spread and ``unit`` times the share of
    clusters that must move, all one way, for the test to mostly see it: few that moved have little spread.
    All of a moved cluster's effects are taken to move.
    """
    values = np.asarray(effects, dtype=float)
    if len(values) == 0:
        return {}
    counts, sums = cluster_sums(np.column_stack([np.ones(len(values)), values]), clusters).T
    return {
        "p": sign_flip_test(sums, inference.permutations, rng),
        # In units: what is found by spread grows with them, the share that must move does not.
        "mde": unit * minimum_detectable_effect(cluster_contributions(sums / unit, counts), inference.alpha),
    }


def corrected(rows: pd.DataFrame, family: Sequence[str]) -> pd.DataFrame:
    """The rows with ``p_holm``: Holm over each family; rows that pool data sets are families of their own.

    Parameters
    ----------
    rows : DataFrame
        With ``p`` and ``dataset``.
    family : sequence of str
        The columns whose values name a family.
    """
    if rows.empty:
        return rows
    pooled = rows["dataset"].eq(POOLED).rename("pooled")
    families = rows.groupby([*(rows[name] for name in family), pooled], dropna=False)
    return rows.assign(p_holm=families["p"].transform(holm))


def frame(rows: Sequence[Mapping[str, Any]], more: Sequence[str] = ()) -> pd.DataFrame:
    """Rows as a frame of `COLUMNS`, then ``more``."""
    return pd.DataFrame(list(rows), columns=[*COLUMNS, *more])
