"""Groups of units and coverage by group: small cases by hand, planted losses, what is left out."""

import numpy as np
import pandas as pd
import pytest

from shared.metrics.resampling import Inference
from studies.evidence_lock.lost import (
    GROUPS,
    MEANS,
    NOT_APART,
    QUANTITIES,
    SHARES,
    grouped,
    lost_rows,
    missing,
)
from tests.studies.evidence_lock.lost_facts import Facts, both, items_of, judged, telling
from tests.studies.evidence_lock.planted import planted

QUICK = Inference(resamples=200, permutations=200)
WHOLE = telling("alpha", "beta"), telling("gamma", "delta")
"""A record that has both answers' facts."""


def rows_of(judgements, items, threshold=0.5, inference=QUICK) -> pd.DataFrame:
    return lost_rows(judgements, items, Facts(), threshold, np.random.default_rng(0), inference)


def cell(rows, quantity, condition, **names) -> pd.Series:
    found = rows[(rows["quantity"] == quantity) & (rows["condition"] == condition)]
    for name, value in names.items():
        found = found[found[name] == value]
    assert len(found) == 1, f"{len(found)} rows of {quantity}, {condition}"
    return found.iloc[0]


def frame(*units) -> pd.DataFrame:
    return pd.DataFrame([row for unit in units for row in unit])


def four() -> tuple[pd.DataFrame, pd.DataFrame]:
    """One unit of each group, the better answer first in all; the lost one lacks a fact of the better answer,
    the gained one of the worse."""
    items = items_of(4)
    rows = [item for _, item in items.iterrows()]
    units = frame(
        both(rows[0], True, False, telling("alpha"), WHOLE[1]),
        both(rows[1], True, True, *WHOLE, order="21"),
        both(rows[2], False, True, WHOLE[0], telling("gamma")),
        both(rows[3], False, False, telling("alpha"), telling("delta"), order="21"),
    )
    return units, items


# --- Groups -----------------------------------------------------------------------------------------


def test_what_became_of_each_unit():
    units, _ = four()
    assert grouped(units)["group"].tolist() == list(GROUPS)


def test_a_tie_of_the_judge_is_wrong():
    item = items_of(1).iloc[0]
    tie = {**judged(item, "lock", True, *WHOLE), "verdict": "tie"}
    assert grouped(frame([judged(item, "structured", True), tie]))["group"].tolist() == ["lost"]


def test_each_order_is_a_unit_of_its_own():
    item = items_of(1).iloc[0]
    units = frame(both(item, True, False, *WHOLE, order="12"), both(item, True, True, *WHOLE, order="21"))
    found = grouped(units)
    assert dict(zip(found["inspection"], found["group"], strict=True)) == {"12": "lost", "21": "kept"}


@pytest.mark.parametrize("verdicts", [(None, True), (True, None), (None, None)])
def test_without_two_verdicts_there_is_no_group_and_a_count(verdicts):
    units, more = four()[0], items_of(5)
    rows = rows_of(pd.concat([units, frame(both(more.iloc[4], *verdicts, *WHOLE))]), more)
    assert cell(rows, "share", "lost")["value"] == pytest.approx(1 / 4)
    assert cell(rows, "share", "lost")["n_unparsed"] == 1
    assert cell(rows, "share", "lost")["n_trials"] == 4


@pytest.mark.parametrize(
    "other",
    [
        {"decision": "21"},
        {"wording": 2},
        {"naming": "letters"},
        {"temperature": 0.7},
        {"label": "tie"},
        {"scheme": "lock_with_source"},
        {"scheme": "other_record", "writer": "somebody"},
    ],
)
def test_only_the_usual_trials_of_the_paper_s_locks_count(other):
    units, items = four()
    odd = judged(items.iloc[1], "lock", False, "", "", order="12") | other | {"trial": "odd"}
    with_odd = pd.concat([units, pd.DataFrame([odd])], ignore_index=True)
    pd.testing.assert_frame_equal(rows_of(with_odd, items), rows_of(units, items))


def test_groups_are_of_the_largest_record_and_all_of_each():
    units, items = four()
    short = frame([judged(items.iloc[1], "lock", False, telling("alpha"), telling("gamma"), record_chars=90)])
    rows = rows_of(pd.concat([units, short], ignore_index=True), items)
    assert cell(rows, "share", "kept")["n_trials"] == 4
    assert cell(rows, "coverage_better", "all", record_chars=90)["value"] == pytest.approx(0.5)
    assert cell(rows, "coverage_better", "all", record_chars=600)["value"] == pytest.approx(3 / 4)


