from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import UserError
from shared.judge.hygiene import neutralise
from studies.rubric_position_bias.levels import SIZES, resized

RUBRIC = [
    "No claim is supported.",
    "Few claims are supported.",
    "Half of the claims are supported.",
    "Most claims are supported.",
    "Every claim is supported.",
]
TEXTS = st.lists(st.text("ab .\n", min_size=1), min_size=5, max_size=5, unique=True)


def test_five_levels_stay_as_they_are():
    assert resized(RUBRIC, 5) == RUBRIC


@pytest.mark.parametrize(("size", "kept"), [(2, [1, 5]), (3, [1, 3, 5])])
def test_fewer_levels_lie_at_equal_distances(size, kept):
    assert resized(RUBRIC, size) == [RUBRIC[level - 1] for level in kept]


def test_nine_levels_are_the_five_and_what_lies_between():
    nine = resized(RUBRIC, 9)
    assert nine[::2] == RUBRIC
    assert nine[1] == "Halfway between “No claim is supported” and “Few claims are supported”."
    assert nine[7] == "Halfway between “Most claims are supported” and “Every claim is supported”."


def test_a_level_between_stands_in_one_line():
    assert resized(["a\n b. c.", *RUBRIC[1:]], 9)[1].startswith("Halfway between “a b. c” and “Few")


@given(levels=TEXTS, size=st.sampled_from(SIZES))
def test_the_worst_stays_first_and_the_best_last(levels, size):
    told = resized(levels, size)
    assert len(told) == size
    assert (told[0], told[-1]) == (levels[0], levels[-1])


@pytest.mark.parametrize("size", SIZES)
def test_levels_differ_and_pass_the_hygiene(size):
    told = resized(RUBRIC, size)
    assert len(set(told)) == size
    assert all(neutralise(text) == (text, 0) for text in told)


@pytest.mark.parametrize("levels", [[], RUBRIC[:4], [*RUBRIC, "More."]])
def test_a_rubric_has_five_levels(levels):
    with pytest.raises(UserError, match=f"should have 5 levels, not {len(levels)}; write all of them"):
        resized(levels, 5)


@pytest.mark.parametrize("size", [0, 1, 4, 10])
def test_another_size_is_named(size):
    with pytest.raises(UserError, match=f"told in {size} levels; use one of: 2, 3, 5, 9"):
        resized(RUBRIC, size)
