"""What raw responses mean: by hand, and through the stages themselves."""

import json
import sys
from contextlib import asynccontextmanager
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shared.errors import UserError
from shared.judge import stage
from shared.judge.client import Client
from shared.judge.parsing import PARSER_VERSION
from shared.judge.records import Request, TransientError
from shared.judge.store import Store
from shared.params import LlamaCppJudge
from studies.evidence_lock import exchange, judge
from studies.evidence_lock import judgements as judgements_stage
from studies.evidence_lock.judgements import COLUMNS, FROZEN, READINGS, judgements
from studies.evidence_lock.params import SCHEMES
from studies.evidence_lock.protocols import sha256
from tests.shared.judge.scripted import ScriptedEngine

NAMES = ("Cedar", "Willow")
LETTERS = ("A", "B")

ITEMS = pd.DataFrame(
    [
        {
            "item": name,
            "dataset": "embedded",
            "subset": "planning",
            "cluster": name,
            "context": "When does the train leave?",
            "answer_1": "At nine from platform two.",  # 26 characters
            "answer_2": "At nine.",
            "label": label,
            "rater": "intended",
            "margin": margin,
            "n_raters": np.nan,
            "reason": "unanswered_part",
            "told": "",
        }
        for name, label, margin in (("a", "1", 2.0), ("b", "tie", np.nan))
    ]
)


def trial(scheme: str, inspection: str = "12", decision: str = "", **changes: Any) -> dict[str, Any]:
    """A row of the trials' table."""
    asked = {
        "item": "a",
        "cluster": "a",
        "dataset": "embedded",
        "scheme": scheme,
        "inspection": inspection,
        "decision": decision or inspection,
        "record_chars": 0 if scheme == "standard" else 90,
        "wording": 1,
        "naming": "neutral",
        "temperature": 0.0,
        "replicate": 0,
        "name_1": NAMES[0],
        "name_2": NAMES[1],
        **changes,
    }
    parts = ("item", "scheme", "inspection", "decision", "record_chars", "wording", "naming", "temperature")
    return {"trial": "|".join([*(str(asked[part]) for part in parts), str(asked["replicate"])]), **asked}


def verdict(name: str) -> str:
    return json.dumps({"verdict": name})


def record(one: str = "Names the platform.", other: str = "Names the hour.", **more: str) -> str:
    """A record, with what is said of Cedar (candidate 1) first."""
    evidence = dict(zip(NAMES, (one, other), strict=True))
    return json.dumps({"criteria": "When, and from where.", "evidence": evidence, **more})


def assessment(said: str) -> str:
    return json.dumps({"criteria": f"What {said} needs.", "assessment": said})


def calls(
    asked: dict[str, Any], writer: str = "", **said: str | tuple[str, str] | None
) -> list[dict[str, Any]]:
    """A trial's responses by step, each a text or a text with the reason of its end; ``failed`` has none."""
    rows = []
    for step, answer in said.items():
        text, reason = answer if isinstance(answer, tuple) else (answer, "stop")
        rows.append(
            {
                "trial": asked["trial"] + (f"|{writer}" if writer else ""),
                "step": step,
                "text": text,
                "finish_reason": None if text is None else reason,
                "prompt_tokens": None if text is None else 100,
                "cached_tokens": None if text is None else 40,
                "completion_tokens": None if text is None else 7,
                "seconds": None if text is None else 0.5,
                "lock": _lock(asked["scheme"], said) if step == "verdict" else None,
                "fingerprint": f"of {writer}" if writer and not rows else "own",
            }
        )
    return rows


def _lock(scheme: str, said: dict[str, Any]) -> str | None:
    if scheme not in FROZEN:
        return None
    before = [text for step, text in said.items() if step != "verdict"]
    return sha256("\n".join(text[0] if isinstance(text, tuple) else text for text in before))


def read(*asked: tuple[dict[str, Any], list[dict[str, Any]]]) -> pd.DataFrame:
    return judgements(
        pd.DataFrame([one for one, _ in asked]),
        pd.DataFrame([row for _, rows in asked for row in rows]),
        ITEMS,
    )


