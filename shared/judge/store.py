"""The store: every answer ever paid for, in one SQLite file that survives ``kill -9``."""

from __future__ import annotations

import json
import sqlite3
import sys
from dataclasses import asdict
from pathlib import Path
from types import NoneType
from typing import Any

import orjson

from shared.judge.records import Completion, EngineError

FORMAT = 1
"""Version of a stored row. Rows of another version lie in a table of their own and are left alone."""

PATIENCE_S = 30.0
"""How long a run waits for another program that holds the file."""

# As bytes: a damaged row need not be UTF-8, and is then a bad row rather than a broken database.
_SELECT = f"SELECT CAST(completion AS BLOB) FROM responses_v{FORMAT} WHERE key=?"

# What each of these fields must be in a stored row, in this order.
_TEXT_AND_COUNTS = (str, str, str, int, int, int)

# SQLite's primary result codes, by what helps.
_NO_STORE = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}
_HELD = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY}


class StoreError(EngineError):
    """The store's file cannot be used; the message names it and the fix."""


class Store:
    """Answers by key, written one by one as they arrive.

    Parameters
    ----------
    path : Path
        The SQLite file; it and its folder are made where absent. WAL mode: a killed process loses
        nothing that `put` had returned from, and two runs may share the file.

    Raises
    ------
    StoreError
        If the file is not a database that can be read and written, here or in any method; the message
        says what helps: where it is held by another program, or the disk is full, nothing is lost.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.damaged = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{self.path}: its folder cannot be made ({error.strerror}: {error.filename}); "
                "name another place in `store` in params.yaml"
            ) from error
        try:
            self._db = self._open()
            self._report_other_formats()
        except sqlite3.Error as error:
            raise self._error("cannot be opened", error) from error

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=PATIENCE_S, isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        # In WAL mode NORMAL is safe against a killed process; only a power cut can lose the last answers.
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute(
            f"CREATE TABLE IF NOT EXISTS responses_v{FORMAT} "
            "(key TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, completion TEXT NOT NULL) WITHOUT ROWID"
        )
        return db

    def _report_other_formats(self) -> None:
        names = self._db.execute(
            "SELECT name FROM sqlite_master WHERE type='table' AND name LIKE 'responses_v%'"
        )
        other = sorted(name for (name,) in names if name != f"responses_v{FORMAT}")
        if other:
            self._warn(f"answers of another store version ({', '.join(other)}) are left unused")

    def _warn(self, words: str) -> None:
        print(f"warning: {self.path}: {words}", file=sys.stderr)

    def _error(self, what: str, error: sqlite3.Error) -> StoreError:
        return StoreError(f"{self.path}: {what} ({error}); {_advice(error, self.path)}")

    def get(self, key: str) -> Completion | None:
        """The stored completion, or None; a damaged row is reported and counts as absent."""
        try:
            row = self._db.execute(_SELECT, (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._error("cannot be read", error) from error
        if row is None:
            return None
        try:
            return _completion(row[0])
        except (ValueError, TypeError, RecursionError):
            self.damaged += 1
            self._warn(f"damaged answer {key[:12]}... is ignored and asked again")
            return None

    def put(self, key: str, fingerprint: str, completion: Completion) -> None:
        """Keep a completion; on return it survives the process.

        Raises
        ------
        StoreError
            If it cannot be written (disk full, held by another program for over 30 s, read-only).
        """
        body = json.dumps(asdict(completion), ensure_ascii=True)
        try:
            self._db.execute(
                f"INSERT OR REPLACE INTO responses_v{FORMAT} VALUES (?, ?, ?)", (key, fingerprint, body)
            )
        except sqlite3.Error as error:
            raise self._error("an answer could not be written", error) from error

    def __len__(self) -> int:
        try:
            return int(self._db.execute(f"SELECT count(*) FROM responses_v{FORMAT}").fetchone()[0])
        except sqlite3.Error as error:
            raise self._error("cannot be read", error) from error

    def close(self) -> None:
        self._db.close()


def _advice(error: sqlite3.Error, path: Path) -> str:
    """What helps. A file is to be moved away only where it is itself at fault: it holds paid answers."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the rest tells the variant
    if code in _NO_STORE:
        return f"move it away to start a new one (`sqlite3 {path} .recover` saves what can be read)"
    if code in _HELD:
        return "another program holds it: close that and run again"
    if code in _NO_ROOM:
        return "the disk is full or read-only: free space, or make it writable, and run again"
    return "name another file in `store` in params.yaml, in a folder that can be written"


def _completion(body: bytes) -> Completion:
    """The completion of a row; ValueError, TypeError or RecursionError where the row is damaged."""
    done = Completion(**_loads(body))
    # One comparison of types: this runs at each lookup.
    counts = (type(done.prompt_tokens), type(done.cached_tokens), type(done.completion_tokens))
    if (type(done.text), type(done.finish_reason), type(done.model), *counts) != _TEXT_AND_COUNTS:
        raise TypeError("texts must be strings, and numbers of tokens integers")
    if type(done.seconds) not in (float, int) or type(done.logprobs) not in (list, NoneType):
        raise TypeError("seconds must be a number, and logprobs a list")
    return done


def _loads(body: bytes) -> Any:
    """A row's JSON; orjson reads it several times as fast, but neither broken surrogates nor infinities."""
    try:
        return orjson.loads(body)
    except ValueError:
        return json.loads(body)
