"""How large a judge's position prior is: conditional logits of each cell, and of prompt arms side by side.

Balanced orders of score options alone. `pairs_logit` has the estimate that leads, `shares_logit` the paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq

from shared.metrics.permutation import permutation_p
from shared.metrics.resampling import Array, Inference, cluster_sums, named_generator, ratio
from studies.rubric_position_bias.grid import CELL, Grid, cells, grid
from studies.rubric_position_bias.metrics import null_range, permutation_null, position_counts
from studies.rubric_position_bias.pairs_logit import NO_FIT, PairsFit, fit_pairs
from studies.rubric_position_bias.params import EFFORTS
from studies.rubric_position_bias.position import NULL_DRAWS, balanced_scores, with_holm
from studies.rubric_position_bias.shares_logit import Fit, fit_shares

POWER = 0.8

ALL = "all"
"""The judge and data set of a mean over judges and data sets."""

NO_PRIOR = "n/a: the base shows no position prior, so that a ratio to it means nothing"

# --- One cell ---------------------------------------------------------------------------------------


def logit_rows(
    judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference, by: Sequence[str] = CELL
) -> pd.DataFrame:
    """Content, leniency and position of each cell.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; of the setting ``score`` the strategy ``balanced`` is used.
    rng : numpy.random.Generator
    inference : Inference
    by : sequence of str
        What makes a cell; items are pooled over what is not named (criteria).

    Returns
    -------
    DataFrame
        For each cell, with intervals from errors that are robust to clusters:

        ``alpha`` (condition "place p")
            Log-odds that a place adds, from `pairs_logit.fit_pairs`; they sum to 0. Signed: read these first.
        ``sd_alpha``
            Their standard deviation over places. ``p``, the primary test: robust Wald, for a prior that the
            sources have in common; ``p_holm`` over the declared family (`position.FAMILY`); ``mde`` the
            smallest sd that it would find with probability 0.8. Noise keeps an sd above 0, so that the
            interval reaches down to 0 wherever the test does not reject, and ``null_low`` and ``null_high``
            say what a judge with these scores and no bias would show (one Newton step from 0).
        ``score_test``
            The distance of the counts by place from the mean of `metrics.permutation_null`, in its
            covariance. ``p`` is exact for places that matter in no source at all; it is there for separated
            answers too. Where sources have priors of their own that cancel, it rejects and the Wald test
            does not.
        ``lr``
            The likelihood-ratio test of the same fit. Its ``p`` is right only if items answer independently.
        ``sd_alpha_shares``, ``lr_shares``, ``gamma``, ``beta`` (condition "score s")
            The paper's form, `shares_logit.fit_shares`; its ``lr_shares`` is the paper's test. The ``p`` of
            ``sd_alpha_shares`` is of a Wald test robust to clusters, as that of ``sd_alpha``, and its
            interval reaches down to 0 likewise.

        ``note`` says why a value is nan. A fit that has no finite maximum gives nan, never its last step.

    Notes
    -----
    Rejections at 0.05 without bias over 300 simulated data sets of 120 items, five options and ten orders,
    in judges from indifferent to sharp: robust Wald 0.03 to 0.05, permutations 0.03 to 0.07, ``lr`` 0.03 to
    0.07, ``lr_shares`` 0.04 to 0.09 (its mean was 3.9 to 4.7, not 4). With priors that differ between 40
    sources and average 0: Wald 0.04 to 0.05, ``lr`` 0.30 to 0.42, ``lr_shares`` 0.36 to 0.48.
    """
    entropy = int(rng.integers(2**62))
    rows: list[dict[str, Any]] = []
    for names, cell in cells(balanced_scores(judgements, by), by):
        laid = grid(cell)
        generator = named_generator(entropy, *map(str, names.values()))
        sizes = sizes_of(laid)
        rows += [names | sizes | row for row in _pairs_rows(laid, generator, inference)]
        paper = _shares_rows(fit_shares(laid), sizes["n_clusters"], inference)
        rows += [names | sizes | row for row in paper]
    return with_holm(pd.DataFrame(rows), "sd_alpha")


def sizes_of(laid: Grid) -> dict[str, int]:
    """How many items and clusters have an answer, answers, trials without one, and orders an item."""
    answered = ~np.isnan(laid.scores)
    items = answered.any(axis=1)
    return {
        "n_items": int(items.sum()),
        "n_trials": int(answered.sum()),
        "n_clusters": len(np.unique(laid.clusters[items])),
        "n_unparsed": laid.n_unparsed,
        "k": laid.scores.shape[1],
    }


def _pairs_rows(laid: Grid, rng: np.random.Generator, inference: Inference) -> Iterator[dict[str, Any]]:
    fit = fit_pairs(laid)
    null = permutation_null(laid, rng, min(inference.permutations, NULL_DRAWS))
    errors = np.sqrt(np.diag(fit.cov))
    for place, (value, error) in enumerate(zip(fit.alpha, errors, strict=True)):
        yield _row("alpha", value, error, fit.n_clusters, inference, f"place {place + 1}", fit.note)
    low, high = null_range(one_step_sd(fit, null), inference)
    yield sd_row(fit, inference) | {"null_low": low, "null_high": high}
    distance, p = score_test(position_counts(laid), null)
    yield _test_row("score_test", distance, p)
    yield _test_row("lr", fit.lr, float(stats.chi2.sf(fit.lr, fit.df)), fit.note)


def sd_row(fit: PairsFit, inference: Inference) -> dict[str, Any]:
    """`PairsFit.sd_alpha` with its interval and the robust Wald test."""
    row = _row("sd_alpha", fit.sd_alpha, fit.sd_se, fit.n_clusters, inference, note=fit.note)
    return _down_to_0(row, fit.wald()[1], inference) | {"mde": _mde(fit, inference)}


def _down_to_0(row: dict[str, Any], p: float, inference: Inference) -> dict[str, Any]:
    """An sd with its test: the interval reaches down to 0 unless the test rejects."""
    low = max(row["ci_low"], 0.0) if p <= inference.alpha else 0.0
    return row | {"ci_low": low if np.isfinite(row["ci_low"]) else np.nan, "p": p}


def one_step_sd(fit: PairsFit, null: Array) -> Array:
    """The sd of alpha, one Newton step from 0, of a judge with the same scores and counts of the null.

    Parameters
    ----------
    fit : PairsFit
    null : ndarray, shape (..., n)
        From `metrics.permutation_null`.

    Returns
    -------
    ndarray, shape (...)
        0 where no item has two different scores.
    """
    slopes = null - null.mean(axis=0)
    return np.std(slopes @ np.linalg.pinv(fit.information, rcond=1e-10, hermitian=True), axis=-1)


def score_test(counts: Array, null: Array) -> tuple[float, float]:
    """How far counts by place are from what no bias gives, and the share of the null that is as far.

    Parameters
    ----------
    counts : ndarray, shape (n,)
    null : ndarray, shape (draws, n)
        From `metrics.permutation_null`.

    Returns
    -------
    distance : float
        Squared Mahalanobis distance; 0 where the null has no spread. Without bias about chi-square with
        n - 1 degrees of freedom. nan without any answer.
    p : float
        In (0, 1]; nan without any answer. Mean and covariance are of the draws and the observed counts
        together, so that all are exchangeable without bias: the test is exact, however few the sources.

    See Also
    --------
    scipy.spatial.distance.mahalanobis : the oracle.
    """
    if not counts.sum():
        return float("nan"), float("nan")
    together = np.vstack([counts, null])
    apart = together - together.mean(axis=0)
    inverse = np.linalg.pinv(apart.T @ apart / len(null), rcond=1e-9, hermitian=True)
    distances = np.einsum("di,ij,dj->d", apart, inverse, apart)
    return float(distances[0]), permutation_p(float(distances[0]), distances[1:])


def _shares_rows(fit: Fit, n_clusters: int, inference: Inference) -> Iterator[dict[str, Any]]:
    note = "" if fit.converged else NO_FIT
    sd = _row("sd_alpha_shares", fit.sd_alpha, fit.sd_se, n_clusters, inference, note=note)
    yield _down_to_0(sd, fit.wald()[1], inference)
    yield _test_row("lr_shares", fit.lr, fit.p, note)
    yield _row("gamma", fit.gamma, fit.gamma_se, n_clusters, inference, note=note)
    for option, (value, error) in enumerate(zip(fit.beta, fit.beta_se, strict=True)):
        never = "n/a: never given" if fit.converged and np.isnan(value) else note
        yield _row("beta", value, error, n_clusters, inference, f"score {option + 1}", never)


def _row(
    quantity: str,
    value: float,
    error: float,
    n_clusters: int,
    inference: Inference,
    condition: str = "balanced",
    note: str = "",
) -> dict[str, Any]:
    """An estimate and its interval: so many standard errors each way, by Student's t on C - 1."""
    half = _critical(n_clusters, inference) * error
    ends = {"ci_low": value - half, "ci_high": value + half}
    return {"quantity": quantity, "condition": condition, "value": float(value), **ends, "note": note}


