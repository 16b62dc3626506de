"""What the orders of options do to rankings: the candidates of a prompt, ranked by two mean scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from shared.metrics.resampling import Array, Estimate, Inference, named_generator, ratio
from studies.rubric_position_bias.agreement import comparisons
from studies.rubric_position_bias.grid import Codes
from studies.rubric_position_bias.strategies import (
    CELL,
    SideBySide,
    estimate,
    mean_parsed,
    resamples,
    side_by_side,
)

SPLITS = 20
"""Random splits of an item's orders, over which a floor is averaged."""

DIGITS = 9
"""Means that agree to so many decimals are ties: the order of additions must not rank candidates."""

QUANTITIES = ("kendall_tau", "top1_change_low", "top1_change_high")

BOUNDS = ((-1.0, 1.0), (0.0, 1.0), (0.0, 1.0))


# --- Contests ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Contests:
    """Who competes with whom.

    Attributes
    ----------
    items : ndarray of int, shape (m,)
        Rows of the cell's items, sorted by contest and candidate.
    candidates : ndarray of int, shape (candidates,)
        Where in ``items`` each candidate's begin: one item, or one a criterion.
    starts : ndarray of int, shape (contests,)
        Where among the candidates each contest's begin; two candidates or more each.
    clusters : ndarray of int, shape (contests,)
        The cluster of each contest.
    """

    items: Codes
    candidates: Codes
    starts: Codes
    clusters: Codes

    def means(self, scores: Array) -> Array:
        """Each candidate's mean over its items, (..., n) to (..., candidates); nan where one has none."""
        sizes = np.diff(self.candidates, append=len(self.items))
        sums = np.add.reduceat(scores[..., self.items], self.candidates, axis=-1)
        return np.round(sums / sizes, DIGITS)

    def pairs(self) -> tuple[Codes, Codes, Codes]:
        """All pairs of candidates of one contest, and where each contest's pairs begin."""
        sizes = np.diff(self.starts, append=len(self.candidates))
        found = [start + _pairs_of(size) for start, size in zip(self.starts, sizes.tolist(), strict=True)]
        first, second = np.concatenate(found, axis=1)
        counts = sizes * (sizes - 1) // 2
        return first, second, np.cumsum(counts) - counts


@cache
def _pairs_of(size: int) -> Codes:
    return np.stack(np.triu_indices(size, 1))


def contests(cell: SideBySide, within: Sequence[str] = ("prompt",)) -> Contests | None:
    """The contests of a cell.

    Parameters
    ----------
    cell : SideBySide
    within : sequence of str
        What a contest is: ``("prompt",)``, with each candidate's mean over its criteria; or ``("prompt",
        "criterion")``.

    Returns
    -------
    Contests or None
        None where no prompt has two candidates.
    """
    key = list(within)
    named = cell.items[cell.items["prompt"].fillna("") != ""]
    rivals = named.groupby(key)["system"].transform("nunique")
    table = named[rivals > 1].sort_values([*key, "system", "criterion"])
    if table.empty:
        return None
    heads = table.reset_index(drop=True).drop_duplicates([*key, "system"])
    firsts = heads.reset_index(drop=True).drop_duplicates(key)
    items = table.index.to_numpy()
    starts = firsts.index.to_numpy()
    candidates = heads.index.to_numpy()
    return Contests(items, candidates, starts, cell.clusters[items[candidates[starts]]])


# --- Two rankings -----------------------------------------------------------------------------------


def kendall_tau(x: Array, y: Array, among: Contests) -> Array:
    """Kendall's tau-b of two rankings, contest by contest.

    Parameters
    ----------
    x, y : ndarray, shape (..., candidates)
        Mean scores. A candidate with a nan takes no part.
    among : Contests

    Returns
    -------
    ndarray, shape (..., contests)
        In [-1, 1]; nan where one of the two ranks nobody above another.

    References
    ----------
    Kendall (1945), Biometrika 33, 239-251.

    See Also
    --------
    scipy.stats.kendalltau : the oracle; one contest a call.
    """
    first, second, starts = among.pairs()
    one, other = np.sign(x[..., first] - x[..., second]), np.sign(y[..., first] - y[..., second])
    both = ~np.isnan(one + other)
    one, other = np.where(both, one, 0.0), np.where(both, other, 0.0)
    concordance, of_one, of_other = (
        np.add.reduceat(products, starts, axis=-1) for products in (one * other, one**2, other**2)
    )
    return ratio(concordance, np.sqrt(of_one * of_other))


