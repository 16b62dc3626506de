"""The study from items to judgements with the embedded judge: its own items, and real ones."""

import os
import subprocess
import sys

import pandas as pd
import pytest
from ruamel.yaml import YAML

from studies.rubric_position_bias.judgements import PROBABILITIES

REAL = "shared/data"
JUDGE = "smollm2_135m"
STUDY = "rubric_position_bias"
STAGES = ("data", "design", f"judge {JUDGE}", f"judgements {JUDGE}")
SMALL = {"items": 1, "k": 3, "strategies": ["balanced", "fixed"]}


@pytest.fixture
def workspace(root, tmp_path):
    """A folder in which the stages run as they do in the repository, with params of its own."""
    for name in ("weights", "data/embedded", "paper_tables/published"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(root / name)
    return tmp_path


def prepare(root, folder, external_dir, **datasets):
    """Params: one item of each data set under three orders and the fixed one, in both settings."""
    document = YAML(typ="safe").load(root / "params.yaml")
    section = document[STUDY]
    for name, own in section["datasets"].items():
        own.update({"items": 0} | datasets.get(name, {}))
    for name, own in section["sets"].items():
        own.update(SMALL if name in ("main", "criteria") else {"items": 0})
    document["data"]["external_dir"] = str(external_dir)
    YAML().dump(document, folder / "params.yaml")


def command(stage):
    module, *arguments = stage.split()
    return [sys.executable, "-m", f"studies.{STUDY}.{module}", *arguments]


def run(root, folder, stages=STAGES):
    for stage in stages:
        done = subprocess.run(
            command(stage),
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return pd.read_parquet(folder / f"data/{STUDY}/judgements/{JUDGE}.parquet"), done.stdout


@pytest.mark.live
def test_embedded_items_are_scored_with_distributions(root, workspace):
    prepare(root, workspace, "data/external", embedded={"items": None})
    table, _ = run(root, workspace)
    assert set(table["status"]) == {"ok"}  # the schema leaves nothing else
    scored = table[table["setting"] == "score"]
    assert len(scored) == 4 and scored["score"].between(1, 5).all()
    # what is read from the first token is a distribution, of which the answer is the likeliest option
    assert scored[PROBABILITIES[:5]].sum(axis=1).sub(1).abs().max() < 1e-9
    likeliest = scored[PROBABILITIES[:5]].to_numpy().argmax(axis=1) + 1
    assert (likeliest == scored["score"]).all() and scored["mass"].between(0, 1).all()
    # three orders of four criteria and the fixed one, the range listed both ways
    assert len(table[table["setting"] == "criteria"]) == 4 * 4 * 2


@pytest.mark.live
def test_real_data_sets_are_scored(root, workspace):
    real = root.parent / REAL
    if not real.is_dir():
        pytest.skip(f"no real data sets at {REAL} beside the checkout")
    prepare(root, workspace, real, mt_bench={"items": 1}, summeval={"items": 1, "systems": ["M11"]})
    table, _ = run(root, workspace)
    assert set(table["dataset"]) == {"mt_bench", "summeval"} and set(table["status"]) == {"ok"}
    assert table.groupby("dataset")["rater"].unique().map(list).to_dict() == {
        "mt_bench": ["model"],
        "summeval": ["human"],
    }
