"""Does a criterion's score depend on where the criterion stands in the prompt? Frames in, tidy frames out.

Here the place is the factor and the score the outcome: under balanced orders every criterion stands equally
often at every place, so that a judge that reads the text and not the list gives it the same mean at each.
Where the range of scores is listed in two orders, each is a design of its own: what one order does, the other
can undo, and a mean over both would hide it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from shared.metrics.permutation import permutation_p, sign_flip_test, swap_null
from shared.metrics.power import cluster_contributions, minimum_detectable_effect
from shared.metrics.resampling import Array, Estimate, Inference, named_generator, ratio
from studies.rubric_position_bias.grid import CELL, Codes, cells
from studies.rubric_position_bias.metrics import (
    detectable_v,
    interval,
    null_range,
    null_sums,
    permutation_pool,
)
from studies.rubric_position_bias.position import MOVING, SHARP, Weights, weights_of, with_holm

FAMILY = {"scheme": "base", "temperature": 0.0, "effort": ""}
"""The cells whose p-values are corrected together: every judge, data set, criterion and order of the range of
the main design."""

BY = (*CELL, "criterion")
"""What both orders of the range have in common."""

SCALES = ("12345", "54321")
"""The two orders of the range's levels. `_scale_rows` alone looks at both together."""

RANGE = 4.0
"""From the lowest score to the highest, in points."""


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """One criterion's scores under one order of the range, items by orders of the criteria.

    ``items`` (items,) are names; ``scores`` (items, K) are nan where none was given; ``places`` (K,) is where
    the criterion stands in each order, from 0; ``clusters`` (items,) are codes 0 .. C-1; ``n_unparsed``
    counts trials.
    """

    items: npt.NDArray[np.object_]
    scores: Array
    places: Codes
    clusters: Codes
    n_unparsed: int

    @property
    def size(self) -> int:
        """Number of criteria."""
        return int(self.places.max(initial=-1)) + 1

    def place_means(self) -> Array:
        """`place_means` of each item, (items, size)."""
        return place_means(self.scores, self.places, self.size)


