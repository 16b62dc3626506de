"""What every row says besides its estimate."""

import numpy as np
import pandas as pd
import pytest

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


def of_verdicts(*cells) -> dict:
    """The gates of cells, each told by what differs from `CELL` and its verdict."""
    return verdicts(pd.DataFrame([CELL | names | {"verdict": verdict} for names, verdict in cells]))


def test_what_a_row_does_not_name_is_everything_that_was_asked():
    gates = of_verdicts(({}, "passed"), ({"temperature": 0.3}, "failed"))
    assert finished(ROW | {"temperature": np.nan}, gates)["gate"] == "failed"
    assert finished(ROW | {"temperature": 0.0}, gates)["gate"] == "passed"
    # but for an effort: a row without one is about none
    gates = of_verdicts(({}, "passed"), ({"effort": "low"}, "failed"))
    assert finished(ROW | {"size": np.nan}, gates)["gate"] == "passed"


@pytest.mark.parametrize("sign", [" - ", " / "])
@pytest.mark.parametrize(
    ("name", "one", "other"),
    [("scheme", "verify", "base"), ("temperature", 0.3, 0.0), ("effort", "high", "low")],
)
def test_a_row_about_two_cells_has_the_worse_gate(sign, name, one, other):
    condition = f"{one if name != 'temperature' else '0.3'}{sign}{other if name != 'temperature' else '0'}"
    row = ROW | {name: one, "condition": condition}
    for verdict in ("failed", "too few to tell"):
        for pair in (("passed", verdict), (verdict, "passed")):
            gates = of_verdicts(*zip(({name: one}, {name: other}), pair, strict=True))
            assert finished(row, gates)["gate"] == verdict
            # of all judges likewise
            pooled = row | {"judge": "all", "dataset": "all"}
            assert finished(pooled, gates)["gate"] == verdict
    assert finished(row, of_verdicts(({name: one}, "passed")))["gate"] == "not asked"
    # what is about one of them has its own
    gates = of_verdicts(({name: one}, "passed"), ({name: other}, "failed"))
    assert finished(ROW | {name: one, "condition": "balanced - random"}, gates)["gate"] == "passed"


def test_a_difference_of_two_sizes_has_the_worse_of_their_gates():
    gates = of_verdicts(({"size": 2}, "failed"), ({"size": 5}, "passed"), ({"size": 9}, "too few to tell"))
    row = ROW | {"quantity": "cramers_v_difference", "size": np.nan}
    for condition, verdict in (
        ("size 9 - size 5", "too few to tell"),
        ("size 9 - size 2", "failed"),
        ("size 5 - size 3", "not asked"),
    ):
        assert finished(row | {"condition": condition}, gates)["gate"] == verdict
    # Which of all sizes has the lowest V is about all of them.
    lowest = ROW | {"quantity": "lowest_v_share", "condition": "size 5", "size": 5}
    assert finished(lowest, gates)["gate"] == "failed"
    assert finished(ROW | {"condition": "size 5", "size": 5}, gates)["gate"] == "passed"


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


def test_of_two_scales_each_has_its_own_gate_and_what_is_about_both_the_worse():
    criteria = {"setting": "criteria", "size": 4}
    both = [
        CELL | criteria | {"scale": s, "verdict": v} for s, v in (("54321", "failed"), ("12345", "passed"))
    ]
    gates = verdicts(pd.DataFrame(both))
    assert finished(ROW | criteria | {"scale": "54321"}, gates)["gate"] == "failed"
    assert finished(ROW | criteria | {"scale": "12345"}, gates)["gate"] == "passed"
    assert finished(ROW | criteria, gates)["gate"] == "failed"
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
