"""Judgements side by side: each under a cue beside Blind's of the same pair, order and replicate."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from shared.frames import cells

KEY = ["judge", "scheme", "kind", "item", "screen_order", "replicate"]
"""What two judgements have in common that differ in the cue alone."""

NOT_CUES = ("free",)
"""Probes that change how is answered, not what is shown: they have no cue's effect."""


def of_stage(judgements: pd.DataFrame, stage: str) -> pd.DataFrame:
    """The judgements of one stage, with no verdict where there is no answer that was parsed."""
    rows = judgements[judgements["stage"] == stage]
    return rows.assign(verdict=rows["verdict"].where(rows["status"] == "ok"))


def cued_cells(judgements: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """The rows of `paired`, by judge, scheme, kind and probe."""
    return cells(paired(judgements), ("judge", "scheme", "kind", "probe"))


def paired(judgements: pd.DataFrame) -> pd.DataFrame:
    """Each first judgement under a cue beside Blind's.

    Returns
    -------
    DataFrame
        The cued rows with ``verdict_blind``, ``status_blind`` and ``rationale_blind``, and ``parsed`` where
        both were.

    Raises
    ------
    ValueError
        If a judgement has no Blind to be compared with, or several.
    """
    first = of_stage(judgements, "first")
    columns = [name for name in ("verdict", "status", "rationale") if name in first]
    blind = first.loc[first["probe"] == "blind", [*KEY, *columns]]
    cued = first[~first["probe"].isin(["blind", *NOT_CUES])]
    pairs = one_to_one(cued, blind, "_blind", "Blind")
    return pairs.assign(parsed=(pairs["status"] == "ok") & (pairs["status_blind"] == "ok"))


def one_to_one(left: pd.DataFrame, right: pd.DataFrame, suffix: str, name: str) -> pd.DataFrame:
    """Join on `KEY`; a partner that is missing or double is an error that names the item."""
    double = right.duplicated(KEY)
    if double.any():
        raise ValueError(f"item {right.loc[double, 'item'].iloc[0]!r} has several judgements under {name}")
    pairs = left.merge(right, on=KEY, how="left", suffixes=("", suffix), indicator="_found")
    missing = pairs["_found"] == "left_only"
    if missing.any():
        item = pairs.loc[missing, "item"].iloc[0]
        raise ValueError(f"item {item!r} has no judgement under {name} to compare with: run that one too")
    return pairs.drop(columns="_found")


def as_floor(judgements: pd.DataFrame, probe: str, floor: str = "empty") -> pd.DataFrame:
    """What a probe without a cue gives on a cue's own pairs and carriers: the cue's noise floor.

    Parameters
    ----------
    judgements : DataFrame
        With Blind, the probe and the floor.
    probe : str
        The cue.
    floor : str
        The probe without information, whose carrier is only a place holder.

    Returns
    -------
    DataFrame
        Blind's rows of the cue's pairs, and the floor's under the cue's name and with its carrier; no row
        where the floor was not asked.
    """
    first = judgements[judgements["stage"] == "first"]
    cue = first.loc[first["probe"] == probe, [*KEY, "carrier"]]
    resting = first[first["probe"] == floor].drop(columns="carrier").assign(probe=probe)
    standing_in = resting.merge(cue, on=KEY)
    blind = first[first["probe"] == "blind"].merge(standing_in[KEY].drop_duplicates(), on=KEY)
    return pd.concat([blind, standing_in], ignore_index=True)
