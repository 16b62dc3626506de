"""The competence gate of scores: do a judge's mean scores follow the reference scores at all?

A judge that always scores 3, or always picks the first option shown, may look perfectly stable, and so may
one that answers 1, 2, 3, 4 to any four criteria. What fails the gate is an instrument check, not a finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.metrics.competence import Verdict
from shared.metrics.permutation import permutation_p
from shared.metrics.resampling import (
    Array,
    Estimate,
    Inference,
    bootstrap,
    named_generator,
    ratio,
)
from studies.rubric_position_bias.correlation import spearman
from studies.rubric_position_bias.grid import Codes
from studies.rubric_position_bias.strategies import (
    CELL,
    ITEM,
    TRIAL,
    SideBySide,
    estimate,
    resamples,
    side_by_side,
)

BLOCK = 2**20
"""How many exchanges of clusters are held at once."""

CONSTANT = 0.95
"""A judge whose share of one score, or place, may be as large counts as constant."""

COUNTING = 0.5
"""A judge whose share of one answer by place may be as large counts as one that reads places, not criteria.

Scores that belong to criteria move with these. Over all rotations of a list and of its reverse, answers by
place whose scores differ come in at least two forms, each equally often: none can make up more than half.
"""

MOST_FREQUENT = 50
"""How many of the most frequent answers by place are looked at in resamples."""


NOTHING = Estimate(np.nan, np.nan, np.nan, 0)


@dataclass(frozen=True, slots=True)
class Gate:
    """What the gate found.

    ``follows`` is Spearman's rho of the mean score over the balanced orders with the reference score, ``p``
    its one-sided p-value, ``constant_share`` the share of the most frequent score or place, ``answer_share``
    that of the most frequent answer by place to several criteria, which is ``answer``. ``n_items`` are the
    items (with their criteria) that the first rests on, and those with an answer.
    """

    follows: Estimate
    p: float
    constant_share: Estimate
    verdict: Verdict
    answer_share: Estimate = NOTHING
    answer: str = ""
    n_items: tuple[int, int] = (0, 0)


def gate(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> Gate:
    """Put one judge under one scheme on one data set to the gate.

    Parameters
    ----------
    judgements : DataFrame
        One cell's (`strategies.CELL`); only the strategy ``balanced`` is used.
    rng : numpy.random.Generator
    inference : Inference
        ``p`` is one-sided at 1 - ``confidence``. What does not pass has failed only with at least
        ``few_clusters`` clusters that have references; with fewer there are too few to tell.

    Returns
    -------
    Gate
        ``follows`` in [-1, 1], nan where mean scores or references are constant. ``constant_share`` in
        (0, 1]: the share of the most frequent score or, in the setting ``score``, of the most frequent place
        where that is larger. 1 is constant: a judge that always picks one place has a mean score of the
        middle for every item. ``answer_share``, in the setting ``criteria``: of the answers with a score for
        every criterion, read by place, the share of the most frequent one whose scores are not all the same;
        1 for a judge that counts whatever it reads. Both pass by the upper ends of their intervals, which
        must be below `CONSTANT` and `COUNTING`.

    Raises
    ------
    ValueError
        If the frame holds more than one cell, which would be averaged silently.

    Notes
    -----
    The test exchanges the references between whole clusters with the same items, and turns them among a
    cluster's systems, those of all criteria together: if scores and references have nothing to do with each
    other, either could as well have stood elsewhere, while the references of a cluster, and those of a
    system there, stay together. See `exchanged`.
    """
    balanced = judgements[judgements["strategy"] == "balanced"]
    found = list(side_by_side(balanced))
    if len(found) > 1:
        told = ", ".join(name for name in CELL if balanced[name].nunique() > 1)
        raise ValueError(f"the gate takes one cell at a time, not several of {told}: select one")
    if not found:
        return Gate(NOTHING, np.nan, NOTHING, "too few to tell")
    side = found[0][1]
    follows, p = _follows(side, rng, inference)
    constant = _constant_share(balanced, rng, inference)
    answers, answer = _answer_share(balanced, rng, inference)
    verdict = _verdict(follows, p, [(constant, CONSTANT), (answers, COUNTING)], inference)
    parsed = side.means("balanced", _k(side))
    n_items = int((~np.isnan(parsed + side.reference)).sum()), int((~np.isnan(parsed)).sum())
    return Gate(follows, p, constant, verdict, answers, answer, n_items)


def gate_rows(
    judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference, by: Sequence[str] = CELL
) -> pd.DataFrame:
    """Each cell's gate: ``follows`` with its ``p``, ``constant_share`` and, of several criteria,
    ``answer_share`` (condition: the answer, as "1, 2, 3, 4"), all with the ``verdict``.
    """
    entropy = int(rng.integers(2**62))
    balanced = balanced_of(judgements, by)
    rows: list[dict[str, Any]] = []
    for key, cell in balanced.groupby(list(by), sort=False):
        names = dict(zip(by, key, strict=True))
        result = gate(cell, named_generator(entropy, *map(str, key)), inference)
        counts = {"n_trials": len(cell), "n_unparsed": int(cell["score"].isna().sum())}
        rows += [names | row | counts | {"verdict": result.verdict} for row in _shown(result, cell)]
    return pd.DataFrame(rows)


def balanced_of(judgements: pd.DataFrame, by: Sequence[str] = CELL) -> pd.DataFrame:
    """The rows and columns that gates rest on."""
    columns = list(dict.fromkeys([*by, *CELL, *ITEM, *TRIAL, "position"]))
    return judgements.loc[judgements["strategy"] == "balanced", columns]


def _shown(result: Gate, cell: pd.DataFrame) -> Iterator[dict[str, Any]]:
    referenced, answered = result.n_items
    yield {"quantity": "follows", **_told(result.follows), "p": result.p, "n_items": referenced}
    yield {"quantity": "constant_share", **_told(result.constant_share), "n_items": answered}
    if (cell["setting"] == "criteria").any():
        named = {"quantity": "answer_share", "condition": result.answer, "n_items": answered}
        yield named | _told(result.answer_share)


def _told(found: Estimate) -> dict[str, Any]:
    return {
        "value": found.value,
        "ci_low": found.low,
        "ci_high": found.high,
        "n_clusters": found.n_clusters,
    }


def _verdict(
    follows: Estimate, p: float, shares: Sequence[tuple[Estimate, float]], inference: Inference
) -> Verdict:
    """``shares`` come with their bounds; one that does not apply, or has no answer, has no value."""
    below = (np.isnan(found.value) or found.high < bound for found, bound in shares)
    if p <= inference.alpha and all(below):
        return "passed"
    return "failed" if follows.n_clusters >= inference.few_clusters else "too few to tell"


# --- Is it constant? --------------------------------------------------------------------------------


def _constant_share(balanced: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> Estimate:
    """The largest share of one score, or of one place where options have places."""
    parsed = balanced[balanced["score"].notna()]
    if parsed.empty:
        return NOTHING
    answers = ["score", "position"] if (parsed["setting"] == "score").all() else ["score"]
    clusters = pd.factorize(parsed["cluster"])[0]
    found = [_largest_share(pd.factorize(parsed[name])[0], clusters, rng, inference) for name in answers]
    return max(found, key=lambda estimated: estimated.value)


def _answer_share(
    balanced: pd.DataFrame, rng: np.random.Generator, inference: Inference
) -> tuple[Estimate, str]:
    """Of answers to several criteria, the largest share of one with differing scores by place, and which."""
    several = balanced[(balanced["setting"] == "criteria") & balanced["score"].notna()]
    if several.empty:
        return NOTHING, ""
    trials = several.groupby(["item", "draw"], sort=False).ngroup().to_numpy()
    places = several["position"].to_numpy(dtype=np.intp) - 1
    answers = np.full((trials.max() + 1, places.max() + 1), np.nan)
    answers[trials, places] = several["score"]
    clusters = pd.factorize(several["cluster"])[0][np.unique(trials, return_index=True)[1]]
    whole = ~np.isnan(answers).any(axis=1)
    if not whole.any():
        return NOTHING, ""
    forms, codes = _distinct(answers[whole])
    differing = np.ptp(forms, axis=1) > 0
    often = np.argsort(-np.where(differing, np.bincount(codes), 0), kind="stable")
    often = often[differing[often]][:MOST_FREQUENT]
    rank = np.full(len(forms), len(often))
    rank[often] = np.arange(len(often))
    found = _largest_share(rank[codes], clusters[whole], rng, inference, len(often))
    return found, ", ".join(f"{score:g}" for score in forms[often[0]]) if len(often) else ""


def _largest_share(
    answers: Codes, clusters: Codes, rng: np.random.Generator, inference: Inference, of: int | None = None
) -> Estimate:
    """The largest share of one of the answers 0 .. ``of`` - 1 (all, by default) among all answers."""
    n = int(answers.max()) + 1
    cells = clusters * n + answers
    sums = np.bincount(cells, minlength=(int(clusters.max()) + 1) * n).reshape(-1, n).astype(float)
    sums = np.column_stack([sums.sum(axis=1), sums[:, :of]])
    sums = sums[sums[:, 0] > 0]

    def largest(totals: Array) -> Array:
        return ratio(totals[..., 1:].max(axis=-1, initial=0.0), totals[..., 0])

    return bootstrap(largest, sums, rng, inference)


# --- Does it follow the reference? ------------------------------------------------------------------


def _follows(cell: SideBySide, rng: np.random.Generator, inference: Inference) -> tuple[Estimate, float]:
    x, y = cell.means("balanced", _k(cell)), cell.reference
    used = ~np.isnan(x + y)
    n_clusters = len(np.unique(cell.clusters[used]))
    weights = resamples(rng, inference)("", cell.n_clusters)
    found = estimate(spearman(x, y, cell.clusters, weights), n_clusters, (-1.0, 1.0), inference)
    if np.isnan(found.value):
        return found, np.nan
    null = exchanged(x[used], y[used], cell.items[used], inference.permutations, rng)
    return found, permutation_p(found.value, null)


def _k(cell: SideBySide) -> int:
    return int(cell.grids["balanced"].scores.shape[1])


def exchanged(x: Array, y: Array, items: pd.DataFrame, permutations: int, rng: np.random.Generator) -> Array:
    """Spearman's rho where references have nothing to do with scores.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
        Mean scores and references, neither constant.
    items : DataFrame, n rows
        ``cluster``, ``system`` and ``criterion`` of each.
    permutations : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (permutations,)

    Notes
    -----
    Clusters exchange their references with clusters that have as many systems with the same criteria. Within
    a cluster these systems then turn by a random number of places, each with the references of all its
    criteria: a system that is good by one criterion is often good by all, so that criteria that turned one
    by one would make the null too narrow. Both keep what clusters have in common, and criteria apart. All
    combinations form a group (the wreath product of rotations and permutations), and the draws are uniform
    on it: the test is exact where clusters, and the systems of a cluster, are exchangeable. In which sequence
    systems turn is drawn once, since the sequence in a file may follow their quality.

    References
    ----------
    Hemerik and Goeman (2018), TEST 27, 811-825 (random draws from a group).
    """
    ranks_x, ranks_y = (_standardised_ranks(values) for values in (x, y))
    null = np.zeros(permutations)
    for places, rings in _layouts(items, rng):
        null += _exchanged_alike(ranks_x[places], ranks_y[places], rings, permutations, rng)
    return null


def _standardised_ranks(values: Array) -> Array:
    """Ranks of mean 0 and sum of squares 1: the product of two such vectors is rho."""
    ranks = pd.Series(values).rank().to_numpy()
    centred = ranks - ranks.mean()
    return ratio(centred, np.sqrt((centred**2).sum()))


Ring = tuple[int, int]
"""Systems of a cluster that have the same criteria, and turn together: their number, and that of criteria."""


def _layouts(items: pd.DataFrame, rng: np.random.Generator) -> Iterator[tuple[Codes, list[Ring]]]:
    """Clusters with as many systems of each set of criteria: items (clusters, items), and their rings.

    A cluster's items come ring by ring, in each system by system, in each by criterion.
    """
    cluster, system, criterion = (
        pd.factorize(items[name], use_na_sentinel=False)[0] for name in ("cluster", "system", "criterion")
    )
    # A system may have several items of one criterion: each stands with one of the others.
    names = pd.DataFrame({"cluster": cluster, "system": system, "criterion": criterion})
    names["again"] = names.groupby(["cluster", "system", "criterion"]).cumcount()
    unit = names.groupby(["cluster", "system", "again"], sort=False).ngroup().to_numpy()
    own = np.unique(unit, return_index=True)[1]
    has = np.zeros((len(own), criterion.max() + 1), dtype=bool)
    has[unit, criterion] = True
    sets, ring = _distinct(has)
    counts = np.zeros((cluster.max() + 1, len(sets)), dtype=np.intp)
    np.add.at(counts, (cluster[own], ring), 1)
    turn = rng.random(len(own))
    sequence = np.lexsort((criterion, turn[unit], ring[unit], cluster))
    for layout, alike in zip(*_members(counts), strict=True):
        places = sequence[alike[cluster[sequence]]].reshape(int(alike.sum()), -1)
        yield places, [(int(layout[at]), int(sets[at].sum())) for at in np.flatnonzero(layout)]


def _distinct(rows: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Codes]:
    """The different rows, and which of them each row is."""
    found, codes = np.unique(rows, axis=0, return_inverse=True)
    return found, codes.ravel()


def _members(rows: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The different rows, and for each which rows are equal to it."""
    found, codes = _distinct(rows)
    return found, codes == np.arange(len(found))[:, None]


