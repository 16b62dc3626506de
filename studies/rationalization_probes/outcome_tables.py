"""Tables of outcomes: what was picked under each probe, and how that moved from Blind (Tables 2-10)."""

from __future__ import annotations

import pandas as pd

from studies.rationalization_probes import metrics
from studies.rationalization_probes.pairing import KEY, as_floor
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
    moved = []
    for coding in CODINGS.get(probe, ("carrier",)):
        shifts = shift_rows(study, study.of([kind], "blind", probe), coding)
        resting = shift_rows(study, as_floor(study.of([kind], "blind", "empty", probe), probe), coding)
        moved.append(with_floor(shifts, resting))
    return pd.concat([outcome_rows(study, kind, probe), *moved], ignore_index=True)


def shift_rows(study: Study, pairs: pd.DataFrame, coding: metrics.Coding) -> pd.DataFrame:
    """Shifts from Blind, in one coding."""
    return metrics.susceptibility(pairs, study.effects_rng(), study.inference, coding)


def with_floor(moved: pd.DataFrame, floor: pd.DataFrame) -> pd.DataFrame:
    """Add what an empty cue line moves: the same quantity of the same judge, scheme and kind.

    Parameters
    ----------
    moved, floor : DataFrame
        From `shift_rows`: of a probe, and of the probe ``empty`` on its pairs and carriers (`as_floor`).

    Returns
    -------
    DataFrame
        ``moved`` with ``floor_value``, ``floor_low`` and ``floor_high``; nan where ``empty`` was not run.
    """
    cell = ["judge", "scheme", "kind", "quantity"]
    names = {"value": "floor_value", "ci_low": "floor_low", "ci_high": "floor_high"}
    return moved.merge(floor[[*cell, *names]].rename(columns=names), how="left", on=cell, validate="m:1")


CONTRAST = "relabel_contrast"
"""One label against the other, on the same text, pair by pair."""


def relabel_rows(study: Study) -> pd.DataFrame:
    """One candidate relabelled while its opponent stays: one label against the other, each against Blind."""
    probes = ("relabel_llm", "relabel_tradml")
    kinds = list(study.judgements.loc[study.judgements["probe"].isin(probes), "kind"].unique())
    contrast = metrics.cue_effects(
        _llm_against_tradml(study.of(kinds, *probes)), study.effects_rng(), study.inference
    )
    against_blind = study.of(kinds, "blind", "empty", *probes)
    effects = metrics.cue_effects(against_blind, study.effects_rng(), study.inference)
    outcomes = [outcome_rows(study, kind, "blind", "empty", *probes) for kind in kinds]
    return pd.concat([*outcomes, contrast, effects], ignore_index=True)


def _llm_against_tradml(relabelled: pd.DataFrame) -> pd.DataFrame:
    """The text under its LLM label beside the same under the other, which takes Blind's place."""
    names = {"relabel_tradml": "blind", "relabel_llm": CONTRAST}
    both = relabelled.assign(probe=relabelled["probe"].map(names))
    asked = both.groupby(KEY)["probe"].transform("nunique")
    return both[asked == 2]


def cross_task_rows(study: Study) -> pd.DataFrame:
    """Pairs of answers to a question: outcomes under each probe, and how a cue moved them."""
    judged = study.of(["qa_equal"])
    effects = metrics.cue_effects(judged, study.effects_rng(), study.inference)
    return pd.concat([outcome_rows(study, "qa_equal"), effects], ignore_index=True)
