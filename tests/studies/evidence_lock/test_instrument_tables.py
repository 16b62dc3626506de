"""Status counts, and who calls a tie."""

import numpy as np
import pandas as pd

from shared.judge.records import STATUSES
from shared.metrics.resampling import Inference
from shared.reporting.results import Study
from studies.evidence_lock.instrument_tables import answer_rows

TRIAL = {
    "judge": "a", "dataset": "d", "scheme": "lock", "naming": "neutral", "temperature": 0.0,
    "item": "i", "cluster": "c", "label": "1", "record_chars": 144, "wording": 1, "inspection": "12",
    "decision": "12", "failed_step": "",
}  # fmt: skip


def table(*ended):
    """Trials of one cell, each a status with its verdict, or with what else is changed."""
    rows = []
    for place, (status, verdict, *more) in enumerate(ended):
        own = {
            "trial": str(place),
            "item": f"i{place}",
            "cluster": f"c{place}",
            "status": status,
            "verdict": verdict,
        }
        rows.append(TRIAL | own | (more[0] if more else {}))
    return pd.DataFrame(rows)


def rates(rows):
    found = answer_rows(Study(rows, Inference(resamples=200, permutations=200), 1, "smoke"))
    return found.set_index("quantity") if len(found) else found


def test_every_status_is_counted():
    found = rates(table(("ok", "1"), ("ok", "tie"), ("ok", "2"), ("unparsed", None)))
    assert list(found.index) == [*(f"{status}_rate" for status in STATUSES), "judge_ties", "human_ties"]
    statuses = found.loc[[f"{status}_rate" for status in STATUSES]]
    assert statuses.loc["ok_rate", "value"] == 0.75 and statuses.loc["unparsed_rate", "count"] == 1
    assert (statuses["n_trials"] == 4).all() and (statuses["n_unparsed"] == 1).all()
    assert statuses["count"].sum() == 4


def test_the_judges_ties_are_among_its_verdicts():
    """One of three; the answer without a verdict is none, and is counted apart."""
    found = rates(table(("ok", "1"), ("ok", "tie"), ("ok", "2"), ("unparsed", None))).loc["judge_ties"]
    assert (found["value"], found["count"], found["n_trials"], found["n_unparsed"]) == (1 / 3, 1, 3, 1)
    assert found["ci_low"] < 1 / 3 < found["ci_high"]


def test_peoples_ties_are_counted_once_an_item_and_have_no_judge():
    tied = {"label": "tie", "item": "i0", "cluster": "c0"}
    rows = table(
        ("ok", "1", tied), ("failed", None, tied | {"judge": "b"}), ("ok", "1"), ("ok", "1", {"dataset": "e"})
    )
    found = rates(rows).loc["human_ties"].set_index("dataset")
    # in d two items, one of them tied though it was judged twice; in e one
    assert found["value"].tolist() == [0.5, 0.0] and found["n_items"].tolist() == [2, 1]
    assert found["count"].tolist() == [1, 0] and found["judge"].isna().all()


def test_a_cell_is_a_protocol_under_its_names_and_temperature():
    rows = table(
        ("ok", "1"),
        ("ok", "1", {"naming": "letters"}),
        ("ok", "1", {"temperature": 0.7}),
        ("ok", "1", {"scheme": "reread"}),
    )
    found = rates(rows).loc["ok_rate"]
    assert len(found) == 4 and (found["n_trials"] == 1).all()
    crossed = rates(table(("ok", "1"), ("ok", "1", {"inspection": "21"}))).loc["ok_rate"]
    assert crossed["condition"].tolist() == ["", "crossed"]
    # of writers all are one
    assert len(rates(rows.assign(naming="neutral", temperature=0.0, scheme="lock")).loc[["ok_rate"]]) == 1


def test_the_step_at_which_a_trial_ended_is_counted():
    lost = {"failed_step": "record"}
    found = rates(table(("ok", "1"), ("truncated", None, lost), ("unparsed", None, lost), ("ok", "2")))
    assert (found.loc["ended_at_record", "value"], found.loc["ended_at_record", "count"]) == (0.5, 2)
    assert "ended_at_verdict" not in found.index


def test_without_any_verdict_there_is_no_rate_of_ties():
    found = rates(table(("failed", None), ("refused", None)))
    assert np.isnan(found.loc["judge_ties", "value"]) and found.loc["judge_ties", "n_items"] == 0
    assert found.loc["judge_ties", "n_unparsed"] == 2 and found.loc["human_ties", "value"] == 0


def test_an_observed_zero_has_an_interval():
    found = rates(table(*[("ok", "1")] * 12))
    for name in ("failed_rate", "judge_ties", "human_ties"):
        assert found.loc[name, "value"] == 0 and found.loc[name, "ci_high"] > 0.1


def test_without_judgements_there_is_no_row():
    assert rates(table(("ok", "1")).iloc[:0]).empty


def test_another_protocol_moves_no_other():
    rows = table(*[("ok", "1"), ("ok", "tie"), ("unparsed", None)] * 4)
    both = pd.concat([rows.assign(scheme="standard"), rows])
    alone, found = rates(rows), rates(both)
    pd.testing.assert_frame_equal(alone[alone["scheme"] == "lock"], found[found["scheme"] == "lock"])
