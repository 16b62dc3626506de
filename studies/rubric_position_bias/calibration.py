"""Correcting single calls for position: a prior from a few items, taken out of other items' distributions.

A hard score under one order cannot be corrected, only relabelled: what is corrected is the distribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.metrics.resampling import Array, Inference, named_generator, ratio
from studies.rubric_position_bias.first_token import (
    at_places,
    expected_score,
    has_distribution,
    of_items,
    pearson_of,
    with_distributions,
)
from studies.rubric_position_bias.grid import CELL, Codes, Grid, cells, grid
from studies.rubric_position_bias.params import Calibration
from studies.rubric_position_bias.position import NEEDS_ALL, lacks_orders
from studies.rubric_position_bias.strategies import estimate, resamples

FLOOR = 1e-6
"""Probabilities below this count as this in logarithms: an option may not be among the likeliest tokens."""

OURS, PRIDE = "corrected", "PriDe"
"""Whose prior is taken out: `position_prior`, `rotation_prior`."""

SINGLE, EXPECTED, ORDERS_MEAN = "answer", "expected score", "mean of K answers"

AVERAGED = (ORDERS_MEAN, "mean of K expected scores")
"""Over all orders of an item."""

UNCORRECTED = (SINGLE, EXPECTED, *AVERAGED)
METHODS = (*UNCORRECTED, *(f"{source} {score}" for source in (OURS, PRIDE) for score in (SINGLE, EXPECTED)))

NO_GAIN = "n/a: averaging over K orders gains nothing here beyond chance"
FEW = "n/a: too few items with distributions under every order to hold some out"

# --- Priors and corrections -------------------------------------------------------------------------


def position_prior(probs: Array, orders: npt.NDArray[np.int8]) -> Array:
    """How a judge's probability is spread over places, whatever is shown there.

    Parameters
    ----------
    probs : ndarray, shape (items, K, n)
        Of options, under each of an item's orders.
    orders : ndarray of int, shape (items, K, n)
        Over which every option of an item stands equally often at every place.

    Returns
    -------
    ndarray, shape (n,)
        Sums to 1; 1/n each without bias. nan for no items.

    Notes
    -----
    Of log p_ios, option s of item i under order o, take away the mean over the item's orders, so that content
    and leniency go; the mean over what stands at place p is then log prior_p, up to a constant.

    References
    ----------
    Zheng et al. (2024), PriDe, ICLR: of multiple-choice questions, from the cyclic rotations alone
    (`rotation_prior`). With whole sets of rotations the two differ in how items are averaged (logarithms
    here, probabilities there) and in the n reverse rotations.

    Examples
    --------
    Option 1 has odds 4 where it stands first and odds 1 where it stands last: the place is worth 2 to 1.

    >>> probs, orders = np.array([[[0.8, 0.2], [0.5, 0.5]]]), np.array([[[1, 2], [2, 1]]])
    >>> position_prior(probs, orders).round(3).tolist()
    [0.667, 0.333]
    """
    logs = np.log(np.maximum(probs, FLOOR))
    moved = at_places(logs - logs.mean(axis=1, keepdims=True), orders)
    return _softmax(moved.reshape(-1, orders.shape[-1]).mean(axis=0)) if len(probs) else _unknown(orders)


def rotation_prior(probs: Array, orders: npt.NDArray[np.int8]) -> Array:
    """PriDe's prior: each item's geometric mean over its forward rotations, averaged over items.

    Parameters and returns are as in `position_prior`; orders that are no forward rotation are left aside.

    References
    ----------
    Zheng et al. (2024), Large Language Models Are Not Robust Multiple Choice Selectors, ICLR, equations 5-6.
    """
    forward = (np.diff(orders, axis=-1) % orders.shape[-1] == 1).all(axis=-1)
    logs = at_places(np.log(np.maximum(probs, FLOOR)), orders)
    means = ratio(np.where(forward[..., None], logs, 0).sum(axis=1), forward.sum(axis=1)[:, None])
    return np.asarray(_softmax(means).mean(axis=0)) if len(probs) else _unknown(orders)


def corrected(probs: Array, orders: npt.NDArray[np.int8], prior: Array) -> Array:
    """Distributions with a position prior taken out: p_s divided by the prior of its place, made to sum to 1.

    Parameters
    ----------
    probs, orders : ndarray, shape (..., n)
    prior : ndarray, shape (n,)

    Returns
    -------
    ndarray, shape (..., n)

    Examples
    --------
    >>> corrected(np.array([0.8, 0.2]), np.array([1, 2]), np.array([2 / 3, 1 / 3])).round(3).tolist()
    [0.667, 0.333]
    """
    places = np.argsort(orders, axis=-1)
    weights = probs / prior[places]
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _softmax(logs: Array) -> Array:
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _unknown(orders: npt.NDArray[np.int8]) -> Array:
    return np.full(orders.shape[-1], np.nan)


# --- Held-out items ---------------------------------------------------------------------------------


def calibration_rows(
    judgements: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
    calibration: Calibration,
    by: Sequence[str] = CELL,
) -> pd.DataFrame:
    """What single calls, corrected and not, are worth beside the mean over all orders, on held-out items.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge`` and ``p_1`` ..; of the setting ``score`` the strategy ``balanced`` is used. Cells
        without any distribution are left out.
    rng : numpy.random.Generator
    inference : Inference
    calibration : Calibration
        How many ``items`` a prior is estimated from, in how many random splits (``repeats``).
    by : sequence of str
        What makes a cell; items are pooled over what is not named (criteria).

    Returns
    -------
    DataFrame
        ``condition`` is how a score is had from the calls, ``calls`` how many of them an item takes, those
        for the prior included:

        answer
            The answer to a single order.
        corrected answer, PriDe answer
            The likeliest option of the single order's distribution, less the prior of `position_prior` or
            `rotation_prior`.
        expected score
            G-Eval's: the distribution's mean, uncorrected.
        corrected expected score, PriDe expected score
            The same of the corrected distributions.
        mean of K answers, mean of K expected scores
            Over all orders.

        ``quantity`` is one of

        ``r_reference``
            Pearson's r with the reference score, over items and their single orders, so that every order
            counts as the one that was asked.
        ``r_other_orders``
            With the mean of the answers under the item's *other* orders; not for means over all.
        ``r_reference_gain``, ``r_other_orders_gain``
            Less that of the plain answer; condition "expected score - answer".
        ``gain_share``
            Of the gain in ``r_reference`` that averaging K answers brings, how much this way brings; may be
            below 0 or above 1. nan, with a ``note``, where the interval of that gain reaches 0.
        ``prior`` (condition "corrected place p", "PriDe place p")
            The estimated prior, and the central range of it over the splits, which is no confidence interval.

        The items used have a distribution and an answer under all orders; r's interval is by resampling
        clusters, the priors of each split held fixed. In each split the prior is estimated from drawn items,
        and everything of their clusters is left out of the rest: r is the mean over splits. ``n_items`` is
        the mean number of items held out.

        A cell that was asked with fewer than all balanced orders of its size, where content and place cannot
        be told apart, or with too few items to hold some out has one row: ``r_reference`` of "answer", nan,
        with a ``note`` that says why.

    Notes
    -----
    Neither weighting scores by their probabilities (G-Eval) nor dividing by a prior of places (PriDe) is new.
    New here is that they meet on rubrics, whose options have an order and a mean: a corrected distribution
    gives a corrected *score*, which is set beside averaging over orders, with the calls that each takes.
    """
    entropy = int(rng.integers(2**62))
    weights = resamples(rng, inference)
    rows: list[dict[str, Any]] = []
    for names, cell in cells(with_distributions(judgements, by), by):
        laid = grid(cell)
        if has_distribution(laid).any():
            generator = named_generator(entropy, *map(str, names.values()))
            split = _splits(_usable(laid), generator, calibration)
            sizes = _sizes(split)
            if lacking := _lacking(split):
                rows.append(names | sizes | lacking)
                continue
            drawn = weights(str(names.get("dataset", "")), split.laid.n_clusters)
            rows += [names | sizes | row for row in _cell_rows(split, drawn, inference)]
    return pd.DataFrame(rows)


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """One cell's items, sorted by cluster, and which of them each split estimates from and holds out."""

    laid: Grid
    fitted: npt.NDArray[np.bool_]  # (splits, items)
    held_out: npt.NDArray[np.bool_]  # (splits, items)

    @property
    def enough(self) -> bool:
        """Whether every split has two clusters left at least, and K is more than one."""
        clusters = [len(np.unique(self.laid.clusters[mask])) for mask in self.held_out]
        return len(clusters) > 0 and min(clusters) > 1 and self.laid.orders.shape[1] > 1


