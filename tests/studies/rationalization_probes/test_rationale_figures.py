"""Figures 5-7: the right rows of each table, floors and Blind beside, the paper's numbers in their column."""

import itertools

import pytest
from matplotlib.patches import Rectangle

from shared.reporting.figures import GREY, INK, style
from studies.rationalization_probes.rationale_figures import draw_alignment, draw_attack, draw_drift
from tests.shared.reporting.drawn import texts, words
from tests.studies.rationalization_probes import scripted_tables

BOTH = ("sound", "failing")
FOUR = len(scripted_tables.SCHEMES)


def drawn(draw, *told):
    with style():
        return draw(*told)


def marks(axes, marker, colour):
    """Heights of single marks."""
    found = [line for line in axes.lines if line.get_marker() == marker and line.get_color() == colour]
    return [line.get_ydata()[0] for line in found if len(line.get_xdata()) == 1]


def ranges(axes):
    """The paper's bars as (low, high)."""
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle) and patch.get_width() == 0.05]
    return [(round(bar.get_y(), 6), round(bar.get_y() + bar.get_height(), 6)) for bar in bars]


def test_drift_has_a_panel_a_probe_with_both_floors():
    figure = drawn(draw_drift, scripted_tables.drift(BOTH))
    assert [axes.get_title(loc="left").partition(";")[0] for axes in figure.axes] == [
        "Truth",
        "Flip",
        "Placebo",
    ]
    for axes in figure.axes:
        # Over same decisions 0.4 each; 0.9, which is over all pairs, is nowhere.
        assert (marks(axes, "o", INK), marks(axes, "s", GREY)) == ([0.4] * FOUR, [0.4] * FOUR)
        assert (marks(axes, "_", GREY), marks(axes, "x", GREY)) == ([0.1] * 2 * FOUR, [0.2] * 2 * FOUR)
        # The baseline, which may tie, is none of the paper's.
        assert ranges(axes) == [(0.75, 0.81)] * (FOUR - 1)
    said = words(figure)
    assert "Blind sampled again" in said and "an empty label line" in said and "instrument check" in said
    assert "paper (a range, as stated)" in said and "paper (five judges)" not in said


def test_a_floor_that_was_not_run_is_not_in_the_keys():
    rows = scripted_tables.drift()
    figure = drawn(draw_drift, rows[rows["condition"] != "resample"])
    assert "Blind sampled again" not in words(figure) and marks(figure.axes[0], "x", GREY) == []


def test_alignment_stands_beside_blind_and_half():
    figure = drawn(draw_alignment, scripted_tables.alignment(("sound",)))
    for axes in figure.axes:
        assert marks(axes, "o", INK) == [0.7] * FOUR  # the mean over wordings, not the 0.95 of one
        assert marks(axes, "_", GREY) == [0.6] * FOUR
        assert 0.5 in [line.get_ydata()[0] for line in axes.lines if list(line.get_xdata()) == [0, 1]]
        assert ranges(axes) == [(0.25, 0.35), (0, 0.1)] * (FOUR - 1)
        assert [list(line.get_ydata()) for line in axes.lines].count([0.43]) == FOUR - 1


def test_a_probe_that_was_not_run_says_so_in_its_panel():
    for draw, rows in ((draw_drift, scripted_tables.drift()), (draw_alignment, scripted_tables.alignment())):
        figure = drawn(draw, rows[rows["condition"] != "placebo"])
        assert words(figure).count("not run with these params") == 1
        # A line at 0.5 would be a value that nobody measured.
        assert not figure.axes[2].lines


def test_no_unchanged_decision_is_not_available_and_not_zero():
    rows = scripted_tables.drift()
    rows.loc[rows["scheme"] == "scot", ["value", "ci_low", "ci_high", "n_items", "n_clusters"]] = [
        float("nan"), float("nan"), float("nan"), 0, 0,
    ]  # fmt: skip
    figure = drawn(draw_drift, rows)
    assert words(figure).count("n/a") == 3 and "n = 0 items" in words(figure)
    assert marks(figure.axes[0], "o", INK) == [0.4] * (FOUR - 1)


@pytest.mark.parametrize("attack", ["verbosity", "confidence"])
def test_an_attack_has_four_panels_of_equal_pairs(attack):
    figure = drawn(draw_attack, attack, scripted_tables.attack(attack, BOTH))
    assert len(figure.axes) == 4
    for axes, value in zip(figure.axes, (0.5, 0.1, 0.15, 0.6), strict=True):
        # 0.9 is what identical pairs gave.
        assert (marks(axes, "o", INK), marks(axes, "s", GREY)) == ([value] * FOUR, [value] * FOUR)
    lao, lds, _, aligned = figure.axes
    assert marks(lao, "_", GREY) == [0.3] * 2 * FOUR  # the empty line beside each mark
    # Each axis ends soon above what it holds: LDS at 0.14, LAO at 0.97.
    assert (lds.get_ylim(), lao.get_ylim()) == ((0, 0.2), (0, 1))
    assert ranges(aligned)[-1] == ((0.15, 0.26) if attack == "verbosity" else (0.18, 0.26))


def test_only_the_figures_own_attack_is_drawn():
    rows = scripted_tables.attack("confidence")
    assert "not run with these params" in words(drawn(draw_attack, "verbosity", rows))


def test_no_text_lies_upon_another():
    schemes = ("baseline", "forced", "scot", "scot_no_conciseness", "pbp_once", "pbp_no_conciseness")
    figures = [
        drawn(draw_drift, scripted_tables.drift(BOTH, schemes)),
        drawn(draw_alignment, scripted_tables.alignment(BOTH, schemes)),
        drawn(draw_attack, "verbosity", scripted_tables.attack("verbosity", BOTH, schemes)),
    ]
    for figure in figures:
        for (one, box), (other, there) in itertools.combinations(texts(figure).items(), 2):
            assert not box.padded(-1).overlaps(there.padded(-1)), (one.get_text(), other.get_text())
