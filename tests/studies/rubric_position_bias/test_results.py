"""What every row says besides its estimate."""

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference
from shared.reporting.results import Study
from studies.rubric_position_bias.results import COLUMNS, MAIN, finisher, main_design, verdicts
from tests.studies.rubric_position_bias.planted import planted

QUICK = Inference(resamples=200, permutations=200)
CELL = {
    "judge": "a",
    "setting": "score",
    "dataset": "d",
    "rater": "",
    **MAIN,
    "scale": "",
    "verdict": "failed",
}
ROW = {"quantity": "cramers_v", "judge": "a", "dataset": "d", "value": 0.1, "n_items": 24, "n_clusters": 24}


def study(**names):
    rows = planted(24, 5, "balanced", 0, 0, 2, np.random.default_rng(1), judge="a", **names)
    return Study(rows.assign(fingerprint="0123456789ab"), QUICK, 1, "smoke")


def finished(row, gates=None, **cell):
    gates = verdicts(pd.DataFrame([CELL | cell])) if gates is None else gates
    return finisher(study(), gates)("position", pd.DataFrame([row])).iloc[0]


def test_every_table_has_the_same_columns_and_says_what_it_rests_on():
    row = finished(ROW)
    assert list(row.index) == list(COLUMNS)
    assert (row["profile"], row["fingerprint"]) == ("smoke", "0123456789ab")
    assert row["condition"] == row["criterion"] == "" and np.isnan(row["k"])


def test_a_row_has_the_gate_of_its_own_cell():
    assert finished(ROW)["note"] == "instrument check"
    assert finished(ROW, verdict="passed")["note"] == ""
    # another arm, temperature or size was not asked
    for other in ({"scheme": "cot"}, {"temperature": 0.3}, {"size": 9}, {"dataset": "e"}):
        assert finished(ROW | other)["gate"] == "not asked"


def test_the_main_design_stands_for_what_a_row_does_not_name():
    """A difference between two sizes has none of its own, and neither has a mean over temperatures."""
    assert finished(ROW | {"size": np.nan, "temperature": np.nan, "scheme": ""})["gate"] == "failed"


def test_a_row_about_several_judges_has_the_worst_gate_of_their_cells():
    cells = [
        CELL | {"verdict": "passed"},
        CELL | {"judge": "b", "dataset": "e", "verdict": "too few to tell"},
    ]
    gates = verdicts(pd.DataFrame([*cells, CELL | {"judge": "c", "scheme": "cot"}]))
    pooled = ROW | {"judge": "all", "dataset": "all", "scheme": "base"}
    assert finished(pooled, gates)["gate"] == "too few to tell"
    assert finished(pooled | {"judge": None, "dataset": None}, gates)["gate"] == "too few to tell"
    assert finished(pooled | {"scheme": "cot"}, gates)["gate"] == "failed"


def test_a_row_about_no_judge_has_no_gate():
    assert finished({"quantity": "neighbour_imbalance", "size": 5, "value": 0.5})["gate"] == ""


def test_too_few_sources_are_told_after_what_the_estimate_says_of_itself():
    row = finished(ROW | {"n_clusters": 11, "note": "no finite maximum"}, verdict="passed")
    assert row["note"] == "no finite maximum; too few to conclude"


def test_of_two_scales_each_has_its_own_gate_and_the_usual_one_stands_for_both():
    criteria = {"setting": "criteria", "size": 4}
    both = [
        CELL | criteria | {"scale": s, "verdict": v} for s, v in (("54321", "failed"), ("12345", "passed"))
    ]
    gates = verdicts(pd.DataFrame(both))
    assert finished(ROW | criteria | {"scale": "54321"}, gates)["gate"] == "failed"
    assert finished(ROW | criteria, gates)["gate"] == "passed"
    assert verdicts(pd.DataFrame()) == {}


def test_the_main_design_leaves_out_arms_sizes_temperatures_and_efforts():
    others = [{"scheme": "cot"}, {"temperature": 0.3}, {"effort": "low"}]
    rows = pd.concat([study(**names).judgements for names in ({}, *others)])
    kept = main_design(rows)
    assert len(kept) == len(study().judgements)
    assert len(main_design(rows.assign(size=9))) == 0
    assert len(main_design(kept.assign(size=4, setting="criteria"))) == len(kept)


def test_adding_a_table_moves_no_other():
    assert study().rng("a").random() == study().rng("a").random() != study().rng("b").random()
