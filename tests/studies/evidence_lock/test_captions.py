"""The words of every table: one title and paragraph each, a reason where it is empty, links that lead."""

import re
from pathlib import Path

import pytest

from studies.evidence_lock.captions import ABSENT, EXCLUDED, EXCLUDED_HERE, TEXTS

STUDY = Path(__file__).parents[3] / "studies/evidence_lock"
MADE = re.findall(r"paper_tables/evidence_lock/(\w+)\.md", (STUDY / "dvc.yaml").read_text(encoding="utf-8"))


def test_every_table_that_is_made_has_its_words():
    assert [*TEXTS, "lost_examples"] == MADE
    assert set(ABSENT) == set(TEXTS) and set(EXCLUDED_HERE) <= set(TEXTS)


@pytest.mark.parametrize("name", TEXTS)
def test_a_caption_is_a_title_and_sentences(name):
    text = TEXTS[name]
    assert text.title and not text.title.endswith(".")
    assert text.counted.endswith(".") and "  " not in text.counted and "{" not in text.counted
    for linked in re.findall(r"\((\w+)\.md\)", text.counted):
        assert linked in MADE


@pytest.mark.parametrize("name", TEXTS)
def test_no_result_is_told_in_a_caption(name):
    """A caption holds for any outcome."""
    assert not re.search(r"\d+\.\d|\d ?%", TEXTS[name].counted)


@pytest.mark.parametrize("name", ABSENT)
def test_a_reason_completes_a_sentence(name):
    assert not ABSENT[name].endswith(".") and ABSENT[name][0].islower()


def test_what_is_left_out_is_told_in_sentences():
    assert all(
        (text.endswith(".") and text[0].isupper()) or text[:3] == "But"
        for text in (EXCLUDED, *EXCLUDED_HERE.values())
    )


def test_titles_differ():
    assert len({text.title for text in TEXTS.values()}) == len(TEXTS)
