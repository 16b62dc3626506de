from __future__ import annotations

import itertools
import json
import time

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import UserError
from studies.rubric_position_bias.design import COLUMNS, design, selected
from studies.rubric_position_bias.orders import balanced
from studies.rubric_position_bias.params import Section, TrialSet

STRATEGIES = ["balanced", "random", "fixed"]


def item(name, dataset="embedded", setting="score", criteria=0):
    """An item `<cluster>/<anything>` of a data set."""
    asked = [{"name": f"c{n}", "question": "?"} for n in range(criteria)]
    cluster = f"{dataset}/{name.split('/')[0]}"
    return {
        "item": f"{dataset}/{name}",
        "cluster": cluster,
        "dataset": dataset,
        "setting": setting,
        "criteria": json.dumps(asked),
    }


def several(name, criteria=4, dataset="embedded"):
    return item(name, dataset, "criteria", criteria)


def table(*rows):
    return pd.DataFrame(rows, columns=["item", "cluster", "dataset", "setting", "criteria"])


MANY = table(*(item(f"p{p}/s{s}") for p in range(30) for s in range(3)))


def asks(**changes):
    plain = {
        "setting": "score",
        "items": None,
        "schemes": ["base"],
        "sizes": [5],
        "strategies": STRATEGIES,
        "temperatures": [0.0],
    }
    return TrialSet.model_validate(plain | changes)


def asks_criteria(**changes):
    return asks(**({"setting": "criteria", "sizes": None, "scales": ["12345"]} | changes))


def section(**sets):
    datasets = {"embedded": {"source": "embedded", "path": None, "items": None, "systems": None}}
    datasets |= {
        name: {"source": "external", "path": name, "items": None, "systems": None}
        for name in ("mt_bench", "hanna")
    }
    return Section.model_validate(
        {
            "judges": ["smollm2_135m"],
            "datasets": datasets,
            "answer": {"reasoning_chars": 200, "max_tokens": 200, "top_logprobs": 20},
            "sets": sets,
            "calibration": {"items": 4, "repeats": 20},
            "budget": {"position_effect": 0.05},
        }
    )


def trials(items=MANY, seed=1, **sets):
    return design(items, section(**(sets or {"main": asks()})), seed)


def orders(of, strategy):
    """Each item's orders under a strategy, in the order of the draws."""
    chosen = of[of["strategy"] == strategy].sort_values("draw", kind="stable")
    return chosen.groupby("item")["order"].apply(list).to_dict()


# --- What is asked ----------------------------------------------------------------------------------


def test_an_item_meets_ten_balanced_ten_random_and_one_fixed_order():
    found = trials()
    assert tuple(found.columns) == COLUMNS
    assert len(found) == 90 * (10 + 10 + 1)
    assert found["trial"].is_unique
    assert all(sorted(shown) == sorted(balanced(5)) for shown in orders(found, "balanced").values())
    assert all(len(set(shown)) == 10 for shown in orders(found, "random").values())
    assert set(map(tuple, orders(found, "fixed").values())) == {("12345",)}


def test_a_trials_name_tells_all_that_is_asked():
    found = trials(table(item("p/s")), main=asks(strategies=["fixed"], temperatures=[0.3], efforts=["low"]))
    assert found["trial"].tolist()[:2] == [
        "embedded/p/s|base|5|12345||0.3|low|fixed|0|0",
        "embedded/p/s|base|5|12345||0.3|low|fixed|1|1",
    ]


@pytest.mark.parametrize(
    ("size", "counts"),  # balanced, random, fixed: as many as there are distinct balanced orders
    [(2, (2, 2, 2)), (3, (6, 6, 6)), (5, (10, 10, 10)), (9, (18, 18, 18))],
)
def test_the_strategies_are_matched_where_k_is_left_open(size, counts):
    found = trials(table(item("p/s")), main=asks(sizes=[size], temperatures=[1.0]))
    assert tuple(found["strategy"].value_counts()[STRATEGIES]) == counts
    assert set(found["size"]) == {size}


def test_more_orders_than_there_are_distinct_ones_are_not_asked():
    found = trials(table(item("p/s")), main=asks(sizes=[3], k=100, temperatures=[0.6]))
    assert found["strategy"].value_counts().to_dict() == {"fixed": 100, "balanced": 6, "random": 6}


