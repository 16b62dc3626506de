"""Tables of outcomes: what was picked under each probe, and how that moved from Blind (Tables 2-10)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from studies.rationalization_probes import metrics
from studies.rationalization_probes.results import Study

CODINGS: dict[str, tuple[metrics.Coding, ...]] = {
    "truth": ("carrier",),
    "flip": ("carrier", "always_12"),
    "placebo": ("carrier", "always_12"),
}
"""Which side counts as favoured. The carrier's is section 4.3's too; a caption has [1,2] under Flip as well,
and the paper's badge was always on candidate 1."""


NO_ATTACK = ("blind", "empty", "resample", "truth", "flip", "placebo", "relabel_llm", "relabel_tradml")
"""The probes that leave both texts as they are."""


def outcome_rows(study: Study, kind: str, *probes: str) -> pd.DataFrame:
    """Shares of Tie, [1,2] and [2,1] and their balance, by extractive system where there is one."""
    by = ("judge", "scheme", "kind", "probe", "system", "writer")
    return metrics.outcomes(study.of([kind], *probes), study.rng("outcomes", kind), study.inference, by)


def probe_rows(study: Study, probe: str, kind: str = "equal") -> pd.DataFrame:
    """Outcomes under a cue, then how they moved from Blind, in each coding, with the noise floor beside."""
    floor = shift_rows(study, "empty", "carrier", [kind])
    moved = pd.concat(
        [shift_rows(study, probe, coding, [kind]) for coding in CODINGS.get(probe, ("carrier",))]
    )
    return pd.concat([outcome_rows(study, kind, probe), with_floor(moved, floor)], ignore_index=True)


def shift_rows(study: Study, probe: str, coding: metrics.Coding, kinds: Sequence[str]) -> pd.DataFrame:
    """Shifts from Blind to one probe, in one coding."""
    pairs = study.of(kinds, "blind", probe)
    return metrics.susceptibility(pairs, study.rng("susceptibility"), study.inference, coding)


def with_floor(moved: pd.DataFrame, floor: pd.DataFrame) -> pd.DataFrame:
    """Add what an empty cue line moves: the same quantity of the same judge, scheme and kind.

    Parameters
    ----------
    moved, floor : DataFrame
        From `shift_rows`: of a probe, and of the probe ``empty``.

    Returns
    -------
    DataFrame
        ``moved`` with ``floor_value``, ``floor_low`` and ``floor_high``; nan where ``empty`` was not run.
    """
    cell = ["judge", "scheme", "kind", "quantity"]
    names = {"value": "floor_value", "ci_low": "floor_low", "ci_high": "floor_high"}
    return moved.merge(floor[[*cell, *names]].rename(columns=names), how="left", on=cell, validate="m:1")


def relabel_rows(study: Study) -> pd.DataFrame:
    """One candidate relabelled while its opponent stays: outcomes, and how they moved, over all kinds."""
    probes = ("relabel_llm", "relabel_tradml")
    kinds = list(study.judgements.loc[study.judgements["probe"].isin(probes), "kind"].unique())
    effects = metrics.cue_effects(study.of(kinds, "blind", *probes), study.rng("relabel"), study.inference)
    outcomes = [outcome_rows(study, kind, "blind", *probes) for kind in kinds]
    return pd.concat([*outcomes, effects], ignore_index=True)


def cross_task_rows(study: Study) -> pd.DataFrame:
    """Pairs of answers to a question: outcomes under each probe, and how a cue moved them."""
    judged = study.of(["qa_equal"])
    effects = metrics.cue_effects(judged, study.rng("cross_task"), study.inference)
    return pd.concat([outcome_rows(study, "qa_equal"), effects], ignore_index=True)
