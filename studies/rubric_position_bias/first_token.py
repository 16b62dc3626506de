"""Position bias in the first token's distribution: one call tells how likely every score option is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.metrics.permutation import permutation_p
from shared.metrics.resampling import (
    Array,
    Inference,
    Statistic,
    cluster_sums,
    named_generator,
    rate_interval,
    ratio,
    share,
)
from studies.rubric_position_bias.grid import CELL, Codes, Grid, cells, grid
from studies.rubric_position_bias.metrics import (
    by_order,
    detectable_v,
    direction,
    interval,
    null_range,
    null_ratio,
    null_sums,
    permutation_null,
    permutation_pool,
    shares,
    v_of_counts,
)
from studies.rubric_position_bias.position import (
    NULL_DRAWS,
    Weights,
    balanced_scores,
    lacks_orders,
    undefined,
    weights_of,
    with_holm,
)

# --- Distributions as arrays ------------------------------------------------------------------------


def expected_score(probs: Array) -> Array:
    """The mean score under a distribution over the options.

    Parameters
    ----------
    probs : ndarray, shape (..., n)
        Of options 1 .. n; each row sums to 1.

    Returns
    -------
    ndarray, shape (...)
        In [1, n]; nan where there is no distribution.

    References
    ----------
    Liu et al. (2023), G-Eval, EMNLP (scores weighted by their probabilities).

    Examples
    --------
    >>> float(expected_score(np.array([0.5, 0.25, 0.25])))
    1.75
    """
    return probs @ np.arange(1.0, probs.shape[-1] + 1)


def at_places(probs: Array, orders: npt.NDArray[np.int8]) -> Array:
    """Probabilities of options as probabilities of places.

    Parameters
    ----------
    probs : ndarray, shape (..., n)
        Of options 1 .. n.
    orders : ndarray of int, shape (..., n)
        The option shown at each place; nan where there is no trial.

    Returns
    -------
    ndarray, shape (..., n)
        Of places 1 .. n.

    Examples
    --------
    >>> at_places(np.array([0.7, 0.2, 0.1]), np.array([3, 1, 2])).tolist()
    [0.1, 0.7, 0.2]
    """
    shown = np.take_along_axis(probs, np.maximum(orders.astype(np.intp) - 1, 0), axis=-1)
    return np.where(orders > 0, shown, np.nan)


def total_variation(counts: npt.ArrayLike) -> Array:
    """Total variation distance of shares by place from equal shares.

    Parameters
    ----------
    counts : array_like, shape (..., n)
        Probability, or choices, summed by place under balanced orders.

    Returns
    -------
    ndarray, shape (...)
        In [0, 1 - 1/n]: the share of probability that would have to move to another place. 0: all places get
        the same; nan for no counts.

    Examples
    --------
    >>> float(total_variation([5, 3, 2, 0]))  # (|.5 - .25| + |.3 - .25| + |.2 - .25| + |0 - .25|) / 2
    0.3
    """
    array = np.asarray(counts, dtype=float)
    return np.asarray(np.abs(shares(array) - 1 / array.shape[-1]).sum(axis=-1) / 2)


def probability_null(laid: Grid, rng: np.random.Generator, permutations: int) -> Array:
    """Probability by place of a judge with the same distributions, which have nothing to do with the orders.

    The permutation null of `metrics.permutation_null`, with distributions in the place of scores: in each
    draw every cluster's distributions are dealt anew to its orders, all items of the cluster by one
    permutation, so that the test is exact under any content.

    Parameters
    ----------
    laid : Grid
        A trial without a distribution is dealt like one that has it, and counts nowhere.
    rng : numpy.random.Generator
    permutations : int

    Returns
    -------
    ndarray, shape (permutations, n)
    """
    aligned = by_order(laid)
    k = aligned.orders.shape[1]
    moves = _moves(aligned)
    pool = permutation_pool(k, rng)
    starts = rng.integers(len(pool), size=len(moves))
    # Relabelled, so that the arrangement observed is one of the pool, at a random place.
    relabelled = np.argsort(pool[starts], axis=1)[..., None]
    tables = np.zeros((len(moves), len(pool), laid.size))
    for slot in range(k):
        tables += np.take_along_axis(moves[:, :, slot], relabelled, axis=1)[:, pool[:, slot]]
    return null_sums(tables, rng, permutations)


def _moves(laid: Grid) -> Array:
    """B[c, o, u, p]: what cluster c's distributions of draw o would put at place p in draw u."""
    k, n = laid.orders.shape[1:]
    probs = np.broadcast_to(laid.probs[:, :, None], (len(laid.items), k, k, n))
    moved = np.nan_to_num(at_places(probs, np.broadcast_to(laid.orders[:, None], probs.shape)))
    sums = np.zeros((laid.n_clusters, k, k, n))
    np.add.at(sums, laid.clusters, moved)
    return sums