# --- Coverage ---------------------------------------------------------------------------------------


def test_coverage_of_each_group_by_hand():
    rows = rows_of(*four())
    # Of the better answer's two facts the record has 1, 2, 2, 1; of the worse one's 2, 2, 1, 1.
    expected = {"lost": (0.5, 1), "kept": (1, 1), "gained": (1, 0.5), "neither": (0.5, 0.5)}
    for group, (better, worse) in expected.items():
        assert cell(rows, "coverage_better", group)["value"] == pytest.approx(better)
        assert cell(rows, "coverage_worse", group)["value"] == pytest.approx(worse)
        assert cell(rows, "coverage_gap", group)["value"] == pytest.approx(better - worse)
        assert cell(rows, "missing_better", group)["value"] == pytest.approx(1 - better)
        assert cell(rows, "missing_worse", group)["value"] == pytest.approx(1 - worse)
        assert cell(rows, "share", group)["value"] == pytest.approx(1 / 4)
    assert cell(rows, "coverage_better", "all")["value"] == pytest.approx(3 / 4)
    # The text on the other answer has none of an answer's facts.
    assert cell(rows, "own_less_other", "all")["value"] == pytest.approx(3 / 4)
    assert cell(rows, "coverage_gap", "lost - gained")["value"] == pytest.approx(-1)
    assert cell(rows, "missing_better", "lost - kept")["value"] == pytest.approx(0.5)


def test_names_of_candidates_are_no_part_of_a_record():
    """Were the name a word of the sentence, its vector would be another one."""
    items = items_of(1, better=("alpha",), worse=("gamma",))
    vectors = {
        "It names alpha here.": np.array([1.0, 0.0]),
        "It names gamma here.": np.array([0.0, 1.0]),
        "the answer names alpha.": np.array([1.0, 0.0]),
        "the answer names gamma.": np.array([0.0, 1.0]),
    }
    units = frame(both(items.iloc[0], True, True, "Cedar names alpha.", "Willow names gamma."))
    rows = lost_rows(units, items, vectors, 0.5, np.random.default_rng(0), QUICK)
    assert cell(rows, "coverage_better", "kept")["value"] == 1


def test_a_record_without_a_word_misses_all_and_has_no_coverage():
    items = items_of(2)
    units = frame(both(items.iloc[0], True, False, "...", WHOLE[1]), both(items.iloc[1], True, True, *WHOLE))
    rows = rows_of(units, items)
    lost = cell(rows, "coverage_better", "lost")
    assert np.isnan(lost["value"]) and lost["n_trials"] == 0
    assert cell(rows, "missing_better", "lost")["value"] == 1
    assert cell(rows, "coverage_worse", "lost")["value"] == 1
    assert np.isnan(cell(rows, "coverage_better", "lost - kept")["value"])


def test_missing_is_below_the_threshold():
    assert missing(np.array([0.4, 0.5, 0.6, np.nan]), 0.5).tolist() == [True, False, False, True]


# --- Rows -------------------------------------------------------------------------------------------


