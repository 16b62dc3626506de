"""Each table's page: what it says of its numbers, and what it leaves out where that would say nothing."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shared.reporting import readme
from shared.reporting import tables as reporting
from shared.reporting.pages import estimate
from studies.evidence_lock import pages
from studies.evidence_lock.captions import TEXTS
from studies.evidence_lock.params import SCHEMES
from studies.evidence_lock.results import COLUMNS
from studies.evidence_lock.results import TEXTS as NAMES
from tests.studies.evidence_lock.small_tables import tables

README = Path(pages.__file__).parent / "README.md"


def written(name, rows):
    return "\n\n".join(pages.page(name, rows, "smoke", 0.95))


@pytest.fixture(scope="module")
def page():
    """Every page of the small judges."""
    return {name: written(name, rows) for name, rows in tables().items()}


def row(quantity="agreement", value=0.25, **columns):
    """An estimate of the main cell, 0.1 each way."""
    texts = dict.fromkeys((*NAMES, "note", "gate", "profile", "fingerprint"), "")
    told = {"judge": "mine", "scheme": "lock", "dataset": "d", "naming": "neutral", "record_chars": 600}
    sizes = {"n_items": 24, "n_clusters": 12, "n_unparsed": 0}
    ends = {"value": value, "ci_low": value - 0.1, "ci_high": value + 0.1}
    return {"quantity": quantity, **texts, **told, **sizes, **ends, **columns}


def frame(*rows):
    return pd.DataFrame(rows, columns=list(COLUMNS))


def lines(text):
    """Cells of the tables' rows, each with its heads."""
    found = []
    for block in text.split("\n\n"):
        table = [line for line in block.splitlines() if line.startswith("|")]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
        found += [dict(zip(cells[0], line, strict=True)) for line in cells[2:]]
    return found


# --- What every page says ---------------------------------------------------------------------------


def test_every_table_has_a_page():
    assert set(tables()) == set(TEXTS)


@pytest.mark.parametrize("name", TEXTS)
def test_a_page_says_what_it_rests_on(page, name):
    text = page[name]
    assert text.startswith(f"# {TEXTS[name].title}\n")
    assert TEXTS[name].counted in text
    assert "Profile `smoke`" in text and "smollm2_135m (fingerprint 0123456789ab)" in text
    assert "resample whole questions" in text
    assert not re.search(r"\bnan\b", text)


@pytest.mark.parametrize("name", TEXTS)
def test_every_row_of_a_table_is_on_its_page(page, name):
    """Side by side or one below the other: each value stands there."""
    printed = [cell for line in lines(page[name]) for cell in line.values()]
    for one in tables()[name].to_dict("records"):
        counted = name == "answers" and one["quantity"] != "ok_rate"
        assert counted or estimate(pd.Series(one)) in printed


@pytest.mark.parametrize("name", TEXTS)
def test_no_two_lines_are_named_alike(page, name):
    """Whatever tells two rows apart is shown."""
    numbers = re.compile(
        r"\[|paper|^p,|MDE|^n$|questions|unparsed|note|^ok|answers due|count|failed|truncated|refused"
    )
    for block in page[name].split("\n\n"):
        named = [
            tuple((head, cell) for head, cell in line.items() if not numbers.search(head) and "[" not in cell)
            for line in lines(block)
        ]
        assert len(set(named)) == len(named)


@pytest.mark.parametrize("name", TEXTS)
def test_an_empty_table_says_why(name):
    text = written(name, frame())
    assert text.startswith(f"# {TEXTS[name].title}\n\nNot run: ") and text.endswith(". Profile `smoke`.")


@pytest.mark.parametrize("name", TEXTS)
def test_quantities_and_schemes_are_named_for_people(page, name):
    assert set(tables()[name]["quantity"]) <= set(pages.QUANTITY_NAMES)
    printed = {word for line in lines(page[name]) for word in line.values()}
    assert not {word for word in printed if pages.QUANTITY_NAMES.get(word, word) != word}
    assert not {line["scheme"] for line in lines(page[name]) if "scheme" in line} & set(SCHEMES)


def test_every_scheme_has_its_name():
    assert set(pages.SCHEME_NAMES) == set(SCHEMES)
    assert len(set(pages.SCHEME_NAMES.values())) == len(SCHEMES)


# --- Columns ----------------------------------------------------------------------------------------


def test_a_row_by_hand():
    told = {"reference": "structured", "condition": "lock - structured", "p": 0.0004, "p_holm": 0.002}
    told |= {"p_mcnemar": 0.25, "mde": 0.125, "paper_low": -0.06, "paper_high": -0.04}
    text = written("differences", frame(row(value=-0.5, **told)))
    assert lines(text) == [
        {
            "judge": "mine",
            "quantity": "agreement",
            "ours [interval]": "-0.500 [-0.600, -0.400]",
            "p, uncorrected": "4.0e-04",
            "p, Holm": "0.002",
            "MDE": "0.125",
            "p, McNemar": "0.250",
            "n": "24",
            "questions": "12",
            "unparsed": "0",
            "paper": "-0.060 to -0.040",
        }
    ]
    assert "In all rows: data set d, scheme Evidence Lock, less Structured, record at most 600" in text
    assert "McNemar: exact" in text and "* paper: " in text


