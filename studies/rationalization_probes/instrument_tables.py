"""Tables about the instrument: the gate, the answers, the quoted spans, criteria, and which turns ran."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from shared.frames import cells, rows_of
from shared.metrics.competence import Check, basis, of_both_kinds
from shared.metrics.resampling import rate_interval
from shared.reporting.answers import status_rows
from studies.rationalization_probes.params import GREATEST_SCORE, LEAST_SCORE, Section
from studies.rationalization_probes.protocols import weights_of
from studies.rationalization_probes.results import GATE_KINDS, Gates, Study, gate_rows
from studies.rationalization_probes.rows import graded_estimate, row
from studies.rationalization_probes.tracing import turns

WITHOUT_SCORES = ("baseline", "forced")
"""The schemes that ask for a verdict alone."""

QUESTIONS = {
    "prefers_undamaged": ("damage",),
    "ties_less": ("damage", "equal"),
    "not_constant": ("damage", "equal"),
}


def competence_rows(study: Study, gates: Gates, task: str = "summary") -> Iterator[dict[str, object]]:
    """The gate's questions about one task, one a row; ties are not asked of a forced choice."""
    for judge, scheme in [(judge, scheme) for judge, scheme, of in gates if of == task]:
        gate = gates[judge, scheme, task]
        cell = gate_rows(study, judge, scheme, task)
        rests_on = basis(cell)
        names = {"judge": judge, "scheme": scheme, "condition": "blind", "stage": "first"}
        for quantity, kinds in QUESTIONS.items():
            check: Check | None = getattr(gate, quantity)
            if check is not None:
                asked = cell[cell["kind"].isin(kinds)]
                asked = of_both_kinds(asked) if quantity == "ties_less" else asked
                levels = sorted(set(asked.loc[asked["kind"] == "damage", "level"]))
                answer: dict[str, object] = {"p": check.p, "verdict": check.verdict}
                answer["wording"] = f"damaged by {', '.join(map(str, levels))} errors"
                if task != "summary":
                    answer["kind"] = GATE_KINDS[task][0]
                yield row(quantity, names, rests_on[quantity], asked, check.estimate) | answer


def span_rows(study: Study) -> Iterator[dict[str, object]]:
    """The share of the spans quoted by PBP's notes that stand in the source, word for word."""
    first = study.judgements[study.judgements["stage"] == "first"]
    with_notes = first[first["scheme"].str.startswith("pbp")]
    for names, cell in cells(with_notes, ("judge", "scheme", "kind", "probe")):
        spans = cell["spans_quoted"].astype(float)
        used = cell[spans > 0]  # notes that quote nothing were read all the same
        hits, trials = (used[column].astype(float) for column in ("spans_found", "spans_quoted"))
        rng = study.rng("spans", *names.values())
        estimate = rate_interval(hits, used["cluster"], rng, study.inference, trials)
        counted = {"count": hits.sum() if len(used) else np.nan, "n_unparsed": spans.isna().sum()}
        yield row("spans_found_rate", names, used, cell, estimate) | counted


def answer_rows(study: Study) -> Iterator[dict[str, object]]:
    """How many answers had each status, over all kinds of pairs; ``free`` is the same in free text."""
    judged = study.judgements.rename(columns={"probe": "condition"})
    for names, cell in cells(judged, ("judge", "scheme", "condition", "stage")):
        yield from status_rows(study, names, cell)


def criteria_rows(study: Study, params: Section) -> Iterator[dict[str, object]]:
    """The mean score that each criterion got under Blind, on equal pairs (Table 1 defines the criteria).

    A scheme whose answers were all lost has rows without a value.
    """
    first = study.judgements[study.judgements["stage"] == "first"]
    blind = first[(first["probe"] == "blind") & (first["kind"] == "equal")]
    scored = blind[~blind["scheme"].isin(WITHOUT_SCORES)]
    for names, cell in cells(scored, ("judge", "scheme", "kind", "probe")):
        read = cell[cell["scores"].notna()]
        means = [_mean_scores(judgement) for judgement in rows_of(read)]
        for criterion in weights_of(names["scheme"], params):
            values = np.array([mean[criterion] for mean in means], dtype=float)
            rng = study.rng("criteria", *names.values(), criterion)
            found = graded_estimate(values, read, rng, study.inference, (LEAST_SCORE, GREATEST_SCORE))
            yield row(f"score_{criterion}", names, read, cell, found)


def _mean_scores(judgement: dict[str, object]) -> dict[str, float]:
    """Each criterion's mean over the two candidates."""
    scores: dict[str, dict[str, int]] = json.loads(str(judgement["scores"]))
    first, second = scores.values()
    return {criterion: (first[criterion] + second[criterion]) / 2 for criterion in first}


def protocol_rows(
    params: Section, responses: pd.DataFrame, trials: pd.DataFrame
) -> Iterator[dict[str, object]]:
    """The turns of every scheme that ran, what each sees and makes, and how many calls it took (Figure 1)."""
    answered = responses[responses["error"].isna()].merge(trials, on="trial", validate="m:1")
    for names, cell in cells(answered, ("judge", "scheme")):
        for position, turn in enumerate(turns(params, names["scheme"]), start=1):
            made = cell[cell["step"] == turn.step]
            calls = made["key"].nunique()
            if calls == 0:
                continue  # a turn that the protocol has, and that params did not ask for
            yield {
                "quantity": "calls",
                **names,
                "value": float(calls),
                "count": calls,
                "step": turn.step,
                "position": position,
                "sees": ", ".join(turn.sees),
                "makes": ", ".join(turn.makes),
                "n_items": made["item"].nunique(),
                "n_clusters": made["cluster"].nunique(),
                "n_trials": made["trial"].nunique(),
                "n_unparsed": 0,
            }
