"""The competence gate of scores: do a judge's mean scores follow the reference scores at all?

A judge that always scores 3, or always picks the first option shown, may look perfectly stable. What fails
the gate is an instrument check, not a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.competence import Verdict
from shared.metrics.permutation import permutation_p
from shared.metrics.resampling import (
    Array,
    Estimate,
    Inference,
    bootstrap,
    cluster_sums,
    named_generator,
    ratio,
    share,
)
from studies.rubric_position_bias.correlation import spearman
from studies.rubric_position_bias.grid import Codes
from studies.rubric_position_bias.strategies import (
    CELL,
    ITEM,
    TRIAL,
    SideBySide,
    estimate,
    resamples,
    side_by_side,
)

BLOCK = 2**20
"""How many exchanges of clusters are held at once."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What the gate found.

    ``follows`` is Spearman's rho of the mean score over the balanced orders with the reference score, ``p``
    its one-sided p-value, ``constant_share`` the share of the most frequent answer.
    """

    follows: Estimate
    p: float
    constant_share: Estimate
    verdict: Verdict


def gate(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> Gate:
    """Put one judge under one scheme on one data set to the gate.

    Parameters
    ----------
    judgements : DataFrame
        One cell's (`strategies.CELL`); only the strategy ``balanced`` is used.
    rng : numpy.random.Generator
    inference : Inference
        ``p`` is one-sided at 1 - ``confidence``. What does not pass has failed only with at least
        ``few_clusters`` clusters that have references; with fewer there are too few to tell.

    Returns
    -------
    Gate
        ``follows`` in [-1, 1], nan where mean scores or references are constant. ``constant_share`` in
        (0, 1]: the share of the most frequent score or, in the setting ``score``, of the most frequent place
        where that is larger. 1 is constant: a judge that always picks one place has a mean score of the
        middle for every item.

    Raises
    ------
    ValueError
        If the frame holds more than one cell, which would be averaged silently.

    Notes
    -----
    The test exchanges the references between whole clusters with the same items, and turns them among a
    cluster's items of one criterion: if scores and references have nothing to do with each other, either
    could as well have stood elsewhere, while the references of a cluster stay together. See `exchanged`.
    """
    balanced = judgements[judgements["strategy"] == "balanced"]
    found = list(side_by_side(balanced))
    if len(found) > 1:
        told = ", ".join(name for name in CELL if balanced[name].nunique() > 1)
        raise ValueError(f"the gate takes one cell at a time, not several of {told}: select one")
    if not found:
        nothing = Estimate(np.nan, np.nan, np.nan, 0)
        return Gate(nothing, np.nan, nothing, "too few to tell")
    follows, p = _follows(found[0][1], rng, inference)
    constant = _constant_share(balanced, rng, inference)
    return Gate(follows, p, constant, _verdict(follows, p, constant, inference))


def gate_rows(
    judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference, by: Sequence[str] = CELL
) -> pd.DataFrame:
    """Each cell's gate: ``follows`` with its ``p``, and ``constant_share``, both with the ``verdict``."""
    entropy = int(rng.integers(2**62))
    columns = list(dict.fromkeys([*by, *CELL, *ITEM, *TRIAL, "position"]))
    balanced = judgements.loc[judgements["strategy"] == "balanced", columns]
    rows: list[dict[str, Any]] = []
    for key, cell in balanced.groupby(list(by), sort=False):
        names = dict(zip(by, key, strict=True))
        result = gate(cell, named_generator(entropy, *map(str, key)), inference)
        counts = {"n_trials": len(cell), "n_unparsed": int(cell["score"].isna().sum())}
        for quantity, found in (("follows", result.follows), ("constant_share", result.constant_share)):
            tested = {"p": result.p} if quantity == "follows" else {}
            rows.append({"quantity": quantity, **names, **_told(found), **tested, **counts})
            rows[-1]["verdict"] = result.verdict
    return pd.DataFrame(rows)


def _told(found: Estimate) -> dict[str, Any]:
    return {
        "value": found.value,
        "ci_low": found.low,
        "ci_high": found.high,
        "n_clusters": found.n_clusters,
    }


def _verdict(follows: Estimate, p: float, constant: Estimate, inference: Inference) -> Verdict:
    if p <= inference.alpha and constant.value < 1:
        return "passed"
    return "failed" if follows.n_clusters >= inference.few_clusters else "too few to tell"


# --- Is it constant? --------------------------------------------------------------------------------


