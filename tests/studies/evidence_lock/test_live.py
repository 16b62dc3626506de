"""The study from items to tables with the embedded judge: its own pairs, and real ones."""

import os
import subprocess
import sys

import pandas as pd
import pytest
from ruamel.yaml import YAML

from shared.reporting import tables as reporting
from studies.evidence_lock.captions import TEXTS
from studies.evidence_lock.judgements import FROZEN, READINGS
from studies.evidence_lock.params import SCHEMES
from studies.evidence_lock.protocols import sha256

REAL = "shared/data"
STUDY = "evidence_lock"
JUDGE, OTHER = "smollm2_135m", "smollm2_135m_again"
ALL_STAGES = ("data", "design", "judge", "exchange", "judgements", "embed", "tables")
MODULES = {"embed": "embedding"}
OF_A_JUDGE = ("judge", "exchange", "judgements")

EVERYTHING = {
    "main": {"items": 1, "schemes": list(SCHEMES)},
    "orders": {"items": 1, "schemes": ["lock"], "crossed": True},
    "letters": {"items": 1, "schemes": ["lock"], "naming": "letters"},
}


@pytest.fixture
def workspace(root, tmp_path):
    """A folder in which the stages run as they do in the repository, with params of its own."""
    for name in ("weights", "data/embedded", "paper_tables/published"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(root / name)
    return tmp_path


def prepare(root, folder, sets, judges=(JUDGE,), external_dir="data/external", **datasets):
    """Params: short records, and one pair of each data set that is told."""
    document = YAML(typ="safe").load(root / "params.yaml")
    section = document[STUDY]
    section |= {"judges": list(judges), "sets": sets, "answer": {"record_chars": 96, "max_tokens": 128}}
    # the same weights under another setting: another judge, by its fingerprint
    document["judges"][OTHER] = document["judges"][JUDGE] | {"context": 3072}
    for name, own in section["datasets"].items():
        own["items"] = datasets.get(name, 0)
    document["data"]["external_dir"] = str(external_dir)
    document["statistics"] |= {"resamples": 100, "permutations": 100}
    YAML().dump(document, folder / "params.yaml")


def run(root, folder, judges=(JUDGE,), stages=ALL_STAGES):
    """The stages one after the other; what they print."""
    told = ""
    for stage in stages:
        for arguments in [[judge] for judge in judges] if stage in OF_A_JUDGE else [[]]:
            done = subprocess.run(
                [sys.executable, "-m", f"studies.{STUDY}.{MODULES.get(stage, stage)}", *arguments],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(root)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            told += done.stdout
    return told


def table(folder, kind, judge=JUDGE):
    return pd.read_parquet(folder / f"data/{STUDY}/{kind}/{judge}.parquet")


@pytest.mark.live
def test_every_protocol_is_asked_about_an_embedded_pair(root, workspace):
    judges = (JUDGE, OTHER)
    prepare(root, workspace, EVERYTHING, judges, embedded=1)
    run(root, workspace, judges)
    for judge, other in (judges, judges[::-1]):
        found = table(workspace, "judgements", judge)
        assert set(found["scheme"]) == set(SCHEMES)
        # each protocol in both orders, two crossed locks, two locks with letters
        assert len(found) == 2 * len(SCHEMES) + 2 + 2
        # the schema is enforced, so that whatever is finished can be read
        assert set(found["status"]) <= {"ok", "truncated"} and found["status"].eq("ok").sum() >= 18
        assert found["verdict"].notna().eq(found["status"].eq("ok")).all()
        ok = found[found["status"] == "ok"]
        calls = ok["scheme"].map({"standard": 1, "structured": 1, "pointwise_lock": 3}).fillna(2)
        assert (ok["calls"] == calls).all()
        written = ok[ok["scheme"] != "standard"]
        assert written[["criteria", "evidence_1", "evidence_2"]].ne("").all(axis=None)
        assert set(found.loc[found["scheme"] == "other_record", "writer"]) == {other}
        assert set(found["fingerprint"].dropna()).isdisjoint(
            table(workspace, "judgements", other)["fingerprint"]
        )
    responses = table(workspace, "responses")
    records = responses[responses["step"] == "record"].set_index("trial")["text"]
    locked = responses[responses["lock"].notna() & responses["trial"].isin(records.index)]
    assert len(locked) and (locked["lock"] == locked["trial"].map(records).map(sha256)).all()
    assert set(locked["trial"].str.split("|").str[1]) == set(FROZEN) - {"other_record", "pointwise_lock"}
    # call 1 of an order is one request, whoever goes on from it; Structured's is what is frozen
    first = responses[responses["trial"].str.contains("|neutral|", regex=False)].drop_duplicates("trial")
    first[["scheme", "order"]] = first["trial"].str.split("|", expand=True)[[1, 2]].to_numpy()
    for shared in (["lock", "lock_with_source", "conversation", "reread"], ["structured", "frozen_evidence"]):
        own = first[first["scheme"].isin(shared)]
        assert set(own["scheme"]) == set(shared) and (own.groupby("order")["key"].nunique() == 1).all()
    for name in TEXTS:
        assert (workspace / f"paper_tables/{STUDY}/{name}.md").is_file()
    agreement = reporting.read(workspace / f"paper_tables/{STUDY}/agreement.csv")
    assert set(agreement["scheme"]) == set(READINGS) and set(agreement["judge"]) == set(judges)

    again = run(root, workspace, judges, ("judge", "exchange"))
    assert again.count("paid 0 calls") == 4 and again.count("failed trials 0") == 4
    pd.testing.assert_frame_equal(table(workspace, "responses"), responses)


@pytest.mark.live
def test_real_pairs_are_judged(root, workspace):
    real = root.parent / REAL
    if not real.is_dir():
        pytest.skip(f"no real data sets at {REAL} beside the checkout")
    four = {"main": {"items": 1, "schemes": ["standard", "structured", "lock", "pointwise_lock"]}}
    prepare(root, workspace, four, external_dir=real, feedbackqa=1, llmbar=1)
    run(root, workspace, stages=ALL_STAGES[:5])
    found = table(workspace, "judgements")
    assert found.groupby(["dataset", "scheme"]).size().eq(2).all() and len(found) == 2 * 4 * 2
    assert set(found["status"]) <= {"ok", "truncated"} and found["status"].eq("ok").sum() >= 12
    assert found.groupby("dataset")["rater"].unique().map(list).to_dict() == {
        "feedbackqa": ["human"],
        "llmbar": ["gold"],
    }
