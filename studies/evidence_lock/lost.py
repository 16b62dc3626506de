"""What the record lost: coverage of both answers where the lock went wrong, held right, and went right.

Looking at the losses alone would select on noise: two protocols of equal worth also part ways, both ways. So
the losses are set against the pairs that both got right *and* against those that only the lock got right, of
the same data set and with the better answer in the same place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.frames import rows_of
from shared.metrics.permutation import sign_flip_test
from shared.metrics.power import cluster_contributions, minimum_detectable_effect
from shared.metrics.resampling import (
    Array,
    Estimate,
    Inference,
    bootstrap,
    cluster_sums,
    rate_interval,
    share,
)
from studies.evidence_lock.contrasts import comparable, contrasts, with_width
from studies.evidence_lock.cost import FEWEST
from studies.evidence_lock.coverage import Vectors, coverage, sentences
from studies.evidence_lock.frozen import LOCKS, frozen_records, usual, written
from studies.evidence_lock.pairs import REFERENCE, cells, largest_records
from studies.evidence_lock.rows import Draws, corrected, draws, frame, row

GROUPS = ("lost", "kept", "gained", "neither")

CONTRASTS = (("lost", "kept"), ("lost", "gained"))

MEANS = ("coverage_better", "coverage_worse", "coverage_gap")

SHARES = ("missing_better", "missing_worse")

QUANTITIES = (*MEANS, *SHARES)

OWN = "own_less_other"

NOT_APART = "coverage does not tell the answers apart"
"""The note of what rests on coverage where `OWN` is not above 0."""

RANGE = {"coverage_gap": 2.0, OWN: 2.0}
"""How far from 0 a mean can be, where that is not 1."""

UNIT = ["judge", "item", "inspection"]
"""An item in one presentation order, whatever the scheme."""

CELL = ("judge", "scheme")

STRATUM = ["dataset", "better_first"]
"""What is the same in the units that are compared."""

FAMILY = ("judge", "scheme", "quantity")


def lost_rows(
    judgements: pd.DataFrame,
    items: pd.DataFrame,
    vectors: Vectors,
    threshold: float,
    rng: np.random.Generator,
    inference: Inference,
) -> pd.DataFrame:
    """How much of both answers is in the record: by what became of the verdict, and by the record's length.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``. Used are the schemes of `LOCKS` and Structured, under the usual conditions: one order
        for inspection and decision, wording 1, neutral names, temperature 0, replicate 0, a strict label.
    items : DataFrame
        With ``item, answer_1, answer_2``.
    vectors : mapping
        Of all sentences, see `embedding.sentences_to_embed`.
    threshold : float
        The cosine below which a sentence of an answer counts as missing.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS` and ``note``, for each judge, data set (and over all) and scheme. A unit is an item in
        one order; it is right where the verdict is the label, so that a judge's tie is wrong. ``condition``:

        * ``lost``: Structured right, the lock wrong; ``kept``: both right; ``gained``: the lock right,
          Structured wrong; ``neither``: both wrong. Units with a verdict under both, at the largest record;
          ``n_unparsed`` counts the others;
        * ``lost - kept``, ``lost - gained``: differences within strata of `STRATUM` (the data set, and
          whether the better answer stood first), with ``p``, ``p_holm`` over both and the data sets of a
          judge, scheme and quantity, and ``mde`` (see `contrasts.contrasts`). They rest on the strata that
          have units of both groups, nan where there is none, and are not the differences of the groups' own
          means. ``n_clusters`` is that of the smaller group;
        * ``all``: every unit with a verdict of the lock, for each ``record_chars``.

        ``quantity``:

        * ``share``: of the units, in [0, 1] (groups only);
        * ``better_first``: share of a group's units in which the better answer stood first, in [0, 1] (groups
          only);
        * ``coverage_better``, ``coverage_worse``: mean over units of an answer's mean `coverage.coverage` by
          what the record says on that answer, in [-1, 1]; the better answer is the one that people prefer;
        * ``coverage_gap``: the better answer's less the worse one's, in [-2, 2];
        * ``missing_better``, ``missing_worse``: share of the answer's sentences whose coverage is below the
          threshold, in [0, 1];
        * ``own_less_other`` (``all`` only): both answers' coverage by their own text less by the text on the
          other answer, in [-2, 2], with ``p`` and ``mde``. Where its interval is not above 0, coverage tells
          nothing of what a record says on whom: the ``note`` of all that rests on coverage in such a cell is
          `NOT_APART` (of groups and differences by the largest record).

        ``n_trials`` counts units. A mean coverage of fewer than `cost.FEWEST` clusters has no interval.

    Notes
    -----
    A record without a word on an answer has no coverage of it, and misses all of its sentences.
    """
    by_name = draws(rng)
    measured = _measured(frozen_records(judgements), items, vectors, threshold)
    made = [
        *_all_rows(measured, by_name, inference),
        *_group_rows(grouped(judgements), measured, by_name, inference),
    ]
    return _noted(corrected(frame(made, ["note"]), FAMILY))


def _noted(rows: pd.DataFrame) -> pd.DataFrame:
    """With `NOT_APART` on what rests on coverage that does not tell the answers apart."""
    own = rows[(rows["quantity"] == OWN) & rows["value"].notna()].sort_values("record_chars", kind="stable")
    apart = {tuple(one): low > 0 for one, low in zip(own[_NOTED].to_numpy(), own["ci_low"], strict=True)}
    # Of the several lengths of a cell the last, which is the largest, is that of its groups.
    largest = own.drop_duplicates(_NOTED[:-1], keep="last")
    apart |= {
        (*one, None): low > 0
        for one, low in zip(largest[_NOTED[:-1]].to_numpy(), largest["ci_low"], strict=True)
    }
    notes = [
        NOT_APART if row["quantity"] in (*QUANTITIES, OWN) and not apart.get(_noted_by(row), True) else ""
        for row in rows_of(rows)
    ]
    return rows.assign(note=notes)


_NOTED = ["judge", "dataset", "scheme", "record_chars"]


def _noted_by(row: Mapping[str, Any]) -> tuple[Any, ...]:
    length = row["record_chars"] if row["condition"] == "all" else None
    return (*(row[name] for name in _NOTED[:-1]), length)


# --- Units ------------------------------------------------------------------------------------------


def grouped(judgements: pd.DataFrame) -> pd.DataFrame:
    """Units that were asked under Structured and under a lock, each with what became of it.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``.

    Returns
    -------
    DataFrame
        The lock's rows at its largest record, with ``verdict_reference``, ``better_first`` (whether the
        better answer stood first) and ``group``: one of `GROUPS`, or missing where either has no verdict.
    """
    largest = largest_records(usual(judgements))
    reference = largest.loc[largest["scheme"] == REFERENCE, [*UNIT, "status", "verdict"]]
    locked = largest[largest["scheme"].isin(LOCKS)]
    both = locked.merge(reference, on=UNIT, suffixes=("", "_reference"), validate="many_to_one")
    better_first = both["label"] == both["inspection"].str[0]
    return both.assign(group=_groups(both), better_first=better_first)


def _groups(both: pd.DataFrame) -> npt.NDArray[np.object_]:
    before = (both["verdict_reference"] == both["label"]).to_numpy()
    after = (both["verdict"] == both["label"]).to_numpy()
    answered = (both["status"].eq("ok") & both["status_reference"].eq("ok")).to_numpy()
    is_of = [answered & before & ~after, answered & before & after, answered & ~before & after, answered]
    names = np.array([*GROUPS, None], dtype=object)
    return np.asarray(names[np.select(is_of, range(len(GROUPS)), default=len(GROUPS))])


# --- Coverage ---------------------------------------------------------------------------------------


def covered(judgement: Mapping[str, Any], answer: str, candidate: str, vectors: Vectors) -> Array:
    """Coverage of each sentence of an answer by what a record says on a candidate."""
    return coverage(sentences(answer), sentences(written(judgement, candidate)), vectors)


def missing(found: Array, threshold: float) -> npt.NDArray[np.bool_]:
    """Which sentences the record lacks; all of them where it says nothing."""
    return ~(found >= threshold)


def _measured(records: pd.DataFrame, items: pd.DataFrame, vectors: Vectors, threshold: float) -> pd.DataFrame:
    """The records with what `lost_rows` averages: nan where it is undefined."""
    texts = {item["item"]: (item["answer_1"], item["answer_2"]) for item in rows_of(items)}
    rows = [_measures(record, texts[record["item"]], vectors, threshold) for record in rows_of(records)]
    measures = pd.DataFrame(rows, index=records.index, columns=list(_MEASURES), dtype=float)
    return pd.concat([records.assign(n_trials=1, n_unparsed=0), measures], axis=1)


_MEASURES = (*QUANTITIES, "sentences_better", "sentences_worse", "own_less_other")


def _measures(
    record: Mapping[str, Any], texts: tuple[str, str], vectors: Vectors, threshold: float
) -> dict[str, float]:
    better = record["label"]
    worse = "2" if better == "1" else "1"
    own = {of: covered(record, texts[int(of) - 1], of, vectors) for of in (better, worse)}
    other = [
        covered(record, texts[int(of) - 1], by, vectors) for of, by in ((better, worse), (worse, better))
    ]
    means = {of: _mean(found) for of, found in own.items()}
    crossed = np.mean([_mean(found) for found in other])
    return {
        "coverage_better": means[better],
        "coverage_worse": means[worse],
        "coverage_gap": means[better] - means[worse],
        "missing_better": float(missing(own[better], threshold).sum()),
        "missing_worse": float(missing(own[worse], threshold).sum()),
        "sentences_better": float(len(own[better])),
        "sentences_worse": float(len(own[worse])),
        "own_less_other": float((means[better] + means[worse]) / 2 - crossed),
    }


def _mean(found: Array) -> float:
    return float(found.mean()) if len(found) else np.nan


# --- Rows -------------------------------------------------------------------------------------------


def _all_rows(measured: pd.DataFrame, by_name: Draws, inference: Inference) -> Iterator[dict[str, Any]]:
    for names, cell in cells(measured, (*CELL, "record_chars")):
        told = {**names, "condition": "all"}
        yield from _mean_rows(told, cell, cell, by_name, inference)
        yield _own_row(told, cell, by_name, inference)


def _group_rows(
    units: pd.DataFrame, measured: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    measures = measured[["judge", "trial", *_MEASURES]]
    unparsed = units["group"].isna().astype(int)
    whole = units.assign(n_trials=1, n_unparsed=unparsed).merge(measures, on=["judge", "trial"], how="left")
    for names, cell in cells(whole, CELL):
        used = cell[cell["group"].notna()]
        for group in GROUPS if len(used) else ():
            yield from _rows_of_a_group(group, names, used, cell, by_name, inference)
        for groups in CONTRASTS:
            yield from _contrast_rows(names, groups, used, cell, by_name, inference)


def _rows_of_a_group(
    group: str,
    names: Mapping[str, Any],
    used: pd.DataFrame,
    asked: pd.DataFrame,
    by_name: Draws,
    inference: Inference,
) -> Iterator[dict[str, Any]]:
    told = {**names, "condition": group}
    found = rate_interval(used["group"] == group, used["cluster"], by_name("share", told), inference)
    yield row("share", told, found, used, asked)
    own = used[used["group"] == group]
    found = rate_interval(own["better_first"], own["cluster"], by_name("better_first", told), inference)
    yield row("better_first", told, found, own, asked)
    yield from _mean_rows(told, own, asked, by_name, inference)


def _mean_rows(
    names: Mapping[str, Any], used: pd.DataFrame, asked: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    for quantity in MEANS:
        defined = used[used[quantity].notna()]
        found = _mean_estimate(quantity, defined, by_name(quantity, names), inference)
        yield row(quantity, names, found, defined, asked)
    for quantity in SHARES:
        defined = used[_weights(quantity, used) > 0]
        found = _share_estimate(quantity, defined, by_name(quantity, names), inference)
        yield row(quantity, names, found, defined, asked)


def _share_estimate(
    quantity: str, rows: pd.DataFrame, rng: np.random.Generator, inference: Inference
) -> Estimate:
    weights = _weights(quantity, rows)
    return rate_interval(rows[quantity], rows["cluster"], rng, inference, trials=weights)


def _mean_estimate(
    quantity: str, rows: pd.DataFrame, rng: np.random.Generator, inference: Inference
) -> Estimate:
    if rows.empty:
        return Estimate(np.nan, np.nan, np.nan, 0)
    reach = RANGE.get(quantity, 1.0)
    found = bootstrap(share, _sums(quantity, rows), rng, inference, (-reach, reach))
    return found if found.n_clusters >= FEWEST else replace(found, low=np.nan, high=np.nan)


def _sums(quantity: str, rows: pd.DataFrame) -> Array:
    return cluster_sums(np.column_stack([np.ones(len(rows)), rows[quantity]]), rows["cluster"])


def _weights(quantity: str, rows: pd.DataFrame) -> Array:
    """What a mean is over: sentences for a share of them, else the units that have the quantity."""
    if quantity in SHARES:
        return np.asarray(rows[quantity.replace("missing", "sentences")], dtype=float)
    return np.asarray(rows[quantity].notna(), dtype=float)


def _own_row(
    names: Mapping[str, Any], cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> dict[str, Any]:
    """Coverage by an answer's own text against its floor, tested by the signs of clusters."""
    quantity = OWN
    used, rng = cell[cell[quantity].notna()], by_name(quantity, names)
    made = row(quantity, names, _mean_estimate(quantity, used, rng, inference), used, cell)
    if used.empty:
        return made
    counts, sums = _sums(quantity, used).T
    effects = cluster_contributions(sums, counts)
    return {
        **made,
        "p": sign_flip_test(sums, inference.permutations, rng),
        "mde": minimum_detectable_effect(effects, inference.alpha, graded=True),
    }


def _contrast_rows(
    names: Mapping[str, Any],
    groups: tuple[str, str],
    used: pd.DataFrame,
    asked: pd.DataFrame,
    by_name: Draws,
    inference: Inference,
) -> Iterator[dict[str, Any]]:
    both = used[used["group"].isin(groups)].sort_values(["cluster", "item", "inspection"], kind="stable")
    if both["group"].nunique() < len(groups):
        return
    strata = both.groupby(STRATUM, sort=False).ngroup()
    kept = comparable(both["group"] == groups[0], strata)
    both, strata = both[kept], strata[kept]
    is_first = (both["group"] == groups[0]).to_numpy()
    told = {**names, "condition": " - ".join(groups)}
    sums = both[list(QUANTITIES)].fillna(0.0).to_numpy(dtype=float)
    weights = np.column_stack([_weights(quantity, both) for quantity in QUANTITIES])
    reaches = [1.0 if quantity in SHARES else 2 * RANGE.get(quantity, 1.0) for quantity in QUANTITIES]
    rng = by_name("contrasts", told)
    found = contrasts(sums, weights, is_first, both["cluster"], strata, reaches, rng, inference)
    for quantity, contrast in zip(QUANTITIES, found, strict=True):
        difference = contrast.estimate
        if quantity in SHARES:
            alone = (
                _share_estimate(quantity, own, rng, inference) for own in (both[is_first], both[~is_first])
            )
            difference = with_width(difference, *alone)
        made = row(quantity, told, difference, both, asked)
        yield {**made, "n_clusters": difference.n_clusters, "p": contrast.p, "mde": contrast.mde}
