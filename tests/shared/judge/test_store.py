import json
import sqlite3
import subprocess
import sys
import textwrap
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.judge import store as store_module
from shared.judge.store import Store, StoreError
from tests.shared.judge.scripted import completion


def body_with(**values):
    """A stored row in which some fields were changed."""
    return json.dumps({**asdict(completion("a")), **values})


WRONG_TYPES = [
    {"text": None},
    {"finish_reason": 1},
    {"model": None},
    {"prompt_tokens": "10"},
    {"cached_tokens": 4.0},
    {"completion_tokens": True},
    {"prompt_tokens": 10**30},  # no table could hold it
    {"seconds": "0"},
    {"logprobs": {}},
]


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
    "body",
    [
        *("", "{", "[]", '{"text": "a"}', "null", '{"unknown": 1}', b"\xff\xfe", "[" * 100_000),
        *(body_with(**wrong) for wrong in WRONG_TYPES),
    ],
)
def test_a_damaged_row_is_reported_ignored_and_replaced(path, capsys, body):
    store = Store(path)
    store.put("bad", "f", completion("a"))
    store.put("good", "f", completion("b"))
    with sqlite3.connect(path) as db:
        db.execute("UPDATE responses_v1 SET completion=CAST(? AS TEXT) WHERE key='bad'", (body,))
    assert store.get("bad") is None
    # one line, without the place in the source that warnings.warn would print
    assert capsys.readouterr().err == f"warning: {path}: damaged answer bad... is ignored and asked again\n"
    assert store.damaged == 1
    assert store.get("good") == completion("b")
    store.put("bad", "f", completion("new"))
    assert store.get("bad") == completion("new")


def test_rows_of_another_version_are_named_and_left_alone(path, capsys):
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE responses_v0 (key TEXT)")
        db.execute("INSERT INTO responses_v0 VALUES ('old')")
    store = Store(path)
    told = f"warning: {path}: answers of another store version (responses_v0) are left unused\n"
    assert capsys.readouterr().err == told
    store.put("k", "f", completion("a"))
    store.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT key FROM responses_v0").fetchall() == [("old",)]


def test_a_file_that_is_no_database_is_one_clear_error(path):
    path.parent.mkdir()
    path.write_text("not a database at all, but long enough to be mistaken for one" * 50)
    with pytest.raises(StoreError, match=r"responses\.sqlite: cannot be opened.*move it away.*\.recover"):
        Store(path)


def damage(path):
    """Overwrite the start of every page after the first."""
    body = bytearray(path.read_bytes())
    for page in range(4096, len(body), 4096):
        body[page : page + 60] = b"\xff" * 60
    path.write_bytes(body)


@pytest.mark.parametrize("use", [len, lambda store: store.get("k")])
def test_a_malformed_file_is_one_clear_error(path, use):
    store = Store(path)
    store.put("k", "f", completion("a"))
    store.close()
    damage(path)
    with pytest.raises(StoreError, match=r"responses\.sqlite: cannot be read.*move it away"):
        use(Store(path))


@pytest.mark.parametrize("use", [len, lambda store: store.get("k")])
def test_a_table_of_another_program_is_not_to_be_moved_away(path, use):
    path.parent.mkdir()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE responses_v1 (a)")
    store = Store(path)
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE responses_v1")
    with pytest.raises(StoreError, match=r"no such table.*another file in `store`") as caught:
        use(store)
    assert "move it away" not in str(caught.value)


def test_a_held_file_is_to_be_waited_for_and_not_moved_away(path, monkeypatch):
    monkeypatch.setattr(store_module, "PATIENCE_S", 0.05)
    store = Store(path)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"could not be written.*another program holds it") as caught:
        store.put("k", "f", completion("a"))
    store.close()
    holder.execute("ROLLBACK")
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match=r"cannot be opened.*another program holds it"):
        Store(path)
    assert "move it away" not in str(caught.value)


def test_a_full_disk_asks_for_space(path):
    store = Store(path)
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count={pages}")  # what SQLite says then is what a full disk says
    with pytest.raises(StoreError, match=r"could not be written.*full.*free space"):
        store.put("k", "f", completion("a" * 100_000))


def test_a_store_that_cannot_be_written_is_one_clear_error(path):
    store = Store(path)
    store._db.execute("PRAGMA query_only=ON")
    with pytest.raises(StoreError, match=r"could not be written.*make it writable"):
        store.put("k", "f", completion("a"))


def test_a_folder_in_the_files_place_is_one_clear_error(path):
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match=r"cannot be opened.*another file in `store`"):
        Store(path)


@pytest.mark.parametrize("below", ["s.sqlite", "deeper/s.sqlite"])
def test_a_file_in_the_folders_place_is_one_clear_error(tmp_path, below):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"its folder cannot be made.*file.*another place in `store`"):
        Store(tmp_path / "file" / below)


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
