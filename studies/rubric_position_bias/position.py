"""Do a judge's choices lean to places in the rubric? Judgements in, tidy frames of estimates out.

Of balanced orders alone: there every option stands equally often at every place, so that a judge that reads
the text and not the place chooses all places alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from shared.metrics.multiplicity import holm
from shared.metrics.permutation import permutation_p
from shared.metrics.resampling import Array, Estimate, Inference, named_generator, resample_weights
from studies.rubric_position_bias.grid import CELL, Grid, asked, cells, grid
from studies.rubric_position_bias.metrics import (
    chi_square,
    cluster_counts,
    detectable_v,
    direction,
    interval,
    null_range,
    null_ratio,
    permutation_null,
    printed_v,
    shares,
    v_of_counts,
)
from studies.rubric_position_bias.orders import balanced

NEEDED = ("item", "criterion", "cluster", "draw", "order", "score")
"""What is read of a judgement besides what names its cell."""

NEEDS_ALL = "n/a: needs all balanced orders"

SHARP, MOVING = 0.9, 1.1
"""Chi-square's null mean over its degrees of freedom: below the first it is conservative, above the second
it rejects too often."""

NULL_DRAWS = 2000
"""Draws of a permutation null that gives a range, or a p-value that joins no large family, at most."""

Weights = Callable[[int], Array]
"""`resample_weights` by number of clusters: one draw of resamples for all cells that have so many."""


@dataclass(frozen=True, slots=True)
class Places:
    """The choices of one cell by place: of each cluster, in each resample, and without bias."""

    grid: Grid
    counts: Array  # (clusters with a choice, n)
    totals: Array  # (resamples, n)
    null: Array  # (permutations, n)

    @property
    def sizes(self) -> dict[str, int]:
        answered = ~np.isnan(self.grid.scores)
        return {
            "n_items": int(answered.any(axis=1).sum()),
            "n_trials": int(answered.sum()),
            "n_clusters": len(self.counts),
            "n_unparsed": self.grid.n_unparsed,
            "k": self.grid.scores.shape[1],
        }


def position_rows(
    judgements: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
    by: Sequence[str] = CELL,
) -> pd.DataFrame:
    """Which places a judge chooses, and whether that is more than its scores alone would give.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; of the setting ``score`` the strategy ``balanced`` is used.
    rng : numpy.random.Generator
    inference : Inference
    by : sequence of str
        What makes a cell; items are pooled over what is not named (criteria), as the paper does.

    Returns
    -------
    DataFrame
        For each cell the quantities below, each with its interval by resampling clusters and, in
        ``null_low`` and ``null_high``, the range of `permutation_null`.

        ``position_share`` (condition "place p")
            Share of the choices at a place, 1/n without bias; ``count`` is their number.
        ``direction``
            -1 always the first place, 1 always the last; ``p`` from the permutation null, two-sided.
        ``cramers_v``
            The size of the bias, in [0, 1]. ``p``, the primary test: the share of the null with a V as large;
            ``p_holm`` over the declared family (`FAMILY`), nan for every other row; ``mde`` the smallest V
            that would be found with probability 0.8. Its interval says how exactly V is known and is no
            test: V is above 0 by noise alone.
        ``printed_v``
            The paper's formula, its square.
        ``printed_v_of_all``
            The same with the paper's own N, items times orders, whether they could be parsed or not.
        ``chi_square``
            The paper's test, with the ``p`` of its own reference distribution.
        ``chi_square_null_ratio``
            Its mean without bias over its n - 1 degrees of freedom: below 1 it is conservative.

        ``changed``, on ``cramers_v`` and ``chi_square``: whether the two tests differ at 1 - ``confidence``,
        and why. ``n_trials`` are the choices, N; ``n_unparsed`` the trials without one.

        A cell that was asked under fewer than all balanced orders (`lacks_orders`) has nan everywhere, with a
        ``note``, but for ``count`` and the permutation ``p``: over a part of the orders the places that are
        chosen tell what the texts are worth too, and only a test that keeps each source's orders is exact.
    """
    entropy = int(rng.integers(2**62))
    weights = weights_of(entropy, inference)
    rows: list[dict[str, Any]] = []
    for names, cell in cells(balanced_scores(judgements, by), by):
        generator = named_generator(entropy, "null", *map(str, names.values()))
        places = places_of(cell, generator, weights, inference)
        lacking = lacks_orders(places.grid)
        for found in _rows(places, inference):
            kept = () if found["quantity"] == "chi_square" else ("p",)
            rows.append(names | (undefined(found, *kept) if lacking else found) | places.sizes)
    return with_holm(pd.DataFrame(rows), "cramers_v")


def size_rows(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """How position bias depends on the number of options.

    Parameters
    ----------
    judgements : DataFrame
        As for `position_rows`; cells that were asked with one rubric size alone are left out.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        For each judge, data set, scheme, temperature and effort, over the items that have choices under
        every size, so that the sizes differ in no item; intervals are by resampling clusters:

        ``cramers_v`` (condition "size n")
            With interval, null range and permutation ``p``, not corrected.
        ``cramers_v_above_null`` (condition "size n")
            V less the mean of the null's: noise makes V larger with fewer choices, and small rubrics have
            fewer orders.
        ``cramers_v_difference`` (condition "size 9 - size 5")
            Of two sizes, resampled together; signed.
        ``lowest_v_share`` (condition "size n")
            Share of the resamples in which this size has the lowest V; no interval.

        A size that was asked under fewer than all balanced orders has nan, with a ``note``, and so has what
        is compared with it.
    """
    entropy = int(rng.integers(2**62))
    weights = weights_of(entropy, inference)
    by = [name for name in CELL if name != "size"]
    rows: list[dict[str, Any]] = []
    for names, cell in cells(balanced_scores(judgements, CELL), by):
        common = _in_every_size(cell)
        if common["size"].nunique() > 1:
            key = [entropy, "sizes", *map(str, names.values())]
            rows += [names | found for found in _size_rows(common, key, weights, inference)]
    return pd.DataFrame(rows)


FAMILY = {"scheme": "base", "size": 5, "temperature": 0.0, "effort": ""}
"""The cells whose p-values are corrected together: the paper's main design, all judges and data sets."""


