"""Judgements of a scripted judge whose agreement and sensitivity to order are known: for tests only.

On each item, under each scheme, the judge is one of three, drawn once:

* with probability ``flip`` it follows the place in the decision, with ``through`` the place in the record: it
  picks the first shown with probability ``first``, in every trial of the item alike;
* otherwise it is stable, and on a strict label right with the probability that makes its agreement ``agree``
  in either order; on a label that is a tie it ties with probability ``ties``, else it takes a candidate at
  random.

Where the record is shown in the order in which it was written both places are one, so that the rate of
changed verdicts is ``flip`` + ``through``.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from studies.evidence_lock.params import SCHEMES

ORDERS = ("12", "21")
CALLS = {"standard": 1, "structured": 1, "reread": 2, "pointwise_lock": 3}
WITHOUT_RECORD = ("standard", "reread")
CROSSABLE = ("lock", "lock_with_source", "other_record")

OWN = [scheme for scheme in SCHEMES if scheme != "other_record"]
"""Schemes in which a judge writes its own record."""

ARMS: Sequence[dict[str, Any]] = (
    {"schemes": OWN},
    {"schemes": ["lock"], "crossed": True, "wordings": (1, 2)},
    {"schemes": ["lock"], "crossed": True, "temperatures": (0.7,), "replicates": 2},
    {"schemes": ["lock"], "record_chars": (72,)},
    {"schemes": ["structured", "lock"], "naming": "letters"},
)
"""Params of the sets; an arm's trials that another has too are there once."""

ByScheme = float | Mapping[str, float]


def planted_items(
    items: int,
    *,
    dataset: str = "planted",
    clusters: int | None = None,
    tied: int = 0,
    subsets: Sequence[str] = ("",),
) -> pd.DataFrame:
    """Pairs of answers without their texts; half of the strict ones have the label 1.

    Parameters
    ----------
    items : int
    dataset : str
    clusters : int, optional
        Sources, each with neighbouring items; every item is one by default.
    tied : int
        How many of the last items people call a tie.
    subsets : sequence of str
        Taken in turn.
    """
    number = np.arange(items)
    source = number if clusters is None else number * clusters // max(items, 1)
    strict = np.where(number % 2 == 0, "1", "2")
    return pd.DataFrame(
        {
            "item": [f"{dataset}/{i}" for i in number],
            "dataset": dataset,
            "subset": [subsets[i % len(subsets)] for i in number],
            "cluster": [f"{dataset}/q{c}" for c in source],
            "label": np.where(number >= items - tied, "tie", strict),
            "rater": "human",
            "margin": np.nan,
            "answer_chars_1": 400,
            "answer_chars_2": 380,
            "name_1": "Cedar",
            "name_2": "Willow",
        }
    )


def planted(
    items: int | pd.DataFrame,
    rng: np.random.Generator,
    *,
    judge: str = "scripted",
    schemes: Sequence[str] = ("structured", "lock"),
    agree: ByScheme = 0.8,
    flip: ByScheme = 0.0,
    through: ByScheme = 0.0,
    first: float = 0.5,
    ties: float = 0.5,
    noise: float = 0.0,
    unparsed: ByScheme = 0.0,
    crossed: bool = False,
    record_chars: Sequence[int] = (600,),
    wordings: Sequence[int] = (1,),
    naming: str = "neutral",
    temperatures: Sequence[float] = (0.0,),
    replicates: int = 1,
    writer: str = "",
) -> pd.DataFrame:
    """Judgements as the study reads them, with ``judge``.

    Parameters
    ----------
    items : int or DataFrame
        How many, or `planted_items`, so that several calls judge the same.
    rng : numpy.random.Generator
    judge, writer : str
        ``writer`` is told of ``other_record`` alone.
    schemes : sequence of str
    agree, flip, through : float or mapping by scheme
        See above. With q = flip + through, ``agree`` lies in [q / 2, 1 - q / 2].
    first, ties : float
    noise : float
        Probability that a trial's verdict is replaced by a candidate at random, independently of all others;
        ``agree`` and ``flip`` are those before.
    unparsed : float or mapping by scheme
        Share of trials without a verdict.
    crossed : bool
        Of the schemes that can be crossed, the four combinations of orders instead of two.
    record_chars, wordings, temperatures : sequence
        Trials have every combination; a scheme without a record has the cap 0 alone. An item's verdict
        differs between them by ``noise`` alone.
    replicates : int
        At temperatures above 0; at 0 there is one.

    Returns
    -------
    DataFrame
        One row a trial.
    """
    table = planted_items(items) if isinstance(items, int) else items
    caps = {scheme: (0,) if scheme in WITHOUT_RECORD else tuple(record_chars) for scheme in schemes}
    frames = []
    for scheme in schemes:
        cells = [
            (*orders, cap, wording, heat, replicate)
            for orders in _orders(scheme, crossed)
            for cap, wording, heat in itertools.product(caps[scheme], wordings, temperatures)
            for replicate in range(replicates if heat > 0 else 1)
        ]
        kinds = _judged(table, *(_of(value, scheme) for value in (agree, flip, through)), first, ties, rng)
        names = {"judge": judge, "scheme": scheme, "naming": naming}
        names["writer"] = writer if scheme == "other_record" else ""
        made = [_of_cell(table, kinds, cell, noise, rng, names) for cell in cells]
        frames.append(_with_failures(pd.concat(made, ignore_index=True), _of(unparsed, scheme), rng))
    return pd.concat(frames, ignore_index=True)


