"""Which items a set of trials takes: the order of the file is not the order of the sources."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.selection import first_items


def table(*names, dataset="d"):
    """Items ``<cluster>/<anything>``."""
    rows = [{"item": name, "dataset": dataset, "cluster": name.split("/")[0]} for name in names]
    return pd.DataFrame(rows, columns=["item", "dataset", "cluster"])


UNEVEN = table("a/1", "a/2", "a/3", "b/1", "c/1", "c/2")


@pytest.mark.parametrize(
    ("count", "found"),
    [
        # Source a (place 0) begins with its first item, b (place 1) has one, c (place 2) is back at its first
        # of two. Then a and c give their second, then a its third.
        (0, []),
        (1, ["a/1"]),
        (3, ["a/1", "b/1", "c/1"]),
        (5, ["a/1", "a/2", "b/1", "c/1", "c/2"]),
        (6, ["a/1", "a/2", "a/3", "b/1", "c/1", "c/2"]),
        (99, ["a/1", "a/2", "a/3", "b/1", "c/1", "c/2"]),
    ],
)
def test_each_source_gives_one_before_any_gives_a_second(count, found):
    assert sorted(first_items(UNEVEN, count)["item"]) == found


def test_sources_take_turns_in_which_of_their_items_comes_first():
    rows = table(*(f"{source}/{system}" for source in "abcd" for system in (0, 1, 2)))
    assert first_items(rows, 4)["item"].tolist() == ["a/0", "b/2", "c/1", "d/0"]


def test_none_takes_all_as_they_are():
    assert first_items(UNEVEN, None) is UNEVEN


def test_items_are_counted_for_each_data_set_and_one_moves_no_other():
    other = table("x/1", "x/2", dataset="e")
    both = pd.concat([other, UNEVEN], ignore_index=True)
    found = first_items(both, 2)
    assert found["dataset"].value_counts().to_dict() == {"d": 2, "e": 2}
    assert set(found[found["dataset"] == "d"]["item"]) == set(first_items(UNEVEN, 2)["item"])


def test_no_items_and_one_item():
    assert first_items(table(), 3).empty and first_items(table(), None).empty
    assert first_items(table("a/1"), 3)["item"].tolist() == ["a/1"]


def test_rows_keep_their_columns_and_index():
    found = first_items(UNEVEN.assign(more=range(6)), 3)
    assert list(found.columns) == ["item", "dataset", "cluster", "more"]
    assert (found["more"] == found.index).all()


@settings(max_examples=30)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.integers(0, 40))
def test_more_items_keep_the_ones_before_and_spread_over_sources(sizes, count):
    rows = table(*(f"p{p}/s{s}" for p, size in enumerate(sizes) for s in range(size)))
    found = set(first_items(rows, count)["item"])
    assert len(found) == min(count, len(rows))
    assert found <= set(first_items(rows, count + 1)["item"])
    taken = [sum(name.startswith(f"p{p}/") for name in found) for p in range(len(sizes))]
    unspent = [own for own, size in zip(taken, sizes, strict=True) if own < size]
    assert max(taken) - min(unspent, default=99) <= 1