def with_holm(rows: pd.DataFrame, *quantities: str, family: dict[str, Any] = FAMILY) -> pd.DataFrame:
    """Rows with ``p_holm``, each quantity's p-values corrected over the cells that are of ``family``.

    Parameters
    ----------
    rows : DataFrame
        With ``quantity``, ``p`` and the columns that ``family`` names, where these make the cells.
    *quantities : str
        Which are tests of the family; other rows get nan.
    """
    if rows.empty:
        return rows
    member = pd.Series(True, index=rows.index)
    for name in family.keys() & set(rows.columns):
        member &= rows[name] == family[name]
    corrected = pd.Series(np.nan, index=rows.index)
    for quantity in quantities:
        of_family = member & (rows["quantity"] == quantity)
        corrected[of_family] = holm(rows.loc[of_family, "p"].to_numpy(dtype=float))
    return rows.assign(p_holm=corrected)


def weights_of(entropy: int, inference: Inference) -> Weights:
    """Resamples drawn once for each number of clusters, and so the same whatever other cells there are."""

    @cache
    def weights(n_clusters: int) -> Array:
        generator = named_generator(entropy, "resamples", str(n_clusters))
        return resample_weights(n_clusters, inference.resamples, generator)

    return weights


def lacks_orders(laid: Grid) -> bool:
    """Whether some item was asked under fewer than all balanced orders.

    Then options do not stand equally often at every place, and counts by place tell of content too.
    """
    return laid.orders.shape[1] < len(balanced(laid.size)) or not bool(asked(laid.orders).all())


def undefined(row: Mapping[str, Any], *kept: str, note: str = NEEDS_ALL) -> dict[str, Any]:
    """A row without its numbers, but for its count, for ``kept`` and for what names it."""
    lost = _NUMBERS - set(kept)
    words = {"note": note} | ({"changed": ""} if "changed" in row else {})
    return {name: np.nan if name in lost else value for name, value in row.items()} | words


