import json
import subprocess
import sys
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import kill, memory, order, overhead, prefill, process, rubric, run, study, warm
from benchmarks.engines import ScriptedEngine
from benchmarks.result import Bar, Benchmark, Measured, machine
from shared.errors import UserError
from shared.metrics.resampling import Inference
from studies.rubric_position_bias.captions import TEXTS
from tests.studies.rubric_position_bias.planted import PAPER_JUDGES, paper_grid, planted

NAMES = [
    "client_overhead_ratio",
    "prefill_ratio",
    "order_invariance",
    "warm_calls",
    "warm_lookups_ratio",
    "kill_extra_calls",
    "kill_real_extra_calls",
    "client_memory_ratio",
    "rubric_cached_share",
    "rubric_analysis_seconds",
    "rubric_analysis_gb",
]
RNG = np.random.default_rng(1)
KEYS = ["name", "value", "unit", "bar", "ok", "n", "note"]


def toy(name, value=1.0, flaw=""):
    return Benchmark(name, "things", Bar("<=", 1.0), lambda: Measured(value, 3, "counted", flaw))


# --- bars and rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sign", "limit", "holds", "fails"),
    [
        ("<=", 1.05, [1.05, 0.3], [1.0501, float("nan")]),
        (">=", 0.5, [0.5, 2.0], [0.4999, float("nan")]),
        ("==", 1.0, [1.0], [0.99, 1.01, float("nan")]),
        ("==", 0, [0], [1, float("nan")]),
    ],
)
def test_a_bar_is_judged_right(sign, limit, holds, fails):
    bar = Bar(sign, limit)
    assert all(bar.holds(value) for value in holds)
    assert not any(bar.holds(value) for value in fails)


def test_a_row_has_the_keys_and_names_the_machine():
    row = toy("a", 1 / 3).run()
    assert list(row) == KEYS
    assert row == {
        "name": "a",
        "value": 0.3333,
        "unit": "things",
        "bar": "<= 1",
        "ok": True,
        "n": 3,
        "note": f"counted; {machine()}",
    }
    assert "cores" in machine() and "Python 3." in machine()


def test_the_bar_is_laid_on_the_value_and_not_on_what_is_shown_of_it():
    row = toy("a", 1.00001).run()
    assert (row["value"], row["ok"]) == (1.0, False)


def test_a_flaw_fails_a_bar_that_the_value_holds():
    row = toy("a", 0.5, flaw="2 responses differ").run()
    assert (row["value"], row["ok"]) == (0.5, False)
    assert row["note"].startswith("2 responses differ; counted; ")


def test_an_undefined_value_is_null_and_never_ok():
    row = toy("a", float("nan")).run()
    assert (row["value"], row["ok"]) == (None, False)


# --- the runner -------------------------------------------------------------------------------------


def test_names_are_stable():
    assert [benchmark.name for benchmark in run.BENCHMARKS] == NAMES


def test_bars_are_those_that_the_project_set_itself():
    assert {b.name: str(b.bar) for b in run.BENCHMARKS} == {
        "client_overhead_ratio": "<= 1.05",
        "prefill_ratio": "<= 1.15",
        "order_invariance": "== 1",
        "warm_calls": "== 0",
        "warm_lookups_ratio": ">= 0.5",
        "kill_extra_calls": "<= 80",  # 20 kills, 4 calls in flight
        "kill_real_extra_calls": "<= 4",
        "client_memory_ratio": "<= 1.1",
        "rubric_cached_share": ">= 0.6",
        "rubric_analysis_seconds": "<= 60",
        "rubric_analysis_gb": "<= 4",
    }


def test_all_results_are_written_in_order(tmp_path):
    path = tmp_path / "results.json"
    rows = run.run("", path, [toy("b"), toy("a", 2.0)])
    assert json.loads(path.read_text()) == rows
    assert [(row["name"], row["ok"]) for row in rows] == [("b", True), ("a", False)]