def _usable(laid: Grid) -> Grid:
    """The items with a distribution and an answer under every order, sorted by cluster."""
    used = np.flatnonzero((has_distribution(laid) & ~np.isnan(laid.scores)).all(axis=1))
    return of_items(laid, used[np.argsort(laid.clusters[used], kind="stable")])


def _splits(laid: Grid, rng: np.random.Generator, calibration: Calibration) -> Splits:
    n = len(laid.items)
    fitted = np.zeros((calibration.repeats, n), dtype=bool)
    for split in fitted:
        split[rng.permutation(n)[: calibration.items]] = True
    seen = np.zeros((calibration.repeats, laid.n_clusters), dtype=bool)
    rows, items = np.nonzero(fitted)
    seen[rows, laid.clusters[items]] = True
    return Splits(laid, fitted, ~seen[:, laid.clusters])


def _lacking(split: Splits) -> dict[str, Any] | None:
    """The one row of a cell in which priors and held-out correlations are not defined."""
    all_orders = not lacks_orders(split.laid)
    if all_orders and split.enough:
        return None
    note = FEW if all_orders else NEEDS_ALL
    return {"quantity": "r_reference", "condition": SINGLE, "value": np.nan, "note": note}


def _cell_rows(split: Splits, weights: Array, inference: Inference) -> Iterator[dict[str, Any]]:
    priors, calls = _priors(split), _calls(split)
    for source, found in priors.items():
        yield from _prior_rows(source, found, inference)
    for target, draws in _correlations(split, priors, weights).items():
        for method, row in _target_rows(target, draws, split.laid.n_clusters, inference):
            yield row | {"calls": calls[method]}


