"""The project's own texts and criteria keep what their README promises."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from shared.judge.hygiene import neutralise
from studies.rubric_position_bias.levels import SIZES, resized
from studies.rubric_position_bias.sources import criteria, load

OWN = Path(__file__).parents[3] / "data/embedded/rubric_position_bias"
TEXTS = ("grammar", "detail", "order", "tone")
CRITERIA = {
    "hanna": ("relevance", "coherence", "empathy", "surprise", "engagement", "complexity"),
    "summeval": ("coherence", "consistency", "fluency", "relevance"),
    "writingprompts": ("grammar", "cohesive", "enjoy", "relevant"),
}


@pytest.fixture(scope="module")
def candidates():
    return load("embedded", OWN, OWN)


@pytest.fixture(scope="module")
def responses(candidates):
    return [one for one in candidates if len(one.criteria) == 1]


@pytest.fixture(scope="module")
def texts(candidates):
    return [one for one in candidates if len(one.criteria) > 1]


def rubrics(candidates):
    """Every rubric with levels, by name."""
    found = {one.cluster: one.criteria[0] for one in candidates if len(one.criteria) == 1}
    return found | {f"{name}/{one.name}": one for name in CRITERIA for one in criteria(OWN, name)}


def level(response):
    return response.references[""]


def batched(values, size):
    return [values[at : at + size] for at in range(0, len(values), size)]


def words(candidate):
    return len(candidate.text.split())


# --- responses to prompts ---------------------------------------------------------------------------


def test_twelve_prompts_have_three_responses_of_different_levels(responses):
    by_prompt = Counter(one.cluster for one in responses)
    assert len(by_prompt) == 12 and set(by_prompt.values()) == {3}
    for prompt in by_prompt:
        three = [one for one in responses if one.cluster == prompt]
        assert [one.system for one in three] == ["a", "b", "c"]
        assert len({level(one) for one in three}) == 3
        assert len({one.instruction for one in three}) == len({one.criteria for one in three}) == 1


def test_levels_spread_over_the_whole_range(responses):
    assert Counter(map(level, responses)) == {1: 7, 2: 7, 3: 7, 4: 7, 5: 8}


def test_length_and_letter_say_nothing_about_the_level(responses):
    lengths, levels = [words(one) for one in responses], [level(one) for one in responses]
    assert all(90 <= length <= 130 for length in lengths), sorted(lengths)
    assert abs(spearmanr(lengths, levels).statistic) < 0.25
    within = [length - np.mean(three) for three in batched(lengths, 3) for length in three]
    assert abs(spearmanr(within, levels).statistic) < 0.25
    by_letter = {letter: [level(one) for one in responses if one.system == letter] for letter in "abc"}
    assert all(2 <= np.mean(levels) <= 4 for levels in by_letter.values()), by_letter


# --- texts judged by several criteria ---------------------------------------------------------------


def test_eight_texts_have_a_level_on_each_of_four_criteria(texts):
    assert len(texts) == 8 == len({one.cluster for one in texts})
    for one in texts:
        assert tuple(criterion.name for criterion in one.criteria) == TEXTS == tuple(one.references)
        assert set(one.references.values()) <= {1, 2, 3, 4, 5}
        assert 80 <= words(one) <= 150


def test_no_two_criteria_go_together(texts):
    levels = np.array([[one.references[name] for name in TEXTS] for one in texts])
    assert all(len(set(column)) >= 4 for column in levels.T)
    between = np.corrcoef(levels.T)[np.triu_indices(4, 1)]
    assert np.abs(between).max() < 0.6, between


# --- rubrics ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CRITERIA)
def test_every_criterion_of_a_public_data_set_has_five_levels(name):
    assert tuple(one.name for one in criteria(OWN, name)) == CRITERIA[name]
    assert all(len(one.levels) == 5 for one in criteria(OWN, name))


def test_a_level_is_one_sentence_that_names_no_number(candidates):
    assert len(rubrics(candidates)) == 12 + 6 + 4 + 4
    for name, rubric in rubrics(candidates).items():
        assert rubric.question.endswith("?") and rubric.question.count("?") == 1, name
        for text in rubric.levels:
            assert re.fullmatch(r"[A-Z][^.?!\n\d]{10,120}\.", text), (name, text)


@pytest.mark.parametrize("size", SIZES)
def test_rubrics_can_be_told_in_every_size(candidates, size):
    for name, rubric in rubrics(candidates).items():
        assert len(set(resized(rubric.levels, size))) == size, name


# --- all of it --------------------------------------------------------------------------------------


def test_files_are_plain_ascii_and_hygiene_changes_nothing(candidates):
    files = sorted(OWN.rglob("*.jsonl"))
    assert [str(file.relative_to(OWN)) for file in files] == [
        "criteria/embedded.jsonl",
        "criteria/hanna.jsonl",
        "criteria/summeval.jsonl",
        "criteria/writingprompts.jsonl",
        "prompts.jsonl",
        "texts.jsonl",
    ]
    for file in files:
        assert file.read_bytes().isascii(), file
        for line in file.read_text().splitlines():
            assert json.dumps(json.loads(line)) == line, file
    for one in candidates:
        assert neutralise(one.text) == (one.text, 0) and "  " not in one.text


def test_no_two_texts_are_alike(candidates):
    shown = [set(re.findall(r"\w+", one.text.lower())) for one in candidates]
    for at, first in enumerate(shown):
        for second in shown[at + 1 :]:
            assert len(first & second) / len(first | second) < 0.75


def test_the_sums_that_the_texts_rest_on_are_right():
    # choir: 28 singers; three group tickets at 105 beat two and eight singles at 14, and 28 singles
    assert min(groups * 105 + max(0, 28 - 10 * groups) * 14 for groups in range(4)) == 315
    assert (2 * 105 + 8 * 14, 3 * 105) == (322, 315)
    # washing machine: 104 loads at 4 euros against 200 and 60
    assert (104 * 4, 104 * 4 - 260) == (416, 156)


def test_the_readme_counts_what_is_there(candidates, responses, texts):
    readme = (OWN / "README.md").read_text(encoding="utf-8")
    assert "Twelve prompts with three responses each and eight further texts" in readme
    counts = Counter(map(level, responses))
    assert f"{len(responses)} responses" in readme
    assert "({}, {}, {}, {} and {} of them".format(*(counts[n] for n in range(1, 6))) in readme
    assert len(texts) == 8
