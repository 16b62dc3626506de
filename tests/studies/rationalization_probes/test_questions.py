"""Questions: the embedded ones keep their promises, items are made as for documents, bad ones are named."""

import json
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studies.rationalization_probes.damage import KINDS, Edit, ladder
from studies.rationalization_probes.data import Item
from studies.rationalization_probes.documents import DocumentError, visible
from studies.rationalization_probes.params import Questions
from studies.rationalization_probes.questions import (
    EMBEDDED,
    Question,
    load,
    question_items,
)

SEED = 7
GOOD = {"id": "good", "question": "How many boats?", "answer_1": "It has 3 boats.", "answer_2": "Boats: 3."}
OTHER = {"id": "x", "question": "Who runs it?", "answer_1": "Ada Voss does.", "answer_2": "It is Ada Voss."}
FERRY = Question(
    id="ferry",
    question="How many boats, and whose?",
    answer_1="It has 3 boats, and Ada Voss owns them.",
    answer_2="Ada Voss owns its 3 boats.",
    provenance="llm",
    field="travel",
    damage=(Edit("wrong_number", "3 boats", "9 boats"), Edit("swapped_name", "Ada Voss", "Lee Tarn")),
)


def settings(**changes):
    return Questions(**({"source": "external", "path": "qa", "columns": {}} | changes))


def embedded():
    return load(settings(source="embedded", path=None), EMBEDDED)


IDS = [f"question-{n:02d}" for n in range(1, 13)]


def the_question(name):
    return next(question for question in embedded() if question.id == name)


def items_of(question, seed=SEED):
    return [Item(**fields) for fields in question_items(question, seed)]


def numbers(text):
    return Counter(re.findall(r"\d[\d,.]*\d|\d", text))


def names(text):
    """Words with a capital that do not start a sentence."""
    return set(re.findall(r"(?<![.?!] )(?<!^)\b[A-Z]\w+", text))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qa").mkdir()
    return tmp_path / "qa"


def write(folder, *rows, name="q.jsonl"):
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


# --- the embedded questions -------------------------------------------------------------------------


def test_twelve_questions_cover_the_five_fields_and_the_first_five_do_already():
    questions = embedded()
    assert [question.id for question in questions] == IDS
    fields = [question.field for question in questions]
    assert Counter(fields) == {
        "business": 2,
        "literature": 2,
        "mathematics": 3,
        "science": 3,
        "technology": 2,
    }
    assert len(set(fields[:5])) == 5


@pytest.mark.parametrize("name", IDS)
def test_an_embedded_question_keeps_what_its_readme_promises(name):
    question = the_question(name)
    one, two = question.answer_1, question.answer_2
    lengths = [len(answer.split()) for answer in (one, two)]
    assert all(55 <= length <= 90 for length in lengths), lengths
    assert abs(lengths[0] - lengths[1]) <= 6
    assert numbers(one) == numbers(two)
    assert names(one) | names(two) <= set(re.findall(r"\w+", one)) & set(re.findall(r"\w+", two))
    assert (question.question + one + two).isascii()
    assert question.provenance == "llm"


@pytest.mark.parametrize("name", IDS)
def test_an_embedded_ladder_has_three_errors_of_the_kinds_recorded(name):
    question = the_question(name)
    assert len({edit.kind for edit in question.damage}) == 3 == len(question.damage)
    assert all(question.answer_2.count(edit.before) == 1 for edit in question.damage)
    rungs = [question.answer_2, *ladder(question.answer_2, question.damage)]
    assert len(set(map(visible, [question.answer_1, *rungs]))) == 5
    for edit, (below, above) in zip(question.damage, pairwise(rungs), strict=True):
        assert edit.note
        # An edit leaves no trace that a reader could take for an error of style.
        assert "  " not in above and " ," not in above and above.endswith(".")
        assert_kind(edit, below, above)


def assert_kind(edit, below, above):
    lost, gained = (Counter(re.findall(r"[\w.,]*\w", text)) for text in (below, above))
    lost, gained = lost - gained, gained - lost
    if edit.kind == "wrong_number":
        assert lost.total() == gained.total() == 1
        assert all(word[0].isdigit() for word in lost + gained)
    elif edit.kind == "dropped_point":
        assert lost.total() > 2 and not gained
    elif edit.kind == "invented_fact":
        assert gained.total() > 2 and not lost
    else:
        assert len(above.split()) - len(below.split()) in (-1, 0, 1)
        assert numbers(above) == numbers(below)


def test_every_kind_of_error_comes_first_in_three_embedded_questions():
    assert Counter(question.damage[0].kind for question in embedded()) == dict.fromkeys(KINDS, 3)


