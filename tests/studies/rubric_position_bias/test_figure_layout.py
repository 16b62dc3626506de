"""Figures as a reader sees them: no text upon another or outside, from one judge to seven."""

import pandas as pd
import pytest

from studies.rubric_position_bias.drawing import contexts_of, datasets_of
from studies.rubric_position_bias.figures import FIGURES
from tests.shared.reporting.drawn import check_that_no_text_lies_upon_another
from tests.studies.rubric_position_bias.drawn_figures import drawn


@pytest.mark.parametrize("which", ["few", "many"])
@pytest.mark.parametrize("name", FIGURES)
def test_no_text_lies_upon_another_or_outside(name, which):
    check_that_no_text_lies_upon_another(drawn(name, which))


def test_data_sets_come_in_the_order_of_the_study_with_means_last():
    found = pd.DataFrame({"dataset": ["all", "own_data", "hanna", "embedded"]})
    assert datasets_of(found) == ["embedded", "hanna", "own_data", "all"]


def test_contexts_are_named_by_data_set_setting_and_scale():
    found = pd.DataFrame(
        {
            "setting": ["criteria", "score", "criteria", "score", "score"],
            "dataset": ["hanna", "hanna", "hanna", "", "hanna"],
            "scale": ["54321", "", "12345", "", ""],
            "size": [6.0, 5.0, 6.0, 5.0, 9.0],
        }
    )
    names = [name for name, _ in contexts_of(found)]
    assert names == [
        "HANNA",
        "HANNA\n9 score options",
        "one criterion in a prompt",
        "HANNA\n6 criteria in one prompt",
        "HANNA\n6 criteria in one prompt\nrange listed from 5 to 1",
    ]
