from contextlib import asynccontextmanager
from typing import NamedTuple

import pandas as pd
import pytest

from shared.errors import UserError
from shared.judge import stage
from shared.judge.client import Client
from shared.judge.records import EngineError, PromptTooLong
from shared.judge.store import Store
from tests.shared.judge.scripted import ScriptedEngine, completion, request


class Trial(NamedTuple):
    trial: str


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the stage with a scripted engine; gives the responses' table."""

    def run(script, trials, protocol):
        @asynccontextmanager
        async def opened(common, slug):
            yield Client(ScriptedEngine(script), Store(tmp_path / "s.sqlite"), concurrency=2, retries=0)

        monkeypatch.setattr(stage, "open_client", opened)
        out = tmp_path / "responses" / "judge.parquet"
        stage.ask_judge(None, "judge", [Trial(t) for t in trials], protocol, out, total=len(trials))
        return pd.read_parquet(out)

    return run


async def two_steps(trial, ask):
    first = await ask("first", request(trial.trial))
    await ask("second", request(first.text), lock="hash")


def test_one_row_a_call_in_trial_order(run):
    table = run(lambda r: r.messages[0].content + "!", ["a", "b"], two_steps)
    table["lock"] = table["lock"].fillna("")
    assert table[["trial", "step", "text", "lock"]].values.tolist() == [
        ["a", "first", "a!", ""],
        ["a", "second", "a!!", "hash"],
        ["b", "first", "b!", ""],
        ["b", "second", "b!!", "hash"],
    ]
    assert table["error"].isna().all()
    assert table["key"].str.len().eq(64).all()


def test_a_failed_trial_keeps_what_it_had_and_says_why(run, capsys):
    def script(asked):
        if asked.messages[0].content == "b!":
            raise PromptTooLong("item b: too long")
        return asked.messages[0].content + "!"

    table = run(script, ["a", "b", "c"], two_steps)
    assert table["trial"].tolist() == ["a", "a", "b", "b", "c", "c"]
    failed = table[table["step"] == "failed"]
    assert failed[["trial", "error"]].values.tolist() == [["b", "item b: too long"]]
    assert failed["text"].isna().all()
    assert "failed: b: item b: too long" in capsys.readouterr().out


def test_no_answer_at_all_is_an_error_and_writes_no_table(run, tmp_path):
    def script(asked):
        raise PromptTooLong("too long")

    with pytest.raises(UserError, match="no trial was answered; the last error: b: too long"):
        run(script, ["a", "b"], two_steps)


def test_a_lasting_error_ends_the_stage_without_a_table(run, tmp_path):
    def script(asked):
        if asked.messages[0].content == "b":
            raise EngineError("401: check the key")
        return completion("x")

    with pytest.raises(EngineError, match="401"):
        run(script, ["a", "b"], two_steps)
    assert not (tmp_path / "responses" / "judge.parquet").exists()
    # the answers are in the store all the same
    assert len(Store(tmp_path / "s.sqlite")) == 2


def test_a_table_larger_than_a_row_group_is_whole(run, monkeypatch):
    monkeypatch.setattr(stage, "ROWS_A_GROUP", 3)
    table = run(lambda r: r.messages[0].content, [str(i) for i in range(10)], two_steps)
    assert len(table) == 20
