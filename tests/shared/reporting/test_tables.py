"""Tidy tables: what is undefined stays so, nothing is rounded to a lie, and what was meant reads back."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.reporting.tables import (
    COLUMNS,
    between,
    fingerprints,
    interval,
    markdown,
    number,
    p_value,
    read,
    whole,
    write,
)


def row(**changes):
    cells = dict.fromkeys(COLUMNS, "") | {"value": 0.5, "ci_low": 0.25, "ci_high": 0.75}
    return cells | {"n_items": 4, "n_clusters": 2, "n_unparsed": 0} | changes


def table(*rows):
    frame = pd.DataFrame(rows)
    return frame[[*COLUMNS, *(name for name in frame if name not in COLUMNS)]]


@pytest.mark.parametrize(
    ("write_one", "value", "text"),
    [
        (number, 0.8395, "0.840"),  # 0.8395 is a little above in binary
        (number, -0.0001, "0.000"),  # never -0.000
        (number, math.nan, "n/a"),
        (p_value, 0.04, "0.040"),
        (p_value, 0.0001, "1.0e-04"),  # a p-value is never 0.000
        (p_value, math.nan, "n/a"),
        (whole, 12.0, "12"),
        (whole, math.nan, "n/a"),
    ],
)
def test_numbers(write_one, value, text):
    assert write_one(value) == text


def test_intervals_and_ranges():
    assert interval(0.5, 0.25, 0.75) == "0.500 [0.250, 0.750]"
    assert interval(0.5, math.nan, math.nan) == "0.500 [n/a]"  # one cluster: a value, no interval
    assert interval(math.nan, 0, 1) == "n/a"
    assert between(0.71, 0.84) == "0.710 to 0.840"
    assert between(1.0, 1.0) == "1.000"
    assert between(math.nan, math.nan) == ""


@given(st.floats(1e-12, 1))
def test_no_p_value_reads_zero(p):
    assert float(p_value(p)) > 0


def test_a_table_reads_back(tmp_path):
    path = tmp_path / "new" / "table.csv"
    rows = table(
        row(judge="a", count=3.0, p=0.0002, published_id="x.t02"),
        row(judge="b", value=np.nan, count=np.nan, p=np.nan),
    )
    write(path, rows, ["# Title", "Words."])
    back = read(path)
    assert back["value"].tolist()[0] == 0.5 and np.isnan(back["value"][1])
    assert back["published_id"].tolist() == ["x.t02", ""]
    assert back["p"][0] == 0.0002
    assert "n/a" in path.read_text() and ",3," in path.read_text()
    assert path.with_suffix(".md").read_text() == "# Title\n\nWords.\n"


def test_no_rows_still_make_a_table(tmp_path):
    path = tmp_path / "empty.csv"
    write(path, pd.DataFrame(columns=list(COLUMNS)), ["Not run."])
    assert read(path).empty and list(read(path)) == list(COLUMNS)


def test_a_table_without_its_columns_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a table starts with the columns quantity, judge"):
        write(tmp_path / "t.csv", table(row()).drop(columns="n_unparsed"), [])
    with pytest.raises(ValueError, match="a table starts with"):
        write(tmp_path / "t.csv", table(row())[list(reversed(COLUMNS))], [])


def test_a_cell_cannot_end_its_column():
    # Three columns, so four bars a line that are no text.
    text = markdown(pd.DataFrame({"a": ["x|y"], "b": ["two\nlines"], "c": ["0.10"]}))
    for line in text.splitlines():
        assert line.replace("\\|", "").count("|") == 4
    assert "x\\|y" in text and "two lines" in text
    assert "0.10" in text  # as it is, not as the number 0.1


def test_names_that_look_like_numbers_stay_names(tmp_path):
    rows = pd.DataFrame([dict.fromkeys(COLUMNS, "x") | {"judge": "007"}]).assign(fingerprint="123e45678901")
    write(tmp_path / "t.csv", rows, ["A page."])
    back = read(tmp_path / "t.csv")
    assert back.loc[0, ["judge", "fingerprint"]].tolist() == ["007", "123e45678901"]


def test_a_judge_that_changed_in_between_has_both_its_fingerprints():
    rows = pd.DataFrame({"judge": ["a", "a", "a", "b"], "fingerprint": ["x", "x", "y", None]})
    assert fingerprints(rows) == {"a": "x y"}
