import pandas as pd
import pytest

from studies.rationalization_probes.design import design
from studies.rationalization_probes.params import TrialSet
from tests.studies.rationalization_probes.support import item, items, params

EQUAL = TrialSet(
    items=None,
    schemes=["baseline", "scot"],
    probes=["blind", "truth", "flip", "placebo"],
    reveal=True,
)
MANY = items(*[item(f"doc{i}:equal") for i in range(200)])


def trials(table=MANY, seed=1, screen_orders="one", **sets):
    return design(table, params(sets=sets or {"equal": EQUAL}, screen_orders=screen_orders), seed)


def test_every_item_meets_every_scheme_and_probe_once():
    table = trials()
    assert len(table) == 200 * 2 * 4
    assert table["trial"].is_unique
    assert (table.groupby(["item", "scheme", "probe"]).size() == 1).all()


def test_trials_run_in_the_order_item_presentation_scheme_probe():
    table = trials(items(item("a:equal"), item("b:equal")))
    assert table["item"].tolist() == ["a:equal"] * 8 + ["b:equal"] * 8
    assert table["scheme"].tolist() == (["baseline"] * 4 + ["scot"] * 4) * 2
    assert table["probe"].tolist() == ["blind", "truth", "flip", "placebo"] * 4


def test_the_screen_order_is_drawn_once_per_item_and_balanced():
    table = trials()
    assert (table.groupby("item")["screen_order"].nunique() == 1).all()
    # 200 fair draws: 100 give or take 5 standard deviations (7.1 each)
    first = table.drop_duplicates("item")["screen_order"].eq("12").sum()
    assert 65 < first < 135


def test_adding_an_item_or_a_scheme_moves_no_other_draw():
    few = trials(MANY.iloc[:50]).set_index("trial")
    more_schemes = EQUAL.model_copy(update={"schemes": ["forced", "baseline", "scot"]})
    more = trials(MANY, equal=more_schemes).set_index("trial")
    pd.testing.assert_frame_equal(few, more.loc[few.index])


def test_another_seed_draws_anew():
    assert not trials(seed=1)["screen_order"].equals(trials(seed=2)["screen_order"])


def test_carriers_and_the_papers_coding():
    table = trials()
    by_probe = table.groupby("probe")
    # 4.3: under Truth candidate 1 is labelled LLM and [1,2] is favoured, under Flip the other way round
    assert set(by_probe.get_group("truth")["favoured"]) == {"12"}
    assert set(by_probe.get_group("truth")["carrier"]) == {1}
    assert set(by_probe.get_group("flip")["favoured"]) == {"21"}
    assert set(by_probe.get_group("flip")["carrier"]) == {2}
    assert set(by_probe.get_group("blind")["favoured"]) == {""}
    assert set(by_probe.get_group("blind")["carrier"]) == {1}
    placebo = by_probe.get_group("placebo")
    assert (placebo.groupby("item")["carrier"].nunique() == 1).all()
    assert 65 < placebo.drop_duplicates("item")["carrier"].eq(1).sum() < 135
    assert (placebo["favoured"].eq("12") == placebo["carrier"].eq(1)).all()


def test_only_flip_is_followed_by_the_reveal():
    table = trials()
    assert set(table.loc[table["reveal"], "probe"]) == {"flip"}
    assert table.loc[table["probe"] == "flip", "reveal"].all()
    silent = EQUAL.model_copy(update={"reveal": False})
    assert not trials(equal=silent)["reveal"].any()


def test_both_orders_by_param_and_always_for_damaged_pairs():
    both = trials(screen_orders="both")
    assert (
        both.groupby(["item", "scheme", "probe"])["screen_order"].apply(sorted).map(tuple) == ("12", "21")
    ).all()
    damaged = items(*[item(f"doc{i}:damage:{k}", "damage", k) for i in range(5) for k in (1, 2, 3)])
    one = TrialSet(items=2, levels=[3], schemes=["baseline"], probes=["blind"], reveal=False)
    table = trials(damaged, damage=one)
    # two documents, one level, both orders
    assert table[["item", "screen_order"]].values.tolist() == [
        ["doc0:damage:3", "12"],
        ["doc0:damage:3", "21"],
        ["doc1:damage:3", "12"],
        ["doc1:damage:3", "21"],
    ]


@pytest.mark.parametrize("kind", ["identical", "samples"])
def test_a_set_without_items_has_no_trials(kind):
    assert trials(MANY, **{kind: EQUAL}).empty
