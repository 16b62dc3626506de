"""What a label is worth to a judge, in errors: preference on the damage ladder, fitted on both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from shared.frames import cells
from shared.metrics.fractional_logit import fractional_logit
from shared.metrics.resampling import (
    Array,
    Estimate,
    Inference,
    cluster_sums,
    named_generator,
    percentile_interval,
    rate_interval,
    ratio,
    replicates,
    signed_interval,
)
from studies.rationalization_probes.pairing import of_stage
from studies.rationalization_probes.params import DAMAGED
from studies.rationalization_probes.rows import entropy_of, frame, row, signed_test

CUES = {"blind": 0, "truth": 1, "flip": -1}
"""The label LLM on candidate 1, less that on candidate 2."""

SLOPES = ("error_slope", "cue_slope", "place_slope")

LABELS = "labels"
"""The condition of a fit over `CUES`, which belongs to no probe alone."""

NO_REACTION = "n/a: the judge does not react to errors"
NO_CUE = "n/a: no label was shown"
NO_FIT = "n/a: no finite fit: the answers are too few or too clear-cut"
NO_INTERVAL = "n/a: no interval for the error slope"


def price(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """How many errors the label LLM is worth, and how the judge does at each number of errors.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; of the stage ``first``, the kinds `DAMAGED` (candidate 1 is undamaged,
        candidate 2 has ``level`` errors) and the probes `CUES` are used.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`. By judge, scheme and kind, under the condition ``labels``, over parsed answers:
        ``error_slope``, ``cue_slope`` and ``place_slope``, in log-odds, and ``price_in_errors``, their
        second over their first. ``wording`` of the price is empty, or says why it is n/a.
        By probe and level besides, with ``wording`` "1 errors" and so on: ``sensitivity``, P(picks the
        undamaged) - P(picks the damaged) in [-1, 1] over items that were parsed in both screen orders,
        with ``p`` and ``mde``; and ``tie_rate``. There ``value_paper`` is over all answers, an unparsed one
        picking nothing.

    Notes
    -----
    Let a candidate's worth be u_i = -a errors_i + g llm_i - h tradml_i + s first_i, and
    P(picks 1) = 1 / (1 + exp(u_2 - u_1)). As candidate 1 has no error, and a label on one candidate means
    the other label on the other,

        logit P(picks 1) = error_slope * level + cue_slope * cue + place_slope * place,

    with cue = +1 under Truth, -1 under Flip, 0 under Blind, place = +1 where 1 stands first, else -1;
    error_slope = a, cue_slope = g + h, place_slope = s / 2. There is no intercept: the undamaged
    text is always of one paraphrase and the damaged one of the other, so that a taste for one of the two, or
    for length, is part of error_slope. A text that carries the label LLM against one labelled TradML is at
    even odds with it, both places alike, where its errors are more by cue_slope / error_slope: that is the
    price, of the pair of labels against no labels. Taking the label from one candidate and giving it to
    the other moves the judge by twice as much. It is below 0 for a judge that likes the other label better,
    and beyond the ladder's highest level it rests on errors adding up as they do below.

    A tie is half a pick of each candidate (fractional logit), so that ties pull all slopes towards 0 alike.
    So do differences between documents; of the ratio little is lost. Nothing about binomial answers is
    assumed: intervals are percentiles over whole documents, each resample fitted anew. A resample without
    finite slopes is undefined, and so is the interval where more than its tails are.

    A ratio whose denominator may be 0 has no bounded interval (Fieller 1954, JRSS B 16, 175-185). So the
    price is n/a unless the whole interval of the error slope is above 0; a resample in which that slope is
    not above 0 has then a price beyond all others, on the side of its cue slope.
    """
    entropy = entropy_of(rng)
    ladder = _ladder(judgements)
    rows = [
        found
        for names, cell in cells(ladder, ("judge", "scheme", "kind"))
        for found in _fitted_rows(names, cell, entropy, inference)
    ]
    for names, cell in cells(ladder, ("judge", "scheme", "kind", "probe", "level")):
        for quantity, of_cell in _BY_LEVEL.items():
            generator = named_generator(entropy, quantity, *names.values())
            key = {name: value for name, value in names.items() if name != "level"}
            wording = {"wording": f"{names['level']} errors"}
            rows.append(of_cell(quantity, key, cell, generator, inference) | wording)
    return frame(rows)


def _ladder(judgements: pd.DataFrame) -> pd.DataFrame:
    first = of_stage(judgements, "first")
    rows = first[first["kind"].isin(DAMAGED) & first["probe"].isin(CUES)]
    return rows.assign(level=rows["level"].astype(int))


# --- The fit ----------------------------------------------------------------------------------------


def _fitted_rows(
    names: dict[str, str], cell: pd.DataFrame, entropy: int, inference: Inference
) -> Iterator[dict[str, Any]]:
    parsed = cell[cell["status"] == "ok"]
    sums, slopes_of = _regression(parsed)
    point = slopes_of(sums.sum(axis=0))
    draws = _resampled(slopes_of, sums, named_generator(entropy, *names.values()), inference)
    slopes = [_slope(point[k], draws[:, k], len(sums), inference) for k in range(len(SLOPES))]
    key = {**names, "probe": LABELS}
    for quantity, found in zip(SLOPES, slopes, strict=True):
        yield row(quantity, key, parsed, cell, found)
    why_not = _why_no_price(slopes[0], slopes[1])
    found = _price(point, draws, len(sums), inference) if not why_not else _nothing(len(sums))
    yield row("price_in_errors", key, parsed, cell, found) | {"wording": why_not}


def _regression(parsed: pd.DataFrame) -> tuple[Array, Callable[[Array], Array]]:
    """The sums of each cluster, and the slopes (errors, cue, place) as a function of summed columns.

    The columns count each combination of level, cue and place, then sum what was preferred in it.
    """
    terms = np.column_stack([parsed["level"], parsed["probe"].map(CUES), _place(parsed)]).astype(float)
    patterns, codes = np.unique(terms, axis=0, return_inverse=True)
    member = np.eye(len(patterns))[codes.ravel()]
    preferred = parsed["verdict"].map({"1": 1.0, "2": 0.0, "tie": 0.5}).to_numpy(dtype=float)
    sums = cluster_sums(np.hstack([member, member * preferred[:, None]]), parsed["cluster"])

    def slopes_of(summed: Array) -> Array:
        return fractional_logit(summed[..., len(patterns) :], summed[..., : len(patterns)], patterns)

    return sums, slopes_of


def _place(rows: pd.DataFrame) -> Array:
    """+1 where candidate 1 is shown first, -1 where candidate 2 is."""
    return np.where(rows["screen_order"] == "12", 1.0, -1.0)


def _resampled(
    slopes_of: Callable[[Array], Array], sums: Array, rng: np.random.Generator, inference: Inference
) -> Array:
    """The slopes of each resample; undefined under two clusters, where there is nothing to resample."""
    if len(sums) < 2:
        return np.full((1, len(SLOPES)), np.nan)
    return replicates(slopes_of, sums, inference.resamples, rng)


def _slope(value: float, draws: Array, n_clusters: int, inference: Inference) -> Estimate:
    low, high = percentile_interval(draws, inference.confidence)
    if np.isnan(value) or high - low < 1e-12:
        # A slope has no bounds: that all resamples agree tells nothing about how far others may lie.
        low = high = np.nan
    return Estimate(float(value), low, high, n_clusters)


def _why_no_price(error: Estimate, cue: Estimate) -> str:
    """Why there is no price; empty where there is one."""
    if np.isnan(error.value):
        return NO_FIT
    if np.isnan(cue.value):
        return NO_CUE
    if error.value <= 0 or error.low <= 0:
        return NO_REACTION
    return NO_INTERVAL if np.isnan(error.low) else ""


def _price(point: Array, draws: Array, n_clusters: int, inference: Inference) -> Estimate:
    with np.errstate(divide="ignore", invalid="ignore"):
        prices = np.where(draws[:, 0] > 0, draws[:, 1] / draws[:, 0], draws[:, 1] * np.inf)
    return _slope(point[1] / point[0], prices, n_clusters, inference)


def _nothing(n_clusters: int) -> Estimate:
    return Estimate(np.nan, np.nan, np.nan, n_clusters)


# --- By number of errors ----------------------------------------------------------------------------


def _sensitivity_row(
    quantity: str,
    names: dict[str, str],
    cell: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
) -> dict[str, Any]:
    used = _in_both_orders(cell[cell["status"] == "ok"])
    signed = _signed(used)
    found = signed_interval(signed, used["cluster"], rng, inference)
    of_all = {"value_paper": float(ratio(_signed(cell).sum(), len(cell)))}
    tested = signed_test(signed, used, rng, inference)
    return row(quantity, names, used, cell, found) | of_all | tested


def _signed(rows: pd.DataFrame) -> Array:
    """+1 for a pick of the undamaged candidate, -1 for the damaged one."""
    signs = rows["verdict"].map({"1": 1.0, "2": -1.0})
    return signs.astype(float).fillna(0).to_numpy()


def _in_both_orders(parsed: pd.DataFrame) -> pd.DataFrame:
    """Items that were answered in both screen orders: one alone would mix preference with place."""
    orders = parsed.groupby(["item", "replicate"])["screen_order"].transform("nunique")
    return parsed[orders == 2]


def _tie_row(
    quantity: str,
    names: dict[str, str],
    cell: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
) -> dict[str, Any]:
    parsed = cell[cell["status"] == "ok"]
    ties = (parsed["verdict"] == "tie").to_numpy(dtype=float)
    found = rate_interval(ties, parsed["cluster"], rng, inference)
    counted = {"count": ties.sum(), "value_paper": float(ratio(ties.sum(), len(cell)))}
    return row(quantity, names, parsed, cell, found) | counted


_BY_LEVEL = {"sensitivity": _sensitivity_row, "tie_rate": _tie_row}