def _test_row(quantity: str, value: float, p: float, note: str = "") -> dict[str, Any]:
    return {"quantity": quantity, "condition": "balanced", "value": value, "p": p, "note": note}


def _critical(n_clusters: int, inference: Inference) -> float:
    return float(stats.t.ppf(1 - inference.alpha / 2, n_clusters - 1)) if n_clusters > 1 else np.nan


def _mde(fit: PairsFit, inference: Inference) -> float:
    """The sd that gives `PairsFit.wald` a power of 0.8, were all places known equally well.

    nan without a fit, and where clusters are too few for the test.
    """
    if not fit.converged or fit.df < 1 or fit.n_clusters - fit.df < 1:
        return np.nan
    typical = float(np.trace(fit.cov)) / fit.df
    return float(np.sqrt(_noncentrality(fit.df, fit.n_clusters, inference.alpha) * typical / (fit.df + 1)))


@cache
def _noncentrality(df: int, n_clusters: int, alpha: float) -> float:
    """alpha' cov^-1 alpha, for the true alpha and covariance, that Hotelling's test finds with 0.8.

    The test's factor (C - df) / (df (C - 1)) turns the statistic into an F; the noncentrality of that F is
    the one of the statistic, without a factor.
    """
    spare = n_clusters - df
    critical = stats.f.ppf(1 - alpha, df, spare)

    def lacking(noncentrality: float) -> float:
        return float(stats.ncf.sf(critical, df, spare, noncentrality)) - POWER

    enough = 1.0
    while lacking(enough) < 0:
        enough *= 2
    return float(brentq(lacking, 0, enough))


