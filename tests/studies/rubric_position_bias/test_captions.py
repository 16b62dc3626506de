"""The words of every table: one title and paragraph each, a reason where it is empty, links that lead."""

import re
from pathlib import Path

import pytest

from studies.rubric_position_bias.captions import ABSENT, EXCLUDED, EXCLUDED_HERE, TEXTS

STUDY = Path(__file__).parents[3] / "studies/rubric_position_bias"


def test_every_table_that_is_made_has_its_words():
    made = re.findall(r"paper_tables/rubric_position_bias/(\w+)\.md", (STUDY / "dvc.yaml").read_text())
    assert list(TEXTS) == made
    assert set(ABSENT) == set(TEXTS) and set(EXCLUDED_HERE) <= set(TEXTS)


@pytest.mark.parametrize("name", TEXTS)
def test_a_caption_is_a_title_and_sentences(name):
    text = TEXTS[name]
    assert text.title and not text.title.endswith(".")
    assert text.counted.endswith(".") and "  " not in text.counted and "{" not in text.counted
    for linked in re.findall(r"\((\w+)\.md\)", text.counted):
        assert linked in TEXTS


@pytest.mark.parametrize("name", TEXTS)
def test_no_result_is_told_in_a_caption(name):
    """A caption holds for any outcome."""
    assert not re.search(r"\d+\.\d|\d ?%", TEXTS[name].counted)


@pytest.mark.parametrize("name", ABSENT)
def test_a_reason_completes_a_sentence(name):
    assert not ABSENT[name].endswith(".") and ABSENT[name][0].islower()


def test_what_is_left_out_is_told_in_sentences():
    assert all(text.endswith(".") for text in (EXCLUDED, *filter(None, EXCLUDED_HERE.values())))


def test_intervals_of_calibration_say_what_they_hold_fixed():
    assert "hold the priors of each split fixed" in TEXTS["calibration"].counted
