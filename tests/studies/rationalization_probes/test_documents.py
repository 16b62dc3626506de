"""Loading documents: every source, and every way in which a document is refused."""

import json
import re
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.rationalization_probes.damage import KINDS
from studies.rationalization_probes.documents import (
    EMBEDDED,
    Document,
    DocumentError,
    arrange,
    count_tokens,
    load,
    load_embedded,
)
from studies.rationalization_probes.params import Documents, Generate, Hub, Tokens

REVISION = "0123456789abcdef0123456789abcdef01234567"


def settings(**changes):
    values = {
        "source": "external",
        "path": "texts",
        "hub": None,
        "columns": {},
        "tokens": Tokens(min=3, max=20),
        "generate": Generate(judge=None, samples=2, max_tokens=100),
    }
    return Documents(**(values | changes))


def write_rows(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "texts").mkdir()
    return tmp_path / "texts"


# --- what is loaded ---------------------------------------------------------------------------------


def test_embedded_documents_are_whole():
    documents = load(settings(source="embedded", path=None, tokens=Tokens(min=500, max=1200)), EMBEDDED)
    assert len(documents) == 25
    by_field = {field: [d for d in documents if d.field == field] for field in {d.field for d in documents}}
    assert set(by_field) == {"business", "literature", "mathematics", "science", "technology"}
    assert {len(members) for members in by_field.values()} == {5}
    for document in documents:
        assert document.summary and document.paraphrase_1 and document.paraphrase_2
        assert len({edit.kind for edit in document.damage}) == 3, document.id
        assert all(edit.note for edit in document.damage), document.id
    assert {document.damage[0].kind for document in documents} == set(KINDS)


def test_embedded_paraphrases_keep_the_numbers_of_the_summary_and_add_none():
    for document in load_embedded():
        texts = (document.summary, document.paraphrase_1, document.paraphrase_2)
        numbers = [sorted(re.findall(r"\d[\d,.]*\d|\d", text)) for text in texts]
        assert numbers[0] == numbers[1] == numbers[2], document.id
        lengths = [len(text.split()) for text in texts]
        assert abs(lengths[1] - lengths[2]) <= 6, document.id


def test_a_folder_of_text_files(folder, tmp_path):
    (folder / "b.txt").write_bytes("\ufeffFour words of text\r\nand more.\r\n".encode())
    (folder / "a.md").write_text("  Señor Díaz wrote this.  ", encoding="utf-8")
    (folder / "c.csv").write_text("not a text file")
    assert load(settings(), tmp_path) == [
        Document("a", "Señor Díaz wrote this.", "given"),
        Document("b", "Four words of text\nand more.", "given"),
    ]


def test_one_text_file(folder, tmp_path):
    (folder / "a.txt").write_text("Three short words")
    assert [d.id for d in load(settings(path="texts/a.txt"), tmp_path)] == ["a"]


def test_jsonl_of_the_embedded_layout_needs_no_columns(folder, tmp_path):
    edit = {"kind": "wrong_number", "before": "3", "after": "4", "note": "3 ferries"}
    row = {
        "id": "x",
        "field": "travel",
        "text": "The line has 3 ferries.",
        "summary": "There are 3 ferries.",
        "paraphrase_1": "Ferries: 3.",
        "paraphrase_2": "It runs 3 ferries.",
        "damage": [edit],
        "samples": ["One.", "Two."],
    }
    write_rows(folder / "one.jsonl", row)
    (document,) = load(settings(), tmp_path)
    assert (document.field, document.summary, document.samples) == (
        "travel",
        "There are 3 ferries.",
        ("One.", "Two."),
    )
    assert document.damage[0].after == "4"
    assert document.writer("summary") == "given"


def test_columns_are_mapped_and_blank_texts_are_lacking(folder, tmp_path):
    write_rows(folder / "a.jsonl", {"doc_id": 7, "source": "Three short words", "reference": "Words."})
    write_rows(folder / "b.jsonl", {"doc_id": 8, "source": "Three other words", "reference": "  "})
    columns = {"id": "doc_id", "text": "source", "summary": "reference"}
    first, second = load(settings(columns=columns), tmp_path)
    assert (first.id, first.text, first.summary) == ("7", "Three short words", "Words.")
    assert second.summary is None


def test_a_hub_data_set_is_read_at_its_pinned_revision(monkeypatch, tmp_path):
    asked = {}

    def load_dataset(name, *, revision, split):
        asked.update(name=name, revision=revision, split=split)
        return [{"key": "h1", "article": "Three short words"}]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    hub = Hub(dataset="some/articles", revision=REVISION, split="test")
    columns = {"id": "key", "text": "article"}
    (document,) = load(settings(source="hub", path=None, hub=hub, columns=columns), tmp_path)
    assert (document.id, document.text) == ("h1", "Three short words")
    assert asked == {"name": "some/articles", "revision": REVISION, "split": "test"}


