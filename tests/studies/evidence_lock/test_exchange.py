"""Records that judges lend each other: which record, what can't be read, who was not asked."""

import json
import sys
import warnings
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pandas as pd
import pytest

from shared.errors import UserError
from shared.judge import stage
from shared.judge.client import Client
from shared.judge.records import Request, TransientError
from shared.judge.stage import SCHEMA
from shared.judge.store import Store
from shared.params import LlamaCppJudge
from studies.evidence_lock import exchange, judge
from studies.evidence_lock.design import COLUMNS, SAME_RECORD, design
from studies.evidence_lock.exchange import borrowed
from studies.evidence_lock.judgements import judgements
from studies.evidence_lock.params import Section
from studies.evidence_lock.protocols import sha256
from tests.shared.judge.scripted import ScriptedEngine, completion
from tests.studies.evidence_lock.small_study import PARAMS, first_shown, items, play

SETS = {
    "main": {"items": 2, "schemes": ["structured", "lock", "other_record"]},
    "crossed": {"items": 1, "schemes": ["lock", "other_record"], "crossed": True, "record_chars": [90]},
}
ASKED = Section.model_validate({**PARAMS.model_dump(), "sets": SETS})
TRIALS = design(items(), ASKED, seed=1)
ANOTHERS = TRIALS[TRIALS["scheme"] == "other_record"]
OWN = judge.own(TRIALS)


def telling(name: str):
    """A judge whose records hold its name and the verdict of which is what stands first."""

    def script(request: Request) -> str:
        said = json.loads(first_shown(request))
        if "evidence" in said and "verdict" not in said:
            said["criteria"] = f"What {name} asks."
        return json.dumps(said)

    return script


# --- Which record -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def responses():
    return play(OWN, telling("big"), ASKED)


def test_the_record_is_the_writers_own_of_the_same_trial(responses):
    found = borrowed(TRIALS, responses, "big")
    assert list(found.columns) == [*COLUMNS, *[name for name in SCHEMA.names if name != "trial"], "writer"]
    assert found["trial"].tolist() == [f"{name}|big" for name in ANOTHERS["trial"]]
    assert set(found["step"]) == {"record"} and set(found["writer"]) == {"big"}
    records = responses[responses["step"] == "record"].merge(TRIALS, on="trial")
    keys = [*SAME_RECORD, "text", "key"]
    own = records.loc[records["scheme"] == "lock", keys].drop_duplicates()
    pd.testing.assert_frame_equal(found[keys], found[keys].merge(own, on=keys))


def test_a_crossed_decision_rests_on_the_record_of_its_inspection(responses):
    found = borrowed(TRIALS, responses, "big")
    crossed = found[found["record_chars"] == 90]
    assert len(crossed) == 4
    by_inspection = crossed.groupby("inspection")["text"].nunique()
    assert (by_inspection == 1).all() and crossed["text"].nunique() == 2


def test_a_record_that_failed_is_borrowed_as_a_failure(responses):
    lost = responses[responses["trial"].str.contains("|lock|12|", regex=False)]
    failed = lost.drop_duplicates("trial").assign(step="failed", text=None, finish_reason=None, error="gone")
    kept = responses[~responses["trial"].isin(lost["trial"])]
    found = borrowed(TRIALS, pd.concat([kept, failed]), "big")
    assert len(found) == len(ANOTHERS)
    is_lost = found["inspection"] == "12"
    assert found.loc[is_lost, "step"].eq("failed").all() and found.loc[is_lost, "text"].isna().all()
    assert found.loc[~is_lost, "step"].eq("record").all()


def test_a_writer_that_was_not_asked_is_an_error_that_names_it(responses):
    without = responses[~responses["trial"].str.contains("embedded/boat|lock|12", regex=False)]
    with pytest.raises(
        UserError, match=r"1 trials of other_record have no record of big, e\.g\. 'embedded/boat.*`judge`"
    ):
        borrowed(TRIALS, without, "big")
    with pytest.raises(UserError, match=f"{len(ANOTHERS)} trials of other_record have no record of big"):
        borrowed(TRIALS, responses[:0], "big")


def test_where_no_set_has_it_nothing_is_borrowed(responses):
    assert borrowed(OWN, responses, "big").empty


# --- The stage --------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the stages of judges that answer by script, and returns what each got from the others."""
    monkeypatch.chdir(tmp_path)

    def start(scripts, trials=TRIALS, asked=None):
        for path, table in ((judge.ITEMS, items()), (judge.TRIALS, trials)):
            path.parent.mkdir(parents=True, exist_ok=True)
            table.to_parquet(path, index=False)
        block = LlamaCppJudge(engine="llamacpp", model="m.gguf")
        common = SimpleNamespace(judges=dict.fromkeys(scripts, block), seed=0)
        params = ASKED.model_copy(update={"judges": list(scripts)})
        engines = {slug: ScriptedEngine(script, slug) for slug, script in scripts.items()}

        @asynccontextmanager
        async def opened(common, slug):
            yield Client(engines[slug], Store(tmp_path / f"{slug}.sqlite"), concurrency=2, retries=0)

        monkeypatch.setattr(stage, "open_client", opened)
        for module in (judge, exchange):
            monkeypatch.setattr(module, "load", lambda name, model: (common, params))
            for slug in scripts if asked is None or module is exchange else asked:
                monkeypatch.setattr(sys, "argv", ["stage", slug])
                module.main()
        return {slug: pd.read_parquet(exchange.EXCHANGED / f"{slug}.parquet") for slug in scripts}, engines

    return start