def judged(scheme: str, *orders: str, writer: str = "", **said: Any) -> dict[str, Any]:
    """The only judgement of one trial."""
    one = trial(scheme, *orders)
    [made] = read((one, calls(one, writer, **said))).to_dict("records")
    return made


WHOLE: dict[str, dict[str, str]] = {
    "standard": {"verdict": verdict("Willow")},
    "structured": {"verdict": record(verdict="Willow")},
    "lock": {"record": record(), "verdict": verdict("Willow")},
    "frozen_evidence": {"record": record(verdict="Cedar"), "verdict": verdict("Willow")},
    "lock_with_source": {"record": record(), "verdict": verdict("Willow")},
    "conversation": {"record": record(), "verdict": verdict("Willow")},
    "reread": {"record": record(), "verdict": verdict("Willow")},
    "pointwise_lock": {
        "assess_1": assessment("Names the platform."),
        "assess_2": assessment("Names the hour."),
        "verdict": verdict("Willow"),
    },
}
"""What a judge says that does all it is asked, by scheme."""


# --- verdicts ---


@pytest.mark.parametrize("scheme", WHOLE)
@pytest.mark.parametrize("order", ["12", "21"])
def test_a_verdict_is_a_candidate_wherever_it_stood(scheme, order):
    made = judged(scheme, order, **WHOLE[scheme])
    assert (made["status"], made["failed_step"], made["verdict"]) == ("ok", "", "2")
    assert (made["label"], made["rater"], made["margin"], made["subset"]) == (
        "1",
        "intended",
        2.0,
        "planning",
    )
    assert (made["answer_chars_1"], made["answer_chars_2"]) == (26, 8)
    assert (made["writer"], made["fingerprint"], made["parser"]) == ("", "own", PARSER_VERSION)


@pytest.mark.parametrize("said, candidate", [("Cedar", "1"), ("willow", "2"), ("tie", "tie")])
@pytest.mark.parametrize("orders", list(product(("12", "21"), repeat=2)))
def test_crossed_orders_read_the_same(said, candidate, orders):
    assert judged("lock", *orders, record=record(), verdict=verdict(said))["verdict"] == candidate


def test_letters_name_answers_by_their_place():
    # Under the order 21 the first shown, A, is candidate 2.
    one = trial("standard", "21", naming="letters", name_1="B", name_2="A")
    assert read((one, calls(one, verdict=verdict("A"))))["verdict"].tolist() == ["2"]


@pytest.mark.parametrize("scheme", WHOLE)
def test_what_was_spent_is_the_sum_over_all_calls(scheme):
    made = judged(scheme, **WHOLE[scheme])
    n = len(WHOLE[scheme])  # each call took 100 + 7 tokens, 40 of them cached, and half a second
    assert n == {"standard": 1, "structured": 1, "pointwise_lock": 3}.get(scheme, 2)
    assert [made[name] for name in ("calls", "prompt_tokens", "cached_tokens", "completion_tokens")] == [
        n,
        100 * n,
        40 * n,
        7 * n,
    ]
    assert made["seconds"] == 0.5 * n


# --- failures ---


@pytest.mark.parametrize("scheme, at", [(scheme, step) for scheme, said in WHOLE.items() for step in said])
@pytest.mark.parametrize(
    "answer, status",
    [
        ("no JSON", "unparsed"),
        ("", "unparsed"),
        (verdict("Oak"), "unparsed"),
        (("{", "length"), "truncated"),
        (("", "content_filter"), "refused"),
        (None, "failed"),
    ],
)
def test_the_first_call_that_is_not_ok_decides(scheme, at, answer, status):
    steps = list(WHOLE[scheme])
    said: dict[str, Any] = {step: WHOLE[scheme][step] for step in steps[: steps.index(at)]}
    said["failed" if answer is None else at] = answer  # nothing is asked after it,
    if at == "assess_1" and answer is not None:  # but for the other assessment
        said["assess_2"] = WHOLE[scheme]["assess_2"]
    made = judged(scheme, **said)
    assert (made["status"], made["failed_step"]) == (status, at)
    assert made["verdict"] is None
    assert made["calls"] == sum(text is not None for text in said.values())


def test_a_structured_answer_without_evidence_is_none():
    made = judged("structured", verdict=verdict("Cedar"))
    assert (made["status"], made["failed_step"], made["verdict"], made["named"]) == (
        "unparsed",
        "verdict",
        None,
        "",
    )


