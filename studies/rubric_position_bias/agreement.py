"""How well mean scores agree with reference scores: by order strategy, over the number of orders, beside V.

Two strategies are compared at the most orders that both have, on the same items, in the same resamples of
clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from shared.metrics.resampling import Array, Inference, ratio
from studies.rubric_position_bias.calibration import NO_GAIN
from studies.rubric_position_bias.correlation import Correlation, pearson, spearman
from studies.rubric_position_bias.metrics import cluster_counts, v_of_counts
from studies.rubric_position_bias.strategies import CELL, SideBySide, estimate, resamples, side_by_side

COEFFICIENTS: dict[str, Correlation] = {"pearson": pearson, "spearman": spearman}

COMPARISONS = (("balanced", "random"), ("balanced", "fixed"))

TRACKS = 0.02
"""Two curves track each other where they differ by no more than this (the paper's bound)."""

POWER = 0.8

ROUNDING = 1e-9
"""Two correlations of the same scores may differ by rounding; a share of the gain below this is none."""

# --- At the matched number of orders ----------------------------------------------------------------


def agreement_rows(
    judgements: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
    by: Sequence[str] = CELL,
    quantities: Sequence[str] = tuple(COEFFICIENTS),
) -> pd.DataFrame:
    """Correlation of the mean over K orders with the reference score, by strategy, and the differences.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; either setting. Criteria are pooled; with ``criterion`` in ``by`` they are not.
    rng : numpy.random.Generator
    inference : Inference
    by : sequence of str
        What makes a cell.
    quantities : sequence of str
        Names of `COEFFICIENTS`.

    Returns
    -------
    DataFrame
        ``quantity`` is ``pearson`` or ``spearman``; ``condition`` a strategy, in [-1, 1], or ``balanced -
        random`` or ``balanced - fixed``, in [-2, 2], on the items that both have and in the same resamples;
        ``k`` the number of orders, the most that the row's strategies have (1 for a Fixed that was asked
        once). An item enters with a reference and one parsed answer at least; ``n_trials`` counts the parsed
        answers of the items that entered, ``n_unparsed`` those of the first ``k`` without a score.
        ``undefined_resamples`` counts those in which scores or references were constant. Of a difference,
        ``mde`` is the smallest one that such an interval would keep clear of 0 with probability 0.8. Values
        are nan for constant scores.

    Notes
    -----
    At temperature 0 Fixed is asked once, and that answer stands for K equal ones. Balanced and Random are
    not compared where K orders are all there are (up to three options): they are the same orders.
    """
    weights = resamples(rng, inference)
    rows: list[dict[str, Any]] = []
    for names, cell in side_by_side(judgements, by):
        drawn = weights(names["dataset"], cell.n_clusters)
        for quantity in quantities:
            rows += _agreement_of_cell(quantity, COEFFICIENTS[quantity], names, cell, drawn, inference)
    return pd.DataFrame(rows)


def _agreement_of_cell(
    quantity: str,
    correlation: Correlation,
    names: dict[str, Any],
    cell: SideBySide,
    weights: Array,
    inference: Inference,
) -> Iterator[dict[str, Any]]:
    wanted: dict[tuple[str, ...], int] = {(name,): cell.common_k(name) for name in cell.grids}
    wanted |= comparisons(cell)
    used: dict[tuple[str, ...], Array] = {}
    vectors: dict[tuple[str, ...], list[Array]] = {}
    for strategies, k in wanted.items():
        means = [cell.means(name, k) for name in strategies]
        used[strategies] = ~np.isnan(sum(means) + cell.reference)
        vectors[strategies] = [np.where(used[strategies], mean, np.nan) for mean in means]
    # A difference is on the items of both, which mostly are the items of each: these are correlated once.
    different = {vector.tobytes(): vector for several in vectors.values() for vector in several}
    found = correlation(np.stack(list(different.values())), cell.reference, cell.clusters, weights)
    by_vector = dict(zip(different, found, strict=True))
    for strategies, k in wanted.items():
        draws = [by_vector[vector.tobytes()] for vector in vectors[strategies]]
        difference = draws[0] - draws[1] if len(draws) > 1 else draws[0]
        yield _row(quantity, strategies, names, cell, k, used[strategies], difference, inference)


def comparisons(cell: SideBySide, k: int | None = None) -> dict[tuple[str, ...], int]:
    """The comparisons that the cell has the strategies for, each with its number of orders.

    Parameters
    ----------
    cell : SideBySide
    k : int, optional
        Those at k orders alone; by default each at the most that both have.

    Returns
    -------
    dict of (str, str) to int
        Balanced against Random is none where k orders are all: both then have the same ones.
    """
    size = next(iter(cell.grids.values())).size
    most = {pair: cell.common_k(*pair) for pair in COMPARISONS if set(pair) <= set(cell.grids)}
    at = most if k is None else {pair: k for pair, reach in most.items() if k <= reach}
    return {pair: orders for pair, orders in at.items() if "fixed" in pair or orders < factorial(size)}


def _row(
    quantity: str,
    strategies: Sequence[str],
    names: dict[str, Any],
    cell: SideBySide,
    k: int,
    used: Array,
    draws: Array,
    inference: Inference,
) -> dict[str, Any]:
    """A correlation or a difference of two, with its names and sizes."""
    compared = len(strategies) > 1
    n_clusters = len(np.unique(cell.clusters[used]))
    bounds = (-2.0, 2.0) if compared else (-1.0, 1.0)
    found = estimate(draws, n_clusters, bounds, inference)
    return {
        **_head(quantity, strategies, names, k),
        "value": found.value,
        "ci_low": found.low,
        "ci_high": found.high,
        "mde": _detectable(draws, inference) if compared and np.isfinite(found.low) else np.nan,
        "n_items": int(used.sum()),
        "n_trials": sum(int((~np.isnan(cell.scores(strategy, k)[used])).sum()) for strategy in strategies),
        "n_clusters": n_clusters,
        "n_unparsed": cell.n_unparsed(k, *strategies),
        "undefined_resamples": int(np.isnan(draws[1:]).sum()),
    }


def _head(quantity: str, strategies: Sequence[str], names: dict[str, Any], k: int) -> dict[str, Any]:
    alone = {"strategy": strategies[0]} if len(strategies) == 1 else {}
    return {"quantity": quantity, **names, "condition": " - ".join(strategies), **alone, "k": k}


def _detectable(draws: Array, inference: Inference) -> float:
    """The normal approximation, with the resamples' standard deviation; nan where they do not differ."""
    spread = float(np.nanstd(draws[1:]))
    reach = stats.norm.isf(inference.alpha / 2) + stats.norm.isf(1 - POWER)
    return float(reach * spread) if spread > 1e-12 else float("nan")


def claim_rows(agreement: pd.DataFrame) -> pd.DataFrame:
    """The paper's counts over cells: where does an interval contain 0, where does Balanced win or lose?

    Parameters
    ----------
    agreement : DataFrame
        From `agreement_rows`.

    Returns
    -------
    DataFrame
        One row a coefficient (``quantity``'s first word), comparison and setting of the judge (everything of
        a cell but the judge and the data set). ``cells_containing_0``, ``cells_above_0`` and
        ``cells_below_0`` count cells by their interval, ``smallest_difference`` and ``largest_difference``
        are the extreme point estimates; ``n_cells`` is the number of cells with an interval. Counts of
        decisions have no interval.
    """
    if agreement.empty:
        return agreement
    compared = agreement[agreement["condition"].isin([" - ".join(pair) for pair in COMPARISONS])]
    decided = compared.dropna(subset=["ci_low", "ci_high"])
    shared = [name for name in CELL if name not in ("judge", "dataset")]
    rows = []
    for key, cells in decided.groupby(["quantity", "condition", *shared], sort=False):
        names = dict(zip(["quantity", "condition", *shared], key, strict=True))
        for claim, value in _claims(cells).items():
            rows.append({**names, "quantity": f"{key[0]}_{claim}", "value": value, "n_cells": len(cells)})
    return pd.DataFrame(rows)


def _claims(cells: pd.DataFrame) -> dict[str, float]:
    above, below = cells["ci_low"] > 0, cells["ci_high"] < 0
    return {
        "cells_containing_0": int((~above & ~below).sum()),
        "cells_above_0": int(above.sum()),
        "cells_below_0": int(below.sum()),
        "smallest_difference": float(cells["value"].min()),
        "largest_difference": float(cells["value"].max()),
    }


# --- Over the number of orders ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Pearson's r of one cell over k.

    Attributes
    ----------
    names : dict
    cell : SideBySide
    used : ndarray of bool, shape (n,)
        The items that all points of all curves are of.
    lengths : dict
        Each strategy's number of orders, where its curve ends.
    draws : ndarray, shape (strategies, K, 1 + resamples)
        The estimate first; nan beyond a curve's end.
    """

    names: dict[str, Any]
    cell: SideBySide
    used: Array
    lengths: dict[str, int]
    draws: Array

    @property
    def strategies(self) -> tuple[str, ...]:
        return tuple(self.lengths)

    @property
    def n_clusters(self) -> int:
        return len(np.unique(self.cell.clusters[self.used]))

    def of(self, strategy: str) -> Array:
        """One strategy's curve, (its length, 1 + resamples)."""
        return self.draws[self.strategies.index(strategy), : self.lengths[strategy]]

    def gaps(self) -> Array:
        """The largest distance of Balanced and Random over the orders that both have, (1 + resamples,)."""
        k = self.cell.common_k("balanced", "random")
        return np.asarray(np.abs(self.of("balanced")[:k] - self.of("random")[:k]).max(axis=0))


def k_curve_rows(
    judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference, by: Sequence[str] = CELL
) -> pd.DataFrame:
    """Pearson's r over the number of orders k, and how much of the gain from k = 1 to K is there at each k.

    Parameters
    ----------
    judgements, rng, inference, by
        As in `agreement_rows`. A cell of one order, or of one strategy, has no curve.

    Returns
    -------
    DataFrame
        Of each cell, at each ``k``: ``pearson`` by strategy, as far as its orders go, and of the comparisons;
        ``gain_share`` of each strategy from k = 2: (r_k - r_1) / (r_K of Balanced - r_1 of the strategy
        itself), nan with a ``note`` where the interval of that gain reaches 0; and ``curve_gap``, the largest
        |r_Balanced - r_Random| over k. The items are the same at every k: those with a reference whose first
        answer can be parsed under every strategy. ``n_unparsed`` counts the answers to the first k orders
        that give no score, ``undefined_resamples`` of a share those in which nothing was gained.

        Rows without a judge and data set are over several cells alone: the means over ``n_cells`` of them
        with a curve (``pearson``), their ``gain_share``, and ``judges_tracking``: how many of ``n_cells``
        judges have no ``curve_gap`` above `TRACKS`.

    Notes
    -----
    The first k orders of Balanced are drawn from all 2n for each item, so that k = 1 is one balanced order,
    not the canonical one. Fixed repeats one order: at temperature 0 its gain is 0 by construction.
    ``curve_gap`` cannot be negative, and noise raises it and its interval: read it as a bound, not as a test.
    """
    weights = resamples(rng, inference)
    curves = [
        found
        for names, cell in side_by_side(judgements, by, fewest=2)
        if (found := _curves(names, cell, weights(names["dataset"], cell.n_clusters))) is not None
    ]
    rows = [row for found in curves for row in _curve_rows(found, inference)]
    rows += [row for group in _alike(curves) for row in _pooled_curve_rows(group, inference)]
    return pd.DataFrame(rows)


def _curves(names: dict[str, Any], cell: SideBySide, weights: Array) -> Curves | None:
    most = max(cell.common_k(name) for name in cell.grids)
    if most < 2:
        return None
    lengths = {name: most if cell.stands_for_any_k(name) else cell.common_k(name) for name in cell.grids}
    points = [(place, k) for place, length in enumerate(lengths.values()) for k in range(length)]
    means = np.stack([cell.means(tuple(lengths)[place], k + 1) for place, k in points])
    used = ~np.isnan(means.sum(axis=0) + cell.reference)
    draws = np.full((len(lengths), most, weights.shape[1]), np.nan)
    found = pearson(np.where(used, means, np.nan), cell.reference, cell.clusters, weights)
    draws[tuple(np.transpose(points))] = found
    return Curves(names, cell, used, lengths, draws)


def _curve_rows(curves: Curves, inference: Inference) -> Iterator[dict[str, Any]]:
    for k in range(1, curves.draws.shape[1] + 1):
        of = {name: curves.of(name)[k - 1] for name, length in curves.lengths.items() if k <= length}
        drawn: list[tuple[tuple[str, ...], Array]] = [((name,), draws) for name, draws in of.items()]
        drawn += [(pair, of[pair[0]] - of[pair[1]]) for pair in comparisons(curves.cell, k)]
        for strategies, draws in drawn:
            yield _row("pearson", strategies, curves.names, curves.cell, k, curves.used, draws, inference)
    yield from _gain_share_rows(curves.names, curves.lengths, curves.draws, curves.n_clusters, inference)
    if ("balanced", "random") in comparisons(curves.cell, 1):
        yield _gap_row(curves, inference)


def _gain_share_rows(
    names: dict[str, Any], lengths: dict[str, int], draws: Array, n_clusters: int, inference: Inference
) -> Iterator[dict[str, Any]]:
    if "balanced" not in lengths:
        return
    reached = draws[list(lengths).index("balanced"), lengths["balanced"] - 1]
    for curve, (strategy, length) in zip(draws, lengths.items(), strict=True):
        gain = reached - curve[0]
        gained = estimate(gain, n_clusters, (-2.0, 2.0), inference).low > 0
        shares = gain_shares(curve, reached) if gained else np.full_like(curve, np.nan)
        note = "" if gained or np.isnan(gain[0]) else NO_GAIN
        # Of Balanced's gain all is there at K, by definition.
        for k in range(2, length if strategy == "balanced" else length + 1):
            yield {
                **_head("gain_share", (strategy,), names, k),
                **_share(shares[k - 1], n_clusters, inference),
                "n_clusters": n_clusters,
                "undefined_resamples": int(np.isnan(shares[k - 1, 1:]).sum()) if gained else np.nan,
                "note": note,
            }


def _share(draws: Array, n_clusters: int, inference: Inference) -> dict[str, float]:
    """A share of the gain with its interval; 0 for one answer repeated, which is no estimate and has none."""
    found = estimate(draws, n_clusters, (0.0, 1.0), inference)
    if not (np.abs(draws) > ROUNDING).any():
        value = np.nan if np.isnan(found.value) else 0.0
        return {"value": value, "ci_low": np.nan, "ci_high": np.nan}
    return {"value": found.value, "ci_low": found.low, "ci_high": found.high}


def gain_shares(curves: Array, reached: Array) -> Array:
    """How much of the way from r at k = 1 to a final r is reached at each k.

    Parameters
    ----------
    curves : ndarray, shape (..., K, R)
        r over k; the last axis are resamples.
    reached : ndarray, shape (R,)
        The final r.

    Returns
    -------
    ndarray, shape (..., K, R)
        0 at k = 1, 1 where the final r is reached, above where it is passed; nan where the final r is not
        above the first one: of no gain there is no share.

    Examples
    --------
    >>> gain_shares(np.array([[0.5], [0.7], [0.9]]), np.array([0.9])).round(3).tolist()
    [[0.0], [0.5], [1.0]]
    """
    first = curves[..., :1, :]
    gain = reached - first
    return ratio(curves - first, np.where(gain > 0, gain, 0.0))


def _gap_row(curves: Curves, inference: Inference) -> dict[str, Any]:
    pair = ("balanced", "random")
    k = curves.cell.common_k(*pair)
    row = _row("curve_gap", pair, curves.names, curves.cell, k, curves.used, curves.gaps(), inference)
    return {**row, "mde": np.nan}


def _alike(curves: Sequence[Curves]) -> list[list[Curves]]:
    """Several curves each that differ in judge and data set alone, of those that are defined."""
    groups: dict[tuple[Any, ...], list[Curves]] = {}
    for found in curves:
        if all(np.isfinite(found.of(name)[:, 0]).all() for name in found.strategies):
            key = (*_pooled_names(found.names).values(), *found.lengths.items())
            groups.setdefault(key, []).append(found)
    return [group for group in groups.values() if len(group) > 1]


def _pooled_names(names: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in names.items() if name not in ("judge", "dataset")}


def _pooled_curve_rows(group: Sequence[Curves], inference: Inference) -> Iterator[dict[str, Any]]:
    names, lengths = _pooled_names(group[0].names), group[0].lengths
    mean = np.mean([curves.draws for curves in group], axis=0)
    # The judges of a data set share its clusters; data sets have clusters of their own.
    n_clusters = sum({curves.names["dataset"]: curves.n_clusters for curves in group}.values())
    sizes = {"n_clusters": n_clusters, "n_cells": len(group)}
    for curve, (strategy, length) in zip(mean, lengths.items(), strict=True):
        for k in range(1, length + 1):
            found = estimate(curve[k - 1], n_clusters, (-1.0, 1.0), inference)
            ends = {"value": found.value, "ci_low": found.low, "ci_high": found.high}
            yield {**_head("pearson", (strategy,), names, k), **ends, **sizes}
    for row in _gain_share_rows(names, lengths, mean, n_clusters, inference):
        yield row | sizes
    for row in _tracking_rows(group, names):
        yield row | {"n_clusters": n_clusters}


def _tracking_rows(group: Sequence[Curves], names: dict[str, Any]) -> Iterator[dict[str, Any]]:
    cell = group[0].cell
    if ("balanced", "random") not in comparisons(cell, 1):
        return
    gaps: dict[str, float] = {}
    for curves in group:
        judge = curves.names["judge"]
        gaps[judge] = max(gaps.get(judge, 0.0), float(curves.gaps()[0]))
    if len(gaps) > 1:
        yield {
            **_head("judges_tracking", ("balanced", "random"), names, cell.common_k("balanced", "random")),
            "value": sum(gap <= TRACKS for gap in gaps.values()),
            "n_cells": len(gaps),
        }


# --- The gain beside the bias -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Gain:
    """One cell's row, and its gain and V in the sample and in all resamples, (1 + resamples,) each."""

    row: dict[str, Any]
    gains: Array
    v: Array


def gain_rows(
    judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference, by: Sequence[str] = CELL
) -> pd.DataFrame:
    """What balancing gains over the fixed order, beside the judge's position bias, one row a cell.

    Parameters
    ----------
    judgements, rng, inference, by
        As in `agreement_rows`; cells of the setting ``score`` with Balanced and Fixed.

    Returns
    -------
    DataFrame
        ``gain`` is Pearson's r of Balanced less that of Fixed, with its interval; ``v`` is Cramer's V of the
        places chosen under the balanced orders. ``gain_over_v``, a row without judge and data set, is
        Spearman's rho of the two over ``n_cells`` cells (three or more): whether the more biased gain more.

    Notes
    -----
    The interval of ``gain_over_v`` resamples the items' clusters, and keeps the cells: it says how sure the
    ranks of these judges are, not how other judges would rank.
    """
    weights = resamples(rng, inference)
    gains = [
        _gain(names, cell, weights(names["dataset"], cell.n_clusters), inference)
        for names, cell in side_by_side(judgements[judgements["setting"] == "score"], by, fewest=2)
        if ("balanced", "fixed") in comparisons(cell, 1)
    ]
    groups: dict[tuple[Any, ...], list[Gain]] = {}
    for found in gains:
        if np.isfinite(found.gains[0] + found.v[0]):
            names = _pooled_names({name: found.row[name] for name in by})
            groups.setdefault(tuple(names.items()), []).append(found)
    pooled = [_gain_over_v(dict(key), group, inference) for key, group in groups.items() if len(group) >= 3]
    return pd.DataFrame([found.row for found in gains] + pooled)


def _gain(names: dict[str, Any], cell: SideBySide, weights: Array, inference: Inference) -> Gain:
    pair = ("balanced", "fixed")
    k = cell.common_k(*pair)
    means = np.stack([cell.means(strategy, k) for strategy in pair])
    used = ~np.isnan(means.sum(axis=0) + cell.reference)
    one, other = pearson(np.where(used, means, np.nan), cell.reference, cell.clusters, weights)
    v = v_of_counts(weights.T @ _counts(cell))
    row = _row("gain", pair, names, cell, k, used, one - other, inference) | {"v": float(v[0])}
    return Gain(row, one - other, v)


def _counts(cell: SideBySide) -> Array:
    """How often each place was chosen under the balanced orders, in the cell's sequence of clusters."""
    laid = cell.grids["balanced"]
    codes = np.zeros(laid.n_clusters, dtype=int)
    codes[laid.clusters] = cell.clusters[cell.places["balanced"]]
    counts = np.zeros((cell.n_clusters, laid.size))
    counts[codes] = cluster_counts(laid)
    return counts


def _gain_over_v(names: dict[str, Any], group: Sequence[Gain], inference: Inference) -> dict[str, Any]:
    draws = rank_correlation(
        np.stack([found.gains for found in group]), np.stack([found.v for found in group])
    )
    found = estimate(draws, len(group), (-1.0, 1.0), inference)
    return {
        "quantity": "gain_over_v",
        **names,
        "condition": "balanced - fixed",
        "value": found.value,
        "ci_low": found.low,
        "ci_high": found.high,
        "n_cells": len(group),
        "undefined_resamples": int(np.isnan(draws[1:]).sum()),
    }


def rank_correlation(x: Array, y: Array) -> Array:
    """Spearman's rho down the columns, (n, R) to (R,); nan where a column holds nan or is constant."""
    ranks = [stats.rankdata(values, axis=0, nan_policy="propagate") for values in (x, y)]
    one, other = (values - values.mean(axis=0) for values in ranks)
    return ratio((one * other).sum(axis=0), np.sqrt((one**2).sum(axis=0) * (other**2).sum(axis=0)))
