"""Data frames as plain rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd


def rows_of(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """A table's rows one after the other, each by column name."""
    names = [str(name) for name in table.columns]
    for row in table.itertuples(index=False, name=None):
        yield dict(zip(names, row, strict=True))
