"""What records give away: by hand, and on judges whose leak is known."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.metrics import precision_score, recall_score

from shared.metrics.resampling import Inference, rate_interval
from shared.reading import SourceError
from studies.evidence_lock.leaks import LABELS, leak_rows, read_labels, reader_rows
from studies.evidence_lock.named import stated_by
from studies.evidence_lock.rows import COLUMNS

QUICK = Inference(resamples=200, permutations=2000)


def judgement(item: str, named: str, verdict: str | None = "1", **changes: object) -> dict[str, object]:
    """A judgement whose record names an answer; of the lock unless told otherwise."""
    return {
        "judge": "j",
        "item": item,
        "cluster": item,
        "dataset": "embedded",
        "scheme": "lock",
        "inspection": "12",
        "decision": "12",
        "record_chars": 90,
        "wording": 1,
        "naming": "neutral",
        "temperature": 0.0,
        "replicate": 0,
        "writer": "",
        "label": "1",
        "status": "ok" if verdict else "unparsed",
        "verdict": verdict,
        "named": named,
        "leans": named,
        **changes,
    }


def rows_of(*judgements: dict[str, object]) -> pd.DataFrame:
    return leak_rows(pd.DataFrame(judgements), np.random.default_rng(7), QUICK)


def the(rows: pd.DataFrame, quantity: str, **names: object) -> pd.Series:
    chosen = rows[rows["quantity"] == quantity]
    for column, name in {"scheme": "lock", **names}.items():
        chosen = chosen[chosen[column].isna() if name is None else chosen[column] == name]
    assert len(chosen) == 1
    return chosen.iloc[0]


BY_HAND = [
    judgement("a", "1"),  # names what people prefer, which was inspected first; the verdict follows
    judgement("b", "2", verdict="1"),  # names the other, inspected second; the verdict does not follow
    judgement("c", "2", verdict="2", inspection="21", decision="21"),  # inspected first; follows
    judgement("d", "1", verdict=None, label="tie"),  # inspected first; no verdict
    judgement("e", "tie", verdict="tie"),
    judgement("f", "none", leans="2"),
    judgement("g", "none"),
    judgement("h", "", verdict=None, leans=""),  # could not be read
]


def test_records_by_hand():
    rows = rows_of(*BY_HAND)
    assert list(rows.columns) == list(COLUMNS)
    winner = the(rows, "names_winner_rate")
    assert (winner["value"], winner["n_trials"], winner["n_unparsed"], winner["n_items"]) == (4 / 7, 7, 1, 7)
    assert (winner["record_chars"], winner["naming"], winner["writer"]) == (90, "neutral", "")
    assert the(rows, "names_tie_rate")["value"] == 1 / 7
    assert the(rows, "leans_rate")["value"] == 5 / 7
    # +1, -1, +1, +1
    first = the(rows, "named_first_shown")
    assert (first["value"], first["n_trials"]) == (2 / 4, 4)
    # a yes, b and c no; d has no preference of people
    agreement = the(rows, "named_agreement")
    assert (agreement["value"], agreement["n_trials"]) == (pytest.approx(1 / 3), 3)
    # a and c follow, b does not, d has no verdict
    follows = the(rows, "follows_named_rate")
    assert (follows["value"], follows["n_trials"], follows["n_unparsed"]) == (pytest.approx(2 / 3), 3, 1)
    assert rows["ci_low"].lt(rows["value"]).all() and rows["ci_high"].gt(rows["value"]).all()


def test_intervals_and_tests_are_the_shared_ones():
    rows = rows_of(*(judgement(f"d{at}", "1" if at < 9 else "2") for at in range(10)))
    first = the(rows, "named_first_shown")
    assert first["value"] == pytest.approx(0.8)
    # Of ten clusters that all move by one, the sign-flip test is the sign test.
    assert first["p"] == pytest.approx(binomtest(9, 10).pvalue)
    assert first["p_holm"] == first["p"] and first["mde"] > 0
    winner = the(rows, "names_winner_rate")
    wilson = rate_interval(np.ones(10), np.arange(10), np.random.default_rng(0), QUICK)
    assert (winner["value"], winner["ci_high"]) == (1, 1)
    assert winner["ci_low"] == pytest.approx(wilson.low)


def test_the_lock_is_set_beside_structured_on_the_same_trials():
    structured = {"scheme": "structured"}
    rows = rows_of(
        judgement("a", "none"),
        judgement("a", "1", **structured),  # -1
        judgement("b", "1"),
        judgement("b", "2", **structured),  # 0: both name somebody
        judgement("c", "tie"),
        judgement("c", "1", **structured),  # -1
        judgement("d", "1"),
        judgement("d", "none", **structured),  # +1
        judgement("e", "1"),  # without a partner
        judgement("f", "1"),
        judgement("f", "", None, **structured),  # could not be read
    )
    found = the(rows, "names_winner_rate", reference="structured")
    assert (found["value"], found["condition"]) == (-1 / 4, "lock - structured")
    assert (found["n_trials"], found["n_unparsed"]) == (8, 1)
    # The moves are -1, -1, +1: of 8 sign vectors all have a sum of at least 1 in size.
    assert found["p"] == 1
    assert the(rows, "names_winner_rate", reference=None)["value"] == 4 / 6
    assert the(rows, "names_winner_rate", scheme="structured")["value"] == 3 / 4


def test_crossed_trials_are_left_out_and_one_order_stays():
    rows = rows_of(judgement("a", "1"), judgement("a", "1", decision="21"), judgement("b", "none"))
    assert the(rows, "names_winner_rate")["value"] == 1 / 2


def test_only_the_main_cells_count():
    other = [{"wording": 2}, {"temperature": 0.7}, {"replicate": 1}, {"record_chars": 40}]
    rows = rows_of(judgement("a", "1"), *(judgement("a", "none", **changes) for changes in other))
    assert the(rows, "names_winner_rate")["value"] == 1
    letters = judgement("a", "none", naming="letters")
    assert the(rows_of(judgement("a", "1"), letters), "names_winner_rate", naming="letters")["value"] == 0


def test_the_schemes_that_rest_on_the_locks_record_only_follow_it():
    schemes = ("lock_with_source", "conversation", "reread")
    rows = rows_of(*(judgement("a", "1", scheme=scheme) for scheme in schemes))
    assert rows["quantity"].tolist() == ["follows_named_rate"] * 3


def test_other_records_have_rows_by_writer():
    rows = rows_of(
        judgement("a", "1", scheme="other_record", writer="v"),
        judgement("a", "2", scheme="other_record", writer="w"),
    )
    values = {
        writer: the(rows, "follows_named_rate", scheme="other_record", writer=writer) for writer in "vw"
    }
    assert [row["value"] for row in values.values()] == [1, 0]


def test_schemes_without_a_text_about_both_have_no_row():
    none = {"named": "", "leans": ""}
    rows = rows_of(*({**judgement("a", "", scheme=s), **none} for s in ("standard", "pointwise_lock")))
    assert rows.empty and list(rows.columns) == list(COLUMNS)


def test_where_nobody_is_named_what_follows_is_undefined():
    rows = rows_of(judgement("a", "none"), judgement("b", "none"))
    assert the(rows, "names_winner_rate")["value"] == 0 < the(rows, "names_winner_rate")["ci_high"]
    for quantity in ("named_first_shown", "named_agreement"):
        assert np.isnan(the(rows, quantity)["value"]) and the(rows, quantity)["n_trials"] == 0
    assert "follows_named_rate" not in set(rows["quantity"])


def test_data_sets_come_apart_and_together_and_judges_apart():
    rows = rows_of(
        judgement("a", "1"),
        judgement("b", "none", dataset="llmbar"),
        judgement("a", "none", judge="k"),
    )
    of_j = {
        name: the(rows, "names_winner_rate", judge="j", dataset=name)["value"]
        for name in ("embedded", "llmbar", "all")
    }
    assert of_j == {"embedded": 1, "llmbar": 0, "all": 1 / 2}
    assert the(rows, "names_winner_rate", judge="k")["value"] == 0


def test_exchanging_the_candidates_changes_nothing():
    other = {"1": "2", "2": "1", "12": "21", "21": "12"}
    mirrored = [
        {
            **one,
            **{
                name: other.get(one[name], one[name])
                for name in ("label", "verdict", "named", "leans", "inspection", "decision")
            },
        }
        for one in BY_HAND
    ]
    pd.testing.assert_frame_equal(rows_of(*BY_HAND), rows_of(*mirrored))


def test_adding_a_cell_moves_no_other():
    alone, more = rows_of(*BY_HAND), rows_of(*BY_HAND, judgement("z", "1", scheme="structured"))
    kept = more[more["scheme"] == "lock"].reset_index(drop=True)
    left = [name for name in COLUMNS if name != "p_holm"]
    pd.testing.assert_frame_equal(kept[left], alone[left])


def test_a_known_leak_is_found_at_the_nominal_rate():
    # Records name a winner with probability 0.3, the first inspected with probability 0.5 then: 60 items.
    rng = np.random.default_rng(3)
    covered, rejected, runs = [], [], 30
    for _ in range(runs):
        names = np.where(rng.random(60) < 0.3, np.where(rng.random(60) < 0.5, "1", "2"), "none")
        rows = rows_of(*(judgement(f"d{at}", name) for at, name in enumerate(names)))
        winner = the(rows, "names_winner_rate")
        covered.append(winner["ci_low"] <= 0.3 <= winner["ci_high"])
        rejected.append(the(rows, "named_first_shown")["p"] <= 0.05)
    # Binomial(30, 0.05) is above 5 with probability 0.003.
    assert sum(covered) >= 25 and sum(rejected) <= 5


# --- How well records are read ------------------------------------------------------------------------


def reader(labels):
    rows = reader_rows(labels, np.random.default_rng(5), QUICK)
    assert rows["judge"].isna().all() and rows["dataset"].eq("embedded").all()
    return rows.set_index("quantity")


def test_precision_and_recall_by_hand():
    # The rules name a winner in a, b and c, in a the reader's; the reader names one in a, b, d and e.
    labelled = ["first", "second", "tie", "first", "second", "none"]
    read = ["first", "first", "second", "none", "tie", "none"]
    found = reader(pd.DataFrame({"item": [*"abcdef"], "labelled": labelled, "read": read}))
    assert found["value"].tolist() == pytest.approx([1 / 3, 1 / 4])
    assert found["n_trials"].tolist() == found["n_clusters"].tolist() == [3, 4]
    assert found["p"].isna().all()


def test_without_a_winner_neither_is_defined():
    found = reader(pd.DataFrame({"item": ["a"], "labelled": ["tie"], "read": ["none"]}))
    assert found["value"].isna().all() and found["n_trials"].eq(0).all()


def test_records_of_one_pair_are_one_source():
    labels = pd.DataFrame({"item": ["a", "a", "b"], "labelled": "first", "read": "first"})
    assert reader(labels)["n_clusters"].tolist() == [2, 2]


def test_the_labelled_records(root):
    """What the table says is what the file says, by another library."""
    labels = read_labels(root / LABELS)
    found = reader(labels)
    winners, told = ["first", "second"], {"average": "micro", "labels": ["first", "second"]}
    for quantity, score in (("reader_precision", precision_score), ("reader_recall", recall_score)):
        assert found["value"][quantity] == pytest.approx(score(labels["labelled"], labels["read"], **told))
        assert found["ci_low"][quantity] < found["value"][quantity] < found["ci_high"][quantity]
    assert found["n_trials"].tolist() == [labels[name].isin(winners).sum() for name in ("read", "labelled")]
    # Of ten that the rules name, and of ten that the reader names, eight are the same.
    assert found["value"].tolist() == pytest.approx([0.8, 0.8])


def test_the_labels_are_as_their_page_says(root):
    rows = [json.loads(line) for line in (root / LABELS).read_text(encoding="utf-8").splitlines()]
    pairs = (root / LABELS).with_name("pairs.jsonl").read_text(encoding="utf-8").splitlines()
    assert {row["item"] for row in rows} <= {f"embedded/{json.loads(line)['id']}" for line in pairs}
    assert len({(row["criteria"], *row["evidence"]) for row in rows}) == len(rows) == 140
    page = (root / LABELS).with_name("README.md").read_text(encoding="utf-8")
    counts = pd.Series([row["named"] for row in rows]).value_counts()
    assert ", ".join(f"{name} {counts[name]}" for name in ("first", "second", "tie", "none")) in page


@pytest.mark.parametrize("change", [{"named": "1"}, {"evidence": ["only one"]}, {"names": None}])
def test_a_damaged_label_is_told_with_its_line(tmp_path, change):
    good = {"item": "embedded/a", "names": ["Cedar", "Holly"], "criteria": "c", "evidence": ["x", "y"]}
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(map(json.dumps, [good | {"named": "tie"}, good | {"named": "tie"} | change])))
    with pytest.raises(SourceError, match=r"labels\.jsonl:2"):
        read_labels(file)


def test_a_record_that_calls_both_the_best_names_nobody_alone():
    both = "Cedar and Rowan are the best answer to this question."
    evidence = (("Cedar", both), ("Rowan", "Rowan is the best answer to this question."))
    assert stated_by(both, evidence)[0] == "none"
    assert stated_by(both, (("Cedar", both), ("Rowan", both)))[0] == "tie"
