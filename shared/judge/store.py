"""The store: every answer ever paid for, in one SQLite file that survives ``kill -9``."""

from __future__ import annotations

import json
import sqlite3
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from shared.judge.records import Completion, EngineError

FORMAT = 1
"""Version of a stored row. Rows of another version lie in a table of their own and are left alone."""

# As bytes: a damaged row need not be UTF-8, and is then a bad row rather than a broken database.
_SELECT = f"SELECT CAST(completion AS BLOB) FROM responses_v{FORMAT} WHERE key=?"


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
        If the file is not a database that can be read and written.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.damaged = 0
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = self._open()
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{self.path}: not a usable answer store ({error}); move it away to start a new one"
            ) from error
        self._report_other_formats()

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=30, isolation_level=None)
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
            warnings.warn(
                f"{self.path}: answers of another store version ({', '.join(other)}) are left unused",
                stacklevel=3,
            )

    def get(self, key: str) -> Completion | None:
        """The stored completion, or None; a damaged row is reported and counts as absent."""
        try:
            row = self._db.execute(_SELECT, (key,)).fetchone()
        except sqlite3.Error as error:
            raise StoreError(
                f"{self.path}: cannot be read ({error}); move it away to start a new one"
            ) from error
        if row is None:
            return None
        try:
            return _completion(row[0])
        except (ValueError, TypeError):
            self.damaged += 1
            warnings.warn(
                f"{self.path}: damaged answer {key[:12]}... is ignored and asked again", stacklevel=2
            )
            return None

    def put(self, key: str, fingerprint: str, completion: Completion) -> None:
        """Keep a completion; on return it survives the process.

        Raises
        ------
        StoreError
            If it cannot be written (disk full, locked by another run for over 30 s, read-only).
        """
        body = json.dumps(asdict(completion), ensure_ascii=True)
        try:
            self._db.execute(
                f"INSERT OR REPLACE INTO responses_v{FORMAT} VALUES (?, ?, ?)", (key, fingerprint, body)
            )
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: an answer could not be written ({error})") from error

    def __len__(self) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM responses_v{FORMAT}").fetchone()[0])

    def close(self) -> None:
        self._db.close()


def _completion(body: bytes) -> Completion:
    """The completion of a row; ValueError or TypeError where the row is damaged."""
    completion = Completion(**_loads(body))
    if not isinstance(completion.text, str) or not isinstance(completion.finish_reason, str):
        raise TypeError("text and finish_reason must be strings")
    return completion


def _loads(body: bytes) -> Any:
    """A row's JSON; orjson reads it several times as fast, but neither broken surrogates nor infinities."""
    try:
        return orjson.loads(body)
    except ValueError:
        return json.loads(body)
