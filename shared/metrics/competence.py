"""The competence gate: can this judge tell a damaged text from a sound one at all?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from shared.metrics.permutation import mean_difference_test, sign_flip_test
from shared.metrics.resampling import (
    Array,
    Estimate,
    Inference,
    bootstrap,
    bootstrap_difference,
    cluster_sums,
    share,
    signed_interval,
)

Verdict = Literal["passed", "failed", "too few to tell"]


@dataclass(frozen=True, slots=True)
class Check:
    """One question of the gate: its estimate with an interval, its one-sided p-value, its answer.

    ``p`` is nan where the question is not put to a test (constancy).
    """

    estimate: Estimate
    p: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Competence:
    """The gate's three answers and their sum; ``ties_less`` is None where the scheme has no tie."""

    prefers_undamaged: Check
    ties_less: Check | None
    not_constant: Check

    @property
    def verdict(self) -> Verdict:
        """Failed if anything failed; passed if everything passed; otherwise too few to tell."""
        checks = [self.prefers_undamaged, self.not_constant, *([self.ties_less] if self.ties_less else [])]
        verdicts = {check.verdict for check in checks}
        if "failed" in verdicts:
            return "failed"
        return "passed" if verdicts == {"passed"} else "too few to tell"


def competence(
    judgements: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
    *,
    can_tie: bool = True,
) -> Competence:
    """Put one judge under one scheme to the gate.

    Parameters
    ----------
    judgements : DataFrame
        Judgements of one judge under one scheme without cues (stage ``first``, probe ``blind``) with
        ``item, cluster, kind, screen_order, status, verdict``. Of kind ``damage`` (candidate 1 is the
        undamaged text, each item judged in both screen orders) and ``equal``; other kinds are ignored.
    rng : numpy.random.Generator
    inference : Inference
        Tests are one-sided at 1 - ``confidence``. A check that does not pass has failed only with at
        least ``few_clusters`` clusters; with fewer there are too few to tell.
    can_tie : bool
        False for a forced choice, which is not asked about ties.

    Returns
    -------
    Competence
        ``prefers_undamaged`` estimates P(undamaged) - P(damaged) over both orders, in [-1, 1]: a judge
        that always picks the first shown has 0. ``ties_less`` estimates the tie rate on equal pairs
        minus that on damaged ones: mean over documents that have both or, where none has (a damage ladder
        of other documents), the difference of the means of two independent groups. ``not_constant``
        estimates the share of the most frequent answer as the screen shows it (first, second, tie): 1 is
        constant.

    Notes
    -----
    Only answers that could be parsed enter, and of the damaged pairs only items that were parsed in
    both orders, since one order alone would mix preference with position.

    Raises
    ------
    ValueError
        If the frame holds more than one judge, scheme or probe, which would be averaged silently.
    """
    _one_cell_only(judgements)
    rests_on = basis(judgements)
    return Competence(
        prefers_undamaged=_preference(rests_on["prefers_undamaged"], rng, inference),
        ties_less=_ties(rests_on["ties_less"], rng, inference) if can_tie else None,
        not_constant=_constancy(rests_on["not_constant"], rng, inference),
    )


def basis(judgements: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By check of `Competence`, the judgements that its estimate rests on, and no others."""
    parsed = judgements[judgements["status"] == "ok"]
    damage = _both_orders(parsed[parsed["kind"] == "damage"])
    answers = pd.concat([damage, parsed[parsed["kind"] == "equal"]])
    return {"prefers_undamaged": damage, "ties_less": of_both_kinds(answers), "not_constant": answers}


def of_both_kinds(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of clusters that have damaged and equal pairs; all rows where no cluster has both."""
    both = rows.groupby("cluster")["kind"].transform("nunique") == 2
    return rows[both] if both.any() else rows


def _one_cell_only(judgements: pd.DataFrame) -> None:
    for column in ("judge", "scheme", "probe", "stage"):
        if column in judgements and judgements[column].nunique() > 1:
            found = ", ".join(sorted(judgements[column].unique()))
            raise ValueError(f"the competence gate takes one {column} at a time, not {found}: select one")


def _both_orders(damage: pd.DataFrame) -> pd.DataFrame:
    """Damaged items that were answered in both screen orders."""
    orders = damage.groupby("item")["screen_order"].transform("nunique")
    return damage[orders == 2]


def _preference(damage: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> Check:
    signed = damage["verdict"].map({"1": 1.0, "2": -1.0, "tie": 0.0}).to_numpy()
    # The mean over an item's orders weighs both alike even where replicates were lost.
    by_item = damage.assign(signed=signed).groupby(["cluster", "item", "screen_order"])["signed"].mean()
    items = by_item.groupby(["cluster", "item"]).mean().reset_index()
    return _signed_check(items["signed"].to_numpy(), items["cluster"].to_numpy(), rng, inference)


def _ties(answers: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> Check:
    kinds = (answers[answers["kind"] == kind] for kind in ("equal", "damage"))
    on_equal, on_damaged = (
        rows["verdict"].eq("tie").astype(float).groupby(rows["cluster"]).mean() for rows in kinds
    )
    difference = (on_equal - on_damaged).dropna()
    if difference.empty:
        return _unpaired_check(on_equal.to_numpy(), on_damaged.to_numpy(), rng, inference)
    return _signed_check(difference.to_numpy(), difference.index.to_numpy(), rng, inference)


def _unpaired_check(first: Array, second: Array, rng: np.random.Generator, inference: Inference) -> Check:
    """Is the first group's mean above the second's? Whether they are enough is up to the smaller one."""
    fewest = min(len(first), len(second))
    estimate = bootstrap_difference(first, second, rng, inference)
    p = mean_difference_test(first, second, inference.permutations, rng)
    return Check(estimate, p, _verdict(p <= inference.alpha, fewest, inference))


def _signed_check(effects: Array, clusters: Array, rng: np.random.Generator, inference: Inference) -> Check:
    """Is the mean of these effects, each in [-1, 1], above 0?"""
    if len(effects) == 0:
        return Check(Estimate(np.nan, np.nan, np.nan, 0), np.nan, "too few to tell")
    estimate = signed_interval(effects, clusters, rng, inference)
    sums = cluster_sums(effects, clusters)[:, 0]
    p = sign_flip_test(sums, inference.permutations, rng, "greater")
    return Check(estimate, p, _verdict(p <= inference.alpha, len(sums), inference))


def _constancy(answers: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> Check:
    screen = answers["verdict"].where(answers["verdict"] == "tie", _shown(answers))
    if screen.empty:
        return Check(Estimate(np.nan, np.nan, np.nan, 0), np.nan, "too few to tell")
    outcomes = np.column_stack([screen == outcome for outcome in ("first", "second", "tie")])
    sums = cluster_sums(outcomes, answers["cluster"])
    estimate = bootstrap(_largest_share, sums, rng, inference)
    return Check(estimate, np.nan, _verdict(screen.nunique() > 1, len(sums), inference))


def _shown(answers: pd.DataFrame) -> pd.Series:
    """Where the chosen candidate stood on the screen."""
    chosen_first = answers["verdict"] == answers["screen_order"].str[0]
    return chosen_first.map({True: "first", False: "second"})


def _largest_share(sums: Array) -> Array:
    return share(np.stack([sums.sum(axis=-1), sums.max(axis=-1)], axis=-1))


def _verdict(passed: bool, n_clusters: int, inference: Inference) -> Verdict:
    if passed:
        return "passed"
    return "failed" if n_clusters >= inference.few_clusters else "too few to tell"
