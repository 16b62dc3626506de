"""Which candidate a text states to be better: on sentences of this project's own, and on any text at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.judge.stated import named_better, stated_preference
from shared.judge.stated_marks import marked, numbered, plain
from tests.shared.judge.stated_texts import STATED, WORDS


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


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_every_text_has_an_answer(text):
    assert stated_preference(text) in ("first", "second", "tie", "none")


# --- Named as better --------------------------------------------------------------------------------

NAMED = [
    # choices
    ("Answer 1 is better.", "first"),
    ("The better answer is answer 2.", "second"),
    ("I prefer answer 1 over answer 2.", "first"),
    ("Answer 1 omits the date, yet it is the better one.", "first"),
    ("Neither answer is better.", "tie"),
    ("It is a tie.", "tie"),
    # comparisons
    ("Answer 1 is more accurate than answer 2.", "first"),
    ("Answer 2 is less complete.", "first"),
    ("Answer 1 is clear. Answer 2 is clearer.", "second"),
    ("Answer 1 is not as clear as answer 2.", "second"),
    # a choice outranks comparisons
    ("Answer 1 is more concise, but answer 2 is better overall.", "second"),
    ("Answer 1 is more concise and answer 2 is more complete; overall they are equally good.", "tie"),
    ("Answer 1 is more concise and answer 2 is more complete.", "none"),
    # a choice of both contradicts a choice of one, however often each is made
    ("Answer 1 and answer 2 are the best answer. Answer 2 is the best answer.", "none"),
    ("Answer 1 and answer 2 are the best answer. " * 2 + "Answer 2 is the best answer.", "none"),
    ("Answer 2 is better. Both answers are better.", "none"),
    ("Overall both answers are stronger. Answer 1 is the winner.", "none"),
    ("The best answer is answer 1 and answer 2. I choose answer 1.", "none"),
    ("Answer 1 and answer 2 are the best answer.", "tie"),
    ("The best answer is answer 1 and answer 2.", "tie"),
    ("I prefer both answers.", "tie"),
    # but it gives way to a comparison, and before a "but"
    ("Both answers describe it better. Answer 1 is more detailed.", "first"),
    ("The answer: both answers are accurate. Answer 2 is the best.", "second"),
    ("Both answers are better than most, but answer 2 is the best.", "second"),
    ("Both answers are good. Answer 2 is the best.", "second"),
    # what is conceded gives way
    ("Although answer 1 is more concise, answer 2 is more complete.", "second"),
    # praise, criticism, likeness, scores and descriptions name nobody
    ("Answer 1 is clear and complete.", "none"),
    ("Answer 1 is accurate. Answer 2 is wrong and omits the date.", "none"),
    ("Only answer 1 gives the price.", "none"),
    ("Both answers are accurate.", "none"),
    ("Both answers are equally accurate.", "none"),
    ("answer 1 has 4 of 5, answer 2 has 3 of 5.", "none"),
    ("Answer 1 gives the date and answer 2 the place.", "none"),
    ("The better answer must give the date.", "none"),
    ("Which one is better, answer 1 or answer 2?", "none"),
    ("", "none"),
]


@pytest.mark.parametrize("text, named", NAMED)
def test_names(text, named):
    assert named_better(text) == named


@pytest.mark.parametrize("text, named", NAMED)
def test_swapping_the_numbers_swaps_who_is_named(text, named):
    swapped = text.translate(str.maketrans({"1": "2", "2": "1"}))
    assert named_better(swapped) == {"first": "second", "second": "first"}.get(named, named)


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_who_is_named_is_who_is_preferred(text):
    """Praise and criticism never overrule a choice or a comparison; they speak where these are silent."""
    named = named_better(text, "summary")
    assert named in ("none", stated_preference(text))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Cedar omits it, Willow doesn't.", "answer 1 omits it, answer 2 doesn't."),
        ("The answer Cedar beats WILLOW.", "answer 1 beats answer 2."),
        ("Response 'willow' and candidate: Cedar", "answer 2 and answer 1"),
        ("Cedar's date; **Willow**: none", "answer 1's date; **answer 2**: none"),
        ("cedarwood, Cedars and pussywillow", "cedarwood, Cedars and pussywillow"),
        ("", ""),
    ],
)
def test_names_become_numbers(text, expected):
    assert numbered(text, ("Cedar", "Willow")) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("A gives it, B omits it.", "answer 1 gives it, answer 2 omits it."),
        ("B is clearer than A.", "answer 2 is clearer than answer 1."),
        ("Answer A and answer B", "answer 1 and answer 2"),
        ("A's date, the a", "answer 1's date, the a"),
        (
            "A clear text. A better answer. A more complete one.",
            "A clear text. A better answer. A more complete one.",
        ),
        ("a is not b", "a is not b"),
        ("A: the date\nB: none", "answer 1: the date\nanswer 2: none"),
    ],
)
def test_letters_become_numbers_where_they_are_names(text, expected):
    assert numbered(text, ("A", "B")) == expected


def test_names_are_numbered_in_the_order_that_is_given():
    assert numbered("Cedar, Willow", ("Willow", "Cedar"), "summary") == "summary 2, summary 1"
    assert numbered("Mr. X. Y", ("X. Y", "Z")) == "Mr. answer 1"  # a name is no pattern


def test_who_is_named_does_not_depend_on_names():
    text = "Answer {} gives the date. {} is less complete than {}."
    for names in (("Cedar", "Willow"), ("A", "B"), ("answer 1", "answer 2")):
        said = text.format(names[0], names[1], names[0])
        assert named_better(numbered(said, names)) == "first"
