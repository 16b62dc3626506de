"""What cues do to a judge's verdicts: frames of judgements in, tidy frames of estimates out.

The paper's metrics (`equations`) and the signed cue effect, each with a clustered interval and a test. Every
statistic is a function of summed columns, so that one definition gives the estimate, its bootstrap replicates
and its permutation null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from shared.frames import cells
from shared.metrics.multiplicity import holm
from shared.metrics.permutation import permutation_p, swap_null
from shared.metrics.resampling import (
    Array,
    Estimate,
    Inference,
    cluster_sums,
    named_generator,
    rate_interval,
    ratio,
    signed_interval,
    unanimous_interval,
)
from studies.rationalization_probes.equations import (
    OUTCOMES,
    Shifts,
    lao,
    lds,
    neutrality_deviation,
    neutrality_signed,
    ols,
    outcome_indicators,
    outcome_shares,
    shifts,
    ts,
)
from studies.rationalization_probes.pairing import KEY, cued_cells, of_stage, one_to_one
from studies.rationalization_probes.rows import entropy_of, estimate, frame, row, signed_test

Coding = Literal["carrier", "always_12"]

# --- Judgement frames: one row a trial and stage ----------------------------------------------------


def outcomes(
    judgements: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
    by: Sequence[str] = ("judge", "scheme", "kind", "probe"),
) -> pd.DataFrame:
    """Shares of the outcomes under each probe (Tables 2-5, 9, 10; Figure 2).

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; only the stage ``first`` is used.
    rng : numpy.random.Generator
    inference : Inference
    by : sequence of str
        What makes a cell; further columns (``provenance_2``) are kept in the result.

    Returns
    -------
    DataFrame
        `COLUMNS`, ``condition`` being the probe. Quantities: ``share_12``, ``share_21``, ``share_tie`` (on
        equal pairs under Blind the EDR) and ``share_first_shown`` (of the verdicts that are no tie, those
        for the text that stood first on the screen: 0.5 shows no preference for a place), with their
        ``count``; ``neutrality_signed`` and ``neutrality_deviation``. ``value`` is over parsed answers,
        ``value_paper`` over all.
    """
    entropy = entropy_of(rng)
    rows = [
        found
        for names, cell in cells(of_stage(judgements, "first"), by)
        for of_cell in (_share_rows, _first_shown_rows, _balance_rows)
        for found in of_cell(names, cell, entropy, inference)
    ]
    return frame(rows, by)


def _share_rows(
    names: dict[str, str], cell: pd.DataFrame, entropy: int, inference: Inference
) -> Iterator[dict[str, object]]:
    parsed = cell[cell["status"] == "ok"]
    for outcome, hits in zip(OUTCOMES, outcome_indicators(parsed["verdict"]).T, strict=True):
        quantity = f"share_{outcome}"
        generator = named_generator(entropy, quantity, *names.values())
        found = rate_interval(hits, parsed["cluster"], generator, inference)
        secondary = {"value_paper": float(ratio(hits.sum(), len(cell))), "count": hits.sum()}
        yield row(quantity, names, parsed, cell, found) | secondary


def _first_shown_rows(
    names: dict[str, str], cell: pd.DataFrame, entropy: int, inference: Inference
) -> Iterator[dict[str, object]]:
    decided = cell[cell["verdict"].isin(["1", "2"])]
    hits = decided["verdict"] == decided["screen_order"].str[0]
    generator = named_generator(entropy, "share_first_shown", *names.values())
    found = rate_interval(hits, decided["cluster"], generator, inference)
    # An answer that could not be parsed is not known to be no tie: there is no "of all".
    secondary = {"count": hits.sum(), "n_unparsed": (cell["status"] != "ok").sum()}
    yield row("share_first_shown", names, decided, cell, found) | secondary


def _balance_rows(
    names: dict[str, str], cell: pd.DataFrame, entropy: int, inference: Inference
) -> Iterator[dict[str, object]]:
    parsed = cell[cell["status"] == "ok"]
    columns = _outcome_rows(parsed)
    for quantity, statistic in _BALANCE.items():
        generator = named_generator(entropy, quantity, *names.values())
        if quantity == "neutrality_signed":
            found = signed_interval(columns[:, 1] - columns[:, 2], parsed["cluster"], generator, inference)
        else:
            found = estimate(statistic, columns, parsed, generator, inference, (0.0, 1.0))
        of_all = {"value_paper": float(statistic(_outcome_rows(cell).sum(axis=0)))}
        yield row(quantity, names, parsed, cell, found) | of_all


def cue_effects(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """The primary outcome: what a cue does to the choice of the candidate that carries it.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``. Each judgement under a probe is paired with Blind's of the same item, screen order
        and replicate.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `COLUMNS`, one row a judge, scheme, kind, probe and quantity. ``cue_effect``: change in P(picks the
        carrier) against Blind's picks of the same candidate, in [-1, 1], above 0 towards the cue;
        ``tie_change``: change in P(tie). ``value`` is over pairs with both answers parsed, ``value_paper``
        over all pairs, an unparsed answer picking nothing. ``p`` is from sign flips of whole clusters, and
        ``mde`` is the smallest effect that one such test would find with probability 0.8 (above 1: no
        possible effect would be found; nan: too few clusters for any). ``p_holm`` is corrected over one
        declared family of each quantity: `FAMILY_KIND` under `FAMILY_PROBES`, all judges and schemes of the
        call; it is nan for every other row. ``n_unparsed`` counts the pairs that were left out.

    Notes
    -----
    A row's draws depend on the generator and on judge, scheme, kind and probe alone, here and in
    `susceptibility`: with one generator the same effect has the same interval in every table.

    Raises
    ------
    ValueError
        If a judgement has no Blind to be compared with, or several.
    """
    entropy = entropy_of(rng)
    rows = []
    for names, cell in cued_cells(judgements):
        pairs = cell[cell["parsed"]]
        for quantity, of_shifts in _EFFECTS.items():
            generator = named_generator(entropy, *names.values())  # the cell's: see Notes
            moved = _shift_row(quantity, of_shifts, names, cell, "carrier", generator, inference)
            effects = of_shifts(_row_shifts(_pair_rows(pairs, "carrier")))
            rows.append(moved | signed_test(effects, pairs, generator, inference))
    return _with_holm(frame(rows))


FAMILY_KIND, FAMILY_PROBES = "equal", ("truth", "flip", "placebo")
"""The rows of `cue_effects` whose p-values are corrected together."""


def susceptibility(
    judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference, coding: Coding = "carrier"
) -> pd.DataFrame:
    """Shifts from Blind and their decomposition (Tables 6-8, Figure 4).

    Parameters
    ----------
    judgements : DataFrame
        As for `cue_effects`.
    rng : numpy.random.Generator
    inference : Inference
    coding : {"carrier", "always_12"}
        Which outcome is the favoured one: the candidate that carries the cue, which is section 4.3's side
        (Truth [1,2], Flip [2,1]); or [1,2] under every probe, as the captions of Tables 7 and 8 have it.

    Returns
    -------
    DataFrame
        `COLUMNS`. Quantities: the signed ``shift_favoured``, ``shift_opposite``, ``shift_tie``, whose test
        is `cue_effects`; the non-negative ``lds``, ``ols`` and ``ts``, whose intervals are those of the
        shifts, cut off at 0, with a ``p``, not corrected, against Blind and probe being exchangeable; and
        ``lao``, a ratio that a chance movement makes as large as
        any, and which has none. ``null_low`` and ``null_high`` bound what Blind and probe, exchanged within
        clusters, give, over those exchanges for which the quantity is defined.
    """
    if coding not in get_args(Coding):
        raise ValueError(f"coding {coding!r} is not known: use one of {', '.join(get_args(Coding))}")
    entropy = entropy_of(rng)
    rows = []
    for names, cell in cued_cells(judgements):
        null = _null_shifts(cell, coding, inference, named_generator(entropy, "null", *names.values()))
        for quantity, of_shifts in _SHIFT_STATISTICS.items():
            generator = named_generator(entropy, *names.values())
            moved = _shift_row(quantity, of_shifts, names, cell, coding, generator, inference)
            rows.append(moved | _against(of_shifts(null), quantity, moved["value"], inference))
    return frame(rows)


def revisions(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """Verdicts that change after the true labels are revealed (section 5.6, Figure 3), by direction.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``, and for each revealed trial the stages ``first`` (under Flip), ``reveal`` and
        ``control`` (asked again, nothing revealed).
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `COLUMNS`. ``condition`` is ``reveal``, ``control`` or ``difference`` (reveal minus control, paired,
        with ``p``, not corrected, and ``mde``: the effect of the reveal itself). ``revision_rate`` is
        Pr[r_R != r_F]; it is the sum of ``revised_towards`` (to the candidate that the reveal labels as LLM),
        ``revised_away`` (to the one that lost that label) and ``revised_into_tie``; ``unrevised`` is the
        rest.
    """
    entropy = entropy_of(rng)
    rows = []
    for names, cell in cells(_revealed(judgements), ("judge", "scheme", "kind")):
        for condition in ("reveal", "control", "difference"):
            parsed = cell[_answered(cell, condition)]
            for column, quantity in enumerate(REVISIONS):
                key = {**names, "probe": condition}
                generator = named_generator(entropy, quantity, *key.values())
                values = _revision_values(parsed, condition)[:, column]
                revised = _revision_row(quantity, key, values, parsed, cell, generator, inference)
                of_all = ratio(values.sum(), len(cell))
                rows.append(revised | {"value_paper": float(of_all)})
    return frame(rows)


REVISIONS = ("revision_rate", "revised_towards", "revised_away", "revised_into_tie", "unrevised")


def revision_directions(first: pd.Series, last: pd.Series, carrier: pd.Series) -> Array:
    """How each verdict was revised.

    Parameters
    ----------
    first, last : Series of {"1", "2", "tie"}
        The verdict under Flip and the one after.
    carrier : Series of {1, 2}
        The candidate that carried the LLM label under Flip, which the reveal moves to the other one.

    Returns
    -------
    ndarray of {0, 1}, shape (n, 5)
        In the order of `REVISIONS`.
    """
    changed = (first != last).to_numpy()
    misled = (last == carrier.astype(str)).to_numpy()
    tie = (last == "tie").to_numpy()
    columns = [changed, changed & ~misled & ~tie, changed & misled, changed & tie, ~changed]
    return np.column_stack(columns).astype(float)


# --- Columns to be summed ---------------------------------------------------------------------------


def _outcome_rows(cell: pd.DataFrame) -> Array:
    """Columns (1, is 12, is 21, is tie); an unparsed answer is none of the three."""
    return np.column_stack([np.ones(len(cell)), outcome_indicators(cell["verdict"])])


def _pair_rows(pairs: pd.DataFrame, coding: Coding) -> Array:
    """Columns (1, favoured, opposite, tie) under Blind, then the same under the probe."""
    favoured = _favoured(pairs, coding)
    ones = np.ones(len(pairs))
    blind, probe = (outcome_indicators(pairs[column], favoured) for column in ("verdict_blind", "verdict"))
    return np.column_stack([ones, blind, ones, probe])


def _favoured(pairs: pd.DataFrame, coding: Coding) -> pd.Series:
    """The identity that the cue favours, as "1" or "2"."""
    if coding == "carrier":
        return pairs["carrier"].astype(int).astype(str)
    return pd.Series("1", index=pairs.index)


def _shares(sums: Array) -> Array:
    """Shares from summed columns (n, o1, o2, o3)."""
    return outcome_shares(sums[..., 1:4], sums[..., 0])


def _row_shifts(columns: Array) -> Shifts:
    """The shift of each pair alone, whose mean is the shift of the shares."""
    return shifts(columns[:, 1:4], columns[:, 5:8])


def _of_sums(of_shifts: Callable[[Shifts], Array]) -> Callable[[Array], Array]:
    """A function of shifts as a function of the summed columns of `_pair_rows`."""
    return lambda sums: of_shifts(shifts(_shares(sums[..., :4]), _shares(sums[..., 4:])))


_BALANCE: dict[str, Callable[[Array], Array]] = {
    "neutrality_signed": lambda sums: neutrality_signed(_shares(sums)),
    "neutrality_deviation": lambda sums: neutrality_deviation(_shares(sums)),
}

_SIGNED: dict[str, Callable[[Shifts], Array]] = {
    "shift_favoured": lambda shift: shift.favoured,
    "shift_opposite": lambda shift: shift.opposite,
    "shift_tie": lambda shift: shift.tie,
}
_EFFECTS = {"cue_effect": _SIGNED["shift_favoured"], "tie_change": _SIGNED["shift_tie"]}
_NON_NEGATIVE: dict[str, Callable[[Shifts], Array]] = {"lds": lds, "ols": ols, "ts": ts, "lao": lao}
_SHIFT_STATISTICS = _SIGNED | _NON_NEGATIVE

_CUT_OFF = dict(zip(("lds", "ols", "ts"), _SIGNED.values(), strict=True))
_MOVES = _SIGNED | _EFFECTS | _CUT_OFF
"""The signed effect of each pair: of what is cut off at 0, before that."""

# --- Revisions ----------------------------------------------------------------------------------------


def _revealed(judgements: pd.DataFrame) -> pd.DataFrame:
    """Trials that went on: the verdict under Flip, after the reveal, and after the control."""
    wanted = [*KEY, "verdict", "status"]
    reveal = of_stage(judgements, "reveal")
    first = of_stage(judgements, "first")
    first = first.loc[first["probe"] == "flip", wanted]
    control = of_stage(judgements, "control")[wanted]
    pairs = one_to_one(reveal, first, "_first", "Flip")
    return one_to_one(pairs, control, "_control", "the control")


def _answered(cell: pd.DataFrame, condition: str) -> pd.Series:
    """Which trials have all the answers that the condition compares."""
    needed = {"reveal": ["status"], "control": ["status_control"], "difference": ["status", "status_control"]}
    return (cell[["status_first", *needed[condition]]] == "ok").all(axis=1)


def _revision_values(parsed: pd.DataFrame, condition: str) -> Array:
    """`revision_directions` of the condition, or the difference of reveal and control."""

    def directions(column: str) -> Array:
        return revision_directions(parsed["verdict_first"], parsed[column], parsed["carrier"])

    if condition == "reveal":
        return directions("verdict")
    if condition == "control":
        return directions("verdict_control")
    return directions("verdict") - directions("verdict_control")


# --- Estimates, tests and rows ----------------------------------------------------------------------


def _shift_row(
    quantity: str,
    of_shifts: Callable[[Shifts], Array],
    names: dict[str, str],
    cell: pd.DataFrame,
    coding: Coding,
    rng: np.random.Generator,
    inference: Inference,
) -> dict[str, Any]:
    """A quantity of the shifts of one judge, scheme, kind and probe."""
    parsed = cell[cell["parsed"]]
    statistic, columns = _of_sums(of_shifts), _pair_rows(parsed, coding)
    if quantity == "lao":
        found = estimate(statistic, columns, parsed, rng, inference, (0.0, 1.0))
    else:
        moves = _MOVES[quantity](_row_shifts(columns))
        signed = signed_interval(moves, parsed["cluster"], rng, inference)
        found = _cut_off(signed, inference) if quantity in _CUT_OFF else signed
    of_all = float(statistic(_pair_rows(cell, coding).sum(axis=0)))
    return row(quantity, names, parsed, cell, found) | {"coding": coding, "value_paper": of_all}


def _cut_off(shift: Estimate, inference: Inference) -> Estimate:
    """max(0, shift), its upper end at least what none of so many clusters leaves open: never of width 0."""
    if np.isnan(shift.high):
        return replace(shift, value=float(np.maximum(0, shift.value)))
    _, least = unanimous_interval(0.0, shift.n_clusters, (0.0, 1.0), inference.confidence)
    return replace(shift, value=max(0.0, shift.value), low=max(0.0, shift.low), high=max(least, shift.high))


def _null_shifts(
    cell: pd.DataFrame, coding: Coding, inference: Inference, rng: np.random.Generator
) -> Shifts:
    """The shifts that come of exchanging Blind and the probe within clusters."""
    parsed = cell[cell["parsed"]]
    sums = cluster_sums(_pair_rows(parsed, coding), parsed["cluster"])

    def stacked(blind: Array, probe: Array) -> Array:
        return np.stack(shifts(_shares(blind), _shares(probe)), axis=-1)

    null = swap_null(stacked, sums[:, :4], sums[:, 4:], inference.permutations, rng)
    return Shifts(*np.moveaxis(null, -1, 0))


def _against(null: Array, quantity: str, value: float, inference: Inference) -> dict[str, float]:
    """The central range of what the null gives, where it is defined, and the p-value of a movement."""
    defined = null[~np.isnan(null)]
    tails = [inference.alpha / 2, 1 - inference.alpha / 2]
    low, high = np.quantile(defined, tails) if len(defined) else (np.nan, np.nan)
    p = permutation_p(value, null) if quantity in ("lds", "ols", "ts") else np.nan
    return {"null_low": float(low), "null_high": float(high), "p": p}


def _revision_row(
    quantity: str,
    key: dict[str, str],
    values: Array,
    parsed: pd.DataFrame,
    cell: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
) -> dict[str, object]:
    if key["probe"] != "difference":
        return row(quantity, key, parsed, cell, rate_interval(values, parsed["cluster"], rng, inference))
    found = signed_interval(values, parsed["cluster"], rng, inference)
    return row(quantity, key, parsed, cell, found) | signed_test(values, parsed, rng, inference)


def _with_holm(effects: pd.DataFrame) -> pd.DataFrame:
    """Correct over the family: one question, asked of all of its rows."""
    family = effects[(effects["kind"] == FAMILY_KIND) & effects["condition"].isin(FAMILY_PROBES)]
    corrected = family.groupby("quantity")["p"].transform(lambda p: holm(p.astype(float)))
    return effects.assign(p_holm=corrected.reindex(effects.index))
