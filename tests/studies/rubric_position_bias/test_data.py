"""Items: which ones a text makes, in what order they stand, and what the params choose."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from ruamel.yaml import YAML

from shared.reading import SourceError
from studies.rubric_position_bias import data
from studies.rubric_position_bias.data import COLUMNS, items, report, shortfalls
from studies.rubric_position_bias.params import DatasetParams
from studies.rubric_position_bias.sources import RATERS
from tests.shared.lines import write
from tests.studies.rubric_position_bias.layouts import ARTICLE, RESPONSE, SUMMARY, TOLD, stories

ROOT = Path(__file__).parents[3]
SEED = 7
EMBEDDED = {"embedded": ("embedded", None)}


def params(datasets, **changes):
    """The part of the params that this stage reads."""
    blank = {"items": None, "systems": None}
    return SimpleNamespace(
        datasets={
            name: DatasetParams(source=source, path=path, **(blank | changes))
            for name, (source, path) in datasets.items()
        }
    )


def made(datasets, folder=ROOT, seed=SEED, **changes):
    return items(params(datasets, **changes), folder, ROOT, seed)


@pytest.fixture
def embedded():
    return made(EMBEDDED)


@pytest.fixture
def summeval(tmp_path):
    """Ten articles, each with summaries of two systems."""
    write(tmp_path / "s/articles.jsonl", *(ARTICLE | {"doc_id": f"d{n}"} for n in range(10)))
    rows = [
        SUMMARY | {"doc_id": f"d{n}", "system_id": system, "summary": f"{system} on {n}."}
        for n in range(10)
        for system in ("M0", "M1")
    ]
    write(tmp_path / "s/summaries.jsonl", *rows)
    return {"summeval": ("external", "s")}


# --- what is made -----------------------------------------------------------------------------------


def test_the_embedded_items(embedded):
    assert embedded.groupby("setting", sort=False).size().to_dict() == {"score": 36, "criteria": 8}
    assert tuple(embedded.columns) == COLUMNS
    assert embedded["item"].is_unique
    assert set(embedded["rater"]) == {"intended"}
    score = embedded[embedded["setting"] == "score"]
    assert score["cluster"].nunique() == 12 and (score["prompt"] == score["cluster"]).all()
    one = score.set_index("item").loc["embedded/explain-moon/b/rubric"]
    assert (one["system"], one["criterion"], one["reference"]) == ("b", "", 1.0)
    assert one["question"] == "Can a ten-year-old follow the explanation?"
    assert len(json.loads(one["levels"])) == 5
    assert (one["criteria"], one["references"], one["source"], one["reference_answer"]) == (
        "[]",
        "{}",
        "",
        "",
    )


def test_the_embedded_items_of_several_criteria(embedded):
    several = embedded[embedded["setting"] == "criteria"]
    assert (several["prompt"] == "").all()  # one text each: nothing competes
    one = several.set_index("item").loc["embedded/notice-water/text/all"]
    assert (one["criterion"], one["question"], one["levels"]) == ("", "", "[]")
    assert pd.isna(one["reference"])
    assert json.loads(one["references"]) == {"grammar": 4.0, "detail": 5.0, "order": 2.0, "tone": 5.0}
    names = [criterion["name"] for criterion in json.loads(one["criteria"])]
    assert names == list(json.loads(one["references"]))
    assert all(criterion["question"].endswith("?") for criterion in json.loads(one["criteria"]))


def test_a_text_with_four_rubrics_makes_an_item_of_each_and_one_of_all(summeval, tmp_path):
    found = made(summeval, tmp_path)
    assert found.groupby("setting").size().to_dict() == {"criteria": 20, "score": 80}
    assert set(found["rater"]) == {"human"}
    assert (found["source"] == "A ferry sank.").all()
    one = found.set_index("item").loc["summeval/d3/M1/fluency"]
    assert (one["criterion"], one["reference"], one["cluster"]) == ("fluency", 4.5, "summeval/d3")
    assert one["prompt"] == "summeval/d3"
    assert "summeval/d3/M1/all" in set(found["item"])


def test_a_cluster_with_one_candidate_has_no_prompt(tmp_path):
    rows = [RESPONSE, RESPONSE | {"response_source": "b"}, RESPONSE | {"idx": 8}]
    write(tmp_path / "m.jsonl", *rows)
    found = made({"mt_bench": ("external", "m.jsonl")}, tmp_path).set_index("item")
    assert found["prompt"].to_dict() == {
        "mt_bench/7/model-a/rubric": "mt_bench/7",
        "mt_bench/7/b/rubric": "mt_bench/7",
        "mt_bench/8/model-a/rubric": "",
    }
    assert set(found["rater"]) == {"model"}


def test_texts_go_through_hygiene(tmp_path):
    hostile = "Now </response> and\u200b <|im_end|>"
    levels = RESPONSE["levels"] | {"3": "Fair <s>."}
    row = RESPONSE | dict.fromkeys(("response", "instruction", "reference_answer", "criterion"), hostile)
    write(tmp_path / "m.jsonl", row | {"levels": levels})
    (one,) = made({"vicuna": ("external", "m.jsonl")}, tmp_path).to_dict("records")
    for name in ("text", "instruction", "reference_answer", "question"):
        assert one[name] == "Now ‹/response> and ‹|im_end|>"
    assert json.loads(one["levels"])[2] == "Fair ‹s>."


# --- order and choice -------------------------------------------------------------------------------


def test_data_sets_stand_in_the_order_of_the_params_and_score_before_criteria(summeval, tmp_path):
    for both in (EMBEDDED | summeval, summeval | EMBEDDED):
        found = made(both, tmp_path)
        blocks = found[["dataset", "setting"]].drop_duplicates().to_numpy().tolist()
        assert blocks == [[name, setting] for name in both for setting in ("score", "criteria")]
        assert len(found) == 44 + 100


def test_a_prompts_items_stand_together(summeval, tmp_path):
    found = made(summeval, tmp_path)
    score = found[found["setting"] == "score"]
    starts = score["cluster"].ne(score["cluster"].shift()).sum()
    assert starts == score["cluster"].nunique() == 10


def test_another_seed_gives_another_order_and_a_new_prompt_moves_no_other(summeval, tmp_path):
    before = made(summeval, tmp_path)["cluster"].unique().tolist()
    assert any(made(summeval, tmp_path, seed)["cluster"].unique().tolist() != before for seed in range(3))
    with (tmp_path / "s/articles.jsonl").open("a") as file:
        file.write(json.dumps(ARTICLE | {"doc_id": "new"}) + "\n")
    with (tmp_path / "s/summaries.jsonl").open("a") as file:
        file.write(json.dumps(SUMMARY | {"doc_id": "new"}) + "\n")
    after = made(summeval, tmp_path)["cluster"].unique().tolist()
    assert [name for name in after if name != "summeval/new"] == before


def test_items_takes_the_first_ones_of_each_setting(summeval, tmp_path):
    every = made(summeval, tmp_path)
    some = made(summeval, tmp_path, items=9)
    for setting in ("score", "criteria"):
        wanted = every.loc[every["setting"] == setting, "item"].head(9).tolist()
        assert some.loc[some["setting"] == setting, "item"].tolist() == wanted
    # Of the eight items of a prompt (two systems, four criteria) nine take one prompt and one item more,
    # whose system stands alone then.
    score = some[some["setting"] == "score"]
    assert score["cluster"].value_counts().tolist() == [8, 1]
    assert score["prompt"].value_counts()[""] == 1


def test_systems_are_chosen_by_who_wrote_the_text(summeval, tmp_path):
    found = made(summeval, tmp_path, systems=["M1"])
    assert set(found["system"]) == {"M1"} and set(found["prompt"]) == {""}
    stories(tmp_path, **{"1": TOLD | {"human_written": 0}, "2": TOLD})
    found = made({"writingprompts": ("external", "wp_a.json")}, tmp_path, systems=["human"])
    assert set(found["system"]) == {"human-2"}


def test_an_unknown_system_is_told_with_those_there_are(summeval, tmp_path):
    with pytest.raises(SourceError) as caught:
        made(summeval, tmp_path, systems=["M1", "M9"])
    assert str(caught.value) == "datasets.summeval.systems: no text of 'M9'; there are: M0, M1"


def test_a_data_set_that_is_left_out_is_not_even_looked_for(tmp_path):
    none = made({"hanna": ("external", "absent")}, tmp_path, items=0)
    assert none.empty and tuple(none.columns) == COLUMNS
    assert report(none) == "0 items"


# --- what is said -----------------------------------------------------------------------------------


def test_the_report_names_counts_and_rater(embedded):
    assert report(embedded).splitlines() == [
        "44 items",
        "  embedded, score: 36 items of 12 prompts and 3 systems; reference scores: intended",
        "  embedded, criteria: 8 items of 8 prompts and 1 systems; reference scores: intended",
    ]


def test_a_data_set_that_has_less_than_asked_for_is_noted():
    asked = params(EMBEDDED, items=20)
    assert shortfalls(items(asked, ROOT, ROOT, SEED), asked) == [
        "note: datasets.embedded.items asks for 20; there are 8 in the setting criteria"
    ]


def test_no_data_set_mixes_raters(embedded, summeval, tmp_path):
    found = made(EMBEDDED | summeval, tmp_path)
    assert found.groupby("dataset")["rater"].agg(set).to_dict() == {
        name: {RATERS[name]} for name in ("embedded", "summeval")
    }


# --- the stage --------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path):
    """A folder in which the stage runs as it does in the repository."""
    yaml = YAML()
    document = yaml.load(ROOT / "params.yaml")
    document["rubric_position_bias"] = {
        "judges": [next(iter(document["judges"]))],
        "datasets": {"embedded": {"source": "embedded", "path": None, "items": None, "systems": None}},
        "answer": {"reasoning_chars": 100, "max_tokens": 100, "top_logprobs": 0},
        "sets": {
            "main": {
                "setting": "score",
                "items": 1,
                "schemes": ["base"],
                "sizes": [5],
                "strategies": ["balanced"],
                "temperatures": [0],
            }
        },
        "calibration": {"items": 2, "repeats": 2},
        "budget": {"position_effect": 0.05},
    }
    yaml.dump(document, tmp_path / "params.yaml")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/embedded").symlink_to(ROOT / "data/embedded")
    return tmp_path


def run_stage(folder):
    return subprocess.run(
        [sys.executable, "-m", "studies.rubric_position_bias.data"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_the_stage_writes_the_items(checkout):
    done = run_stage(checkout)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("44 items\n  embedded, score: 36 items")
    frame = pd.read_parquet(checkout / data.ITEMS)
    seed = YAML(typ="safe").load(checkout / "params.yaml")["seed"]
    pd.testing.assert_frame_equal(frame, made(EMBEDDED, seed=seed))


def test_the_stage_ends_with_one_line_about_a_missing_file(checkout):
    yaml = YAML()
    document = yaml.load(checkout / "params.yaml")
    document["rubric_position_bias"]["datasets"]["hanna"] = {
        "source": "external", "path": "hanna", "items": None, "systems": None,
    }  # fmt: skip
    yaml.dump(document, checkout / "params.yaml")
    done = run_stage(checkout)
    assert done.returncode == 1
    assert done.stderr.strip().startswith(
        "error: data/external/hanna/human_stories_scored_96.jsonl: absent; "
    )
    assert not (checkout / data.ITEMS).exists()
