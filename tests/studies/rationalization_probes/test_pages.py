"""Each table's page: what it says of its numbers, and what it leaves out where that would say nothing."""

import re

import pandas as pd
import pytest

from studies.rationalization_probes import pages
from studies.rationalization_probes.captions import ABSENT, EXCLUDED, EXCLUDED_HERE, TEXTS
from studies.rationalization_probes.tables import write_all
from tests.studies.rationalization_probes.scripted_judgements import all_arms, every_arm, judgement
from tests.studies.rationalization_probes.scripted_study import inputs_of, study_of

NO_GATE = {"attacks", "scorers", "protocols"}
"""Tables whose rows tell of no judge's bias."""


def written(rows, folder):
    study = study_of(rows)
    told = list(write_all(study, inputs_of(study), folder))
    return {path.stem: path.read_text() for path in folder.glob("*.md")}, told


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Pages of a judge that fails the gate, one of whose answers could not be parsed."""
    rows = pd.concat([all_arms(16, damaged="2"), pd.DataFrame([judgement("doc-99", None)])])
    return written(rows, tmp_path_factory.mktemp("tables"))[0]


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Pages of three documents, from which the gate can't tell."""
    rows = every_arm(3).query("scheme in ('forced', 'scot')")
    return written(rows, tmp_path_factory.mktemp("few"))[0]


def rows_of(page):
    return [line for line in page.splitlines() if line.startswith("| smollm2_135m")]


# --- Captions ---------------------------------------------------------------------------------------


def test_every_table_has_its_words():
    assert set(TEXTS) == set(ABSENT)
    assert set(EXCLUDED_HERE) <= set(TEXTS)


@pytest.mark.parametrize("name", TEXTS)
def test_a_caption_is_a_title_and_sentences(name):
    text = TEXTS[name]
    assert text.title and not text.title.endswith(".") and text.counted.endswith(".")
    assert "{" not in text.counted and "  " not in text.counted
    for linked in re.findall(r"\((\w+)\.md\)", text.counted):
        assert linked in TEXTS


# --- What every page says ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
def test_a_page_says_what_it_rests_on(page, name):
    text = page[name]
    assert text.startswith(f"# {TEXTS[name].title}")
    assert TEXTS[name].counted in text and EXCLUDED_HERE.get(name, EXCLUDED) in text
    assert "Profile `smoke`" in text
    assert not re.search(r"\bnan\b", text)


@pytest.mark.parametrize("name", sorted(set(TEXTS) - NO_GATE))
def test_a_failed_gate_shows_in_every_row(page, name):
    rows = rows_of(page[name])
    assert rows and all("instrument check" in row for row in rows)
    assert "smollm2_135m (fingerprint 0123456789ab)" in page[name]
    assert "the row tells about the instrument" in page[name]


@pytest.mark.parametrize(
    "name", ["table_02_blind", "table_03_truth", "cue_effects", "revision", "competence"]
)
def test_a_gate_that_was_not_passed_shows_in_every_row(few, name):
    rows = rows_of(few[name])
    assert rows and all("gate not passed (too few to tell)" in row for row in rows)
    assert "instrument check" not in few[name]


@pytest.mark.parametrize("name", NO_GATE)
def test_tables_of_no_judges_bias_say_nothing_of_the_gate(page, name):
    assert "| " in page[name] and "instrument check" not in page[name] and "gate not" not in page[name]


# --- What some say ----------------------------------------------------------------------------------


def test_tests_say_whether_they_are_corrected(page):
    for name in ("table_03_truth", "cue_effects", "revision", "rationale_drift", "grafting"):
        assert "| p, uncorrected" in page[name] and "| p " not in page[name]
    assert "| p, Holm" in page["cue_effects"]
    assert "p, Holm" not in page["table_03_truth"] + page["revision"]
    assert "MDE, one test at alpha" in page["cue_effects"]


def test_the_floors_that_a_page_explains_stand_in_it(page):
    assert "The floor is what comes without a cue" in page["invariance"]
    assert "| without a cue: floor [interval]" in page["invariance"]


def test_a_ratio_has_its_floor_and_no_test(page):
    truth = page["table_03_truth"]
    assert "| an empty label line [interval]" in truth and "floor" not in truth
    lao = [line.split("|") for line in truth.splitlines() if "| LAO " in line]
    heads = [cell.strip() for cell in next(x for x in truth.splitlines() if "uncorrected" in x).split("|")]
    assert lao and {line[heads.index("p, uncorrected")].strip() for line in lao} == {"n/a"}


def test_nobody_says_that_a_given_text_is_a_language_models(page):
    given = [line for line in page["table_09_extractive"].splitlines() if "textrank" in line]
    assert given and all("| given " in line for line in given)
    assert not re.search("language model's summary", page["table_09_extractive"])


@pytest.mark.parametrize("name", ["table_02_blind", "table_10_identical"])
def test_the_place_on_the_screen_is_told_where_it_is_confounded(page, name):
    assert "confounded with the place on the screen" in page[name]
    assert "| first on the screen" in page[name]


def test_the_papers_denominator_is_printed_where_it_differs(page):
    # SCoT: 16 parsed, 8 of them ties; a 17th was not parsed.
    (line,) = [line for line in page["table_02_blind"].splitlines() if "SCoT" in line and "(8)" in line]
    cells = [cell.strip() for cell in line.split("|")]
    assert "0.710 to 0.840" in cells
    assert cells[cells.index("0.710 to 0.840") - 1] == f"{8 / 17:.3f}"
    assert "of all" not in page["table_03_truth"].split("\n\n")[2]


def test_wordings_and_pairs_are_named_where_a_row_has_them(page):
    assert "| wording" in page["rationale_alignment"] and "| over" in page["rationale_alignment"]
    assert "| wording" not in page["table_02_blind"] and "| over" not in page["table_02_blind"]


@pytest.mark.parametrize("name", ["rationale_drift", "rationale_alignment", "consistency"])
def test_where_the_csv_has_every_kind_the_page_shows_equal_pairs(page, name):
    assert "every kind" in page[name]
    assert not re.search(r"\| (identical|samples|qa_equal)\b", page[name])


def test_the_gate_on_answers_is_told_below_their_effects(page):
    head, _, below = page["cross_task"].partition("The competence gate:")
    assert "prefers the undamaged text" in below and "prefers the undamaged text" not in head
    assert "The competence gate:" not in page["relabel"]


def test_turns_are_told_in_their_order(page):
    lines = [line.split("|") for line in page["protocols"].splitlines() if "PBP, cue once" in line]
    assert [line[3].strip() for line in lines] == ["notes", "score", "reveal", "control", "narrate"]


def test_who_rewrote_is_named(page):
    assert "rules" in page["attacks"]


def test_a_column_that_would_say_nothing_is_left_out(few):
    # no answer was lost, so that the paper's denominator is ours
    assert "of all" not in few["table_02_blind"].split("\n\n", 2)[2]
    assert "| kind" not in few["table_02_blind"] and "| system" not in few["table_02_blind"]


# --- Names ------------------------------------------------------------------------------------------


def test_a_criterion_is_called_by_its_name():
    assert pages.quantity_name("score_factual_accuracy") == "factual accuracy"
    assert pages.quantity_name("lds") == "LDS"


def test_quantities_are_named_for_people(page):
    printed = {
        word for text in page.values() for row in rows_of(text) for word in re.findall(r"[a-z]+_[a-z_]+", row)
    }
    # under the name that people have for it, and not under that of the code
    assert not {word for word in printed if pages.QUANTITY_NAMES.get(word, word) != word}
