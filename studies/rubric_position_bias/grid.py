"""The judgements of one cell as arrays: items by draws, each with the order that the prompt showed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared import frames
from shared.metrics.resampling import Array

Codes = npt.NDArray[np.integer[Any]]

CELL = ("judge", "dataset", "scheme", "size", "temperature", "effort", "strategy")
"""What a grid is made of: one value each."""


@dataclass(frozen=True, slots=True)
class Grid:
    """One cell's judgements: ``items`` along the first axis, draws along the second.

    ``items`` (items,) are names, and ``clusters`` (items,) the codes 0 .. C-1 of their sources in order of
    first appearance; ``prompts`` (items,) the codes of what their candidates compete for, -1 for none;
    ``reference`` (items,) the reference scores, nan for none. ``scores`` (items, K) are nan where no score
    was given; ``orders`` (items, K, n) the option shown at each place, 0 where there is no such trial;
    ``probs`` (items, K, n) the probability of each *option*, nan where there is none. ``n_unparsed`` counts
    the trials without a score.

    In the setting ``criteria`` an order is one of criteria, n their number, and an item appears once for
    each of its criteria.
    """

    items: npt.NDArray[np.object_]
    clusters: Codes
    prompts: Codes
    reference: Array
    scores: Array
    orders: npt.NDArray[np.int8]
    probs: Array
    n_unparsed: int

    @property
    def size(self) -> int:
        """Number of options."""
        return int(self.orders.shape[-1])

    @property
    def n_clusters(self) -> int:
        return int(self.clusters.max(initial=-1)) + 1

    def first(self, k: int) -> Grid:
        """The draws 0 .. k-1 alone; all where there are no more."""
        scores, orders = self.scores[:, :k], self.orders[:, :k]
        unparsed = int((np.isnan(scores) & asked(orders)).sum())
        return replace(self, scores=scores, orders=orders, probs=self.probs[:, :k], n_unparsed=unparsed)

    def positions(self) -> npt.NDArray[np.int8]:
        """The place, 1 .. n, of each option, (items, K, n); 0 where there is no such trial."""
        places = (np.argsort(self.orders, axis=-1) + 1).astype(np.int8)
        places[~asked(self.orders)] = 0
        return places


def asked(orders: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Where a grid of orders has a trial, (items, K)."""
    return orders[..., 0] > 0


