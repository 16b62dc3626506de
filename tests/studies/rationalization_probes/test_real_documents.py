"""Real documents: SummEval's articles and encyclopedia pages go through loader and items."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from studies.rationalization_probes.data import check_sets, items_of, table
from studies.rationalization_probes.documents import Document, DocumentError, arrange, count_tokens, load
from studies.rationalization_probes.params import Documents, Generate, Tokens

DATA = Path(__file__).parents[3].parent / "shared" / "data"

SUMMEVAL = {"id": "doc_id", "text": "source", "summary": "reference"}


def needs(name: str) -> Path:
    if not (DATA / name).is_dir():
        pytest.skip(f"real documents are not here: {DATA / name} is absent")
    return DATA / name


def settings(path: str, columns: dict[str, str], least: int, most: int) -> Documents:
    return Documents(
        source="external",
        path=path,
        hub=None,
        columns=columns,
        tokens=Tokens(min=least, max=most),
        generate=Generate(judge=None, samples=0, max_tokens=100),
    )


def rows_of(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_summeval_articles_with_their_references():
    folder = needs("summeval")
    documents = load(settings("summeval/articles.jsonl", SUMMEVAL, 100, 700), DATA)
    assert [d.id for d in documents] == [row["doc_id"] for row in rows_of(folder / "articles.jsonl")]
    some = arrange(documents, 1)[:10]
    items = table(item for document in some for item in items_of(document, 3, 1))
    assert items["kind"].value_counts().to_dict() == {"extractive": 40, "identical": 10}
    assert (items["candidate_1"].str.len() > 0).all() and (items["candidate_2"].str.len() > 0).all()
    check_sets(items, some, ["identical", "extractive"], generated=False)


def test_summeval_lengths_outside_the_papers_range_are_named():
    needs("summeval")
    with pytest.raises(
        DocumentError, match=r"problems with documents: (dm|cnn)-test-\w+: \d+ tokens, outside"
    ):
        load(settings("summeval/articles.jsonl", SUMMEVAL, 500, 1200), DATA)


def test_summeval_summaries_of_two_systems_make_pairs(tmp_path):
    """Real system summaries in the places of samples: the loader takes them as they are."""
    folder = needs("summeval")
    by_article = defaultdict(dict)
    for row in rows_of(folder / "summaries.jsonl"):
        by_article[row["doc_id"]][row["system_id"]] = row["summary"]
    articles = rows_of(folder / "articles.jsonl")[:20]
    lines = [a | {"samples": [by_article[a["doc_id"]][s] for s in ("M11", "M17")]} for a in articles]
    (tmp_path / "pairs.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    documents = load(settings("pairs.jsonl", {"id": "doc_id", "text": "source"}, 100, 700), tmp_path)
    items = table(item for document in documents for item in items_of(document, 3, 1))
    assert set(items["kind"]) == {"samples"}
    assert len(items) == sum(line["samples"][0] != line["samples"][1] for line in lines)
    assert set(items["provenance_1"]) == {"given"}


def test_encyclopedia_pages():
    folder = needs("gensim_docs")
    rows = rows_of(folder / "enwiki_docs.jsonl")
    columns = {"id": "title", "text": "text"}
    with pytest.raises(DocumentError, match=r"\d+ tokens, outside documents\.tokens \(500 to 1200\)"):
        load(settings("gensim_docs/enwiki_docs.jsonl", columns, 500, 1200), DATA)
    documents = load(settings("gensim_docs/enwiki_docs.jsonl", columns, 400, 1300), DATA)
    assert len(documents) == len(rows) == 99
    assert all(400 <= count_tokens(d.text) <= 1300 for d in documents)
    with pytest.raises(DocumentError, match=r"sets\.equal: no document allows such an item"):
        check_sets(table([]), documents, ["equal"], generated=False)


def test_extracts_of_encyclopedia_pages_are_of_their_text():
    needs("gensim_docs")
    columns = {"id": "title", "text": "text"}
    documents = load(settings("gensim_docs/enwiki_docs.jsonl", columns, 400, 1300), DATA)[:5]
    for document in documents:
        with_summary = Document(document.id, document.text, "given", summary="A summary.")
        text = " ".join(document.text.split())
        for item in items_of(with_summary, 1, 0):
            if item.kind == "extractive":
                assert item.candidate_2 in text, item.item


def test_news_items_in_a_folder_of_text_files(tmp_path):
    folder = needs("gensim_docs")
    news = (folder / "lee_background.cor").read_text(encoding="utf-8").splitlines()[:40]
    for number, text in enumerate(news):
        (tmp_path / f"news-{number:02}.txt").write_text(text, encoding="utf-8")
    documents = load(settings(".", {}, 20, 700), tmp_path)
    assert [d.id for d in documents] == [f"news-{number:02}" for number in range(40)]
