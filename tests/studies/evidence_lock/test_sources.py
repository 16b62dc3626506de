"""Data sets: what each layout becomes, and how a mistake in a file is told."""

import sys
from math import isnan
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from shared.reading import Row, SourceError
from studies.evidence_lock.params import Dataset, DatasetParams, Fault
from studies.evidence_lock.sources import (
    EMBEDDED,
    FILES,
    RATERS,
    REASONS,
    Rater,
    conversation,
    load,
    question,
)
from tests.shared.lines import without, write
from tests.studies.evidence_lock.layouts import (
    COMPLETIONS,
    OPINION,
    OUTPUTS,
    OWN,
    PASSAGES,
    RESPONSES,
    packed,
    ranked,
    write_list,
)

FAULTS = list(get_args(Fault))
LINES = {"feedbackqa": PASSAGES, "lfqa": OPINION, "helpsteer3": RESPONSES, "coval": COMPLETIONS}
"""The data sets of one JSON Lines file."""

ANSWERS = {
    "feedbackqa": ("answer_a", "answer_b"),
    "lfqa": ("answer_a", "answer_b"),
    "helpsteer3": ("response1", "response2"),
}


def settings(name, path="d", **changes):
    source = "embedded" if name == "embedded" else "external"
    return DatasetParams(**({"source": source, "path": path, "items": None} | changes))


def loaded(name, folder, leave_out=None):
    return load(name, settings(name, leave_out=leave_out), folder, folder)


def pairs(name, folder, leave_out=None):
    return loaded(name, folder, leave_out).pairs


def put(name, folder, *rows):
    """The rows where the data set is looked for."""
    if name == "embedded":
        return write(folder / EMBEDDED, *rows)
    if name == "llmbar":
        return write_list(folder / "d/Natural.json", *rows)
    return write(folder / "d" / FILES[name], *rows)


def problem(name, folder, leave_out=None):
    with pytest.raises(SourceError) as caught:
        loaded(name, folder, leave_out)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- what all have ----------------------------------------------------------------------------------


def test_every_data_set_of_the_params_has_one_rater():
    assert tuple(RATERS) == get_args(Dataset)
    assert set(RATERS.values()) == set(get_args(Rater))


@pytest.mark.parametrize("name", LINES)
def test_an_absent_file_is_named_with_the_key_to_change(tmp_path, name):
    told = f"absent; put it there, or change datasets.{name}.path (below data.external_dir) in params.yaml"
    assert problem(name, tmp_path) == f"{tmp_path / 'd'}: {told}"
    (tmp_path / "d").mkdir()
    assert problem(name, tmp_path) == f"{tmp_path / 'd' / FILES[name]}: {told}"


def test_the_embedded_file_is_restored_from_version_control(tmp_path):
    told = problem("embedded", tmp_path)
    assert told == f"{tmp_path / EMBEDDED}: absent; restore it from version control"


@pytest.mark.parametrize("name", LINES)
def test_a_file_may_be_named_by_its_folder_and_be_packed(tmp_path, name):
    file = put(name, tmp_path, LINES[name])
    found = pairs(name, tmp_path)
    assert found
    assert load(name, settings(name, path=f"d/{file.name}"), tmp_path, tmp_path).pairs == found
    packed(file)
    assert pairs(name, tmp_path) == found
    assert load(name, settings(name, path=f"d/{file.name}.gz"), tmp_path, tmp_path).pairs == found


def test_where_no_id_is_given_it_is_a_hash_of_question_and_answers(tmp_path):
    put("feedbackqa", tmp_path, PASSAGES, PASSAGES | {"question": "May I travel?"})
    (one, other) = pairs("feedbackqa", tmp_path)
    assert len(one.id) == 16 and one.id != other.id
    swapped = PASSAGES | {
        "answer_a": PASSAGES["answer_b"],
        "answer_b": PASSAGES["answer_a"],
        "ratings_a": PASSAGES["ratings_b"],
        "ratings_b": PASSAGES["ratings_a"],
        "label": "B",
    }
    put("feedbackqa", tmp_path, PASSAGES | {"question": "A new row?"}, swapped)
    assert pairs("feedbackqa", tmp_path)[1].id == one.id