# --- Cells side by side -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """A cell's sd of alpha, or a mean of several; ``moves`` is what each source adds to it, to first order.

    ``p`` is of the robust Wald test; of a mean, from ``null``: the `one_step_sd` of the cell itself, then of
    draws without bias. ``paper`` is the row of the paper's form, which has an estimate where answers are too
    clear-cut for ours; only a level of its own has one. ``cells`` are a mean's: how many cells it is over,
    and how many were asked.
    """

    value: float
    moves: pd.Series
    p: float
    null: Array
    row: Mapping[str, Any]
    paper: Mapping[str, Any] | None = None
    cells: tuple[int, int] | None = None

    @property
    def over(self) -> dict[str, Any]:
        """What a row says of a mean's cells."""
        if self.cells is None:
            return {}
        used, asked = self.cells
        lost = f"mean over {used} of {asked} cells: the others, the most biased maybe, have no finite fit"
        return {"n_cells": used, "note": lost if used < asked else ""}


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The levels of one cell: each alone, on all of its items, and each beside the base.

    ``beside`` has for each level but the base its own spread and the base's, both on the items that were
    answered under both.
    """

    alone: dict[Any, Spread]
    beside: dict[Any, tuple[Spread, Spread]]

    def all_fitted(self) -> bool:
        pairs = (one for pair in self.beside.values() for one in pair)
        return all(spread.value > 0 for spread in (*self.alone.values(), *pairs))


def arm_rows(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """The size of the position prior under each prompt arm, beside the base prompt's.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; of the setting ``score`` the strategy ``balanced`` is used.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        For each judge, data set, size, temperature and effort that was asked under the base and another arm
        (``scheme``):

        ``sd_alpha`` (condition "prose")
            As in `logit_rows`, with its null range and the robust Wald test's ``p``, not corrected.
        ``sd_alpha_shares`` (condition "prose")
            The same in the paper's form, which the paper's numbers are of.
        ``sd_alpha_difference`` (condition "prose - base")
            With ``p`` and ``mde``: lead with this one.
        ``sd_alpha_ratio`` (condition "prose / base")
            Interval and ``p`` on the log scale; nan where the base's own prior is not beyond chance.

        Differences and ratios are of the items (and criteria) that were answered under both arms, and their
        sizes count those; ``sd_alpha`` is of all items of its arm, so that it may differ otherwise. The two
        arms are paired by source. Rows of judge and data set "all" are of the mean over the judges and data
        sets that have a fit under all arms, each counting once: ``n_cells`` of them, and ``note`` says where
        others were asked under all arms and have none. The ``p`` of a mean sd, with its null range, is by
        permutation: sources deal their scores anew to the orders, by one permutation for all judges, and the
        mean of `one_step_sd` over cells is compared. Its interval, too, reaches down to 0 unless ``p``
        rejects, and a ratio to it is nan.

    Notes
    -----
    Noise adds to an sd, and the more, the fewer the items: only on the same items is it about the same in
    both arms. With few items, or without a clear prior, the normal approximation to a difference of sds is
    conservative. Rejections at 0.05 over 200 simulated data sets with no bias in either arm, the base with 36
    items of 12 sources: 0.01 with as many in the other arm; 0.02 with 6 items of 6 sources there (0.16, were
    each sd of all items of its arm). With one prior in both: 0.04 and 0.04.
    """
    entropy = int(rng.integers(2**62))
    return _side_by_side(
        judgements, "scheme", lambda levels: "base" if "base" in levels else None, entropy, inference
    )


def temperature_rows(
    judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference
) -> pd.DataFrame:
    """The size of the position prior over temperature, and over reasoning effort where there is one.

    Parameters
    ----------
    judgements : DataFrame
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        As `arm_rows`, with the lowest temperature, or the lowest effort, as the base: conditions "0.6",
        "0.6 - 0", "low", "high - low".
    """
    entropy = int(rng.integers(2**62))
    by_temperature = _side_by_side(judgements, "temperature", min, entropy, inference)
    with_effort = judgements[judgements["effort"] != ""]
    by_effort = _side_by_side(with_effort, "effort", _lowest_effort, entropy, inference)
    return pd.concat([by_temperature, by_effort], ignore_index=True)


Base = Callable[[list[Any]], Any]
"""Which of the levels is the one that the others are compared with; None where there is none."""


def _lowest_effort(levels: list[Any]) -> Any:
    return min(levels, key=EFFORTS.index)


def _side_by_side(
    judgements: pd.DataFrame, axis: str, base: Base, entropy: int, inference: Inference
) -> pd.DataFrame:
    by = [name for name in CELL if name != axis]
    found: list[tuple[dict[str, Any], Levels]] = []
    for names, cell in cells(balanced_scores(judgements, CELL), by):
        rows = {level[axis]: of_level for level, of_level in cells(cell, [axis])}
        if len(rows) > 1 and (lowest := base(list(rows))) is not None:
            found.append((names, _levels(rows, lowest, entropy, inference)))
    return pd.DataFrame(
        [
            names | {axis: level} | row
            for names, levels in found + _means(found, inference)
            for level, row in _compared(levels, base(list(levels.alone)), inference)
        ]
    )


def _levels(rows: dict[Any, pd.DataFrame], base: Any, entropy: int, inference: Inference) -> Levels:
    alone = {level: _spread(one, entropy, inference) for level, one in rows.items()}
    beside = {}
    for level in rows:
        if level != base:
            kept = _on_common_items(rows[level], rows[base])
            own, lowest = (
                alone[name] if len(few) == len(rows[name]) else _spread(few, entropy, inference)
                for name, few in zip((level, base), kept, strict=True)
            )
            beside[level] = own, lowest
    papers = {level: _paper(one, inference) for level, one in rows.items()}
    return Levels({level: replace(one, paper=papers[level]) for level, one in alone.items()}, beside)


def _on_common_items(one: pd.DataFrame, other: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of the items (and criteria) that have an answer in both."""
    names = [name for name in ("item", "criterion") if name in one]
    units = [pd.MultiIndex.from_frame(rows[names]) for rows in (one, other)]
    answered = [unit[rows["score"].notna()] for unit, rows in zip(units, (one, other), strict=True)]
    both = answered[0].unique().intersection(answered[1].unique())
    return one[units[0].isin(both)], other[units[1].isin(both)]


