"""The damage ladder: one more recorded error a level."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.rationalization_probes.damage import Edit, ladder

TEXT = "Ada Voss led 3 trials in Orrin, and each was repeated twice."
NUMBER = Edit("wrong_number", "led 3 trials", "led 9 trials")
NAME = Edit("swapped_name", "Ada Voss", "Lee Tarn")
POINT = Edit("dropped_point", ", and each was repeated twice.", ".")


def test_each_level_carries_the_errors_of_the_levels_below():
    assert ladder(TEXT, [NUMBER, NAME, POINT]) == [
        "Ada Voss led 9 trials in Orrin, and each was repeated twice.",
        "Lee Tarn led 9 trials in Orrin, and each was repeated twice.",
        "Lee Tarn led 9 trials in Orrin.",
    ]


def test_no_edits_no_levels():
    assert ladder(TEXT, []) == []


@pytest.mark.parametrize(
    "edits",
    [
        [Edit("wrong_number", "led 4 trials", "led 9 trials")],  # not there
        [Edit("swapped_name", "a", "b")],  # there more than once
        [NUMBER, Edit("wrong_number", "3 trials in", "5 trials in")],  # gone after the first edit
        [NUMBER, Edit("wrong_number", "9 trials", "5 trials")],  # made by the first edit, not in the text
        [Edit("invented_fact", "Ada Voss", "Ada Voss of Orrin"), Edit("swapped_name", "Orrin", "Dunmore")],
    ],
)
def test_an_edit_must_hit_exactly_one_place(edits):
    with pytest.raises(ValueError, match=rf"damage {len(edits)}: .* must occur exactly once"):
        ladder(TEXT, edits)


def test_an_edit_that_changes_nothing_is_refused():
    with pytest.raises(ValueError, match="must change something"):
        Edit("wrong_number", "3", "3")
    with pytest.raises(ValueError, match="must change something"):
        Edit("invented_fact", "", "and more")


@pytest.mark.parametrize("name", ["kind", "before", "after", "note"])
def test_a_text_of_an_edit_that_is_none_is_named(name):
    texts = {"kind": "wrong_number", "before": "3", "after": "4", "note": ""}
    with pytest.raises(ValueError, match=f"damage: {name} is not a text but int"):
        Edit(**(texts | {name: 3}))


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="unknown kind 'typo'; use one of wrong_number"):
        Edit("typo", "3", "4")  # type: ignore[arg-type]


@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.integers(0, 8))
def test_a_longer_ladder_starts_with_the_shorter_one(letters, cut):
    edits = [Edit("wrong_number", letter, letter.upper()) for letter in letters]
    whole = ladder("abcdefgh", edits)
    assert whole[:cut] == ladder("abcdefgh", edits[:cut])
    # Each edit turns one letter into a capital, so that level k has k capitals.
    assert [sum(map(str.isupper, text)) for text in whole] == list(range(1, len(letters) + 1))
