"""Marks stand where the tables have their values, ours and the paper's."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from shared.reporting.figures import GREY, INK
from studies.rubric_position_bias.calibration import METHODS
from studies.rubric_position_bias.calibration_figure import NAMES
from tests.shared.reporting.drawn import words
from tests.studies.rubric_position_bias.drawn_figures import changed, draw, drawn, marks, rings, table


def of(rows, **where):
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows


# --- Places -----------------------------------------------------------------------------------------


def test_shares_and_directions_stand_where_the_table_has_them():
    rows = of(table("two", "position"), dataset="embedded")
    left, right = drawn("position", "two").axes[:2]
    assert sorted(y for _, y, _ in marks(left)) == sorted(of(rows, quantity="position_share")["value"])
    # The failing judge stands right of the sound one, at each of five places.
    assert [colour for _, _, colour in sorted(marks(left))] == [INK, GREY] * 5
    assert [x for x, _, _ in marks(right)] == list(of(rows, quantity="direction")["value"])
    assert right.get_xlim()[0] == -right.get_xlim()[1]
    v = of(rows, quantity="cramers_v").iloc[0]
    assert f"V {v['value']:.3f}, p {v['p_holm']:.3f}" in words(left.figure)


def test_shares_start_at_0_beside_the_line_of_no_bias():
    left = drawn("position", "two").axes[0]
    assert left.get_ylim()[0] == 0
    [level] = [line.get_ydata()[0] for line in left.lines if line.get_linestyle() == "--"]
    assert level == 1 / 5


def test_the_range_without_bias_is_drawn_behind_each_mark():
    v = of(table("two", "rubric_size"), quantity="cramers_v", dataset="embedded")
    axes = drawn("rubric_size", "two").axes[0]
    bars = [tuple(line.get_ydata()) for line in axes.lines if line.get_linewidth() == 6]
    assert sorted(bars) == sorted(zip(v["null_low"], v["null_high"], strict=True))


def test_the_papers_number_of_a_judge_is_its_own_marker_hollow():
    rows = of(table("many", "rubric_size"), judge="last").assign(paper_low=np.nan, paper_high=np.nan)
    figure = draw("rubric_size", rows.assign(published=rows["size"].map({9.0: 0.22})))
    assert rings(figure.axes[0]) == [0.22]
    assert "hollow: the paper's number of this judge" in words(figure)


# --- Criteria ---------------------------------------------------------------------------------------


def test_criteria_are_centred_and_tell_w_and_the_shift():
    rows = table("two", "criterion_order")
    figure = drawn("criterion_order", "two")
    assert len(figure.axes) == 8  # two judges, four criteria
    for axes in figure.axes:
        [curve] = [line.get_ydata() for line in axes.lines if line.get_marker() == "o"]
        assert abs(np.mean(curve)) < 1e-9
    w = of(rows, quantity="kendalls_w").iloc[0]
    shift = of(rows, quantity="last_minus_first").iloc[0]
    assert f"W {w['value']:.3f}, p {w['p_holm']:.3f}\nshift {shift['value']:.3f} [" in words(figure)


def test_each_order_of_the_range_has_a_line_of_panels():
    def both(rows):
        other = rows.assign(scale="54321", gate="failed", value=rows["value"] + rows.index % 3)
        pooled = rows.iloc[:1].assign(scale="", quantity="scale_shift")
        return pd.concat([rows.assign(scale="12345"), other, pooled])

    figure = changed("criterion_order", "few", both)
    assert len(figure.axes) == 8  # one judge, two orders, four criteria
    labels = [axes.get_ylabel() for axes in figure.axes[::4]]
    assert ["from 1 to 5" in labels[0], "from 5 to 1" in labels[1]] == [True, True]
    colours = [[line.get_color() for line in axes.lines if line.get_marker() == "o"] for axes in figure.axes]
    assert colours[4:] == [[GREY]] * 4


# --- Agreement --------------------------------------------------------------------------------------


def test_curves_have_all_strategies_in_one_panel_a_judge():
    figure = drawn("k_curve", "two")
    assert len(figure.axes) == 10  # embedded and MT-Bench by five and nine options, criteria; two judges
    rows = of(table("two", "k_curve"), quantity="pearson", judge="sound", dataset="embedded", size=5)
    curves = {line.get_linestyle(): list(line.get_ydata()) for line in figure.axes[0].lines}
    for style, strategy in (("-", "balanced"), ("--", "random"), (":", "fixed")):
        assert curves[style] == list(of(rows, condition=strategy)["value"])


def test_a_share_beyond_the_axis_is_an_arrow_and_does_not_stretch_it():
    def far(rows):
        rows = rows[rows["quantity"] == "gain_share"]
        return rows.assign(value=40.0, ci_low=-30.0, ci_high=90.0)

    figure = changed("k_share", "few", far)
    assert "goes on beyond the axis" in words(figure)
    assert {axes.get_ylim() for axes in figure.axes} == {(-0.6, 1.6)}


def test_the_papers_shares_stand_at_their_k():
    """One judge and data set: no mean is drawn, and the paper's number of all judges stands beside it."""
    printed = of(table("few", "k_curve"), quantity="gain_share", setting="score", size=5)
    axes = drawn("k_share", "few").axes[0]
    assert sorted(rings(axes)) == sorted(printed["paper_low"].dropna())
    assert axes.get_title(loc="left").startswith("sound, embedded texts")
    assert "paper: Balanced at k = 3, 5; Fixed at k = 10" in words(axes.figure)


