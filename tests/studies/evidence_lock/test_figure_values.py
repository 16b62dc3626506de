"""Marks stand where the tables have their values, ours and the paper's."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from shared.reporting import published
from studies.evidence_lock.bundle_figure import starts
from studies.evidence_lock.coverage_figure import units_of
from studies.evidence_lock.params import SCHEMES
from studies.evidence_lock.plane_figure import LARGEST, MARKERS, round_down, side_by_side
from tests.shared.reporting.drawn import hollow, words
from tests.studies.evidence_lock.drawn_figures import bars, changed, draw, drawn, marks, table


def of(rows, **where):
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows


# --- The plane --------------------------------------------------------------------------------------


def points(which, judge):
    rows = of(table(which, "agreement"), judge=judge, naming="neutral", subset="", dataset="embedded")
    return rows.pivot_table(index=["scheme", "writer"], columns="quantity", values="value")


@pytest.mark.parametrize(("place", "judge"), [(0, "sound"), (1, "failing")])
def test_protocols_stand_at_their_inconsistency_and_agreement(place, judge):
    found = [(x, y) for x, y, _ in marks(drawn("plane", "two").axes[place])]
    apart = points("two", judge).drop_duplicates(["inconsistency", "agreement"], keep=False)
    assert len(apart) > 4
    for x, y in apart[["inconsistency", "agreement"]].to_numpy():
        assert any(there == pytest.approx((x, y)) for there in found)
    assert len(found) == len(points("two", judge)) == len(SCHEMES)


def test_crosses_are_the_intervals():
    rows = of(table("two", "agreement"), judge="sound", scheme="lock", naming="neutral", subset="")
    lines = [line for line in drawn("plane", "two").axes[0].lines if len(line.get_xdata()) == 2]
    found = {tuple(np.round(line.get_ydata(), 6)) for line in lines}
    [y] = of(rows, quantity="agreement")[["ci_low", "ci_high"]].round(6).itertuples(index=False, name=None)
    assert y in found
    found = {tuple(np.round(line.get_xdata(), 6)) for line in lines}
    [x] = (
        of(rows, quantity="inconsistency")[["ci_low", "ci_high"]].round(6).itertuples(index=False, name=None)
    )
    assert x in found


def test_areas_are_proportional_to_tokens():
    tokens = points("two", "sound")["tokens"]
    every = of(table("two", "agreement"), quantity="tokens")["value"].max()
    discs = [disc for disc in drawn("plane", "two").axes[0].collections if not disc.get_hatch()]
    areas = sorted(disc.get_sizes()[0] for disc in discs)
    assert areas == pytest.approx(sorted(LARGEST * tokens / every))


def test_without_tokens_there_are_marks_and_no_discs():
    figure = changed("plane", "two", lambda rows: rows[rows["quantity"] != "tokens"])
    assert "tokens" not in words(figure) and "tokens" in words(drawn("plane", "two"))
    assert len(marks(figure.axes[0])) == len(SCHEMES)
    assert all(disc.get_hatch() for axes in figure.axes for disc in axes.collections)


def test_the_papers_points_stand_beside_ours_and_those_without_an_x_in_the_strip():
    def share(number):
        return published.value(f"evidence_lock.claim.003-{number}") / 100

    axes = drawn("plane", "few").axes[0]
    printed = hollow(axes)
    # Claude under Structured and under the lock; the other agreements are printed without an inconsistency.
    placed = {(share("021"), share("014")), (share("022"), share("015"))}
    assert placed < set(printed)
    rest = set(printed) - placed
    assert {y for _, y in rest} == {share(number) for number in ("016", "017", "018", "019")}
    [x] = {x for x, _ in rest}
    assert x > max(x for x, _, _ in marks(axes)) and max(axes.get_xticks()) < x


def test_a_protocol_that_has_no_place_is_named():
    def lacking(rows):
        lost = (rows["scheme"] == "lock") & (rows["quantity"] == "inconsistency")
        return rows.assign(value=rows["value"].mask(lost))

    figure = changed("plane", "few", lacking)
    assert "n/a: Evidence Lock" in words(figure)
    assert len(marks(figure.axes[0])) == len(points("few", "sound")) - 1


def test_letters_and_subsets_are_not_in_the_plane():
    rows = table("few", "agreement")
    more = pd.concat([rows, of(rows, naming="neutral").assign(subset="law", value=0.123)])
    assert 0.123 not in {y for _, y, _ in marks(draw("plane", more).axes[0])}
    assert (rows["naming"] == "letters").any()


def test_marks_on_one_point_stand_side_by_side_around_it():
    found = side_by_side(pd.DataFrame({"x": [0.2, 0.2, 0.5, 0.2], "y": [0.7, 0.7, 0.7, 0.6]}), 0.1)
    assert list(found["x"]) == pytest.approx([0.15, 0.25, 0.5, 0.2])


def test_every_protocol_has_a_marker_of_its_own():
    assert set(MARKERS) == set(SCHEMES) and len(set(MARKERS.values())) == len(SCHEMES)


def test_round_down_keeps_one_digit():
    assert [round_down(number) for number in (1.0, 9.99, 697.2, 4183.0)] == [1.0, 9.0, 600.0, 4000.0]


# --- Differences ------------------------------------------------------------------------------------


def test_differences_stand_where_the_table_has_them():
    for axes, quantity in zip(drawn("differences", "two").axes, ("agreement", "inconsistency"), strict=True):
        values = of(table("two", "differences"), quantity=quantity)["value"]
        assert sorted(x for x, _, _ in marks(axes)) == sorted(values)


def test_the_range_that_the_test_misses_lies_behind_each_mark():
    mde = of(table("two", "differences"), quantity="agreement")["mde"].dropna()
    found = bars(drawn("differences", "two").axes[0], "x")
    assert sorted(found) == sorted((-effect, effect) for effect in mde)


def test_the_papers_points_of_the_loss_stand_below_the_lock():
    axes = drawn("differences", "few").axes[0]
    low, high = published.bounds("evidence_lock.claim.003-013")
    boxes = [patch for patch in axes.patches if isinstance(patch, Rectangle) and patch.get_height() == 0.1]
    places = {text.get_text(): y for text, y in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)}
    found = {(round(box.get_x(), 6), round(box.get_x() + box.get_width(), 6)): box.get_y() for box in boxes}
    assert (-high / 100, -low / 100) in found
    lock = places["Evidence Lock"]
    assert any(lock - 0.5 < box.get_y() < lock - 0.3 for box in boxes)


def test_letters_have_lines_of_their_own_below():
    axes = drawn("differences", "two").axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "Standard",
        "Evidence Lock",
        "Pointwise Lock",
        "Structured's evidence, frozen",
        "record and source",
        "one conversation",
        "source read again",
        "another's record (failing)",
        "another's record (sound)",
        "Evidence Lock, letters",
    ]


def test_an_interval_beyond_the_axis_ends_in_an_arrow():
    def far(rows):
        first = rows.index == rows.index[rows["quantity"] == "agreement"][0]
        return rows.assign(ci_high=rows["ci_high"].mask(first, 90.0))

    figure = changed("differences", "few", far)
    assert "goes on beyond the axis" in words(figure)
    assert figure.axes[0].get_xlim()[1] < 5


# --- The bundle -------------------------------------------------------------------------------------


def test_steps_lead_from_structured_to_the_lock():
    rows = of(table("few", "bundle"), quantity="agreement")
    by = rows.set_index("condition")["value"]
    axes = drawn("bundle", "few").axes[0]
    at = {y: x for x, y, _ in marks(axes)}
    one, two, three = by["second call"], by["record frozen"], by["source removed"]
    assert [at[-place] for place in range(4)] == pytest.approx(
        [one, one + two, one + two + three, by["all steps"]]
    )
    assert at[-2] == pytest.approx(at[-3])
    starts_and_sizes = [(bar.get_x(), bar.get_width()) for bar in axes.containers[2]]
    assert starts_and_sizes == [pytest.approx((one + two, three))]


def test_an_interval_is_that_of_its_step_alone():
    row = of(table("few", "bundle"), quantity="agreement", condition="source removed").iloc[0]
    axes = drawn("bundle", "few").axes[0]
    end = {y: x for x, y, _ in marks(axes)}[-2]
    shift = end - row["value"]
    lines = [tuple(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 2]
    assert any(ends == pytest.approx((row["ci_low"] + shift, row["ci_high"] + shift)) for ends in lines)


def test_a_step_begins_where_the_last_one_ends_or_back_from_the_whole():
    assert starts(np.array([0.1, -0.2, 0.05]), -0.05) == pytest.approx([0, 0.1, -0.1])
    # The first was not run: the last begins at -0.3 - 0.1 = -0.4, and that before it is unknown with its end.
    assert starts(np.array([np.nan, np.nan, 0.1]), -0.3) == pytest.approx([0, 0, -0.4])
    assert starts(np.array([np.nan, 0.1, 0.1]), np.nan) == pytest.approx([0, 0, 0])


def test_what_was_not_run_says_so():
    figure = drawn("bundle", "few")
    assert words(figure).count("not run") == 2  # another's record needs another judge
    assert "not run" not in words(drawn("bundle", "two"))


# --- Orders -----------------------------------------------------------------------------------------


def test_rates_and_what_stands_above_the_noise_are_side_by_side():
    rows = of(table("two", "orders"), temperature=0.0)
    left, right = drawn("orders", "two").axes[:2]
    rates = rows["quantity"].isin(["through_record", "direct", "both", "noise_wording"])
    assert sorted(y for _, y, _ in marks(left)) == sorted(rows.loc[rates, "value"])
    above = rows["quantity"].str.endswith("_above_noise") | (rows["quantity"] == "through_record_less_direct")
    assert sorted(y for _, y, _ in marks(right)) == sorted(rows.loc[above, "value"])
    mde = rows.loc[above, "mde"].dropna()
    assert sorted(bars(right, "y")) == sorted((-effect, effect) for effect in mde)


def test_each_temperature_has_the_noise_that_it_was_asked_for():
    figure = drawn("orders", "two")
    names = [[label.get_text() for label in axes.get_xticklabels()] for axes in figure.axes[::2]]
    assert [labels[-1] for labels in names] == ["noise:\nwording", "noise:\nsample"]
    assert [axes.get_title("left") for axes in figure.axes[::2]] == [
        "embedded pairs, temperature 0",
        "embedded pairs, temperature 0.7",
    ]


# --- Shorter records --------------------------------------------------------------------------------


def test_what_a_record_loses_stands_over_its_cap():
    rows = of(table("few", "budgets"), scheme="lock")
    four = drawn("budgets", "few").axes
    lost = of(rows, quantity="agreement", reference="structured").sort_values("record_chars")
    assert [y for _, y, _ in sorted(marks(four[0]))] == list(lost["value"])
    assert [text.get_text() for text in four[0].get_xticklabels()] == ["72", "600"]
    for axes, quantity in ((four[2], "record_chars_written"), (four[3], "tokens")):
        values = of(rows, quantity=quantity).sort_values("record_chars")["value"]
        assert [y for _, y, _ in sorted(marks(axes))] == list(values)
    caps = [line.get_ydata()[0] for line in four[2].lines if line.get_linestyle() == "--"]
    assert caps == [72, 600]


def test_schemes_under_one_cap_alone_are_not_drawn():
    assert not any("Pointwise" in text for text in words(drawn("budgets", "few")).split("\n"))


# --- Coverage ---------------------------------------------------------------------------------------


def test_coverage_stands_by_group_with_the_number_of_units():
    rows = of(table("two", "lost"), scheme="lock")
    better, worse, tested = drawn("coverage", "two").axes[:3]
    for axes, quantity in ((better, "coverage_better"), (worse, "coverage_worse")):
        cell = of(rows, quantity=quantity)
        groups = cell[cell["condition"].isin(["lost", "kept", "gained", "neither"])]
        assert sorted(y for _, y, _ in marks(axes)) == sorted(groups["value"].dropna())
    n = of(rows, quantity="coverage_better", condition="lost")["n_trials"].iloc[0]
    assert better.get_xticklabels()[0].get_text() == f"lost\nn {n:.0f}"
    contrasts = of(rows, quantity="coverage_worse", condition="lost - gained")["value"]
    assert sorted(y for x, y, _ in marks(tested) if round(x) == 3) == sorted(contrasts)


def test_what_coverage_can_tell_is_of_the_largest_record():
    own = of(table("two", "lost"), scheme="lock", quantity="own_less_other", condition="all")
    assert set(own["record_chars"]) == {72, 600}
    tested = drawn("coverage", "two").axes[2]
    found = sorted(y for x, y, _ in marks(tested) if round(x) == 4)
    assert found == sorted(of(own, record_chars=600)["value"])


def test_numbers_of_units_are_told_from_the_least_to_the_most():
    assert units_of(pd.DataFrame({"n_trials": [4.0, 9.0, 6.0]})) == "4 to 9"
    assert units_of(pd.DataFrame({"n_trials": [4.0]})) == "n 4"
    assert units_of(pd.DataFrame({"n_trials": []})) == "none"