def test_questions_are_told_apart_by_what_a_reader_sees(tmp_path):
    rows = [
        PASSAGES,
        PASSAGES | {"question": " Can I\u200b travel?\n", "answer_a": "Yes, by bus."},
        PASSAGES | {"question": "May I travel?"},
    ]
    put("feedbackqa", tmp_path, *rows)
    one, same, other = map(question, pairs("feedbackqa", tmp_path))
    assert one == same != other


# --- what is wrong with a pair ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ANSWERS)
def test_an_empty_answer_is_told_with_its_line_or_left_out(tmp_path, name):
    row, (first, second) = LINES[name], ANSWERS[name]
    file = put(name, tmp_path, row, row | {first: " \u200b"}, row | {second: None}, row | {second: ""})
    fix = f"mend or remove the row, or add empty_answer to datasets.{name}.leave_out in params.yaml"
    assert problem(name, tmp_path) == (
        f"{file}:2: the first answer is empty; {fix}; {file}:3 and 1 more: the second answer is empty; {fix}"
    )
    found = loaded(name, tmp_path, ["empty_answer"])
    assert (len(found.pairs), found.left_out) == (1, {"empty_answer": 3})


@pytest.mark.parametrize("name", ANSWERS)
def test_a_lacking_answer_is_an_error_whatever_is_left_out(tmp_path, name):
    file = put(name, tmp_path, without(LINES[name], ANSWERS[name][1]))
    assert problem(name, tmp_path, FAULTS).startswith(f"{file}:1: no column '{ANSWERS[name][1]}'; add it")


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_are_the_same_to_a_reader_are_told_or_left_out(tmp_path, name):
    row, (first, second) = LINES[name], ANSWERS[name]
    file = put(name, tmp_path, row, row | {first: "Yes,  it is.\ufeff", second: "Yes,\nit is."})
    fix = f"mend or remove the row, or add identical_answers to datasets.{name}.leave_out in params.yaml"
    assert problem(name, tmp_path) == f"{file}:2: both answers are the same to a reader; {fix}"
    assert loaded(name, tmp_path, ["identical_answers"]).left_out == {"identical_answers": 1}
    assert problem(name, tmp_path, ["empty_answer", "repeated"]).startswith(f"{file}:2: both answers")


@pytest.mark.parametrize("name", ANSWERS)
def test_a_pair_that_stands_twice_is_told_or_counts_once(tmp_path, name):
    row = LINES[name]
    file = put(name, tmp_path, row, row)
    fix = f"mend or remove the row, or add repeated to datasets.{name}.leave_out in params.yaml"
    assert problem(name, tmp_path) == (
        f"{file}:2: the same question and answers stand at {file}:1 too; {fix}"
    )
    found = loaded(name, tmp_path, ["repeated"])
    assert (len(found.pairs), found.left_out) == (1, {"repeated": 1})


def test_a_pair_in_the_other_order_is_the_same_pair(tmp_path):
    swapped = {"output_1": OUTPUTS["output_2"], "output_2": OUTPUTS["output_1"], "label": 2}
    file = put("llmbar", tmp_path, OUTPUTS, OUTPUTS | swapped)
    assert problem("llmbar", tmp_path).startswith(
        f"{file}, row 2: the same question and answers stand at {file}, row 1 too; "
    )
    (kept,) = pairs("llmbar", tmp_path, ["repeated"])
    assert (kept.answer_1, kept.label) == ("A cod.", "1")


def test_all_bad_rows_are_told_in_one_error(tmp_path):
    file = put(
        "feedbackqa",
        tmp_path,
        PASSAGES | {"label": "C"},
        PASSAGES | {"answer_a": ""},
        PASSAGES,
        PASSAGES | {"question": " "},
    )
    told = problem("feedbackqa", tmp_path)
    assert [f"{file}:{line}: " in told for line in (1, 2, 3, 4)] == [True, True, False, True]


