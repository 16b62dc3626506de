"""Sentences of answers and records, and how near the nearest one is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from shared.errors import UserError
from studies.evidence_lock.coverage import UNNAMED, coverage, sentences, unnamed

# --- Sentences --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One point. Another one.", ["One point.", "Another one."]),
        ("Two ways:\n- Call her.\n* Write.", ["Two ways:", "Call her.", "Write."]),
        ("1. Boil water.\n2) Add salt.\n(3) Wait.", ["Boil water.", "Add salt.", "Wait."]),
        ("## Result\n\n\tIt is   42.", ["Result", "It is 42."]),
        (
            "It boils at 90 and not at 100. Then it cools.",
            ["It boils at 90 and not at 100.", "Then it cools."],
        ),
        ("42", ["42"]),  # an answer need not have words
        ("First.\n***\n---\nLast.", ["First.", "Last."]),
        ("-5 degrees is cold.", ["-5 degrees is cold."]),  # a sign is no mark of a list
        ("3.5 litres are enough.", ["3.5 litres are enough."]),
        ("", []),
        (" \n ... \n", []),
    ],
)
def test_sentences_of_lines_and_lists(text, expected):
    assert sentences(text) == expected


@given(st.text(alphabet="aB1 .?!\n\"'()[]-&~$…é", max_size=60))
def test_nothing_of_a_text_is_lost_but_marks_at_a_line_s_start_and_what_has_no_word(text):
    letters = [sign for sign in text if sign.isalpha()]
    assert [sign for sentence in sentences(text) for sign in sentence if sign.isalpha()] == letters
    for line in text.splitlines():
        if line[:1].isalpha():  # no mark of a list
            parts = "".join(sentences(line)).replace(" ", "")
            assert [sign for sign in parts if sign.isalnum()] == [sign for sign in line if sign.isalnum()]


def test_what_the_library_does_not_give_back_is_kept(monkeypatch):
    monkeypatch.setattr("studies.evidence_lock.coverage.segment", lambda line: [line[:5]])
    assert sentences("Nobody else writes this line. It stays.") == ["Nobody else writes this line. It stays."]


def test_names_are_taken_out_as_words():
    names = ("Olive", "Birch")
    assert unnamed("Olive beats BIRCH, says Oliver.", names) == f"{UNNAMED} beats {UNNAMED}, says Oliver."
    assert unnamed("Neither.", names) == "Neither."


# --- Coverage ---------------------------------------------------------------------------------------

WORDS = ("alpha", "beta", "gamma", "delta")
VECTORS = dict(zip(WORDS, np.random.default_rng(1).normal(size=(4, 6)), strict=True))


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
)
def test_the_greatest_cosine_of_each_sentence(answer, record):
    one, other = (np.stack([VECTORS[text] for text in texts]) for texts in (answer, record))
    found = coverage(answer, record, VECTORS)
    assert found == pytest.approx(cosine_similarity(one, other).max(axis=1))
    # A longer record covers no less, whatever the sequence of its sentences.
    assert (coverage(answer, [*WORDS, *record], VECTORS) >= found - 1e-12).all()
    assert coverage(answer, record[::-1], VECTORS) == pytest.approx(found)
    assert coverage(answer, answer, VECTORS) == pytest.approx(1)


def test_lengths_of_vectors_do_not_matter():
    longer = {text: vector * (2 + place) for place, (text, vector) in enumerate(VECTORS.items())}
    assert coverage(WORDS[:2], WORDS[2:], longer) == pytest.approx(coverage(WORDS[:2], WORDS[2:], VECTORS))


def test_coverage_by_nothing_is_undefined():
    assert np.isnan(coverage(["alpha", "beta"], [], VECTORS)).tolist() == [True, True]
    assert coverage([], ["alpha"], VECTORS).shape == (0,)
    zero = {"alpha": np.zeros(2), "beta": np.ones(2)}
    assert np.isnan(coverage(["alpha"], ["beta"], zero)).all()


def test_a_sentence_without_a_vector_is_an_error_with_the_fix():
    with pytest.raises(UserError, match="no vector of 'omega'; run the `embed` stage"):
        coverage(["omega"], ["alpha"], VECTORS)
