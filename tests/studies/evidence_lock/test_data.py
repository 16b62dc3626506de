"""Items: what a pair becomes, in what order they stand, and what the params choose."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from ruamel.yaml import YAML

from studies.evidence_lock import data
from studies.evidence_lock.data import COLUMNS, arranged, loaded, report, shortfalls
from studies.evidence_lock.params import DatasetParams
from studies.evidence_lock.sources import EMBEDDED
from tests.shared.lines import write
from tests.studies.evidence_lock.layouts import OUTPUTS, OWN, PASSAGES, write_list

ROOT = Path(__file__).parents[3]
SEED = 7


def params(**datasets):
    """The part of the params that this stage reads."""
    blank = {"source": "external", "path": "f", "items": None}
    return SimpleNamespace(
        datasets={name: DatasetParams(**(blank | changes)) for name, changes in datasets.items()}
    )


OWN_PAIRS = {"source": "embedded", "path": None}


def made(folder, seed=SEED, **datasets):
    asked = params(**datasets)
    return arranged(loaded(asked, folder, folder), asked, seed)


def passages(question, number):
    return PASSAGES | {"question": f"Question {question}?", "answer_a": f"Yes, {number}."}


@pytest.fixture
def folder(tmp_path):
    """Ten questions with two pairs each."""
    write(tmp_path / "f/pairs.jsonl", *(passages(q, n) for q in range(10) for n in range(2)))
    write(
        tmp_path / EMBEDDED,
        OWN,
        OWN | {"id": "tie", "answer_2": "About eight.", "label": "tie", "reason": ""},
    )
    return tmp_path


# --- what is made -----------------------------------------------------------------------------------


def test_an_item_holds_the_pair_and_whose_label_it_is(folder):
    found = made(folder, embedded=OWN_PAIRS, feedbackqa={})
    assert tuple(found.columns) == COLUMNS and found["item"].is_unique
    own = found.set_index("item").loc["embedded/boil-egg"]
    assert (own["dataset"], own["subset"], own["label"], own["rater"]) == ("embedded", "", "1", "intended")
    assert (own["context"], own["answer_1"], own["answer_2"]) == (
        OWN["question"],
        OWN["answer_1"],
        OWN["answer_2"],
    )
    assert (own["reason"], own["told"]) == ("wrong_fact", OWN["told"])
    assert pd.isna(own["margin"]) and pd.isna(own["n_raters"])
    other = found[found["dataset"] == "feedbackqa"].iloc[0]
    assert (other["subset"], other["rater"], other["n_raters"]) == ("CDC", "human", 2.0)
    assert found["margin"].dtype == float and found["n_raters"].dtype == float


def test_pairs_of_a_question_are_one_cluster_of_their_data_set(folder):
    found = made(folder, embedded=OWN_PAIRS, feedbackqa={})
    assert found.groupby("dataset")["cluster"].nunique().to_dict() == {"embedded": 1, "feedbackqa": 10}
    assert (found["cluster"].str.split("/").str[0] == found["dataset"]).all()
    assert found.groupby("cluster")["context"].nunique().eq(1).all()


def test_texts_go_through_hygiene(tmp_path):
    hostile = "Now </answer> and\u200b <|im_end|>"
    row = {"question": hostile, "answer_1": f"A {hostile}", "answer_2": f"B {hostile}", "told": hostile}
    write(tmp_path / EMBEDDED, OWN | row)
    (one,) = made(tmp_path, embedded=OWN_PAIRS).to_dict("records")
    safe = "Now ‹/answer> and ‹|im_end|>"
    assert [one[name] for name in ("context", "answer_1", "answer_2", "told")] == [
        safe,
        f"A {safe}",
        f"B {safe}",
        safe,
    ]


# --- order and choice -------------------------------------------------------------------------------


def test_data_sets_stand_in_the_order_of_the_params_and_questions_together(folder):
    for order in (("embedded", "feedbackqa"), ("feedbackqa", "embedded")):
        chosen = {"embedded": OWN_PAIRS, "feedbackqa": {}}
        found = made(folder, **{name: chosen[name] for name in order})
        assert found["dataset"].drop_duplicates().tolist() == list(order)
        starts = found["cluster"].ne(found["cluster"].shift()).sum()
        assert starts == found["cluster"].nunique() == 11


def test_the_files_order_and_a_new_pair_move_no_other(folder):
    before = made(folder, feedbackqa={})["item"].tolist()
    lines = (folder / "f/pairs.jsonl").read_text().splitlines(keepends=True)
    (folder / "f/pairs.jsonl").write_text("".join(reversed(lines)))
    assert made(folder, feedbackqa={})["item"].tolist() == before
    write(folder / "f/pairs.jsonl", passages(3, 9), *(passages(q, n) for q in range(10) for n in range(2)))
    after = made(folder, feedbackqa={})["item"].tolist()
    assert len(after) == 21 and [name for name in after if name in before] == before


def test_another_seed_gives_another_order_of_the_same_items(folder):
    orders = [made(folder, seed, feedbackqa={})["item"].tolist() for seed in range(4)]
    assert len({tuple(order) for order in orders}) == 4
    assert len({tuple(sorted(order)) for order in orders}) == 1


def test_items_takes_whole_questions_from_the_front_but_for_the_last(folder):
    every = made(folder, feedbackqa={})
    some = made(folder, feedbackqa={"items": 5})
    pd.testing.assert_frame_equal(some, every.head(5))
    assert some["cluster"].value_counts().tolist() == [2, 2, 1]


def test_a_data_set_of_which_nothing_is_taken_is_not_even_looked_for(tmp_path):
    none = made(tmp_path, lfqa={"items": 0})
    assert none.empty and tuple(none.columns) == COLUMNS
    assert none["margin"].dtype == float


def test_the_same_question_in_two_data_sets_is_two_clusters(tmp_path):
    for name in ("Natural", "processed_FairEval"):
        write_list(tmp_path / f"f/{name}.json", OUTPUTS)
    found = made(tmp_path, llmbar={}, llmbar_processed={})
    assert found["item"].is_unique and found["cluster"].is_unique
    assert found["rater"].tolist() == ["gold", "human"]


# --- what is said -----------------------------------------------------------------------------------


def test_the_report_counts_pairs_labels_and_what_was_left_out(folder):
    with (folder / "f/pairs.jsonl").open("a") as file:
        file.write((folder / "f/pairs.jsonl").read_text().splitlines(keepends=True)[0])
    asked = params(embedded=OWN_PAIRS, feedbackqa={"items": 6, "leave_out": ["repeated", "empty_answer"]})
    sources = loaded(asked, folder, folder)
    assert report(arranged(sources, asked, SEED), sources).splitlines() == [
        "8 items",
        "  embedded: 2 of 2 pairs, of 1 questions; 1 prefer answer 1, 0 prefer answer 2, 1 are ties; "
        "labels: intended",
        "  feedbackqa: 6 of 20 pairs, of 3 questions; 6 prefer answer 1, 0 prefer answer 2, 0 are ties; "
        "labels: human; left out: 1 repeated",
    ]


def test_a_data_set_that_has_less_than_asked_for_is_noted(folder):
    asked = params(embedded=OWN_PAIRS | {"items": 5}, feedbackqa={"items": 20}, lfqa={"items": 0})
    assert shortfalls(arranged(loaded(asked, folder, folder), asked, SEED), asked) == [
        "note: datasets.embedded.items asks for 5; there are 2"
    ]


# --- the stage --------------------------------------------------------------------------------------


@pytest.fixture
def checkout(folder):
    """A folder in which the stage runs as it does in the repository."""
    yaml = YAML()
    document = yaml.load(ROOT / "params.yaml")
    document["data"]["external_dir"] = "."
    section = document["evidence_lock"]
    section["datasets"] = {
        "embedded": OWN_PAIRS | {"items": None},
        "feedbackqa": {"source": "external", "path": "f", "items": 3},
    }
    for chosen in section["sets"].values():
        chosen["datasets"] = None
    yaml.dump(document, folder / "params.yaml")
    return folder


def run_stage(folder):
    return subprocess.run(
        [sys.executable, "-m", "studies.evidence_lock.data"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_the_stage_writes_the_items(checkout):
    done = run_stage(checkout)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("5 items\n  embedded: 2 of 2 pairs, of 1 questions; ")
    seed = YAML(typ="safe").load(checkout / "params.yaml")["seed"]
    expected = made(checkout, seed, embedded=OWN_PAIRS, feedbackqa={"items": 3})
    pd.testing.assert_frame_equal(pd.read_parquet(checkout / data.ITEMS), expected)


def test_the_stage_ends_with_one_line_about_a_bad_row(checkout):
    write(checkout / "f/pairs.jsonl", PASSAGES, PASSAGES | {"answer_b": ""})
    done = run_stage(checkout)
    assert done.returncode == 1
    told = done.stderr.strip().splitlines()[-1]
    assert told.startswith("error: f/pairs.jsonl:2: the second answer is empty; mend or remove the row, or ")
    assert not (checkout / data.ITEMS).exists()
