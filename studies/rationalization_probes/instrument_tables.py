"""Tables about the instrument: the gate, the answers, the quoted spans, criteria, and which turns ran."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd

from shared.frames import cells, rows_of
from shared.judge.records import STATUSES
from shared.metrics.competence import Check
from shared.metrics.resampling import bootstrap, cluster_sums, rate_interval, share
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.results import GATE_KINDS, Gates, Study, gate_rows
from studies.rationalization_probes.rows import row
from studies.rationalization_probes.tracing import turns

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
        names = {"judge": judge, "scheme": scheme, "condition": "blind", "stage": "first"}
        for quantity, kinds in QUESTIONS.items():
            check: Check | None = getattr(gate, quantity)
            if check is not None:
                asked = cell[cell["kind"].isin(kinds)]
                levels = sorted(set(asked.loc[asked["kind"] == "damage", "level"]))
                answer: dict[str, object] = {"p": check.p, "verdict": check.verdict}
                answer["wording"] = f"damaged by {', '.join(map(str, levels))} errors"
                if task != "summary":
                    answer["kind"] = GATE_KINDS[task][0]
                read = asked[asked["status"] == "ok"]
                yield row(quantity, names, read, asked, check.estimate) | answer


def span_rows(study: Study) -> Iterator[dict[str, object]]:
    """The share of the spans quoted by PBP's notes that stand in the source, word for word."""
    first = study.judgements[study.judgements["stage"] == "first"]
    with_notes = first[first["scheme"].str.startswith("pbp")]
    for names, cell in cells(with_notes, ("judge", "scheme", "kind", "probe")):
        quoted = cell["spans_quoted"].astype(float)
        read = cell[quoted.notna()]
        hits, trials = (read[column].astype(float) for column in ("spans_found", "spans_quoted"))
        rng = study.rng("spans", *names.values())
        estimate = rate_interval(hits, read["cluster"], rng, study.inference, trials)
        found = {"count": hits.sum() if len(read) else np.nan}
        yield row("spans_found_rate", names, read, cell, estimate) | found


def answer_rows(study: Study) -> Iterator[dict[str, object]]:
    """How many answers had each status, over all kinds of pairs; ``free`` is the same in free text."""
    for names, cell in cells(study.judgements, ("judge", "scheme", "probe", "stage")):
        for status in STATUSES:
            hits = cell["status"] == status
            estimate = rate_interval(
                hits, cell["cluster"], study.rng("answers", *names.values(), status), study.inference
            )
            counted = {"count": hits.sum(), "n_unparsed": (cell["status"] != "ok").sum()}
            yield row(f"{status}_rate", names, cell, cell, estimate) | counted


def criteria_rows(study: Study) -> Iterator[dict[str, object]]:
    """The mean score that each criterion got under Blind, on equal pairs (Table 1 defines the criteria)."""
    first = study.judgements[study.judgements["stage"] == "first"]
    blind = first[(first["probe"] == "blind") & (first["kind"] == "equal")]
    for names, cell in cells(blind, ("judge", "scheme", "kind", "probe")):
        read = cell[cell["scores"].notna()]
        by_criterion = pd.DataFrame([_mean_scores(scored) for scored in rows_of(read)], index=read.index)
        for criterion in by_criterion:
            values = by_criterion[criterion].to_numpy()
            sums = cluster_sums(np.column_stack([np.ones(len(values)), values]), read["cluster"])
            rng = study.rng("criteria", *names.values(), str(criterion))
            estimate = bootstrap(share, sums, rng, study.inference, bounds=(1.0, 5.0))
            yield row(f"score_{criterion}", names, read, cell, estimate)


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
