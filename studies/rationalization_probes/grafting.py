"""What the lock of Proof-Before-Preference protects: a cue's effect through the notes, and directly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from shared.frames import cells
from shared.metrics.resampling import Array, Inference, named_generator, ratio, signed_interval
from studies.rationalization_probes.pairing import KEY, of_stage
from studies.rationalization_probes.rows import entropy_of, frame, row, signed_test

ARMS = {"notes": "pbp_once", "scores": "pbp_grafted", "both": "pbp_repeated"}
"""Where the cue was shown, and the scheme that shows it there."""

SCHEME = "pbp_grafted"
"""Under which all rows stand."""

CONTRASTS: Mapping[str, Mapping[str, int]] = {
    "graft_through": {"notes": 1, "neither": -1},
    "graft_direct": {"scores": 1, "neither": -1},
    "graft_total": {"both": 1, "neither": -1},
    "graft_interaction": {"both": 1, "notes": -1, "scores": -1, "neither": 1},
}
"""What each effect adds up; ``neither`` is ``pbp_once`` under Blind."""

PROBES = ("truth", "flip", "placebo", "empty", "resample")
"""The last two carry no cue and are the noise; ``resample`` is one of the notes and their scores together."""

NO_CUE = {"resample": ("graft_through",)}
"""Effects that a probe can show, where these are not all: a resample is not shown at a place."""

PAIR = [name for name in KEY if name != "scheme"]


def grafting(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """A cue's effect by where it was seen: while notes were written, while they were scored, or at both.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; of the stage ``first``, the schemes of `ARMS` under `PROBES`, and ``pbp_once`` under
        Blind are used.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, a row for each judge, kind and probe (``condition``) that an arm was asked under, and
        each effect; ``scheme`` is ``pbp_grafted``. With Y(n, s) the pick of the carrier where the cue was
        shown at the notes (n) and at the scores (s), paired by item, screen order and replicate:

        ``graft_through``      Y(1, 0) - Y(0, 0): notes written under the cue, scored without it;
        ``graft_direct``       Y(0, 1) - Y(0, 0): notes written without the cue, scored under it;
        ``graft_total``        Y(1, 1) - Y(0, 0);
        ``graft_interaction``  Y(1, 1) - Y(1, 0) - Y(0, 1) + Y(0, 0), which is total - through - direct.

        All are in [-1, 1], the interaction in [-2, 2]; above 0 towards the cue. With ``_tie`` after the name
        the same of ties. ``value`` is over pairs whose needed arms were all parsed (so that the first three
        add up to the total where nothing was lost), ``value_paper`` over all, an unparsed answer picking
        nothing. ``p``, from sign flips of whole clusters, is not corrected; ``mde`` as in
        `metrics.cue_effects`. Under the probes ``empty`` and ``resample`` the same numbers are the noise.
        nan, and n = 0, where an arm that is needed was not asked.

    Raises
    ------
    ValueError
        If an item has several judgements in one arm.

    References
    ----------
    Robins and Greenland (1992), Epidemiology 3, 143-155, for direct and indirect effects. As notes and cue
    are both set by us, no assumption about what else moves the notes is needed.
    """
    entropy = entropy_of(rng)
    first = of_stage(judgements, "first")
    neither = _arm(first[(first["scheme"] == ARMS["notes"]) & (first["probe"] == "blind")])
    cued = first[first["scheme"].isin(ARMS.values()) & first["probe"].isin(PROBES)]
    rows = [
        found
        for names, cell in cells(cued, ("judge", "kind", "probe"))
        for found in _effect_rows(names, cell, neither, entropy, inference)
    ]
    return frame(rows)


def _arm(rows: pd.DataFrame) -> pd.DataFrame:
    """The answers of one arm, found by `PAIR`."""
    arm = rows.set_index(PAIR)[["cluster", "carrier", "verdict", "status"]]
    if not arm.index.is_unique:
        item = arm.index[arm.index.duplicated()][0][PAIR.index("item")]
        raise ValueError(f"item {item!r} has several judgements in one arm")
    return arm


def _effect_rows(
    names: dict[str, str], cell: pd.DataFrame, neither: pd.DataFrame, entropy: int, inference: Inference
) -> Iterator[dict[str, Any]]:
    arms = {where: _arm(cell[cell["scheme"] == scheme]) for where, scheme in ARMS.items()}
    arms["neither"] = neither
    for effect in NO_CUE.get(names["probe"], tuple(CONTRASTS)):
        contrast = CONTRASTS[effect]
        pairs, verdicts = _asked_in_all({where: arms[where] for where in contrast})
        for quantity, hits in ((effect, _carrier_picked), (f"{effect}_tie", _tied)):
            values = sum(weight * hits(pairs, verdicts[where]) for where, weight in contrast.items())
            generator = named_generator(entropy, quantity, *names.values())
            bound = sum(map(abs, contrast.values())) / 2
            yield _row(quantity, names, pairs, np.asarray(values), bound, generator, inference)


def _asked_in_all(arms: dict[str, pd.DataFrame]) -> tuple[pd.DataFrame, dict[str, pd.Series]]:
    """The pairs that every arm was asked, with ``parsed``, and each arm's verdicts about them.

    The carrier is the first arm's, which saw the cue; without a cue there is none.
    """
    first, *others = arms.values()
    index = first.index
    for arm in others:
        index = index[index.isin(arm.index)]
    found = {where: arm.loc[index] for where, arm in arms.items()}
    parsed = np.all([arm["status"] == "ok" for arm in found.values()], axis=0)
    pairs = first.loc[index, ["cluster", "carrier"]].assign(parsed=parsed).reset_index()
    return pairs, {where: arm["verdict"].reset_index(drop=True) for where, arm in found.items()}


def _carrier_picked(pairs: pd.DataFrame, verdicts: pd.Series) -> Array:
    return np.asarray(verdicts == pairs["carrier"].astype(int).astype(str), dtype=float)


def _tied(pairs: pd.DataFrame, verdicts: pd.Series) -> Array:
    return np.asarray(verdicts == "tie", dtype=float)


def _row(
    quantity: str,
    names: dict[str, str],
    pairs: pd.DataFrame,
    values: Array,
    bound: float,
    rng: np.random.Generator,
    inference: Inference,
) -> dict[str, Any]:
    """The mean of a paired effect, with its interval and test."""
    parsed = pairs["parsed"].to_numpy(dtype=bool)
    used, effects = pairs[parsed], values[parsed]
    half = signed_interval(effects / bound, used["cluster"], rng, inference)  # in [-1, 1]
    found = replace(half, value=bound * half.value, low=bound * half.low, high=bound * half.high)
    of_all = {"value_paper": float(ratio(values.sum(), len(pairs)))}
    key = {**names, "scheme": SCHEME}
    return row(quantity, key, used, pairs, found) | of_all | signed_test(effects, used, rng, inference)