def test_two_judges_decide_from_each_others_records(run):
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        found, _ = run({"big": telling("big"), "small": telling("small")})
    for slug, other in (("big", "small"), ("small", "big")):
        rows = found[slug]
        assert list(rows.columns) == list(SCHEMA.names)
        assert set(rows["trial"]) == {f"{name}|{other}" for name in ANOTHERS["trial"]}
        # a trial's record stands before what was decided from it, which carries its hash
        assert set(rows.groupby("trial")["step"].apply(tuple)) == {("record", "verdict")}
        record, verdict = (rows[rows["step"] == step].set_index("trial") for step in ("record", "verdict"))
        assert record["text"].str.contains(f"What {other} asks").all() and record["lock"].isna().all()
        assert (verdict["lock"] == record["text"].map(sha256)).all()
        # each call has the fingerprint of the judge that answered it
        assert record["fingerprint"].nunique() == verdict["fingerprint"].nunique() == 1
        assert set(record["fingerprint"]) == set(
            found[other].loc[found[other]["step"] == "verdict", "fingerprint"]
        )
        own = pd.read_parquet(judge.RESPONSES / f"{other}.parquet")
        assert set(record["key"]) <= set(own["key"])


def test_what_is_exchanged_can_be_judged(run):
    found, _ = run({"big": telling("big"), "small": telling("small")})
    answers = [pd.read_parquet(judge.RESPONSES / "small.parquet"), found["small"]]
    table = judgements(TRIALS, pd.concat(answers, ignore_index=True), items())
    other = table[table["scheme"] == "other_record"]
    assert len(table) == len(TRIALS) and set(table["status"]) == {"ok"}
    assert set(other["writer"]) == {"big"} and other["criteria"].eq("What big asks.").all()
    # the judge picks what the decision lists first
    assert (other["verdict"] == other["decision"].str[0]).all() and set(other["calls"]) == {2}


def test_three_judges_have_two_writers_each(run):
    found, _ = run({name: telling(name) for name in ("a", "b", "c")})
    for slug, rows in found.items():
        writers = rows["trial"].str.rpartition("|")[2]
        assert sorted(set(writers)) == sorted({"a", "b", "c"} - {slug})
        assert (rows["step"] == "verdict").sum() == 2 * len(ANOTHERS)


UNREADABLE = {
    "prose": "Both say nine.",
    "empty": "",
    "cut": completion('{"criteria": "x", "evidence": {', "length"),
    "one answer": '{"criteria": "x", "evidence": {}}',
}


@pytest.mark.parametrize("said", UNREADABLE.values(), ids=UNREADABLE)
def test_a_record_that_cannot_be_read_is_kept_and_nothing_is_decided_from_it(run, said):
    def broken(request):
        properties = request.schema["properties"]
        return said if "evidence" in properties and "verdict" not in properties else first_shown(request)

    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        found, _ = run({"broken": broken, "sound": telling("sound")})
    assert set(found["sound"]["step"]) == {"record"} and len(found["sound"]) == len(ANOTHERS)
    assert (found["broken"]["step"] == "verdict").sum() == len(ANOTHERS)  # its own fault stops nothing else
    table = judgements(
        TRIALS,
        pd.concat([pd.read_parquet(judge.RESPONSES / "sound.parquet"), found["sound"]], ignore_index=True),
        items(),
    )
    other = table[table["scheme"] == "other_record"]
    assert set(other["failed_step"]) == {"record"} and other["verdict"].isna().all()
    assert set(other["status"]) == {"truncated" if not isinstance(said, str) else "unparsed"}


def test_a_judge_that_breaks_down_while_deciding_leaves_failures(run):
    calls = []

    def moody(request):
        calls.append(request)
        if len(calls) % 3 == 0 and "evidence" not in request.schema["properties"]:
            raise TransientError("out of order")
        return first_shown(request)

    found, _ = run({"moody": moody, "sound": telling("sound")})
    steps = found["moody"].groupby("trial")["step"].apply(tuple)
    assert set(steps) == {("record", "verdict"), ("record", "failed")}


def test_a_second_run_pays_nothing(run, capsys):
    scripts = {"big": telling("big"), "small": telling("small")}
    first, _ = run(scripts)
    capsys.readouterr()
    second, engines = run(scripts)
    assert not engines["big"].calls and not engines["small"].calls
    assert capsys.readouterr().out.count("paid 0 calls") == 4
    for slug in scripts:
        pd.testing.assert_frame_equal(first[slug], second[slug])


def test_one_judge_alone_has_an_empty_table_and_says_why(run, capsys):
    found, _ = run({"alone": telling("alone")})
    assert found["alone"].empty and list(found["alone"].columns) == list(SCHEMA.names)
    assert "alone: other_record not run: params name no other judge" in capsys.readouterr().out


def test_without_such_trials_the_table_is_empty_and_says_why(run, capsys):
    found, _ = run({"big": telling("big"), "small": telling("small")}, trials=OWN)
    assert all(rows.empty for rows in found.values())
    assert "big: other_record not run: no set has it" in capsys.readouterr().out


def test_a_judge_that_did_not_run_is_named_with_its_stage(run):
    with pytest.raises(UserError, match=r"responses/small\.parquet: absent; run the `judge` stage"):
        run({"big": telling("big"), "small": telling("small")}, asked=["big"])


def test_nothing_is_left_beside_the_table(run):
    run({"big": telling("big"), "small": telling("small")})
    assert sorted(path.name for path in exchange.EXCHANGED.iterdir()) == ["big.parquet", "small.parquet"]
