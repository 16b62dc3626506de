"""The study's tables (stage ``tables``): estimates beside what the paper printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from shared.embedding import read_vectors
from shared.errors import run_stage
from shared.frames import read, read_judges
from shared.metrics.resampling import Inference
from shared.params import load
from shared.reporting import tables
from studies.rationalization_probes import (
    causal,
    cost,
    grafting,
    metrics,
    pages,
    price,
    rationales,
    rhetoric,
    survival,
)
from studies.rationalization_probes.attacks import REWRITTEN
from studies.rationalization_probes.design import ITEMS, TRIALS
from studies.rationalization_probes.embedding import EMBEDDINGS
from studies.rationalization_probes.instrument_tables import (
    answer_rows,
    competence_rows,
    criteria_rows,
    protocol_rows,
    span_rows,
)
from studies.rationalization_probes.judge import RESPONSES
from studies.rationalization_probes.outcome_tables import (
    NO_ATTACK,
    cross_task_rows,
    outcome_rows,
    probe_rows,
    relabel_rows,
)
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.rationale_tables import (
    alignment_rows,
    attack_rows,
    consistency_rows,
    drift_rows,
)
from studies.rationalization_probes.results import Study, finisher, gate_checks, one_frame, read_judgements

EXAMPLES = Path("data/embedded/rationalization_probes/rhetoric_examples")
FOLDER = Path("paper_tables/rationalization_probes")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the tables need besides the judgements."""

    params: Section
    attacks: pd.DataFrame
    trials: pd.DataFrame
    responses: pd.DataFrame
    examples: pd.DataFrame


def all_tables(study: Study, inputs: Inputs) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every table by name, with all of `results.COLUMNS`."""
    gates = gate_checks(study)
    finish = finisher(study, gates)
    gate = finish(one_frame(competence_rows(study, gates)))
    drift = drift_rows(study, inputs.params)
    alignment = alignment_rows(study, inputs.params)
    yield "table_01_criteria", finish(one_frame(criteria_rows(study, inputs.params)))
    yield "table_02_blind", finish(outcome_rows(study, "equal", "blind"))
    yield "table_03_truth", finish(probe_rows(study, "truth"))
    yield "table_04_flip", finish(probe_rows(study, "flip"))
    yield "table_05_placebo", finish(probe_rows(study, "placebo"))
    yield "table_06_samples_truth", finish(probe_rows(study, "truth", "samples"))
    yield "table_07_samples_flip", finish(probe_rows(study, "flip", "samples"))
    yield "table_08_samples_placebo", finish(probe_rows(study, "placebo", "samples"))
    yield "table_09_extractive", finish(outcome_rows(study, "extractive", "blind", "truth", "flip"))
    yield "table_10_identical", finish(outcome_rows(study, "identical", *NO_ATTACK))
    yield "relabel", finish(relabel_rows(study))
    yield "revision", finish(metrics.revisions(study.judgements, study.rng("revision"), study.inference))
    yield "rationale_drift", finish(drift)
    yield "rationale_alignment", finish(alignment)
    yield "attack_verbosity", finish(attack_rows(study, "verbosity", drift, alignment))
    yield "attack_confidence", finish(attack_rows(study, "confidence", drift, alignment))
    yield "attacks", finish(survival.survival_rows(inputs.attacks, study.rng("attacks"), study.inference))
    yield "consistency", finish(consistency_rows(study, inputs.params.labels))
    yield "scorers", finish(scorer_rows(study, inputs))
    yield "cue_effects", finish(causal.causal(effect_rows(study), drift))
    yield "invariance", finish(invariance_rows(study, gate))
    yield "price", finish(price.price(study.judgements, study.rng("price"), study.inference))
    yield "grafting", finish(grafting.grafting(study.judgements, study.rng("grafting"), study.inference))
    answers = one_frame(competence_rows(study, gates, "answer"))
    yield "cross_task", finish(pd.concat([cross_task_rows(study), answers], ignore_index=True))
    yield "cost", finish(cost.costs(inputs.responses, study.judgements, study.rng("cost"), study.inference))
    yield "competence", gate
    turns = pd.DataFrame(protocol_rows(inputs.params, inputs.responses, inputs.trials))
    yield "protocols", finish(turns, "step", "position", "sees", "makes")
    yield "spans", finish(one_frame(span_rows(study)))
    yield "answers", finish(one_frame(answer_rows(study)))


def write_all(study: Study, inputs: Inputs, folder: Path = FOLDER) -> Iterable[str]:
    """Write every table with its page, and tell of each that has no rows."""
    for name, rows in all_tables(study, inputs):
        page = pages.page(name, rows, study.profile, study.inference.confidence)
        tables.write(folder / f"{name}.csv", rows, page)
        if rows.empty:
            yield f"{name}: no rows; {pages.ABSENT[name]}"


def effect_rows(study: Study) -> pd.DataFrame:
    """The signed cue effect and the change of ties, over all kinds of pairs that were shown with a cue."""
    return metrics.cue_effects(study.judgements, study.effects_rng(), study.inference)


def invariance_rows(study: Study, gate: pd.DataFrame) -> pd.DataFrame:
    """Outcome and rationale shift pooled over the cues, beside the sensitivity to real errors."""
    pooled = causal.pooled(study.judgements)
    effects = metrics.cue_effects(pooled, study.rng("invariance"), study.inference)
    above = rationales.drift_above_floor(pooled, study.vectors, study.rng("invariance"), study.inference)
    found = causal.invariance(effects, above, gate)
    without = metrics.cue_effects(causal.resting(study.judgements), study.rng("resting"), study.inference)
    again = rationales.drift_above_floor(
        causal.resampled(study.judgements), study.vectors, study.rng("again"), study.inference
    )
    return causal.with_floors(found, without, again)


def scorer_rows(study: Study, inputs: Inputs) -> pd.DataFrame:
    """How well the scorers behind the table `consistency` read labelled examples."""
    return rhetoric.precision_recall(inputs.examples, inputs.params.labels, study.inference)


def main() -> None:
    common, params = load("rationalization_probes", Section)
    judged = read_judgements(params.judges, read(ITEMS, "data"))
    inference = Inference(**common.statistics.model_dump())
    study = Study(judged, inference, common.seed, common.profile, read_vectors(EMBEDDINGS))
    trials, responses = read(TRIALS, "design"), read_judges(RESPONSES, params.judges, "judge")
    inputs = Inputs(params, read(REWRITTEN, "attacks"), trials, responses, rhetoric.load_examples(EXAMPLES))
    for line in write_all(study, inputs):
        print(line)
    print(f"{FOLDER}: tables of {', '.join(params.judges)}, profile {common.profile}")


if __name__ == "__main__":
    run_stage(main)
