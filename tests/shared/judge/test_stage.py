import json
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import pandas as pd
import pytest

from shared.errors import UserError
from shared.judge import stage
from shared.judge.client import Client
from shared.judge.records import EngineError, PromptTooLong
from shared.judge.slug import slug_argument
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
    printed = capsys.readouterr().out
    assert "failed: b: item b: too long" in printed
    assert "judge: 1 trials failed; to ask only those again" in printed and "dvc repro --force" in printed


def test_of_the_log_probabilities_the_first_tokens_are_kept(run):
    first = {"token": "3", "logprob": -0.25, "top": {"3": -0.25, "half a pair: \ud83d": -float("inf")}}

    def script(asked):
        logprobs = {"both": [first, {"token": "", "logprob": 0.0, "top": {}}], "empty": []}
        return replace(completion("3"), logprobs=logprobs.get(asked.messages[0].content))

    async def one_step(trial, ask):
        await ask("judge", request(trial.trial))

    table = run(script, ["both", "empty", "none"], one_step)
    assert json.loads(table["logprobs"][0]) == first
    assert table["logprobs"][1:].isna().all()


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
    assert list((tmp_path / "responses").iterdir()) == []  # no half table either
    # the answers are in the store all the same
    assert len(Store(tmp_path / "s.sqlite")) == 2


def test_a_table_larger_than_a_row_group_is_whole(run, monkeypatch):
    monkeypatch.setattr(stage, "ROWS_A_GROUP", 3)
    table = run(lambda r: r.messages[0].content, [str(i) for i in range(10)], two_steps)
    assert len(table) == 20


def test_two_stages_at_once_never_write_to_one_file(tmp_path):
    out = tmp_path / "judge.parquet"
    row = dict.fromkeys(stage.SCHEMA.names)
    with stage._writer(out) as one, stage._writer(out) as two:
        one([{**row, "trial": "a"}])
        two([{**row, "trial": "b"}])
    # the first to be opened is the last to be done, and whole
    assert pd.read_parquet(out)["trial"].tolist() == ["a"]
    assert list(tmp_path.iterdir()) == [out]


def test_a_table_may_be_read_by_others(tmp_path):
    """A temporary file is its owner's alone; the table is a file like any other."""
    plain = tmp_path / "plain"
    plain.write_text("")
    with stage._writer(tmp_path / "judge.parquet"):
        pass
    assert (tmp_path / "judge.parquet").stat().st_mode == plain.stat().st_mode


def test_the_command_line_names_one_judge_that_there_is():
    assert slug_argument(["judge.py", "b"], {"a", "b"}) == "b"
    for argv in (["judge.py"], ["judge.py", "a", "b"]):
        with pytest.raises(UserError, match="name one judge after the command: a, b"):
            slug_argument(argv, {"b", "a"})
    with pytest.raises(UserError, match=r"no judge 'c' in params.yaml; there are: a, b"):
        slug_argument(["judge.py", "c"], {"b", "a"})


def test_an_unknown_judge_is_named_with_those_that_there_are(tmp_path):
    common = SimpleNamespace(judges={"b": None, "a": None})
    with pytest.raises(UserError, match=r"no judge 'c' in params.yaml; there are: a, b"):
        stage.ask_judge(common, "c", [], two_steps, tmp_path / "c.parquet")
