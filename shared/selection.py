"""Which items a set of trials takes, where it does not take all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd


def first_items(items: pd.DataFrame, n: int | None) -> pd.DataFrame:
    """The first ``n`` items of each data set.

    Parameters
    ----------
    items : DataFrame
        With ``dataset`` and ``cluster``; in the file's order.
    n : int or None
        0: none; None: all.

    Returns
    -------
    DataFrame
        Rows of ``items``. Each source (cluster) gives one item before any gives a second, in the file's
        order; and sources take turns in which of their items comes first, so that the first few are not all
        one system's, or all of one criterion.
    """
    if n is None:
        return items
    return items.iloc[np.argsort(_turns(items), kind="stable")].groupby("dataset").head(n)


def _turns(items: pd.DataFrame) -> npt.NDArray[np.int64]:
    """After how many items of its own source each item is taken."""
    sources = items.groupby("dataset")["cluster"].transform(lambda names: pd.factorize(names)[0])
    of_source = items.groupby(["dataset", "cluster"])
    turns = (of_source.cumcount() + sources) % of_source["dataset"].transform("size")
    return turns.to_numpy(np.int64)