def test_repeats_of_a_request_are_told_apart_only_above_temperature_0():
    found = trials(main=asks(k=4, temperatures=[0.0, 0.6]))
    fixed = found[found["strategy"] == "fixed"]
    assert fixed[fixed["temperature"] == 0.0]["draw"].eq(0).all()
    assert fixed.groupby(["item", "temperature"])["replicate"].apply(list).map(tuple).unique().tolist() == [
        (0,),
        (0, 1, 2, 3),
    ]
    assert found[found["strategy"] != "fixed"]["replicate"].eq(0).all()


def test_orders_are_the_same_under_every_arm_temperature_and_effort():
    varied = asks(schemes=["base", "cot"], temperatures=[0.3, 1.0], efforts=["low", "high"], k=5)
    found = trials(main=varied)
    assert len(found) == 90 * 2 * 2 * 2 * (5 + 5 + 5)
    shown = found.groupby(["item", "strategy", "draw"])["order"]
    assert (shown.nunique() == 1).all() and (shown.size() == 8).all()


def test_sizes_are_drawn_apart():
    found = trials(main=asks(sizes=[5, 9], strategies=["balanced"]))
    firsts = found[found["draw"] == 0].pivot(index="item", columns="size", values="order")
    five = firsts[5].map(balanced(5).index)
    nine = firsts[9].map(balanced(9).index)
    assert abs(five.corr(nine)) < 0.3  # 90 items: three standard errors


def test_adding_an_item_or_an_arm_moves_no_other_trial():
    few = trials(MANY.iloc[::2]).set_index("trial")
    more = trials(main=asks(schemes=["prose", "base"], temperatures=[0.0, 0.6])).set_index("trial")
    pd.testing.assert_frame_equal(few, more.loc[few.index])


def test_another_seed_draws_anew_and_the_same_one_draws_the_same():
    pd.testing.assert_frame_equal(trials(seed=1), trials(seed=1))
    assert not trials(seed=1)["order"].equals(trials(seed=2)["order"])


# --- Criteria ---------------------------------------------------------------------------------------


def test_criteria_are_rotated_and_crossed_with_the_range():
    rows = table(several("a/s", 4), several("b/s", 6))
    found = trials(rows, criteria=asks_criteria(scales=["12345", "54321"], strategies=["balanced"]))
    by_item = found.groupby("item")
    assert by_item["size"].unique().map(list).to_dict() == {"embedded/a/s": [4], "embedded/b/s": [6]}
    assert by_item.size().to_dict() == {"embedded/a/s": 2 * 8, "embedded/b/s": 2 * 12}
    pairs = found[found["item"] == "embedded/a/s"][["order", "scale"]].itertuples(index=False, name=None)
    assert sorted(pairs) == sorted(itertools.product(balanced(4), ["12345", "54321"]))


def test_score_options_have_no_range():
    assert set(trials()["scale"]) == {""}


@pytest.mark.parametrize("count", [1, 10])
def test_an_item_whose_criteria_have_no_order_is_named(count):
    rows = table(several("fine/s", 4), several("odd/s", count))
    with pytest.raises(UserError, match=f"item embedded/odd/s: has {count} criteria, but an order takes 2"):
        trials(rows, criteria=asks_criteria())


def test_nine_criteria_have_eighteen_orders():
    assert len(trials(table(several("a/s", 9)), criteria=asks_criteria(strategies=["balanced"]))) == 18


# --- Sets -------------------------------------------------------------------------------------------


def test_a_trial_that_two_sets_ask_for_is_there_once():
    few, more = asks(k=3), asks(schemes=["base", "prose"])
    found = trials(few=few, more=more)
    assert found["trial"].is_unique
    pd.testing.assert_frame_equal(found, trials(more=more))  # the first three are among the ten
    pd.testing.assert_frame_equal(found, trials(more=more, few=few))