def top1_changes(x: Array, y: Array, among: Contests) -> tuple[Array, Array]:
    """Does the best candidate change? Bounds over all ways to break ties.

    Parameters
    ----------
    x, y : ndarray, shape (..., candidates)
        Mean scores. A candidate with a nan takes no part.
    among : Contests

    Returns
    -------
    low, high : ndarray of {0, 1}, shape (..., contests)
        Low: 1 where no candidate is among the best of both. High: 0 only where both have the same single
        best one. nan where fewer than two candidates are left.
    """
    there = ~np.isnan(x + y)
    best = [_best(np.where(there, scores, -np.inf), among) & there for scores in (x, y)]
    count = np.add.reduceat(there.astype(int), among.starts, axis=-1)
    in_both = np.logical_or.reduceat(best[0] & best[1], among.starts, axis=-1)
    in_any = np.add.reduceat((best[0] | best[1]).astype(int), among.starts, axis=-1)
    low, high = (np.where(count > 1, changed, np.nan) for changed in (~in_both, in_any > 1))
    return low, high


def _best(scores: Array, among: Contests) -> npt.NDArray[np.bool_]:
    sizes = np.diff(among.starts, append=scores.shape[-1])
    best = np.maximum.reduceat(scores, among.starts, axis=-1)
    return np.asarray(scores == np.repeat(best, sizes, axis=-1))


def random_split(
    scores: Array, sizes: tuple[int, int], rng: np.random.Generator, splits: int = SPLITS
) -> tuple[Array, Array]:
    """Mean scores over some of an item's orders, and over some others.

    Parameters
    ----------
    scores : ndarray, shape (n, K)
    sizes : (int, int)
        Over how many orders each mean is, K at most together; which ones is drawn for each item.
    rng : numpy.random.Generator
    splits : int

    Returns
    -------
    ndarray, ndarray, shape (splits, n)
        No order is in both.
    """
    drawn = rng.random((splits, *scores.shape)).argsort(axis=-1)
    shuffled = np.take_along_axis(np.broadcast_to(scores, drawn.shape), drawn, axis=-1)
    one, other = sizes
    return mean_parsed(shuffled[..., :one]), mean_parsed(shuffled[..., one : one + other])


# --- Rows -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Two rankings of a cell's contests: cluster sums of `_columns`, and all resamples' means (1 + R, 3)."""

    condition: str
    k: int
    strategies: tuple[str, ...]
    n_items: int
    sums: Array
    means: Array

    @property
    def n_clusters(self) -> int:
        return int((self.sums[:, 2] > 0).sum())


def ranking_rows(
    judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference, by: Sequence[str] = CELL
) -> pd.DataFrame:
    """How far rankings and best candidates differ between order strategies, and by chance alone.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``. Only cells with two strategies or more enter, and prompts with two candidates or more.
    rng : numpy.random.Generator
    inference : Inference
    by : sequence of str
        What makes a cell.

    Returns
    -------
    DataFrame
        ``kendall_tau``: mean tau-b over contests, in [-1, 1]; ``top1_change_low`` and ``top1_change_high``:
        share of contests whose best candidate changes, ties broken in favour of and against agreement.
        ``contest`` is ``prompt`` or, where a candidate has several criteria, also ``prompt and criterion``.
        ``condition``:

        * ``balanced - fixed``, ``balanced - random``: the strategies' means over ``k`` orders;
        * ``halves of balanced``: two disjoint random halves of each item's balanced orders;
        * ``one of balanced - the others``: one random balanced order and the mean over the others, which is
          the floor of a Fixed that is asked once;
        * ``balanced - fixed over halves``, ``balanced - fixed over one``: the difference to these floors, in
          the same resamples: what the fixed order adds to the choice of any orders.

        ``n_contests`` enter a share; ``n_undefined`` of them have no tau, since a ranking has nothing but
        ties (over floors: on average over `SPLITS` splits).

    Notes
    -----
    Halves of n orders each are noisier than means over 2n, so that their floor is an upper one for
    strategies that ask 2n. An item's halves are its own: they are drawn anew for each candidate.
    """
    weights = resamples(rng, inference)
    entropy = int(rng.integers(2**62))
    rows: list[dict[str, Any]] = []
    for names, cell in side_by_side(judgements, by, fewest=2):
        generator = named_generator(entropy, *map(str, names.values()))
        vectors = _vectors(cell, generator)
        for contest, among in _contest_kinds(cell) if vectors else ():
            drawn = weights(names["dataset"], cell.n_clusters)
            compared = [_compared(*vector, among, drawn) for vector in vectors]
            head = {**names, "contest": contest}
            rows += [row for found in compared for row in _rows(found, head, cell, inference)]
            rows += list(_excess_rows(compared, head, inference))
    return pd.DataFrame(rows)


