"""What the orders of options do to rankings: the candidates of a prompt, ranked by two mean scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from shared.metrics.resampling import Array, Estimate, Inference, named_generator, ratio
from studies.rubric_position_bias.agreement import comparisons
from studies.rubric_position_bias.grid import Codes
from studies.rubric_position_bias.position import NEEDS_ALL, lacks_orders
from studies.rubric_position_bias.strategies import (
    CELL,
    SideBySide,
    estimate,
    mean_parsed,
    resamples,
    side_by_side,
)

SPLITS = 20
"""Random splits of an item's orders, over which the floor of halves is averaged."""

DIGITS = 9
"""Means that agree to so many decimals are ties: the order of additions must not rank candidates."""

QUANTITIES = ("kendall_tau", "top1_change_low", "top1_change_high")

BOUNDS = ((-1.0, 1.0), (0.0, 1.0), (0.0, 1.0))
DIFFERENCE_BOUNDS = ((-2.0, 2.0), (-1.0, 1.0), (-1.0, 1.0))


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


def random_halves(scores: Array, rng: np.random.Generator, splits: int = SPLITS) -> tuple[Array, Array]:
    """Mean scores over half of an item's orders, and over as many others.

    Parameters
    ----------
    scores : ndarray, shape (n, K)
    rng : numpy.random.Generator
        Which orders are in a half is drawn for each item; of an odd K one is in none.
    splits : int

    Returns
    -------
    ndarray, ndarray, shape (splits, n)
        No order is in both.
    """
    drawn = rng.random((splits, *scores.shape)).argsort(axis=-1)
    shuffled = np.take_along_axis(np.broadcast_to(scores, drawn.shape), drawn, axis=-1)
    half = scores.shape[-1] // 2
    return mean_parsed(shuffled[..., :half]), mean_parsed(shuffled[..., half : 2 * half])


def by_order(cell: SideBySide) -> Array:
    """The score of every item under each balanced order.

    Parameters
    ----------
    cell : SideBySide
        With the strategy ``balanced``.

    Returns
    -------
    ndarray, shape (orders, n)
        All items of a row were shown the same order; nan where an item was not asked under it, or its answer
        gives no score.
    """
    laid = cell.grids["balanced"]
    powers = 10 ** np.arange(laid.size, dtype=np.int64)
    found, orders = np.unique(laid.orders @ powers, return_inverse=True)
    scores = np.full((len(found), len(cell.items)), np.nan)
    items = np.broadcast_to(cell.places["balanced"][:, None], laid.scores.shape)
    scores[orders.reshape(items.shape), items] = laid.scores
    return scores[found > 0]  # 0: no such trial


# --- Rows -------------------------------------------------------------------------------------------