def test_the_readme_counts_the_questions():
    assert f"{len(embedded())} questions" in (EMBEDDED / "README.md").read_text(encoding="utf-8")


# --- items ------------------------------------------------------------------------------------------


def test_items_of_a_question():
    equal, first, second = items_of(FERRY)
    assert (equal.item, equal.kind, equal.level) == ("ferry:qa_equal", "qa_equal", 0)
    assert {equal.candidate_1, equal.candidate_2} == {FERRY.answer_1, FERRY.answer_2}
    assert (first.item, first.kind, first.level) == ("ferry:qa_damage:1", "qa_damage", 1)
    assert (first.candidate_1, first.candidate_2) == (FERRY.answer_1, "Ada Voss owns its 9 boats.")
    assert (second.item, second.level) == ("ferry:qa_damage:2", 2)
    assert (second.candidate_1, second.candidate_2) == (FERRY.answer_1, "Lee Tarn owns its 9 boats.")
    for item in (equal, first, second):
        assert (item.cluster, item.source, item.field) == ("ferry", FERRY.question, "travel")
        assert (item.provenance_1, item.provenance_2, item.neutralised) == ("llm", "llm", 0)


def test_without_recorded_errors_there_is_the_equal_pair_alone():
    assert [item.item for item in items_of(replace(FERRY, damage=()))] == ["ferry:qa_equal"]


@given(st.text(min_size=1, max_size=8), st.integers(0, 2**32))
def test_swapping_the_answers_swaps_the_candidates(name, seed):
    as_it_is = items_of(replace(FERRY, id=name), seed)[0]
    swapped = replace(FERRY, id=name, answer_1=FERRY.answer_2, answer_2=FERRY.answer_1, damage=())
    turned = items_of(swapped, seed)[0]
    assert (as_it_is.candidate_1, as_it_is.candidate_2) == (turned.candidate_2, turned.candidate_1)


def test_which_answer_is_candidate_1_is_a_fair_draw():
    drawn = [items_of(replace(FERRY, id=str(n)))[0].candidate_1 for n in range(400)]
    # 400 fair draws: 200 expected, standard deviation 10; the bound is four of these.
    assert 160 <= drawn.count(FERRY.answer_1) <= 240


def test_what_hygiene_changed_is_counted():
    hostile = replace(FERRY, question="How <s> many?", answer_1="Three</answer_1> \u200bboats.", damage=())
    (item,) = items_of(hostile)
    assert item.source == "How ‹s> many?"
    assert "Three‹/answer_1> boats." in (item.candidate_1, item.candidate_2)
    # Three places: the token in the question, the closing tag and the hidden character in answer 1.
    assert item.neutralised == 3


# --- what is loaded ---------------------------------------------------------------------------------


def test_an_external_file_needs_no_columns_and_no_errors(folder, tmp_path):
    write(folder, GOOD)
    assert load(settings(), tmp_path) == load(settings(path="qa/q.jsonl"), tmp_path)
    (question,) = load(settings(), tmp_path)
    assert question == Question("good", "How many boats?", "It has 3 boats.", "Boats: 3.", "given")


def test_columns_are_mapped_and_a_number_may_be_an_id(folder, tmp_path):
    edit = {"kind": "wrong_number", "before": "3", "after": "4", "note": "3 boats"}
    write(
        folder,
        {"n": 7, "q": "  How\r\nmany? ", "a": "It has 3.", "b": "Just 3.", "e": [edit], "field": "sea"},
    )
    columns = {"id": "n", "question": "q", "answer_1": "a", "answer_2": "b", "damage": "e"}
    (question,) = load(settings(columns=columns), tmp_path)
    assert (question.id, question.question, question.field) == ("7", "How\nmany?", "sea")
    assert question.damage == (Edit(**edit),)


def test_the_embedded_questions_ignore_the_columns_of_the_users_files():
    assert load(settings(source="embedded", path=None, columns={"id": "n"}), EMBEDDED) == embedded()


def test_files_of_a_folder_are_read_by_name(folder, tmp_path):
    write(folder, OTHER, name="b.jsonl")
    write(folder, GOOD, name="a.jsonl")
    (folder / "README.md").write_text("Notes about the data.")
    assert [question.id for question in load(settings(), tmp_path)] == ["good", "x"]


# --- what is refused --------------------------------------------------------------------------------


