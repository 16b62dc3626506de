"""From raw responses to judgements (stage ``judgements``): one row a trial, none dropped.

Parsing never costs a call: a better parser reads the stored responses again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from shared.errors import UserError, run_stage
from shared.frames import all_there, read, rows_of
from shared.judge.parsing import PARSER_VERSION, Parsed, parse_evidence, parse_texts, parse_verdict
from shared.judge.slug import slug_argument
from shared.params import load
from studies.evidence_lock.design import ITEMS, TRIALS
from studies.evidence_lock.exchange import EXCHANGED
from studies.evidence_lock.judge import RESPONSES
from studies.evidence_lock.named import stated_by
from studies.evidence_lock.params import Section
from studies.evidence_lock.protocols import ASSESSMENT, sha256

JUDGEMENTS = Path("data/evidence_lock/judgements")

ASSESSMENTS = ("assess_1", "assess_2")

FIELDS = ("criteria", "evidence")
"""What a record is asked for."""

READINGS: dict[str, dict[str, str]] = {
    "standard": {"verdict": "verdict"},
    "reread": {"record": "record", "verdict": "verdict"},
    "structured": {"record": "verdict", "verdict": "verdict"},
    "lock": {"record": "record", "verdict": "verdict"},
    "lock_with_source": {"record": "record", "verdict": "verdict"},
    "other_record": {"record": "record", "verdict": "verdict"},
    "conversation": {"record": "record", "verdict": "verdict"},
    "frozen_evidence": {"record": "record", "verdict": "verdict"},
    "pointwise_lock": {**dict(zip(ASSESSMENTS, ASSESSMENTS, strict=True)), "verdict": "verdict"},
}
"""What is read of each scheme, in this order, and the step whose answer holds it: Structured's holds both."""

FROZEN = ("lock", "frozen_evidence", "lock_with_source", "other_record", "pointwise_lock")
"""Schemes whose last call rests on a text that was stored before, and carries its hash."""

COLUMNS = (
    "writer", "subset", "label", "rater", "margin", "answer_chars_1", "answer_chars_2",
    "status", "failed_step", "verdict",
    "calls", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds",
    "criteria", "evidence_1", "evidence_2", "record_sha256", "named", "leans", "fingerprint", "parser",
)  # fmt: skip
"""Beyond those of the trials."""

OF_THE_ITEM = ("subset", "label", "rater", "margin")

SPENT = ("prompt_tokens", "cached_tokens", "completion_tokens")

Steps = Mapping[str, Mapping[str, Any]]
Readings = Mapping[str, Parsed]


def judgements(trials: pd.DataFrame, responses: pd.DataFrame, items: pd.DataFrame) -> pd.DataFrame:
    """Read all responses of one judge.

    Parameters
    ----------
    trials : DataFrame
        As the stage ``design`` writes them.
    responses : DataFrame
        As the stages ``judge`` and ``exchange`` write them, one after the other.
    items : DataFrame
        As the stage ``data`` writes them.

    Returns
    -------
    DataFrame
        In the trials' order, those of ``other_record`` last: one row a trial, of ``other_record`` one a trial
        and writer (none where nobody else wrote a record), whose ``trial`` ends in ``|<writer>``. The trials'
        columns, then `COLUMNS`:

        * ``status``: of the first call that is not ok, and its step in ``failed_step`` ("" where all are ok);
        * ``verdict``: "1", "2" (the candidate, wherever it stood), "tie"; missing unless ok;
        * ``calls``, tokens, ``seconds``: sums over all calls that were answered, also the one in which
          another judge wrote the record;
        * ``criteria``, ``evidence_1``, ``evidence_2``: what was written about the question and about each
          candidate, as it was written; "" where nothing was, or where it could not be read. Pointwise has two
          texts of criteria, one after the other;
        * ``record_sha256``: the hash of the record's whole text (pointwise: of both assessments); "" where
          there is none;
        * ``named``: the candidate that a text about both names as better in so many words, "tie" where it
          chooses neither, "none"; "" where there is no such text. ``leans``: the same, but praise and
          criticism count too;
        * ``fingerprint`` of the judge that decides (missing where it was never asked), ``parser``.

    Raises
    ------
    UserError
        If a trial has no response or no item, a record can be read but no decision was asked for, or a
        decision does not carry the hash of its record.

    Notes
    -----
    A structured answer counts only where both its evidence and its verdict can be read, as a lock does. Which
    candidate a text names is read by `named.stated_by`, for English, after its names were replaced by
    "answer 1" and "answer 2" in the order of the inspection.
    """
    described = {row["item"]: row for row in rows_of(items)}
    by_trial: dict[str, dict[str, dict[str, Any]]] = {}
    for call in rows_of(responses):
        by_trial.setdefault(call["trial"], {})[call["step"]] = call
    asked = [*_own(trials, by_trial), *_of_other_records(trials, by_trial)]
    all_there((trial["trial"] for trial in asked), by_trial, "trials have no response", "judge")
    all_there((trial["item"] for trial in asked), described, "items are not there", "design")
    rows = [
        {**trial, **_judgement(trial, by_trial[trial["trial"]], described[trial["item"]])} for trial in asked
    ]
    return pd.DataFrame(rows, columns=[*trials.columns, *COLUMNS])


