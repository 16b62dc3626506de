"""Judgements as arrays: by hand, against a pivot, and what is refused."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.rubric_position_bias.grid import CELL, cells, coded, grid
from tests.studies.rubric_position_bias.planted import planted, planted_criteria, planted_items


def by_hand() -> pd.DataFrame:
    """Two items of one source and one of another; b lacks draw 1, and its draw 2 was not parsed."""
    rows = [
        ("b", "s2", "", 0, "312", 1.0, 0.5, 0.3, 0.2),
        ("b", "s2", "", 2, "123", np.nan, np.nan, np.nan, np.nan),
        ("a", "s1", "q", 1, "231", 2.0, 0.1, 0.8, 0.1),
        ("a", "s1", "q", 0, "123", 3.0, 0.0, 0.1, 0.9),
        ("c", "s1", "q", 0, "321", 3.0, 0.2, 0.2, 0.6),
    ]
    names = ["item", "cluster", "prompt", "draw", "order", "score", "p_1", "p_2", "p_3"]
    return pd.DataFrame(rows, columns=names).assign(criterion="x", reference=2.0)


def test_a_grid_by_hand():
    laid = grid(by_hand())
    assert laid.items.tolist() == ["b", "a", "c"]  # as they first appear
    assert (laid.clusters.tolist(), laid.prompts.tolist(), laid.n_clusters) == ([0, 1, 1], [-1, 0, 0], 2)
    assert laid.reference.tolist() == [2, 2, 2] and laid.size == 3 and laid.n_unparsed == 1
    nan = np.nan
    np.testing.assert_array_equal(laid.scores, [[1, nan, nan], [3, 2, nan], [3, nan, nan]])
    assert laid.orders[0].tolist() == [[3, 1, 2], [0, 0, 0], [1, 2, 3]]
    # 312: option 1 stands second, option 2 third, option 3 first.
    assert laid.positions()[0].tolist() == [[2, 3, 1], [0, 0, 0], [1, 2, 3]]
    # Probabilities are by option, whatever the order.
    assert laid.probs[1].tolist()[:2] == [[0.0, 0.1, 0.9], [0.1, 0.8, 0.1]]
    assert np.isnan(laid.probs[0, 1:]).all()


def test_the_first_draws():
    laid = grid(by_hand())
    one = laid.first(1)
    assert (one.scores.shape, one.orders.shape, one.probs.shape) == ((3, 1), (3, 1, 3), (3, 1, 3))
    # The unparsed trial is draw 2; a trial that is not there is not unparsed.
    assert (one.n_unparsed, laid.first(2).n_unparsed, laid.first(3).n_unparsed) == (0, 0, 1)
    np.testing.assert_array_equal(laid.first(9).scores, laid.scores)


def test_a_grid_equals_a_pivot_in_any_sequence_of_rows():
    rng = np.random.default_rng(1)
    rows = planted(
        planted_items(30, rng, clusters=10), 5, "random", 1.0, 0, 1, rng, unparsed=0.2, probabilities=True
    )
    laid = grid(rows.sample(frac=1, random_state=1).sort_values("item", kind="stable"))
    table = rows.pivot(index="item", columns="draw", values="score")
    np.testing.assert_array_equal(laid.scores, table.loc[laid.items].to_numpy())
    option = rows.pivot(index="item", columns="draw", values="p_4")
    np.testing.assert_array_equal(laid.probs[..., 3], option.loc[laid.items].to_numpy())
    # Where the score stood is what the judgement says.
    place = rows.pivot(index="item", columns="draw", values="position").loc[laid.items].to_numpy()
    index = np.nan_to_num(laid.scores, nan=1).astype(int)[..., None] - 1
    found = np.take_along_axis(laid.positions(), index, axis=-1)[..., 0]
    assert (found == place)[~np.isnan(place)].all()
    assert laid.n_unparsed == (rows["status"] != "ok").sum() > 0


@given(st.lists(st.permutations(range(1, 10)), min_size=1, max_size=8))
def test_places_and_orders_are_inverse(orders):
    digits = ["".join(map(str, order)) for order in orders]
    rows = {"item": "a", "cluster": "a", "draw": range(len(orders)), "order": digits, "score": 1.0}
    laid = grid(pd.DataFrame(rows))
    assert laid.orders[0].tolist() == [list(order) for order in orders]
    again = np.take_along_axis(laid.orders, laid.positions() - 1, axis=-1)
    assert (again == np.arange(1, 10)).all()


def test_without_probabilities_they_are_undefined():
    laid = grid(by_hand().drop(columns=["p_3"]))
    assert laid.probs.shape == (3, 3, 3) and np.isnan(laid.probs).all()
    assert np.isnan(grid(by_hand().drop(columns="reference")).reference).all()


def test_an_item_stands_once_for_each_criterion():
    rows = planted_criteria(4, ["a", "b", "c"], 0, np.random.default_rng(0))
    laid = grid(rows)
    assert laid.scores.shape == (12, 6) and laid.n_clusters == 4
    assert laid.items.tolist() == [name for name in rows["item"].unique() for _ in "abc"]
    assert laid.clusters.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_no_rows_make_an_empty_grid():
    laid = grid(by_hand().iloc[:0])
    assert laid.scores.shape == (0, 0) and laid.n_clusters == 0 and laid.n_unparsed == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"draw": 0}, "two judgements of draw 0"),
        ({"order": ["123", "12", "123", "123", "123"]}, "several lengths"),
        ({"order": "122"}, "'122' is no permutation of 1 to 3"),
        ({"order": "012"}, "'012' is no permutation"),
        ({"cluster": [None, "a", "a", "a", "a"]}, "no cluster"),
    ],
)
def test_what_is_no_cell_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        grid(by_hand().assign(**change))


def test_two_scales_are_no_cell():
    rows = planted_criteria(4, ["a", "b"], 0, np.random.default_rng(0), scales=("12345", "54321"))
    with pytest.raises(ValueError, match="one scale"):
        grid(rows)


def test_cells_are_named_with_numbers_as_numbers():
    rng = np.random.default_rng(0)
    rows = pd.concat(
        planted(2, size, "fixed", 0, 0, 1, rng, temperature=heat)
        for size, heat in itertools.product((2, 5), (0.0, 0.3))
    )
    names = [name for name, _ in cells(rows)]
    assert [(name["size"], name["temperature"]) for name in names] == [(2, 0.0), (2, 0.3), (5, 0.0), (5, 0.3)]
    assert set(names[0]) == set(CELL) and names[0]["strategy"] == "fixed"


def test_texts_as_categories_are_chosen_and_grouped_as_before():
    rows = by_hand()
    found = coded(rows, but=["prompt"])
    assert {name for name in found if found[name].dtype == "category"} == {
        "item",
        "cluster",
        "order",
        "criterion",
    }
    assert (found["item"] == "a").tolist() == (rows["item"] == "a").tolist()
    # Names without a row make no cell, and cells keep their sequence.
    of_a_source = [names for names, _ in cells(found[found["cluster"] == "s1"], ("cluster", "item"))]
    assert of_a_source == [{"cluster": "s1", "item": "a"}, {"cluster": "s1", "item": "c"}]
    one, other = grid(found), grid(rows)
    assert one.items.tolist() == other.items.tolist() and one.clusters.tolist() == other.clusters.tolist()
    np.testing.assert_array_equal(one.orders, other.orders)


def test_a_missing_text_stays_missing_as_a_category():
    assert coded(pd.DataFrame({"cluster": ["a", None]}))["cluster"].isna().tolist() == [False, True]