def test_a_hub_that_cannot_be_reached_is_one_line(monkeypatch, tmp_path):
    def load_dataset(*_args, **_kwargs):
        raise ConnectionError("no route to host\nand a long trace")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    hub = Hub(dataset="some/articles", revision=REVISION, split="test")
    with pytest.raises(DocumentError) as caught:
        load(settings(source="hub", path=None, hub=hub), tmp_path)
    assert "some/articles" in str(caught.value) and "no route to host" in str(caught.value)
    assert "\n" not in str(caught.value)


# --- what is refused --------------------------------------------------------------------------------


GOOD = {"id": "good", "text": "Three short words"}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"id": "x", "text": ""}, r"d\.jsonl:2: text is empty"),
        ({"id": "x", "text": " \n "}, r"d\.jsonl:2: text is empty"),
        ({"id": "x", "text": None}, r"d\.jsonl:2: text is empty"),
        ({"id": "x", "text": "\u200b \ufeff" * 5}, r"d\.jsonl:2: text is empty"),
        ({"id": "\u200b", "text": "Three other words"}, r"d\.jsonl:2: id is empty"),
        ({"id": "go\u200bod", "text": "Three other words"}, r"go\u200bod: id used twice"),
        # Two words, however many pieces the invisible characters cut them into.
        ({"id": "x", "text": "Two wo\u200brds"}, r"x: 2 tokens, outside documents\.tokens \(3 to 20\)"),
        ({"id": "x", "text": "Three sh\u200bort words\ufeff"}, r"x: same text as good"),
        ({"id": "", "text": "Three other words"}, r"d\.jsonl:2: id is empty"),
        ({"id": "x", "text": 5}, r"d\.jsonl:2: text is not a text but int"),
        ({"id": True, "text": "Three other words"}, r"d\.jsonl:2: id is not a text but bool"),
        ({"id": "x", "text": "Half a \ud83d pair"}, r"d\.jsonl:2: text is not UTF-8"),
        ({"id": "x\ny", "text": "Too short"}, r"x y: 2 tokens, outside"),
        ({"id": "x", "text": "Too short"}, r"x: 2 tokens, outside documents\.tokens \(3 to 20\)"),
        ({"id": "x", "text": "long " * 21}, r"x: 21 tokens, outside documents\.tokens \(3 to 20\)"),
        ({"id": "good", "text": "Three other words"}, r"good: id used twice"),
        ({"id": "x", "text": "Three  short\nwords"}, r"x: same text as good"),
        ({"id": "x", "text": "Three other words", "samples": "one"}, r"d\.jsonl:2: samples is not a list"),
        ({"id": "x", "text": "Three other words", "samples": [" "]}, r"d\.jsonl:2: a sample is empty"),
        (
            {"id": "x", "text": "Three other words", "paraphrase_1": "A.", "paraphrase_2": "A."},
            r"x: paraphrase_1 and paraphrase_2 are the same text",
        ),
        (
            {"id": "x", "text": "Three other words", "paraphrase_1": "A  b.", "paraphrase_2": "A b\u200b."},
            r"x: paraphrase_1 and paraphrase_2 are the same text",
        ),
        ({"id": "x", "text": "Three other words", "damage": 0}, r"d\.jsonl:2: damage is not a list but int"),
        (
            {
                "id": "x",
                "text": "Three other words",
                "damage": [{"kind": "wrong_number", "before": 2, "after": 3}],
            },
            r"d\.jsonl:2: damage: before is not a text but int",
        ),
        (
            {
                "id": "x",
                "text": "Three other words",
                "paraphrase_2": "Two boats.",
                "damage": [{"kind": "wrong_number", "before": "Two", "after": "T\u200bwo"}],
            },
            r"x: damage 1: changes nothing that a reader sees",
        ),
        (
            {"id": "x", "text": "Three other words", "damage": [{"kind": "typo"}]},
            r"d\.jsonl:2: damage is not a list of",
        ),
        (
            {
                "id": "x",
                "text": "Three other words",
                "paraphrase_2": "No number.",
                "damage": [{"kind": "wrong_number", "before": "3", "after": "4"}],
            },
            r"x: damage 1: '3' must occur exactly once",
        ),
    ],
)
def test_a_bad_document_is_named(folder, tmp_path, row, told):
    write_rows(folder / "d.jsonl", GOOD, row)
    with pytest.raises(DocumentError, match=rf"^1 problem with documents: {told}") as caught:
        load(settings(), tmp_path)
    assert "\n" not in str(caught.value)


def test_a_summary_that_shows_nothing_is_lacking(folder, tmp_path):
    write_rows(folder / "d.jsonl", GOOD | {"summary": "\u200b\ufeff"})
    (document,) = load(settings(), tmp_path)
    assert document.summary is None


def test_the_limits_of_the_range_are_inside(folder, tmp_path):
    write_rows(folder / "d.jsonl", GOOD, {"id": "x", "text": "long " * 20})
    assert len(load(settings(), tmp_path)) == 2


