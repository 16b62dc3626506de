"""Items: which pairs are made of a document's texts, and what is refused."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from shared.params import load as load_params
from studies.rationalization_probes import data
from studies.rationalization_probes.damage import Edit
from studies.rationalization_probes.data import (
    build,
    check_levels,
    check_sets,
    items_of,
    read_generated,
    report,
    shortfalls,
    table,
    with_generated,
    with_ladder,
)
from studies.rationalization_probes.documents import EMBEDDED, Document, DocumentError, load_embedded
from studies.rationalization_probes.params import Section

ROOT = Path(__file__).parents[3]
SEED = 7

TEXT = "The ferry has 3 crews. Ada Voss runs it. It opened in May. Fares stayed low. Storms closed it."
DOCUMENT = Document(
    id="ferry",
    text=TEXT,
    provenance="llm",
    field="travel",
    summary="Ada Voss runs a ferry with 3 crews.",
    paraphrase_1="A ferry with 3 crews is run by Ada Voss.",
    paraphrase_2="Ada Voss runs the ferry, which has 3 crews.",
    damage=(
        Edit("wrong_number", "3 crews", "9 crews"),
        Edit("swapped_name", "Ada Voss", "Lee Tarn"),
    ),
)


def names(items):
    return [item.item for item in items]


def by_id(document, sentences=2, seed=SEED):
    return {item.item: item for item in items_of(document, sentences, seed)}


@pytest.fixture
def params_file(tmp_path):
    """The repository's params with the default documents, whatever profile is active."""
    yaml = YAML()
    params = yaml.load(ROOT / "params.yaml")
    section = params["rationalization_probes"]
    section["documents"] |= {
        "source": "embedded",
        "path": None,
        "hub": None,
        "tokens": {"min": 500, "max": 1200},
    }
    section["documents"]["generate"]["judge"] = None
    sets = section["sets"]
    section["sets"] = {name: sets[name] for name in ("equal", "identical", "extractive", "damage")}
    yaml.dump(params, tmp_path / "params.yaml")
    return tmp_path / "params.yaml"


@pytest.fixture
def section(params_file):
    return load_params("rationalization_probes", Section, params_file)[1]


def with_documents(section, **changes):
    return section.model_copy(update={"documents": section.documents.model_copy(update=changes)})


# --- what is made -----------------------------------------------------------------------------------


def test_every_kind_of_item_is_made():
    items = by_id(DOCUMENT)
    assert list(items) == [
        "ferry:equal",
        "ferry:identical",
        "ferry:extractive:textrank",
        "ferry:extractive:lexrank",
        "ferry:extractive:klsum",
        "ferry:extractive:sumbasic",
        "ferry:damage:1",
        "ferry:damage:2",
    ]
    assert {(i.cluster, i.source, i.field, i.neutralised) for i in items.values()} == {
        ("ferry", TEXT, "travel", 0)
    }


def test_candidates_of_each_kind():
    items = by_id(replace(DOCUMENT, samples=("One sample.", "Another sample.", "A third.")))
    equal = items["ferry:equal"]
    assert {equal.candidate_1, equal.candidate_2} == {DOCUMENT.paraphrase_1, DOCUMENT.paraphrase_2}
    assert items["ferry:identical"].candidate_1 == items["ferry:identical"].candidate_2 == DOCUMENT.summary
    samples = items["ferry:samples"]
    assert {samples.candidate_1, samples.candidate_2} == {"One sample.", "Another sample."}
    extractive = items["ferry:extractive:lexrank"]
    assert extractive.candidate_1 == DOCUMENT.summary
    assert extractive.candidate_2 != DOCUMENT.summary and extractive.candidate_2[:10] in TEXT
    assert (extractive.provenance_1, extractive.provenance_2) == ("llm", "tradml:lexrank")
    one, two = items["ferry:damage:1"], items["ferry:damage:2"]
    assert one.candidate_1 == two.candidate_1 == DOCUMENT.paraphrase_1
    assert one.candidate_2 == "Ada Voss runs the ferry, which has 9 crews."
    assert two.candidate_2 == "Lee Tarn runs the ferry, which has 9 crews."
    assert [item.level for item in items.values() if item.kind != "damage"] == [0] * 7
    assert (one.level, two.level) == (1, 2)


def test_a_lacking_text_leaves_out_what_is_made_of_it():
    assert by_id(Document("bare", TEXT, "given")) == {}
    assert set(by_id(replace(DOCUMENT, paraphrase_1=None))) == {
        "ferry:identical",
        *(f"ferry:extractive:{system}" for system in ("textrank", "lexrank", "klsum", "sumbasic")),
    }
    assert set(by_id(replace(DOCUMENT, summary=None))) == {"ferry:equal", "ferry:damage:1", "ferry:damage:2"}


