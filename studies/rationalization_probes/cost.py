"""What one decision costs: calls, tokens, seconds and failures by scheme, and each against a forced choice.

The paper names the cost as left out; without it, what Proof-Before-Preference buys has no price.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from shared.frames import cells
from shared.metrics.resampling import Inference, named_generator, rate_interval, share
from studies.rationalization_probes.rows import entropy_of, estimate, frame, row

KIND, PROBE, REFERENCE = "equal", "blind", "forced"
"""The decisions that are compared: those that every scheme makes on the same pairs, without a cue."""

COSTS = ("calls", "prompt_tokens", "computed_tokens", "completion_tokens", "seconds")
COMPARED = tuple(cost for cost in COSTS if cost != "computed_tokens")
"""Those that have a ratio to the reference: see `costs` about what is computed."""

_LATER = ("reveal", "control")
_CELL = ("judge", "scheme", "kind", "probe")
_PAIR = ["judge", "kind", "probe", "item", "screen_order", "replicate"]

# A cost has no greatest value, so that where all clusters agree no interval can be told.
_UNBOUNDED = (np.nan, np.nan)


def costs(
    responses: pd.DataFrame, judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference
) -> pd.DataFrame:
    """Mean cost of a decision by judge and scheme, and its ratio to that of a forced choice.

    Parameters
    ----------
    responses : DataFrame
        As the stage ``judge`` writes them, with ``judge`` added. A call that ended a trial has ``error``.
    judgements : DataFrame
        As the stage ``judgements`` writes them, with ``judge``: which decisions came, and which did not.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, over the trials of `KIND` under `PROBE`. ``calls``, ``prompt_tokens``,
        ``computed_tokens`` (of the prompt, those that the calls themselves computed),
        ``completion_tokens`` and ``seconds`` are means over decisions: all turns of the first one, without
        reveal and control. ``failure_rate`` is the share of trials without a verdict. ``<cost>_ratio``, of
        all but computed tokens, is the cost over that of `REFERENCE`, both summed over the pairs that both
        schemes decided; `REFERENCE` itself has none.
        ``n_unparsed`` counts the decisions left out: those without a verdict, and those whose answers do
        not tell the quantity. A cost that is the same in every cluster has no interval (n/a).

    Notes
    -----
    A request that several trials share is asked once, and counted for each of them as if it had been asked
    for it alone: that is what one decision costs. An engine that shares prefixes computes them ahead of the
    calls and charges them to none (``records.Completion.cached_tokens``): what is left as computed is the few
    tokens after a prompt's last cut, much the same for every scheme. Seconds are those of the run that paid,
    on its machine, with as many trials in flight as it had.
    """
    entropy = entropy_of(rng)
    decisions = decisions_of(responses, judgements)
    rows = [
        found
        for names, cell in cells(decisions, _CELL)
        for found in (
            *_mean_rows(names, cell, entropy, inference),
            _failure_row(names, cell, entropy, inference),
            *_ratio_rows(names, cell, decisions, entropy, inference),
        )
    ]
    return frame(rows)


def decisions_of(responses: pd.DataFrame, judgements: pd.DataFrame) -> pd.DataFrame:
    """One row a judge and trial that is compared, with `COSTS` and ``failed``.

    A trial without a verdict has failed, however far it came: a protocol that breaks off early would else
    look cheap. Its costs are nan, as where an answer does not tell one.
    """
    first = judgements[judgements["stage"] == "first"]
    asked = first[(first["kind"] == KIND) & (first["probe"] == PROBE)]
    calls = responses[responses["trial"].isin(asked["trial"]) & ~responses["step"].isin(_LATER)]
    computed = calls["prompt_tokens"] - calls["cached_tokens"]
    groups = calls.assign(calls=1.0, computed_tokens=computed).groupby(["judge", "trial"])
    costs_of = groups[list(COSTS)]
    # A sum would take a number that an answer does not tell for 0.
    spent = costs_of.sum().where(costs_of.count().eq(groups.size(), axis=0))
    decisions = asked.join(spent, on=["judge", "trial"])
    failed = decisions["status"] != "ok"
    told = {name: decisions[name].astype(float).mask(failed) for name in COSTS}
    return decisions.assign(failed=failed, **told)


def _mean_rows(
    names: dict[str, str], cell: pd.DataFrame, entropy: int, inference: Inference
) -> Iterator[dict[str, Any]]:
    for quantity in COSTS:
        used = cell[cell[quantity].notna()]
        generator = named_generator(entropy, quantity, *names.values())
        columns = np.column_stack([np.ones(len(used)), used[quantity]])
        yield row(
            quantity, names, used, cell, estimate(share, columns, used, generator, inference, _UNBOUNDED)
        )


def _failure_row(
    names: dict[str, str], cell: pd.DataFrame, entropy: int, inference: Inference
) -> dict[str, Any]:
    generator = named_generator(entropy, "failure_rate", *names.values())
    found = rate_interval(cell["failed"], cell["cluster"], generator, inference)
    return row("failure_rate", names, cell, cell, found) | {"count": int(cell["failed"].sum())}


def _ratio_rows(
    names: dict[str, str], cell: pd.DataFrame, decisions: pd.DataFrame, entropy: int, inference: Inference
) -> Iterator[dict[str, Any]]:
    reference = decisions.loc[decisions["scheme"] == REFERENCE, [*_PAIR, *COMPARED]]
    if names["scheme"] == REFERENCE or reference.empty:
        return
    pairs = cell.merge(reference, on=_PAIR, suffixes=("", "_reference"), validate="one_to_one")
    for cost in COMPARED:
        used = pairs[pairs[[cost, f"{cost}_reference"]].notna().all(axis=1)]
        generator = named_generator(entropy, f"{cost}_ratio", *names.values())
        columns = used[[f"{cost}_reference", cost]].to_numpy()
        found = estimate(share, columns, used, generator, inference, _UNBOUNDED)
        yield row(f"{cost}_ratio", names, used, cell, found)
