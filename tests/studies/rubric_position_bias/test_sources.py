"""Data sets: what each layout becomes, and how a mistake in a file is told."""

from pathlib import Path
from typing import get_args

import pytest

from shared.reading import SourceError
from studies.rubric_position_bias.params import Dataset
from studies.rubric_position_bias.sources import RATERS, Criterion, Rater, criteria, load
from tests.shared.lines import without, write
from tests.studies.rubric_position_bias.layouts import (
    ARTICLE,
    FOUR,
    LEVELS,
    RESPONSE,
    SIX,
    STORY,
    SUMMARY,
    TEACHERS,
    TOLD,
    stories,
)

OWN = Path(__file__).parents[3] / "data/embedded/rubric_position_bias"


def problem(name, place):
    with pytest.raises(SourceError) as caught:
        load(name, place, OWN)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- what all have ----------------------------------------------------------------------------------


def test_every_data_set_of_the_params_has_one_rater():
    assert tuple(RATERS) == get_args(Dataset)
    assert set(RATERS.values()) == set(get_args(Rater))
    # The reference scores of Prometheus' files are GPT-4's.
    assert {name for name, rater in RATERS.items() if rater == "model"} == {"mt_bench", "vicuna"}


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("mt_bench", ["mt_bench_eval_parsed.jsonl"]),
        ("vicuna", ["vicuna_eval_parsed.jsonl"]),
        ("hanna", ["human_stories_scored_96.jsonl"]),
        ("summeval", ["articles.jsonl", "summaries.jsonl"]),
        ("writingprompts", ["wp_a.json"]),
    ],
)
def test_an_absent_file_is_named_with_the_key_to_change(tmp_path, name, files):
    rows = {"articles.jsonl": ARTICLE}
    for missing in files:
        told = (
            f"absent; put it there, or change datasets.{name}.path (below data.external_dir) in params.yaml"
        )
        assert problem(name, tmp_path) == f"{tmp_path / missing}: {told}"
        if missing in rows:
            write(tmp_path / missing, rows[missing])


# --- MT-Bench and Vicuna ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mt_bench", "vicuna"])
def test_a_rated_response(tmp_path, name):
    file = write(tmp_path / f"{name}_eval_parsed.jsonl", RESPONSE, RESPONSE | {"response_source": "model-b"})
    assert load(name, tmp_path, OWN) == load(name, file, OWN)
    one, other = load(name, file, OWN)
    assert (one.cluster, one.system, other.system, one.writer) == ("7", "model-a", "model-b", "")
    assert (one.text, one.instruction) == ("Roses are red.", "Write a rhyme.")
    assert (one.reference_answer, one.source) == ("A rhyme.", "")
    assert one.criteria == (Criterion("", "Does it rhyme?", tuple(LEVELS)),)
    assert one.references == {"": pytest.approx(11 / 3)}  # (3 + 4 + 4) / 3


def test_two_models_may_say_the_same_and_a_reference_answer_may_lack(tmp_path):
    rows = [without(RESPONSE | {"response_source": name}, "reference_answer") for name in "ab"]
    found = load("vicuna", write(tmp_path / "v.jsonl", *rows), OWN)
    assert [one.reference_answer for one in found] == ["", ""]
    assert found[0].text == found[1].text


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (RESPONSE, "a text of system 'model-a' for '7' stands at {file}:1 too; remove one"),
        (RESPONSE | {"idx": "7"}, "a text of system 'model-a' for '7' stands at {file}:1 too; remove one"),
        (RESPONSE | {"idx": 8, "response": " "}, "response is empty; write it, or remove the row"),
        (RESPONSE | {"idx": "a/b"}, "idx 'a/b' holds / or |; rename it"),
        (without(RESPONSE, "criterion"), "no column 'criterion'; add it (there are: idx, "),
        (RESPONSE | {"gpt4_score": [3, "4"]}, "gpt4_score should be a number, not '4'; write it without"),
        (RESPONSE | {"gpt4_score": []}, "gpt4_score should be a list of one or more, not []; write it so"),
        (RESPONSE | {"gpt4_score": [3, 6]}, "gpt4_score is 6, outside 1 to 5; rescale or correct it"),
        (RESPONSE | {"levels": LEVELS}, "levels should be a JSON object, not ['Bad.', 'Poor.'"),
        (
            RESPONSE | {"levels": without(RESPONSE["levels"], "3")},
            "no column '3'; add it (there are: 1, 2, 4, 5)",
        ),
        (
            RESPONSE | {"levels": RESPONSE["levels"] | {"3": "Good.\u200b"}},
            "levels holds the same text twice; reword one",
        ),
    ],
)
def test_a_bad_response_is_told_with_its_line(tmp_path, row, told):
    file = write(tmp_path / "m.jsonl", RESPONSE, row)
    assert problem("mt_bench", file).startswith(f"{file}:2: {told.format(file=file)}")