@pytest.mark.parametrize(
    ("name", "row", "label"),
    [
        ("embedded", OWN | {"label": "3"}, "label should be one of 1, 2, tie, not '3'; correct it"),
        ("feedbackqa", PASSAGES | {"label": "a"}, "label should be one of A, B, tie, not 'a'; correct it"),
        ("lfqa", OPINION | {"better": None}, "better should be one of A, B, tie, not None; correct it"),
        ("llmbar", OUTPUTS | {"label": 0}, "label should be one of 1, 2, not 0; correct it"),
        ("llmbar", OUTPUTS | {"label": True}, "label should be one of 1, 2, not True; correct it"),
        ("llmbar", OUTPUTS | {"label": [1]}, "label should be one of 1, 2, not [1]; correct it"),
        (
            "llmbar",
            without(OUTPUTS, "label"),
            "no column 'label'; add it (there are: input, output_1, output_2)",
        ),
        (
            "helpsteer3",
            RESPONSES | {"overall_preference": 4},
            "overall_preference is 4, outside -3 to 3; rescale or correct it",
        ),
        (
            "helpsteer3",
            RESPONSES | {"overall_preference": None},
            "overall_preference should be a number, not null; write it without quotes",
        ),
    ],
)  # fmt: skip
def test_an_unknown_label_is_told_whatever_is_left_out(tmp_path, name, row, label):
    file = put(name, tmp_path, row)
    where = f"{file}, row 1" if name == "llmbar" else f"{file}:1"
    assert problem(name, tmp_path, FAULTS) == f"{where}: {label}"


# --- the project's own ------------------------------------------------------------------------------


def test_an_embedded_pair(tmp_path):
    tie = without(OWN, "reason", "told") | {"id": 7, "label": "tie", "answer_2": "About eight minutes."}
    put("embedded", tmp_path, OWN, tie | {"reason": ""})
    one, other = pairs("embedded", tmp_path)
    assert (one.id, one.label, one.reason, one.told) == ("boil-egg", "1", "wrong_fact", OWN["told"])
    assert (one.context, one.answer_2, one.subset) == (OWN["question"], OWN["answer_2"], "")
    assert isnan(one.margin) and isnan(one.n_raters)
    assert (other.id, other.label, other.reason, other.told) == ("7", "tie", "", "")
    assert question(one) == question(other)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"id": "boil-egg", "answer_2": "Eight days."}, "id 'boil-egg' stands at {file}:1 too; rename one"),
        ({"id": "a/b"}, "id 'a/b' holds / or |; rename it"),
        ({"id": "x"}, "pair 'x': the same question and answers stand at {file}:1 (boil-egg) too; "),
        ({"id": "x", "answer_1": ""}, "pair 'x': the first answer is empty; mend or remove the row"),
        (
            {"id": "x", "reason": "dull"},
            f"reason should be one of {', '.join(REASONS)}, not 'dull'; correct it",
        ),
        ({"id": "x", "reason": None}, "reason should be one of wrong_fact, "),
        ({"id": "x", "label": "tie"}, "reason should be empty, since the pair is a tie, not 'wrong_fact'"),
        ({"id": "x", "told": ""}, "told is empty; write it, or remove the row"),
    ],
)
def test_a_bad_embedded_pair_is_told(tmp_path, changes, told):
    file = put("embedded", tmp_path, OWN, OWN | changes)
    assert problem("embedded", tmp_path).startswith(f"{file}:2: {told.format(file=file)}")


# --- FeedbackQA -------------------------------------------------------------------------------------


def test_two_passages_with_ratings(tmp_path):
    tie = PASSAGES | {"answer_a": "No.", "ratings_a": [1, 2], "ratings_b": [2, 1], "label": "tie"}
    put("feedbackqa", tmp_path, PASSAGES, tie)
    one, other = pairs("feedbackqa", tmp_path)
    # (4 + 3 + 3) / 3 - (1 + 2) / 2 = 3.333 - 1.5; the second passage has two ratings.
    assert (one.label, one.margin, one.n_raters) == ("1", pytest.approx(11 / 6), 2.0)
    assert (one.context, one.subset) == ("Can I travel?", "CDC")
    assert (other.label, other.margin) == ("tie", 0.0)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"label": "B"}, "label is 'B', but the ratings say otherwise; correct one"),
        ({"label": "tie"}, "label is 'tie', but the ratings say otherwise; correct one"),
        ({"ratings_a": [5]}, "ratings_a is 5, outside 1 to 4; rescale or correct it"),
        ({"ratings_b": []}, "ratings_b should be a list of one or more, not []; write it so"),
    ],
)
def test_bad_ratings_are_told(tmp_path, changes, told):
    file = put("feedbackqa", tmp_path, PASSAGES | changes)
    assert problem("feedbackqa", tmp_path) == f"{file}:1: {told}"


# --- LFQA -------------------------------------------------------------------------------------------