def test_other_encodings_are_refused(folder, tmp_path):
    (folder / "latin.txt").write_bytes("A café by the sea".encode("latin-1"))
    # "A caf" is five bytes, so that the e with its accent, 0xe9, is the byte at 5.
    with pytest.raises(DocumentError, match=r"latin\.txt: not UTF-8 \(byte 0xe9 at 5\)"):
        load(settings(), tmp_path)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{broken", "not JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b"[" * 100_000, "not JSON"),
        (b'{"id": "x", "text": "caf\xe9"}', r"not UTF-8 \(byte 0xe9"),
    ],
)
def test_a_bad_line_is_named_by_its_number(folder, tmp_path, line, told):
    (folder / "d.jsonl").write_bytes(json.dumps(GOOD).encode() + b"\n\n" + line + b"\n")
    with pytest.raises(DocumentError, match=rf"d\.jsonl:3: {told}"):
        load(settings(), tmp_path)


def test_all_bad_documents_are_in_one_error_and_ten_are_shown(folder, tmp_path):
    write_rows(folder / "d.jsonl", GOOD, *({"id": f"x{n}", "text": f"{n}"} for n in range(12)))
    with pytest.raises(DocumentError) as caught:
        load(settings(), tmp_path)
    message = str(caught.value)
    assert message.startswith("12 problems with documents: x0: 1 tokens")
    assert "x9:" in message and "x10:" not in message
    assert message.endswith("; and 2 more")


@pytest.mark.parametrize("key", ["id", "text", "summary"])
def test_a_misspelt_column_is_named_once(folder, tmp_path, key):
    write_rows(folder / "d.jsonl", GOOD, {"id": "x", "text": "Three other words"})
    with pytest.raises(DocumentError) as caught:
        load(settings(columns={key: "nope"}), tmp_path)
    assert str(caught.value) == (
        f"documents.columns.{key}: no document has a column 'nope'; there are: id, text"
    )


def test_a_source_without_documents_is_named(folder, tmp_path):
    with pytest.raises(DocumentError, match=r"texts: no documents there"):
        load(settings(), tmp_path)
    with pytest.raises(DocumentError, match=r"absent: no documents there"):
        load(settings(path="absent"), tmp_path)
    (folder / "d.jsonl").write_text("\n")
    with pytest.raises(DocumentError, match=r"the source \(external\) holds no document"):
        load(settings(), tmp_path)


def test_notes_about_the_data_are_no_documents(folder, tmp_path):
    (folder / "README.md").write_text("About these data")
    (folder / "a.txt").write_text("Three short words")
    assert [d.id for d in load(settings(), tmp_path)] == ["a"]
    write_rows(folder / "d.jsonl", GOOD)
    assert [d.id for d in load(settings(), tmp_path)] == ["good"]


# --- counting and order -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("Two words", 2),
        ("It cost $1.6 million.", 8),  # It cost $ 1 . 6 million .
        ("don't", 3),  # don ' t
        ("naïve — ça", 3),
    ],
)
def test_tokens_are_words_and_marks(text, tokens):
    assert count_tokens(text) == tokens


def test_digest_changes_with_text_and_summary():
    plain = Document("a", "Text.", "given")
    others = [Document("a", "Text!", "given"), Document("a", "Text.", "given", summary="S.")]
    assert len({d.digest() for d in (plain, *others)}) == 3
    assert plain.digest() == Document("b", "Text.", "llm", field="x").digest()


FIELDS = st.sampled_from(["business", "science", "technology", ""])
CORPORA = st.dictionaries(st.text(min_size=1, max_size=5), FIELDS, min_size=1, max_size=20).map(
    lambda fields: [Document(name, name, "given", field=field) for name, field in fields.items()]
)


@given(CORPORA, st.integers(0, 2**32), st.randoms(use_true_random=False))
def test_order_is_a_permutation_that_ignores_the_input_order(documents, seed, random):
    arranged = arrange(documents, seed)
    assert sorted(d.id for d in arranged) == sorted(d.id for d in documents)
    shuffled = random.sample(documents, len(documents))
    assert arrange(shuffled, seed) == arranged


@given(CORPORA, st.integers(0, 100))
def test_the_first_documents_cover_all_fields(documents, seed):
    fields = {d.field for d in documents}
    assert {d.field for d in arrange(documents, seed)[: len(fields)]} == fields


@given(CORPORA, st.integers(0, 100), FIELDS)
def test_a_new_document_changes_no_order_within_a_field(documents, seed, field):
    new = Document("a new id", "new", "given", field=field)
    before, after = arrange(documents, seed), arrange([*documents, new], seed)
    for name in {d.field for d in documents}:
        assert [d for d in after if d.field == name and d is not new] == [
            d for d in before if d.field == name
        ]


def test_another_seed_gives_another_order():
    documents = load_embedded()
    assert len({tuple(d.id for d in arrange(documents, seed)) for seed in range(20)}) > 15
