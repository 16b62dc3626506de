"""Real data sets go through loader and items, where they are at hand."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from studies.rubric_position_bias.data import items
from studies.rubric_position_bias.design import selected
from studies.rubric_position_bias.params import DatasetParams, TrialSet

ROOT = Path(__file__).parents[3]
DATA = ROOT.parent / "shared" / "data"


def made(name, folder, **changes):
    if not (DATA / folder).is_dir():
        pytest.skip(f"real data sets are not here: {DATA / folder} is absent")
    settings = {"source": "external", "path": folder, "items": None, "systems": None} | changes
    return items(SimpleNamespace(datasets={name: DatasetParams(**settings)}), DATA, ROOT, 1)


def of(found, setting):
    return found[found["setting"] == setting]


@pytest.mark.parametrize("name", ["mt_bench", "vicuna"])
def test_prometheus(name):
    found = made(name, "prometheus")
    # The paper's count: 80 prompts and four models.
    assert (len(found), found["cluster"].nunique(), found["system"].nunique()) == (320, 80, 4)
    assert set(found["setting"]) == {"score"} and set(found["rater"]) == {"model"}
    assert (found["prompt"] == found["cluster"]).all()
    assert found["reference"].between(1, 5).all()
    # Three whole scores: every mean is a third of a whole number.
    assert ((found["reference"] * 3).round(6) % 1 == 0).all()


def test_the_papers_hanna():
    found = made("hanna", "hanna", systems=["Human"])
    score = of(found, "score")
    # 96 stories and six criteria.
    assert (len(score), score["cluster"].nunique(), len(of(found, "criteria"))) == (576, 96, 96)
    assert set(found["prompt"]) == {""} and set(found["rater"]) == {"human"}


def test_machine_stories_make_candidates_of_hannas_prompts():
    found = of(made("hanna", "hanna"), "criteria")
    # 96 human stories, and the 23 of the 30 others that are no human's; 17 or more prompts gain a rival.
    assert len(found) == 119 and found["cluster"].nunique() == 96
    rivals = found[found["prompt"] != ""]
    assert set(found.loc[found["system"] != "Human", "cluster"]) == set(rivals["cluster"])


def test_the_papers_summeval():
    found = made("summeval", "summeval", systems=["M0", "M8", "M11", "M17"])
    # 100 articles, four systems, four criteria; with 320, 320 and 576 the paper's 2,816 items.
    assert len(of(found, "score")) == 1600 == 2816 - 320 - 320 - 576
    assert len(of(found, "criteria")) == 400
    assert (found["source"].str.len() > 100).all() and set(found["rater"]) == {"human"}


def test_all_systems_of_summeval():
    assert len(of(made("summeval", "summeval"), "criteria")) == 1600


def test_writing_prompts():
    found = made("writingprompts", "writingprompts_a")
    assert (len(of(found, "score")), len(of(found, "criteria"))) == (1600, 400)
    assert found["cluster"].nunique() == 188
    human = made("writingprompts", "writingprompts_a", systems=["human"])
    assert len(of(human, "criteria")) == 200 and human["system"].str.startswith("human-").all()


def test_sixty_items_of_mt_bench_are_fifteen_prompts_that_a_set_can_take():
    found = made("mt_bench", "prometheus", items=60)
    assert found["cluster"].nunique() == 15 and set(found["prompt"]) == set(found["cluster"])
    every = TrialSet(
        setting="score", items=None, schemes=["base"], sizes=[5], strategies=["balanced"], temperatures=[0]
    )
    assert selected(found, every) == set(found["item"])