def criteria_rows(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """How a criterion's score moves with its place in the list (58 of the paper's 60 tests).

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; of the setting ``criteria`` the strategy ``balanced`` is used.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        For each judge, data set, scheme, temperature, effort, criterion and order of the range (``scale``),
        over items that have a score at every place (an item's score at a place is its mean over the orders
        that put the criterion there):

        ``criterion_mean`` (condition "place p")
            In points.
        ``last_minus_first``
            The signed shift from the first place to the last; ``p`` from sign flips of whole clusters and
            ``mde``, the smallest shift that this test would find with probability 0.8.
        ``largest_shift``
            Largest mean over places less the smallest; ``p`` and null range from permutations.
        ``friedman``
            Friedman's chi-square, blocked by item, with the paper's ``p`` (m - 1 degrees of freedom).
        ``kendalls_w``
            The same as an effect in [0, 1]. ``p``, the primary test: in each draw the scores of all items of
            a cluster are dealt anew to the orders by one permutation; ``mde`` the smallest W that would be
            found with probability 0.8.

        ``p_holm`` of ``friedman`` and of ``kendalls_w`` over the declared family (`FAMILY`) each, nan
        elsewhere; ``changed`` tells whether these two tests differ at 1 - ``confidence``, and why
        (`why_tests_differ`).

        Of both orders of the range together (``scale`` is ""), where both were asked, which tells whether
        the axes are independent:

        ``scale_shift``
            Mean under "12345" less that under "54321"; signed, with ``p`` from sign flips.
        ``shift_difference``
            `largest_shift` under "12345" less that under "54321"; signed. An interval and no test: profiles
            that differ can have equal largest shifts, so that exchanging them would test another hypothesis.
            ``axes_interaction`` is the test of whether the axes are independent.
        ``axes_interaction``
            Root mean square, over places, of the difference between the two profiles (an item's scores by
            place less their mean): 0 where place and scale add up. ``p`` and null range from exchanging the
            scales within clusters.
    """
    entropy = int(rng.integers(2**62))
    weights = weights_of(entropy, inference)
    wanted = (judgements["setting"] == "criteria") & (judgements["strategy"] == "balanced")
    columns = [*BY, "item", "cluster", "order", "scale", "position", "score"]
    rows: list[dict[str, Any]] = []
    for names, cell in cells(judgements.loc[wanted, columns], BY):
        found = {str(scale): profile(own) for scale, own in cell.groupby("scale", sort=True)}
        for scale, one in found.items():
            named = names | {"scale": scale}
            generator = named_generator(entropy, *map(str, named.values()))
            rows += [named | row for row in _rows(one, generator, weights, inference)]
        if tuple(found) == SCALES:
            generator = named_generator(entropy, *map(str, names.values()))
            upwards, downwards = found.values()
            both = _scale_rows(upwards, downwards, generator, weights, inference)
            rows += [names | {"scale": ""} | row for row in both]
    return with_holm(pd.DataFrame(rows), "friedman", "kendalls_w", family=FAMILY)


def profile(rows: pd.DataFrame) -> Profile:
    """Lay one criterion's judgements under one order of the range out by item and order.

    Raises
    ------
    ValueError
        If the criterion stands at several places in one order, or an item has two judgements of one order.
    """
    items, names = pd.factorize(rows["item"])
    orders, texts = pd.factorize(rows["order"], sort=True)
    shape = (len(names), len(texts))
    cell = items * shape[1] + orders
    if np.bincount(cell, minlength=1).max() > 1:
        raise ValueError(
            "an item has two judgements of one order: select one criterion, one scale and one temperature"
        )
    scores = np.full(shape, np.nan)
    scores.flat[cell] = rows["score"].to_numpy(dtype=float)
    heads = rows.iloc[np.unique(items, return_index=True)[1]]
    clusters, _ = pd.factorize(heads["cluster"])
    unparsed = int(rows["score"].isna().sum())
    return Profile(np.asarray(names, dtype=object), scores, _places(rows, orders), clusters, unparsed)


def _places(rows: pd.DataFrame, orders: Codes) -> Codes:
    """Where the criterion stands in each order; the place of an answer without one is known from others."""
    by_order = rows["position"].groupby(orders, sort=True)
    low, high = by_order.min(), by_order.max()
    if not (low == high).all():
        raise ValueError(
            "a criterion stands at several places in one order: list the criteria of all items of a data set "
            "in one sequence"
        )
    return low.to_numpy(dtype=np.intp) - 1


# --- Friedman's statistic from sums over items ------------------------------------------------------


def place_means(scores: Array, places: Codes, size: int) -> Array:
    """Mean score at each place, (..., size), of scores by order, (..., K); nan where a place has none."""
    at = (places[:, None] == np.arange(size)).astype(float)
    given = ~np.isnan(scores)
    return ratio(np.where(given, scores, 0.0) @ at, given.astype(float) @ at)


def block_columns(means: Array) -> Array:
    """What each item adds to Friedman's statistic and to the means.

    Parameters
    ----------
    means : ndarray, shape (m, ...)
        An item's score at each place. Places come first, so that their comparison runs along memory.

    Returns
    -------
    ndarray, shape (2 + 2 m, ...)
        1, its ties sum(t^3 - t), its m ranks (midranks), its m means; all 0 where a place has no score.
    """
    m = len(means)
    columns = np.ones((2 + 2 * m, *means.shape[1:]))
    ranks, equals = columns[2 : 2 + m], np.ones(means.shape)
    for one, other in combinations(range(m), 2):
        equal = means[one] == means[other]
        first_is_above = (means[one] > means[other]) + 0.5 * equal
        ranks[one] += first_is_above
        ranks[other] += 1 - first_is_above
        equals[one] += equal
        equals[other] += equal
    # Each of t tied values has t equals: the sum of t^2 - 1 over them is t^3 - t.
    columns[1] = (equals**2 - 1).sum(axis=0)
    columns[2 + m :] = means
    columns[:, np.isnan(means).any(axis=0)] = 0
    return columns


def friedman(sums: npt.ArrayLike) -> Array:
    """Friedman's chi-square, corrected for ties, of summed `block_columns`.

    Parameters
    ----------
    sums : array_like, shape (..., 2 + 2 m)

    Returns
    -------
    ndarray, shape (...)
        0: all places have the same mean rank; N (m - 1): every item ranks the places alike. nan for no item,
        and where every item has the same score at all places.

    References
    ----------
    Friedman (1937), JASA 32, 675-701.

    See Also
    --------
    scipy.stats.friedmanchisquare : the oracle; this form has leading axes, for resamples and permutations.
    """
    array = np.asarray(sums, dtype=float)
    m = array.shape[-1] // 2 - 1
    n, ties, ranks = array[..., 0], array[..., 1], array[..., 2 : 2 + m]
    squares = ((ranks - n[..., None] * (m + 1) / 2) ** 2).sum(axis=-1)
    return ratio(12 * squares, m * (m + 1) * n - ratio(ties, float(m - 1)))


def kendalls_w(sums: npt.ArrayLike) -> Array:
    """Kendall's W, friedman / (N (m - 1)), in [0, 1]: 1 where every item ranks the places alike."""
    array = np.asarray(sums, dtype=float)
    m = array.shape[-1] // 2 - 1
    return ratio(friedman(array), array[..., 0] * (m - 1))


def means_of(sums: Array) -> Array:
    """The mean score at each place, (..., m), of summed `block_columns`."""
    m = sums.shape[-1] // 2 - 1
    return ratio(sums[..., 2 + m :], sums[..., :1])


def largest_shift(sums: Array) -> Array:
    """Largest mean over places less the smallest, in points."""
    return np.ptp(means_of(sums), axis=-1)


def last_minus_first(sums: Array) -> Array:
    """Mean at the last place less that at the first, in points."""
    means = means_of(sums)
    return means[..., -1] - means[..., 0]


def place_null(found: Profile, rng: np.random.Generator, permutations: int) -> Array:
    """Summed `block_columns` of a judge with the same scores whose scores have nothing to do with places.

    As `metrics.permutation_null`: each cluster's items have their scores dealt anew to the orders by one
    permutation, from a pool in which what was observed has a random place.

    Returns
    -------
    ndarray, shape (permutations, 2 + 2 m)
    """
    sequence = np.argsort(found.clusters, kind="stable")
    scores, clusters = found.scores[sequence], found.clusters[sequence]
    pool = permutation_pool(scores.shape[1], rng)
    starts = pool[rng.integers(len(pool), size=int(clusters.max(initial=-1)) + 1)]
    # Undo the pool's entry at the cluster's start, so that this entry gives back what was observed.
    entered = np.take_along_axis(scores, np.argsort(starts, axis=1)[clusters], axis=1)
    columns = block_columns(_dealt_means(entered, pool, found.places, found.size))
    sums = np.add.reduceat(columns, np.unique(clusters, return_index=True)[1], axis=-1)
    return null_sums(np.ascontiguousarray(sums.T), rng, permutations)


def _dealt_means(scores: Array, pool: Codes, places: Codes, size: int) -> Array:
    """`place_means`, (places, arrangements, items), of scores dealt to the orders by each arrangement."""
    values, given = np.nan_to_num(scores.T), (~np.isnan(scores.T)).astype(float)
    means = np.empty((size, len(pool), len(scores)))
    for place in range(size):
        dealt = pool[:, places == place]  # (arrangements, orders that put the criterion there)
        means[place] = ratio(values[dealt].sum(axis=1), given[dealt].sum(axis=1))
    return means


def _by_cluster(rows: Array, clusters: Codes) -> Array:
    """Sums over the items of each cluster; (clusters, k) of (items, k)."""
    sums = np.zeros((int(clusters.max(initial=-1)) + 1, rows.shape[1]))
    np.add.at(sums, clusters, rows)
    return sums


# --- Rows -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Blocks:
    """What the rows of one cell rest on: sums by cluster, in each resample, and without bias."""

    sums: Array  # (clusters with a complete item, k)
    totals: Array  # (resamples, k)
    null: Array  # (permutations, k)
    sizes: dict[str, int]


def _rows(
    found: Profile, rng: np.random.Generator, weights: Weights, inference: Inference
) -> Iterator[dict[str, Any]]:
    blocks = _blocks(found, rng, weights, inference)
    for row in (
        *(_mean_row(blocks, place, inference) for place in range(found.size)),
        _last_row(blocks, rng, inference),
        _row("largest_shift", largest_shift, blocks, inference, (0.0, RANGE)) | _p(blocks, largest_shift),
        *_friedman_rows(blocks, found.size, inference),
    ):
        yield row | blocks.sizes


def _blocks(found: Profile, rng: np.random.Generator, weights: Weights, inference: Inference) -> Blocks:
    columns = block_columns(found.place_means().T).T
    sums = _by_cluster(columns, found.clusters)
    sums = sums[sums[:, 0] > 0]
    complete = columns[:, 0] > 0
    sizes = {
        "n_items": int(complete.sum()),
        "n_trials": int((~np.isnan(found.scores[complete])).sum()),
        "n_clusters": len(sums),
        "n_unparsed": found.n_unparsed,
        "k": found.scores.shape[1],
    }
    totals = weights(len(sums)) @ sums if len(sums) else sums
    return Blocks(sums, totals, place_null(found, rng, inference.permutations), sizes)


def _row(
    quantity: str,
    statistic: Callable[[Array], Array],
    blocks: Blocks,
    inference: Inference,
    bounds: tuple[float, float],
) -> dict[str, Any]:
    estimate = interval(statistic, blocks.sums, blocks.totals, inference, bounds)
    low, high = null_range(statistic(blocks.null), inference)
    return _estimate(quantity, estimate) | {"null_low": low, "null_high": high}


def _estimate(quantity: str, found: Estimate) -> dict[str, Any]:
    ours = {"value": found.value, "ci_low": found.low, "ci_high": found.high}
    return {"quantity": quantity, "condition": "balanced", **ours}


def _p(blocks: Blocks, statistic: Callable[[Array], Array]) -> dict[str, float]:
    return {"p": permutation_p(float(statistic(blocks.sums.sum(axis=0))), statistic(blocks.null))}


def _mean_row(blocks: Blocks, place: int, inference: Inference) -> dict[str, Any]:
    def mean(sums: Array) -> Array:
        return means_of(sums)[..., place]

    return _row("criterion_mean", mean, blocks, inference, (1.0, 5.0)) | {"condition": f"place {place + 1}"}


def _last_row(blocks: Blocks, rng: np.random.Generator, inference: Inference) -> dict[str, Any]:
    m = blocks.sums.shape[1] // 2 - 1
    moved = blocks.sums[:, -1] - blocks.sums[:, 2 + m]
    row = _row("last_minus_first", last_minus_first, blocks, inference, (-RANGE, RANGE))
    return row | _signed_test(moved, blocks.sums[:, 0], rng, inference)


def _signed_test(
    sums: Array, counts: Array, rng: np.random.Generator, inference: Inference
) -> dict[str, float]:
    effects = cluster_contributions(sums, counts)
    return {
        "p": sign_flip_test(sums, inference.permutations, rng),
        "mde": minimum_detectable_effect(effects, inference.alpha, graded=True),
    }


def _friedman_rows(blocks: Blocks, size: int, inference: Inference) -> Iterator[dict[str, Any]]:
    chi2 = float(friedman(blocks.sums.sum(axis=0)))
    null = friedman(blocks.null)
    chi_p = float(stats.chi2.sf(chi2, size - 1)) if size > 1 else float("nan")
    exact = _p(blocks, kendalls_w)
    mean_ratio = float(np.mean(null)) / (size - 1) if size > 1 else float("nan")
    changed = why_tests_differ(chi_p, exact["p"], mean_ratio, size, inference.alpha)
    low, high = null_range(null, inference)
    ours = {"value": chi2, "p": chi_p, "null_low": low, "null_high": high, "changed": changed}
    yield {"quantity": "friedman", "condition": "balanced", **ours}
    w = _row("kendalls_w", kendalls_w, blocks, inference, (0.0, 1.0))
    # W is to Friedman's statistic what V^2 is to chi-square, with items for choices.
    mde = detectable_v(blocks.sums[:, 0].sum(), size, mean_ratio, inference.alpha) ** 2
    yield w | exact | {"mde": mde, "changed": changed}


def why_tests_differ(friedman_p: float, exact_p: float, ratio: float, size: int, alpha: float) -> str:
    """Whether Friedman's own test and the permutation test differ, and why.

    Parameters
    ----------
    friedman_p, exact_p : float
    ratio : float
        Friedman's mean over the permutations, over its degrees of freedom. Ranks are within items, so that
        what the texts are worth does not move it; it is 1 but for what a source's items have in common, all
        of whose scores are dealt by one permutation.
    size : int
        Number of criteria.
    alpha : float

    Returns
    -------
    str
        "no", or a sentence that begins with "yes"; "" where a test is not defined.
    """
    if np.isnan(friedman_p) or np.isnan(exact_p):
        return ""
    exact_alone = exact_p <= alpha
    if (friedman_p <= alpha) == exact_alone:
        return "no"
    mean = f"without bias it would average {ratio * (size - 1):.2g}, with {size - 1} degrees of freedom"
    name = "the permutation test" if exact_alone else "Friedman's test"
    if exact_alone and ratio < SHARP:
        why = "a source's items move against each other, which Friedman's test ignores"
    elif not exact_alone and ratio > MOVING:
        why = "a source's items move together, which it ignores"
    else:
        why = "not for what a source's items have in common"
    return f"yes: only {name} rejects; {why}: {mean}"


# --- The two axes -----------------------------------------------------------------------------------


def _scale_rows(
    upwards: Profile,
    downwards: Profile,
    rng: np.random.Generator,
    weights: Weights,
    inference: Inference,
) -> Iterator[dict[str, Any]]:
    """Of items that have a score at every place under both orders of the range."""
    both = _in_both(upwards, downwards)
    means = np.stack([one.place_means()[rows] for one, rows in both])
    complete = ~np.isnan(means).any(axis=(0, 2))
    _, clusters = np.unique(upwards.clusters[both[0][1]][complete], return_inverse=True)
    ones = np.ones((int(complete.sum()), 1))
    first, second = (_by_cluster(np.hstack([ones, own]), clusters) for own in means[:, complete])
    sizes = {
        "n_items": int(complete.sum()),
        "n_trials": sum(int((~np.isnan(one.scores[rows][complete])).sum()) for one, rows in both),
        "n_clusters": len(first),
        "n_unparsed": upwards.n_unparsed + downwards.n_unparsed,
        "k": upwards.scores.shape[1],
    }
    for row in _axes(first, second, rng, weights, inference):
        yield row | sizes


def _in_both(one: Profile, other: Profile) -> list[tuple[Profile, Codes]]:
    """Each with the rows of the items that both have, in one sequence."""
    places = pd.Index(other.items).get_indexer(pd.Index(one.items))
    return [(one, np.flatnonzero(places >= 0)), (other, places[places >= 0])]


def _axes(
    one: Array, other: Array, rng: np.random.Generator, weights: Weights, inference: Inference
) -> Iterator[dict[str, Any]]:
    """Rows from the sums (count, scores by place) of each cluster under the two scales."""
    split = one.shape[1]
    sums = np.hstack([one, other])
    totals = weights(len(sums)) @ sums if len(sums) else sums
    for quantity, statistic, bounds in _AXES:

        def of_both(both: Array, statistic: _OfTwo = statistic) -> Array:
            return statistic(both[..., :split], both[..., split:])

        row = _estimate(quantity, interval(of_both, sums, totals, inference, bounds))
        if quantity == "scale_shift":
            moved = (one[:, 1:] - other[:, 1:]).mean(axis=1)
            row |= _signed_test(moved, one[:, 0], rng, inference)
        elif quantity == "axes_interaction":
            null = swap_null(statistic, one, other, inference.permutations, rng)
            low, high = null_range(null, inference)
            row |= {"p": permutation_p(row["value"], null), "null_low": low, "null_high": high}
        yield row


_OfTwo = Callable[[Array, Array], Array]


def _means(sums: Array) -> Array:
    return ratio(sums[..., 1:], sums[..., :1])


def _scale_shift(one: Array, other: Array) -> Array:
    return (_means(one) - _means(other)).mean(axis=-1)


def _shift_difference(one: Array, other: Array) -> Array:
    return np.ptp(_means(one), axis=-1) - np.ptp(_means(other), axis=-1)


def _interaction(one: Array, other: Array) -> Array:
    """Root mean square of the difference between two profiles, each taken from its own mean."""
    return (_means(one) - _means(other)).std(axis=-1)


_AXES: tuple[tuple[str, _OfTwo, tuple[float, float]], ...] = (
    ("scale_shift", _scale_shift, (-RANGE, RANGE)),
    ("shift_difference", _shift_difference, (-RANGE, RANGE)),
    ("axes_interaction", _interaction, (0.0, RANGE)),
)
