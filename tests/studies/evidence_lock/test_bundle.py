"""The lock taken apart: steps that sum to the whole, planted losses found at their step."""

import numpy as np
import pandas as pd
import pytest

from shared.metrics.multiplicity import holm
from shared.metrics.resampling import Inference
from studies.evidence_lock.bundle import ALL_STEPS, ANOTHERS, APART, CHAIN, ON_COMMON, STEPS, bundle_rows
from studies.evidence_lock.pairs import pairs
from tests.studies.evidence_lock.planted import planted, planted_items

QUICK = Inference(resamples=200, permutations=499)
AGREE = {"standard": 0.9, "structured": 0.85, "conversation": 0.8, "reread": 0.85, "lock_with_source": 0.8,
         "frozen_evidence": 0.65, "lock": 0.6, "other_record": 0.6}  # fmt: skip


def rows_of(judgements: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    return bundle_rows(pairs(judgements), np.random.default_rng(seed), QUICK)


def every(items: int | pd.DataFrame, seed: int = 0, schemes=tuple(AGREE), **more) -> pd.DataFrame:
    return planted(items, np.random.default_rng(seed), schemes=schemes, **({"agree": AGREE} | more))


def one(rows: pd.DataFrame, condition: str, quantity: str = "agreement", **where: object) -> pd.Series:
    found = rows[(rows["quantity"] == quantity) & (rows["condition"] == condition)]
    for name, value in where.items():
        found = found[found[name] == value]
    assert len(found) == 1, found
    return found.iloc[0]


def scripted(verdicts: dict[str, list[str]], labels: str) -> pd.DataFrame:
    """By scheme, each item's two verdicts in the orders 12 and 21; t is a tie, - has none."""
    items = planted_items(len(labels)).assign(label=[{"t": "tie"}.get(label, label) for label in labels])
    rows = planted(items, np.random.default_rng(0), schemes=list(verdicts))
    place = rows["item"].str.split("/").str[1].astype(int)
    trials = zip(rows["scheme"], place, rows["decision"], strict=True)
    said = [verdicts[scheme][i][("12", "21").index(order)] for scheme, i, order in trials]
    verdict = pd.Series(said, dtype=object).map({"1": "1", "2": "2", "t": "tie"}).astype(object)
    return rows.assign(verdict=verdict.where(verdict.notna(), None),
                       status=np.where(verdict.isna(), "unparsed", "ok"))  # fmt: skip


def test_steps_by_hand():
    # Four items labelled 1; order-averaged agreement of each, under each scheme of the chain:
    judged = scripted(
        {
            "structured": ["11", "11", "11", "12"],  # 1, 1, 1, 1/2
            "conversation": ["11", "11", "12", "12"],  # 1, 1, 1/2, 1/2
            "lock_with_source": ["11", "1t", "12", "12"],  # 1, 1/2, 1/2, 1/2
            "lock": ["22", "2t", "12", "11"],  # 0, 0, 1/2, 1
        },
        "1111",
    )
    found = rows_of(judged)
    assert [one(found, step.condition)["value"] for step in STEPS] == [-0.125, -0.125, -0.25]
    assert one(found, "all steps")["value"] == -0.5
    # Changed: 0, 0, 0, 1; 0, 0, 1, 1; 0, 1, 1, 1; 0, 1, 1, 0.
    of_changes = [one(found, step.condition, "inconsistency")["value"] for step in (*STEPS, ALL_STEPS)]
    assert of_changes == [0.25, 0.25, -0.25, 0.25]
    alone = found[(found["condition"] == ON_COMMON) & (found["quantity"] == "agreement")]
    assert alone["scheme"].tolist() == list(CHAIN)
    assert alone["value"].tolist() == [0.875, 0.75, 0.625, 0.375]
    last = one(found, "source removed")
    assert (last["scheme"], last["reference"], last["note"]) == ("lock", "lock_with_source", "")
    assert last[["n_items", "n_trials", "n_clusters", "n_unparsed"]].tolist() == [4, 16, 4, 0]


def test_an_item_without_a_verdict_under_one_scheme_leaves_the_whole_chain():
    chain = {scheme: ["11", "11", "11"] for scheme in CHAIN}
    found = rows_of(scripted(chain | {"lock": ["11", "22", "11"], "conversation": ["11", "11", "1-"]}, "111"))
    assert one(found, "source removed")["value"] == -0.5  # of the first two
    assert one(found, "source removed")["n_items"] == 2
    # The answer that was lost is the conversation's.
    assert [one(found, step.condition)["n_unparsed"] for step in STEPS] == [1, 1, 0]


def test_human_ties_are_kept_for_inconsistency_alone():
    found = rows_of(scripted({scheme: ["11", "12"] for scheme in CHAIN}, "1t"))
    assert one(found, "all steps")["n_items"] == 1
    assert one(found, "all steps", "inconsistency")["n_items"] == 2


def test_steps_sum_to_the_whole():
    table = pd.concat([planted_items(40, dataset=name, tied=6) for name in ("x", "y")], ignore_index=True)
    found = rows_of(every(table, unparsed=0.1, flip={**dict.fromkeys(AGREE, 0.0), "lock": 0.2}))
    for dataset in ("x", "y", "all"):
        for quantity in ("agreement", "inconsistency"):
            steps = [one(found, step.condition, quantity, dataset=dataset) for step in STEPS]
            whole = one(found, "all steps", quantity, dataset=dataset)
            assert sum(step["value"] for step in steps) == pytest.approx(whole["value"])
            assert {step["n_items"] for step in steps} == {whole["n_items"]}
    assert 20 < one(found, "all steps", dataset="all")["n_items"] < 68


def test_planted_losses_are_found_at_their_step():
    flips = {**dict.fromkeys(AGREE, 0.1), "lock": 0.4}
    # Eighteen intervals: at 99.9% all hold, whatever the seed.
    wide = Inference(confidence=0.999, resamples=2000, permutations=499)
    found = bundle_rows(pairs(every(400, flip=flips)), np.random.default_rng(1), wide)
    for step in (*STEPS, ALL_STEPS, *APART):
        row, change = one(found, step.condition), one(found, step.condition, "inconsistency")
        assert row["ci_low"] <= AGREE[step.scheme] - AGREE[step.reference] <= row["ci_high"], step
        assert change["ci_low"] <= flips[step.scheme] - flips[step.reference] <= change["ci_high"], step
        assert row["mde"] > 0 and row["ci_low"] < row["ci_high"]
    assert one(found, "source removed")["p_holm"] < 0.05
    assert one(found, "source removed", "inconsistency")["p_holm"] < 0.05
    assert one(found, "record frozen")["p_holm"] > 0.05


def test_records_of_others_stand_beside_the_judges_own():
    own = every(60, schemes=["structured", "lock"])
    others = [
        every(60, seed, schemes=["other_record"], writer=writer) for seed, writer in ((1, "a"), (2, "b"))
    ]
    found = rows_of(pd.concat([own, *others]))
    rows = found[found["condition"] == ANOTHERS.condition]
    assert sorted(zip(rows["writer"], rows["quantity"], strict=True)) == [
        ("a", "agreement"), ("a", "inconsistency"), ("b", "agreement"), ("b", "inconsistency"),
    ]  # fmt: skip
    assert rows["reference"].eq("lock").all() and rows["n_items"].eq(60).all()
    alone = rows_of(pd.concat([own, others[0]]))
    assert one(alone, ANOTHERS.condition)["value"] == one(found, ANOTHERS.condition, writer="a")["value"]


def test_what_was_not_run_says_so():
    found = rows_of(every(20, schemes=["standard", "structured", "lock"]))
    assert {row["condition"]: row["note"] for _, row in found.iterrows()} == {
        "second call": "not run: conversation",
        "record frozen": "not run: lock_with_source, conversation",
        "source removed": "not run: lock_with_source",
        "all steps": "",
        ON_COMMON: "",
        "source and verdict removed": "not run: frozen_evidence",
        "told not to choose": "not run: frozen_evidence",
        "evidence written": "",
        "record added": "not run: lock_with_source, reread",
        "another's record": "not run: other_record",
    }
    absent = found[found["note"] != ""]
    assert absent["value"].isna().all() and absent["n_items"].eq(0).all() and absent["p"].isna().all()
    assert rows_of(every(20).iloc[:0]).empty


def test_only_the_main_cells_count():
    main, two = every(30), ("structured", "lock")
    more = [{"record_chars": (90,)}, {"wordings": (2,)}, {"naming": "letters"}]
    others = [every(30, seed, two, **names) for seed, names in enumerate(more, 5)]
    pd.testing.assert_frame_equal(rows_of(main), rows_of(pd.concat([main, *others])))


def test_the_family_is_a_judges_steps_and_contrasts_over_data_sets():
    table = pd.concat([planted_items(30, dataset=name) for name in ("x", "y")], ignore_index=True)
    found = rows_of(every(table))
    assert found.loc[found["condition"].isin(["all steps", ON_COMMON]), "p_holm"].isna().all()
    tested = found[found["p_holm"].notna() & (found["dataset"] != "all")]
    for _, family in tested.groupby("quantity"):
        assert len(family) == 2 * 8
        assert family["p_holm"].tolist() == pytest.approx(holm(family["p"]).tolist())


def test_a_judge_moves_no_other():
    other = every(20, 3, CHAIN, judge="other")
    both = rows_of(pd.concat([every(20, 0, CHAIN), other]))
    own = both[both["judge"] == "other"].reset_index(drop=True)
    pd.testing.assert_frame_equal(own, rows_of(other))