# --- HANNA ------------------------------------------------------------------------------------------


def test_stories_with_six_ratings(tmp_path):
    write(tmp_path / "human_stories_scored_96.jsonl", STORY)
    (story,) = load("hanna", tmp_path, OWN)
    assert (story.cluster, story.system, story.text) == ("0", "Human", "It was found.")
    assert story.instruction == "Write a short story for this prompt: A key is lost."
    assert [one.name for one in story.criteria] == [name.lower() for name in SIX]
    # relevance (1 + 2 + 1) / 3, coherence (1 + 2 + 2) / 3, ..., complexity 5 / 1
    assert list(story.references.values()) == pytest.approx([4 / 3, 5 / 3, 6 / 3, 7 / 3, 8 / 3, 5])


def test_machine_stories_join_their_prompt_and_a_known_human_story_counts_once(tmp_path):
    write(tmp_path / "human_stories_scored_96.jsonl", STORY, STORY | {"prompt_index": 1})
    machine = STORY | {"system": "GPT-2 (tag)", "story": "Keys key."}
    write(tmp_path / "hypoeval30_scored.jsonl", machine, STORY | {"story": "It  was\nfound. "})
    found = load("hanna", tmp_path, OWN)
    assert [(one.cluster, one.system) for one in found] == [
        ("0", "Human"),
        ("1", "Human"),
        ("0", "GPT-2 (tag)"),
    ]


def test_another_story_under_a_known_name_is_told(tmp_path):
    one = write(tmp_path / "human_stories_scored_96.jsonl", STORY)
    other = write(tmp_path / "hypoeval30_scored.jsonl", STORY | {"story": "It stayed lost."})
    assert problem("hanna", tmp_path) == (
        f"{other}:1: a text of system 'Human' for '0' stands at {one}:1 too; remove one"
    )


def test_a_rating_that_lacks_is_told(tmp_path):
    file = write(
        tmp_path / "human_stories_scored_96.jsonl", STORY | {"ratings": without(STORY["ratings"], "Empathy")}
    )
    told = f"{file}:1: no column 'Empathy'; add it (there are: "
    assert problem("hanna", tmp_path).startswith(told)


# --- SummEval ---------------------------------------------------------------------------------------


def test_summaries_with_their_articles(tmp_path):
    write(tmp_path / "articles.jsonl", ARTICLE, ARTICLE | {"doc_id": "d2", "source": "A bus."})
    write(tmp_path / "summaries.jsonl", SUMMARY, SUMMARY | {"system_id": "M1", "fluency": 1})
    one, other = load("summeval", tmp_path, OWN)
    assert (one.cluster, one.system, one.text, one.source) == ("d1", "M0", "It sank.", "A ferry sank.")
    assert (one.instruction, one.reference_answer) == ("", "")
    assert [criterion.name for criterion in one.criteria] == list(FOUR)
    assert one.references == dict.fromkeys(FOUR, 4.5)
    assert other.references["fluency"] == 1.0