def _spread(rows: pd.DataFrame, entropy: int, inference: Inference) -> Spread:
    """nan without any row."""
    laid = grid(rows)
    fit = fit_pairs(laid)
    null = _with_itself(fit, laid, _shared_draws(rows, entropy), inference)
    # Clusters are coded in the order in which they appear.
    heads = rows.drop_duplicates("cluster")
    sources = pd.Index(heads["dataset"].astype(str) + "/" + heads["cluster"].astype(str))
    moves = pd.Series(cluster_sums(fit.sd_influence, laid.clusters)[:, 0], index=sources)
    value = fit.sd_alpha if len(rows) else np.nan
    row = sd_row(fit, inference) | _null_ends(null, inference) | sizes_of(laid)
    return Spread(value, moves, fit.wald()[1], null, row)


def _shared_draws(rows: pd.DataFrame, entropy: int) -> np.random.Generator:
    """The same for all judges and levels of a data set, so that a source's answers are dealt as one."""
    return named_generator(entropy, "null", *rows["dataset"].astype(str).unique())


def _with_itself(fit: PairsFit, laid: Grid, rng: np.random.Generator, inference: Inference) -> Array:
    """`one_step_sd` of the cell, then of its draws without bias; (1 + draws,). nan without any row."""
    if not len(laid.items):
        return np.full(2, np.nan)
    null = permutation_null(laid, rng, min(inference.permutations, NULL_DRAWS))
    return one_step_sd(fit, np.vstack([position_counts(laid), null]))