# --- Which trials -------------------------------------------------------------------------------------


def _own(trials: pd.DataFrame, by_trial: Mapping[str, Steps]) -> Iterator[dict[str, Any]]:
    """The trials in which a judge writes what it decides from."""
    for trial in rows_of(trials[trials["scheme"] != "other_record"]):
        yield {**trial, "writer": ""}


def _of_other_records(trials: pd.DataFrame, by_trial: Mapping[str, Steps]) -> Iterator[dict[str, Any]]:
    """The trials that were exchanged, one for each writer, under the id that their responses have."""
    writers: dict[str, list[str]] = {}
    for name in by_trial:
        designed, _, writer = name.rpartition("|")
        writers.setdefault(designed, []).append(writer)
    for trial in rows_of(trials[trials["scheme"] == "other_record"]):
        for writer in writers.get(trial["trial"], []):
            yield {**trial, "trial": f"{trial['trial']}|{writer}", "writer": writer}


# --- One judgement ------------------------------------------------------------------------------------


def _judgement(trial: dict[str, Any], steps: Steps, item: dict[str, Any]) -> dict[str, Any]:
    readings = {
        reading: _read(reading, trial, steps.get(step)) for reading, step in READINGS[trial["scheme"]].items()
    }
    stored = _stored(trial["scheme"], steps)
    _decided_from_it(trial, steps, stored)
    failed = next((reading for reading, parsed in readings.items() if parsed.status != "ok"), "")
    _was_asked(trial, steps, failed)
    return {
        **{name: item[name] for name in OF_THE_ITEM},
        **{f"answer_chars_{place}": len(item[f"answer_{place}"]) for place in (1, 2)},
        "status": readings[failed].status if failed else "ok",
        "failed_step": READINGS[trial["scheme"]][failed] if failed else "",
        "verdict": None if failed else _candidate(trial, readings["verdict"]),
        **_spent(steps),
        **_texts(trial, readings)._asdict(),
        "record_sha256": "" if stored is None else sha256(stored),
        **_places(trial, readings),
        "fingerprint": _fingerprint(trial["scheme"], steps),
        "parser": PARSER_VERSION,
    }


def _read(reading: str, trial: dict[str, Any], row: Mapping[str, Any] | None) -> Parsed:
    """One reading of a call's answer; no text at all: the call failed, or the trial ended before it."""
    if row is None or not isinstance(row["text"], str):
        return Parsed("failed")
    names = (trial["name_1"], trial["name_2"])
    if reading == "record":
        return parse_evidence(row["text"], row["finish_reason"], names)
    if reading in ASSESSMENTS:
        return parse_texts(row["text"], row["finish_reason"], ASSESSMENT)
    return parse_verdict(row["text"], row["finish_reason"], (*names, "tie"))


def _candidate(trial: dict[str, Any], parsed: Parsed) -> str:
    return {trial["name_1"]: "1", trial["name_2"]: "2"}.get(parsed.verdict, "tie")


def _spent(steps: Steps) -> dict[str, Any]:
    """Sums over the calls that were answered."""
    answered = [row for row in steps.values() if isinstance(row["text"], str)]
    tokens = {name: sum(int(row[name]) for row in answered) for name in SPENT}
    return {"calls": len(answered), **tokens, "seconds": sum((row["seconds"] for row in answered), 0.0)}


def _fingerprint(scheme: str, steps: Steps) -> str | None:
    """Of the judge that decides: the first answer of another's record is that other's."""
    rows = list(steps.values())[1 if scheme == "other_record" else 0 :]
    return rows[0]["fingerprint"] if rows else None


