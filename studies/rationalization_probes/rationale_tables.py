"""Tables about rationales and attacks: drift, alignment, what they state, and Figures 5-7."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from studies.rationalization_probes import rationales, rhetoric
from studies.rationalization_probes.outcome_tables import probe_rows
from studies.rationalization_probes.params import Attack, Section
from studies.rationalization_probes.results import Study

WITH_TEXTS = ("equal", "identical", "samples", "extractive", "qa_equal")
"""The kinds whose rationales are compared; damaged pairs are the gate's and the price's."""


def _with_rationales(study: Study) -> pd.DataFrame:
    """What has rationales at all: the pointwise scheme asks for none."""
    judged = study.of(WITH_TEXTS)
    return judged[judged["scheme"] != "pointwise"]


def drift_rows(study: Study, params: Section) -> pd.DataFrame:
    """How far rationales move from Blind's, and how much further than the noise floors."""
    judged = _with_rationales(study)
    thresholds = params.rationales.thresholds
    moved = rationales.drift(judged, study.vectors, thresholds, study.rng("drift"), study.inference)
    above = rationales.drift_above_floor(judged, study.vectors, study.rng("above"), study.inference)
    return pd.concat([moved, above], ignore_index=True)


def alignment_rows(study: Study, params: Section) -> pd.DataFrame:
    """Whose label, or which attack, rationales sound like."""
    descriptors = rationales.descriptor_pairs(params.rationales)
    judged = _with_rationales(study)
    return rationales.alignment(judged, study.vectors, descriptors, study.rng("alignment"), study.inference)


def attack_rows(study: Study, attack: Attack, drift: pd.DataFrame, alignment: pd.DataFrame) -> pd.DataFrame:
    """One attack (Figures 6 and 7): outcomes and shifts by kind, drift, and cue-aligned rationales."""
    attacked = study.judgements.loc[study.judgements["probe"] == attack, "kind"].unique()
    outcomes = [probe_rows(study, attack, kind) for kind in attacked]
    told = [rows[rows["condition"] == attack] for rows in (drift, alignment)]
    return pd.concat([*outcomes, *told], ignore_index=True)


def consistency_rows(study: Study, labels: Mapping[str, str]) -> pd.DataFrame:
    """Whether rationales state what was decided, and whether they argue from the label."""
    judged = _with_rationales(study)
    agreed = rhetoric.consistency(judged, study.rng("consistency"), study.inference)
    argued = rhetoric.intrusion(judged, labels, study.rng("intrusion"), study.inference)
    return pd.concat([agreed, argued], ignore_index=True)
