"""Which items a set of the params puts on trial."""

from __future__ import annotations

import pandas as pd

from studies.rationalization_probes.params import TrialSet


def select(items: pd.DataFrame, name: str, chosen: TrialSet) -> pd.DataFrame:
    """The items of a set: its kind's, of the first ``chosen.items`` documents and of the asked levels.

    Parameters
    ----------
    items : DataFrame
        One row an item, in document order.
    name : str
        The set's; its kind, unless the set says another.
    chosen : TrialSet
    """
    of_kind = items[items["kind"] == chosen.kind_of(name)]
    if chosen.levels is not None:
        of_kind = of_kind[of_kind["level"].isin(chosen.levels)]
    documents = of_kind["cluster"].unique()[: chosen.items]
    return of_kind[of_kind["cluster"].isin(documents)]