def cells(
    judgements: pd.DataFrame, by: Sequence[str] = CELL
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The rows of each combination of ``by``, with what names it: `shared.frames.cells`, numbers as numbers.

    Select the columns that are needed before: every column is copied cell by cell.
    """
    for texts, rows in frames.cells(judgements, by):
        yield {name: _NUMBERS.get(name, str)(text) for name, text in texts.items()}, rows


_NUMBERS: dict[str, Any] = {"size": int, "temperature": float}


def coded(rows: pd.DataFrame, *, but: Sequence[str] = ()) -> pd.DataFrame:
    """The same table with its texts as categories: rows are then chosen and grouped by integers.

    Parameters
    ----------
    rows : DataFrame
    but : sequence of str
        Columns that stay as they are: ids, which hardly repeat.

    Returns
    -------
    DataFrame
        Equal texts compare, group and sort as they did. Millions of rows take a third of the time and space.
    """
    texts = [name for name in rows.columns if name not in but and pd.api.types.is_string_dtype(rows[name])]
    return rows.astype(dict.fromkeys(texts, "category"))


def grid(rows: pd.DataFrame) -> Grid:
    """Lay the judgements of one cell out as a grid.

    Parameters
    ----------
    rows : DataFrame
        With ``item, cluster, draw, order, score``, and where they matter ``criterion, prompt, reference``
        and ``p_1`` .. ``p_n``. All of one judge, scheme, size and strategy, and in the setting ``criteria``
        of one scale.

    Returns
    -------
    Grid
        Items (each with its criteria) in order of first appearance; as many draws as the largest ``draw``
        tells, of which an item may lack some.

    Raises
    ------
    ValueError
        If an item has two judgements of one draw, orders differ in length or are not permutations of
        1 .. n, or an item has no cluster.

    Examples
    --------
    >>> names = {"item": "a", "cluster": "a", "draw": [0, 1]}
    >>> laid = grid(pd.DataFrame({**names, "order": ["123", "231"], "score": [3.0, float("nan")]}))
    >>> laid.scores.tolist(), laid.positions().tolist(), laid.n_unparsed
    ([[3.0, nan]], [[[1, 2, 3], [3, 1, 2]]], 1)
    """
    units, first = _units(rows)
    draws = rows["draw"].to_numpy(dtype=np.intp)
    shape = (len(first), int(draws.max(initial=-1)) + 1)
    cell = units * shape[1] + draws
    _no_cell_twice(cell, rows)
    orders = _spread(_digits(rows["order"]), cell, shape, 0)
    scores = _spread(rows["score"].to_numpy(dtype=float), cell, shape, np.nan)
    heads = rows.iloc[first]
    return Grid(
        items=heads["item"].to_numpy(dtype=object),
        clusters=_clusters(heads),
        prompts=_prompts(heads),
        reference=_numbers(heads, "reference"),
        scores=scores,
        orders=orders,
        probs=_probabilities(rows, cell, orders.shape),
        n_unparsed=int(rows["score"].isna().sum()),
    )


def _units(rows: pd.DataFrame) -> tuple[Codes, Codes]:
    """For each row the number of its item and criterion, and the first row of each number."""
    units, _ = pd.factorize(rows["item"])
    if "criterion" in rows:
        criteria, names = pd.factorize(rows["criterion"])
        units, _ = pd.factorize(units * (len(names) + 1) + criteria)
    return units, np.unique(units, return_index=True)[1]


def _no_cell_twice(cell: Codes, rows: pd.DataFrame) -> None:
    if np.bincount(cell, minlength=1).max() > 1:
        twice = rows[pd.Series(cell, index=rows.index).duplicated()].iloc[0]
        raise ValueError(
            f"item {twice['item']!r} has two judgements of draw {twice['draw']}: select one cell "
            f"({', '.join(CELL)}; one scale in the setting criteria)"
        )


def _digits(orders: pd.Series) -> npt.NDArray[np.int8]:
    """Orders, written as digits, as an array (rows, n); each different one is read once."""
    codes, texts = pd.factorize(orders)
    if (codes < 0).any() or len({len(text) for text in texts}) > 1:
        raise ValueError("orders of several lengths, or missing ones: select one rubric size")
    size = len(texts[0]) if len(texts) else 0
    digits = np.array(list(texts), dtype=f"S{max(size, 1)}").view(np.uint8).reshape(len(texts), max(size, 1))
    found = (digits - ord("0")).astype(np.int8)
    wrong = (np.sort(found, axis=1) != np.arange(1, found.shape[1] + 1)).any(axis=1)
    if wrong.any():
        raise ValueError(f"order {texts[int(wrong.argmax())]!r} is no permutation of 1 to {size}")
    return found[codes]


def _spread(values: Any, cell: Codes, shape: tuple[int, int], missing: float) -> Any:
    """One value (or vector) a row, put in its place among items and draws."""
    spread = np.full((shape[0] * shape[1], *values.shape[1:]), missing, dtype=values.dtype)
    spread[cell] = values
    return spread.reshape(*shape, *values.shape[1:])


def _probabilities(rows: pd.DataFrame, cell: Codes, shape: tuple[int, ...]) -> Array:
    names = [f"p_{option}" for option in range(1, shape[-1] + 1)]
    if not set(names) <= set(rows.columns):
        return np.broadcast_to(np.nan, shape)
    return np.asarray(_spread(rows[names].to_numpy(dtype=float), cell, (shape[0], shape[1]), np.nan))


def _clusters(heads: pd.DataFrame) -> Codes:
    codes, _ = pd.factorize(heads["cluster"])
    if (codes < 0).any():
        raise ValueError("an item has no cluster: give every item the name of its source")
    return codes


def _prompts(heads: pd.DataFrame) -> Codes:
    """Codes of the prompts; an empty or missing one is none."""
    if "prompt" not in heads:
        return np.full(len(heads), -1)
    return pd.factorize(heads["prompt"].where(heads["prompt"] != ""))[0]


def _numbers(heads: pd.DataFrame, column: str) -> Array:
    if column not in heads:
        return np.full(len(heads), np.nan)
    return heads[column].to_numpy(dtype=float)