def test_quantities_stand_side_by_side_with_the_papers():
    told = [
        row("agreement", 0.75, scheme=scheme, published=published)
        for scheme, published in (("structured", 0.76), ("lock", np.nan))
    ]
    half = row("agreement_half", 0.5, scheme="lock", n_items=20)
    first, second = lines(written("agreement", frame(*told, half)))
    assert (first["scheme"], second["scheme"]) == ("Structured", "Evidence Lock")
    assert first["agreement"] == "0.750 [0.650, 0.850]" and first["agreement, paper"] == "0.760"
    assert second["agreement, a tie half"] == "0.500 [0.400, 0.600]" and second["agreement, paper"] == ""
    # of a line whose quantities rest on different pairs
    assert (first["n"], second["n"]) == ("24", "20 to 24")
    assert "agreement, of all" not in first


def test_what_is_tested_stands_below_with_its_test():
    shares = [row("agreement"), row("first_shown", p=0.5, mde=0.2)]
    beside, below = lines(written("agreement", frame(*shares)))
    assert "quantity" not in beside
    assert (below["quantity"], below["p, uncorrected"]) == ("picks the first shown", "0.500")


def test_a_rate_is_told_from_a_difference():
    rate, difference = row("names_winner_rate"), row("names_winner_rate", reference="structured", p=0.5)
    found = lines(written("leaks", frame(rate, difference, row("leans_rate"))))
    assert [line["less"] for line in found] == ["-", "Structured"]
    assert found[0]["leans"] == "0.250 [0.150, 0.350]"


def test_statuses_are_counts_side_by_side_and_ties_stand_below(page):
    found = lines(page["answers"])
    [line] = [
        line
        for line in found
        if (line.get("judge"), line.get("dataset"), line.get("scheme")) == ("other", "lfqa", "Structured")
        and "ok" in line
    ]
    assert int(line["ok"]) + int(line["unparsed"]) == int(line["answers due"]) == 16
    [ties] = [line for line in found if line.get("quantity") == "people's ties" and line["dataset"] == "lfqa"]
    assert ties["count"] == "2"


def test_names_that_differ_are_columns_and_no_other():
    one, two = lines(written("bundle", frame(row(condition="second call"), row(condition="source removed"))))
    assert (one["condition"], two["condition"]) == ("second call", "source removed")
    assert "dataset" not in one and "scheme" not in one


# --- The paper, the gate, the labels ----------------------------------------------------------------


def test_nothing_is_said_of_the_paper_where_nothing_of_it_stands():
    assert "paper:" not in written("orders", frame(row("direct")))


def test_a_gate_that_was_not_passed_is_told():
    failed = written("agreement", frame(row(gate="failed", note="instrument check")))
    assert lines(failed)[0]["note"] == "instrument check"
    assert "the row tells about the instrument" in failed
    few = written("agreement", frame(row(gate="too few to tell", note="gate not passed (too few to tell)")))
    assert "too few questions to say that it failed" in few and "instrument check:" not in few


def test_notes_of_a_line_are_told_once():
    told = [row("agreement", note="a; b"), row("agreement_half", note="b; c")]
    [line] = lines(written("agreement", frame(*told)))
    assert line["note"] == "a; b; c"


def test_a_row_about_several_judges_names_none():
    text = written("verdicts", frame(row("majority_agreement"), row("majority_agreement", judge="all")))
    assert "judge: mine (fingerprint none)." in text
    assert [line["judge"] for line in lines(text)] == ["mine", "all"]


@pytest.mark.parametrize(
    ("rater", "told"), [("intended", "nobody's preference"), ("gold", "by any reader's lights")]
)
def test_labels_that_are_no_preference_are_told(rater, told):
    text = written("agreement", frame(row(rater=rater), row(dataset="e", rater="human")))
    assert f"d: the label {'is' if rater == 'intended' else 'holds'}" in text and told in text
    assert "e: the label" not in text


def test_a_quantity_without_a_name_is_readable():
    assert pages.quantity_name("first_shown") == "picks the first shown"
    assert pages.quantity_name("some_new_quantity") == "some new quantity"


# --- The README -------------------------------------------------------------------------------------


def test_the_readme_finds_whatever_it_shows(tmp_path):
    """Every marker names a table, columns and rows that are made; a question has one row a protocol."""
    for name, rows in tables().items():
        of_one = rows[rows["judge"] != "other"]  # another's record has a row a writer, as here
        told = list(pages.page(name, of_one, "smoke", 0.95))
        reporting.write(tmp_path / f"evidence_lock/{name}.csv", of_one, told)
    filled = readme.fill(README.read_text(encoding="utf-8"), readme.Tables(tmp_path, README.parent))
    assert filled.count("profile smoke") >= 13
    findings = filled.split("## Findings")[1]
    assert "competence gate under" in findings
    assert "<br>paper: 0.700 to 0.717" in findings or "paper: 0.700 to 0.717*" in findings
