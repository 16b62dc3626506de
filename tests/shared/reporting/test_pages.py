"""What the pages of all tables share: names as printed, what rows have in common, a line of statuses."""

import math

import numpy as np
import pandas as pd
import pytest

from shared.reporting.pages import differing, estimate, in_common, plain, sizes, statuses, table, values


def rows(**columns):
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("lock", "lock"),
        ("", ""),
        (5, "5"),
        (5.0, "5"),
        (0.25, "0.25"),
        (math.nan, ""),
        (None, ""),
        (np.int64(3), "3"),
    ],
)
def test_a_name_has_no_zeros_that_say_nothing(value, printed):
    assert plain(value) == printed


def test_values_stand_in_their_order_and_what_is_lacking_is_none():
    assert values(rows(k=[3.0, math.nan, 2.0, 3.0]), "k") == ["3", "2"]
    assert values(rows(k=[math.nan]), "k") == []


def test_names_differ_or_are_in_common_and_never_both():
    told = rows(size=[5.0, 5.0], dataset=["a", "b"], effort=["", ""])
    names = list(told)
    assert differing(told, names) == ["dataset"]
    assert in_common(told, names, {"size": "options"}) == "In all rows: options 5."
    assert in_common(told, ["effort"], {}) == ""


def test_an_estimate_and_its_sizes():
    [row] = [
        pd.Series(
            {
                "value": 0.5,
                "ci_low": 0.25,
                "ci_high": 0.75,
                "n_items": 4.0,
                "n_clusters": 2.0,
                "n_unparsed": math.nan,
            }
        )
    ]
    assert estimate(row) == "0.500 [0.250, 0.750]"
    assert sizes(row, "stories") == {"n": "4", "stories": "2", "unparsed": "n/a"}
    assert list(sizes(row)) == ["n", "documents", "unparsed"]


def test_statuses_are_counts_side_by_side():
    cell = rows(
        quantity=["ok_rate", "failed_rate"],
        value=[0.75, 0.25],
        ci_low=[0.5, 0.0],
        ci_high=[1.0, 0.5],
        count=[3, 1],
        n_trials=[4, 4],
        note="few",
    )
    line = statuses(cell, {"judge": "mine"}, lambda quantity: quantity.removesuffix("_rate"))
    assert line == {
        "judge": "mine",
        "answers due": "4",
        "ok": "3",
        "failed": "1",
        "ok rate [interval]": "0.750 [0.500, 1.000]",
        "note": "few",
    }


def test_a_column_that_says_nothing_is_left_out():
    text = table([{"judge": "mine", "p": "n/a", "note": ""}, {"judge": "other", "p": "", "note": ""}])
    assert text.splitlines()[0].split() == ["|", "judge", "|"]
