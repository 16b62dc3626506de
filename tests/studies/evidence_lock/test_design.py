from __future__ import annotations

import itertools
import time

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import UserError
from studies.evidence_lock import design as stage
from studies.evidence_lock.design import COLUMNS, LETTERS, NAMES, SAME_RECORD, design, neutral_names, selected
from studies.evidence_lock.params import SCHEMES, Section, TrialSet
from tests.studies.evidence_lock.planted import OWN

ONE_CALL = ["standard", "structured"]


def item(name, dataset="embedded", **texts):
    """An item `<cluster>/<anything>` of a data set."""
    plain = {"context": "When does it leave?", "answer_1": "At nine.", "answer_2": "At ten."}
    cluster = f"{dataset}/{name.split('/')[0]}"
    return {"item": f"{dataset}/{name}", "cluster": cluster, "dataset": dataset, **plain, **texts}


def table(*rows):
    columns = ["item", "cluster", "dataset", "context", "answer_1", "answer_2"]
    return pd.DataFrame(rows, columns=columns)


MANY = table(*(item(f"q{q}/{n}") for q in range(20) for n in range(3)))
ONE = table(item("q/0"))


def asks(*schemes, **changes):
    return TrialSet.model_validate({"items": None, "schemes": list(schemes or ["lock"]), **changes})


def section(record_chars=300, **sets):
    places = {name: {"source": "external", "path": name, "items": None} for name in ("lfqa", "coval")}
    return Section.model_validate(
        {
            "judges": ["smollm2_135m"],
            "datasets": {"embedded": {"source": "embedded", "path": None, "items": None}, **places},
            "answer": {"record_chars": record_chars, "max_tokens": 200},
            "encoder": "weights/none",
            "coverage": {"threshold": 0.5},
            "sets": sets,
        }
    )


def trials(items=MANY, seed=1, **sets):
    return design(items, section(**(sets or {"main": asks(*OWN)})), seed)


# --- What is asked ----------------------------------------------------------------------------------


def test_each_protocol_is_asked_in_both_orders():
    found = trials()
    assert tuple(found.columns) == COLUMNS
    assert len(found) == 60 * len(OWN) * 2 and found["trial"].is_unique
    assert (found["inspection"] == found["decision"]).all()
    assert (found.groupby(["item", "scheme"])["inspection"].apply(sorted).map(tuple) == ("12", "21")).all()


def test_a_trials_name_tells_all_that_is_asked():
    found = trials(ONE, main=asks(crossed=True, temperatures=[0.7], replicates=2))
    assert found["trial"].tolist()[:3] == [
        "embedded/q/0|lock|12|12|300|1|neutral|0.7|0",
        "embedded/q/0|lock|12|12|300|1|neutral|0.7|1",
        "embedded/q/0|lock|12|21|300|1|neutral|0.7|0",
    ]


def test_crossed_orders_are_all_four():
    found = trials(ONE, main=asks("lock", "lock_with_source", crossed=True, wordings=[2, 1]))
    orders = found.groupby(["scheme", "wording"])[["inspection", "decision"]].apply(
        lambda rows: sorted(map(tuple, rows.to_numpy()))
    )
    assert len(orders) == 4 and all(of == list(itertools.product(["12", "21"], repeat=2)) for of in orders)


def test_only_what_writes_has_a_cap_on_what_is_written():
    found = trials(ONE, main=asks(*OWN, record_chars=[60, 120]))
    caps = found.groupby("scheme")["record_chars"].apply(lambda own: sorted(set(own))).to_dict()
    assert caps.pop("standard") == [0]
    assert caps.pop("reread") == [300]  # its first call is the lock's own, whatever caps are varied
    assert set(map(tuple, caps.values())) == {(60, 120)} and len(caps) == len(OWN) - 2
    assert len(found) == 2 * (2 * (len(OWN) - 2) + 2)


def test_without_caps_of_its_own_a_set_has_that_of_the_answer():
    assert set(trials(ONE, main=asks("structured", "lock"))["record_chars"]) == {300}


def test_samples_are_told_apart_above_temperature_0():
    found = trials(ONE, hot=asks(temperatures=[0.3, 0.7], replicates=3))
    samples = found.groupby(["inspection", "temperature"])["replicate"].apply(tuple)
    assert len(samples) == 4 and set(samples) == {(0, 1, 2)}


# --- Names ------------------------------------------------------------------------------------------


def test_an_items_names_are_the_same_in_all_its_trials():
    found = trials(main=asks(*OWN, wordings=[1, 2]), hot=asks(temperatures=[0.7]))
    pairs = found.groupby("item")[["name_1", "name_2"]].nunique()
    assert (pairs == 1).all(axis=None)
    assert (found["name_1"] != found["name_2"]).all()
    assert set(found["name_1"]) | set(found["name_2"]) <= set(NAMES)


