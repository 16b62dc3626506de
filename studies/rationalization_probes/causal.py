"""The causal summary: what cues do to outcomes and rationales, as one family of tests."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shared.draws import draw
from shared.metrics.multiplicity import holm
from studies.rationalization_probes.metrics import FAMILY_KIND, FAMILY_PROBES
from studies.rationalization_probes.rows import COLUMNS

DRIFT = "drift_above_empty"
"""The rationale's effect: how much further a cue moves it than an empty cue line does."""

OUTCOMES = ("cue_effect", "tie_change", DRIFT)
"""Of one cue, the effects on what is picked, on ties, and on the rationale."""

GRAFTED = "pbp_grafted"

POOLED = "pooled"
"""The condition of the probes of the family taken together."""


def causal(effects: pd.DataFrame, drift_rows: pd.DataFrame) -> pd.DataFrame:
    """The three effects of every cue together, corrected as one family.

    Parameters
    ----------
    effects : DataFrame
        From `metrics.cue_effects`.
    drift_rows : DataFrame
        From `rationales.drift_above_floor`; only ``drift_above_empty`` over ``all`` pairs is used, since
        pairs of the same decision are selected by what the cue may have changed.

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, the rows of `OUTCOMES` one after another for each judge, scheme, kind and condition:
        each signed and paired, with ``p`` from sign flips of whole clusters and ``mde``, the smallest effect
        that this test would find with probability 0.8. ``p_holm`` is corrected over one declared family: all
        three outcomes of all judges and schemes of the call, on `metrics.FAMILY_KIND` under
        `metrics.FAMILY_PROBES`, the grafted arm of PBP apart; it is nan for every other row. The family of
        `metrics.cue_effects` is one outcome, and its ``p_holm`` therefore smaller.

    Notes
    -----
    The texts are held fixed and the cue is set by us, at random as to which candidate carries it: the paired
    differences are causal effects of the cue on this judge, at these items, without further assumptions.
    """
    moved = effects[effects["quantity"].isin(OUTCOMES)]
    drifted = drift_rows[(drift_rows["quantity"] == DRIFT) & (drift_rows["over"] == "all")]
    rows = _together(pd.concat([moved, drifted], ignore_index=True), ["judge", "scheme", "kind", "condition"])
    family = (rows["kind"] == FAMILY_KIND) & rows["condition"].isin(FAMILY_PROBES) & _is_scheme(rows)
    return rows.assign(p_holm=holm(rows["p"].astype(float).where(family)))


def pooled(judgements: pd.DataFrame) -> pd.DataFrame:
    """Truth, Flip and Placebo as one condition, `POOLED`, for `invariance`.

    Parameters
    ----------
    judgements : DataFrame

    Returns
    -------
    DataFrame
        Its rows of `metrics.FAMILY_KIND`, with the probe `POOLED` in place of those of
        `metrics.FAMILY_PROBES`, so that `metrics.cue_effects` and `rationales.drift_above_floor` estimate
        the mean effect over all three. All cues of a document stay in one cluster.
    """
    rows = _of_family(judgements)
    return rows.assign(probe=rows["probe"].replace(dict.fromkeys(FAMILY_PROBES, POOLED)))


def resting(judgements: pd.DataFrame) -> pd.DataFrame:
    """What comes without any cue, in the place of the pooled cues: the noise floor of `invariance`.

    Parameters
    ----------
    judgements : DataFrame

    Returns
    -------
    DataFrame
        Blind's rows and, under `POOLED`, the one judgement under ``empty`` of each pair, its carrier drawn
        once per item. `metrics.cue_effects` of it is the outcome's floor.

    Notes
    -----
    An item has one answer under ``empty``, and it stands here once. Were it to stand in for each cue in turn,
    its copies would cancel: a forced choice that is taken from one carrier is given to the other, so that
    those of Truth and Flip add up to nothing, and the floor would be three times too narrow.
    """
    rows = _of_family(judgements)
    uncued = rows[rows["probe"].isin(["blind", "empty"])]
    carriers = {item: draw([1, 2], item, "resting carrier") for item in uncued["item"].unique()}
    standing = uncued["item"].map(carriers).where(uncued["probe"] == "empty", uncued["carrier"])
    return uncued.assign(carrier=standing, probe=uncued["probe"].replace("empty", POOLED))


def resampled(judgements: pd.DataFrame) -> pd.DataFrame:
    """Blind's second answer in the place of a cue: `drift_above_floor` of it is the rationale's floor."""
    rows = _of_family(judgements)
    return rows[rows["probe"].isin(["blind", "empty", "resample"])].replace({"probe": {"resample": POOLED}})


