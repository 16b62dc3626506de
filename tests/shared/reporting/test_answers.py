"""How many answers ended in which way."""

import pandas as pd
import pytest

from shared.judge.records import STATUSES
from shared.metrics.resampling import Inference
from shared.reporting.answers import status_rows
from shared.reporting.results import Study

NAMES = {"judge": "a", "scheme": "lock"}


def rows(*statuses, clusters=None, names=NAMES, seed=1):
    number = range(len(statuses))
    cell = pd.DataFrame({"item": number, "cluster": list(clusters or number), "status": statuses})
    study = Study(cell, Inference(resamples=200, permutations=200), seed, "smoke")
    return pd.DataFrame(status_rows(study, names, cell)).set_index("quantity")


def test_there_is_a_row_for_each_status_with_the_cells_names():
    found = rows("ok", "ok", "truncated", "refused")
    assert list(found.index) == [f"{status}_rate" for status in STATUSES]
    assert found["judge"].eq("a").all() and found["scheme"].eq("lock").all()
    assert found["value"].tolist() == [0.5, 0.0, 0.25, 0.25, 0.0]
    assert found["count"].tolist() == [2, 0, 1, 1, 0]


def test_counts_are_of_trials_items_and_sources():
    found = rows("ok", "ok", "failed", clusters=["c", "c", "d"])
    sizes = found[["n_trials", "n_items", "n_clusters", "n_unparsed"]]
    assert (sizes == [3, 3, 2, 1]).all(axis=None)


@pytest.mark.parametrize("status", STATUSES)
def test_what_never_or_always_happened_has_an_interval_of_some_width(status):
    found = rows(*[status] * 20)
    assert found.loc[f"{status}_rate", "value"] == 1 and 0.7 < found.loc[f"{status}_rate", "ci_low"] < 0.95
    others = found.drop(f"{status}_rate")
    assert (others["value"] == 0).all() and others["ci_high"].between(0.05, 0.3).all()


def test_one_source_has_no_interval():
    found = rows("ok", "unparsed", clusters=["c", "c"])
    assert found.loc["ok_rate", "value"] == 0.5 and found["ci_low"].isna().all()


def test_a_cell_draws_by_its_names():
    mixed = ["ok", "unparsed", "failed"] * 7
    same = [rows(*mixed), rows(*mixed)]
    pd.testing.assert_frame_equal(*same)
    ends = ["ci_low", "ci_high"]
    other = rows(*mixed, names={"judge": "b", "scheme": "lock"})
    assert not other[ends].equals(same[0][ends]) and other["value"].equals(same[0]["value"])
