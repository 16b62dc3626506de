"""The columns that every study's tables end in."""

import numpy as np
import pandas as pd
import pytest

from shared.metrics.resampling import Inference
from shared.reporting import tables
from shared.reporting.results import ENDING, Counterpart, Study, finished, told_of, worst_of

COLUMNS = (*tables.COLUMNS, "size", *ENDING)
TEXTS = ("judge", "scheme", "condition", "published_id")
PRINTED = Counterpart("paper.claim.1", 0.5, 0.25, 0.75)


def study(*fingerprints):
    rows = pd.DataFrame({"judge": "a", "fingerprint": list(fingerprints or ("0123456789ab",))})
    return Study(rows, Inference(resamples=200, permutations=200, few_clusters=12), 7, "smoke")


def made(rows, of=None, gate="passed", printed=PRINTED):
    return finished(pd.DataFrame(rows), of or study(), COLUMNS, TEXTS, lambda row: gate, lambda row: printed)


def test_a_row_has_all_columns_whatever_it_had_before():
    [row] = made([{"quantity": "x", "judge": "a", "value": 1.0, "n_clusters": 12, "more": 3}]).to_dict(
        "records"
    )
    assert list(row) == list(COLUMNS)
    assert (row["scheme"], row["condition"]) == ("", "") and np.isnan(row["size"]) and np.isnan(row["ci_low"])
    assert (row["published_id"], row["published"], row["paper_low"], row["paper_high"]) == tuple(PRINTED)
    assert (row["profile"], row["fingerprint"], row["gate"], row["note"]) == (
        "smoke",
        "0123456789ab",
        "passed",
        "",
    )


@pytest.mark.parametrize(
    ("own", "gate", "clusters", "note"),
    [
        (None, "passed", 12, ""),
        (None, "failed", 12, "instrument check"),
        ("own words", "passed", 11, "own words; too few to conclude"),
        ("own words", "failed", 11, "own words; instrument check; too few to conclude"),
        (np.nan, "", np.nan, ""),  # about no judge and no source
    ],
)
def test_a_note_is_its_own_then_the_gates_then_the_number_of_sources(own, gate, clusters, note):
    assert made([{"quantity": "x", "note": own, "n_clusters": clusters}], gate=gate)["note"].tolist() == [
        note
    ]


def test_gate_and_paper_are_asked_by_the_rows_names():
    rows = pd.DataFrame([{"quantity": q, "judge": j, "n_clusters": 20} for q, j in (("x", "a"), ("y", None))])
    found = finished(
        rows,
        study(),
        COLUMNS,
        TEXTS,
        gate_of=lambda row: "passed" if row["judge"] else "",
        counterpart_of=lambda row: Counterpart(row["quantity"], float(len(row["judge"]))),
    )
    assert found["gate"].tolist() == ["passed", ""] and found["published_id"].tolist() == ["x", "y"]
    assert found["published"].tolist() == [1.0, 0.0] and found["paper_low"].isna().all()


def test_a_judge_of_several_fingerprints_has_them_all_and_a_row_about_none_has_none():
    rows = [{"quantity": "x", "judge": judge, "n_clusters": 20} for judge in ("a", "b", None)]
    assert made(rows, study("1" * 12, "2" * 12))["fingerprint"].tolist() == [f"{'1' * 12} {'2' * 12}", "", ""]


def test_no_rows_have_all_columns():
    found = made([])
    assert found.empty and list(found.columns) == list(COLUMNS)


def test_nothing_is_printed_beside_a_row_unless_it_is_told():
    assert Counterpart().id == "" and np.isnan(Counterpart()[1:]).all()


def test_each_table_draws_by_its_own_name_and_by_the_seed():
    one = study()
    assert one.rng("a", "b").random() == one.rng("a", "b").random()
    draws = [one.rng("a").random(), one.rng("b").random(), one.rng("a", "b").random()]
    other = Study(one.judgements, one.inference, 8, "smoke").rng("a").random()
    assert len({*draws, other}) == 4


@pytest.mark.parametrize(
    ("gates", "worst"),
    [
        ({"passed", "failed", "not asked"}, "failed"),
        ({"passed", "not asked", "too few to tell"}, "too few to tell"),
        ({"passed", "not asked"}, "not asked"),
        ({"passed"}, "passed"),
        (set(), "not asked"),
    ],
)
def test_a_row_about_several_cells_has_the_worst_gate(gates, worst):
    assert worst_of(gates) == worst


def test_a_name_that_says_nothing_is_none():
    names = {"judge": "a", "size": 0, "k": np.nan, "scheme": "", "effort": None, "crossed": False}
    assert told_of(names) == {"judge": "a", "size": 0, "crossed": False}