def with_floors(found: pd.DataFrame, outcome: pd.DataFrame, rationale: pd.DataFrame) -> pd.DataFrame:
    """Rows of `invariance` with ``floor_value``, ``floor_low`` and ``floor_high``; nan where none was asked.

    Parameters
    ----------
    found : DataFrame
        From `invariance`.
    outcome, rationale : DataFrame
        `metrics.cue_effects` of `resting`, and `rationales.drift_above_floor` of `resampled`.
    """
    names = {"value": "floor_value", "ci_low": "floor_low", "ci_high": "floor_high"}
    floors = [
        _pooled_rows(outcome, "cue_effect").assign(quantity="outcome_shift"),
        _pooled_rows(rationale[rationale["over"] == "all"], DRIFT).assign(quantity="rationale_shift"),
    ]
    floor = pd.concat(floors)[["judge", "scheme", "quantity", *names]].rename(columns=names)
    return found.merge(floor, how="left", on=["judge", "scheme", "quantity"], validate="m:1")


def invariance(
    effects: pd.DataFrame, drift_rows: pd.DataFrame, competence_rows: pd.DataFrame
) -> pd.DataFrame:
    """How cue-invariant each judge is in outcome and in rationale, and whether it sees real errors.

    Parameters
    ----------
    effects : DataFrame
        `metrics.cue_effects` of judgements that are `pooled`.
    drift_rows : DataFrame
        `rationales.drift_above_floor` of the same.
    competence_rows : DataFrame
        The gate's checks, one a row; ``prefers_undamaged`` is used.

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, three rows for each judge and scheme of ``effects``: ``outcome_shift`` (x; the
        pooled ``cue_effect``), ``rationale_shift`` (y; the pooled ``drift_above_empty`` over all pairs) and
        ``sensitivity`` (the mark's size; P(picks the undamaged) - P(picks the damaged) without cues). Each
        in [-1, 1], with its interval; the first two are 0 for an invariant judge. nan, and n = 0, for what
        was not asked. Which judges pass the gate is told by the gate's own verdict.

    Raises
    ------
    ValueError
        If ``prefers_undamaged`` is there twice for one judge and scheme.

    Notes
    -----
    Both shifts are signed means and not means of sizes: 1 - mean |effect| is kept below 1 by noise alone,
    and the more so the fewer the items are. The price is that opposite effects cancel: a judge that follows
    labels and shuns the badge can come out near 0. `causal` has them apart.
    """
    parts = {
        "outcome_shift": _pooled_rows(effects, "cue_effect"),
        "rationale_shift": _pooled_rows(drift_rows[drift_rows["over"] == "all"], DRIFT),
        "sensitivity": competence_rows[competence_rows["quantity"] == "prefers_undamaged"],
    }
    judged = parts["outcome_shift"][["judge", "scheme"]]
    found = [_of_each(judged, part).assign(quantity=quantity) for quantity, part in parts.items()]
    return _together(pd.concat(found, ignore_index=True), ["judge", "scheme"])


def _of_family(judgements: pd.DataFrame) -> pd.DataFrame:
    """The pairs and schemes that the family is about, under every probe."""
    return judgements[(judgements["kind"] == FAMILY_KIND) & _is_scheme(judgements)]


def _is_scheme(rows: pd.DataFrame) -> pd.Series:
    """Not the grafted arm, which takes PBP apart and has a table of its own."""
    return rows["scheme"] != GRAFTED


def _pooled_rows(rows: pd.DataFrame, quantity: str) -> pd.DataFrame:
    return rows[(rows["quantity"] == quantity) & (rows["condition"] == POOLED)]


def _of_each(judged: pd.DataFrame, part: pd.DataFrame) -> pd.DataFrame:
    """The row of each judge and scheme; an empty one where there is none."""
    rows = judged.merge(part, how="left", on=["judge", "scheme"], validate="1:1")
    rows = rows.reindex(columns=list(COLUMNS))
    counts = [name for name in COLUMNS if name.startswith("n_")]
    return rows.assign(**{name: rows[name].astype(float).fillna(0) for name in counts})


def _together(rows: pd.DataFrame, cell: list[str]) -> pd.DataFrame:
    """The rows of each cell one after another, cells in order of first appearance."""
    order = rows.groupby(cell, sort=False, dropna=False).ngroup()
    return rows.iloc[np.argsort(order.to_numpy(), kind="stable")].reset_index(drop=True)