def test_only_runs_some_and_keeps_the_others(tmp_path):
    path = tmp_path / "results.json"
    run.run("", path, [toy("warm_a"), toy("cold"), toy("warm_b"), toy("gone")])
    ran = run.run("warm", path, [toy("new"), toy("warm_a", 0.1), toy("cold", 0.2), toy("warm_b", 0.3)])
    assert [row["name"] for row in ran] == ["warm_a", "warm_b"]
    # cold keeps its last value, new has none yet, gone is dropped
    written = {row["name"]: row["value"] for row in json.loads(path.read_text())}
    assert written == {"warm_a": 0.1, "cold": 1.0, "warm_b": 0.3}


def test_a_benchmark_that_breaks_costs_no_other_result(tmp_path):
    def broken():
        raise UserError("no model")

    path = tmp_path / "results.json"
    with pytest.raises(UserError, match="no model"):
        run.run("", path, [toy("a"), Benchmark("b", "things", Bar("==", 1), broken)])
    assert [row["name"] for row in json.loads(path.read_text())] == ["a"]


def test_a_prefix_of_nothing_lists_the_names():
    with pytest.raises(UserError, match=r"ONLY=wram: .*client_overhead_ratio, .*client_memory_ratio"):
        run.chosen("wram")


@pytest.mark.parametrize(("arguments", "prefix"), [([], ""), (["ONLY="], ""), (["ONLY=warm"], "warm")])
def test_the_command_line(arguments, prefix):
    assert run.prefix_of(arguments) == prefix


@pytest.mark.parametrize("arguments", [["warm"], ["only=warm"], ["ONLY=a", "ONLY=b"]])
def test_another_command_line_is_refused(arguments):
    with pytest.raises(UserError, match="ONLY=<prefix of a name>"):
        run.prefix_of(arguments)


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"value": 1}]'])
def test_results_that_cannot_be_read_are_named(tmp_path, text):
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"results\.json: not a list of results"):
        run.run("a", path, [toy("a")])


def test_a_missed_bar_ends_the_command_with_its_name(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "run", lambda prefix: [toy("good").run(), toy("bad", 2.0).run()])
    monkeypatch.setattr("sys.argv", ["run"])
    with pytest.raises(UserError, match="below the bar: bad;"):
        run.main()
    assert "good" in capsys.readouterr().out


def test_the_committed_results_are_of_these_benchmarks(root):
    rows = json.loads((root / run.RESULTS).read_text(encoding="utf-8"))
    assert all(list(row) == KEYS for row in rows)
    assert [row["name"] for row in rows] == [name for name in NAMES if name in {row["name"] for row in rows}]
    bars = {benchmark.name: benchmark.bar for benchmark in run.BENCHMARKS}
    assert all(row["bar"] == str(bars[row["name"]]) for row in rows)


# --- the trie ---------------------------------------------------------------------------------------


def test_trie_nodes_by_hand():
    # 1 -> 2 -> {3, 4}, and 5 beside: nodes 1, 2, 3, 4, 5
    assert prefill.trie_nodes([[1, 2, 3], [1, 2, 4], [1, 2], [5]]) == 5
    assert prefill.trie_nodes([]) == prefill.trie_nodes([[]]) == 0


@given(st.lists(st.lists(st.integers(0, 2), max_size=6), max_size=12))
def test_trie_nodes_are_the_distinct_prefixes(sequences):
    prefixes = {tuple(s[:i]) for s in sequences for i in range(1, len(s) + 1)}
    assert prefill.trie_nodes(sequences) == len(prefixes)


# --- the workload -----------------------------------------------------------------------------------


def test_the_workload_is_every_scheme_under_every_probe_on_two_kinds_of_pairs():
    trials = study.trials(2)
    # 2 documents, 2 kinds, 5 schemes, 5 probes
    assert len(trials) == len({trial.trial for trial in trials}) == 2 * 2 * 5 * 5
    # both PBP arms ask the same in turn 1, so 4 of 5 schemes begin differently
    assert len(study.first_requests(2)) == 2 * 2 * 4 * 5


def test_the_workload_is_the_same_under_every_profile():
    # the default's caps, whatever params.yaml says now
    assert (
        study.settings()[0].answer.max_tokens
        == study.read(study.PROFILES / "default.yaml")[study.STUDY]["answer"]["max_tokens"]
    )