def _sizes(split: Splits) -> dict[str, int]:
    laid = split.laid
    held_out = round(float(split.held_out.sum(axis=1).mean()))
    return {
        "n_items": held_out,
        "n_trials": held_out * laid.orders.shape[1],
        "n_clusters": laid.n_clusters,
        "n_unparsed": laid.n_unparsed,
        "k": laid.orders.shape[1],
    }


def _calls(split: Splits) -> dict[str, float]:
    """Calls for each item that is judged, those that the prior takes shared among them."""
    n_fitted, k, n = split.fitted[0].sum(), split.laid.orders.shape[1], split.laid.size
    held_out = float(split.held_out.sum(axis=1).mean())
    prior = {"": 0.0, OURS: n_fitted * k / held_out, PRIDE: n_fitted * n / held_out}
    return {method: float(k) if method in AVERAGED else 1 + prior[_source(method)] for method in METHODS}


def _source(method: str) -> str:
    """Whose prior a method takes out; empty for none."""
    return next((source for source in (OURS, PRIDE) if method.startswith(source)), "")


# --- Priors of each split ---------------------------------------------------------------------------


def _priors(split: Splits) -> dict[str, Array]:
    """The prior that each split estimates; (splits, n)."""
    estimators = {OURS: position_prior, PRIDE: rotation_prior}
    probs, orders = split.laid.probs, split.laid.orders
    return {
        source: np.stack([prior(probs[chosen], orders[chosen]) for chosen in split.fitted])
        for source, prior in estimators.items()
    }


def _prior_rows(source: str, priors: Array, inference: Inference) -> Iterator[dict[str, Any]]:
    tail = inference.alpha / 2
    lows, highs = np.quantile(priors, [tail, 1 - tail], axis=0)
    for place, value in enumerate(priors.mean(axis=0)):
        named = {"quantity": "prior", "condition": f"{source} place {place + 1}"}
        yield named | {"value": float(value), "ci_low": float(lows[place]), "ci_high": float(highs[place])}


# --- Ways to a score --------------------------------------------------------------------------------


def _as_asked(laid: Grid) -> Array:
    """The scores of the methods that take no prior, in the order of `UNCORRECTED`; (methods, items, K)."""
    expected = expected_score(laid.probs)
    means = (
        np.broadcast_to(each.mean(axis=1, keepdims=True), each.shape) for each in (laid.scores, expected)
    )
    return np.stack([laid.scores, expected, *means])