def test_an_items_trials_come_together_in_the_order_of_the_items():
    found = trials(arms=asks(schemes=["cot", "base"]), sizes=asks(sizes=[9, 2], items=5))
    assert [name for name, _ in itertools.groupby(found["item"])] == MANY["item"].tolist()
    first = found[found["item"] == "embedded/p0/s0"]
    assert [name for name, _ in itertools.groupby(first["scheme"])] == ["base", "cot"]
    assert [size for size, _ in itertools.groupby(first[first["scheme"] == "base"]["size"])] == [2, 5, 9]
    assert first[first["size"] == 9]["draw"].tolist() == [*range(18), *range(18), 0]


def test_settings_and_data_sets_are_kept_apart():
    rows = table(item("a/s"), several("a/all"), item("q/s", "mt_bench"), several("t/all", 6, "hanna"))
    found = trials(rows, main=asks(datasets=["mt_bench"]), criteria=asks_criteria())
    assert found["item"].unique().tolist() == ["embedded/a/all", "mt_bench/q/s", "hanna/t/all"]
    assert found.groupby("item")["setting"].unique().map(list).to_dict() == {
        "embedded/a/all": ["criteria"],
        "mt_bench/q/s": ["score"],
        "hanna/t/all": ["criteria"],
    }


def test_a_set_of_no_items_and_no_set_at_all_have_no_trial():
    assert trials(main=asks(items=0)).empty
    nothing = trials(table(), main=asks(items=2))
    assert nothing.empty and tuple(nothing.columns) == COLUMNS


# --- Which items ------------------------------------------------------------------------------------

UNEVEN = table(*(item(name) for name in ("a/1", "a/2", "a/3", "b/1", "c/1", "c/2")))


@pytest.mark.parametrize(
    ("count", "found"),
    [
        # Which of its items comes first moves on with the prompt's place: a (place 0) begins with its first,
        # b (place 1) has only one, c (place 2) comes round to its first of two. Then a and c give their
        # second, then a its third.
        (0, []),
        (1, ["a/1"]),
        (3, ["a/1", "b/1", "c/1"]),
        (5, ["a/1", "a/2", "b/1", "c/1", "c/2"]),
        (6, ["a/1", "a/2", "a/3", "b/1", "c/1", "c/2"]),
        (7, ["a/1", "a/2", "a/3", "b/1", "c/1", "c/2"]),
    ],
)
def test_items_are_spread_over_prompts_first(count, found):
    assert sorted(selected(UNEVEN, asks(items=count))) == [f"embedded/{name}" for name in found]


def test_the_first_items_are_not_all_one_systems():
    assert selected(MANY, asks(items=3)) == {"embedded/p0/s0", "embedded/p1/s2", "embedded/p2/s1"}


def test_items_are_counted_for_each_data_set():
    rows = table(*(item(f"p{n}/s", name) for n in range(4) for name in ("hanna", "mt_bench")))
    assert sorted(selected(rows, asks(items=1))) == ["hanna/p0/s", "mt_bench/p0/s"]


def test_another_data_set_before_it_changes_no_selection():
    rows = pd.concat([table(item("x/s", "hanna"), item("y/s", "hanna")), MANY], ignore_index=True)
    assert selected(rows, asks(items=7, datasets=["embedded"])) == selected(MANY, asks(items=7))
    assert selected(MANY, asks(items=7)) < selected(rows, asks(items=7))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.integers(0, 40))
def test_more_items_keep_the_ones_before(sizes, count):
    rows = table(*(item(f"p{p}/s{s}") for p, size in enumerate(sizes) for s in range(size)))
    found = selected(rows, asks(items=count))
    assert len(found) == min(count, len(rows))
    assert found <= selected(rows, asks(items=count + 1))
    of_prompt = [sum(name.startswith(f"embedded/p{p}/") for name in found) for p in range(len(sizes))]
    full = [taken == size for taken, size in zip(of_prompt, sizes, strict=True)]
    # No prompt gives a second item while another has one to give.
    assert max(of_prompt) - min((t for t, f in zip(of_prompt, full, strict=True) if not f), default=99) <= 1


# --- Speed ------------------------------------------------------------------------------------------


def test_a_hundred_thousand_trials_take_seconds():
    rows = table(*(item(f"p{p}/s{s}") for p in range(1250) for s in range(4)))
    start = time.perf_counter()
    found = trials(rows)
    assert len(found) == 5000 * 21
    assert time.perf_counter() - start < 15  # about two on an idle core
