"""``kill -9`` at random moments, every call accounted for; ``make bench`` does it at full size."""

from collections import Counter

import pandas as pd
import pytest

from benchmarks import kill
from benchmarks.kill import LOG, Plan, differing_responses, killed_and_finished, start, wait
from benchmarks.stage import CONCURRENCY, RESPONSES

PLAN = Plan("scripted", calls=160, kills=3)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    wait(start(PLAN, folder))
    return folder


def test_a_killed_run_pays_at_most_what_was_in_flight_and_ends_the_same(undisturbed, tmp_path, monkeypatch):
    monkeypatch.setattr(kill, "LATEST", 0.5)  # so that even a slow machine's kill comes before the end
    lives = list(killed_and_finished(PLAN, tmp_path))
    assert [life.killed for life in lives] == [True, True, True, False]
    assert all(0 <= life.lost <= CONCURRENCY for life in lives)
    assert all(life.sent > 0 for life in lives)
    # every answer is kept once, and the last life loses none
    assert sum(life.kept for life in lives) == PLAN.calls
    assert lives[-1].lost == 0
    # what was sent twice is what was lost, call by call; nothing else was ever sent
    times = Counter((tmp_path / LOG).read_text().splitlines())
    assert len(times) == PLAN.calls
    assert sum(n - 1 for n in times.values()) == sum(life.lost for life in lives)
    assert set(times) == set((undisturbed / LOG).read_text().splitlines())
    assert differing_responses(undisturbed, tmp_path) == 0


def test_an_undisturbed_run_sends_each_call_once(undisturbed):
    lines = (undisturbed / LOG).read_text().splitlines()
    assert len(lines) == len(set(lines)) == PLAN.calls
    assert len(pd.read_parquet(undisturbed / RESPONSES)) == PLAN.calls


def test_differing_responses_are_counted(undisturbed, tmp_path):
    table = pd.read_parquet(undisturbed / RESPONSES)
    table["seconds"] += 1.0  # times are no part of an answer
    table.loc[3, "text"] = "other"
    table.loc[5, "lock"] = None
    table.to_parquet(tmp_path / RESPONSES)
    assert differing_responses(undisturbed, tmp_path) == 2
    table[:-1].to_parquet(tmp_path / RESPONSES)
    assert differing_responses(undisturbed, tmp_path) == PLAN.calls


def test_a_run_that_breaks_by_itself_says_why(tmp_path):
    (tmp_path / "store.sqlite").write_text("no database, but long enough to be taken for one" * 50)
    with pytest.raises(kill.UserError, match="file is not a database"):
        wait(start(PLAN, tmp_path))