HALVES, ONE = "halves of balanced", "one of balanced - balanced"
"""The floors: how far rankings differ if the orders that make them are any."""


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Two rankings of a cell's contests, or a difference of two such comparisons.

    Attributes
    ----------
    condition : str
    k : int
    strategies : tuple of str
    columns : ndarray, shape (contests, 5)
        From `_columns`: weight and value of tau, weight and values of the bounds of changes.
    sums : ndarray, shape (clusters, 5)
    means : ndarray, shape (1 + resamples, 3)
        Of tau and both bounds, in the sample and in each resample.
    """

    condition: str
    k: int
    strategies: tuple[str, ...]
    columns: Array
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

        * ``balanced - fixed``, ``balanced - random``: the strategies' means over ``k`` orders, the most that
          both have;
        * ``halves of balanced``: two disjoint random halves of each item's balanced orders;
        * ``one of balanced - balanced``: one balanced order, the same for all candidates, and the mean over
          all of them; averaged over all orders. This is the floor of a Fixed that is asked once; nan, with a
          ``note``, where not all balanced orders were asked (`lacks_orders`);
        * ``balanced - fixed over one``, or above temperature 0 ``balanced - fixed over halves``: what the
          canonical order adds to the choice of any order, contest by contest, where both have a tau or a best
          candidate. Its ``top1_change_low`` is ours with ties broken for agreement less the floor's with ties
          broken against it, ``top1_change_high`` the other way: the truth lies between, however ties break.

        ``n_contests`` enter a share; ``n_undefined`` of them have no tau, since a ranking has nothing but
        ties (over floors: on average over orders or splits).

    Notes
    -----
    If the canonical order is an order like any other, exchanging it for another balanced one changes nothing
    in distribution, so that the mean of ``over one`` is 0: the floor has the same candidates under one order
    in common, and the same mean over all orders, the canonical one among them. Halves of n orders each are
    noisier than means over 2n, so that their floor is an upper one for strategies that ask 2n; an item's
    halves are its own, as the orders of Random are.
    """
    weights = resamples(rng, inference)
    entropy = int(rng.integers(2**62))
    rows: list[dict[str, Any]] = []
    for names, cell in side_by_side(judgements, by, fewest=2):
        generator = named_generator(entropy, *map(str, names.values()))
        kinds = list(_contest_kinds(cell))
        vectors = _vectors(cell, generator) if kinds else []
        for contest, among in kinds:
            drawn = weights(names["dataset"], cell.n_clusters)
            found = [_compared(*vector, among, drawn) for vector in vectors]
            head = {**names, "contest": contest, "n_items": len(among.items)}
            rows += [row for one in found for row in _rows(one, head, cell, inference, BOUNDS)]
            rows += list(_lacking_rows(cell, head))
            for excess in _excess(cell, found, among, drawn):
                rows += list(_rows(excess, head, cell, inference, DIFFERENCE_BOUNDS))
    return pd.DataFrame(rows)


def _contest_kinds(cell: SideBySide) -> Iterator[tuple[str, Contests]]:
    among = contests(cell)
    if among is None:
        return
    yield "prompt", among
    each = contests(cell, ("prompt", "criterion"))
    if each is not None and len(among.candidates) < len(among.items):
        yield "prompt and criterion", each


Vectors = tuple[str, int, tuple[str, ...], Array, Array]
"""What is compared: its condition, number of orders and strategies, and two score vectors (..., n)."""