def _null_ends(null: Array, inference: Inference) -> dict[str, float]:
    low, high = null_range(null[1:], inference)
    return {"null_low": low, "null_high": high}


def _paper(rows: pd.DataFrame, inference: Inference) -> dict[str, Any]:
    laid = grid(rows)
    sizes = sizes_of(laid)
    return next(_shares_rows(fit_shares(laid), sizes["n_clusters"], inference)) | sizes


def _means(
    found: list[tuple[dict[str, Any], Levels]], inference: Inference
) -> list[tuple[dict[str, Any], Levels]]:
    """The mean over judges and data sets of each level and pair, for what else names a cell."""
    groups: dict[tuple[tuple[str, Any], ...], list[Levels]] = {}
    for names, levels in found:
        rest = tuple((name, value) for name, value in names.items() if name not in ("judge", "dataset"))
        groups.setdefault(rest, []).append(levels)
    everywhere = {"judge": ALL, "dataset": ALL}
    asked = {rest: _asked_under_all(group) for rest, group in groups.items() if len(group) > 1}
    return [
        (everywhere | dict(rest), _mean_levels(group, inference))
        for rest, group in asked.items()
        if any(levels.all_fitted() for levels in group)
    ]


def _asked_under_all(group: list[Levels]) -> list[Levels]:
    """The cells that have every level that any of them has."""
    every = {level for levels in group for level in levels.alone}
    return [levels for levels in group if levels.alone.keys() == every]


def _mean_levels(asked: list[Levels], inference: Inference) -> Levels:
    """Over the cells that have a fit under each level, alone and beside the base."""
    whole = [levels for levels in asked if levels.all_fitted()]
    over = len(whole), len(asked)
    alone = {level: _mean([one.alone[level] for one in whole], over, inference) for level in whole[0].alone}
    beside = {}
    for level in whole[0].beside:
        own, base = zip(*(one.beside[level] for one in whole), strict=True)
        beside[level] = _mean(own, over, inference), _mean(base, over, inference)
    return Levels(alone, beside)


