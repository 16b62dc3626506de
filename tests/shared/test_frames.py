"""Tables between stages: what can be read is read, what cannot is one line that names the stage."""

import re

import pandas as pd
import pytest

from shared.errors import UserError
from shared.frames import all_there, read, read_judges, rows_of

TABLE = pd.DataFrame({"item": ["a", "b"], "n": [1, 2]})


def test_a_table_comes_back_and_is_gone_through_by_rows(tmp_path):
    TABLE.to_parquet(tmp_path / "items.parquet")
    table = read(tmp_path / "items.parquet", "data")
    assert list(rows_of(table)) == [{"item": "a", "n": 1}, {"item": "b", "n": 2}]


def test_an_absent_table_names_the_stage_that_makes_it(tmp_path):
    path = tmp_path / "items.parquet"
    with pytest.raises(UserError, match=re.escape(f"{path}: absent; run the `data` stage (make repro)")):
        read(path, "data")


def test_a_damaged_table_is_one_line_wherever_the_damage_lies(tmp_path):
    path = tmp_path / "items.parquet"
    TABLE.to_parquet(path)
    whole = path.read_bytes()
    # empty, cut, the first page overwritten, the footer overwritten, not Parquet at all
    footer = whole[:-60] + b"\xff" * 50 + whole[-10:]
    for damaged in (b"", whole[:50], whole[:4] + b"\xff" * 60 + whole[64:], footer, b"item,n\na,1\n"):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"items\.parquet: damaged .*; run the `data` stage") as caught:
            read(path, "data")
        assert "\n" not in str(caught.value)


def test_judges_are_read_one_file_each_and_told_apart(tmp_path):
    for judge in ("first", "second", "removed"):
        TABLE.to_parquet(tmp_path / f"{judge}.parquet")
    both = read_judges(tmp_path, ["second", "first"], "judge")
    assert list(both["judge"]) == ["second", "second", "first", "first"]
    with pytest.raises(UserError, match=r"lost\.parquet: absent; run the `judge` stage"):
        read_judges(tmp_path, ["first", "lost"], "judge")


def test_what_a_stage_left_out_is_told_with_that_stage():
    all_there(iter("aab"), TABLE["item"], "items are not there", "design")
    with pytest.raises(UserError, match=r"^2 items are not there, e\.g\. 'c'; run the `design` stage"):
        all_there("acd", TABLE["item"], "items are not there", "design")