def test_evidence_stays_where_the_verdict_is_none():
    for said in ({"verdict": record(verdict="Oak")}, {"verdict": record()}):
        made = judged("structured", **said)
        assert (made["status"], made["evidence_1"], made["named"]) == (
            "unparsed",
            "Names the platform.",
            "none",
        )
    made = judged("lock", record=record(), verdict="?")
    assert (made["failed_step"], made["evidence_2"]) == ("verdict", "Names the hour.")


# --- records ---


@pytest.mark.parametrize("scheme", [scheme for scheme in WHOLE if scheme != "standard"])
@pytest.mark.parametrize("order", ["12", "21"])
def test_texts_are_the_candidates_as_the_judge_wrote_them(scheme, order):
    made = judged(scheme, order, **WHOLE[scheme])
    assert (made["evidence_1"], made["evidence_2"]) == ("Names the platform.", "Names the hour.")
    two = "What Names the platform. needs.\nWhat Names the hour. needs."
    assert made["criteria"] == (two if scheme == "pointwise_lock" else "When, and from where.")


def test_standard_has_no_text():
    made = judged("standard", **WHOLE["standard"])
    assert [
        made[name] for name in ("criteria", "evidence_1", "evidence_2", "record_sha256", "named", "leans")
    ] == [""] * 6


def test_the_hash_is_of_the_whole_text_that_was_stored():
    for scheme in ("lock", "lock_with_source", "conversation", "reread"):
        assert judged(scheme, **WHOLE[scheme])["record_sha256"] == sha256(record())
    said = WHOLE["pointwise_lock"]
    both = sha256(said["assess_1"] + "\n" + said["assess_2"])
    assert judged("pointwise_lock", **said)["record_sha256"] == both
    assert judged("structured", **WHOLE["structured"])["record_sha256"] == ""
    assert judged("lock", failed=None)["record_sha256"] == ""


@pytest.mark.parametrize(
    "scheme, lock",
    [
        ("lock", sha256("another")),
        ("lock", None),
        ("lock_with_source", sha256(record() + " ")),
        ("pointwise_lock", sha256(WHOLE["pointwise_lock"]["assess_1"])),
        ("conversation", sha256(record())),  # nothing was frozen
        ("standard", sha256("")),
    ],
)
def test_a_decision_from_another_record_is_an_error(scheme, lock):
    one = trial(scheme)
    rows = calls(one, **WHOLE[scheme])
    rows[-1]["lock"] = lock
    with pytest.raises(UserError, match=rf"^a\|{scheme}\|.*rests on the record .*`judge` stage"):
        read((one, rows))


def test_a_record_that_could_be_decided_from_and_was_not_is_no_failure():
    one = trial("lock")
    with pytest.raises(UserError, match=r"never asked for its verdict.*run the `judge` stage again"):
        read((one, calls(one, record=record())))


# --- what records give away ---


@pytest.mark.parametrize("order", ["12", "21"])
@pytest.mark.parametrize(
    "one, other, named, leans",
    [
        ("Names the platform.", "Names the hour.", "none", "none"),
        ("Names the platform. It is more complete.", "Names the hour.", "1", "1"),
        ("Complete.", "Omits the platform, so that Cedar is better.", "1", "1"),
        ("The weaker one.", "The better answer.", "2", "2"),
        ("Clear and complete.", "Leaves out the platform.", "none", "1"),
        ("Less accurate than Willow.", "More accurate than Cedar.", "2", "2"),
        ("As good as Willow.", "Neither answer is better.", "tie", "tie"),
        ("More complete.", "More concise.", "none", "none"),
    ],
)
def test_whom_a_record_names(order, one, other, named, leans):
    for scheme, said in (
        ("lock", {"record": record(one, other), "verdict": verdict("tie")}),
        ("structured", {"verdict": record(one, other, verdict="tie")}),
    ):
        made = judged(scheme, order, **said)
        assert (made["named"], made["leans"]) == (named, leans)