def _constant_share(balanced: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> Estimate:
    """The largest share of one score, or of one place where options have places."""
    parsed = balanced[balanced["score"].notna()]
    if parsed.empty:
        return Estimate(np.nan, np.nan, np.nan, 0)
    answers = ["score", "position"] if (parsed["setting"] == "score").all() else ["score"]
    found = [_largest_share(parsed[answer], parsed["cluster"], rng, inference) for answer in answers]
    return max(found, key=lambda estimated: estimated.value)


def _largest_share(
    answers: pd.Series, clusters: pd.Series, rng: np.random.Generator, inference: Inference
) -> Estimate:
    sums = cluster_sums(pd.get_dummies(answers).to_numpy(dtype=float), clusters)

    def largest(totals: Array) -> Array:
        return share(np.stack([totals.sum(axis=-1), totals.max(axis=-1)], axis=-1))

    return bootstrap(largest, sums, rng, inference)


# --- Does it follow the reference? ------------------------------------------------------------------


def _follows(cell: SideBySide, rng: np.random.Generator, inference: Inference) -> tuple[Estimate, float]:
    x, y = cell.means("balanced", cell.matched_k), cell.reference
    used = ~np.isnan(x + y)
    n_clusters = len(np.unique(cell.clusters[used]))
    weights = resamples(rng, inference)("", cell.n_clusters)
    found = estimate(spearman(x, y, cell.clusters, weights), n_clusters, (-1.0, 1.0), inference)
    if np.isnan(found.value):
        return found, np.nan
    null = exchanged(x[used], y[used], cell.items[used], inference.permutations, rng)
    return found, permutation_p(found.value, null)


def exchanged(x: Array, y: Array, items: pd.DataFrame, permutations: int, rng: np.random.Generator) -> Array:
    """Spearman's rho where references have nothing to do with scores.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
        Mean scores and references, neither constant.
    items : DataFrame, n rows
        ``cluster`` and ``criterion`` of each.
    permutations : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (permutations,)

    Notes
    -----
    Clusters exchange their references with clusters that have as many items of each criterion; within a
    cluster the references of one criterion then turn by a random number of places, independently. Both keep
    what clusters have in common, and criteria apart. All combinations form a group (the wreath product of
    rotations and permutations), and the draws are uniform on it, so that the test is exact. In which sequence
    items turn is drawn once, since the sequence in a file may follow their quality.

    References
    ----------
    Hemerik and Goeman (2018), TEST 27, 811-825 (random draws from a group).
    """
    ranks_x, ranks_y = (_standardised_ranks(values) for values in (x, y))
    null = np.zeros(permutations)
    for places, widths in _layouts(items, rng):
        null += _exchanged_alike(ranks_x[places], ranks_y[places], widths, permutations, rng)
    return null


def _standardised_ranks(values: Array) -> Array:
    """Ranks of mean 0 and sum of squares 1: the product of two such vectors is rho."""
    ranks = pd.Series(values).rank().to_numpy()
    centred = ranks - ranks.mean()
    return ratio(centred, np.sqrt((centred**2).sum()))


def _layouts(items: pd.DataFrame, rng: np.random.Generator) -> Iterator[tuple[Codes, list[int]]]:
    """Clusters with as many items of each criterion: items (clusters, items), and items of each criterion."""
    table = items[["cluster", "criterion"]].fillna("")
    table = table.assign(place=np.arange(len(items)), turn=rng.random(len(items)))
    table = table.sort_values(["cluster", "criterion", "turn"], ignore_index=True)
    counts = table.groupby(["cluster", "criterion"]).size().rename("count").reset_index()
    of_cluster = counts.groupby("cluster")
    layouts = pd.DataFrame({name: of_cluster[name].agg(tuple) for name in ("criterion", "count")})
    for _, clusters in layouts.groupby(["criterion", "count"], sort=False):
        places = table.loc[table["cluster"].isin(clusters.index), "place"].to_numpy()
        yield places.reshape(len(clusters), -1), list(clusters["count"].iloc[0])


def _exchanged_alike(
    x: Array, y: Array, widths: Sequence[int], permutations: int, rng: np.random.Generator
) -> Array:
    """The summed products of scores and exchanged references: (clusters, items) to (permutations,)."""
    n = len(x)
    tables = _products(x, y, widths)
    null = np.empty(permutations)
    step = max(1, BLOCK // n)
    for start in range(0, permutations, step):
        size = min(step, permutations - start)
        other = rng.random((size, n)).argsort(axis=1)
        own = np.arange(n)
        parts = (table[rng.integers(len(table), size=(size, n)), own, other] for table in tables)
        null[start : start + size] = sum(part.sum(axis=1) for part in parts)
    return null


def _products(x: Array, y: Array, widths: Sequence[int]) -> list[Array]:
    """Of each criterion: the product of every cluster's scores with every cluster's turned references.

    (turns, clusters, clusters). Criteria of one item a cluster, which has nothing to turn, are added up.
    """
    of_criterion = np.repeat(np.arange(len(widths)), widths)
    single = np.isin(of_criterion, np.flatnonzero(np.equal(widths, 1)))
    tables: list[Array] = [(x[:, single] @ y[:, single].T)[None]] if single.any() else []
    for criterion, width in enumerate(widths):
        if width == 1:
            continue
        own, other = (values[:, of_criterion == criterion] for values in (x, y))
        tables.append(np.stack([own @ np.roll(other, turn, axis=1).T for turn in range(width)]))
    return tables
