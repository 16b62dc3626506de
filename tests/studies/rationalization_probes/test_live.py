"""The study from documents to judgements with the embedded judge: its own documents, and real ones."""

import json
import os
import subprocess
import sys

import pandas as pd
import pytest
from ruamel.yaml import YAML

from studies.rationalization_probes.documents import count_tokens
from tests.studies.rationalization_probes.support import ROOT

REAL = ROOT.parent / "shared" / "data"
JUDGE = "smollm2_135m"
STAGES = ("generate", "data", "attacks", "design", f"judge {JUDGE}", f"judgements {JUDGE}")
SMALL = {"items": 1, "schemes": ["forced", "pbp_repeated"], "probes": ["blind", "flip"], "reveal": True}


@pytest.fixture
def workspace(tmp_path):
    """A folder in which the stages run as they do in the repository, with params of its own."""
    for name in ("weights", "data/embedded"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "data/external").mkdir()
    document = YAML(typ="safe").load(ROOT / "params.yaml")

    def run(kind="equal", **documents):
        document["rationalization_probes"]["sets"] = {kind: SMALL}
        document["rationalization_probes"]["documents"].update(documents)
        YAML().dump(document, tmp_path / "params.yaml")
        for stage in STAGES:
            module, *arguments = stage.split()
            done = subprocess.run(
                [sys.executable, "-m", f"studies.rationalization_probes.{module}", *arguments],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        folder = tmp_path / "data/rationalization_probes"
        return pd.read_parquet(folder / f"judgements/{JUDGE}.parquet"), done.stdout, tmp_path

    return run


def check(table: pd.DataFrame) -> None:
    # forced and PBP, each Blind, Flip, Reveal and control
    assert table.groupby("scheme")["stage"].apply(sorted).map(tuple).to_dict() == {
        "forced": ("control", "first", "first", "reveal"),
        "pbp_repeated": ("control", "first", "first", "reveal"),
    }
    assert table["verdict"].notna().eq(table["status"].eq("ok")).all()
    # The schema is enforced, so whatever is finished parses.
    assert set(table["status"]) <= {"ok", "truncated"}
    assert table["status"].eq("ok").sum() >= 4


@pytest.mark.live
def test_embedded_documents_are_judged(workspace):
    table, _, folder = workspace()
    check(table)
    responses = pd.read_parquet(folder / f"data/rationalization_probes/responses/{JUDGE}.parquet")
    locked = responses[responses["step"].isin(["score", "narrate"])]
    assert locked["lock"].str.len().eq(64).all()


@pytest.mark.live
@pytest.mark.skipif(not REAL.is_dir(), reason=f"no real data sets at {REAL}")
def test_real_news_articles_with_real_system_summaries_are_judged(workspace, tmp_path):
    articles = [json.loads(line) for line in (REAL / "summeval/articles.jsonl").open()]
    summaries = pd.read_json(REAL / "summeval/summaries.jsonl", lines=True)
    article = next(a for a in articles if len(a["source"].split()) > 500)
    written = summaries[summaries["doc_id"] == article["doc_id"]].sort_values("coherence")["summary"].tolist()
    document = {
        "doc_id": article["doc_id"],
        "source": article["source"],
        "summary": written[-1],
        "paraphrase_1": written[-2],
        "paraphrase_2": written[-3],
    }
    (tmp_path / "data/external/summeval.jsonl").write_text(json.dumps(document))
    table, _, _ = workspace(
        source="external",
        path="summeval.jsonl",
        columns={"id": "doc_id", "text": "source", "summary": "summary"},
    )
    check(table)


@pytest.mark.live
@pytest.mark.skipif(not REAL.is_dir(), reason=f"no real data sets at {REAL}")
def test_real_encyclopedia_articles_are_judged_by_their_first_sentences(workspace, tmp_path):
    articles = [json.loads(line) for line in (REAL / "gensim_docs/enwiki_docs.jsonl").open()]
    column = max(articles[0], key=lambda key: len(str(articles[0][key])))
    text = next(a[column] for a in articles if 500 <= count_tokens(a[column]) <= 900)
    document = {"id": "enwiki", "text": text, "summary": text[:400].rpartition(".")[0] or text[:400]}
    (tmp_path / "data/external/enwiki.jsonl").write_text(json.dumps(document))
    columns = {"id": "id", "text": "text", "summary": "summary"}
    table, _, _ = workspace("identical", source="external", path="enwiki.jsonl", columns=columns)
    check(table)
