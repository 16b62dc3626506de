"""All figures of the study: the same bytes twice, n, n/a, the gate, and tables that are empty or absent."""

from functools import partial

import numpy as np
import pytest

from shared.reporting import tables
from shared.reporting.figures import GREY, INK, FiguresError, caption_of
from studies.evidence_lock import figures
from studies.evidence_lock.figures import FIGURES
from tests.shared.reporting.drawn import has_values, words
from tests.studies.evidence_lock.drawn_figures import FILLED, changed, colours, drawn, table


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
    with pytest.raises(FiguresError, match=r"agreement\.csv is absent; run `make repro`"):
        figures.write_all(tmp_path, tmp_path / "figures")


@pytest.mark.parametrize("name", FIGURES)
def test_an_empty_table_says_so(name):
    assert "not run with these params" in words(changed(name, "few", lambda rows: rows[:0]))


@pytest.mark.parametrize("name", FIGURES)
def test_what_the_numbers_rest_on_is_said(name):
    said = words(drawn(name, "few")).replace("\n", " ")
    assert "n = " in said and "questions" in said and "too few to conclude" in said


@pytest.mark.parametrize("name", FIGURES)
def test_the_undefined_is_marked_and_not_drawn(name):
    figure = changed(name, "few", lambda rows: rows.assign(value=np.nan, ci_low=np.nan, ci_high=np.nan))
    assert "n/a" in words(figure)
    assert not has_values(figure, FILLED) and has_values(drawn(name, "few"), FILLED)


@pytest.mark.parametrize("name", FIGURES)
def test_what_failed_the_gate_is_grey_on_a_hatched_ground(name):
    failed = changed(name, "few", partial(with_gate, "failed"))
    assert "instrument check" in words(failed)
    assert colours(failed) == {GREY}
    grounds = [ground for panel in failed.axes for ground in (*panel.patches, *panel.collections)]
    assert any(ground.get_hatch() for ground in grounds)


@pytest.mark.parametrize("name", FIGURES)
def test_what_passed_the_gate_is_black(name):
    passed = changed(name, "few", partial(with_gate, "passed"))
    assert "instrument check" not in words(passed) and "gate not passed" not in words(passed)
    assert colours(passed) == {INK}


def with_gate(gate, rows):
    return rows.assign(gate=gate)
