"""The headline figure: who stands where, black only for what passed, and the ground that means invariant."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import Rectangle

from shared.reporting.figures import INK, style
from studies.rationalization_probes.invariance_figure import NOBODY, draw_invariance, floor_of, spread
from tests.shared.reporting.drawn import texts, words
from tests.studies.rationalization_probes import scripted_tables

BOTH = ("sound", "failing")


def drawn(rows):
    with style():
        return draw_invariance(rows)


def marks(figure):
    """Place, size and fill of each mark."""
    lines = [line for line in figure.axes[0].lines if line.get_marker() in ("o", "s")]
    return [
        (*map(float, line.get_xydata()[0]), line.get_markersize(), line.get_markerfacecolor())
        for line in lines
    ]


def ground(figure):
    [found] = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    return found.get_x(), found.get_y(), found.get_width(), found.get_height()


def test_marks_stand_where_the_table_has_them():
    figure = drawn(scripted_tables.invariance())
    # The k-th scheme at 0.1 k, 0.05 k; all of sensitivity 0.5, so all of one size.
    places = sorted((x, y) for x, y, _, _ in marks(figure))
    assert places == [pytest.approx((0.1 * k, 0.05 * k)) for k in range(4)]
    assert len({size for _, _, size, _ in marks(figure)}) == 1


def test_only_what_passed_is_black_and_has_a_size():
    figure = drawn(scripted_tables.invariance(BOTH))
    found = marks(figure)
    assert [fill for *_, fill in found].count(INK) == [fill for *_, fill in found].count("none") == 4
    # Area 20 without sensitivity, 420 at 1, so 220 at 0.5.
    sizes = {fill: size for _, _, size, fill in found}
    assert sizes == pytest.approx({INK: math.sqrt(220), "none": math.sqrt(20)})
    said = words(figure)
    assert NOBODY not in said and "gate not passed" in said and "sensitivity 0.500" in said


def test_where_nobody_passed_the_figure_says_so():
    said = words(drawn(scripted_tables.invariance(("failing",))))
    assert NOBODY in said and "sensitivity 0.1" not in said.splitlines()  # no key to sizes that are not there
    assert all(fill == "none" for *_, fill in marks(drawn(scripted_tables.invariance(("failing",)))))


def test_a_gate_that_was_not_asked_is_not_passed():
    rows = scripted_tables.invariance().assign(gate="")
    said = words(drawn(rows))
    assert NOBODY in said and "competence gate not asked" in said


def test_changing_all_signs_mirrors_the_figure():
    rows = scripted_tables.invariance()
    mirrored = rows.copy()
    shifts = rows["quantity"] != "sensitivity"
    mirrored.loc[shifts, ["value", "ci_low", "ci_high"]] = -rows.loc[
        shifts, ["value", "ci_high", "ci_low"]
    ].to_numpy()
    there, back = (sorted(marks(drawn(table))) for table in (rows, mirrored))
    for (x, y, *_), (x_back, y_back, *_) in zip(there, reversed(back), strict=True):
        assert (-x_back, -y_back) == pytest.approx((x, y))


def test_the_ground_is_the_floor_of_what_passed_and_nothing_without_one():
    rows = scripted_tables.invariance(floor=0.2)
    assert ground(drawn(rows)) == pytest.approx((-0.2, -0.2, 0.4, 0.4))
    assert "cue-invariant (within the noise floor)" in words(drawn(rows))
    # What can't be detected is not invariant: without a floor no ground is drawn, whatever the MDE.
    unasked = rows.assign(floor_low=float("nan"), floor_high=float("nan"), mde=0.3)
    assert "cue-invariant (" not in words(drawn(unasked)) and not drawn(unasked).axes[0].patches
    nobody = rows.assign(gate="failed")
    assert "cue-invariant (" not in words(drawn(nobody)) and not drawn(nobody).axes[0].patches


def test_the_floor_is_the_least_and_at_most_1():
    def row(low, high):
        return {"floor_low": low, "floor_high": high}

    assert floor_of([row(-0.1, 0.05), row(0.0, 0.3), row(-0.2, 0.1)]) == 0.1
    assert floor_of([row(-2.0, 0.0)]) == 1
    assert math.isnan(floor_of([row(math.nan, math.nan)])) and math.isnan(floor_of([]))


def test_what_is_undefined_is_named_and_not_placed():
    rows = scripted_tables.invariance()
    lost = (rows["scheme"] == "scot") & (rows["quantity"] == "rationale_shift")
    rows.loc[lost, ["value", "ci_low", "ci_high"]] = float("nan")
    figure = drawn(rows)
    assert len(marks(figure)) == 3
    assert "n/a, not drawn: SCoT (sound)" in words(figure)
    rows.loc[rows["quantity"] == "outcome_shift", "value"] = float("nan")
    assert marks(drawn(rows)) == []
    # A row that is lacking altogether is as good as undefined.
    assert marks(drawn(rows[rows["quantity"] == "sensitivity"])) == []


def test_another_task_is_left_out():
    rows = scripted_tables.invariance()
    other = rows.assign(kind="qa_equal", scheme="pbp_repeated")
    assert "not run with these params" in words(drawn(other))


@pytest.mark.parametrize("judges", [("sound",), BOTH, ("one", "two", "three")])
def test_no_text_lies_upon_another_or_outside(judges):
    schemes = ("baseline", "forced", "scot", "scot_no_conciseness", "pbp_once", "pbp_repeated", "pointwise")
    rows = scripted_tables.invariance(judges, schemes)
    shifts = rows["quantity"] != "sensitivity"
    rows.loc[shifts, ["value", "ci_low", "ci_high"]] *= 0.01  # all marks on one spot
    figure = drawn(rows)
    found = texts(figure)
    for text, box in found.items():
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, text.get_text()
    for (one, box), (other, there) in itertools.combinations(found.items(), 2):
        assert not box.padded(-1).overlaps(there.padded(-1)), (one.get_text(), other.get_text())


def test_labels_stay_where_they_have_room():
    assert spread([0.9, 0.5, 0.1], 0.1) == [0.9, 0.5, 0.1]
    # The middle one yields to the one above, the last to the frame.
    assert spread([0.5, 0.5, 0.0], 0.1) == pytest.approx([0.5, 0.4, 0.05])
    assert spread([], 0.1) == []


@given(st.lists(st.floats(-1, 2), max_size=30), st.floats(0.001, 0.5))
def test_labels_never_touch_and_stay_inside(wanted, gap):
    heights = spread(sorted(wanted, reverse=True), gap)
    apart = min(gap, 1 / max(len(wanted), 1))
    assert all(one - other >= apart - 1e-9 for one, other in itertools.pairwise(heights))
    assert all(apart / 2 - 1e-9 <= height <= 1 - apart / 2 + 1e-9 for height in heights)
