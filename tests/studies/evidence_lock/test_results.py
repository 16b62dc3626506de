"""What every row says besides its estimate."""

import numpy as np
import pandas as pd
import pytest

from shared.metrics.resampling import Inference
from shared.reporting.results import Study
from studies.evidence_lock import counterparts
from studies.evidence_lock.results import COLUMNS, TEXTS, finisher, gates_of, verdicts
from tests.studies.evidence_lock.planted import planted, planted_items

QUICK = Inference(resamples=200, permutations=200)
ITEMS = planted_items(24, dataset="d")
ROW = {
    "quantity": "agreement",
    "judge": "mine",
    "scheme": "lock",
    "dataset": "d",
    "value": 0.5,
    "n_clusters": 24,
}


def study(*raters, **names):
    rng = np.random.default_rng(1)
    frames = [
        planted(ITEMS.assign(rater=rater), rng, judge="mine", **names) for rater in raters or ("human",)
    ]
    return Study(pd.concat(frames), QUICK, 1, "smoke")


def gates(*cells):
    """The gate's verdicts, of which a cell is ``judge, data set, scheme, verdict``; of neutral names."""
    return verdicts(
        pd.DataFrame(cells, columns=["judge", "dataset", "scheme", "gate"]).assign(naming="neutral")
    )


FAILED = gates(("mine", "d", "lock", "failed"), ("mine", "d", "structured", "passed"))


def finished(row, by=FAILED, name="agreement", **of):
    return finisher(study(**of), by)(name, pd.DataFrame([ROW | row])).iloc[0]


def test_every_table_has_the_same_columns_and_says_what_it_rests_on():
    row = finished({})
    assert list(row.index) == list(COLUMNS) and set(TEXTS) < set(COLUMNS)
    assert (row["profile"], row["fingerprint"], row["rater"]) == ("smoke", "0123456789ab", "human")
    assert [row[name] for name in ("condition", "subset", "writer", "reference", "naming")] == [""] * 5
    assert np.isnan(row["record_chars"]) and np.isnan(row["p"])


def test_a_row_has_the_gate_of_its_own_protocol():
    assert (finished({})["gate"], finished({})["note"]) == ("failed", "instrument check")
    assert finished({"scheme": "structured"})["note"] == ""
    for other in ({"scheme": "reread"}, {"dataset": "e"}, {"judge": "other"}, {"naming": "letters"}):
        assert finished(other)["gate"] == "not asked"


def test_what_the_lock_lost_has_the_gate_of_structured_whose_verdicts_it_lost():
    assert finished({}, name="lost")["gate"] == "passed"


def test_letters_are_gated_by_letters():
    """A judge that always says A passes nothing by what it does with neutral names, nor the other way."""
    rows = pd.concat([study(agree=0.95).judgements, study(naming="letters", agree=0.5, flip=1.0).judgements])
    both = Study(rows, QUICK, 1, "smoke")
    finish = finisher(both, verdicts(gates_of(both)))
    told = finish("agreement", pd.DataFrame([ROW | {"naming": name} for name in ("neutral", "letters")]))
    assert told["gate"].tolist() == ["passed", "failed"]


def test_a_row_of_the_gate_has_the_answer_of_its_own_question():
    """A judge that takes always candidate 1 is not constant on the screen, and fails all the same."""
    rows = study(schemes=["lock"]).judgements.assign(verdict="1")
    one = Study(rows, QUICK, 1, "smoke")
    told = finisher(one, verdicts(gates_of(one)))("competence", gates_of(one)).set_index("quantity")
    assert told["verdict"].to_dict() == {"prefers_better": "failed", "not_constant": "passed"}
    assert set(told["gate"]) == {"failed"}


def test_a_difference_has_the_gate_of_what_it_is_taken_from():
    """That the lock loses the ability is a finding, which no gate hides."""
    assert finished({"reference": "structured"}, name="differences")["gate"] == "passed"
    assert finished({"scheme": "other_record", "reference": "lock"}, name="bundle")["gate"] == "failed"


def test_a_row_about_all_judges_has_the_worst_gate_of_theirs():
    few = gates(("mine", "d", "lock", "passed"), ("other", "d", "lock", "too few to tell"))
    assert finished({"judge": "all"}, few)["gate"] == "too few to tell"
    worst = few | gates(("third", "d", "lock", "failed"))
    assert finished({"judge": "all"}, worst)["gate"] == "failed"
    assert finished({"judge": "all", "dataset": "e"}, worst)["gate"] == "not asked"


def test_a_row_about_no_judge_or_no_protocol_has_no_gate():
    for less in ({"judge": None}, {"scheme": np.nan}):
        assert (finished(less)["gate"], finished(less)["note"]) == ("", "")


def test_too_few_questions_are_told_after_what_the_estimate_says_of_itself():
    row = finished({"scheme": "structured", "n_clusters": 11, "note": "not run: standard"})
    assert row["note"] == "not run: standard; too few to conclude"


def test_whose_the_labels_are_is_told_by_data_set():
    assert finished({"dataset": "all"})["rater"] == ""
    rows = pd.concat([study("gold").judgements, study("human").judgements])
    both = Study(rows, QUICK, 1, "smoke")
    row = finisher(both, FAILED)("agreement", pd.DataFrame([ROW])).iloc[0]
    assert row["rater"] == "gold, human"


def test_a_table_without_rows_has_its_columns():
    found = finisher(study(), FAILED)("orders", pd.DataFrame())
    assert found.empty and list(found.columns) == list(COLUMNS)


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("agreement", {"quantity": "inconsistency"}),
        ("cost", {"quantity": "tokens"}),
        ("differences", {"reference": "structured"}),
        ("orders", {}),
        ("agreement", {"wording": 2}),
        ("agreement", {"judge": "gpt_5", "dataset": "all"}),
    ],
)
def test_the_papers_number_is_that_of_the_rows_names(name, names):
    row = finished(names, name=name)
    told = {key: row[key] for key in ("judge", "dataset", "scheme", "reference", "wording")}
    printed = counterparts.of(row["quantity"], name, **told)
    found = counterparts.Counterpart(
        row["published_id"], row["published"], row["paper_low"], row["paper_high"]
    )
    np.testing.assert_equal(tuple(found), tuple(printed))
    # the fourth and fifth print nothing
    assert (printed == counterparts.NONE) == (name == "orders" or names.get("wording") == 2)


def test_the_gates_are_of_each_judge_data_set_and_protocol():
    found = gates_of(study(schemes=["structured", "lock"], agree=0.95))
    assert verdicts(found) == {
        ("mine", "d", "structured", "neutral"): "passed",
        ("mine", "d", "lock", "neutral"): "passed",
    }
    random = verdicts(gates_of(study(agree=0.5, flip=1.0, first=1.0)))
    assert set(random.values()) == {"failed"} and verdicts(pd.DataFrame()) == {}


def test_adding_a_table_moves_no_other():
    one = study()
    assert one.rng("a").random() == one.rng("a").random() != one.rng("b").random()
