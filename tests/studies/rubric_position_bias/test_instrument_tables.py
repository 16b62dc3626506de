"""Status counts, and how even the orders are."""

import numpy as np
import pandas as pd
import pytest

from shared.judge.records import STATUSES
from shared.metrics.resampling import Inference
from shared.reporting.results import Study
from studies.rubric_position_bias.instrument_tables import answer_rows, order_rows

TRIAL = {
    "judge": "a", "setting": "score", "dataset": "d", "scheme": "base", "size": 5, "temperature": 0.0,
    "effort": "", "item": "i", "cluster": "c",
}  # fmt: skip


def rates(rows):
    study = Study(pd.DataFrame(rows), Inference(resamples=200, permutations=200), 1, "smoke")
    return pd.DataFrame(answer_rows(study)).set_index("quantity")


def test_every_status_is_counted():
    ended = ["ok", "ok", "ok", "unparsed"]
    found = rates([TRIAL | {"trial": str(n), "status": status} for n, status in enumerate(ended)])
    assert list(found.index) == [f"{status}_rate" for status in STATUSES]
    assert found.loc["ok_rate", "value"] == 0.75 and found.loc["unparsed_rate", "count"] == 1
    assert (found["n_trials"] == 4).all() and (found["n_unparsed"] == 1).all()
    assert found["count"].sum() == 4


def test_a_trial_of_several_criteria_counts_once():
    rows = [
        TRIAL | {"setting": "criteria", "trial": "t", "status": "ok", "criterion": name}
        for name in ("x", "y", "z")
    ]
    assert (rates(rows)["n_trials"] == 1).all()


def test_an_observed_zero_has_an_interval():
    found = rates([TRIAL | {"trial": str(n), "cluster": str(n), "status": "ok"} for n in range(12)])
    assert found.loc["failed_rate", "value"] == 0 and found.loc["failed_rate", "ci_high"] > 0.1


def test_two_orders_of_two_are_even_in_neighbours_and_ten_of_five_are_not():
    rows = order_rows().set_index("size")
    # five options, 4 neighbours an order: forward s -> s + 1 (mod 5), backward s -> s - 1: 10 of 20 pairs
    assert rows.loc[5, "value"] == pytest.approx(0.5)
    assert rows.loc[2, "value"] == 0 and rows.loc[3, "value"] == 0
    assert rows.loc[9, "condition"] == "18 balanced orders"
    assert np.isnan(rows.get("ci_low", pd.Series([np.nan])).iloc[0])
