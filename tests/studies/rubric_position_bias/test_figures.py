"""All figures of the study: the same bytes twice, n, n/a, the gate, and tables that are empty or absent."""

from functools import partial

import numpy as np
import pytest

from shared.reporting import tables
from shared.reporting.figures import GREY, INK, MARKERS, FiguresError, caption_of
from studies.rubric_position_bias import figures
from studies.rubric_position_bias.figures import FIGURES
from tests.shared.reporting.drawn import has_values, words
from tests.studies.rubric_position_bias.drawn_figures import changed, drawn, table


def test_all_figures_the_same_bytes_twice(tmp_path):
    for drawing in FIGURES.values():
        tables.write(tmp_path / f"{drawing.table}.csv", table("few", drawing.table), [])
    for run in ("one", "two"):
        figures.write_all(tmp_path, tmp_path / run)
    assert {path.stem for path in (tmp_path / "one").iterdir()} == set(FIGURES)
    for name, drawing in FIGURES.items():
        one, two = (tmp_path / run / f"{name}.svg" for run in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
        assert caption_of(one).title == drawing.caption
        assert caption_of(one).source == (tmp_path / f"{drawing.table}.csv").as_posix()
        assert one.stat().st_size < 250_000, name


def test_a_table_that_is_absent_is_named_with_the_fix(tmp_path):
    with pytest.raises(FiguresError, match=r"position\.csv is absent; run `make repro`"):
        figures.write_all(tmp_path, tmp_path / "figures")


@pytest.mark.parametrize("name", FIGURES)
def test_an_empty_table_says_so(name):
    assert "not run with these params" in words(changed(name, "few", lambda rows: rows[:0]))


@pytest.mark.parametrize("name", FIGURES)
def test_what_the_numbers_rest_on_is_said(name):
    said = words(drawn(name, "few"))
    assert "6 prompts" in said and "too few to conclude" in said
    if name != "k_share":  # a mean over judges and data sets
        assert "n = " in said


@pytest.mark.parametrize("name", FIGURES)
def test_the_undefined_is_marked_and_not_drawn(name):
    figure = changed(name, "few", lambda rows: rows.assign(value=np.nan, ci_low=np.nan, ci_high=np.nan))
    assert "n/a" in words(figure)
    assert not has_values(figure, MARKERS) and has_values(drawn(name, "few"), MARKERS)


@pytest.mark.parametrize("name", FIGURES)
def test_what_failed_the_gate_is_grey_on_a_hatched_ground(name):
    failed = changed(name, "few", partial(with_gate, "failed"))
    assert "instrument check" in words(failed)
    assert colours(failed) == {GREY}
    assert any(patch.get_hatch() for panel in failed.axes for patch in panel.patches)


@pytest.mark.parametrize("name", FIGURES)
def test_what_passed_the_gate_is_black(name):
    passed = changed(name, "few", partial(with_gate, "passed"))
    assert "instrument check" not in words(passed) and "gate not passed" not in words(passed)
    assert colours(passed) == {INK}


def with_gate(gate, rows):
    """Rows of one judge each have this gate; those about several have none."""
    return rows.assign(gate=rows["gate"].where(rows["gate"] == "", gate))


def colours(figure):
    """Of the judges' marks and curves; the paper's are hollow rings."""
    lines = [line for panel in figure.axes for line in panel.lines if line.get_marker() in MARKERS]
    return {line.get_markeredgecolor() for line in lines}