def test_names_tell_nothing_about_the_candidate():
    """Of 400 items, each name is drawn for either candidate about as often."""
    many = table(*(item(f"q{n}/0") for n in range(400)))
    found = trials(many, main=asks("standard")).drop_duplicates("item")
    counts = pd.concat([found["name_1"].value_counts(), found["name_2"].value_counts()], axis=1).fillna(0)
    assert len(counts) == len(NAMES)
    # 400 / 21 = 19 expected of each, standard deviation 4.3: four of them
    assert counts.sub(400 / len(NAMES)).abs().max(axis=None) < 17.5
    assert not found["name_1"].lt(found["name_2"]).all()


def test_letters_name_the_first_shown_a():
    found = trials(main=asks("lock", "structured", naming="letters"))
    told = set(found[["inspection", "name_1", "name_2"]].itertuples(index=False, name=None))
    assert told == {("12", *LETTERS), ("21", *LETTERS[::-1])}


@pytest.mark.parametrize("text", ["context", "answer_1", "answer_2"])
def test_a_name_never_stands_in_an_items_texts(text):
    drawn = trials(ONE, main=asks()).iloc[0]
    held = f"Beside the {drawn['name_1'].upper()}wood, {drawn['name_2'].lower()}."
    found = trials(table(item("q/0", **{text: held})), main=asks())
    assert not {drawn["name_1"], drawn["name_2"]} & {*found["name_1"], *found["name_2"]}


@given(st.lists(st.sampled_from(NAMES), max_size=len(NAMES) - 2), st.integers(0, 9))
def test_names_are_drawn_from_those_that_are_free(held, seed):
    names = neutral_names((" ".join(held), "", ""), seed, "embedded/q/0")
    assert len(set(names)) == 2 and not set(names) & set(held)


def test_an_item_that_holds_nearly_all_names_is_named():
    rows = table(item("q/0"), item("grove/0", context=", ".join(NAMES[:-1])))
    with pytest.raises(UserError, match=r"item embedded/grove/0: its texts hold nearly every neutral name"):
        trials(rows, main=asks())


def test_neutral_names_have_no_rank_and_none_is_part_of_another():
    """A letter or a number would say which comes first; a text is searched for names as they are."""
    assert len(set(map(str.casefold, NAMES))) == len(NAMES)
    assert not [(a, b) for a, b in itertools.permutations(NAMES, 2) if a.casefold() in b.casefold()]
    assert all(name.isalpha() and len(name) > 3 for name in NAMES)


# --- What moves nothing -----------------------------------------------------------------------------


def test_adding_an_item_or_a_scheme_moves_no_other_trial():
    few = trials(MANY.iloc[::2]).set_index("trial")
    more = trials(main=asks(*OWN, wordings=[1, 2]), letters=asks(naming="letters")).set_index("trial")
    pd.testing.assert_frame_equal(few, more.loc[few.index])


def test_another_items_texts_move_no_names():
    other = MANY.assign(context=MANY["context"].mask(MANY["item"] == "embedded/q0/0", ", ".join(NAMES[:12])))
    one, two = (trials(rows, main=asks()).set_index("trial")[["name_1", "name_2"]] for rows in (MANY, other))
    same = ~one.index.str.startswith("embedded/q0/0|")
    pd.testing.assert_frame_equal(one[same], two[same])


def test_another_seed_draws_other_names_and_the_same_one_the_same():
    pd.testing.assert_frame_equal(trials(seed=1), trials(seed=1))
    one, other = (trials(seed=seed).drop_duplicates("item")["name_1"] for seed in (1, 2))
    assert (one.to_numpy() == other.to_numpy()).mean() < 0.5


# --- Sets -------------------------------------------------------------------------------------------


def test_a_trial_that_two_sets_ask_for_is_there_once():
    main, crossed = asks("lock", "structured"), asks(crossed=True)
    found = trials(main=main, crossed=crossed)
    assert found["trial"].is_unique
    # lock in four combinations, two of which are the main ones; structured in two
    assert len(found) == 60 * (4 + 2)
    pd.testing.assert_frame_equal(found, trials(crossed=crossed, main=main))


def test_a_cap_that_is_the_answers_own_is_no_other_trial():
    assert len(trials(ONE, main=asks(), budgets=asks(record_chars=[60, 300]))) == 2 * 2
    # what has no record is the same under every cap
    assert len(trials(ONE, main=asks("standard"), budgets=asks("standard", "lock", record_chars=[60]))) == 4