# --- Cells ------------------------------------------------------------------------------------------


def first_token_rows(
    judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference, by: Sequence[str] = CELL
) -> pd.DataFrame:
    """Position bias of the first token's distributions, and how far they agree with the answers.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``, ``mass`` and ``p_1`` ..; of the setting ``score`` the strategy ``balanced`` is used.
        Cells without any distribution are left out.
    rng : numpy.random.Generator
    inference : Inference
    by : sequence of str
        What makes a cell; items are pooled over what is not named (criteria).

    Returns
    -------
    DataFrame
        For each cell, with intervals by resampling clusters:

        ``distribution_rate``
            Share of the trials that have a distribution over the options.
        ``legal_mass``
            Mean probability that the first token is an option, where there is one. What it means is the
            engine's to say: see `judgements.option_distribution`.

        Of items with a distribution under all their orders, which content alone would spread evenly over
        places:

        ``mass_share`` (condition "place p")
            Mean probability of whatever stands at a place; 1/n without bias.
        ``mass_direction``
            `metrics.direction` of it, in [-1, 1], with ``p``.
        ``mass_v``
            `metrics.v_of_counts` of it, comparable with that of the answers. ``p``, the primary test, from
            `probability_null`; ``p_holm`` over the declared family; ``mde``.
        ``mass_total_variation``
            `total_variation` of it, with ``p``.
        ``answers_v``
            Cramer's V of the answers to the same trials, with its own null and ``p``.
        ``mass_v_difference``
            ``mass_v`` less ``answers_v``: below 0 where the judge picks the likeliest option and its
            preference for a place decides close calls.

        All of these are nan, with a ``note``, in a cell that was asked under fewer than all balanced orders,
        but for each ``p``.

        Of trials with a distribution and an answer:

        ``expected_score_correlation``
            Pearson's r of expected score and score over trials; condition "mean over orders": over items,
            of their means.
        ``likeliest_is_answer_rate``
            Share of trials whose likeliest option is the answer. At temperature 0 an answer that is one token
            is always the likeliest.
    """
    entropy = int(rng.integers(2**62))
    weights = weights_of(entropy, inference)
    rows: list[dict[str, Any]] = []
    for names, cell in cells(with_distributions(judgements, by), by):
        columns = [f"p_{option}" for option in range(1, int(names["size"]) + 1)]
        if cell[columns[0]].notna().any():
            generator = named_generator(entropy, *map(str, names.values()))
            rows += [names | row for row in _cell_rows(cell, generator, weights, inference)]
    return with_holm(pd.DataFrame(rows), "mass_v")


