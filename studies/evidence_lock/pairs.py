"""Judgements with their two presentation orders side by side: one row an item under one protocol.

Only trials whose record was written in the order in which it was then shown are set side by side; crossed
ones are for `orders`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.metrics.resampling import Array
from studies.evidence_lock.params import ORDERS

KEY = (
    "judge", "item", "scheme", "record_chars", "wording", "naming", "temperature", "replicate", "writer",
)  # fmt: skip
"""What the two orders of one pair have in common."""

OF_THE_ITEM = ("dataset", "subset", "cluster", "label", "rater")

NEUTRAL = "neutral"
"""The naming of everything but the comparison with the paper's letters."""

REFERENCE = "structured"
"""The scheme that differences are taken from, as the paper does."""

CELL = ("judge", "scheme", "naming", "writer")
"""What makes a cell of the main cells, besides the data set."""

POOLED = "all"
"""The data set of what pools several, and the judge of what several decide together."""

_SIGNS = {"1": 1.0, "2": -1.0, "tie": 0.0}


def pairs(judgements: pd.DataFrame) -> pd.DataFrame:
    """Each pair of answers under each protocol, its two orders in one row.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; trials with ``inspection != decision`` are left out.

    Returns
    -------
    DataFrame
        One row for each combination of `KEY`, in order of first appearance: `KEY`, `OF_THE_ITEM`, and

        * ``n_trials``: orders that were asked, 1 or 2; ``n_unparsed``: those without a verdict; ``both``: two
          verdicts;
        * ``verdict_12``, ``verdict_21``: "1", "2", "tie" by candidate (not by place), missing for none;
        * ``agreement``: the share of the two verdicts that are the label, in {0, 0.5, 1}: a judge's tie is a
          disagreement. nan unless ``both``, and where people call a tie;
        * ``agreement_half``: the same with half a point for a judge's tie;
        * ``agreement_all``: the same as ``agreement``, an answer without a verdict being a disagreement; nan
          only where people call a tie;
        * ``changed``: 1.0 where the two verdicts differ in any way, else 0.0, whatever the label; nan unless
          ``both``;
        * ``first_shown``: mean of +1 for the answer shown first, -1 for the second, 0 for a tie, in [-1, 1];
          nan unless ``both``;
        * ``ties``: the share of the two verdicts that are ties; nan unless ``both``;
        * ``calls``, ``tokens`` (prompt and completion), ``seconds``: mean of the two verdicts, each summed
          over its protocol's calls; nan unless ``both``, since a protocol that breaks off would else look
          cheap.

    Raises
    ------
    ValueError
        If an order of a pair was judged twice.

    Notes
    -----
    ``first_shown`` is half the signed verdict (+1 candidate 1, -1 candidate 2, 0 tie) under 12 less that
    under 21: content cancels, place stays.
    """
    same = judgements[judgements["inspection"] == judgements["decision"]]
    units = same.groupby(list(KEY), sort=False, dropna=False).ngroup().to_numpy()
    heads = same.iloc[np.unique(units, return_index=True)[1]]
    side = np.where(same["decision"] == ORDERS[0], 0, 1)
    _no_order_twice(units * 2 + side, same)
    ok = same["status"].eq("ok").to_numpy()
    told = same["verdict"].to_numpy(dtype=object, copy=True)
    told[~ok] = None
    verdicts = _spread(told, units, side, len(heads), None)
    asked = _spread(np.ones(len(same), dtype=bool), units, side, len(heads), False)
    answered = _spread(ok, units, side, len(heads), False)
    rows = heads[[*KEY, *OF_THE_ITEM]].reset_index(drop=True)
    rows = rows.assign(
        n_trials=asked.sum(axis=1),
        n_unparsed=(asked & ~answered).sum(axis=1),
        both=answered[:, 0] & answered[:, 1],
        verdict_12=verdicts[:, 0],
        verdict_21=verdicts[:, 1],
    )
    spent = {name: _spread(values, units, side, len(heads), np.nan) for name, values in _costs(same).items()}
    return rows.assign(**_outcomes(rows, verdicts, asked), **_means(spent, rows["both"].to_numpy()))


def signed(verdicts: pd.Series) -> Array:
    """+1 for candidate 1, -1 for candidate 2, 0 for a tie, nan for no verdict."""
    return verdicts.map(_SIGNS).to_numpy(dtype=float)


