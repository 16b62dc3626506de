"""From raw responses to judgements (stage ``judgements``): one row a trial and criterion, none dropped.

Parsing never costs a call: a better parser reads the stored responses again.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.errors import run_stage
from shared.frames import all_there, read
from shared.judge.parsing import PARSER_VERSION, parse_ratings, parse_score
from shared.judge.records import Status
from shared.judge.slug import slug_argument
from shared.params import load
from studies.rubric_position_bias.design import ITEMS, TRIALS
from studies.rubric_position_bias.judge import RESPONSES, askable
from studies.rubric_position_bias.orders import MOST
from studies.rubric_position_bias.params import HIGH, LOW, Section
from studies.rubric_position_bias.protocols import counted

JUDGEMENTS = Path("data/rubric_position_bias/judgements")

PROBABILITIES = [f"p_{option}" for option in range(1, MOST + 1)]
"""Columns that hold the options' probabilities."""

DIFFERENT_ANSWERS = 100_000
"""Kept at hand: most answers are one of a few scores."""


def judgements(trials: pd.DataFrame, responses: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Read all responses.

    Parameters
    ----------
    trials, responses : DataFrame
        As the stages ``design`` and ``judge`` write them; the trials that the judge was asked.
    items : DataFrame
        As the stage ``data`` writes them.

    Returns
    -------
    DataFrame
        In the trials' order, one row a trial (setting ``score``) or one a trial and criterion, in the item's
        own order of criteria (setting ``criteria``): the trials' columns, then criterion, prompt, system,
        reference (of this criterion; nan without one), rater, status, score (from 1; nan unless ok), position
        (from 1: where the chosen option stood, nan unless ok; in the setting ``criteria`` where the criterion
        stood), mass, p_1 to p_9 (see `option_distribution`; nan beyond the trial's size and in the setting
        ``criteria``), fingerprint, parser.
    """
    all_there(trials["trial"], responses["trial"], "trials have no response", "judge")
    all_there(trials["item"], items["item"], "items are not there", "design")
    trials = trials.reset_index(drop=True)
    answers = responses.set_index("trial").reindex(trials["trial"]).reset_index(drop=True)
    described = items.set_index("item").loc[trials["item"]].reset_index(drop=True)
    is_score = trials["setting"] == "score"
    parts = [
        read_rows(trials[rows], answers[rows], described[rows])
        for read_rows, rows in ((_of_scores, is_score), (_of_criteria, ~is_score))
    ]
    # Empty parts would blur the types of columns.
    table = pd.concat([part for part in parts if len(part)] or parts[:1])
    return table.sort_index(kind="stable").reset_index(drop=True)


def _of_scores(trials: pd.DataFrame, answers: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """One row a trial: the score that was chosen, and where it stood."""
    keys = [counted("score", scheme) for scheme in trials["scheme"]]
    columns = zip(answers["text"], answers["finish_reason"], trials["size"], keys, strict=True)
    read = [_score(text, reason, size, key) for text, reason, size, key in columns]
    status, score = [one[0] for one in read], np.array([one[1] for one in read], float)
    places = [_place(order, value) for order, value in zip(trials["order"], score, strict=True)]
    reference = items["reference"].astype(float)
    table = _rows(trials, answers, items, items["criterion"], reference, status, score, places)
    table[["mass", *PROBABILITIES]] = _distributions(answers["logprobs"], trials["size"])
    return _ended(table, answers)


def _of_criteria(trials: pd.DataFrame, answers: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """One row a trial and criterion: its score, and where the criterion stood."""
    names = [_names(told) for told in items["criteria"]]
    keys = [counted("criteria", scheme) for scheme in trials["scheme"]]
    columns = zip(answers["text"], answers["finish_reason"], names, keys, strict=True)
    read = [_ratings(text, reason, of_item, key) for text, reason, of_item, key in columns]
    wide = trials.index.repeat([len(of_item) for of_item in names])
    criterion = [name for of_item in names for name in of_item]
    status = [one[0] for one, of_item in zip(read, names, strict=True) for _ in of_item]
    score = np.array([value for one in read for value in one[1]], float)
    places = [_place(order, digit) for order in trials["order"] for digit in range(1, len(order) + 1)]
    references = [
        json.loads(told).get(name, math.nan)
        for told, of_item in zip(items["references"], names, strict=True)
        for name in of_item
    ]
    table = _rows(
        trials.loc[wide], answers.loc[wide], items.loc[wide], criterion, references, status, score, places
    )
    table[["mass", *PROBABILITIES]] = math.nan
    return _ended(table, answers.loc[wide])


def _rows(
    trials: pd.DataFrame,
    answers: pd.DataFrame,
    items: pd.DataFrame,
    criterion: Sequence[str] | pd.Series,
    reference: Sequence[float] | pd.Series,
    status: Sequence[Status],
    score: npt.NDArray[np.float64],
    places: Sequence[float],
) -> pd.DataFrame:
    """The trials with what was decided in each."""
    return trials.assign(
        criterion=criterion,
        prompt=items["prompt"],
        system=items["system"],
        reference=reference,
        rater=items["rater"],
        status=status,
        score=score,
        position=np.asarray(places, float),
    )


def _ended(table: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    return table.assign(fingerprint=answers["fingerprint"], parser=PARSER_VERSION)


@lru_cache(DIFFERENT_ANSWERS)
def _score(text: Any, finish_reason: Any, size: int, key: str) -> tuple[Status, float]:
    """Status and score of an answer; no text at all: the call failed."""
    if not isinstance(text, str):
        return "failed", math.nan
    parsed = parse_score(text, finish_reason, range(1, size + 1), key)
    return parsed.status, float(parsed.fields.get(key, math.nan))


@lru_cache(DIFFERENT_ANSWERS)
def _ratings(
    text: Any, finish_reason: Any, criteria: tuple[str, ...], key: str
) -> tuple[Status, tuple[float, ...]]:
    """Status of an answer, and its score of each criterion."""
    if not isinstance(text, str):
        return "failed", (math.nan,) * len(criteria)
    parsed = parse_ratings(text, finish_reason, criteria, LOW, HIGH, key)
    scores: Mapping[str, int] = parsed.fields.get(key, {})
    return parsed.status, tuple(float(scores.get(name, math.nan)) for name in criteria)


@lru_cache
def _names(told: str) -> tuple[str, ...]:
    return tuple(one["name"] for one in json.loads(told))


def _place(order: str, option: float) -> float:
    """Where an option stands in the order, from 1; nan where there is none."""
    return math.nan if math.isnan(option) else order.index(str(int(option))) + 1


def _distributions(first_tokens: pd.Series, sizes: pd.Series) -> npt.NDArray[np.float64]:
    """Mass and probabilities of each row, (n, 10)."""
    table = np.full((len(first_tokens), 1 + MOST), math.nan)
    for row, (told, size) in enumerate(zip(first_tokens, sizes, strict=True)):
        if isinstance(told, str):
            mass, probabilities = option_distribution(told, size)
            table[row, : 1 + size] = [mass, *probabilities]
    return table


def option_distribution(first_token: str, size: int) -> tuple[float, list[float]]:
    """How the judge's first token is distributed over the score options.

    Parameters
    ----------
    first_token : str
        The column ``logprobs`` of a response: JSON of the first generated token with its likeliest rivals.
    size : int
        Number of options, at most 9: each must be one digit, and so one token.

    Returns
    -------
    mass : float
        Probability in (0, 1] that the first token is an option; nan where no option is among the likeliest.
    probabilities : list of float
        Of options 1 to ``size``, given that it is one: they sum to 1. All nan where ``mass`` is.

    Notes
    -----
    A token is an option if it is its digit, with or without a space before it. An option that is not among
    the likeliest tokens counts as 0, which is too little by at most the least probability that was given.

    What ``mass`` means is the engine's to say. llama.cpp gives the model's own distribution: the softmax of
    all logits, before temperature and before the grammar that enforces a schema. So mass tells how much of it
    the schema had to cut away, and the distribution is the same at every temperature. vLLM masks what the
    schema forbids first: there the probabilities are the same, and mass is 1 whatever the judge would have
    said. With a schema off, both mean the same.

    Examples
    --------
    >>> first = '{"token": "2", "logprob": -0.69, "top": {"2": -0.693147, "1": -1.386294, "The": -1.9}}'
    >>> mass, probabilities = option_distribution(first, 3)
    >>> round(mass, 3), [round(p, 3) for p in probabilities]
    (0.75, [0.333, 0.667, 0.0])
    """
    token = json.loads(first_token)
    weights = _weights(token["top"], size)
    if sum(weights) > 0 and token["token"] not in token["top"]:
        # The token that was sampled can be less likely than all that are listed.
        weights = _weights({**token["top"], token["token"]: token["logprob"]}, size)
    mass = sum(weights)
    if not mass > 0:
        return math.nan, [math.nan] * size
    return min(mass, 1.0), [weight / mass for weight in weights]


def _weights(top: Mapping[str, float], size: int) -> list[float]:
    """Each option's probability: its digit's, with and without a space."""
    digits = [str(option) for option in range(1, size + 1)]
    return [math.exp(top.get(d, -math.inf)) + math.exp(top.get(f" {d}", -math.inf)) for d in digits]


def main() -> None:
    common, _ = load("rubric_position_bias", Section)
    slug = slug_argument(sys.argv, common.judges)
    trials = askable(read(TRIALS, "design"), common.judges[slug])
    responses = read(RESPONSES / f"{slug}.parquet", "judge")
    table = judgements(trials, responses, read(ITEMS, "data"))
    JUDGEMENTS.mkdir(parents=True, exist_ok=True)
    table.to_parquet(JUDGEMENTS / f"{slug}.parquet", index=False)
    counts = table["status"].value_counts()
    print(f"{slug}: {len(table)} judgements: " + ", ".join(f"{n} {status}" for status, n in counts.items()))
    print(f"{slug}: option distributions of {int(table['mass'].notna().sum())}")


if __name__ == "__main__":
    run_stage(main)
