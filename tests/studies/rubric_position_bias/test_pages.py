"""Each table's page: what it says of its numbers, and what it leaves out where that would say nothing."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shared.reporting import readme
from shared.reporting import tables as reporting
from shared.reporting.pages import estimate
from studies.rubric_position_bias import pages
from studies.rubric_position_bias.captions import TEXTS
from studies.rubric_position_bias.counterparts import claim
from studies.rubric_position_bias.results import COLUMNS
from studies.rubric_position_bias.results import TEXTS as NAMES
from tests.studies.rubric_position_bias.small_tables import tables

README = Path(pages.__file__).parent / "README.md"

NO_JUDGE = {"orders"}
"""Tables whose rows are about no judge."""


def written(name, rows):
    return "\n\n".join(pages.page(name, rows, "smoke", 0.95))


@pytest.fixture(scope="module")
def page():
    """Every page of the small judge."""
    return {name: written(name, rows) for name, rows in tables().items()}


def row(quantity="cramers_v", value=0.25, **columns):
    """An estimate of the main design, 0.1 each way."""
    texts = dict.fromkeys((*NAMES, "note", "gate", "profile", "fingerprint"), "")
    told = {"judge": "mine", "scheme": "base", "condition": "balanced", "dataset": "d", "size": 5}
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


@pytest.mark.parametrize("name", TEXTS)
def test_a_page_says_what_it_rests_on(page, name):
    text = page[name]
    assert text.startswith(f"# {TEXTS[name].title}")
    assert TEXTS[name].counted in text
    assert "Profile `smoke`" in text
    assert not re.search(r"\bnan\b", text)
    assert ("smollm2_135m (fingerprint 0123456789ab)" in text) is (name not in NO_JUDGE)


@pytest.mark.parametrize("name", TEXTS)
def test_every_row_of_a_table_is_on_its_page_once(name):
    """Side by side or one below the other: each row has a number of its own, and is found by it."""
    rows = tables()[name]
    marks = pd.Series(1000.0 + np.arange(len(rows)), index=rows.index)
    count = marks.where(rows["count"].notna())
    marked = rows.assign(value=marks, ci_low=np.nan, ci_high=np.nan, count=count)
    printed = [cell for line in lines(written(name, marked)) for cell in line.values()]
    for row in marked.to_dict("records"):
        # Statuses are counts; the rate of ok alone stands beside them. A count may follow an estimate.
        told = f"{row['count']:.0f}" if name == "answers" else estimate(pd.Series(row))
        found = [cell for cell in printed if cell == told or (cell.startswith(told) and "[" in told)]
        assert len(found) == 1, row


@pytest.mark.parametrize("name", TEXTS)
def test_an_empty_table_says_why(name):
    text = written(name, frame())
    assert text.startswith(f"# {TEXTS[name].title}\n\nNot run: ") and text.endswith(". Profile `smoke`.")


@pytest.mark.parametrize("name", TEXTS)
def test_quantities_are_named_for_people(page, name):
    printed = {word for line in lines(page[name]) for word in line.values()}
    assert not {word for word in printed if pages.QUANTITY_NAMES.get(word, word) != word}
    assert set(tables()[name]["quantity"]) <= set(pages.QUANTITY_NAMES)


# --- Columns ----------------------------------------------------------------------------------------


def test_a_row_by_hand():
    told = {
        "null_low": 0.0,
        "null_high": 0.1,
        "p": 0.0004,
        "p_holm": 0.002,
        "mde": 0.125,
        "changed": "no",
        "k": 10,
    }
    text = written("position", frame(row(**told, paper_low=0.0, paper_high=0.114)))
    assert lines(text) == [
        {
            "judge": "mine",
            "quantity": "Cramer's V",
            "k": "10",
            "ours [interval]": "0.250 [0.150, 0.350]",
            "without bias": "0.000 to 0.100",
            "p, uncorrected": "4.0e-04",
            "p, Holm": "0.002",
            "MDE": "0.125",
            "tests differ": "no",
            "n": "24",
            "prompts": "12",
            "unparsed": "0",
            "paper": "0.000 to 0.114",
        }
    ]
    assert "In all rows: data set d, scheme base, size 5." in text


def test_names_that_differ_are_columns_and_no_other():
    [one, two] = lines(written("position", frame(row(), row(dataset="e", temperature=0.0))))
    assert (one["dataset"], two["dataset"]) == ("d", "e")
    assert "scheme" not in one and "temperature" not in one  # one value, or lacking


def test_places_stand_side_by_side():
    shares = [
        row("position_share", 0.2 * n, condition=f"place {n}", count=n, null_low=low, null_high=0.3)
        for n, low in ((1, 0.2), (2, 0.1))
    ]
    [line] = lines(written("position", frame(*shares)))
    assert line["place 1"] == "0.200 [0.100, 0.300] (1)" and line["place 2"] == "0.400 [0.300, 0.500] (2)"
    assert line["without bias"] == "0.100 to 0.300"
    assert "condition" not in line and "quantity" not in line


def test_numbers_of_orders_are_lines_and_strategies_columns():
    curve = [row("gain_share", k / 10, condition=c, k=k) for k in (2, 3) for c in ("balanced", "fixed")]
    curve[2]["published"], curve[2]["published_id"] = 0.7, claim("025")
    two, three = lines(written("k_curve", frame(*curve)))
    assert (two["k"], three["k"]) == ("2", "3")
    assert two["balanced"] == two["fixed"] == "0.200 [0.100, 0.300]"
    assert (two["balanced, paper"], three["balanced, paper"]) == ("", "0.700")
    assert "fixed, paper" not in two


def test_a_column_tells_what_was_lost_in_itself():
    told = {"balanced": (3, "n/a: no gain; instrument check"), "fixed": (0, "instrument check")}
    curve = [
        row("gain_share", condition=name, k=2, undefined_resamples=lost, note=note, gate="failed")
        for name, (lost, note) in told.items()
    ]
    text = written("k_curve", frame(*curve))
    [line] = lines(text)
    assert line["balanced"] == "0.250 [0.150, 0.350], 3 undefined"
    assert line["fixed"] == "0.250 [0.150, 0.350]"
    assert line["note"] == "n/a: no gain; instrument check"
    assert "undefined resamples" not in line and "* undefined: " in text
    assert "* undefined: " not in written("k_curve", frame(*curve[1:]))


def test_a_note_of_the_second_column_is_not_lost():
    notes = {"balanced": "few", "random": "n/a: no gain; few"}
    curve = [row("gain_share", condition=name, k=2, note=note) for name, note in notes.items()]
    assert lines(written("k_curve", frame(*curve)))[0]["note"] == "n/a: no gain; few"


def test_what_a_page_does_not_show_it_does_not_explain():
    side_by_side = row("pearson", condition="balanced - random", k=2, mde=0.1)
    assert "MDE" not in written("k_curve", frame(side_by_side)).split("\n\n", 2)[2]
    assert "* MDE: " in written("agreement", frame(side_by_side))


def test_a_curve_says_which_items_it_leaves_out(page):
    assert "under some strategy gives none are left out at every k" in page["k_curve"]


def test_ways_to_a_score_are_lines_and_priors_stand_below(page):
    found = lines(page["calibration"])
    ways = [line["condition"] for line in found if line.get("r with the reference")]
    if ways:  # eight items may be too few to hold some out
        assert "corrected expected score" in ways
        assert sum("place 5" in line for line in found) == 2


def test_statuses_are_counts_side_by_side(page):
    [line] = [line for line in lines(page["answers"]) if line.get("scheme") == "cot"]
    assert int(line["ok"]) + int(line["unparsed"]) == int(line["answers due"]) == 80
    assert "[" in line["ok rate [interval]"]


def test_a_limit_is_told_once_and_calls_in_every_line():
    told = {"calls": 1.25, "limit": 0.05, "condition": "corrected answer"}
    text = written("calibration", frame(*(row(name, **told) for name in ("r_reference", "r_other_orders"))))
    assert lines(text)[0]["calls"] == "1.250" and "limit 0.05" in text and "limit" not in lines(text)[0]


def test_what_was_lost_is_shown_where_there_is_any():
    [line] = lines(written("ranking", frame(row("kendall_tau", n_contests=9, n_undefined=0))))
    assert line["contests"] == "9" and "without a tau" not in line
    [line] = lines(written("ranking", frame(row("kendall_tau", n_contests=9, n_undefined=2))))
    assert line["without a tau"] == "2"


def test_the_readme_finds_whatever_it_shows(tmp_path):
    """Every marker names a table, columns and rows that are made; a question has one row a prompt arm."""
    for name, rows in tables().items():
        told = list(pages.page(name, rows, "smoke", 0.95))
        reporting.write(tmp_path / f"rubric_position_bias/{name}.csv", rows, told)
    text = README.read_text(encoding="utf-8")
    filled = readme.fill(text, readme.Tables(tmp_path, README.parent))
    assert filled.count("profile smoke") >= 15
    assert "passes the competence gate under base" in filled.split("## Findings")[1]


# --- The paper and the gate -------------------------------------------------------------------------


def test_a_count_is_told_with_of_how_many():
    told = row("pearson_cells_above_0", 1, judge="", published=8, published_id=claim("017"), n_cells=1)
    [line] = lines(written("agreement", frame(told)))
    assert (line["paper"], line["cells"]) == ("8 of 12", "1")


def test_a_place_that_the_paper_names_is_marked():
    shares = [row("position_share", condition=f"place {place}") for place in (1, 2)]
    shares[0]["published_id"] = claim("006")
    [line] = lines(written("position", frame(*shares)))
    assert line["place 1, paper"] == "over-selected" and "place 2, paper" not in line


def test_a_number_of_ones_own_comes_before_a_range():
    [line] = lines(written("logit", frame(row("sd_alpha", published=0.72, paper_low=0.1, paper_high=0.2))))
    assert line["paper"] == "0.720"


def test_nothing_is_said_of_the_paper_where_nothing_of_it_stands():
    assert "paper:" not in written("budget", frame(row("orders_needed", 3)))
    assert "* paper: " in written("logit", frame(row("sd_alpha", paper_low=0.1, paper_high=0.2)))


def test_a_gate_that_was_not_passed_is_told():
    failed = written("position", frame(row(gate="failed", note="instrument check")))
    assert lines(failed)[0]["note"] == "instrument check"
    assert "the row tells about the instrument" in failed
    few = written("position", frame(row(gate="too few to tell", note="gate not passed (too few to tell)")))
    assert "too few prompts to say that it failed" in few and "instrument check:" not in few


def test_a_row_about_several_judges_names_none():
    rows = frame(row(), row("gain_over_v", judge="", n_items=np.nan, n_clusters=np.nan, n_cells=3))
    text = written("gain", rows)
    assert "judge: mine (fingerprint none)." in text and "n/a items" not in text


def test_intended_levels_are_called_so():
    assert "nobody's rating" in written("agreement", frame(row("pearson", rater="intended")))
    assert "nobody's rating" not in written("agreement", frame(row("pearson", rater="human")))


def test_a_quantity_without_a_name_is_readable():
    assert pages.quantity_name("cramers_v") == "Cramer's V"
    assert pages.quantity_name("some_new_quantity") == "some new quantity"
