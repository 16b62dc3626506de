"""From raw responses to judgements (stage ``judgements``): one row a trial and stage, none dropped.

Parsing never costs a call: a better parser reads the stored responses again.
"""

from __future__ import annotations

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
)
from shared.judge.slug import slug_argument
from shared.params import load
from studies.rationalization_probes.design import ITEMS, TRIALS
from studies.rationalization_probes.judge import RESPONSES
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.protocols import result_of, weighted_totals
from studies.rationalization_probes.schemas import SHOWN

JUDGEMENTS = Path("data/rationalization_probes/judgements")

STAGES = {"first": ("score", "judge"), "reveal": ("reveal",), "control": ("control",)}
"""Which step of the protocol holds each stage's decision."""

Steps = dict[str, dict[str, Any]]


def judgements(
    trials: pd.DataFrame, responses: pd.DataFrame, sources: pd.Series, params: Section
) -> pd.DataFrame:
    """Read all responses.

    Parameters
    ----------
    trials, responses : DataFrame
        As the stages ``design`` and ``judge`` write them.
    sources : Series
        Document text by item, against which quoted spans are checked.
    params : Section

    Returns
    -------
    DataFrame
        The trials' columns, then stage, status, verdict ("1", "2", "tie" by identity; None unless ok),
        score_1, score_2 (weighted totals by identity), rationale, spans_found, spans_quoted,
        fingerprint, parser. A trial with reveal has three rows: first, reveal, control.
    """
    by_trial: dict[str, Steps] = {}
    for row in rows_of(responses):
        by_trial.setdefault(row["trial"], {})[row["step"]] = row
    rows = [
        {**trial, **judgement}
        for trial in rows_of(trials)
        for judgement in _of_trial(trial, by_trial.get(trial["trial"], {}), sources[trial["item"]], params)
    ]
    return pd.DataFrame(rows)


def _of_trial(trial: dict[str, Any], steps: Steps, source: str, params: Section) -> Iterator[dict[str, Any]]:
    spans_found, spans_quoted = _spans(steps, source, params)
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


def _decision(trial: dict[str, Any], steps: Steps, stage: str, params: Section) -> dict[str, Any]:
    """Status, verdict, scores and rationale of one stage; a turn that is lacking is explained."""
    answer = next((steps[step] for step in STAGES[stage] if step in steps), None)
    if answer is None:
        return _nothing(_why_lacking(steps))
    if "notes" in steps and (status := _read_notes(steps["notes"], params).status) != "ok":
        return _nothing(status)  # no evidence was locked, so that no score rests on any
    if trial["scheme"] in ("baseline", "forced"):
        parsed = _read_verdict(answer, trial["scheme"])
        if parsed.status != "ok":
            return _nothing(parsed.status)
        return _something(trial, str(parsed.verdict), None, parsed.fields.get("rationale"))
    parsed = _read_scores(answer, params)
    if parsed.status != "ok":
        return _nothing(parsed.status)
    totals = weighted_totals(parsed.fields["scores"], params.weights)
    rationale = parsed.fields.get("rationale") or (_narrative(steps) if stage == "first" else None)
    return _something(trial, result_of(totals, params.tie_margin), totals, rationale)


def _read_verdict(answer: dict[str, Any], scheme: str) -> Parsed:
    allowed = SHOWN if scheme == "forced" else (*SHOWN, "tie")
    return parse_verdict(answer["text"], answer["finish_reason"], allowed)


def _read_scores(answer: dict[str, Any], params: Section) -> Parsed:
    criteria = list(params.weights)
    return parse_scores(answer["text"], answer["finish_reason"], SHOWN, criteria, 1, 5)


def _something(
    trial: dict[str, Any], shown: str, totals: tuple[float, float] | None, rationale: Any
) -> dict[str, Any]:
    """A decision about places on the screen, turned into one about identities."""
    order = trial["screen_order"]
    by_identity = totals if totals is None or order == "12" else totals[::-1]
    return {
        "status": "ok",
        "verdict": "tie" if shown == "tie" else order[SHOWN.index(shown)],
        "score_1": by_identity[0] if by_identity else None,
        "score_2": by_identity[1] if by_identity else None,
        "rationale": rationale if isinstance(rationale, str) and rationale.strip() else None,
    }


def _nothing(status: str) -> dict[str, Any]:
    return {"status": status, "verdict": None, "score_1": None, "score_2": None, "rationale": None}


def _why_lacking(steps: Steps) -> str:
    """Why a decision was never asked for: the turn before was cut, refused or empty, or the call failed."""
    if not steps or "failed" in steps:
        return "failed"
    last = list(steps.values())[-1]
    return parse_verdict(last["text"], last["finish_reason"], SHOWN).status.replace("ok", "unparsed")


def _narrative(steps: Steps) -> Any:
    """PBP's third turn, or None where it was not finished."""
    answer = steps.get("narrate")
    if answer is None:
        return None
    return parse_rationale(answer["text"], answer["finish_reason"]).fields.get("rationale")


def _read_notes(answer: dict[str, Any], params: Section) -> Parsed:
    return parse_notes(answer["text"], answer["finish_reason"], SHOWN, list(params.weights))


def _spans(steps: Steps, source: str, params: Section) -> tuple[int | None, int | None]:
    """How many quoted spans stand in the source, and how many were quoted; None where there are no notes."""
    notes = steps.get("notes")
    if notes is None:
        return None, None
    parsed = _read_notes(notes, params)
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
    sources = read(ITEMS, "data").set_index("item")["source"]
    trials, responses = read(TRIALS, "design"), read(RESPONSES / f"{slug}.parquet", "judge")
    table = judgements(trials, responses, sources, params)
    JUDGEMENTS.mkdir(parents=True, exist_ok=True)
    table.to_parquet(JUDGEMENTS / f"{slug}.parquet", index=False)
    counts = table["status"].value_counts()
    print(f"{slug}: {len(table)} judgements: " + ", ".join(f"{n} {status}" for status, n in counts.items()))


if __name__ == "__main__":
    run_stage(main)