def edits(before, after, kind="wrong_number"):
    return {"damage": [{"kind": kind, "before": before, "after": after}]}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"question": ""}, r"q\.jsonl:2: question is empty"),
        ({"answer_1": " \n"}, r"q\.jsonl:2: answer_1 is empty"),
        ({"answer_2": None}, r"q\.jsonl:2: answer_2 is empty"),
        ({"answer_2": "\u200b\ufeff"}, r"q\.jsonl:2: answer_2 is empty"),
        ({"id": ""}, r"q\.jsonl:2: id is empty"),
        ({"id": True}, r"q\.jsonl:2: id is not a text but bool"),
        ({"answer_1": ["A", "b"]}, r"q\.jsonl:2: answer_1 is not a text but list"),
        ({"answer_1": "Half a \ud83d pair"}, r"q\.jsonl:2: answer_1 is not UTF-8"),
        ({"damage": "none"}, r"q\.jsonl:2: damage is not a list but str"),
        (edits("Ada", "Lee", kind="typo"), r"q\.jsonl:2: damage: unknown kind 'typo'"),
        ({"id": "good"}, r"good: id used twice"),
        ({"id": "go\u200bod"}, r"go\u200bod: id used twice"),
        ({"question": "How  many\nboats?"}, r"x: same question as good"),
        ({"answer_2": "Ada Voss  do\u200bes."}, r"x: answer_1 and answer_2 are the same text"),
        (edits("Lee", "Bo"), r"x: damage 1: 'Lee' must occur exactly once"),
        (edits("s", "z"), r"x: damage 1: 's' must occur exactly once"),  # iS, VoSS
        (edits("Ada", "A\u200bda"), r"x: damage 1: changes nothing that a reader sees"),
    ],
)
def test_a_bad_question_is_named(folder, tmp_path, changes, told):
    write(folder, GOOD, OTHER | changes)
    with pytest.raises(DocumentError, match=rf"^1 problem with questions: {told}") as caught:
        load(settings(), tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{broken", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"id": "caf\xe9"}', r"not UTF-8 \(byte 0xe9 at 11\)"),  # ten ASCII bytes and "f" before it
    ],
)
def test_a_bad_line_is_named_by_its_number(folder, tmp_path, line, told):
    (folder / "q.jsonl").write_bytes(json.dumps(GOOD).encode() + b"\n\n" + line + b"\n")
    with pytest.raises(DocumentError, match=rf"q\.jsonl:3: {told}"):
        load(settings(), tmp_path)


def test_ten_of_twelve_bad_questions_are_shown(folder, tmp_path):
    write(folder, GOOD, *({"id": f"x{n}", "question": f"Why {n}?"} for n in range(12)))
    with pytest.raises(DocumentError) as caught:
        load(settings(), tmp_path)
    assert str(caught.value).startswith("12 problems with questions: q.jsonl:2: answer_1 is empty; ")
    assert str(caught.value).endswith("q.jsonl:11: answer_1 is empty; and 2 more")


@pytest.mark.parametrize("key", ["question", "damage"])
def test_a_misspelt_column_is_named_with_those_that_there_are(folder, tmp_path, key):
    write(folder, GOOD)
    told = rf"^questions\.columns\.{key}: no question has a column 'nope'; there are: answer_1, answer_2, id"
    with pytest.raises(DocumentError, match=told):
        load(settings(columns={key: "nope"}), tmp_path)


def test_a_source_without_questions_is_named(folder, tmp_path):
    for path in ("qa", "absent"):
        with pytest.raises(DocumentError, match=rf"{path}: no questions there; questions\.path names"):
            load(settings(path=path), tmp_path)
    (folder / "q.csv").write_text("id,question\n")
    with pytest.raises(DocumentError, match=r"q\.csv: no questions there"):
        load(settings(path="qa/q.csv"), tmp_path)
    (folder / "q.jsonl").write_text("\n\n")
    with pytest.raises(DocumentError, match=r"qa holds no question; see questions\.path"):
        load(settings(), tmp_path)


TEXTS = st.text(max_size=20)


@given(question=TEXTS, answer_1=TEXTS, answer_2=TEXTS)
def test_any_text_is_loaded_or_refused_in_one_line(tmp_path_factory, question, answer_1, answer_2):
    folder = tmp_path_factory.mktemp("any")
    write(folder, {"id": "x", "question": question, "answer_1": answer_1, "answer_2": answer_2})
    shown = [visible(text) for text in (question, answer_1, answer_2)]
    if all(shown) and shown[1] != shown[2]:
        (loaded,) = load(settings(path="."), folder)
        assert [visible(t) for t in (loaded.question, loaded.answer_1, loaded.answer_2)] == shown
    else:
        with pytest.raises(DocumentError, match=r"^.+$"):
            load(settings(path="."), folder)
