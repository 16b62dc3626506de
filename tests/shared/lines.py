"""Rows of data sets, and files of such rows: for tests only."""

from __future__ import annotations

import json


def write(file, *rows):
    """A file of JSON Lines."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def without(row, *keys):
    return {key: value for key, value in row.items() if key not in keys}
