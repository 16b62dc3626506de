"""Figures as a reader sees them: no text upon another or outside, from one judge to seven."""

import itertools

import pandas as pd
import pytest

from studies.rubric_position_bias.drawing import contexts_of, datasets_of, least_gate, limits, slot, width_of
from studies.rubric_position_bias.figures import FIGURES
from tests.studies.rubric_position_bias.drawn_figures import drawn, texts
from tests.studies.rubric_position_bias.planted_tables import SEVEN


@pytest.mark.parametrize("which", ["few", "many"])
@pytest.mark.parametrize("name", FIGURES)
def test_no_text_lies_upon_another_or_outside(name, which):
    figure = drawn(name, which)
    found, paper = texts(figure), figure.bbox.padded(1)
    for text, box in found.items():
        assert paper.contains(box.x0, box.y0) and paper.contains(box.x1, box.y1), text.get_text()
    for (one, box), (other, there) in itertools.combinations(found.items(), 2):
        assert not box.padded(-1).overlaps(there.padded(-1)), (one.get_text(), other.get_text())


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


def test_data_sets_come_in_the_order_of_the_study_with_means_last():
    found = pd.DataFrame({"dataset": ["all", "own_data", "hanna", "embedded"]})
    assert datasets_of(found) == ["embedded", "hanna", "own_data", "all"]


def test_contexts_are_named_by_data_set_setting_and_scale():
    found = pd.DataFrame(
        {
            "setting": ["criteria", "score", "criteria", "score"],
            "dataset": ["hanna", "hanna", "hanna", ""],
            "scale": ["54321", "", "12345", ""],
            "size": [6.0, 5.0, 6.0, 5.0],
        }
    )
    names = [name for name, _ in contexts_of(found)]
    assert names == [
        "HANNA",
        "one criterion in a prompt",
        "HANNA\n6 criteria in one prompt",
        "HANNA\n6 criteria in one prompt\nrange listed from 5 to 1",
    ]


def test_a_mean_has_passed_only_where_all_its_cells_have():
    assert least_gate(["passed", "passed"]) == "passed"
    assert least_gate(["passed", "too few to tell"]) == "too few to tell"
    assert least_gate(["too few to tell", "failed", "passed"]) == "failed"
    assert least_gate([]) == "passed"