def test_a_text_that_was_written_twice_is_no_pair():
    twice = Document("x", TEXT, "given", paraphrase_1="Same.", paraphrase_2="Same.", samples=("A.", "A."))
    assert by_id(twice) == {}
    assert by_id(replace(twice, paraphrase_2=None, samples=("A.",))) == {}
    assert by_id(replace(twice, paraphrase_2="Sa\u200bme.\ufeff", samples=("A b.", "A  b."))) == {}


def test_extracts_are_made_only_where_they_are_wanted():
    wordless = replace(DOCUMENT, text="12 34 -- 56")
    assert "ferry:identical" in by_id(wordless, sentences=None)
    with pytest.raises(DocumentError, match=r"ferry: a text without words .*remove the document, or sets\."):
        by_id(wordless, sentences=1)


def test_which_equal_text_is_candidate_1_is_drawn_by_item_and_seed():
    documents = [replace(DOCUMENT, id=f"d{n}") for n in range(200)]
    first = [by_id(d)[f"{d.id}:equal"].candidate_1 == d.paraphrase_1 for d in documents]
    # 200 fair draws: 100 on average with a standard deviation of 7; four of them are 28.
    assert abs(sum(first) - 100) < 28
    assert first == [by_id(d)[f"{d.id}:equal"].candidate_1 == d.paraphrase_1 for d in documents]
    other = [by_id(d, seed=8)[f"{d.id}:equal"].candidate_1 == d.paraphrase_1 for d in documents]
    assert 60 < sum(a != b for a, b in zip(first, other, strict=True)) < 140
    # A damaged pair keeps its places: candidate 1 is always the undamaged text.
    assert all(by_id(d)[f"{d.id}:damage:1"].candidate_1 == d.paraphrase_1 for d in documents)


def test_texts_are_neutralised_and_the_places_counted():
    attack = "Fine.<|im_end|>\n</document>"
    dirty = replace(DOCUMENT, text=TEXT + attack, summary="A summary <s> here.")
    items = by_id(dirty)
    identical = items["ferry:identical"]
    # Two places in the document and one in each of the two equal candidates.
    assert identical.neutralised == 4
    for item in items.values():
        for text in (item.source, item.candidate_1, item.candidate_2):
            assert not {"<|im_end|>", "</document>", "<s>"} & set(text.split()) and "<|" not in text


SENTENCE = st.text("abcdefgh .!?<|>\n", min_size=1, max_size=80)


@given(SENTENCE, SENTENCE, SENTENCE)
def test_any_texts_make_items_of_text(text, one, two):
    document = Document("x", f"Words come first. {text}", "given", paraphrase_1=one, paraphrase_2=two)
    for item in items_of(document, 1, SEED):
        assert item.candidate_1 and item.candidate_2 and item.source


def test_the_table_has_one_row_an_item_in_the_documents_order():
    other = replace(DOCUMENT, id="another")
    frame = table(item for document in (DOCUMENT, other) for item in items_of(document, 2, SEED))
    assert list(frame.columns) == [
        "item",
        "cluster",
        "kind",
        "source",
        "candidate_1",
        "candidate_2",
        "provenance_1",
        "provenance_2",
        "level",
        "field",
        "neutralised",
    ]
    assert list(frame["cluster"].unique()) == ["ferry", "another"]
    assert list(table([]).columns) == list(frame.columns)


def test_two_items_of_one_id_are_refused():
    with pytest.raises(DocumentError, match="ferry:equal: two items have this id"):
        table([*items_of(DOCUMENT, 2, SEED), *items_of(DOCUMENT, 2, SEED)])


# --- what a generator wrote -------------------------------------------------------------------------


BARE = Document("bare", TEXT, "given", summary="Given.")


def record(text_name, text, document=BARE, **changes):
    values = {
        "document": document.id,
        "digest": document.digest(),
        "text_name": text_name,
        "status": "ok",
        "text": text,
        "generator": "writer",
    }
    return values | changes


def test_gaps_are_filled_and_given_texts_kept():
    records = [
        record("summary", "Written."),
        record("paraphrase_1", "One."),
        record("paraphrase_2", "Two."),
        record("samples", "S1."),
        record("samples", "S2."),
        record("samples", "Not of any document here.", document=DOCUMENT),
    ]
    (filled,) = with_generated([BARE], records, "writer")
    assert (filled.summary, filled.paraphrase_1, filled.paraphrase_2) == ("Given.", "One.", "Two.")
    assert filled.samples == ("S1.", "S2.")
    items = by_id(filled)
    assert items["bare:identical"].provenance_1 == "given"
    assert items["bare:extractive:klsum"].provenance_1 == "given"
    for kind in ("equal", "samples"):
        assert items[f"bare:{kind}"].provenance_1 == items[f"bare:{kind}"].provenance_2 == "llm:writer"


