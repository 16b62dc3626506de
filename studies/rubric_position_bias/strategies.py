"""One cell's order strategies side by side: the same items, and their mean scores over the first k orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

import numpy as np
import pandas as pd

from shared.metrics.resampling import (
    Array,
    Estimate,
    Inference,
    from_replicates,
    named_generator,
    ratio,
    resample_weights,
)
from studies.rubric_position_bias.grid import Codes, Grid, asked, cells, grid
from studies.rubric_position_bias.orders import Strategy

CELL = ("judge", "setting", "dataset", "rater", "scheme", "size", "temperature", "effort", "scale")
"""What makes a cell, within which nothing but the strategy differs."""

STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

ITEM = ["item", "cluster", "prompt", "system", "criterion", "reference"]
TRIAL = ["setting", "strategy", "draw", "order", "score"]

Resamples = Callable[[str, int], Array]

# --- The strategies of a cell -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """The strategies of one cell.

    Attributes
    ----------
    items : DataFrame, n rows
        One row an item (setting criteria: an item and criterion) that any strategy has, sorted by cluster:
        ``item, cluster, prompt, system, criterion, reference``.
    clusters : ndarray of int, shape (n,)
        Cluster codes 0..C - 1, ascending.
    grids : dict
        Each strategy's grid, in the order of `STRATEGIES`; absent where the cell has no trial of it.
    places : dict
        For each strategy, the row in ``items`` of each of its grid's items.
    """

    items: pd.DataFrame
    clusters: Codes
    grids: dict[str, Grid]
    places: dict[str, Codes]

    @property
    def n_clusters(self) -> int:
        return int(self.clusters[-1]) + 1

    @property
    def reference(self) -> Array:
        """The reference score of each item; nan where it has none."""
        return self.items["reference"].to_numpy(dtype=float)

    @property
    def matched_k(self) -> int:
        """`common_k` of all strategies of the cell."""
        return self.common_k(*self.grids)

    def common_k(self, *strategies: str) -> int:
        """The number of orders at which these strategies are compared: the most that all of them have.

        Fixed with a single draw takes no part: a deterministic engine would give its answer to every repeat,
        so that it stands for any number of them. 1 for it alone.
        """
        several = [self._draws(name) for name in strategies if not self.stands_for_any_k(name)]
        return min(several, default=1)

    def scores(self, strategy: str, k: int) -> Array:
        """The scores under the strategy's first k orders.

        Parameters
        ----------
        strategy : str
        k : int

        Returns
        -------
        ndarray, shape (n, k)
            nan where an answer gives none, and throughout for an item that was not asked under all k orders.
            Of shape (n, 1) for Fixed with a single draw, which stands for any k.
        """
        width = 1 if self.stands_for_any_k(strategy) else k
        aligned = np.full((len(self.items), width), np.nan)
        if width <= self._draws(strategy):
            first = self.grids[strategy].first(width)
            whole = asked(first.orders).all(axis=1, keepdims=True)
            aligned[self.places[strategy]] = np.where(whole, first.scores, np.nan)
        return aligned

    def means(self, strategy: str, k: int) -> Array:
        """The mean of each item's scores over the strategy's first k orders; nan where it has none."""
        return mean_parsed(self.scores(strategy, k))

    def n_unparsed(self, k: int, *strategies: str) -> int:
        """How many of the answers to these strategies' first k orders give no score."""
        return sum(self.grids[name].first(k).n_unparsed for name in strategies)

    def stands_for_any_k(self, strategy: str) -> bool:
        """Whether the strategy is one answer, which a deterministic engine would repeat."""
        return strategy == "fixed" and self._draws(strategy) == 1

    def _draws(self, strategy: str) -> int:
        return int(self.grids[strategy].scores.shape[1])


def side_by_side(
    judgements: pd.DataFrame, by: Sequence[str] = CELL, fewest: int = 1
) -> Iterator[tuple[dict[str, Any], SideBySide]]:
    """Each cell's strategies, with what names the cell.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``.
    by : sequence of str
        What makes a cell: `CELL`, and more (``criterion``) for smaller cells.
    fewest : int
        Cells of fewer strategies are left out.
    """
    columns = list(dict.fromkeys([*by, *ITEM, *TRIAL]))
    for names, cell in cells(judgements[columns], by):
        if cell["strategy"].nunique() >= fewest:
            yield names, _side_by_side(cell)


def mean_parsed(scores: Array) -> Array:
    """The mean over the last axis of what is not nan; nan where all is."""
    return ratio(np.nansum(scores, axis=-1), (~np.isnan(scores)).sum(axis=-1))


def _side_by_side(cell: pd.DataFrame) -> SideBySide:
    named = cell.assign(item=_names(cell))
    items = named.drop_duplicates("item")[ITEM].sort_values(["cluster", "item"], ignore_index=True)
    rows = {name: named[named["strategy"] == name] for name in STRATEGIES}
    grids: dict[str, Grid] = {name: grid(found) for name, found in rows.items() if len(found)}
    index = pd.Index(items["item"])
    places: dict[str, Codes] = {name: index.get_indexer(found.items) for name, found in grids.items()}
    return SideBySide(items, pd.factorize(items["cluster"])[0], grids, places)


def _names(cell: pd.DataFrame) -> pd.Series:
    """Where one answer scores several criteria, each of its criteria is an item of its own."""
    if (cell["setting"] == "score").all():
        return cell["item"]
    return cell["item"].astype(str) + "/" + cell["criterion"].astype(str)


# --- Resamples --------------------------------------------------------------------------------------


def resamples(rng: np.random.Generator, inference: Inference) -> Resamples:
    """What draws clusters with replacement: a function of a data set's name and its number of clusters.

    Returns
    -------
    callable, (str, int) -> ndarray of shape (clusters, 1 + resamples)
        How often each cluster is drawn. Column 0 is the sample itself, every cluster once, so that whatever
        is computed column by column gives the estimate first and its replicates after it. Cells of one data
        set get the same draws: their results can be paired, draw by draw.
    """
    entropy = int(rng.integers(2**62))

    @cache
    def weights(dataset: str, n_clusters: int) -> Array:
        generator = named_generator(entropy, dataset, str(n_clusters))
        drawn = resample_weights(n_clusters, inference.resamples, generator)
        return np.concatenate([np.ones((1, n_clusters)), drawn]).T

    return weights


def estimate(draws: Array, n_clusters: int, bounds: tuple[float, float], inference: Inference) -> Estimate:
    """An estimate and the interval that its replicates give.

    Parameters
    ----------
    draws : ndarray, shape (1 + resamples,)
        The estimate, then its replicates.
    n_clusters : int
    bounds : (float, float)
        The quantity's range.
    inference : Inference

    Returns
    -------
    Estimate
        nan ends under two clusters, where the estimate is undefined, and where more replicates are undefined
        than the interval leaves out; never of width 0.
    """
    return from_replicates(float(draws[0]), draws[1:], n_clusters, bounds, inference)
