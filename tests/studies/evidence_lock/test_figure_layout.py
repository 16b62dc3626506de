"""Figures as a reader sees them: no text upon another or outside, from one judge to seven."""

import pandas as pd
import pytest

from studies.evidence_lock.drawing import contexts_of, height_of, scheme_name
from studies.evidence_lock.figures import FIGURES
from tests.shared.reporting.drawn import SEVEN, check_that_no_text_lies_upon_another
from tests.studies.evidence_lock.drawn_figures import drawn


@pytest.mark.parametrize("which", ["few", "many"])
@pytest.mark.parametrize("name", FIGURES)
def test_no_text_lies_upon_another_or_outside(name, which):
    check_that_no_text_lies_upon_another(drawn(name, which))


def test_panels_are_as_high_as_marks_of_all_judges_need():
    # One judge: the name of a category needs 0.3 inches. Seven: 7 x 0.11 / 0.66 = 1.17.
    assert height_of(4, ["one"]) == pytest.approx(0.75 + 4 * 0.3)
    assert height_of(4, SEVEN) == pytest.approx(0.75 + 4 * 7 * 0.11 / 0.66)


def test_contexts_name_only_what_differs():
    rows = pd.DataFrame(
        {
            "dataset": ["all", "feedbackqa", "feedbackqa", "own_data"],
            "scheme": "lock",
            "writer": "",
            "temperature": [0.0, 0.0, 0.7, 0.0],
        }
    )
    found = list(contexts_of(rows, ("scheme", "writer", "temperature")))
    assert [name for name, _ in found] == [
        "FeedbackQA, temperature 0",
        "FeedbackQA, temperature 0.7",
        "own_data, temperature 0",
        "all data sets together, temperature 0",
    ]
    assert [list(cell.index) for _, cell in found] == [[1], [2], [3], [0]]


def test_schemes_are_called_with_the_writer_and_letters():
    assert scheme_name("lock") == "Evidence Lock"
    assert scheme_name("other_record", "gpt_5") == "another's record (gpt_5)"
    assert scheme_name("standard", naming="letters") == "Standard, letters"