# --- the measurements, at tiny sizes ----------------------------------------------------------------


class Characters(ScriptedEngine):
    """Stands for the embedded judge: a token a character, and no reuse at all."""

    def __init__(self):
        super().__init__()
        self.computed_tokens = 0

    async def tokens(self, messages):
        return [ord(c) for m in messages for c in m.content], []

    async def complete(self, request):
        self.computed_tokens += len((await self.tokens(request.messages))[0])
        return await super().complete(request)


@pytest.fixture
def characters(monkeypatch):
    """No language model is asked; two trials of four requests in all."""

    @asynccontextmanager
    async def opened():
        yield Characters()

    for module in (study, overhead, order):
        monkeypatch.setattr(module, "embedded_judge", opened)
    some = [t for t in study.trials(1) if t.scheme == "pbp_once" and t.probe in ("blind", "truth")][:2]
    monkeypatch.setattr(study, "trials", lambda documents: some)
    asked = study.asked
    asked.cache_clear()
    yield
    asked.cache_clear()


def test_prefill_counts_computed_tokens_over_trie_nodes(characters):
    found = prefill.prefill_ratio(1)
    asked = study.asked(1)
    # notes and score of each trial; the scripted answer is no JSON, so nothing is narrated
    assert found.n == len(asked.requests) == 4
    assert asked.computed_tokens == sum(map(len, asked.tokens))
    assert found.value == asked.computed_tokens / prefill.trie_nodes(asked.tokens)
    assert found.value > 1.5  # two trials share nearly all of a long document


def test_order_is_invariant_where_an_answer_depends_on_its_request_alone(characters):
    found = order.order_invariance(1, 2)
    assert (found.value, found.n, found.flaw) == (1.0, 2, "")


def test_order_counts_texts_that_depend_on_neighbours(characters, monkeypatch):
    calls = iter(range(100))

    async def complete(self, request):
        answer = await ScriptedEngine.complete(self, request)
        return type(answer)(str(next(calls)), "stop", 1, 0, 1, 0.0, "m")

    monkeypatch.setattr(Characters, "complete", complete)
    assert order.order_invariance(1, 2).value == 0.0


def test_too_few_requests_are_a_flaw(characters):
    assert order.order_invariance(1, 100).flaw == "the study makes 2 requests, not 100"


def test_overhead_is_the_median_over_pairs_of_the_same_requests(characters, monkeypatch):
    # seconds of client, loop; loop, client; client, loop: ratios 2/1, 9/3, 4/1, of which 3 is the median
    seconds = iter([2.0, 1.0, 3.0, 9.0, 4.0, 1.0])
    asked = []

    async def timed(way, requests):
        asked.append((way, len(requests)))
        return next(seconds)

    monkeypatch.setattr(overhead, "_seconds", timed)
    found = overhead.overhead_ratio(pairs=3, n=2)
    assert (found.value, found.n) == (3.0, 2)
    assert asked == [(way, 2) for way in ("client", "loop", "loop", "client", "client", "loop")]


def test_overhead_refuses_a_side_that_sends_something_else(characters, monkeypatch):
    async def backwards(engine, requests):
        await overhead._loop(engine, requests[::-1])

    assert overhead.overhead_ratio(pairs=1, n=2).n == 2
    monkeypatch.setattr(overhead, "_through_client", backwards)
    with pytest.raises(AssertionError, match="the client sent other requests, or in another order"):
        overhead.overhead_ratio(pairs=1, n=2)


def test_a_second_run_makes_no_call():
    assert warm.calls(100).value == 0


def test_lookups_are_compared_on_requests_of_real_size():
    found = warm.lookups_ratio(100, rounds=1)
    size = int(found.note.split("requests of ")[1].split()[0])
    assert 4000 < size < 8000


def test_the_peak_is_more_than_the_process_holds_now():
    import psutil

    assert process.peak_bytes() >= psutil.Process().memory_info().rss * 0.99