def many_judges(judges: int, items: int, rng: np.random.Generator, **kinds: Any) -> pd.DataFrame:
    """Judgements of so many judges alike, each on items of its own: draws of one experiment."""
    frame = planted(judges * items, rng, **kinds)
    number = frame["item"].str.rpartition("/")[2].astype(int) // items
    return frame.assign(judge="judge" + number.astype(str))


def _of(value: ByScheme, scheme: str) -> float:
    return value[scheme] if isinstance(value, Mapping) else value


def _orders(scheme: str, crossed: bool) -> list[tuple[str, str]]:
    if crossed and scheme in CROSSABLE:
        return list(itertools.product(ORDERS, ORDERS))
    return [(order, order) for order in ORDERS]


def _judged(
    items: pd.DataFrame,
    agree: float,
    flip: float,
    through: float,
    first: float,
    ties: float,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """What decides each item: the decision's place, the record's place, or a verdict of its own."""
    moved = flip + through
    if not moved / 2 <= agree <= 1 - moved / 2:
        raise ValueError(f"a judge that flips with probability {moved} can't agree with probability {agree}")
    right = (agree - moved / 2) / (1 - moved) if moved < 1 else 0.5
    n, label = len(items), items["label"].to_numpy(dtype=object)
    other = np.where(label == "1", "2", "1")
    at_random = np.where(rng.random(n) < 0.5, "1", "2")
    strict = np.where(rng.random(n) < right, label, other)
    tied = np.where(rng.random(n) < ties, "tie", at_random)
    drawn = rng.random(n)
    return {
        "by": np.select([drawn < flip, drawn < moved], ["decision", "inspection"], "content"),
        "place": np.where(rng.random(n) < first, 0, 1),
        "content": np.where(label == "tie", tied, strict),
    }


def _of_cell(
    items: pd.DataFrame,
    kinds: dict[str, Any],
    cell: tuple[str, str, int, int, float, int],
    noise: float,
    rng: np.random.Generator,
    names: dict[str, str],
) -> pd.DataFrame:
    inspection, decision, record_chars, wording, temperature, replicate = cell
    shown = {order: np.array(list(order))[kinds["place"]] for order in ORDERS}
    verdict = np.select(
        [kinds["by"] == "decision", kinds["by"] == "inspection"],
        [shown[decision], shown[inspection]],
        kinds["content"],
    )
    lost = rng.random(len(items)) < noise
    verdict = np.where(lost, np.where(rng.random(len(items)) < 0.5, "1", "2"), verdict)
    calls = CALLS.get(names["scheme"], 2)
    texts = "" if record_chars == 0 else "Both answers were read."
    record = hashlib.sha256(f"{inspection}{record_chars}".encode()).hexdigest() if texts and calls > 1 else ""
    rows = items.assign(
        **names,
        inspection=inspection,
        decision=decision,
        record_chars=record_chars,
        wording=wording,
        temperature=temperature,
        replicate=replicate,
        status="ok",
        failed_step="",
        verdict=verdict.astype(object),
        calls=calls,
        prompt_tokens=500 * calls + rng.integers(0, 100, len(items)),
        cached_tokens=0,
        completion_tokens=20 * calls + record_chars // 4,
        seconds=0.5 * calls,
        criteria=texts,
        evidence_1=texts,
        evidence_2=texts,
        record_sha256=record,
        named="none" if record else "",
        leans="none" if record else "",
        fingerprint="0123456789ab",
        parser=1,
    )
    told = [
        names["scheme"],
        inspection,
        decision,
        record_chars,
        wording,
        names["naming"],
        temperature,
        replicate,
    ]
    tail = "|".join(map(str, [*told, *([names["writer"]] if names["writer"] else [])]))
    return rows.assign(trial=rows["item"] + f"|{tail}")


def _with_failures(rows: pd.DataFrame, share: float, rng: np.random.Generator) -> pd.DataFrame:
    lost = rng.random(len(rows)) < share
    return rows.assign(
        status=np.where(lost, "unparsed", "ok"),
        failed_step=np.where(lost, "verdict", ""),
        verdict=rows["verdict"].mask(lost, None),
    )
