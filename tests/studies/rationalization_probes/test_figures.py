"""The study's figures: the same bytes twice, what is undefined marked as such, and no text upon another."""

import itertools

import pandas as pd
import pytest

from shared.metrics.resampling import Inference
from shared.reporting import tables
from shared.reporting.figures import GREY, INK, MARKERS, FiguresError, caption_of, style
from shared.reporting.tables import read
from studies.rationalization_probes import counterparts, figures, metrics
from studies.rationalization_probes.drawing import schemes_of, width_of
from studies.rationalization_probes.figures import FIGURES
from studies.rationalization_probes.outcome_figures import PLOTS, draw_marks, draw_revision
from studies.rationalization_probes.outcome_tables import outcome_rows, probe_rows
from studies.rationalization_probes.results import Study, finisher, gate_checks, with_writers
from tests.shared.reporting.drawn import texts, words
from tests.studies.rationalization_probes import scripted_tables
from tests.studies.rationalization_probes.scripted_judgements import every_arm, items_of

QUICK = Inference(resamples=200, permutations=200)


def written(folder, documents, *judges):
    """Tables of judges of whom the second fails the gate."""
    frames = [
        every_arm(documents, damaged=damaged).assign(judge=judge)
        for judge, damaged in zip(judges, ("1", "2"), strict=False)
    ]
    rows = pd.concat(frames, ignore_index=True)
    study = Study(with_writers(rows, items_of(rows)), QUICK, 1, "smoke")
    finish = finisher(study, gate_checks(study))
    made = {
        "table_02_blind": outcome_rows(study, "equal", "blind"),
        "table_03_truth": probe_rows(study, "truth"),
        "table_04_flip": probe_rows(study, "flip"),
        "table_05_placebo": probe_rows(study, "placebo"),
        "revision": metrics.revisions(study.judgements, study.rng("revision"), QUICK),
    }
    finished = {name: finish(table) for name, table in made.items()}
    for name, table in (finished | scripted_tables.all_tables(judges)).items():
        tables.write(folder / f"{name}.csv", table, [])
    return folder


@pytest.fixture(scope="module")
def two_judges(tmp_path_factory):
    return written(tmp_path_factory.mktemp("two"), 16, "sound", "failing")


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return written(tmp_path_factory.mktemp("few"), 2, "sound")


def drawn(folder):
    with style():
        for plot in PLOTS.values():
            yield draw_marks(plot, read(folder / f"{plot.table}.csv"))
        yield draw_revision(read(folder / "revision.csv"))


def test_all_figures_the_same_bytes_twice(two_judges, tmp_path):
    for run in ("one", "two"):
        figures.write_all(two_judges, tmp_path / run)
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert names == {f"{name}.svg" for name in FIGURES} and len(names) == 13
    for name in names:
        one, two = (tmp_path / run / name for run in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
        assert caption_of(one).source.startswith(str(two_judges))
        # Dots of a hatch are one path each.
        assert one.stat().st_size < (900_000 if name == "figure_03_revision.svg" else 200_000), name


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
    with pytest.raises(FiguresError, match=r"protocols\.csv is absent; run `make repro`"):
        figures.write_all(tmp_path, tmp_path / "figures")


def test_every_figure_of_an_empty_table_says_so(two_judges):
    for name, figure in FIGURES.items():
        with style():
            drawn = figure.draw(read(two_judges / f"{figure.table}.csv")[:0])
        assert "not run with these params" in words(drawn), name


def test_a_figure_grows_with_its_schemes_and_none_is_left_out_in_silence():
    assert width_of(["scot"]) == width_of(list("abcde")) == 7.6 < width_of(list("abcdefgh"))
    assert schemes_of(pd.DataFrame({"scheme": ["scot", "baseline", "scot"]})) == ["baseline", "scot"]
    with pytest.raises(ValueError, match=r"'unheard_of' has no name: add one to pages\.SCHEME_NAMES"):
        schemes_of(pd.DataFrame({"scheme": ["scot", "unheard_of"]}))
