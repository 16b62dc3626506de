"""Panels of several judges: their sizes and axes, the order of what they show, the paper's marks."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from shared.reporting.panels import (
    datasets_of,
    judges_of,
    least_gate,
    limits,
    names_below,
    papers,
    slot,
    width_of,
)

SEVEN = ("one", "two", "three", "four", "five", "six", "seven")


def test_marks_of_seven_judges_do_not_touch():
    # 6 categories in 2 panels: each panel 6 x 7 x 0.1 / 0.66 = 6.36 inches, beside 0.8 for its axis.
    assert width_of(2, 6, SEVEN) == pytest.approx(2 * (6 * 7 * 0.1 / 0.66 + 0.8))
    assert width_of(1, 5, ["one"]) == 7.6
    steps = [slot(SEVEN, judge) for judge in SEVEN]
    assert steps == pytest.approx([0.66 / 7 * step for step in range(-3, 4)])


def rows(**columns):
    return pd.DataFrame({"value": [0.0], "ci_low": [float("nan")], "ci_high": [float("nan")],
                         "null_low": [float("nan")], "null_high": [float("nan")]} | columns)  # fmt: skip


def test_limits_hold_values_and_cut_only_intervals_that_are_far_longer():
    # Values from 0 to 1; the interval to 1.5 is seen, and 6 % of 1.5 are spare.
    assert limits(rows(value=[1.0], ci_low=[0.5], ci_high=[1.5]), 0.0) == pytest.approx((-0.09, 1.59))
    # The interval to 40 is cut at 1 + (1 - 0).
    assert limits(rows(value=[1.0], ci_low=[0.5], ci_high=[40.0]), 0.0) == pytest.approx((-0.12, 2.12))
    # A range without bias is a value.
    assert limits(rows(value=[1.0], null_low=[0.0], null_high=[3.0]))[1] > 3


def test_limits_of_nothing_and_of_one_value_are_a_range():
    assert limits(rows(value=[float("nan")])) == (0.0, 1.0)
    assert limits(rows(value=[0.0])) == pytest.approx((-0.05, 0.05))


def test_a_mean_has_passed_only_where_all_its_cells_have():
    assert least_gate(["passed", "passed"]) == "passed"
    assert least_gate(["passed", "too few to tell"]) == "too few to tell"
    assert least_gate(["too few to tell", "failed", "passed"]) == "failed"
    assert least_gate([]) == "passed"


def test_data_sets_come_in_the_order_of_their_names_with_what_pools_them_last():
    found = pd.DataFrame({"dataset": ["all", "own_data", "hanna", "embedded"]})
    assert datasets_of(found, ("embedded", "hanna", "summeval")) == ["embedded", "hanna", "own_data", "all"]


def test_several_judges_together_are_no_judge():
    assert judges_of(pd.DataFrame({"judge": ["b", "all", "", "a", "b", None]})) == ["b", "a"]


def test_what_a_panel_rests_on_is_said_in_lines_that_fit():
    axes = Figure().subplots()
    cell = pd.DataFrame({"n_items": [20.0, 24.0], "n_clusters": [5.0, 5.0], "note": "too few to conclude"})
    names_below(axes, "places", cell, "prompts")
    assert axes.get_xlabel() == "places\nn = 20 to 24 items, 5 prompts, too few to conclude"
    names_below(axes, "", cell, "prompts", line=30)
    assert axes.get_xlabel() == "n = 20 to 24 items, 5 prompts,\ntoo few to conclude"


def test_the_papers_number_of_a_judge_has_its_marker_and_one_of_all_a_ring():
    cell = pd.DataFrame(
        {
            "judge": ["two", "all", "one", "one", "one"],
            "published": [0.1, 0.2, np.nan, np.nan, np.nan],
            "paper_low": [np.nan, np.nan, 0.3, 0.4, np.nan],
            "paper_high": [np.nan, np.nan, 0.5, 0.4, np.nan],
        }
    )
    assert list(papers(cell, ["one", "two"])) == [
        ("s", 0.1, 0.1),
        ("h", 0.2, 0.2),
        ("", 0.3, 0.5),
        ("h", 0.4, 0.4),
    ]