def _mean(spreads: Sequence[Spread], over: tuple[int, int], inference: Inference) -> Spread:
    """The mean of several cells; their sources may be the same ones."""
    null = np.mean([one.null for one in spreads], axis=0)
    p = permutation_p(float(null[0]), null[1:])
    value = float(np.mean([one.value for one in spreads]))
    moves = pd.concat([one.moves for one in spreads]).groupby(level=0, sort=False).sum() / len(spreads)
    counts = {name: sum(one.row[name] for one in spreads) for name in ("n_items", "n_trials", "n_unparsed")}
    row = _down_to_0(_row("sd_alpha", value, _error(moves), len(moves), inference), p, inference)
    row |= _null_ends(null, inference) | counts | {"n_clusters": len(moves)}
    mean = Spread(value, moves, p, null, row, cells=over)
    return replace(mean, row=row | mean.over)


def _error(moves: pd.Series) -> float:
    """The standard error of a sum over sources; nan under two, and without a fit."""
    return float(np.sqrt((moves**2).sum(skipna=False) * ratio(len(moves), len(moves) - 1)))


def _compared(levels: Levels, base: Any, inference: Inference) -> Iterator[tuple[Any, dict[str, Any]]]:
    for level, spread in levels.alone.items():
        for row in filter(None, (spread.row, spread.paper)):
            yield level, {**row, "condition": _text(level)}
    for level, (spread, beside) in levels.beside.items():
        pair = f"{_text(level)} {{}} {_text(base)}"
        yield level, _difference(pair.format("-"), spread, beside, inference)
        yield level, _ratio(pair.format("/"), spread, beside, inference)


def _text(level: Any) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)


def _difference(condition: str, spread: Spread, base: Spread, inference: Inference) -> dict[str, Any]:
    """Of two spreads on the same items."""
    moves = spread.moves - base.moves
    value, error = spread.value - base.value, _error(moves)
    note = "" if np.isfinite(value) else NO_FIT
    row = _row("sd_alpha_difference", value, error, len(moves), inference, condition, note)
    reach = _critical(len(moves), inference) + stats.norm.ppf(POWER)
    found = {"p": _p(value, error, len(moves)), "mde": np.nan if note else reach * error}
    return row | spread.over | _sizes(spread, base, moves) | found


def _ratio(condition: str, spread: Spread, base: Spread, inference: Inference) -> dict[str, Any]:
    """Of two spreads on the same items, on the log scale, where its error is about the same on both sides."""
    sizes: dict[str, Any] = {"quantity": "sd_alpha_ratio", "condition": condition}
    moves = spread.moves / spread.value - base.moves / base.value
    sizes |= _sizes(spread, base, moves)
    if not np.isfinite(spread.value * base.value):
        return sizes | {"value": np.nan, "note": NO_FIT}
    if not base.p <= inference.alpha or base.value == 0:
        return sizes | {"value": np.nan, "note": NO_PRIOR}
    with np.errstate(divide="ignore"):
        value, error = float(np.log(spread.value / base.value)), _error(moves)
    ends = np.exp(value + np.array([-1, 1]) * _critical(len(moves), inference) * error)
    found = {"value": np.exp(value), "ci_low": ends[0], "ci_high": ends[1]}
    return sizes | found | {"p": _p(value, error, len(moves)), "note": ""} | spread.over


def _sizes(spread: Spread, base: Spread, moves: pd.Series) -> dict[str, int]:
    """Of the items that two cells have in common; their trials and unparsed ones are summed."""
    trials = {name: spread.row[name] + base.row[name] for name in ("n_trials", "n_unparsed")}
    return trials | {"n_items": spread.row["n_items"], "n_clusters": len(moves)}


def _p(value: float, error: float, n_clusters: int) -> float:
    """Two-sided, by Student's t on C - 1."""
    return float(2 * stats.t.sf(abs(value) / error, n_clusters - 1)) if error > 0 else np.nan