def _vectors(cell: SideBySide, rng: np.random.Generator) -> list[Vectors]:
    found: list[Vectors] = []
    for pair, k in comparisons(cell).items():
        one, other = (cell.means(strategy, k)[None] for strategy in pair)
        found.append((" - ".join(pair), k, pair, one, other))
    own = ("balanced",)
    k = cell.common_k(*own) if "balanced" in cell.grids else 1
    if k > 1:
        found.append((HALVES, k // 2, own, *random_halves(cell.scores("balanced", k), rng)))
    if k > 1 and not _lacks_orders(cell):
        every = by_order(cell)
        found.append((ONE, 1, own, every, np.broadcast_to(cell.means("balanced", k), every.shape)))
    return found


def _lacks_orders(cell: SideBySide) -> bool:
    return lacks_orders(cell.grids["balanced"])


def _lacking_rows(cell: SideBySide, head: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Of the floor that takes all balanced orders, where they were not asked."""
    if "balanced" in cell.grids and _lacks_orders(cell):
        for quantity in QUANTITIES:
            yield {"quantity": quantity, **head, "condition": ONE, "k": 1, "value": np.nan, "note": NEEDS_ALL}


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
    return _averaged(condition, k, strategies, columns, among, weights)


def _averaged(
    condition: str,
    k: int,
    strategies: tuple[str, ...],
    columns: Array,
    among: Contests,
    weights: Array,
) -> Compared:
    sums = np.zeros((len(weights), columns.shape[1]))
    np.add.at(sums, among.clusters, columns)
    totals = weights.T @ sums
    means = ratio(totals[:, [1, 3, 4]], totals[:, [0, 2, 2]])
    return Compared(condition, k, strategies, columns, sums, means)


def _columns(x: Array, y: Array, among: Contests) -> Array:
    """(has tau, tau, has best, low, high) of each contest, averaged over the leading axis of splits."""
    tau = kendall_tau(x, y, among)
    low, high = top1_changes(x, y, among)
    parts = [~np.isnan(tau), np.nan_to_num(tau), ~np.isnan(low), np.nan_to_num(low), np.nan_to_num(high)]
    return np.stack([part.astype(float).mean(axis=0) for part in parts], axis=-1)


def _rows(
    found: Compared,
    head: dict[str, Any],
    cell: SideBySide,
    inference: Inference,
    bounds: Sequence[tuple[float, float]],
) -> Iterator[dict[str, Any]]:
    with_tau, _, with_best, _, _ = found.sums.sum(axis=0)
    k = cell.common_k(*found.strategies)  # floors take all orders, whatever a mean is over
    for place, quantity in enumerate(QUANTITIES):
        interval = estimate(found.means[:, place], found.n_clusters, bounds[place], inference)
        if bounds[place] == (0.0, 1.0):
            interval = _at_least_wilson(interval, inference)
        yield {
            "quantity": quantity,
            **head,
            "condition": found.condition,
            "k": found.k,
            "value": interval.value,
            "ci_low": interval.low,
            "ci_high": interval.high,
            "n_clusters": interval.n_clusters,
            "n_contests": with_best,
            "n_undefined": with_best - with_tau,
            "n_unparsed": cell.n_unparsed(k, *found.strategies),
        }


def _at_least_wilson(found: Estimate, inference: Inference) -> Estimate:
    """The envelope of the bootstrap and Wilson's interval over clusters, as in `rate_interval`."""
    if np.isnan(found.low):
        return found
    n = found.n_clusters
    low, high = proportion_confint(found.value * n, n, alpha=inference.alpha, method="wilson")
    return Estimate(found.value, min(float(low), found.low), max(float(high), found.high), n)


def _excess(
    cell: SideBySide, compared: Sequence[Compared], among: Contests, weights: Array
) -> Iterator[Compared]:
    """What the fixed order does beyond its floor: one answer beyond one order, several beyond halves."""
    by_condition = {found.condition: found for found in compared}
    ours = by_condition.get("balanced - fixed")
    if ours is None:
        return
    floor, name = (ONE, "one") if cell.stands_for_any_k("fixed") else (HALVES, "halves")
    if floor in by_condition:
        columns = excess_columns(ours.columns, by_condition[floor].columns)
        condition = f"{ours.condition} over {name}"
        yield _averaged(condition, ours.k, ours.strategies, columns, among, weights)


def excess_columns(ours: Array, floor: Array) -> Array:
    """A comparison less its floor, contest by contest, where both are defined.

    Parameters
    ----------
    ours, floor : ndarray, shape (contests, 5)
        (has tau, tau, has best, low, high); of a floor averaged over splits, in which a contest that is
        undefined counts 0 throughout.

    Returns
    -------
    ndarray, shape (contests, 5)
        The same: weights 0 or 1, and differences. The low bound of a difference takes the floor's high one,
        and the high bound its low one: with ours in [a, b] and the floor in [c, d], b - d is no bound.
    """
    both_tau, both_best = ((ours[:, place] > 0) & (floor[:, place] > 0) for place in (0, 2))
    tau = ours[:, 1] - ratio(floor[:, 1], floor[:, 0])
    low, high = ours[:, 3] - ratio(floor[:, 4], floor[:, 2]), ours[:, 4] - ratio(floor[:, 3], floor[:, 2])
    parts = (both_tau, np.where(both_tau, tau, 0.0), both_best)
    return np.stack([*parts, *(np.where(both_best, end, 0.0) for end in (low, high))], axis=-1).astype(float)
