"""Orders apart: by hand, planted judges found at what was planted, clean ones found clean."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shared.metrics.multiplicity import holm
from shared.metrics.permutation import sign_flip_test
from shared.metrics.resampling import Inference
from studies.evidence_lock.orders import (
    CHANGES,
    COMPONENTS,
    ORDERS,
    components,
    item_components,
    item_values,
    order_rows,
    replicate_noise,
    step,
    units,
    wording_noise,
)
from studies.evidence_lock.rows import COLUMNS
from tests.studies.evidence_lock.planted import planted, planted_items

QUICK = Inference(resamples=200, permutations=499)


def rows_of(judgements: pd.DataFrame, inference: Inference = QUICK, seed: int = 1) -> pd.DataFrame:
    return order_rows(judgements, np.random.default_rng(seed), inference)


def one(rows: pd.DataFrame, quantity: str, **where: object) -> pd.Series:
    found = rows[rows["quantity"] == quantity]
    for name, value in where.items():
        found = found[found[name] == value]
    assert len(found) == 1, found
    return found.iloc[0]


def scripted(verdicts: dict[str, str], labels: str, **cell) -> pd.DataFrame:
    """Judgements of the lock: by item the verdicts in the sequence of `ORDERS`; t is a tie, - has none."""
    items = planted_items(len(verdicts)).assign(item=list(verdicts), cluster=list(verdicts))
    items = items.assign(label=[{"t": "tie"}.get(label, label) for label in labels])
    rows = planted(items, np.random.default_rng(0), schemes=["lock"], crossed=True)
    said = {"1": "1", "2": "2", "t": "tie", "-": None}
    answer = [
        said[verdicts[item][ORDERS.index((inspection, decision))]]
        for item, inspection, decision in zip(rows["item"], rows["inspection"], rows["decision"], strict=True)
    ]
    rows = rows.assign(verdict=pd.Series(answer, dtype=object))
    return rows.assign(status=np.where(rows["verdict"].isna(), "unparsed", "ok"), **cell)


# a is decided by the texts, b by the order of decision, c by that of inspection, d by whether both are one.
FOUR = {"a": "1111", "b": "1212", "c": "1122", "d": "1tt1"}
LABELS = "112t"


# --- By hand ----------------------------------------------------------------------------------------


def test_changes_by_hand():
    found = rows_of(scripted(FOUR, LABELS))
    # through: a 0, b 0, c 1, d 1; direct: a 0, b 1, c 0, d 1; both: a 0, b 1, c 1, d 0.
    assert [one(found, name)["value"] for name in CHANGES] == [0.5, 0.5, 0.5]
    assert one(found, "through_record_less_direct")["value"] == 0
    # c leans with all of its four verdicts to what was inspected first, b to what was listed first.
    assert one(found, "towards_first_inspected")["value"] == 0.25
    assert one(found, "towards_first_decided")["value"] == 0.25
    sizes = one(found, "through_record")[["n_items", "n_trials", "n_clusters", "n_unparsed"]]
    assert sizes.tolist() == [4, 16, 4, 0] and one(found, "both")["n_trials"] == 8
    assert found["dataset"].eq("planted").all() and found["scheme"].eq("lock").all()
    assert tuple(found.columns) == COLUMNS


def test_agreement_by_order_by_hand():
    found = rows_of(scripted(FOUR, LABELS))
    by_order = found[found["quantity"] == "agreement_by_order"].set_index("condition")["value"]
    # Of a, b and c, which have strict labels 1, 1 and 2.
    assert by_order.to_dict() == pytest.approx(
        {
            "inspection 12, decision 12": 2 / 3,
            "inspection 12, decision 21": 1 / 3,
            "inspection 21, decision 12": 1,
            "inspection 21, decision 21": 2 / 3,
        }
    )
    crossed = one(found, "agreement_crossed_less_same")
    assert crossed["value"] == pytest.approx(0) and crossed["n_items"] == 3


def test_shares_of_the_variance_by_hand():
    found = rows_of(scripted(FOUR, LABELS))
    shares = found[found["quantity"] == "variance_share"].set_index("condition")["value"]
    # Means of the items 1, 0, 0, 1/2: variance 0.3125 - 0.375^2; inspection moves c by 1, decision b by 1,
    # and d moves by 1/2 with both: 1/4, 1/4, 1/16 of squares, which sum to the variance of the verdicts.
    parts = np.array([0.171875, 0.25, 0.25, 0.0625])
    total = np.var([1, 1, 1, 1, 1, -1, 1, -1, 1, 1, -1, -1, 1, 0, 0, 1])
    assert total == pytest.approx(parts.sum())
    assert shares.to_dict() == pytest.approx(dict(zip(COMPONENTS, parts / total, strict=False)))


def test_an_item_without_one_of_its_verdicts_is_left_out_and_counted():
    found = rows_of(scripted(FOUR | {"e": "12-1"}, LABELS + "1"))
    whole = rows_of(scripted(FOUR, LABELS))
    for quantity in (*CHANGES, "towards_first_decided", "agreement_crossed_less_same"):
        lost, kept = one(found, quantity), one(whole, quantity)
        assert lost["value"] == kept["value"] and lost["n_items"] == kept["n_items"]
        assert (lost["n_unparsed"], kept["n_unparsed"]) == (1, 0)
    nothing = rows_of(scripted(dict.fromkeys("ab", "----"), "12"))
    assert nothing["value"].isna().all() and nothing["p"].isna().all() and nothing["n_items"].eq(0).all()
    assert one(nothing, "direct")["n_unparsed"] == 8


def test_noise_by_hand():
    again = scripted({"a": "1112", "b": "121t", "c": "-122"}, "112", wording=2)
    both = pd.concat([scripted(FOUR, LABELS), again])
    noise = wording_noise(units(both)).set_index("item")
    # a and b differ in one of four, c in none of the three that have both; d was not asked again.
    assert noise["value"].to_dict() == {"a": 0.25, "b": 0.25, "c": 0}
    assert noise["n_trials"].tolist() == [8, 8, 6] and noise["n_unparsed"].tolist() == [0, 0, 1]
    found = rows_of(both)
    assert one(found, "noise_wording")["value"] == pytest.approx(1 / 6)
    # Direct: a 0, b 1, c 0, less 1/4, 1/4, 0.
    above = one(found, "direct_above_noise", condition="noise_wording")
    assert above["value"] == pytest.approx(0.5 / 3)
    assert (above["n_items"], above["n_trials"], above["n_unparsed"]) == (3, 12 + 22, 1)


def test_noise_of_three_replicates_is_the_mean_over_their_pairs():
    samples = [scripted({"a": said}, "1", temperature=0.7, replicate=r) for r, said in
               enumerate(("1111", "1112", "2112"))]  # fmt: skip
    noise = replicate_noise(units(pd.concat(samples))).iloc[0]
    # 1111-1112 differ in 1 of 4, 1111-2112 in 2, 1112-2112 in 1; of the three pairs 24 verdicts.
    assert noise["value"] == pytest.approx(4 / 12) and noise["n_trials"] == 24


# --- Planted judges ---------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0.5, 1.0])
def test_planted_orders_are_found_where_they_work(first):
    rng = np.random.default_rng(3)
    judged = planted(400, rng, schemes=["lock"], agree=0.7, flip=0.3, through=0.1, first=first, crossed=True)
    found = rows_of(judged)
    expected = {
        "through_record": 0.1,
        "direct": 0.3,
        "both": 0.4,
        "through_record_less_direct": -0.2,
        "towards_first_inspected": 0.1 * (2 * first - 1),
        "towards_first_decided": 0.3 * (2 * first - 1),
    }
    for quantity, value in expected.items():
        row = one(found, quantity)
        assert row["ci_low"] <= value <= row["ci_high"], quantity
        assert row["value"] == pytest.approx(value, abs=0.1)
    assert one(found, "through_record_less_direct")["p"] < 0.01
    assert (one(found, "towards_first_decided")["p"] < 0.01) == (first == 1)
    # A judge that is right with 0.7 on average is so in every cell.
    by_order = found[found["quantity"] == "agreement_by_order"]
    assert (by_order["ci_low"].lt(0.7) & by_order["ci_high"].gt(0.7)).all()


def test_noise_is_no_effect_of_order():
    # Each verdict is replaced with probability 0.2, so that it is not its own with 0.1: two differ in 0.18.
    rng = np.random.default_rng(4)
    rows = planted(300, rng, schemes=["lock"], noise=0.2, crossed=True, wordings=(1, 2))
    found = rows_of(rows)
    for quantity in (*CHANGES, "noise_wording"):
        assert one(found, quantity)["ci_low"] <= 0.18 <= one(found, quantity)["ci_high"]
    for quantity in CHANGES:
        above = one(found, f"{quantity}_above_noise")
        assert above["ci_low"] <= 0 <= above["ci_high"] and 0 < above["mde"] < 0.15


def test_a_signed_quantity_moves_by_its_smallest_step():
    # Of one sample as it is named; of the mean of several by the least that was seen.
    assert step("through_record_less_direct", np.array([0.0, 0.5, -1.0])) == 0.5
    assert step("through_record_less_direct", np.zeros(3)) == step("through_record_less_direct", np.array([]))
    assert step("direct_above_noise", np.array([0.125, -0.5, 0.0])) == 0.125
    rows = planted(30, np.random.default_rng(1), schemes=["lock"], crossed=True, wordings=(1, 2))
    signed = rows_of(rows).dropna(subset=["p"])
    assert len(signed) == 7 and (signed["mde"] <= 0.5).all()  # none is of whole verdicts


def test_an_effect_above_noise_is_found():
    rng = np.random.default_rng(5)
    rows = planted(
        200,
        rng,
        schemes=["lock"],
        agree=0.7,
        flip=0.3,
        noise=0.1,
        crossed=True,
        temperatures=(0.7,),
        replicates=2,
    )  # fmt: skip
    found = rows_of(rows)
    assert one(found, "direct_above_noise", condition="noise_replicate")["p_holm"] < 0.01
    assert one(found, "through_record_above_noise")["p"] > 0.05
    assert "noise_wording" not in set(found["quantity"])


def test_a_judge_without_effects_is_found_clean_at_the_nominal_rate():
    # 100 data sets of 24 items, planted as one.
    rng = np.random.default_rng(6)
    rows = planted(100 * 24, rng, schemes=["lock"], noise=0.3, crossed=True, wordings=(1, 2))
    found = {quantity: values["value"] for quantity, _, values in item_values(units(rows))}
    for quantity in ("both_above_noise", "towards_first_inspected"):
        sets = found[quantity].to_numpy().reshape(100, 24)
        p = np.array([sign_flip_test(effects, 499, rng) for effects in sets])
        # Of 100 at 0.05, 5 +- 2.2: within three standard deviations.
        assert 1 <= (p <= 0.05).sum() <= 11


def test_replicates_tell_the_noise_of_the_record_from_the_decisions():
    # A record turns an item's verdict with probability 0.2, each decision about it with 0.1 more. With
    # y = +-1 of equally many items: E(y | item) = +-0.6 0.8; decision 1 - 0.8^2; record 0.8^2 (1 - 0.6^2).
    rng = np.random.default_rng(7)
    n, replicates = 6000, 3
    content = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None, None, None]
    record = np.where(rng.random((n, replicates, 2, 1)) < 0.2, -1, 1)
    decision = np.where(rng.random((n, replicates, 2, 2)) < 0.1, -1, 1)
    verdicts = (content * record * decision).reshape(n * replicates, 4)
    columns, items = item_components(verdicts, np.repeat(np.arange(n), replicates))
    shares = dict(zip(COMPONENTS, components(columns.sum(axis=0)), strict=True))
    expected = {"item": 0.2304, "across_records": 0.4096, "within_records": 0.36}
    for name in COMPONENTS:
        assert shares[name] == pytest.approx(expected.get(name, 0.0), abs=0.015), name
    assert len(items) == n


def test_what_a_record_makes_of_the_decision_s_order_is_within_it():
    # A decision follows from its record: half of them lead to candidate 1, half to what is listed first. With
    # y = 1, or t = +-1: m = 1/2 and b = 1/2 of every item, which is the variance 1 - 1/4 = 3/4: decision
    # (1/4) / (3/4) = 1/3, within a record 2 (1/4) / (3/4) = 2/3, and nothing across records.
    # No decision is noisy.
    rng = np.random.default_rng(8)
    n, replicates = 4000, 3
    leads_to_1 = rng.random((n, replicates, 2, 1)) < 0.5
    verdicts = np.where(leads_to_1, 1.0, np.array([1.0, -1.0])).reshape(n * replicates, 4)
    columns, _ = item_components(verdicts, np.repeat(np.arange(n), replicates))
    shares = dict(zip(COMPONENTS, components(columns.sum(axis=0)), strict=True))
    for name in COMPONENTS:
        expected = {"decision": 1 / 3, "within_records": 2 / 3}.get(name, 0.0)
        assert shares[name] == pytest.approx(expected, abs=0.015), name


# --- What holds always ------------------------------------------------------------------------------


@given(arrays(float, st.tuples(st.integers(1, 12), st.just(4)), elements=st.sampled_from([-1.0, 0.0, 1.0])))
def test_components_add_up_to_the_variance(verdicts):
    columns, _ = item_components(verdicts, range(len(verdicts)))
    shares = components(columns.sum(axis=0))
    if np.ptp(verdicts) == 0:
        assert np.isnan(shares).all()
        return
    assert shares[:4].sum() == pytest.approx(1) and np.isnan(shares[4:]).all()
    # The items' part is what any one-way analysis of variance gives.
    assert shares[0] * np.var(verdicts) == pytest.approx(np.var(verdicts.mean(axis=1)))


def test_names_of_candidates_do_not_matter():
    other = {"1": "2", "2": "1", "tie": "tie"}
    rows = planted(
        40, np.random.default_rng(8), schemes=["lock"], flip=0.2, noise=0.2, crossed=True, wordings=(1, 2)
    )
    turned = rows.assign(
        verdict=rows["verdict"].map(other),
        label=rows["label"].map(other),
        **{name: rows[name].map({"12": "21", "21": "12"}) for name in ("inspection", "decision")},
    )
    signed = [*CHANGES, "noise_wording", "direct_above_noise", "towards_first_decided", "variance_share"]
    plain, renamed = (
        found[found["quantity"].isin(signed)]["value"] for found in map(rows_of, (rows, turned))
    )
    assert plain.tolist() == pytest.approx(renamed.tolist())


def test_a_cell_moves_no_other():
    rng = np.random.default_rng(9)
    rows = planted(30, rng, schemes=["lock", "lock_with_source"], noise=0.2, crossed=True, wordings=(1, 2))
    rows = pd.concat([rows, rows.assign(judge="other")])
    every, alone = rows_of(rows), rows_of(rows[(rows["judge"] == "other") & (rows["scheme"] == "lock")])
    same = every[(every["judge"] == "other") & (every["scheme"] == "lock")].reset_index(drop=True)
    pd.testing.assert_frame_equal(same.drop(columns="p_holm"), alone.drop(columns="p_holm"))


# --- Which trials -----------------------------------------------------------------------------------


def test_schemes_that_were_not_crossed_have_no_rows():
    rows = planted(10, np.random.default_rng(10), schemes=["structured", "lock"], wordings=(1, 2))
    assert rows_of(rows).empty and rows_of(rows.iloc[:0]).empty
    crossed = planted(10, np.random.default_rng(10), schemes=["structured", "lock"], crossed=True)
    assert set(rows_of(crossed)["scheme"]) == {"lock"}


def test_items_that_were_not_crossed_are_not_unparsed():
    rng = np.random.default_rng(11)
    table = planted_items(20)
    rows = pd.concat(
        [planted(table[:8], rng, schemes=["lock"], crossed=True), planted(table[8:], rng, schemes=["lock"])]
    )
    assert one(rows_of(rows), "both")[["n_items", "n_unparsed"]].tolist() == [8, 0]


def test_without_crossed_trials_a_temperature_has_the_swap_and_its_noise():
    rng = np.random.default_rng(12)
    table = planted_items(20)
    cold = planted(table, rng, schemes=["lock"], crossed=True)
    warm = planted(table, rng, schemes=["lock"], temperatures=(0.7,), replicates=2, noise=0.4)
    found = rows_of(pd.concat([cold, warm]))
    at = found[found["temperature"] == 0.7]
    assert at["quantity"].tolist() == ["both", "noise_replicate", "both_above_noise"]
    # Shorter records in the paper's two orders alone have nothing to tell here.
    short = planted(table, rng, schemes=["lock"], record_chars=(90,))
    assert set(rows_of(pd.concat([cold, short]))["record_chars"]) == {600}


def test_data_sets_are_pooled_and_the_family_is_what_stands_above_noise():
    rng = np.random.default_rng(13)
    table = pd.concat([planted_items(15, dataset=name) for name in ("x", "y")], ignore_index=True)
    rows = planted(table, rng, schemes=["lock"], flip=0.3, noise=0.1, crossed=True, wordings=(1, 2))
    found = rows_of(rows)
    assert set(found["dataset"]) == {"x", "y", "all"}
    assert one(found, "both", dataset="all")["n_items"] == 30
    corrected = found[found["p_holm"].notna()]
    assert set(corrected["quantity"]) == {f"{name}_above_noise" for name in CHANGES}
    apart = corrected[corrected["dataset"] != "all"]
    assert len(apart) == 6 and apart["p_holm"].tolist() == pytest.approx(holm(apart["p"]).tolist())


def test_what_cannot_be_compared_is_an_error():
    rows = scripted(FOUR, LABELS)
    with pytest.raises(ValueError, match="'a' was judged twice"):
        rows_of(pd.concat([rows, rows.iloc[:1]]))
    with pytest.raises(ValueError, match="'a': the decisions about one inspection rest on different records"):
        rows_of(rows.assign(record_sha256=np.where(rows.index == 0, "0" * 64, rows["record_sha256"])))