def _exchanged_alike(
    x: Array, y: Array, rings: Sequence[Ring], permutations: int, rng: np.random.Generator
) -> Array:
    """The summed products of scores and exchanged references: (clusters, items) to (permutations,)."""
    n = len(x)
    tables = _products(x, y, rings)
    null = np.empty(permutations)
    step = max(1, BLOCK // n)
    for start in range(0, permutations, step):
        size = min(step, permutations - start)
        other = rng.random((size, n)).argsort(axis=1)
        own = np.arange(n)
        parts = (table[rng.integers(len(table), size=(size, n)), own, other] for table in tables)
        null[start : start + size] = sum(part.sum(axis=1) for part in parts)
    return null


def _products(x: Array, y: Array, rings: Sequence[Ring]) -> list[Array]:
    """Of each ring: the product of every cluster's scores with every cluster's turned references.

    (turns, clusters, clusters). Rings of one system, which has nothing to turn, are added up.
    """
    ends = np.cumsum([systems * criteria for systems, criteria in rings])[:-1]
    parts = zip(rings, np.split(x, ends, axis=1), np.split(y, ends, axis=1), strict=True)
    single: list[Array] = []
    turned: list[Array] = []
    for (systems, criteria), own, other in parts:
        # A turn by one system moves the references of all its criteria.
        table = np.stack([own @ np.roll(other, turn * criteria, axis=1).T for turn in range(systems)])
        (single if systems == 1 else turned).append(table)
    return [*turned, *([np.sum(single, axis=0)] if single else [])]