def voted(*votes):
    """Opinions of as many experts; a lower-case letter is from one who saw the answers swapped."""
    swapped = OPINION | {"answer_a": OPINION["answer_b"], "answer_b": OPINION["answer_a"]}
    return [
        (OPINION if vote.isupper() else swapped) | {"rater": str(n), "better": vote.upper()}
        for n, vote in enumerate(votes)
    ]


@pytest.mark.parametrize(
    ("votes", "label", "margin"),
    [
        ("A", "1", 1.0),
        ("AB", "tie", 0.0),
        ("BAB", "2", 1 / 3),  # 2/3 - 1/3
        ("Ab", "1", 1.0),  # the second expert's B is the first one's A
        ("bAB", "2", 1 / 3),  # the first one's order counts: its B, an A that is its B, a B that is its A
    ],
)
def test_several_experts_make_one_pair(tmp_path, votes, label, margin):
    other = OPINION | {"answer_b": "They rest."}
    put("lfqa", tmp_path, *voted(*votes), other)
    one, last = pairs("lfqa", tmp_path)
    assert (one.label, one.margin, one.n_raters) == (label, pytest.approx(margin), len(votes))
    assert (one.subset, one.expert) == ("Biology", "")
    assert (last.label, last.n_raters) == ("1", 1.0)


def test_an_expert_who_judged_a_pair_twice_is_told_or_counts_once(tmp_path):
    first, second = voted("A", "B")
    file = put("lfqa", tmp_path, first, second, first | {"better": "B"})
    assert problem("lfqa", tmp_path).startswith(
        f"{file}:3: the same question and answers stand at {file}:1 with another label; "
    )
    assert "add contradicted to" in problem("lfqa", tmp_path, ["repeated"])
    (one,) = pairs("lfqa", tmp_path, ["contradicted"])
    assert (one.label, one.n_raters) == ("tie", 2.0)


def test_the_same_number_in_another_field_is_another_expert(tmp_path):
    put("lfqa", tmp_path, OPINION, OPINION | {"domain": "Law"})
    (one,) = pairs("lfqa", tmp_path)
    assert (one.n_raters, one.subset) == (2.0, "Biology")


# --- LLMBar -----------------------------------------------------------------------------------------


def some(n):
    return OUTPUTS | {"input": f"Name fish {n}."}


@pytest.mark.parametrize(
    "files",
    [
        ("Adversarial_Manual.json", "Natural.json", "processed_MT-Bench.json"),
        (
            "LLMBar/Adversarial/Manual/dataset.json",
            "LLMBar/Natural/dataset.json",
            "Processed/MT-Bench/dataset.json",
        ),
    ],
)
def test_llmbars_own_and_processed_sets_are_two_data_sets(tmp_path, files):
    for n, file in enumerate(files):
        write_list(tmp_path / "d" / file, some(n), some(n + 10) | {"label": 2})
    write_list(tmp_path / "d/LLMBar/Natural/evaluators/GPT-4/result.json", {"winner": 1})
    write_list(tmp_path / "d/CaseStudy/Base-9/dataset.json", some(99))
    own, processed = pairs("llmbar", tmp_path), pairs("llmbar_processed", tmp_path)
    assert [(pair.subset, pair.label) for pair in own] == [
        ("Adversarial_Manual", "1"),
        ("Adversarial_Manual", "2"),
        ("Natural", "1"),
        ("Natural", "2"),
    ]
    assert [(pair.subset, pair.label) for pair in processed] == [("MT-Bench", "1"), ("MT-Bench", "2")]
    assert (own[2].context, own[2].answer_2) == ("Name fish 1.", "A cow.")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("llmbar", "Natural.json or Adversarial_*.json"), ("llmbar_processed", "processed_*.json")],
)
def test_a_folder_without_llmbar_is_told(tmp_path, name, wanted):
    fix = f"put it there, or change datasets.{name}.path (below data.external_dir) in params.yaml"
    assert problem(name, tmp_path) == f"{tmp_path / 'd'}: no {wanted} there; {fix}"


