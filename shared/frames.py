"""Tables between stages: read from Parquet, and gone through as plain rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from shared.errors import UserError


def read(path: Path, stage: str) -> pd.DataFrame:
    """A table that another stage wrote.

    Parameters
    ----------
    path : Path
        The Parquet file.
    stage : str
        The stage that makes it, for the error.

    Raises
    ------
    UserError
        If the file is absent, or is no Parquet file that can be read.
    """
    try:
        return pd.read_parquet(path)
    except FileNotFoundError:
        state = "absent"
    except (OSError, ValueError, pa.ArrowException) as error:  # what pyarrow says of a damaged file varies
        state = f"damaged ({' '.join(str(error).split())[:200]})"
    raise UserError(f"{path}: {state}; run the `{stage}` stage (make repro)")


def read_judges(folder: Path, judges: Sequence[str], stage: str) -> pd.DataFrame:
    """What a stage wrote of exactly these judges, one file each; every row with its ``judge``.

    Raises
    ------
    UserError
        If a judge's file is absent or damaged (see `read`).
    """
    frames = [read(folder / f"{judge}.parquet", stage).assign(judge=judge) for judge in judges]
    return pd.concat(frames, ignore_index=True)


def all_there(wanted: Iterable[str], known: Iterable[str], what: str, stage: str) -> None:
    """What a stage before left out is no failure of the judge: nothing is read without it.

    Parameters
    ----------
    wanted, known : iterable of str
        Ids of what is needed, and of what is there.
    what, stage : str
        What is missing, and the stage that makes it, for the error.

    Raises
    ------
    UserError
        If any is missing.
    """
    there = set(known)
    if missing := [name for name in wanted if name not in there]:
        raise UserError(f"{len(missing)} {what}, e.g. {missing[0]!r}; run the `{stage}` stage (make repro)")


def rows_of(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """A table's rows one after the other, each by column name."""
    names = [str(name) for name in table.columns]
    for row in table.itertuples(index=False, name=None):
        yield dict(zip(names, row, strict=True))


def cells(rows: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """The rows of each combination of ``by``, in order of first appearance, with what names it."""
    for key, cell in rows.groupby(list(by), sort=False):
        yield dict(zip(by, map(str, key), strict=True)), cell
