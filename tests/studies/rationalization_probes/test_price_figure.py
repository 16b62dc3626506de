"""The figure of the price: Blind's values by number of errors, and the price, or why there is none."""

import itertools

import pytest

from shared.reporting.figures import GREY, INK, style
from studies.rationalization_probes.price_figure import draw_price, price_lines
from tests.shared.reporting.drawn import texts, words
from tests.studies.rationalization_probes import scripted_tables

BOTH = ("sound", "failing")


def drawn(rows):
    with style():
        return draw_price(rows)


def marks(axes, colour):
    lines = [line for line in axes.lines if line.get_color() == colour and line.get_marker() in ("o", "s")]
    return [tuple(map(float, line.get_xydata()[0])) for line in lines]


def test_sensitivity_stands_over_ties_by_level_under_blind():
    figure = drawn(scripted_tables.price(schemes=("forced", "scot")))
    above, _, below, _ = figure.axes
    # 0.2 a level; what came under Truth, 0.8 and 0.9, is not drawn.
    assert marks(above, INK) == [pytest.approx((level, 0.2 * level)) for level in (1, 2, 3)]
    assert marks(below, INK) == [(level, 0.5) for level in (1, 2, 3)]
    assert (above.get_ylim(), below.get_ylim()) == ((-1, 1), (0, 1))
    assert "n = 16 items" in words(figure)


def test_the_price_is_told_or_why_there_is_none():
    rows = scripted_tables.price(BOTH, ("scot",))
    prices = rows[rows["quantity"] == "price_in_errors"]
    assert price_lines(prices[prices["judge"] == "sound"]) == ["price 1.500 [1.000,", "2.000]"]
    said = " ".join(price_lines(prices))
    assert "sound: price 1.500" in said
    assert "failing: n/a: the judge does not react to errors" in said
    assert price_lines(prices[:0]) == []


def test_judges_stand_side_by_side_and_grey_without_the_gate():
    figure = drawn(scripted_tables.price(BOTH, ("scot",)))
    sound, failing = (marks(figure.axes[0], colour) for colour in (INK, GREY))
    assert [x for x, _ in sound] == pytest.approx([0.88, 1.88, 2.88])
    assert [x for x, _ in failing] == pytest.approx([1.12, 2.12, 3.12])
    assert [patch.get_hatch() for patch in figure.axes[0].patches] == ["////"] * 3


def test_undefined_is_not_available_and_another_task_is_left_out():
    rows = scripted_tables.price(schemes=("scot",))
    rows.loc[rows["quantity"] == "sensitivity", ["value", "ci_low", "ci_high"]] = float("nan")
    figure = drawn(rows)
    assert words(figure).count("n/a") == 3 and marks(figure.axes[0], INK) == []
    assert "not run with these params" in words(drawn(rows.assign(kind="qa_damage")))


@pytest.mark.parametrize("judges", [("sound",), BOTH])
def test_no_text_lies_upon_another(judges):
    schemes = ("baseline", "forced", "scot", "scot_no_conciseness", "pbp_once", "pbp_grafted")
    found = texts(drawn(scripted_tables.price(judges, schemes)))
    for (one, box), (other, there) in itertools.combinations(found.items(), 2):
        assert not box.padded(-1).overlaps(there.padded(-1)), (one.get_text(), other.get_text())
