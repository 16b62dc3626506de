"""From raw responses to judgements (stage ``judgements``): one row a trial and stage, none dropped.

Parsing never costs a call: a better parser reads the stored responses again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from shared.errors import run_stage
from shared.frames import read, rows_of
from shared.judge.parsing import (
    PARSER_VERSION,
    Parsed,
    found_spans,
    parse_notes,
    parse_rationale,
    parse_scores,
    parse_verdict,
    status_before_reading,
)
from shared.judge.records import Status
from shared.judge.slug import slug_argument
from shared.params import load
from studies.rationalization_probes.attacks import REWRITTEN
from studies.rationalization_probes.design import ITEMS, TRIALS
from studies.rationalization_probes.judge import RESPONSES
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.protocols import result_of, weighted_totals, weights_of
from studies.rationalization_probes.tasks import SUMMARIES, Task, task_of

JUDGEMENTS = Path("data/rationalization_probes/judgements")

STAGES = {"first": ("score", "judge", "score_1"), "reveal": ("reveal",), "control": ("control",)}
"""Which step of the protocol holds each stage's decision."""

Steps = dict[str, dict[str, Any]]


def judgements(
    trials: pd.DataFrame,
    responses: pd.DataFrame,
    texts: pd.DataFrame,
    attacks: pd.DataFrame,
    params: Section,
) -> pd.DataFrame:
    """Read all responses.

    Parameters
    ----------
    trials, responses : DataFrame
        As the stages ``design`` and ``judge`` write them.
    texts : DataFrame
        The items by their id, against whose texts quoted spans are checked.
    attacks : DataFrame
        As the stage ``attacks`` writes them: what was shown in the place of a candidate's text.
    params : Section

    Returns
    -------
    DataFrame
        The trials' columns, then stage, status, verdict ("1", "2", "tie" by identity; None unless ok),
        score_1, score_2 (weighted totals by identity), scores (JSON: identity, criterion, score), rationale,
        spans_found, spans_quoted, fingerprint, parser. A trial with reveal has three rows: first, reveal,
        control.
    """
    by_trial: dict[str, Steps] = {}
    for row in rows_of(responses):
        by_trial.setdefault(row["trial"], {})[row["step"]] = row
    rewritten = {(row["item"], row["probe"]): row for row in rows_of(attacks)}
    rows = [
        {**trial, **judgement}
        for trial in rows_of(trials)
        for source in [quotable(texts, rewritten.get((trial["item"], trial["probe"])), trial)]
        for judgement in _of_trial(trial, by_trial.get(trial["trial"], {}), source, params)
    ]
    return pd.DataFrame(rows)


def _of_trial(trial: dict[str, Any], steps: Steps, source: str, params: Section) -> Iterator[dict[str, Any]]:
    spans_found, spans_quoted = _spans(trial, steps, source, params)
    fingerprint = next((row["fingerprint"] for row in steps.values()), None)
    for stage in STAGES if trial["reveal"] else ["first"]:
        yield {
            "stage": stage,
            **_decision(trial, steps, stage, params),
            "spans_found": spans_found,
            "spans_quoted": spans_quoted,
            "fingerprint": fingerprint,
            "parser": PARSER_VERSION,
        }


def quotable(texts: pd.DataFrame, attack: dict[str, Any] | None, trial: dict[str, Any]) -> str:
    """What PBP's notes may quote: the document, or of a question the answers to it, as they were shown."""
    item = texts.loc[trial["item"]]
    if task_of(trial["kind"]) is SUMMARIES:
        return str(item["source"])
    shown = {identity: item[f"candidate_{identity}"] for identity in (1, 2)}
    if attack is not None:
        shown[int(attack["carrier"])] = attack["text"]
    return f"{shown[1]}\n\n{shown[2]}"


def _decision(trial: dict[str, Any], steps: Steps, stage: str, params: Section) -> dict[str, Any]:
    """Status, verdict, scores and rationale of one stage; a turn that is lacking is explained."""
    answer = next((steps[step] for step in STAGES[stage] if step in steps), None)
    if answer is None:
        return _nothing(_why_lacking(steps))
    task = task_of(trial["kind"])
    if "notes" in steps and (status := _read_notes(trial, steps["notes"], params).status) != "ok":
        return _nothing(status)  # no evidence was locked, so that no score rests on any
    if trial["scheme"] in ("baseline", "forced"):
        parsed = _read_verdict(answer, trial["scheme"], task)
        if parsed.status != "ok":
            return _nothing(parsed.status)
        return _something(trial, str(parsed.verdict), parsed.fields.get("rationale"))
    weights = weights_of(trial["scheme"], params)
    parsed = _read_scores(trial, steps, answer, list(weights))
    if parsed.status != "ok":
        return _nothing(parsed.status)
    scores = parsed.fields["scores"]
    totals = weighted_totals(scores, weights, task.shown)
    rationale = parsed.fields.get("rationale") or (_narrative(steps) if stage == "first" else None)
    verdict = result_of(totals, params.tie_margin, task.shown)
    return _something(trial, verdict, rationale, totals, [scores[name] for name in task.shown])


