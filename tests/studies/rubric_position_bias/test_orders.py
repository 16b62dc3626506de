from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from studies.rubric_position_bias.orders import (
    balanced,
    canonical,
    drawn,
    neighbour_counts,
    neighbour_imbalance,
    sequence,
)

SIZES = range(1, 10)
STRATEGIES = ("balanced", "random", "fixed")


def all_orders(size):
    return ["".join(shown) for shown in itertools.permutations(canonical(size))]


# --- The balanced orders ----------------------------------------------------------------------------


def test_the_papers_ten_orders_of_five_options():
    forward = ["12345", "23451", "34512", "45123", "51234"]
    reverse = ["54321", "43215", "32154", "21543", "15432"]
    assert balanced(5) == forward + reverse


@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 2), (3, 6), (4, 8), (5, 10), (9, 18)])
def test_there_are_two_n_distinct_orders_where_there_can_be(size, count):
    assert len(balanced(size)) == len(set(balanced(size))) == count


@pytest.mark.parametrize("size", SIZES)
def test_every_option_stands_equally_often_in_every_place(size):
    orders = balanced(size)
    stands = Counter((place, option) for order in orders for place, option in enumerate(order))
    assert len(stands) == size * size
    assert set(stands.values()) == {len(orders) // size}


def test_three_options_have_all_their_orders():
    assert sorted(balanced(3)) == all_orders(3)


@pytest.mark.parametrize("size", [0, -1, 10])
def test_an_order_has_one_digit_an_option(size):
    with pytest.raises(ValueError, match="1 to 9 options"):
        balanced(size)


# --- Drawn orders -----------------------------------------------------------------------------------


@given(size=st.sampled_from(SIZES), k=st.integers(0, 30), name=st.text())
def test_drawn_orders_are_distinct_permutations(size, k, name):
    orders = drawn(size, k, name)
    assert len(orders) == len(set(orders)) == min(k, math.factorial(size))
    assert all(sorted(order) == list(canonical(size)) for order in orders)


@given(
    size=st.integers(1, 9),
    strategy=st.sampled_from(STRATEGIES),
    k=st.integers(0, 12),
    more=st.integers(0, 12),
    name=st.text(),
)
def test_asking_for_more_changes_nothing_before(size, strategy, k, more, name):
    assert sequence(size, strategy, k + more, name)[:k] == sequence(size, strategy, k, name)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_all_orders_come_where_k_is_no_less_than_their_number(size):
    assert sorted(drawn(size, math.factorial(size), "a")) == all_orders(size)
    assert drawn(size, 1000, "a") == drawn(size, math.factorial(size), "a")


@pytest.mark.parametrize("draw", [0, 1, 5])
def test_every_order_is_equally_likely_at_every_draw(draw):
    seen = Counter(drawn(3, 6, 7, f"item {i}")[draw] for i in range(3000))
    assert chisquare([seen[order] for order in all_orders(3)]).pvalue > 0.01


def test_two_draws_are_as_often_alike_as_distinct_orders_may_be():
    # Of the ordered pairs of different orders of three options, 6 x 5 = 30, each is equally likely.
    seen = Counter(tuple(drawn(3, 2, 7, f"item {i}")) for i in range(3000))
    assert chisquare([seen[pair] for pair in itertools.permutations(all_orders(3), 2)]).pvalue > 0.01


def test_other_names_draw_anew():
    assert drawn(9, 5, 1, "a") == drawn(9, 5, 1, "a")
    assert len({tuple(drawn(9, 5, *names)) for names in [(1, "a"), (1, "b"), (2, "a")]}) == 3


# --- A strategy's sequence --------------------------------------------------------------------------


def test_the_balanced_orders_come_in_a_drawn_sequence():
    sequences = {tuple(sequence(5, "balanced", 10, f"item {i}")) for i in range(20)}
    assert len(sequences) == 20
    assert {tuple(sorted(orders)) for orders in sequences} == {tuple(sorted(balanced(5)))}


def test_the_first_balanced_order_is_any_of_them():
    seen = Counter(sequence(5, "balanced", 1, f"item {i}")[0] for i in range(2000))
    assert chisquare([seen[order] for order in balanced(5)]).pvalue > 0.01


@pytest.mark.parametrize(("size", "count"), [(2, 2), (3, 6), (4, 8), (5, 10)])
def test_balanced_orders_are_never_asked_twice(size, count):
    assert sorted(sequence(size, "balanced", 100, "a")) == sorted(balanced(size))
    assert len(sequence(size, "balanced", 100, "a")) == count


def test_fixed_repeats_the_canonical_order():
    assert sequence(3, "fixed", 4, "a") == ["123"] * 4


# --- Neighbours -------------------------------------------------------------------------------------


@given(
    st.integers(1, 6).flatmap(lambda size: st.lists(st.permutations(canonical(size)), min_size=1, max_size=8))
)
def test_neighbours_are_counted_as_one_by_one(shown):
    orders = ["".join(order) for order in shown]
    pairs = Counter(pair for order in orders for pair in itertools.pairwise(order))
    options = canonical(len(orders[0]))
    assert neighbour_counts(orders).tolist() == [[pairs[a, b] for b in options] for a in options]


def test_balanced_orders_put_each_option_beside_its_own_two_neighbours_only():
    # Each forward rotation but one shows 1-2, so four of five do; each reverse rotation but one 2-1.
    counts = neighbour_counts(balanced(5))
    assert set(counts[counts > 0]) == {4}
    assert np.count_nonzero(counts) == 10


@pytest.mark.parametrize(
    ("size", "value"),
    [
        (2, 0.0),  # 12 and 21
        (3, 0.0),  # all six orders
        (4, 1 / 3),  # 8 of 12 ordered pairs
        (5, 0.5),  # 10 of 20
        (9, 0.75),  # 18 of 72
    ],
)
def test_balanced_orders_leave_neighbours_unbalanced(size, value):
    assert neighbour_imbalance(balanced(size)) == pytest.approx(value)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_all_orders_together_are_balanced(size):
    assert neighbour_imbalance(all_orders(size)) == pytest.approx(0)


def test_a_single_order_is_the_least_balanced():
    # Four of twenty pairs: (4 |1/4 - 1/20| + 16 |0 - 1/20|) / 2 = (0.8 + 0.8) / 2
    assert neighbour_imbalance(["12345"]) == pytest.approx(0.8)


@given(st.lists(st.permutations("12345"), min_size=1, max_size=8), st.permutations("12345"))
def test_imbalance_does_not_depend_on_the_options_names(shown, names):
    orders = ["".join(order) for order in shown]
    renamed = ["".join(names[int(digit) - 1] for digit in order) for order in orders]
    assert neighbour_imbalance(renamed) == pytest.approx(neighbour_imbalance(orders))
    assert neighbour_imbalance(orders * 3) == pytest.approx(neighbour_imbalance(orders))


def test_a_single_option_has_no_neighbour():
    assert math.isnan(neighbour_imbalance(["1", "1"]))


@pytest.mark.parametrize("orders", [[], ["12", "123"]])
def test_orders_of_no_one_length_have_no_counts(orders):
    with pytest.raises(ValueError, match="one length"):
        neighbour_counts(orders)