def _less_prior(probs: Array, places: Codes, prior: Array) -> Array:
    """The likeliest option and the expected score of `corrected` distributions; (2, items, K).

    ``places`` are where the options stand, from 0: the same for every prior.
    """
    weights = probs / prior[places]
    total = weights.sum(axis=-1)
    expected = weights @ np.arange(1.0, weights.shape[-1] + 1) / total
    return np.stack([weights.argmax(axis=-1) + 1.0, expected])


def _correlations(split: Splits, priors: dict[str, Array], weights: Array) -> dict[str, Array]:
    """r of each method with each target, the sample's and that of each resample: (methods, 1 + resamples)."""
    laid = split.laid
    k = laid.orders.shape[1]
    others = (laid.scores.sum(axis=1, keepdims=True) - laid.scores) / (k - 1)
    targets = {
        "r_reference": np.broadcast_to(laid.reference[:, None], others.shape),
        "r_other_orders": others,
    }
    plain = {target: _sums_by_item(_as_asked(laid), y) for target, y in targets.items()}
    places = np.argsort(laid.orders, axis=-1)
    found: dict[str, Array] = {target: np.zeros((len(METHODS), weights.shape[1])) for target in targets}
    for number, held_out in enumerate(split.held_out):
        x = np.concatenate([_less_prior(laid.probs, places, prior[number]) for prior in priors.values()])
        for target, y in targets.items():
            sums = np.concatenate([plain[target], _sums_by_item(x, y)]) * held_out[:, None]
            totals = _totals(_by_cluster(sums, laid.clusters), weights)
            found[target] += pearson_of(totals) / len(split.held_out)
    return found


def _sums_by_item(x: Array, y: Array) -> Array:
    """Moments of x (methods, items, K) and y (items, K), summed over K; (methods, items, 6)."""
    known = ~np.isnan(y)
    if not known.all():
        x, y = np.where(known, x, 0.0), np.where(known, y, 0.0)
    squares = np.einsum("mik,mik->mi", x, x), np.einsum("mik,ik->mi", x, y)
    parts = [known.sum(axis=-1), x.sum(axis=-1), y.sum(axis=-1), squares[0], (y * y).sum(axis=-1), squares[1]]
    return np.stack([np.broadcast_to(part, x.shape[:2]).astype(float) for part in parts], axis=-1)


def _by_cluster(sums: Array, clusters: Codes) -> Array:
    """(methods, items, 6) to (methods, clusters, 6); items are sorted by cluster."""
    return np.add.reduceat(sums, np.flatnonzero(np.diff(clusters, prepend=-1)), axis=1)


def _totals(sums: Array, weights: Array) -> Array:
    """(methods, clusters, 6) to (methods, resamples, 6), by one product of matrices, not one a method."""
    methods, clusters, columns = sums.shape
    flat = sums.transpose(1, 0, 2).reshape(clusters, -1)
    return (weights.T @ flat).reshape(-1, methods, columns).transpose(1, 0, 2)


# --- Rows -------------------------------------------------------------------------------------------


def _target_rows(
    target: str, draws: Array, n_clusters: int, inference: Inference
) -> Iterator[tuple[str, dict[str, Any]]]:
    plain, mean = draws[METHODS.index(SINGLE)], draws[METHODS.index(ORDERS_MEAN)]
    gained = estimate(mean - plain, n_clusters, (-2.0, 2.0), inference).low > 0
    for method, found in zip(METHODS, draws, strict=True):
        if target != "r_reference" and method in AVERAGED:
            continue
        yield method, _row(target, method, found, n_clusters, (-1.0, 1.0), inference)
        if method == SINGLE:
            continue
        gain, condition = found - plain, f"{method} - {SINGLE}"
        yield method, _row(f"{target}_gain", condition, gain, n_clusters, (-2.0, 2.0), inference)
        if target == "r_reference" and method != ORDERS_MEAN:
            part = ratio(gain, mean - plain) if gained else np.full(len(gain), np.nan)
            row = _row("gain_share", method, part, n_clusters, (-np.inf, np.inf), inference)
            yield method, row | {"note": "" if gained else NO_GAIN}


def _row(
    quantity: str,
    condition: str,
    draws: Array,
    n_clusters: int,
    bounds: tuple[float, float],
    inference: Inference,
) -> dict[str, Any]:
    found = estimate(draws, n_clusters, bounds, inference)
    ends = {"ci_low": found.low, "ci_high": found.high}
    return {"quantity": quantity, "condition": condition, "value": found.value, **ends}