def test_places_in_a_record_are_those_of_the_inspection():
    # "The first answer" of a record that was written with candidate 2 in front is candidate 2.
    said = {"record": record("Names it.", "Names it. The first answer is better."), "verdict": verdict("tie")}
    assert judged("lock", "21", "12", **said)["named"] == "2"
    assert judged("lock", "12", "21", **said)["named"] == "1"


def test_a_record_with_letters():
    one = trial("lock", "21", naming="letters", name_1="B", name_2="A")
    evidence = {"A": "A clear text.", "B": "Better than A."}
    said = {"record": json.dumps({"criteria": "A date.", "evidence": evidence}), "verdict": verdict("B")}
    [made] = read((one, calls(one, **said))).to_dict("records")
    assert (made["named"], made["evidence_1"], made["verdict"]) == ("1", "Better than A.", "1")


def test_assessments_of_one_answer_each_name_nobody():
    said = {**WHOLE["pointwise_lock"], "assess_1": assessment("The better answer.")}
    made = judged("pointwise_lock", **said)
    assert (made["named"], made["leans"]) == ("", "")


# --- records of others ---


def test_each_writer_of_a_record_has_a_row():
    one = trial("other_record", "12", "21")
    said = {"record": record(other="Willow wins."), "verdict": verdict("Willow")}
    other = {"record": "nothing"}
    table = read((one, [*calls(one, "big", **said), *calls(one, "small", **other)]))
    assert table["trial"].tolist() == [f"{one['trial']}|big", f"{one['trial']}|small"]
    assert table["writer"].tolist() == ["big", "small"]
    assert table["status"].tolist() == ["ok", "unparsed"] and table["failed_step"].tolist() == ["", "record"]
    assert table["verdict"][0] == "2" and table["verdict"].isna().tolist() == [False, True]
    assert table["named"].tolist() == ["2", ""]
    # The first answer is the writer's: its cost counts, its fingerprint does not.
    assert table["calls"].tolist() == [2, 1]
    assert table["fingerprint"][0] == "own" and table["fingerprint"].isna()[1]


def test_a_writer_that_failed_and_a_judge_that_failed():
    one = trial("other_record")
    table = read((one, [*calls(one, "w", failed=None), *calls(one, "v", record=record(), failed=None)]))
    assert table["status"].tolist() == ["failed"] * 2
    assert table["failed_step"].tolist() == ["record", "verdict"]


def test_without_other_writers_there_is_no_row():
    own, other = trial("lock"), trial("other_record")
    table = read((other, []), (own, calls(own, **WHOLE["lock"])))
    assert table["scheme"].tolist() == ["lock"]


def test_an_exchanged_decision_from_another_record_names_its_stage():
    one = trial("other_record")
    rows = calls(one, "w", record=record(), verdict=verdict("tie"))
    rows[-1]["lock"] = sha256("mine")
    with pytest.raises(UserError, match="`exchange` stage"):
        read((one, rows))


# --- the table ---


def test_rows_stay_in_the_trials_order_with_all_columns():
    asked = [trial(scheme, order) for scheme in reversed(WHOLE) for order in ("12", "21")]
    table = read(*((one, calls(one, **WHOLE[one["scheme"]])) for one in asked))
    assert table["trial"].tolist() == [one["trial"] for one in asked]
    assert table.columns.tolist() == [*asked[0], *COLUMNS]
    assert table["status"].eq("ok").all()


def test_every_scheme_is_read():
    assert set(READINGS) == set(SCHEMES)


def test_what_stages_before_left_out_is_told():
    one, unasked, gone = trial("standard"), trial("standard", "21"), trial("standard", item="gone")
    with pytest.raises(UserError, match=r"1 trials have no response, e\.g\. .*run the `judge` stage"):
        read((one, calls(one, verdict=verdict("tie"))), (unasked, []))
    with pytest.raises(UserError, match=r"1 items are not there, e\.g\. 'gone'; run the `design` stage"):
        read((gone, calls(gone, verdict=verdict("tie"))))


# --- through the stages ---