# --- HelpSteer3 -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preference", "label", "margin"), [(-3, "1", 3.0), (-1, "1", 1.0), (0, "tie", 0.0), (2, "2", 2.0)]
)
def test_two_responses_with_a_preference(tmp_path, preference, label, margin):
    put("helpsteer3", tmp_path, RESPONSES | {"overall_preference": preference})
    (one,) = pairs("helpsteer3", tmp_path)
    assert (one.label, one.margin, one.n_raters, one.subset) == (label, margin, 2.0, "general")
    assert (one.context, one.answer_1, one.answer_2) == ("Name a bird.", "A bat.", "A gull.")


def test_without_individual_preferences_the_number_of_raters_is_unknown(tmp_path):
    put("helpsteer3", tmp_path, without(RESPONSES, "individual_preference"))
    (one,) = pairs("helpsteer3", tmp_path)
    assert isnan(one.n_raters) and one.label == "2"


def turns(*said):
    return [Row({"role": role, "content": text}) for role, text in said]


def test_a_conversation_is_written_out_turn_by_turn():
    assert conversation(turns(("user", "Hello?"))) == "Hello?"
    assert conversation(turns(("system", " "), ("user", "Hello?"))) == "Hello?"
    assert (
        conversation(turns(("system", "Be brief."), ("user", "Hello?")))
        == "System: Be brief.\n\nUser: Hello?"
    )
    said = ("user", "Hello?"), ("assistant", "Yes."), ("user", "Why?")
    assert conversation(turns(*said)) == "User: Hello?\n\nAssistant: Yes.\n\nUser: Why?"
    with pytest.raises(ValueError, match="the conversation is empty"):
        conversation(turns(("user", "\u200b")))


# --- CoVal ------------------------------------------------------------------------------------------


def test_every_two_completions_make_a_pair_that_most_rankings_label(tmp_path):
    put("coval", tmp_path, COMPLETIONS)
    found = {pair.id: pair for pair in pairs("coval", tmp_path)}
    # Rankings A>B>C=D, A=B>C>D, B>A>D>C.
    #   A, B: first, neither, second: 1 to 1      A, C and A, D: first, three times
    #   B, C and B, D: first, three times         C, D: neither, first, second: 1 to 1
    assert {name: (pair.label, pair.margin, pair.n_raters) for name, pair in found.items()} == {
        "p1-A-B": ("tie", 0.0, 3.0),
        "p1-A-C": ("1", 1.0, 3.0),
        "p1-A-D": ("1", 1.0, 3.0),
        "p1-B-C": ("1", 1.0, 3.0),
        "p1-B-D": ("1", 1.0, 3.0),
        "p1-C-D": ("tie", 0.0, 3.0),
    }
    one = found["p1-A-C"]
    assert (one.context, one.answer_1, one.answer_2) == ("Is it right?", "A says so.", "C says so.")
    assert len({question(pair) for pair in found.values()}) == 1


def with_rankings(*rankings, letters="AB"):
    responses = [one for one in COMPLETIONS["responses"] if one["response_index"] in letters]
    return COMPLETIONS | {"responses": responses, "metadata": {"assessments": ranked(*rankings)}}


def test_a_majority_decides_and_the_margin_is_its_lead(tmp_path):
    put("coval", tmp_path, with_rankings("A>B", "B>A", "B > A", "A=B", "", "B"))
    (one,) = pairs("coval", tmp_path)
    # Of six rankings four hold both; two prefer B, one A: (2 - 1) / 4.
    assert (one.label, one.margin, one.n_raters) == ("2", 0.25, 4.0)


def test_completions_that_no_ranking_compares_are_left_out_and_counted(tmp_path):
    alone = with_rankings("A>B", letters="ABC")
    silent = with_rankings() | {"prompt_id": "p2"}
    block = {"annotator_id": "a", "ranking_blocks": {"personal": [], "world": None}}
    unasked = silent | {"prompt_id": "p3", "metadata": {"assessments": [block, {"ranking_blocks": None}]}}
    put("coval", tmp_path, alone, silent, unasked)
    found = loaded("coval", tmp_path)
    assert [pair.id for pair in found.pairs] == ["p1-A-B"]
    assert found.left_out == {"unranked": 4}  # A-C and B-C of the first, A-B of the others


