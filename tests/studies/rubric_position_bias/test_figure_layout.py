"""Figures as a reader sees them: no text upon another or outside, from one judge to seven."""

import itertools

import pandas as pd
import pytest

from studies.rubric_position_bias.drawing import contexts_of, datasets_of
from studies.rubric_position_bias.figures import FIGURES
from tests.studies.rubric_position_bias.drawn_figures import drawn, texts


@pytest.mark.parametrize("which", ["few", "many"])
@pytest.mark.parametrize("name", FIGURES)
def test_no_text_lies_upon_another_or_outside(name, which):
    figure = drawn(name, which)
    found, paper = texts(figure), figure.bbox.padded(1)
    for text, box in found.items():
        assert paper.contains(box.x0, box.y0) and paper.contains(box.x1, box.y1), text.get_text()
    for (one, box), (other, there) in itertools.combinations(found.items(), 2):
        assert not box.padded(-1).overlaps(there.padded(-1)), (one.get_text(), other.get_text())


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
