import json
import sqlite3
import subprocess
import sys
import textwrap
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.judge.store import Store, StoreError
from tests.shared.judge.scripted import completion

TEXT_NULL = json.dumps({**asdict(completion("a")), "text": None})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "responses.sqlite"


def test_what_was_put_comes_back_equal(path):
    answer = replace(
        completion("tie \U0001f600"), logprobs=[{"token": "a", "logprob": -0.5, "top": {"a": -0.5}}]
    )
    store = Store(path)
    store.put("k", "f", answer)
    assert store.get("k") == answer
    assert store.get("other") is None
    assert len(store) == 1
    store.close()
    assert Store(path).get("k") == answer


@given(text=st.text())
def test_any_text_survives(tmp_path_factory, text):
    store = Store(tmp_path_factory.mktemp("store") / "s.sqlite")
    store.put("k", "f", completion(text))
    assert store.get("k").text == text
    store.close()


@pytest.mark.parametrize(
    "body", ["", "{", "[]", '{"text": "a"}', "null", '{"unknown": 1}', b"\xff\xfe", TEXT_NULL]
)
def test_a_damaged_row_is_reported_ignored_and_replaced(path, body):
    store = Store(path)
    store.put("bad", "f", completion("a"))
    store.put("good", "f", completion("b"))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE responses_v1 SET completion=CAST(? AS TEXT) WHERE key='bad'", (body,))
    with pytest.warns(UserWarning, match=r"damaged answer bad.*asked again"):
        assert store.get("bad") is None
    assert store.damaged == 1
    assert store.get("good") == completion("b")
    store.put("bad", "f", completion("new"))
    assert store.get("bad") == completion("new")


def test_rows_of_another_version_are_named_and_left_alone(path):
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE responses_v0 (key TEXT)")
        db.execute("INSERT INTO responses_v0 VALUES ('old')")
    with pytest.warns(UserWarning, match="responses_v0"):
        store = Store(path)
    store.put("k", "f", completion("a"))
    store.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT key FROM responses_v0").fetchall() == [("old",)]


def test_a_file_that_is_no_database_is_one_clear_error(path):
    path.parent.mkdir()
    path.write_text("not a database at all, but long enough to be mistaken for one" * 50)
    with pytest.raises(StoreError, match=r"responses\.sqlite: not a usable answer store.*move it away"):
        Store(path)


def test_a_store_that_cannot_be_written_is_one_clear_error(path):
    store = Store(path)
    store._db.execute("PRAGMA query_only=ON")
    with pytest.raises(StoreError, match="could not be written"):
        store.put("k", "f", completion("a"))


def test_what_put_returned_from_survives_kill_9(path):
    program = textwrap.dedent(
        f"""
        import os, signal
        from pathlib import Path
        from shared.judge.store import Store
        from shared.judge.records import Completion
        store = Store(Path({str(path)!r}))
        for i in range(50):
            store.put(str(i), "f", Completion(str(i), "stop", 1, 0, 1, 0.0, "m"))
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    store = Store(path)
    assert [store.get(str(i)).text for i in range(50)] == [str(i) for i in range(50)]


def test_two_runs_may_share_a_store(path):
    one, two = Store(path), Store(path)
    one.put("a", "f", completion("1"))
    two.put("b", "f", completion("2"))
    assert one.get("b") == completion("2")
    assert two.get("a") == completion("1")