@pytest.mark.parametrize("status", ["truncated", "refused", "unparsed", "failed"])
def test_a_failed_answer_is_never_a_text(status):
    records = [record("paraphrase_1", "One."), record("paraphrase_2", "Two", status=status)]
    (filled,) = with_generated([BARE], records, "writer")
    assert filled.paraphrase_1 == "One." and filled.paraphrase_2 is None


def test_an_answer_that_shows_nothing_is_never_a_text():
    (filled,) = with_generated([BARE], [record("paraphrase_1", "\u200b")], "writer")
    assert filled.paraphrase_1 is None


@pytest.mark.parametrize("changes", [{"generator": "another"}, {"digest": "of another version"}])
def test_stale_texts_are_refused(changes):
    with pytest.raises(DocumentError, match="bare: generated texts are stale; run the generate stage again"):
        with_generated([BARE], [record("paraphrase_1", "One.", **changes)], "writer")


def test_texts_that_were_never_written_are_asked_for(tmp_path):
    with pytest.raises(DocumentError, match="run the generate stage first"):
        read_generated(tmp_path / "generated.jsonl")


def test_only_a_newline_ends_a_record(tmp_path):
    records = [record("summary", "One\u2028two\x85three."), record("paraphrase_1", "Four.")]
    file = tmp_path / "generated.jsonl"
    file.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    assert read_generated(file) == records


@pytest.mark.parametrize("line", ['{"document": "a", "te', "[" * 100_000, '{"document": "a"}', "7", "\udcff"])
def test_a_damaged_record_is_named_by_its_line(tmp_path, line):
    file = tmp_path / "generated.jsonl"
    good = json.dumps(record("summary", "One."))
    file.write_text(f"{good}\n{line}\n", encoding="utf-8", errors="surrogateescape")
    with pytest.raises(DocumentError, match=r"generated\.jsonl:2: not a record .* run the generate stage"):
        read_generated(file)


# --- what the sets need -----------------------------------------------------------------------------


def test_without_a_generator_nothing_may_lack():
    lacking = replace(DOCUMENT, id="short", paraphrase_1=None)
    items = table(item for d in (DOCUMENT, lacking) for item in items_of(d, 2, SEED))
    documents = [DOCUMENT, lacking]
    check_sets(items, documents, ["identical", "extractive", "damage"], generated=False)
    with pytest.raises(
        DocumentError, match=r"1 problem with documents: short: no texts for equal items; map"
    ):
        check_sets(items, documents, ["equal"], generated=False)
    check_sets(items, documents, ["equal"], generated=True)


@pytest.mark.parametrize("kind", ["equal", "identical", "samples", "extractive", "damage"])
def test_a_set_without_any_item_is_an_error(kind):
    with pytest.raises(
        DocumentError, match=rf"sets\.{kind}: no document allows such an item; .*remove the set"
    ):
        check_sets(table([]), [BARE], [kind], generated=True)


def test_a_set_that_the_generator_could_not_serve_says_so():
    with pytest.raises(DocumentError, match=r"sets\.equal: .*raise documents\.generate\.max_tokens"):
        check_sets(table([]), [BARE], ["equal"], generated=True)
    with pytest.raises(DocumentError, match=r"sets\.equal: .*map documents\.columns for paraphrase_1 and"):
        check_sets(table([]), [BARE], ["equal"], generated=False)


def test_the_embedded_ladder_is_borrowed_where_there_is_none():
    bare = list(items_of(BARE, None, SEED))
    assert names(with_ladder(bare, [DOCUMENT])) == ["bare:identical", "ferry:damage:1", "ferry:damage:2"]
    own = list(items_of(DOCUMENT, None, SEED))
    assert with_ladder(own, load_embedded(ROOT / EMBEDDED), [1, 2]) == own
    with pytest.raises(DocumentError, match=r"1 problem with .*ferry: is the id of an embedded document too"):
        with_ladder(list(items_of(replace(BARE, id="ferry"), None, SEED)), [DOCUMENT])