def told(request: Request) -> str:
    """A judge that writes what it sees of each answer, and picks the answer with a platform."""
    shape, text = request.schema["properties"], request.messages[-1].content
    said: dict[str, Any] = {"criteria": "When, and from where."}
    if "assessment" in shape:
        return json.dumps({**said, "assessment": "with platform" if "platform" in text else "without"})
    if "evidence" in shape:
        evidence = {}
        for name in shape["evidence"]["properties"]:
            answer = text.partition(f"The answer {name}:")[2].partition("</answer>")[0]
            evidence[name] = "with platform" if "platform" in answer else "without"
        return json.dumps(
            {**said, "evidence": evidence} | ({"verdict": "Cedar"} if "verdict" in shape else {})
        )
    return verdict("Cedar")


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Items, trials of every scheme, and two judges: one that answers, one that writes no record."""
    monkeypatch.chdir(tmp_path)
    trials = [trial(scheme, order) for order in ("12", "21") for scheme in READINGS]
    trials.append(trial("lock", "12", "21"))
    for path, table in ((judge.ITEMS, ITEMS), (judge.TRIALS, pd.DataFrame(trials))):
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_parquet(path, index=False)
    slugs = ("broken", "sound")
    common = SimpleNamespace(
        judges={slug: LlamaCppJudge(engine="llamacpp", model="m.gguf") for slug in slugs}, seed=0
    )
    params = SimpleNamespace(judges=list(slugs), answer=SimpleNamespace(record_chars=90, max_tokens=99))
    for module in (judge, exchange, judgements_stage):
        monkeypatch.setattr(module, "load", lambda name, model: (common, params))

    def broken(request: Request) -> str:
        if "evidence" in request.schema["properties"]:
            raise TransientError("out of order")
        return told(request)

    engines = {"broken": ScriptedEngine(broken, "b"), "sound": ScriptedEngine(told, "s")}

    @asynccontextmanager
    async def opened(common, slug):
        yield Client(engines[slug], Store(tmp_path / f"{slug}.sqlite"), concurrency=2, retries=0)

    monkeypatch.setattr(stage, "open_client", opened)
    return trials


def test_all_stages_end_to_end(study, monkeypatch, capsys):
    tables = {}
    for run in (judge, exchange, judgements_stage):
        for slug in ("broken", "sound"):
            monkeypatch.setattr(sys, "argv", ["stage", slug])
            run.main()
    for slug in ("broken", "sound"):
        tables[slug] = pd.read_parquet(judgements_stage.JUDGEMENTS / f"{slug}.parquet")
    sound = tables["sound"].set_index("scheme")
    own = sound.drop("other_record")
    assert own["status"].eq("ok").all() and own["verdict"].eq("1").all()
    assert len(tables["sound"]) == len(study)  # one other judge: one row a trial
    written = own.drop("standard")
    assert written["evidence_1"].eq("with platform").all() and written["evidence_2"].eq("without").all()
    assert own["calls"].tolist() == [len(WHOLE[scheme]) for scheme in own.index]
    # The other judge wrote no record to decide from; its own decisions from the sound one's are all there.
    assert sound.loc["other_record", "status"].eq("failed").all()
    assert sound.loc["other_record", "failed_step"].eq("record").all()
    broken = tables["broken"].set_index("scheme")
    assert broken.loc["other_record", "verdict"].tolist() == ["1", "1"]
    assert broken.loc["other_record", "writer"].tolist() == ["sound", "sound"]
    assert broken.loc["lock", "status"].eq("failed").all()
    assert broken["fingerprint"].nunique() == 1 and set(broken["fingerprint"]) != set(own["fingerprint"])
    # Locks rest on the same record in both decision orders.
    assert own.loc["lock", "record_sha256"].nunique() == 2 and len(own.loc["lock"]) == 3
    printed = capsys.readouterr().out
    assert "sound: 19 judgements: 17 ok, 2 failed" in printed


def test_a_winner_told_in_a_field_of_its_own_is_a_leak():
    """Call 1 was asked for criteria and evidence alone; Structured was asked for a verdict too."""
    leaky = record(verdict="Willow")
    assert judged("lock", record=leaky, verdict=verdict("Cedar"))["named"] == "2"
    assert judged("lock", record=record(winner="neither"), verdict=verdict("Cedar"))["named"] == "none"
    assert judged("structured", verdict=leaky)["named"] == "none"
    assert judged("frozen_evidence", record=leaky, verdict=verdict("Cedar"))["named"] == "none"