def test_an_items_trials_come_together_in_the_order_of_the_items():
    found = trials(main=asks(*OWN), more=asks(items=5, temperatures=[0.7]), letters=asks(naming="letters"))
    assert [name for name, _ in itertools.groupby(found["item"])] == MANY["item"].tolist()
    first = found[found["item"] == "embedded/q0/0"]
    # what a request begins with changes last: sampling and names, then the order of the pair, then the scheme
    assert [t for t, _ in itertools.groupby(first["temperature"])] == [0.0, 0.7]
    cold = first[first["temperature"] == 0]
    runs = [key for key, _ in itertools.groupby(zip(cold["naming"], cold["inspection"], strict=True))]
    assert runs == [(naming, order) for naming in ("letters", "neutral") for order in ("12", "21")]
    assert cold[cold["naming"] == "neutral"]["scheme"].tolist()[: len(OWN)] == OWN  # that of `SCHEMES`


def test_data_sets_are_kept_apart():
    rows = table(item("a/0"), item("b/0", "lfqa"), item("c/0", "coval"))
    one, both = asks("standard", datasets=["lfqa"]), asks("lock", datasets=["lfqa", "coval"])
    found = trials(rows, main=one, more=both)
    assert found.groupby("item")["scheme"].unique().map(sorted).to_dict() == {
        "lfqa/b/0": ["lock", "standard"],
        "coval/c/0": ["lock"],
    }


def test_a_set_of_no_items_and_no_item_at_all_have_no_trial():
    assert trials(main=asks(items=0)).empty
    nothing = trials(table(), main=asks("lock", "other_record", items=2))
    assert nothing.empty and tuple(nothing.columns) == COLUMNS


def test_items_are_spread_over_questions():
    """Whole questions first: of each question one pair before any gives a second."""
    found = selected(MANY, asks(items=20))
    assert {name.split("/")[1] for name in found} == {f"q{q}" for q in range(20)}
    assert found < selected(MANY, asks(items=25)) and selected(MANY, asks(items=None)) == set(MANY["item"])


@settings(max_examples=25)
@given(st.integers(0, 70))
def test_a_larger_set_keeps_the_items_of_a_smaller_one(count):
    few, more = (selected(MANY, asks(items=n)) for n in (count, count + 1))
    assert few <= more and len(few) == min(count, 60)


# --- Another judge's record -------------------------------------------------------------------------


@pytest.mark.parametrize("crossed", [False, True])
def test_anothers_record_is_one_that_a_lock_writes(crossed):
    found = trials(main=asks("lock"), other=asks("other_record", items=10, crossed=crossed))
    own, other = (found[found["scheme"] == scheme] for scheme in ("lock", "other_record"))
    keys = list(SAME_RECORD)
    assert len(other) == 10 * (4 if crossed else 2)
    assert len(other.merge(own[keys].drop_duplicates(), on=keys)) == len(other)


@pytest.mark.parametrize(
    ("lock", "count"),
    [
        ({"items": 1}, 2),  # of two items one has no lock
        ({"record_chars": [60]}, 4),
        ({"wordings": [2]}, 4),
        ({"naming": "letters"}, 4),
        ({"temperatures": [0.7]}, 4),
    ],
)
def test_a_record_that_nobody_writes_is_said_before_any_judge_is_asked(lock, count):
    rows = table(item("a/0"), item("b/0"))
    told = rf"^evidence_lock\.sets: {count} trials of other_record have no lock .*; ask `lock` about the same"
    with pytest.raises(UserError, match=told):
        trials(rows, main=asks("lock", **lock), other=asks("other_record"))


# --- The stage --------------------------------------------------------------------------------------


def test_a_run_without_a_trial_says_so(root, tmp_path, monkeypatch):
    (tmp_path / "params.yaml").write_text((root / "params.yaml").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"items\.parquet: absent; run the `data` stage"):
        stage.main()
    stage.ITEMS.parent.mkdir(parents=True)
    table().to_parquet(stage.ITEMS)
    with pytest.raises(UserError, match=r"evidence_lock\.sets: no set finds an item"):
        stage.main()
    ONE.to_parquet(stage.ITEMS)
    stage.main()
    assert set(pd.read_parquet(stage.TRIALS)["scheme"]) == set(SCHEMES)


def test_thirty_thousand_trials_take_seconds():
    rows = table(*(item(f"q{q}/0") for q in range(1250)))
    crossed, budgets = asks(crossed=True, wordings=[1, 2]), asks(record_chars=[60, 90])
    start = time.perf_counter()
    found = trials(rows, main=asks(*OWN), crossed=crossed, budgets=budgets)
    # both orders of each protocol, and of the lock two crossed orders, four of wording 2 and two at each cap
    assert len(found) == 1250 * (2 * len(OWN) + 2 + 4 + 4)
    assert time.perf_counter() - start < 15  # about one on an idle core