def losses(n: int, better_when_lost: str, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """n items in two orders: each unit lost, kept or gained, with what a lost one's record says planted."""
    items, rng = items_of(n), np.random.default_rng(seed)
    partial = (telling("alpha"), WHOLE[1])
    units = []
    for _, item in items.iterrows():
        for order in ("12", "21"):
            group = rng.choice(["lost", "kept", "gained"], p=[0.3, 0.4, 0.3])
            said = WHOLE if rng.random() < 0.7 else partial
            said = (better_when_lost, WHOLE[1]) if group == "lost" and better_when_lost else said
            units.append(both(item, group != "gained", group != "lost", *said, order=order))
    return frame(*units), items


def test_a_planted_loss_is_found_against_both():
    rows = rows_of(*losses(40, telling("alpha")))
    for condition in ("lost - kept", "lost - gained"):
        found = cell(rows, "coverage_better", condition)
        # Half of the facts against 0.85 of them on average.
        assert found["value"] == pytest.approx(-0.35, abs=0.1) and found["ci_high"] < 0
        assert found["p_holm"] <= 0.02 and found["n_clusters"] > 10
        assert cell(rows, "coverage_worse", condition)["value"] == pytest.approx(0, abs=1e-9)
        assert cell(rows, "missing_better", condition)["ci_low"] > 0


def test_a_group_that_misses_all_is_uncertain_too():
    """All sentences of the few lost units are missing: resampling alone would see no spread there."""
    items = items_of(12)
    units = frame(
        *(
            both(item, True, place > 3, "It names omega.", "It names omega.")
            if place < 4 or place % 2
            else both(item, True, True, *WHOLE)
            for place, (_, item) in enumerate(items.iterrows())
        )
    )
    rows = rows_of(units, items)
    assert cell(rows, "missing_better", "lost")["value"] == 1
    assert cell(rows, "missing_better", "kept")["value"] == pytest.approx(0.5)
    # Four clusters that all miss all: Wilson's lower limit is 4 / (4 + 1.96^2) = 0.51, which alone takes the
    # lower end to 0.5 - 0.49 = 0.01.
    assert cell(rows, "missing_better", "lost - kept")["ci_low"] < 0.01


def test_no_loss_is_found_where_records_are_alike():
    p = [
        cell(rows, "coverage_better", condition)["p_holm"]
        for rows in (rows_of(*losses(20, "", seed)) for seed in range(4))
        for condition in ("lost - kept", "lost - gained")
    ]
    # Four families at 0.05: a rejection in three of them or more has a probability of 0.0005.
    assert sum(value <= 0.05 for value in p) <= 2


def test_every_row_has_its_sizes_and_every_test_its_effect():
    rows = rows_of(*losses(20, ""))
    assert (rows[["n_items", "n_trials", "n_clusters", "n_unparsed"]] >= 0).all().all()
    conditions = {condition: set(own["quantity"]) for condition, own in rows.groupby("condition")}
    assert conditions["all"] == {*QUANTITIES, "own_less_other"}
    assert conditions["lost"] == conditions["neither"] == {*QUANTITIES, "share", "better_first"}
    assert conditions["lost - kept"] == set(QUANTITIES)
    varying = rows[rows["condition"].isin(["lost - kept"]) & rows["quantity"].isin(["coverage_better"])]
    assert varying[["p", "p_holm", "mde"]].notna().all().all()
    within = rows[
        rows["quantity"].isin([*SHARES, "share", "better_first"]) & ~rows["condition"].str.contains(" - ")
    ]
    within = within[within["value"].notna()]
    assert within["value"].between(0, 1).all() and (within["ci_low"] < within["ci_high"]).all()
    assert rows[rows["quantity"].isin(MEANS) & (rows["condition"] == "kept")]["value"].notna().all()


def test_rows_are_the_same_in_any_sequence_and_with_another_judge():
    units, items = losses(12, telling("alpha"))
    rows = rows_of(units, items)
    shuffled = rows_of(units.sample(frac=1, random_state=1), items.sample(frac=1, random_state=2))
    key = ["quantity", "condition"]
    left, right = (found.sort_values(key, ignore_index=True) for found in (rows, shuffled))
    pd.testing.assert_frame_equal(left[["value", "n_trials"]], right[["value", "n_trials"]])
    two = rows_of(pd.concat([units.assign(judge="other"), units], ignore_index=True), items)
    pd.testing.assert_frame_equal(two[two["judge"] == "scripted"].reset_index(drop=True), rows)


def test_data_sets_are_pooled_and_corrected_as_one_family():
    units, items = losses(20, telling("alpha"))
    more = units.assign(
        dataset="second", item="x" + units["item"], cluster="x" + units["cluster"], trial="x" + units["trial"]
    )
    texts = pd.concat([items, items.assign(item="x" + items["item"], dataset="second")])
    rows = rows_of(pd.concat([units, more], ignore_index=True), texts)
    assert set(rows["dataset"]) == {"planted", "second", "all"}
    assert cell(rows, "share", "lost", dataset="all")["n_items"] == 40
    own = rows[(rows["dataset"] != "all") & (rows["quantity"] == "coverage_better") & rows["p"].notna()]
    smallest = own["p"].min()
    assert len(own) == 4 and own["p_holm"].min() == pytest.approx(min(1, 4 * smallest))


def test_data_sets_and_places_that_differ_are_no_loss():
    """In the second data set more is lost and records cover less; so it is where the better one is last."""
    rng, parts = np.random.default_rng(2), []
    items = pd.concat(
        [items_of(40), items_of(40).assign(dataset="second", item=lambda t: "x" + t["item"])],
        ignore_index=True,
    )
    items = items.assign(cluster=items["item"])
    for _, item in items.iterrows():
        for order in ("12", "21"):
            hard = (item["dataset"] == "second") + (item["label"] != order[0])
            said = telling("alpha") if rng.random() < 0.1 + 0.4 * hard else WHOLE[0]
            parts.append(both(item, True, rng.random() > 0.1 + 0.4 * hard, said, WHOLE[1], order=order))
    units = frame(*parts)
    rows = rows_of(units, items)
    lost, kept = (cell(rows, "coverage_better", group, dataset="all")["value"] for group in ("lost", "kept"))
    assert lost - kept < -0.1
    pooled = cell(rows, "coverage_better", "lost - kept", dataset="all")
    assert pooled["ci_low"] < 0 < pooled["ci_high"] and pooled["p"] > 0.05
    # Lost with 0.1 to 0.9: the better answer stood last in most of what was lost.
    for dataset in ("planted", "second", "all"):
        assert cell(rows, "better_first", "lost", dataset=dataset)["value"] < 0.45
        assert cell(rows, "better_first", "kept", dataset=dataset)["value"] > 0.55
    # The pooled difference lies between those of the data sets.
    apart = [cell(rows, "coverage_better", "lost - kept", dataset=d)["value"] for d in ("planted", "second")]
    assert min(apart) - 1e-9 <= pooled["value"] <= max(apart) + 1e-9


def test_groups_without_a_place_in_common_have_no_difference():
    items = items_of(12)
    units = [
        both(item, True, place % 2 == 0, telling("alpha"), WHOLE[1])
        for place, (_, item) in enumerate(items.iterrows())
    ]
    rows = rows_of(frame(*units), items)
    assert (
        cell(rows, "better_first", "lost")["value"] == 0 and cell(rows, "better_first", "kept")["value"] == 1
    )
    for quantity in QUANTITIES:
        found = cell(rows, quantity, "lost - kept")
        assert found[["value", "ci_low", "ci_high", "p", "mde"]].isna().all() and found["n_items"] == 0


def test_two_questions_give_no_interval():
    rows = rows_of(*four())
    two = frame(*(both(item, True, True, *WHOLE) for _, item in items_of(2).iterrows()))
    pair = rows_of(two, items_of(2))
    for found in (cell(rows, "coverage_better", "lost - gained"), cell(pair, "coverage_better", "kept")):
        assert found[["ci_low", "ci_high"]].isna().all() and np.isfinite(found["value"])


def test_coverage_that_tells_nothing_is_said_to():
    """A record that says the same of both answers covers each as well by the other's text."""
    units, items = losses(12, telling("alpha"))
    same = telling("alpha", "gamma")
    alike = units.assign(**{name: units[name].where(units[name] == "", same) for name in
                            ("evidence_1", "evidence_2")})  # fmt: skip
    telling_apart, telling_nothing = rows_of(units, items), rows_of(alike, items)
    assert (telling_apart["note"] == "").all()
    rests = telling_nothing["quantity"].isin([*QUANTITIES, "own_less_other"])
    assert (telling_nothing.loc[rests, "note"] == NOT_APART).all() and rests.any()
    assert (telling_nothing.loc[~rests, "note"] == "").all()
    # The short record alone tells nothing: groups are of the largest.
    short = alike[alike["scheme"] == "lock"].assign(record_chars=90, trial=lambda t: "s" + t["trial"])
    rows = rows_of(pd.concat([units, short], ignore_index=True), items)
    assert set(rows.loc[rows["note"] == NOT_APART, "record_chars"]) == {90}


def test_pointwise_is_a_lock_of_its_own():
    units, items = four()
    pointwise = units[units["scheme"] == "lock"].assign(
        scheme="pointwise_lock", trial=lambda t: "p" + t["trial"]
    )
    rows = rows_of(pd.concat([units, pointwise], ignore_index=True), items)
    assert cell(rows, "coverage_better", "lost", scheme="pointwise_lock")["value"] == pytest.approx(0.5)


def test_nothing_to_compare_gives_no_rows():
    units, items = four()
    assert rows_of(units.iloc[:0], items).empty
    assert rows_of(units[units["scheme"] == "structured"], items).empty
    alone = rows_of(units[units["scheme"] == "lock"], items)
    assert set(alone["condition"]) == {"all"}


def test_a_scripted_judge_is_grouped_at_the_planted_rates():
    judgements = planted(600, np.random.default_rng(1), agree={"structured": 0.9, "lock": 0.7})
    shares = grouped(judgements)["group"].value_counts(normalize=True)
    # Independent verdicts: 0.9 x 0.3, 0.9 x 0.7, 0.1 x 0.7; three standard errors over 600 items.
    for group, expected in {"lost": 0.27, "kept": 0.63, "gained": 0.07}.items():
        assert shares[group] == pytest.approx(expected, abs=3 * np.sqrt(expected * (1 - expected) / 600))