@settings_of_hypothesis(max_examples=40)
@given(st.lists(st.permutations("ABCD"), min_size=1, max_size=5))
def test_reversed_rankings_reverse_every_label(tmp_path_factory, orders):
    folder = tmp_path_factory.mktemp("coval")
    labels = []
    for turned in (1, -1):
        put("coval", folder, with_rankings(*(">".join(order[::turned]) for order in orders), letters="ABCD"))
        labels.append([pair.label for pair in pairs("coval", folder)])
    assert labels[1] == [{"1": "2", "2": "1", "tie": "tie"}[label] for label in labels[0]]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (with_rankings("A>E"), "the ranking 'A>E' names 'E', which is no response, or stands twice"),
        (with_rankings("A>B>A"), "the ranking 'A>B>A' names 'A', which is no response, or stands twice"),
        (with_rankings("A>B", letters="A"), "responses holds one completion, which cannot be compared"),
        (COMPLETIONS | {"responses": COMPLETIONS["responses"][:1] * 2}, "the response 'A' stands twice"),
        (without(COMPLETIONS, "prompt_id"), "no column 'prompt_id'; add it (there are: prompt, responses, "),
        (COMPLETIONS | {"metadata": None}, "metadata should be a JSON object, not null; write it so"),
    ],
)
def test_a_bad_prompt_is_told(tmp_path, row, told):
    file = put("coval", tmp_path, row)
    assert problem("coval", tmp_path).startswith(f"{file}:1: {told}")


def test_a_faulty_completion_is_named_by_its_pair(tmp_path):
    copy = COMPLETIONS["responses"][1] | {"response_index": "C"}
    rest = [COMPLETIONS["responses"][n] for n in (0, 1, 3)]
    file = put("coval", tmp_path, COMPLETIONS | {"responses": [*rest, copy]})
    told = problem("coval", tmp_path)
    # B and C say the same, so A-C is A-B again; that comes first.
    assert told.startswith(
        f"{file}:1: pair 'p1-A-C': the same question and answers stand at {file}:1 (p1-A-B)"
    )
    left_out = loaded("coval", tmp_path, ["identical_answers", "repeated", "contradicted"]).left_out
    assert left_out.pop("identical_answers") == 1 and sum(left_out.values()) == 2  # B-C; A-C and C-D


@pytest.mark.parametrize(
    "twin", ["caf\u0065\u0301 at noon", "caf\u00e9\ufe0f at noon", "caf\u00e9 at\u2800 noon"]
)
def test_answers_that_a_reader_can_not_tell_apart_are_identical(tmp_path, twin):
    put("feedbackqa", tmp_path, PASSAGES | {"answer_a": "caf\u00e9 at noon", "answer_b": twin})
    assert "both answers are the same to a reader" in problem("feedbackqa", tmp_path)


# --- the hub ----------------------------------------------------------------------------------------


HUB = {"dataset": "some/pairs", "revision": "0123456789abcdef0123456789abcdef01234567", "split": "validation"}


def from_hub(monkeypatch, answer):
    asked = {}

    def load_dataset(name, *, revision, split):
        asked.update(dataset=name, revision=revision, split=split)
        return answer()

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return asked


@pytest.mark.parametrize("name", ["helpsteer3", "coval"])
def test_the_hub_holds_the_same_rows_at_a_pinned_revision(monkeypatch, tmp_path, name):
    asked = from_hub(monkeypatch, lambda: [LINES[name]])
    put(name, tmp_path, LINES[name])
    hub = settings(name, source="hub", path=None, hub=HUB)
    assert load(name, hub, tmp_path, tmp_path).pairs == pairs(name, tmp_path)
    assert asked == HUB


def test_a_bad_row_of_the_hub_is_told_by_its_number(monkeypatch, tmp_path):
    from_hub(monkeypatch, lambda: [RESPONSES, RESPONSES | {"response2": ""}])
    with pytest.raises(SourceError, match=r"^some/pairs\[1\]: the second answer is empty; "):
        load("helpsteer3", settings("helpsteer3", source="hub", path=None, hub=HUB), tmp_path, tmp_path)


def test_a_hub_that_cannot_be_reached_is_one_line_with_the_way_round(monkeypatch, tmp_path):
    def unreachable():
        raise ConnectionError("no route to host\nand a long trace")

    from_hub(monkeypatch, unreachable)
    with pytest.raises(SourceError) as caught:
        load("coval", settings("coval", source="hub", path=None, hub=HUB), Path(), Path())
    assert str(caught.value) == (
        f"datasets.coval.hub: some/pairs at {HUB['revision']}, split validation, cannot be loaded: "
        "no route to host; or put the file below data.external_dir and use source: external"
    )
