"""Shorter records: planted losses by cap, the same items under every cap, and what was written by hand."""

import numpy as np
import pandas as pd
import pytest

from shared.metrics.multiplicity import holm
from shared.metrics.resampling import Inference
from studies.evidence_lock.budgets import budget_rows, records
from studies.evidence_lock.pairs import pairs
from tests.studies.evidence_lock.planted import planted, planted_items

QUICK = Inference(resamples=200, permutations=499)
AGREE = {90: 0.6, 300: 0.75, 600: 0.85}


def rows_of(judgements: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    return budget_rows(pairs(judgements), judgements, np.random.default_rng(seed), QUICK)


def shrinking(items: int | pd.DataFrame, scheme: str = "lock", **more) -> pd.DataFrame:
    """Structured with the largest cap, and a scheme that agrees the less the shorter its record is."""
    table = planted_items(items) if isinstance(items, int) else items
    caps = [
        planted(table, np.random.default_rng(cap), schemes=[scheme], agree=agree, record_chars=(cap,), **more)
        for cap, agree in AGREE.items()
    ]
    structured = planted(table, np.random.default_rng(0), schemes=["structured"], agree=0.85)
    return pd.concat([structured, *caps], ignore_index=True)


def one(rows: pd.DataFrame, quantity: str, cap: int, reference: str = "", **where: object) -> pd.Series:
    found = rows[(rows["quantity"] == quantity) & (rows["record_chars"] == cap)]
    found = found[found["reference"].fillna("") == reference]
    for name, value in ({"scheme": "lock"} | where).items():
        found = found[found[name] == value]
    assert len(found) == 1, found
    return found.iloc[0]


def test_planted_losses_are_found_by_cap():
    found = rows_of(shrinking(500))
    for cap, agree in AGREE.items():
        row, less = one(found, "agreement", cap), one(found, "agreement", cap, "structured")
        assert row["ci_low"] <= agree <= row["ci_high"]
        assert less["ci_low"] <= agree - 0.85 <= less["ci_high"] and less["mde"] > 0
        assert less["condition"] == "lock - structured"
    shrunk = one(found, "agreement", 90, "lock")
    assert shrunk["ci_low"] <= 0.6 - 0.85 <= shrunk["ci_high"] and shrunk["p_holm"] < 0.01
    assert shrunk["condition"] == "less the largest record"
    # The largest is not taken from itself.
    assert sorted(found.loc[found["reference"] == "lock", "record_chars"].unique()) == [90, 300]


def test_differences_are_paired():
    found = rows_of(shrinking(50))
    for quantity in ("agreement", "inconsistency"):
        levels = {cap: one(found, quantity, cap)["value"] for cap in AGREE}
        for cap in (90, 300):
            assert one(found, quantity, cap, "lock")["value"] == pytest.approx(levels[cap] - levels[600])


def test_caps_are_compared_on_the_same_items():
    rows = shrinking(40)
    few = rows["item"].isin([f"planted/{i}" for i in range(10)])
    found = rows_of(rows[few | (rows["record_chars"] != 300)])
    told = found[found["quantity"].isin(["agreement", "inconsistency", "tokens"])]
    assert told["n_items"].eq(10).all() and len(told) == 3 * 3 + 2 * 3 + 2 * 2


def test_an_answer_without_a_verdict_is_left_out_and_counted():
    rows = shrinking(30, unparsed=0.2)
    lost = rows[(rows["record_chars"] == 90) & (rows["status"] != "ok")]
    row = one(rows_of(rows), "inconsistency", 90)
    assert row["n_unparsed"] == len(lost) > 0
    anywhere = rows[(rows["scheme"] == "lock") & (rows["status"] != "ok")]
    assert row["n_items"] == 30 - anywhere["item"].nunique() < 30 - lost["item"].nunique()


def test_caps_are_compared_on_what_all_of_them_answered():
    """The short record is lost on hard items alone, which would flatter it."""
    rows = shrinking(60, noise=0.1)
    wrong = rows[(rows["record_chars"] == 600) & (rows["verdict"] != rows["label"])]["item"].unique()
    short = (rows["record_chars"] == 90) & rows["item"].isin(wrong)
    rows = rows.assign(
        status=rows["status"].mask(short, "unparsed"), verdict=rows["verdict"].mask(short, None)
    )
    found = rows_of(rows)
    told = found[found["quantity"].isin(["agreement", "inconsistency", "tokens"])]
    told = told[told["scheme"] == "lock"]
    assert len(wrong) and told["n_items"].eq(60 - len(wrong)).all()
    # On what is left the largest record is right throughout.
    assert one(found, "agreement", 600)["value"] == 1
    for quantity in ("agreement", "inconsistency"):
        levels = {cap: one(found, quantity, cap)["value"] for cap in AGREE}
        assert one(found, quantity, 90, "lock")["value"] == pytest.approx(levels[90] - levels[600])


def test_tokens_grow_with_the_record():
    found = rows_of(shrinking(30))
    # Two calls: 1000 to 1099 of prompt, 40 and a fourth of the cap of completion.
    for cap in AGREE:
        row = one(found, "tokens", cap)
        assert row["value"] == pytest.approx(1000 + 49.5 + 40 + cap // 4, abs=15)
        assert row["ci_low"] < row["value"] < row["ci_high"]


def test_what_is_written_by_hand():
    rows = planted(4, np.random.default_rng(0), schemes=["lock"], record_chars=(90,))
    rows = rows[rows["decision"] == "12"].assign(
        criteria=["c" * 10, "c" * 30, "c" * 5, ""],
        evidence_1=["e" * 20, "e" * 29, "e" * 30, ""],
        evidence_2=["e" * 20, "e" * 11, "e" * 5, ""],
    )
    # A third of 90 for each text: the third record has a text on an answer that is as long as that. The
    # fourth could not be read.
    written = records(rows)
    assert written["written"].tolist()[:3] == [50, 70, 40] and np.isnan(written["written"].iloc[3])
    assert written["filled"].tolist()[:3] == [0, 0, 1]
    found = rows_of(rows)
    assert found["quantity"].tolist() == ["record_chars_written", "cap_filled_rate", "over_cap_rate"]
    assert found["value"].tolist() == pytest.approx([160 / 3, 1 / 3, 0])
    assert found["n_trials"].eq(3).all() and found["n_unparsed"].eq(1).all()
    assert found["ci_low"].le(found["value"]).all() and found["ci_high"].gt(found["value"]).all()
    # An engine that enforces no schema: one text is longer than a third of 90.
    rows = rows.assign(evidence_2=["e" * 20, "e" * 31, "e" * 5, ""])
    assert rows_of(rows).set_index("quantity").loc["over_cap_rate", "value"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(("chars", "filled", "longer"), [(25, 0, 0), (26, 1, 0), (27, 1, 1)])
def test_an_assessment_may_be_as_long_as_the_evidence_about_an_answer(chars, filled, longer):
    rows = planted(1, np.random.default_rng(0), schemes=["pointwise_lock", "lock"], record_chars=(80,))
    found = records(rows.assign(criteria="c", evidence_1="e" * chars, evidence_2="e"))
    # 80 / 3 = 26 for each text, under both schemes.
    assert found["filled"].eq(filled).all() and found["longer"].eq(longer).all()
    assert found["scheme"].nunique() == 2


def test_crossed_trials_count_a_record_once_and_shared_records_are_the_locks():
    rows = planted(5, np.random.default_rng(0), schemes=["lock", "lock_with_source", "reread"], crossed=True)
    found = rows_of(rows)
    assert found["scheme"].unique().tolist() == ["lock"] and found["n_trials"].eq(10).all()


def test_a_scheme_with_one_cap_has_no_rows_of_agreement():
    rows = planted(12, np.random.default_rng(0), schemes=["standard", "structured", "lock"])
    found = rows_of(rows)
    assert set(found["quantity"]) == {"record_chars_written", "cap_filled_rate", "over_cap_rate"}
    assert set(found["scheme"]) == {"structured", "lock"}
    assert rows_of(rows.iloc[:0]).empty


def test_only_plain_trials_count():
    rows = shrinking(20)
    more = planted(20, np.random.default_rng(9), schemes=["lock"], record_chars=(45,), wordings=(2,))
    letters = planted(20, np.random.default_rng(9), schemes=["lock"], record_chars=(45,), naming="letters")
    pd.testing.assert_frame_equal(rows_of(rows), rows_of(pd.concat([rows, more, letters])))


def test_the_family_is_a_judges_caps_and_data_sets():
    table = pd.concat([planted_items(20, dataset=name) for name in ("x", "y")], ignore_index=True)
    found = rows_of(shrinking(table))
    assert set(found["dataset"]) == {"x", "y", "all"}
    assert found.loc[found["reference"].isna(), "p_holm"].isna().all()
    tested = found[found["p_holm"].notna() & (found["dataset"] != "all")]
    sizes = {}
    for names, family in tested.groupby(["quantity", "reference"]):
        sizes[names] = len(family)
        assert family["p_holm"].tolist() == pytest.approx(holm(family["p"]).tolist())
    assert sizes == {(q, r): 6 if r == "structured" else 4
                     for q in ("agreement", "inconsistency") for r in ("lock", "structured")}  # fmt: skip