def _no_order_twice(cells_of_rows: npt.NDArray[Any], same: pd.DataFrame) -> None:
    twice = pd.Series(cells_of_rows, index=same.index).duplicated()
    if twice.any():
        row = same[twice].iloc[0]
        raise ValueError(
            f"item {row['item']!r} was judged twice in order {row['decision']} under {row['scheme']}: "
            "remove one of the trials"
        )


def _spread(values: npt.NDArray[Any], units: Any, side: Any, n: int, missing: Any) -> npt.NDArray[Any]:
    """One value a trial, put at its pair and order; shape (n, 2)."""
    spread = np.full((n, 2), missing, dtype=values.dtype)
    spread[units, side] = values
    return spread


def _costs(same: pd.DataFrame) -> dict[str, Array]:
    told = {name: same[name].to_numpy(dtype=float) for name in ("calls", "seconds")}
    tokens = same[["prompt_tokens", "completion_tokens"]].to_numpy(dtype=float).sum(axis=1)
    return {**told, "tokens": tokens}


def _outcomes(
    rows: pd.DataFrame, verdicts: npt.NDArray[np.object_], asked: npt.NDArray[np.bool_]
) -> dict[str, Array]:
    both = rows["both"].to_numpy()
    strict = rows["label"].ne("tie").to_numpy()
    hits = (verdicts == rows["label"].to_numpy(dtype=object)[:, None]).astype(float)
    tied = (verdicts == "tie").astype(float)
    ties = tied.mean(axis=1)
    shown = (signed(rows["verdict_12"]) - signed(rows["verdict_21"])) / 2
    return {
        "agreement": np.where(both & strict, hits.mean(axis=1), np.nan),
        "agreement_half": np.where(both & strict, hits.mean(axis=1) + ties / 2, np.nan),
        # A missing order was not asked: an order that was asked and not answered counts.
        "agreement_all": np.where(strict, hits.sum(axis=1) / asked.sum(axis=1), np.nan),
        "changed": np.where(both, (verdicts[:, 0] != verdicts[:, 1]).astype(float), np.nan),
        "first_shown": np.where(both, shown, np.nan),
        "ties": np.where(both, ties, np.nan),
    }


def _means(spent: dict[str, Array], both: npt.NDArray[np.bool_]) -> dict[str, Array]:
    return {name: np.where(both, values.mean(axis=1), np.nan) for name, values in spent.items()}


# --- Which pairs ------------------------------------------------------------------------------------


def main_cells(frame: pd.DataFrame, naming: str = NEUTRAL) -> pd.DataFrame:
    """What a scheme is reported by: wording 1, temperature 0, replicate 0, its largest record.

    Parameters
    ----------
    frame : DataFrame
        Pairs or judgements. Crossed judgements stay.
    naming : {"neutral", "letters"}

    Returns
    -------
    DataFrame
        Some of its rows; of ``other_record`` those of every writer.
    """
    plain = (frame["wording"] == 1) & (frame["temperature"] == 0) & (frame["replicate"] == 0)
    return largest_records(frame[plain & (frame["naming"] == naming)])


def largest_records(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with the largest cap on records that their scheme has on their data set.

    By data set, since a cap that only one of them was asked under would leave the others out.
    """
    largest = frame.groupby(["dataset", "scheme"])["record_chars"].transform("max")
    return frame[frame["record_chars"] == largest]


def cells(frame: pd.DataFrame, by: Sequence[str] = CELL) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The rows of each combination of ``by`` and data set, then of its data sets together.

    Parameters
    ----------
    frame : DataFrame
        With ``by`` and ``dataset``.
    by : sequence of str

    Yields
    ------
    dict, DataFrame
        What names the cell: ``by``, ``dataset`` (`POOLED` of several data sets; of one there is nothing to
        pool), and those of ``record_chars, wording, temperature`` that all its rows have in common.
    """
    for key, rows in frame.groupby(list(by), sort=False):
        names = dict(zip(by, key, strict=True))
        datasets = [*rows.groupby("dataset", sort=False)]
        for dataset, own in datasets + ([(POOLED, rows)] if len(datasets) > 1 else []):
            yield {**names, "dataset": dataset, **_in_common(own)}, own


def _in_common(rows: pd.DataFrame) -> dict[str, Any]:
    told = [name for name in ("record_chars", "wording", "temperature") if name in rows]
    return {name: rows[name].iloc[0] for name in told if rows[name].nunique() == 1}
