"""Figure files: the same bytes for the same figure, with their caption inside."""

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from shared.reporting.figures import Caption, caption_of, save, style

CAPTION = Caption("A title & more", "paper_tables/study/table.csv")


def drawn(value):
    figure = Figure(figsize=(2, 2))
    figure.subplots().plot([0, 1], [0, value], "o", clip_on=False)
    return figure


def test_same_figure_same_bytes(tmp_path):
    with style():
        for name, value in (("one", 1), ("again", 1), ("other", 2)):
            save(drawn(value), tmp_path / f"{name}.svg", CAPTION)
    one, again, other = ((tmp_path / f"{name}.svg").read_bytes() for name in ("one", "again", "other"))
    assert one == again
    assert one != other
    assert b"dc:date" not in one


def test_caption_comes_back(tmp_path):
    with style():
        save(drawn(1), tmp_path / "folder" / "figure.svg", CAPTION)
    assert caption_of(tmp_path / "folder" / "figure.svg") == CAPTION


def test_caption_of_a_foreign_svg_is_empty(tmp_path):
    (tmp_path / "other.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    assert caption_of(tmp_path / "other.svg") == Caption("", "")


def test_style_ignores_the_users_and_leaves_it_alone():
    with mpl.rc_context({"font.size": 31.0, "lines.linewidth": 9.0}):
        with style():
            assert mpl.rcParams["font.size"] == 9
            assert mpl.rcParams["lines.linewidth"] == pytest.approx(1.5)  # matplotlib's own
        assert mpl.rcParams["font.size"] == 31
