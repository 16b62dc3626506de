import pytest

from studies.rationalization_probes.params import KINDS
from studies.rationalization_probes.tasks import ANSWERS, SUMMARIES, task_of


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_the_task_that_its_name_tells(kind):
    assert task_of(kind) is (ANSWERS if kind in ("qa_equal", "qa_damage") else SUMMARIES)


def test_candidates_are_named_by_task_and_place():
    assert SUMMARIES.shown == ("summary_1", "summary_2")
    assert ANSWERS.shown == ("answer_1", "answer_2")


def test_no_word_of_one_task_is_in_the_other():
    assert not [word for word in ("summar", "document") if word in " ".join(ANSWERS)]
    assert not [word for word in ("answer", "question") if word in " ".join(SUMMARIES)]


def test_only_where_the_source_holds_all_that_is_needed_is_outside_knowledge_forbidden():
    assert "outside knowledge" in SUMMARIES.rule and ANSWERS.rule == ""