@pytest.mark.parametrize(
    ("name", "row", "told"),
    [
        ("articles", ARTICLE, "doc_id 'd1' stands at {file}:1 too; remove one"),
        ("articles", {"doc_id": "d2", "source": ""}, "source is empty; write it, or remove the row"),
        ("summaries", SUMMARY, "a text of system 'M0' for 'd1' stands at {file}:1 too; remove one"),
        (
            "summaries",
            SUMMARY | {"doc_id": "d9"},
            "doc_id 'd9' is no article; add it to articles.jsonl, or remove the row",
        ),
        ("summaries", SUMMARY | {"fluency": None}, "fluency should be a number, not null; write it without"),
        (
            "summaries",
            without(SUMMARY, "fluency"),
            "no column 'fluency'; add it (there are: doc_id, ",
        ),
    ],
)
def test_a_bad_article_or_summary_is_told(tmp_path, name, row, told):
    rows = {"articles": [ARTICLE], "summaries": [SUMMARY]}
    rows[name].append(row)
    for which, written in rows.items():
        write(tmp_path / f"{which}.jsonl", *written)
    file = tmp_path / f"{name}.jsonl"
    assert problem("summeval", tmp_path).startswith(f"{file}:2: {told.format(file=file)}")


# --- WritingPrompts ---------------------------------------------------------------------------------


def test_stories_for_the_same_words_are_one_cluster(tmp_path):
    again = TOLD | {"prompt": " A  key. ", "human_written": 0, "story": "Lost, lost."}
    file = stories(
        tmp_path,
        **{"3": TOLD, "4": again, "5": TOLD | {"prompt": "A door."}, "6": TOLD | {"story": "Found."}},
    )
    found = load("writingprompts", file, OWN)
    assert found == load("writingprompts", tmp_path, OWN)
    assert [(one.cluster, one.system, one.writer) for one in found] == [
        ("3", "human-3", "human"),
        ("3", "gpt2-4", "gpt2"),
        ("5", "human-5", "human"),
        ("3", "human-6", "human"),
    ]
    # (1 + 2 + 4) / 3 = 7 / 3
    assert found[0].references == pytest.approx(dict.fromkeys(TEACHERS, 7 / 3))
    assert found[0].instruction == "Write a short story for this prompt: A key."


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (TOLD | {"story": ""}, "story is empty; write it, or remove the row"),
        (TOLD | {"human_written": "yes"}, "human_written should be 0 or 1, not 'yes'; correct it"),
        (TOLD | {"enjoy": [2, None]}, "enjoy should be a number, not null; write it without quotes"),
        (
            TOLD | {"story": "Lost.\u200b"},
            "this story of 'human' stands at {file}, entry '1' too; remove ",
        ),
        (
            without(TOLD, "relevant"),
            "no column 'relevant'; add it (there are: prompt, story, ",
        ),
    ],
)
def test_a_bad_story_is_told_by_its_key(tmp_path, entry, told):
    file = stories(tmp_path, **{"1": TOLD, "2": entry})
    assert problem("writingprompts", file).startswith(f"{file}, entry '2': {told.format(file=file)}")


# --- the project's own ------------------------------------------------------------------------------


def test_criteria_are_read_with_or_without_levels(tmp_path):
    write(
        tmp_path / "criteria/x.jsonl",
        {"criterion": "one", "question": "Is it?", "levels": LEVELS},
        {"criterion": "two", "question": "Was it?"},
    )
    assert criteria(tmp_path, "x") == (Criterion("one", "Is it?", tuple(LEVELS)), Criterion("two", "Was it?"))
    file = write(tmp_path / "criteria/x.jsonl", {"criterion": "c", "question": "?", "levels": LEVELS[:4]})
    with pytest.raises(SourceError) as caught:
        criteria(tmp_path, "x")
    assert str(caught.value) == f"{file}:1: levels should be 5 texts, worst first, not 4; write them all"


def test_embedded_files_that_lack_are_told(tmp_path):
    with pytest.raises(SourceError, match=r"embedded\.jsonl: absent; restore it from version control$"):
        load("embedded", tmp_path, tmp_path)