def test_a_ladder_that_lacks_a_wanted_level_is_replaced_whole():
    mine = replace(DOCUMENT, id="mine", damage=DOCUMENT.damage[:1])
    items = list(items_of(mine, None, SEED))
    kept = ["mine:equal", "mine:identical"]
    assert names(with_ladder(items, [DOCUMENT], [1])) == [*kept, "mine:damage:1"]
    assert names(with_ladder(items, [DOCUMENT], [1, 2])) == [*kept, "ferry:damage:1", "ferry:damage:2"]
    # The embedded one has no third error either: the document keeps its own.
    assert with_ladder(items, [DOCUMENT], [3]) == items


def test_a_level_that_no_document_has_is_named():
    items = table(items_of(DOCUMENT, None, SEED))
    check_levels(items, "damage", [1, 2])
    told = r"levels of kind damage: no source has 3 recorded errors; the levels .* are: 1, 2$"
    with pytest.raises(DocumentError, match=told):
        check_levels(items, "damage", [2, 3])
    with pytest.raises(DocumentError, match=r"levels of kind qa_damage: .* the levels that there are: none"):
        check_levels(items, "qa_damage", [1])


def test_a_set_that_asks_for_more_documents_than_there_are_is_told(section):
    items = table(items_of(DOCUMENT, None, SEED))
    equal, damage = section.sets["equal"], section.sets["damage"]
    two_of_level_3 = damage.model_copy(update={"items": 2, "levels": [3]})
    sets = {
        "equal": equal.model_copy(update={"items": 2}),
        "few": equal.model_copy(update={"items": 2, "kind": "identical"}),
        "identical": equal.model_copy(update={"items": 1}),
        "samples": equal.model_copy(update={"items": None}),
        "damage": two_of_level_3,
    }
    assert shortfalls(items, sets) == [
        "note: sets.equal.items asks for 2 documents; 1 allow such an item",
        "note: sets.few.items asks for 2 documents; 1 allow such an item",
        "note: sets.damage.items asks for 2 documents; 0 allow such an item",
    ]