def _contest_kinds(cell: SideBySide) -> Iterator[tuple[str, Contests]]:
    among = contests(cell)
    if among is None:
        return
    yield "prompt", among
    each = contests(cell, ("prompt", "criterion"))
    if each is not None and len(among.candidates) < len(among.items):
        yield "prompt and criterion", each


def _vectors(
    cell: SideBySide, rng: np.random.Generator
) -> list[tuple[str, int, tuple[str, ...], Array, Array]]:
    """What is compared: its condition, number of orders and strategies, and two score vectors."""
    k = cell.matched_k
    found: list[tuple[str, int, tuple[str, ...], Array, Array]] = []
    for pair in comparisons(cell, k):
        one, other = (cell.means(strategy, k)[None] for strategy in pair)
        found.append((" - ".join(pair), k, pair, one, other))
    if "balanced" in cell.grids and k > 1:
        scores = cell.scores("balanced", k)
        found.append((HALVES, k // 2, ("balanced",), *random_split(scores, (k // 2, k // 2), rng)))
        found.append((ONE, 1, ("balanced",), *random_split(scores, (1, k - 1), rng)))
    return found


HALVES, ONE = "halves of balanced", "one of balanced - the others"


def _compared(
    condition: str,
    k: int,
    strategies: tuple[str, ...],
    x: Array,
    y: Array,
    among: Contests,
    weights: Array,
) -> Compared:
    columns = _columns(among.means(x), among.means(y), among)
    sums = np.zeros((len(weights), columns.shape[1]))
    np.add.at(sums, among.clusters, columns)
    totals = weights.T @ sums
    return Compared(
        condition, k, strategies, len(among.items), sums, ratio(totals[:, [1, 3, 4]], totals[:, [0, 2, 2]])
    )


def _columns(x: Array, y: Array, among: Contests) -> Array:
    """(has tau, tau, has best, low, high) of each contest, averaged over the leading axis of splits."""
    tau = kendall_tau(x, y, among)
    low, high = top1_changes(x, y, among)
    parts = [~np.isnan(tau), np.nan_to_num(tau), ~np.isnan(low), np.nan_to_num(low), np.nan_to_num(high)]
    return np.stack([part.astype(float).mean(axis=0) for part in parts], axis=-1)


def _rows(
    found: Compared, head: dict[str, Any], cell: SideBySide, inference: Inference
) -> Iterator[dict[str, Any]]:
    with_tau, _, with_best, _, _ = found.sums.sum(axis=0)
    for place, quantity in enumerate(QUANTITIES):
        draws = found.means[:, place]
        interval = estimate(draws, found.n_clusters, BOUNDS[place], inference)
        if quantity != "kendall_tau":
            interval = _at_least_wilson(interval, inference)
        yield {
            **_estimated(quantity, found, head, interval),
            "n_contests": with_best,
            "n_undefined": with_best - with_tau,
            "n_unparsed": cell.n_unparsed(*found.strategies),
        }


def _estimated(quantity: str, found: Compared, head: dict[str, Any], interval: Estimate) -> dict[str, Any]:
    return {
        "quantity": quantity,
        **head,
        "condition": found.condition,
        "k": found.k,
        "value": interval.value,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "n_items": found.n_items,
        "n_clusters": interval.n_clusters,
    }


def _at_least_wilson(found: Estimate, inference: Inference) -> Estimate:
    """The envelope of the bootstrap and Wilson's interval over clusters, as in `rate_interval`."""
    if np.isnan(found.low):
        return found
    n = found.n_clusters
    low, high = proportion_confint(found.value * n, n, alpha=inference.alpha, method="wilson")
    return Estimate(found.value, min(float(low), found.low), max(float(high), found.high), n)


def _excess_rows(
    compared: Sequence[Compared], head: dict[str, Any], inference: Inference
) -> Iterator[dict[str, Any]]:
    """What the fixed order does beyond each floor."""
    by_condition = {found.condition: found for found in compared}
    ours = by_condition.get("balanced - fixed")
    for floor, name in ((HALVES, "halves"), (ONE, "one")):
        if ours is None or floor not in by_condition:
            continue
        differences = ours.means - by_condition[floor].means
        over = replace(ours, condition=f"balanced - fixed over {name}", means=differences)
        for place, quantity in enumerate(QUANTITIES):
            reach = BOUNDS[place][1] - BOUNDS[place][0]
            interval = estimate(differences[:, place], ours.n_clusters, (-reach, reach), inference)
            yield _estimated(quantity, over, head, interval)