def test_gain_is_drawn_over_v_with_axes_in_common():
    rows = table("two", "gain")
    figure = drawn("gain", "two")
    cells = of(rows, quantity="gain")
    found = [(x, y) for axes in figure.axes for x, y, _ in marks(axes)]
    assert sorted(found) == sorted(zip(cells["v"], cells["value"], strict=True))
    assert len({axes.get_xlim() + axes.get_ylim() for axes in figure.axes}) == 1
    for size in (5, 9):
        assert f"Spearman's rho of gain and V over 4 cells of {size} options" in words(figure)
    assert "no rank correlation" in words(drawn("gain", "few"))


# --- Rankings ---------------------------------------------------------------------------------------


def test_changes_of_the_best_go_from_the_low_bound_to_the_high_one():
    rows = of(table("two", "ranking"), dataset="mt_bench", contest="prompt", size=5)
    shown = rows[~rows["condition"].str.contains("over")]
    bounds = shown.pivot_table(index=["judge", "condition"], columns="quantity", values="value")
    changes = drawn("ranking", "two").axes[5]  # below those of the embedded texts by five and by nine options
    boxes = [patch for container in changes.containers for patch in container]
    found = {(round(box.get_y(), 6), round(box.get_y() + box.get_height(), 6)) for box in boxes}
    assert found == {tuple(pair) for pair in bounds[["top1_change_low", "top1_change_high"]].to_numpy()}


def test_the_papers_range_of_changes_stands_beside_balanced_and_fixed():
    [low] = of(table("two", "ranking"), quantity="top1_change_low")["paper_low"].dropna().unique()
    changes = drawn("ranking", "two").axes[1]
    bars = [patch for patch in changes.patches if isinstance(patch, Rectangle) and patch.get_width() == 0.04]
    assert [(bar.get_x() < 0.5, bar.get_y()) for bar in bars] == [(True, low)]


# --- The prior and its correction -------------------------------------------------------------------


def test_the_paper_stands_beside_the_mean_of_the_arms_or_the_only_data_set():
    rows = of(table("two", "prompt_arms"), quantity="sd_alpha", judge="all")
    printed = list(rows["published"])
    assert len(printed) == 6 and np.isfinite(printed).all()
    assert [rings(axes) for axes in drawn("prompt_arms", "two").axes[::2]] == [[], [], printed]
    assert rings(drawn("prompt_arms", "few").axes[0]) == printed


def test_differences_leave_the_base_out():
    right = drawn("prompt_arms", "two").axes[1]
    assert right.get_xlim() == (0.5, 5.5)
    differences = of(table("two", "prompt_arms"), quantity="sd_alpha_difference", dataset="embedded")
    assert sorted(y for _, y, _ in marks(right)) == sorted(differences["value"])


def test_temperature_and_effort_have_lines_of_their_own():
    temperature, _, effort, _ = drawn("temperature", "few").axes
    assert [label.get_text() for label in temperature.get_xticklabels()] == ["0", "0.3", "0.6", "1"]
    assert [label.get_text() for label in effort.get_xticklabels()] == ["low", "high"]
    assert effort.get_xlabel().startswith("reasoning effort\n")


@pytest.mark.parametrize("which", ["two", "many"])
def test_corrections_have_r_above_and_shares_below(which):
    rows = of(table(which, "calibration"), dataset="embedded")
    r, shares = drawn("calibration", which).axes[:2]
    assert sorted(y for _, y, _ in marks(r)) == sorted(of(rows, quantity="r_reference")["value"])
    defined = of(rows, quantity="gain_share")["value"].dropna()
    assert sorted(y for _, y, _ in marks(shares)) == sorted(defined)


def test_every_way_to_a_score_has_a_name():
    assert set(NAMES) == set(METHODS)
