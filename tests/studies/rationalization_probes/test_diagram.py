"""Figure 1: turns in order, the lock only between notes and scores, cues where they enter, calls added up."""

import pytest
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text

from shared.reporting.figures import style
from studies.rationalization_probes.diagram import draw_protocols, lane_of
from tests.shared.reporting.drawn import texts, words
from tests.studies.rationalization_probes import scripted_tables

ALL = tuple(scripted_tables.STEPS)


def drawn(rows):
    with style():
        return draw_protocols(rows)


def only(scheme, judges=("sound",)):
    return scripted_tables.protocols(judges, [scheme])


def names(figure):
    """Each box's name and place, from left to right."""
    bold = [text for text in figure.findobj(Text) if " call" in text.get_text()]
    return [text.get_text() for text in sorted(bold, key=lambda text: text.get_position()[0])]


def locks(figure):
    return [patch for patch in figure.axes[0].patches if patch.get_gid() == "lock"]


def cues(figure):
    return [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() == "v"]


def boxes(figure):
    return [patch for patch in figure.axes[0].patches if isinstance(patch, FancyBboxPatch)]


def test_turns_stand_in_order_with_calls_of_all_judges():
    rows = only("pbp_once", ("one", "other"))
    lane = lane_of("pbp_once", rows)
    assert [turn.step for turn in lane.before] == ["notes", "score"]
    assert [turn.step for turn in lane.after] == ["reveal", "control", "narrate"]
    # 12 calls of each of two judges.
    assert [turn.calls for turn in (*lane.before, *lane.after)] == [24] * 5
    assert names(drawn(rows))[:2] == ["notes, 24 calls", "score, 24 calls"]


def test_order_is_the_positions_and_not_the_rows():
    rows = only("pbp_once")
    assert lane_of("pbp_once", rows[::-1]) == lane_of("pbp_once", rows)
    swapped = rows.assign(position=rows["position"].replace({1: 2, 2: 1}))
    assert [turn.step for turn in lane_of("pbp_once", swapped).before] == ["score"]


def test_a_turn_without_calls_did_not_run():
    rows = only("pbp_once")
    rows.loc[rows["step"].isin(["reveal", "control"]), "count"] = 0
    assert [turn.step for turn in lane_of("pbp_once", rows).after] == ["narrate"]
    rows.loc[rows["step"] != "notes", "count"] = 0
    figure = drawn(rows)
    assert names(figure) == ["notes, 12 calls"]
    assert "verdict" not in words(figure)  # none came
    rows["count"] = 0
    assert "not run with these params" in words(drawn(rows))


def test_one_call_is_no_plural():
    rows = only("pointwise").assign(count=1)
    assert names(drawn(rows)) == ["score 1, 1 call", "score 2, 1 call"]


def test_the_lock_stands_between_notes_and_scores_alone():
    # One more stands among the keys; the narration sees locked notes too, and has no lock before it.
    assert [len(locks(drawn(only(scheme)))) for scheme in ALL] == [1, 2, 1]
    figure = drawn(only("pbp_once"))
    lock = max(locks(figure), key=lambda patch: patch.get_y())
    notes, score = sorted(boxes(figure), key=lambda box: box.get_x())[:2]
    assert notes.get_x() + notes.get_width() < lock.get_x() < score.get_x()


@pytest.mark.parametrize("sees", ["locked notes", "document, both candidates"])
def test_without_its_cue_or_lock_a_turn_has_no_mark(sees):
    rows = only("pbp_once")
    whole = drawn(rows)
    rows.loc[rows["step"] == "score", "sees"] = sees
    changed = drawn(rows)
    assert len(cues(changed)) == len(cues(whole)) - 1
    assert len(locks(changed)) == (2 if sees == "locked notes" else 1)


def test_cues_enter_where_the_table_says():
    figure = drawn(only("forced"))
    # Judge, reveal, and the key; the control sees none.
    assert len(cues(figure)) == 3
    # What the triangle says, the box does not say again.
    assert "sees document, both\ncandidates\nmakes" in words(figure)


@pytest.mark.parametrize("schemes", [ALL, *[(scheme,) for scheme in ALL]])
def test_every_text_stands_in_its_box_and_on_no_other(schemes):
    rows = scripted_tables.protocols(schemes=schemes)
    rows["sees"] += ", and much more than any prompt could ever hold at one time"
    figure = drawn(rows)
    found = texts(figure)
    outlines = [box.get_window_extent() for box in boxes(figure)]
    for text, extent in found.items():
        assert figure.bbox.x0 <= extent.x0 and extent.x1 <= figure.bbox.x1, text.get_text()
        if " call" in text.get_text() or "sees" in text.get_text():
            assert any(
                outline.x0 <= extent.x0 and extent.x1 <= outline.x1
                and outline.y0 <= extent.y0 and extent.y1 <= outline.y1
                for outline in outlines
            ), text.get_text()  # fmt: skip
    pairs = [(one, two) for one in found for two in found if one is not two]
    assert not [1 for one, two in pairs if found[one].padded(-1).overlaps(found[two].padded(-1))]
