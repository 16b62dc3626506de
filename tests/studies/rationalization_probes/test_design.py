import pandas as pd
import pytest

from studies.rationalization_probes.design import design
from studies.rationalization_probes.params import TrialSet
from tests.studies.rationalization_probes.support import attacked, item, items, params

EQUAL = TrialSet(
    items=None,
    schemes=["baseline", "scot"],
    probes=["blind", "truth", "flip", "placebo"],
    reveal=True,
)
MANY = items(*[item(f"doc{i}:equal") for i in range(200)])


def trials(table=MANY, seed=1, screen_orders="one", attacks=None, **sets):
    section = params(sets=sets or {"equal": EQUAL}, screen_orders=screen_orders)
    return design(table, attacked() if attacks is None else attacks, section, seed)


def with_probes(*probes, **changes):
    return EQUAL.model_copy(update={"probes": ["blind", *probes], "reveal": False, **changes})


def by_item(table, column):
    """The one value that each item has in a column."""
    assert (table.groupby("item")[column].nunique() == 1).all()
    return table.groupby("item")[column].first()


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


@pytest.mark.parametrize("probe", ["empty", "resample", "free"])
def test_without_a_cue_no_side_is_favoured(probe):
    table = trials(equal=with_probes(probe))
    asked = table[table["probe"] == probe]
    assert len(asked) == 200 * 2
    assert set(asked["favoured"]) == {""} and set(asked["carrier"]) == {1}


@pytest.mark.parametrize("probe", ["relabel_llm", "relabel_tradml"])
def test_only_candidate_1_is_relabelled(probe):
    table = trials(equal=with_probes(probe))
    asked = table[table["probe"] == probe]
    assert set(asked["carrier"]) == {1} and set(asked["favoured"]) == {"12"}


# --- Attacks ----------------------------------------------------------------------------------------


def rewritten(carriers, probe="verbosity", status="ok"):
    rows = zip(carriers, ("doc0:equal", "doc1:equal", "doc2:equal"), strict=False)
    return attacked(
        *(
            {"item": name, "probe": probe, "carrier": carrier, "text": "Longer.", "status": status}
            for carrier, name in rows
        )
    )


def test_the_attacked_candidate_is_the_carrier_and_the_favoured_side():
    table = trials(attacks=rewritten([2, 1]), equal=with_probes("verbosity", items=2))
    under_attack = table[table["probe"] == "verbosity"]
    assert by_item(under_attack, "carrier").to_dict() == {"doc0:equal": 2, "doc1:equal": 1}
    assert by_item(under_attack, "favoured").to_dict() == {"doc0:equal": "21", "doc1:equal": "12"}
    # and the attack moves nobody else's carrier
    assert set(table.loc[table["probe"] == "blind", "carrier"]) == {1}


def test_a_text_that_could_not_be_rewritten_is_not_put_on_trial():
    lost = rewritten([1, 1], "confidence", status="facts lost").tail(1)
    attacks = pd.concat([rewritten([1, 2]), rewritten([1], "confidence"), lost])
    table = trials(attacks=attacks, equal=with_probes("verbosity", "confidence", items=3, schemes=["forced"]))
    asked = table.groupby("item")["probe"].apply(list).to_dict()
    assert asked == {
        "doc0:equal": ["blind", "verbosity", "confidence"],
        "doc1:equal": ["blind", "verbosity"],
        "doc2:equal": ["blind"],
    }


# --- Several sets -----------------------------------------------------------------------------------


def test_a_trial_that_two_sets_ask_for_is_there_once():
    few = with_probes("truth", kind="equal", items=3, schemes=["scot", "forced"])
    table = trials(equal=EQUAL, few=few)
    alone = trials()
    assert table["trial"].is_unique
    # New is the scheme forced: three documents under two probes.
    assert len(table) == len(alone) + 3 * 2
    pd.testing.assert_frame_equal(table.head(len(alone)), alone)


@pytest.mark.parametrize("order", [("shown", "hidden"), ("hidden", "shown")])
def test_a_trial_is_revealed_if_either_set_asks(order):
    sets = {
        "shown": EQUAL.model_copy(update={"kind": "equal", "items": 2}),
        "hidden": with_probes("flip", kind="equal", items=3),
    }
    table = trials(**{name: sets[name] for name in order}).query("probe == 'flip'")
    revealed = table.groupby("item")["reveal"].agg(["any", "all"])
    assert revealed["any"].to_dict() == {"doc0:equal": True, "doc1:equal": True, "doc2:equal": False}
    assert (revealed["any"] == revealed["all"]).all()


def test_a_set_may_say_the_kind_of_its_items():
    assert set(trials(mine=with_probes(kind="equal", items=2))["item"]) == {"doc0:equal", "doc1:equal"}


def test_no_cue_is_revealed_after_pointwise_scores():
    both = EQUAL.model_copy(update={"schemes": ["scot", "pointwise"]})
    table = trials(equal=both).query("probe == 'flip'")
    assert table.groupby("scheme")["reveal"].all().to_dict() == {"scot": True, "pointwise": False}


# --- Reveal and orders ------------------------------------------------------------------------------


def test_only_flip_is_followed_by_the_reveal():
    table = trials()
    assert set(table.loc[table["reveal"], "probe"]) == {"flip"}
    assert table.loc[table["probe"] == "flip", "reveal"].all()
    silent = EQUAL.model_copy(update={"reveal": False})
    assert not trials(equal=silent)["reveal"].any()


@pytest.mark.parametrize("kind", ["damage", "qa_damage"])
def test_both_orders_by_param_and_always_for_damaged_pairs(kind):
    both = trials(screen_orders="both")
    assert (
        both.groupby(["item", "scheme", "probe"])["screen_order"].apply(sorted).map(tuple) == ("12", "21")
    ).all()
    damaged = items(*[item(f"doc{i}:{kind}:{k}", kind, k) for i in range(5) for k in (1, 2, 3)])
    one = TrialSet(items=2, levels=[3], schemes=["baseline"], probes=["blind"], reveal=False)
    table = trials(damaged, **{kind: one})
    # two documents, one level, both orders
    assert table[["item", "screen_order"]].values.tolist() == [
        [f"doc0:{kind}:3", "12"],
        [f"doc0:{kind}:3", "21"],
        [f"doc1:{kind}:3", "12"],
        [f"doc1:{kind}:3", "21"],
    ]


@pytest.mark.parametrize("kind", ["identical", "samples"])
def test_a_set_without_items_has_no_trials(kind):
    assert trials(MANY, **{kind: EQUAL}).empty