# --- What was stored ----------------------------------------------------------------------------------


def _stored(scheme: str, steps: Steps) -> str | None:
    """The text that was written before the decision; None where there is none."""
    parts = ASSESSMENTS if scheme == "pointwise_lock" else ("record",)
    texts = [steps[part]["text"] for part in parts if part in steps]
    return "\n".join(texts) if len(texts) == len(parts) else None


def _decided_from_it(trial: dict[str, Any], steps: Steps, stored: str | None) -> None:
    """A decision carries the hash of what it rests on, and no other."""
    if "verdict" not in steps:
        return
    said = steps["verdict"]["lock"]
    carried = said if isinstance(said, str) else None
    frozen = sha256(stored) if trial["scheme"] in FROZEN and stored is not None else None
    if carried != frozen:
        raise UserError(
            f"{trial['trial']}: its decision rests on the record {carried}, but the stored one is {frozen}; "
            f"run the `{_asking(trial)}` stage again (make repro)"
        )


def _was_asked(trial: dict[str, Any], steps: Steps, failed: str) -> None:
    """A record that can be read, but was not when the judge was asked, has no decision: nobody failed."""
    if failed in READINGS[trial["scheme"]] and not {READINGS[trial["scheme"]][failed], "failed"} & set(steps):
        raise UserError(
            f"{trial['trial']}: was never asked for its {failed}, though what comes before can be read; "
            f"run the `{_asking(trial)}` stage again (make repro)"
        )


def _asking(trial: dict[str, Any]) -> str:
    return "exchange" if trial["writer"] else "judge"


# --- What it says -------------------------------------------------------------------------------------


class Texts(NamedTuple):
    """What was written about the question and about each candidate."""

    criteria: str = ""
    evidence_1: str = ""
    evidence_2: str = ""


def _texts(trial: dict[str, Any], readings: Readings) -> Texts:
    if "record" in readings:
        said = readings["record"].fields
        if not said:
            return Texts()
        return Texts(said["criteria"], *(said["evidence"][trial[name]] for name in ("name_1", "name_2")))
    assessed = [readings[step].fields for step in ASSESSMENTS if step in readings]
    criteria = "\n".join(said["criteria"] for said in assessed if said)
    return Texts(criteria, *(said.get("assessment", "") for said in assessed))


def _places(trial: dict[str, Any], readings: Readings) -> dict[str, str]:
    """Which candidate a text about both names, and leans to."""
    if "record" not in readings or readings["record"].status != "ok":
        return {"named": "", "leans": ""}
    texts, order = _texts(trial, readings), trial["inspection"]
    if winner := _told_beside(trial, readings["record"]):
        return {"named": winner, "leans": winner}
    evidence = tuple((trial[f"name_{place}"], texts[int(place)]) for place in order)
    named, leans = stated_by(texts.criteria, evidence)
    of = {"first": order[0], "second": order[1]}
    return {"named": of.get(named, named), "leans": of.get(leans, leans)}


def _told_beside(trial: dict[str, Any], record: Parsed) -> str:
    """The candidate that a record names in a field that it was not asked for; "" for none.

    Structured is asked for a verdict; any other record that holds one has chosen.
    """
    if trial["scheme"] in ("structured", "frozen_evidence"):
        return ""
    said = {str(value).strip().casefold() for name, value in record.fields.items() if name not in FIELDS}
    named = {place for place in ("1", "2") if trial[f"name_{place}"].casefold() in said}
    return named.pop() if len(named) == 1 else ""


def main() -> None:
    common, _ = load("evidence_lock", Section)
    slug = slug_argument(sys.argv, common.judges)
    answers = [
        read(folder / f"{slug}.parquet", stage)
        for folder, stage in ((RESPONSES, "judge"), (EXCHANGED, "exchange"))
    ]
    responses = pd.concat([part for part in answers if len(part)] or answers[:1], ignore_index=True)
    table = judgements(read(TRIALS, "design"), responses, read(ITEMS, "data"))
    JUDGEMENTS.mkdir(parents=True, exist_ok=True)
    table.to_parquet(JUDGEMENTS / f"{slug}.parquet", index=False)
    counts = table["status"].value_counts()
    print(f"{slug}: {len(table)} judgements: " + ", ".join(f"{n} {status}" for status, n in counts.items()))


if __name__ == "__main__":
    run_stage(main)