def _read_verdict(answer: dict[str, Any], scheme: str, task: Task) -> Parsed:
    allowed = task.shown if scheme == "forced" else (*task.shown, "tie")
    return parse_verdict(answer["text"], answer["finish_reason"], allowed)


def _read_scores(trial: dict[str, Any], steps: Steps, answer: dict[str, Any], criteria: list[str]) -> Parsed:
    """Both candidates' scores, from one answer or, pointwise, from two."""
    task = task_of(trial["kind"])
    if trial["scheme"] != "pointwise":
        return parse_scores(answer["text"], answer["finish_reason"], task.shown, criteria, 1, 5)
    scores: dict[str, Any] = {}
    for place, name in enumerate(task.shown, start=1):
        alone = steps.get(f"score_{place}")
        if alone is None:
            return Parsed(_why_lacking(steps))
        parsed = parse_scores(alone["text"], alone["finish_reason"], [task.candidate], criteria, 1, 5)
        if parsed.status != "ok":
            return parsed
        scores[name] = parsed.fields["scores"][task.candidate]
    return Parsed("ok", fields={"scores": scores})


def _something(
    trial: dict[str, Any],
    shown: str,
    rationale: Any,
    totals: tuple[float, float] | None = None,
    scores: list[dict[str, int]] | None = None,
) -> dict[str, Any]:
    """A decision about places on the screen, turned into one about identities."""
    order = trial["screen_order"]
    by_identity = dict(zip(order, totals or (None, None), strict=True))
    told = json.dumps(dict(sorted(zip(order, scores, strict=True)))) if scores else None
    return {
        "status": "ok",
        "verdict": "tie" if shown == "tie" else order[task_of(trial["kind"]).shown.index(shown)],
        "score_1": by_identity["1"],
        "score_2": by_identity["2"],
        "scores": told,
        "rationale": rationale if isinstance(rationale, str) and rationale.strip() else None,
    }


def _nothing(status: Status) -> dict[str, Any]:
    return {"status": status, **dict.fromkeys(("verdict", "score_1", "score_2", "scores", "rationale"))}


def _why_lacking(steps: Steps) -> Status:
    """Why a decision was never asked for: the turn before was cut, refused or empty, or the call failed."""
    if not steps or "failed" in steps:
        return "failed"
    last = list(steps.values())[-1]
    status = status_before_reading(last["text"], last["finish_reason"])
    return "unparsed" if status == "ok" else status


def _narrative(steps: Steps) -> Any:
    """PBP's third turn, or None where it was not finished."""
    answer = steps.get("narrate")
    if answer is None:
        return None
    return parse_rationale(answer["text"], answer["finish_reason"]).fields.get("rationale")


def _read_notes(trial: dict[str, Any], answer: dict[str, Any], params: Section) -> Parsed:
    criteria = list(weights_of(trial["scheme"], params))
    return parse_notes(answer["text"], answer["finish_reason"], task_of(trial["kind"]).shown, criteria)


def _spans(
    trial: dict[str, Any], steps: Steps, source: str, params: Section
) -> tuple[int | None, int | None]:
    """How many quoted spans stand in the source, and how many were quoted; None where there are no notes."""
    notes = steps.get("notes")
    if notes is None:
        return None, None
    parsed = _read_notes(trial, notes, params)
    if parsed.status != "ok":
        return None, None
    quotes = [note["quote"] for by in parsed.fields["notes"].values() for note in by.values()]
    return found_spans([whole_words(quote, params.answer.quote_chars) for quote in quotes], source)


def whole_words(quote: str, cap: int) -> str:
    """A quotation without the last word where our own cap may have cut it."""
    return quote if len(quote) < cap else quote.rpartition(" ")[0]


def main() -> None:
    common, params = load("rationalization_probes", Section)
    slug = slug_argument(sys.argv, common.judges)
    texts = read(ITEMS, "data").set_index("item")
    trials, responses = read(TRIALS, "design"), read(RESPONSES / f"{slug}.parquet", "judge")
    table = judgements(trials, responses, texts, read(REWRITTEN, "attacks"), params)
    JUDGEMENTS.mkdir(parents=True, exist_ok=True)
    table.to_parquet(JUDGEMENTS / f"{slug}.parquet", index=False)
    counts = table["status"].value_counts()
    print(f"{slug}: {len(table)} judgements: " + ", ".join(f"{n} {status}" for status, n in counts.items()))


if __name__ == "__main__":
    run_stage(main)