_NUMBERS = {"value", "ci_low", "ci_high", "null_low", "null_high", "p", "mde"}


def balanced_scores(judgements: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The rows and columns that count: score options shown in balanced orders."""
    wanted = (judgements["setting"] == "score") & (judgements["strategy"] == "balanced")
    columns = [name for name in dict.fromkeys([*by, *NEEDED]) if name in judgements]
    return judgements.loc[wanted, columns]


def places_of(cell: pd.DataFrame, rng: np.random.Generator, weights: Weights, inference: Inference) -> Places:
    """Count the choices of one cell."""
    laid = grid(cell)
    counts = cluster_counts(laid)
    counts = counts[counts.sum(axis=1) > 0]
    null = permutation_null(laid, rng, inference.permutations)
    return Places(laid, counts, weights(len(counts)) @ counts if len(counts) else counts, null)


def difference_of_tests(chi_p: float, exact_p: float, ratio: float, size: int, alpha: float) -> str:
    """Whether chi-square's own test and the permutation test differ, and why.

    Parameters
    ----------
    chi_p, exact_p : float
    ratio : float
        `null_ratio`.
    size : int
    alpha : float

    Returns
    -------
    str
        "no", or a sentence that begins with "yes"; "" where a test is not defined.
    """
    if np.isnan(chi_p) or np.isnan(exact_p):
        return ""
    if (chi_p <= alpha) == (exact_p <= alpha):
        return "no"
    exact_alone = exact_p <= alpha
    mean = f"without bias it would average {ratio * (size - 1):.2g}, not its {size - 1} degrees of freedom"
    if exact_alone and ratio < SHARP:
        return f"yes: only the exact test rejects; sharp content makes chi-square conservative: {mean}"
    if not exact_alone and ratio > MOVING:
        return f"yes: only chi-square rejects; a source's scores move together, which it ignores: {mean}"
    return (
        f"yes: only {'the exact test' if exact_alone else 'chi-square'} rejects; both are near the threshold"
    )


# --- Rows -------------------------------------------------------------------------------------------


def _rows(places: Places, inference: Inference) -> Iterator[dict[str, Any]]:
    size = places.counts.shape[-1]
    for place in range(size):
        yield _share_row(places, place, inference)
    yield _direction_row(places, inference)
    counts = places.counts.sum(axis=0)
    chi2, v, ratio = float(chi_square(counts)), float(v_of_counts(counts)), null_ratio(places.null)
    exact_p = permutation_p(v, v_of_counts(places.null))
    chi_p = float(stats.chi2.sf(chi2, size - 1)) if size > 1 else np.nan
    changed = difference_of_tests(chi_p, exact_p, ratio, size, inference.alpha)
    mde = detectable_v(counts.sum(), size, ratio, inference.alpha)
    yield _row("cramers_v", v_of_counts, places, inference) | {"p": exact_p, "mde": mde, "changed": changed}
    printed = _row("printed_v", _printed, places, inference)
    yield printed
    yield _of_all(printed, places)
    low, high = null_range(chi_square(places.null), inference)
    yield _plain("chi_square", chi2) | {"p": chi_p, "null_low": low, "null_high": high, "changed": changed}
    yield _plain("chi_square_null_ratio", ratio)


def _of_all(printed: dict[str, Any], places: Places) -> dict[str, Any]:
    """`printed_v` over all trials asked instead of all choices."""
    answered, lost = places.sizes["n_trials"], places.sizes["n_unparsed"]
    share = answered / (answered + lost)
    scaled = {name: value * share for name, value in printed.items() if name in _NUMBERS}
    return printed | scaled | {"quantity": "printed_v_of_all"}


def _row(
    quantity: str,
    statistic: Callable[[Array], Array],
    places: Places,
    inference: Inference,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> dict[str, Any]:
    """A statistic of counts with its interval and the range of its null."""
    found = interval(statistic, places.counts, places.totals, inference, bounds)
    low, high = null_range(statistic(places.null), inference)
    return _estimate(quantity, found) | {"null_low": low, "null_high": high}


def _share_row(places: Places, place: int, inference: Inference) -> dict[str, Any]:
    found = _row("position_share", lambda counts: shares(counts)[..., place], places, inference)
    return found | {"condition": f"place {place + 1}", "count": int(places.counts[:, place].sum())}


def _direction_row(places: Places, inference: Inference) -> dict[str, Any]:
    found = _row("direction", direction, places, inference, (-1.0, 1.0))
    return found | {"p": permutation_p(abs(found["value"]), np.abs(direction(places.null)))}


def _estimate(quantity: str, found: Estimate, condition: str = "balanced") -> dict[str, Any]:
    ours = {"value": found.value, "ci_low": found.low, "ci_high": found.high}
    return {"quantity": quantity, "condition": condition, **ours}


def _plain(quantity: str, value: float, condition: str = "balanced") -> dict[str, Any]:
    """A row without an interval."""
    return {"quantity": quantity, "condition": condition, "value": value}


def _printed(counts: Array) -> Array:
    total = counts.sum(axis=-1)
    return printed_v(chi_square(counts), total, counts.shape[-1])


# --- Rubric sizes -----------------------------------------------------------------------------------


def _in_every_size(cell: pd.DataFrame) -> pd.DataFrame:
    """The rows of items that have a choice under every size of the cell."""
    answered = cell[cell["score"].notna()]
    found = answered.groupby("item")["size"].nunique()
    return cell[cell["item"].isin(found.index[found == cell["size"].nunique()])]


def _size_rows(
    cell: pd.DataFrame, key: list[Any], weights: Weights, inference: Inference
) -> Iterator[dict[str, Any]]:
    # One sequence of clusters in all sizes, so that one resample means the same for each.
    ordered = cell.sort_values(["size", "cluster"], kind="stable")
    found: dict[int, Places] = {}
    for names, rows in cells(ordered, ["size"]):
        size = names["size"]
        found[size] = places_of(rows, named_generator(*key, str(size)), weights, inference)
        lacking = lacks_orders(found[size].grid)
        for row in _one_size(size, found[size], inference):
            yield {"size": size} | (undefined(row, "p") if lacking else row)
    yield from _differences(found, inference)
    yield from _lowest(found)


def _one_size(size: int, places: Places, inference: Inference) -> Iterator[dict[str, Any]]:
    null = v_of_counts(places.null)
    at_rest = float(np.mean(null))

    def above(counts: Array) -> Array:
        return v_of_counts(counts) - at_rest

    said = {"condition": f"size {size}"} | places.sizes
    v = _row("cramers_v", v_of_counts, places, inference)
    yield v | said | {"p": permutation_p(v["value"], null)}
    yield _row("cramers_v_above_null", above, places, inference, (-1.0, 1.0)) | said


def _differences(found: dict[int, Places], inference: Inference) -> Iterator[dict[str, Any]]:
    for (small, one), (large, other) in combinations(found.items(), 2):
        split = one.counts.shape[1]

        def difference(both: Array, split: int = split) -> Array:
            return v_of_counts(both[..., split:]) - v_of_counts(both[..., :split])

        sums, totals = np.hstack([one.counts, other.counts]), np.hstack([one.totals, other.totals])
        change = interval(difference, sums, totals, inference, (-1.0, 1.0))
        row = _estimate("cramers_v_difference", change, f"size {large} - size {small}")
        lacking = lacks_orders(one.grid) or lacks_orders(other.grid)
        yield (undefined(row) if lacking else row) | {"n_clusters": len(sums)}


def _lowest(found: dict[int, Places]) -> Iterator[dict[str, Any]]:
    v = np.stack([v_of_counts(places.totals) for places in found.values()])
    lowest, lacking = v.argmin(axis=0), any(lacks_orders(places.grid) for places in found.values())
    for number, (size, places) in enumerate(found.items()):
        share = float(np.mean(lowest == number)) if lowest.size else np.nan
        row = _plain("lowest_v_share", share, f"size {size}")
        yield (undefined(row) if lacking else row) | {"size": size, "n_clusters": len(places.counts)}