def test_a_peak_counts_the_processes_that_were_started():
    size = 200_000_000
    held = f"import time; held = bytearray(b'1') * {size}; time.sleep(1)"
    done, peak = process.peak_while(lambda: subprocess.run([sys.executable, "-c", held], check=True))
    assert done.returncode == 0 and peak >= size


def test_an_error_of_the_work_comes_through_and_leaves_no_watcher():
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        process.peak_while(lambda: 1 // 0)
    assert threading.active_count() == before


def test_memory_is_measured_in_processes_of_their_own():
    found = memory.memory_ratio(many=400, few=200)
    assert 0.8 < found.value < 1.2  # both are nearly all imports
    assert found.n == 400


def test_the_kill_bars_are_what_can_be_in_flight():
    assert (kill.SCRIPTED.most_extra, kill.REAL.most_extra) == (20 * 4, 1 * 4)
    assert (kill.SCRIPTED.calls, kill.SCRIPTED.kills) == (2000, 20)


def test_a_plan_with_kills_that_come_too_late_is_flawed(monkeypatch):
    monkeypatch.setattr(kill, "killed_and_finished", lambda plan, folder: _unkilled(plan, folder))
    found = kill.extra_calls(kill.Plan("scripted", calls=4, kills=1))
    assert found.value == 0
    assert found.flaw == "0 of 1 kills found the process at work"


def _unkilled(plan, folder: Path):
    yield kill._life(plan, folder)


# --- the second study -------------------------------------------------------------------------------


def test_the_cached_share_is_of_the_main_design_each_request_once():
    requests = list(rubric._requests())
    # 6 items in ten balanced orders, of which the canonical is one; 2 items, 4 criteria: 8 orders, 2 scales
    assert len(requests) == 6 * 10 + 2 * 8 * 2
    assert len({request.item for request in requests}) == 8


FEW = Inference(resamples=20, permutations=19)


def test_the_analysis_that_is_timed_makes_every_table(capsys):
    judged = paper_grid(RNG, probabilities=True, share=0.1)
    assert rubric.analyse(judged[judged["judge"].isin(PAPER_JUDGES[:2])], FEW) > 0
    told = [line.split(": ") for line in capsys.readouterr().err.splitlines()]
    assert {name for name, rows in told if not rows.startswith("0 rows")} == set(TEXTS)


def test_an_analysis_that_lacks_a_table_is_not_timed():
    judged = planted(24, 5, ("balanced", "random", "fixed"), np.zeros(5), np.zeros(5), 1.0, RNG, judge="a")
    with pytest.raises(UserError, match=r"no rows in rubric_size, criterion_order, .*temperature"):
        rubric.analyse(judged, FEW)


def test_the_statistics_that_are_timed_are_those_of_params(monkeypatch):
    seen = []
    monkeypatch.setattr(rubric, "all_tables", lambda study, section: seen.append(study.inference) or [])
    rubric.analyse(paper_grid(RNG, share=0.02))
    assert (seen[0].resamples, seen[0].permutations) == (2000, 10000)


def test_the_grid_that_is_timed_has_the_paper_s_conditions():
    judged = paper_grid(RNG, share=0.02)
    assert set(judged["judge"]) == set(PAPER_JUDGES) and set(judged["setting"]) == {"score", "criteria"}
    assert set(judged["temperature"]) == {0, 0.3, 0.6, 1.0}
    assert set(judged["effort"]) == {"", "low", "medium", "high"}
    assert set(judged["scheme"]) == {"base", "prose", "debias", "cot", "verify", "anchor"}
    score = judged[judged["setting"] == "score"]
    both = score.loc[score["strategy"] == "random", "size"].unique()
    assert set(score["size"]) == {2, 3, 5, 9} and set(both) == {5, 9}
    together = judged[judged["setting"] == "criteria"]
    assert set(together["dataset"]) == {"hanna", "summeval"} and set(together["scale"]) == {"12345", "54321"}
    # A fixed order is asked once where it would repeat itself.
    assert judged.loc[(judged["strategy"] == "fixed") & (judged["temperature"] == 0), "draw"].eq(0).all()
