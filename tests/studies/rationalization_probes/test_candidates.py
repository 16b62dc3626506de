"""Texts of systems from a second file, as the pair of kind samples."""

import json

import pytest

from studies.rationalization_probes.candidates import with_candidates
from studies.rationalization_probes.documents import Document, DocumentError
from studies.rationalization_probes.params import Candidates

COLUMNS = {"id": "doc", "system": "by", "text": "said"}


def document(name, **changes):
    return Document(id=name, text=f"text of {name}", provenance="given", **changes)


def candidates(tmp_path, rows, systems=("A", "B")):
    lines = [
        row if isinstance(row, str) else json.dumps(dict(zip(COLUMNS.values(), row, strict=True)))
        for row in rows
    ]
    (tmp_path / "said.jsonl").write_text("\n".join(lines))
    return Candidates(path="said.jsonl", columns=COLUMNS, systems=list(systems))


def test_two_systems_texts_become_the_samples_in_the_order_of_the_params(tmp_path):
    settings = candidates(
        tmp_path, [("d1", "A", "one"), ("d1", "B", "two"), ("d1", "C", "three")], ("C", "A")
    )
    [found] = with_candidates([document("d1")], settings, tmp_path)
    assert found.samples == ("three", "one")


def test_a_document_that_lacks_one_of_them_or_has_samples_keeps_what_it_has(tmp_path):
    settings = candidates(tmp_path, [("d1", "A", "one"), ("d2", "A", "a"), ("d2", "B", "b")])
    own = document("d2", samples=("x", "y"))
    assert with_candidates([document("d1"), own], settings, tmp_path) == [document("d1"), own]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([("d1", "A", "one")], r"no text of 'B'; there are: A$"),
        (
            [("d1", "A", "one"), ("d1", "A", "one"), ("d1", "A", "two"), ("d1", "B", "b")],
            r"1 problem with candidates: said.jsonl:3: another text of 'A' for document 'd1'",
        ),
        (
            [("d-1", "A", "one"), ("d-1", "B", "two")],
            r"no document of said.jsonl is known: its ids are like 'd-1', the documents' like 'd1'",
        ),
        ([("d1", "A", "one"), ("d1", "B", " ")], r"said.jsonl:2: text \(column 'said'\) is empty"),
        ([("d1", "", "one")], r"said.jsonl:1: system \(column 'by'\) is empty"),
        (["{"], r"1 problem with candidates: said.jsonl:1: not JSON"),
    ],
)
def test_bad_candidates_are_named(tmp_path, rows, told):
    with pytest.raises(DocumentError, match=told):
        with_candidates([document("d1")], candidates(tmp_path, rows), tmp_path)


def test_a_number_is_an_id_as_in_documents(tmp_path):
    settings = candidates(tmp_path, [(7, "A", "one"), (7, "B", "two")])
    [found] = with_candidates([document("7")], settings, tmp_path)
    assert found.samples == ("one", "two")


def test_an_absent_file_is_named(tmp_path):
    settings = Candidates(path="none.jsonl", columns=COLUMNS, systems=["A", "B"])
    with pytest.raises(DocumentError, match=r"none.jsonl: absent; documents.candidates.path"):
        with_candidates([document("d1")], settings, tmp_path)