def with_distributions(judgements: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The rows and columns that count: those of `position.balanced_scores`, reference, mass and every p_s."""
    probabilities = [str(name) for name in judgements.columns if str(name).startswith("p_")]
    return balanced_scores(judgements, [*by, "reference", "mass", *probabilities])


def _cell_rows(
    cell: pd.DataFrame, rng: np.random.Generator, weights: Weights, inference: Inference
) -> Iterator[dict[str, Any]]:
    laid = grid(cell)
    sizes = _sizes(laid, laid.orders[..., 0] > 0)
    yield from (row | sizes for row in _mass_rows(cell, rng, weights, inference))
    yield from _place_rows(_whole(laid), rng, weights, inference)
    yield from _agreement_rows(laid, weights, inference)


def has_distribution(laid: Grid) -> npt.NDArray[np.bool_]:
    """Which trials have one, (items, K)."""
    return np.asarray(np.isfinite(laid.probs).all(axis=-1))


def _whole(laid: Grid) -> Grid:
    """The items with a distribution under every order."""
    return of_items(laid, np.flatnonzero(has_distribution(laid).all(axis=1)))


def of_items(laid: Grid, chosen: Codes) -> Grid:
    """Some of a grid's items, by index; ``n_unparsed`` stays that of all.

    Clusters are coded anew, in order of first appearance.
    """
    return replace(
        laid,
        items=laid.items[chosen],
        clusters=pd.factorize(laid.clusters[chosen])[0],
        prompts=laid.prompts[chosen],
        reference=laid.reference[chosen],
        scores=laid.scores[chosen],
        orders=laid.orders[chosen],
        probs=laid.probs[chosen],
    )


def _sizes(laid: Grid, used: npt.NDArray[np.bool_]) -> dict[str, int]:
    """Counts of what is used, (items, K), of a grid."""
    items = used.any(axis=1)
    return {
        "n_items": int(items.sum()),
        "n_trials": int(used.sum()),
        "n_clusters": len(np.unique(laid.clusters[items])),
        "n_unparsed": laid.n_unparsed,
        "k": laid.orders.shape[1],
    }


# --- Legal mass -------------------------------------------------------------------------------------


def _mass_rows(
    cell: pd.DataFrame, rng: np.random.Generator, weights: Weights, inference: Inference
) -> Iterator[dict[str, Any]]:
    told = cell["mass"].notna()
    found = rate_interval(told, cell["cluster"], rng, inference)
    yield _row("distribution_rate", found.value, found.low, found.high)
    mass = cell.loc[told, "mass"].to_numpy()
    sums = cluster_sums(np.column_stack([np.ones(len(mass)), mass]), cell.loc[told, "cluster"])
    found = interval(share, sums, weights(len(sums)) @ sums, inference)
    yield _row("legal_mass", found.value, found.low, found.high)


def _row(quantity: str, value: float, low: float, high: float, condition: str = "balanced") -> dict[str, Any]:
    return {"quantity": quantity, "condition": condition, "value": value, "ci_low": low, "ci_high": high}


# --- Places -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class ByPlace:
    """Probability by place, then answers by place; and the null of each."""

    sums: Array  # (clusters, 2 n)
    totals: Array  # (resamples, 2 n)
    null: Array  # (permutations, n), of probability
    answers_null: Array  # (permutations, n)
    inference: Inference

    def row(self, quantity: str, statistic: Statistic, bounds: tuple[float, float]) -> dict[str, Any]:
        """A statistic of all 2 n columns."""
        found = interval(statistic, self.sums, self.totals, self.inference, bounds)
        return _row(quantity, found.value, found.low, found.high)

    def tested(
        self, quantity: str, statistic: Statistic, bounds: tuple[float, float] = (0.0, 1.0)
    ) -> dict[str, Any]:
        """A statistic of probability by place, with the range of its null and a test."""
        found = self.row(quantity, lambda sums: statistic(_mass(sums)), bounds)
        return found | _beside(found["value"], statistic(self.null), self.inference)

    def answers_v(self) -> dict[str, Any]:
        """V of the answers, likewise."""
        found = self.row("answers_v", lambda sums: v_of_counts(_answers(sums)), (0.0, 1.0))
        return found | _beside(found["value"], v_of_counts(self.answers_null), self.inference)


def _beside(value: float, null: Array, inference: Inference) -> dict[str, float]:
    """The range of a null, and how much of it is as far from 0."""
    low, high = null_range(null, inference)
    return {"null_low": low, "null_high": high, "p": permutation_p(abs(value), np.abs(null))}


def _mass(sums: Array) -> Array:
    return sums[..., : sums.shape[-1] // 2]


def _answers(sums: Array) -> Array:
    return sums[..., sums.shape[-1] // 2 :]


def _place_rows(
    whole: Grid, rng: np.random.Generator, weights: Weights, inference: Inference
) -> Iterator[dict[str, Any]]:
    sums = _place_sums(whole)
    totals = weights(len(sums)) @ sums if len(sums) else sums
    nulls = (
        probability_null(whole, rng, inference.permutations),
        permutation_null(whole, rng, min(inference.permutations, NULL_DRAWS)),
    )
    sizes, lacking = _sizes(whole, has_distribution(whole)), lacks_orders(whole)
    for row in _bias_rows(ByPlace(sums, totals, *nulls, inference), whole.size):
        yield (undefined(row, "p") if lacking else row) | sizes


def _bias_rows(found: ByPlace, n: int) -> Iterator[dict[str, Any]]:
    for place in range(n):
        row = found.tested("mass_share", _share_of(place))
        yield row | {"condition": f"place {place + 1}", "p": np.nan}
    yield found.tested("mass_direction", direction, (-1.0, 1.0))
    total = float(_mass(found.sums).sum())
    mde = detectable_v(total, n, null_ratio(found.null), found.inference.alpha)
    yield found.tested("mass_v", v_of_counts) | {"mde": mde}
    yield found.tested("mass_total_variation", total_variation, (0.0, 1 - 1 / n))
    yield found.answers_v()
    yield found.row(
        "mass_v_difference", lambda sums: v_of_counts(_mass(sums)) - v_of_counts(_answers(sums)), (-1.0, 1.0)
    )


def _share_of(place: int) -> Statistic:
    return lambda counts: shares(counts)[..., place]


def _place_sums(whole: Grid) -> Array:
    """Probability by place, then answers by place, of each cluster; shape (clusters, 2 n)."""
    if len(whole.items) == 0:
        return np.zeros((0, 2 * whole.size))
    mass = at_places(whole.probs, whole.orders).sum(axis=1)
    answers = (whole.orders == whole.scores[..., None]).sum(axis=1)
    return cluster_sums(np.hstack([mass, answers]), whole.clusters)


# --- Agreement with the answers ---------------------------------------------------------------------


def _agreement_rows(laid: Grid, weights: Weights, inference: Inference) -> Iterator[dict[str, Any]]:
    both = has_distribution(laid) & ~np.isnan(laid.scores)
    if not both.any():
        return
    sums = _agreement_sums(laid, both)
    statistics: list[tuple[str, str, Statistic, float]] = [
        ("expected_score_correlation", "trials", lambda sums: pearson_of(sums[..., :6]), -1.0),
        ("expected_score_correlation", "mean over orders", lambda sums: pearson_of(sums[..., 6:12]), -1.0),
        ("likeliest_is_answer_rate", "trials", lambda sums: share(sums[..., [0, 12]]), 0.0),
    ]
    for quantity, condition, statistic, lowest in statistics:
        found = interval(statistic, sums, weights(len(sums)) @ sums, inference, (lowest, 1.0))
        yield _row(quantity, found.value, found.low, found.high, condition) | _sizes(laid, both)


def _agreement_sums(laid: Grid, both: npt.NDArray[np.bool_]) -> Array:
    """By cluster: moments over trials (6), over items (6), and the trials whose likeliest is the answer."""
    item, draw = np.nonzero(both)
    probs, given = laid.probs[item, draw], laid.scores[item, draw]
    expected, likeliest = expected_score(probs), probs.argmax(axis=-1) + 1 == given
    of_trials = np.column_stack([moments(expected, given, laid.size), likeliest])
    sums = cluster_sums(of_trials, laid.clusters[item])
    counts = np.bincount(item)
    items = np.flatnonzero(counts)
    means = [np.bincount(item, values)[items] / counts[items] for values in (expected, given)]
    over_items = cluster_sums(moments(means[0], means[1], laid.size), laid.clusters[items])
    return np.hstack([sums[:, :6], over_items, sums[:, 6:]])


def moments(x: Array, y: Array, size: int) -> Array:
    """1, x, y, xx, yy and xy of scores, about the middle of the scale; shape (..., 6)."""
    middle = (size + 1) / 2
    x, y = x - middle, y - middle
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)


def pearson_of(sums: Array) -> Array:
    """Pearson's r of summed `moments`; nan where one of the two does not vary."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread = np.maximum(xx - ratio(x * x, n), 0) * np.maximum(yy - ratio(y * y, n), 0)
    spread = np.where(spread > 1e-12 * np.maximum(xx * yy, 1e-12), spread, 0.0)
    return np.clip(ratio(xy - ratio(x * y, n), np.sqrt(spread)), -1, 1)
