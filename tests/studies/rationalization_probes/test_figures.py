"""The study's figures: the same bytes twice, what is undefined marked as such, and no text upon another."""

import itertools

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from shared.metrics.resampling import Inference
from shared.reporting.figures import GREY, INK, MARKERS, caption_of, style
from shared.reporting.tables import read
from studies.rationalization_probes import counterparts, figures, tables
from studies.rationalization_probes.figures import PLOTS, FiguresError, draw_marks, draw_revision
from studies.rationalization_probes.tables import Study
from tests.studies.rationalization_probes.scripted_judgements import every_arm, items_of

QUICK = Inference(resamples=200, permutations=200)


def written(folder, documents, *judges):
    """Tables of judges of whom the second fails the gate."""
    frames = [
        every_arm(documents, damaged=damaged).assign(judge=judge)
        for judge, damaged in zip(judges, ("1", "2"), strict=False)
    ]
    rows = pd.concat(frames, ignore_index=True)
    rows = tables.with_writers(rows, items_of(rows))
    list(tables.write_all(Study(rows, QUICK, 1, "smoke"), folder))
    return folder


@pytest.fixture(scope="module")
def two_judges(tmp_path_factory):
    return written(tmp_path_factory.mktemp("two"), 16, "sound", "failing")


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return written(tmp_path_factory.mktemp("few"), 2, "sound")


def texts(figure):
    """Every visible text, after layout, with its box."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return {text: text.get_window_extent(canvas.get_renderer()) for text in found}


def drawn(folder):
    with style():
        for plot in PLOTS.values():
            yield draw_marks(plot, read(folder / f"{plot.table}.csv"))
        yield draw_revision(read(folder / "revision.csv"))


def words(figure):
    return "\n".join(text.get_text() for text in texts(figure))


def test_all_figures_the_same_bytes_twice(two_judges, tmp_path):
    for run in ("one", "two"):
        figures.write_all(two_judges, tmp_path / run)
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert names == {f"{name}.svg" for name in (*PLOTS, figures.REVISION)}
    for name in names:
        one, two = (tmp_path / run / name for run in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
        assert caption_of(one).source.startswith(str(two_judges))


@pytest.mark.parametrize("folder", ["two_judges", "few"])
def test_no_text_lies_upon_another_or_outside(folder, request):
    for figure in drawn(request.getfixturevalue(folder)):
        for text, box in texts(figure).items():
            assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1, text.get_text()
        for (one, box), (other, there) in itertools.combinations(texts(figure).items(), 2):
            assert not box.padded(-1).overlaps(there.padded(-1)), (one.get_text(), other.get_text())


def test_n_and_marks_are_said(two_judges, few):
    for figure in drawn(two_judges):
        said = words(figure)
        assert "n = 16 items" in said and "paper (five judges)" in said and "instrument check" in said
        assert "too few to" not in said
    for figure in drawn(few):
        said = words(figure)
        assert said.count("too few to conclude") == 5  # once a scheme
        assert "instrument check" not in said and "gate not passed (too few to tell)" in said


def test_the_undefined_is_marked_and_not_drawn_at_zero(two_judges):
    plot = PLOTS["figure_04a_lao_truth"]
    rows = read(two_judges / "table_03_truth.csv")
    rows.loc[rows["quantity"] == "lao", ["value", "ci_low", "ci_high"]] = float("nan")
    with style():
        figure = draw_marks(plot, rows)
    assert words(figure).count("n/a") == 10  # two judges, five schemes
    # What is left are the paper's marks, those of its five judges in each of four schemes.
    assert [len(line.get_xdata()) for line in figure.axes[0].lines] == [5] * 4


def inks(figure):
    """The colours of our judges' marks."""
    return [line.get_color() for line in figure.axes[0].lines if line.get_marker() in MARKERS[:2] and
            len(line.get_xdata()) == 1]  # fmt: skip


def test_only_what_passed_the_gate_is_black(two_judges, few):
    plot = PLOTS["figure_02a_equality_detection"]
    with style():
        both, one = (draw_marks(plot, read(folder / f"{plot.table}.csv")) for folder in (two_judges, few))
        revision = draw_revision(read(few / "revision.csv"))
    assert inks(both) == [INK, GREY] * 5 and inks(one) == [GREY] * 5
    hatched = [[patch for patch in figure.axes[0].patches if patch.get_hatch()] for figure in (both, one)]
    assert [len(found) for found in hatched] == [5, 0]  # the judge that failed; not those too few to tell
    assert {line.get_color() for line in revision.axes[0].lines if len(line.get_xdata()) == 1} == {GREY}


def test_the_empty_line_stands_beside_lao(two_judges):
    rows = read(two_judges / "table_03_truth.csv")
    with style():
        figure = draw_marks(PLOTS["figure_04a_lao_truth"], rows)
    assert "an empty label line" in words(figure)
    marks = [line.get_ydata()[0] for line in figure.axes[0].lines if line.get_marker() == "_"]
    lao = rows[(rows["quantity"] == "lao") & (rows["coding"] == "carrier")]
    # Two judges; in four schemes the line moves ties to 1, in the forced choice nothing.
    assert [mark for mark in marks if pd.notna(mark)] == [1] * 8
    assert (len(marks), list(lao["floor_value"].dropna())) == (10, [1] * 8)


def test_figure_2b_names_the_place_on_the_screen(two_judges, tmp_path):
    figures.write_all(two_judges, tmp_path)
    assert "share_first_shown" in caption_of(tmp_path / "figure_02b_neutrality.svg").title
    assert caption_of(tmp_path / "figure_02a_equality_detection.svg").title == (
        "Equality detection under Blind"
    )


def test_values_stand_where_the_table_has_them(two_judges):
    rows = read(two_judges / "table_02_blind.csv")
    with style():
        figure = draw_marks(PLOTS["figure_02a_equality_detection"], rows)
    ties = rows[rows["quantity"] == "share_tie"]
    marks = [line.get_ydata()[0] for line in figure.axes[0].lines if len(line.get_xdata()) == 1]
    assert sorted(marks) == sorted(ties["value"])
    paper = [list(line.get_ydata()) for line in figure.axes[0].lines if len(line.get_xdata()) == 5]
    assert list(counterparts.of("share_tie", "equal", "scot", "blind").values.values()) in paper


def test_revision_bars_add_up(two_judges):
    rows = read(two_judges / "revision.csv")
    with style():
        figure = draw_revision(rows)
    assert len(figure.axes) == 2  # one panel a judge
    for panel in figure.axes:
        tops = {}
        for bar in panel.containers:
            for patch in bar:
                tops[round(patch.get_x(), 6)] = patch.get_y() + patch.get_height()
        # All revised when revealed, none when only asked again, in each of five schemes.
        assert sorted(tops.values()) == [0] * 5 + [1] * 5


def test_what_was_not_run_says_so(two_judges):
    for name, plot in PLOTS.items():
        with style():
            figure = draw_marks(plot, read(two_judges / f"{plot.table}.csv")[:0])
        assert "not run with these params" in words(figure), name
    with style():
        assert "not run" in words(draw_revision(read(two_judges / "revision.csv")[:0]))


def test_a_table_that_is_absent_is_named_with_the_fix(tmp_path):
    with pytest.raises(FiguresError, match=r"table_02_blind\.csv is absent; run `make repro`"):
        figures.write_all(tmp_path, tmp_path / "figures")