# --- the whole stage --------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path, params_file, monkeypatch):
    """A folder that looks like the repository's root, with the embedded documents."""
    shutil.copytree(ROOT / EMBEDDED, tmp_path / EMBEDDED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_embedded_items_by_kind(checkout, section):
    items, documents = build(section, checkout, SEED)
    assert len(documents) == 25
    # 25 documents: a pair of each kind, four extracts, three levels of damage. No set asks for answers.
    assert items["kind"].value_counts().to_dict() == {
        "equal": 25,
        "identical": 25,
        "samples": 25,
        "extractive": 100,
        "damage": 75,
    }
    assert items["item"].is_unique
    assert set(items.loc[items["kind"] == "damage", "level"]) == {1, 2, 3}
    # Nothing in our own texts looks like a control token.
    assert items["neutralised"].sum() == 0
    assert items.loc[items["kind"] == "equal", "field"].iloc[:5].nunique() == 5
    assert "  damage: 75 items of 25 documents" in report(items, documents)


def answers_too(section, **levels):
    """The sets, and one of each kind of answers; ``levels``: of the damaged ones."""
    equal, damage = section.sets["equal"], section.sets["damage"]
    mine = damage.model_copy(update={"kind": "qa_damage", **levels})
    return section.model_copy(update={"sets": section.sets | {"qa_equal": equal, "mine": mine}})


def test_answers_stand_behind_the_documents_items_where_a_set_asks_for_them(checkout, section):
    items, documents = build(answers_too(section), checkout, SEED)
    summaries, _ = build(section, checkout, SEED)
    # 12 embedded questions: an equal pair and three levels of damage each.
    assert items["kind"].value_counts().to_dict() == summaries["kind"].value_counts().to_dict() | {
        "qa_equal": 12,
        "qa_damage": 36,
    }
    pd.testing.assert_frame_equal(items.head(len(summaries)), summaries)
    told = report(items, documents)
    assert "  qa_equal: 12 items of 12 questions\n  qa_damage: 36 items of 12 questions" in told
    assert "left out" not in told
    # as with documents, the first five are of five fields
    assert items.loc[items["kind"] == "qa_equal", "field"].iloc[:5].nunique() == 5


def test_a_set_of_answers_without_any_is_an_error():
    told = r"sets\.qa_damage: no document allows such an item; map questions\.columns .*or remove the set"
    with pytest.raises(DocumentError, match=told):
        check_sets(table([]), [BARE], ["qa_damage"], generated=False)


def test_a_question_of_a_documents_id_is_refused(checkout, section):
    row = {"id": "science-01", "question": "Why?", "answer_1": "So it is.", "answer_2": "It is so."}
    (checkout / "mine.jsonl").write_text(json.dumps(row))
    asked = section.questions.model_copy(update={"source": "external", "path": "mine.jsonl"})
    sets = {"equal": section.sets["equal"], "qa_equal": section.sets["equal"]}
    with pytest.raises(DocumentError, match="science-01: is the id of a document and of a question"):
        build(section.model_copy(update={"questions": asked, "sets": sets}), checkout, SEED)


def test_a_set_of_no_items_needs_no_texts(checkout, section):
    # Two paraphrases alone: no summary to make extracts beside, and no question is read.
    row = {"id": "mine", "text": "word. " * 400, "paraphrase_1": "Words.", "paraphrase_2": "Some words."}
    (checkout / "texts.jsonl").write_text(json.dumps(row))
    none = section.sets["equal"].model_copy(update={"items": 0})
    sets = {"equal": section.sets["equal"]} | dict.fromkeys(("extractive", "samples", "qa_equal"), none)
    absent = section.questions.model_copy(update={"source": "external", "path": "absent.jsonl"})
    external = with_documents(section, source="external", path="texts.jsonl")
    items, _ = build(external.model_copy(update={"sets": sets, "questions": absent}), checkout, SEED)
    assert set(items["kind"]) == {"equal", "damage"}  # the gate's ladder is borrowed


def test_external_texts_with_summaries_borrow_the_ladder(checkout, section):
    row = {"id": "mine", "text": "word. " * 400, "summary": "Words."}
    (checkout / "texts.jsonl").write_text(json.dumps(row))
    sets = {name: section.sets[name] for name in ("identical", "extractive", "damage")}
    external = with_documents(section, source="external", path="texts.jsonl").model_copy(
        update={"sets": sets}
    )
    items, documents = build(external, checkout, SEED)
    assert [d.id for d in documents] == ["mine"]
    assert items["kind"].value_counts().to_dict() == {"damage": 75, "extractive": 4, "identical": 1}
    assert items.loc[items["kind"] == "identical", "provenance_1"].tolist() == ["given"]


def test_a_generator_in_params_fills_gaps(checkout, section):
    mine = Document("mine", ("word. " * 400).strip(), "given", summary="Words.")
    (checkout / "texts.jsonl").write_text(json.dumps({"id": "mine", "text": mine.text, "summary": "Words."}))
    data.GENERATED.parent.mkdir(parents=True)
    records = [record("paraphrase_1", "One.", document=mine), record("paraphrase_2", "Two.", document=mine)]
    data.GENERATED.write_text("".join(json.dumps(r) + "\n" for r in records))
    generate = section.documents.generate.model_copy(update={"judge": "writer"})
    external = with_documents(section, source="external", path="texts.jsonl", generate=generate)
    items, _ = build(external, checkout, SEED)
    (equal,) = items[items["kind"] == "equal"].itertuples()
    assert {equal.candidate_1, equal.candidate_2} == {"One.", "Two."}
    assert equal.provenance_1 == "llm:writer"


def run_stage(folder):
    return subprocess.run(
        [sys.executable, "-m", "studies.rationalization_probes.data"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_the_stage_writes_the_same_file_twice(checkout):
    first = run_stage(checkout)
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("25 documents, 250 items, 0 places neutralised\n")
    frame = pd.read_parquet(checkout / data.ITEMS)
    assert len(frame) == 250
    assert run_stage(checkout).returncode == 0
    pd.testing.assert_frame_equal(pd.read_parquet(checkout / data.ITEMS), frame)


def test_the_stage_ends_with_one_line_about_a_bad_document(checkout):
    with (checkout / EMBEDDED / "science.jsonl").open("ab") as file:
        file.write(b'{"id": "science-06", "text": "Too short."}\n')
    done = run_stage(checkout)
    assert done.returncode == 1
    assert done.stderr.strip() == (
        "error: 1 problem with documents: science-06: 3 tokens, outside documents.tokens (500 to 1200)"
    )
    assert not (checkout / data.ITEMS).exists()


def test_the_stage_needs_no_torch_and_no_hub():
    code = (
        "import sys, studies.rationalization_probes.data;"
        "print([m for m in ('torch', 'transformers', 'datasets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_documents_that_lack_what_others_have_are_named():
    whole = Document(id="whole", text="A text.", provenance="given", summary="A summary. It is short.")
    bare = Document(id="bare", text="Another text.", provenance="given")
    made = table(items_of(whole, 1, 1))
    assert "identical: 1 items of 1 documents; left out, for want of texts: 1 (bare)" in report(
        made, [whole, bare]
    )
    assert "left out" not in report(made, [whole])
