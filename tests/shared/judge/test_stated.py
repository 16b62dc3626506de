"""Which candidate a text states to be better: on sentences of this project's own, and on any text at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.judge.stated import stated_preference
from shared.judge.stated_marks import marked, plain
from tests.shared.judge.stated_texts import STATED


@pytest.mark.parametrize("rationale, stated", STATED)
def test_states(rationale, stated):
    assert stated_preference(rationale) == stated


@pytest.mark.parametrize("rationale, stated", STATED)
def test_swapping_the_names_swaps_what_is_stated(rationale, stated):
    if any(word in rationale for word in ("latter", "other", "first", "second")):
        return
    swapped = rationale.translate(str.maketrans({"1": "2", "2": "1"}))
    other = {"first": "second", "second": "first"}.get(stated, stated)
    assert stated_preference(swapped) == other


@pytest.mark.parametrize(
    "rationale",
    [
        "**Summary 1** is `better`.",
        "SUMMARY_1   IS\n BETTER",
        "“Summary_1” is better",
        "summary\\_1 is better",
        "Summary\u200b 1 is better",
        "> Summary #1: better",
    ],
)
def test_form_does_not_matter(rationale):
    assert stated_preference(rationale) == "first"


def test_curly_apostrophes():
    assert stated_preference("Summary 1’s facts aren’t right, they’re wrong") == "second"
    assert stated_preference("Summary 1 isn’t better than summary 2.") == "second"


def test_another_word_for_candidates():
    assert stated_preference("Reply 2 is better.", "reply") == "second"
    assert stated_preference("Reply 2 is better.") == "none"


def test_marks_by_hand():
    assert marked(plain("The 2nd summary beats Summary_1."), "summary") == "SECOND beats THAN_FIRST."
    assert marked("both summaries and neither answer is", "answer") == "BOTH and NEITHER is"
    assert marked("answer one question", "answer") == "answer one question"


WORDS = [
    "summary",
    "1",
    "2",
    "the",
    "first",
    "second",
    "both",
    "neither",
    "other",
    "not",
    "better",
    "no",
    "than",
    "errors",
    ".",
    ",",
    "but",
]


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_every_text_has_an_answer(text):
    assert stated_preference(text) in ("first", "second", "tie", "none")
