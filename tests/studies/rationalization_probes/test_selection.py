import pytest

from studies.rationalization_probes.params import TrialSet
from studies.rationalization_probes.selection import select
from tests.studies.rationalization_probes.support import item, items

TABLE = items(
    item("b:equal"),
    item("b:damage:1", "damage", 1),
    item("b:damage:2", "damage", 2),
    item("a:equal"),
    item("a:damage:1", "damage", 1),
    item("c:extractive:x", "extractive"),
    item("c:extractive:y", "extractive"),
)


def chosen(name, **changes):
    plain = {"items": None, "schemes": ["forced"], "probes": ["blind"], "reveal": False}
    return select(TABLE, name, TrialSet(**(plain | changes)))["item"].tolist()


def test_a_sets_name_is_the_kind_of_its_items_unless_it_says_another():
    assert chosen("equal") == ["b:equal", "a:equal"]
    assert chosen("mine", kind="equal") == ["b:equal", "a:equal"]
    assert chosen("equal", kind="extractive") == ["c:extractive:x", "c:extractive:y"]


def test_items_counts_documents_in_the_tables_order():
    assert chosen("equal", items=1) == ["b:equal"]
    assert chosen("extractive", items=1) == ["c:extractive:x", "c:extractive:y"]
    assert chosen("equal", items=3) == ["b:equal", "a:equal"]


@pytest.mark.parametrize(
    ("levels", "found"),
    [
        ([1], ["b:damage:1", "a:damage:1"]),
        ([2], ["b:damage:2"]),
        ([2, 1], ["b:damage:1", "b:damage:2", "a:damage:1"]),
    ],
)
def test_levels_leave_out_other_numbers_of_errors(levels, found):
    assert chosen("damage", levels=levels) == found


def test_documents_are_counted_among_those_that_have_the_level():
    assert select(TABLE.iloc[::-1], "damage", _damage(items=1, levels=[2]))["item"].tolist() == ["b:damage:2"]


def _damage(**changes):
    return TrialSet(schemes=["forced"], probes=["blind"], reveal=False, **changes)


def test_a_kind_that_is_not_there_gives_no_item():
    assert chosen("samples") == []
