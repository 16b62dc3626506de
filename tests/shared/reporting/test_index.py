"""The index of all results: what each rests on, and one clear line where that can't be said."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from shared.reporting import index
from shared.reporting.figures import Caption, save, style
from shared.reporting.index import UnlistedError
from shared.reporting.tables import COLUMNS, read, write


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A study with one table of two judges and one figure of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paper_tables" / "published").mkdir(parents=True)
    rows = pd.DataFrame(
        {
            "judge": ["small", "small", "large"],
            "n_items": [3, 5, 4],
            "n_clusters": [2, 2, 3],
            "profile": "smoke",
            "fingerprint": ["abc", "abc", "def"],
        }
    )
    rest = [name for name in rows if name not in COLUMNS]
    write(index.TABLES / "a_study" / "table_02_blind.csv", rows.reindex(columns=[*COLUMNS, *rest]), ["Page."])
    draw("paper_tables/a_study/table_02_blind.csv")
    return tmp_path


def draw(source):
    with style():
        save(Figure(), index.FIGURES / "a_study" / "figure_02a.svg", Caption("A figure", source))


def test_every_table_and_figure_with_what_it_rests_on(results):
    index.main()
    page = index.INDEX.read_text()
    lines = [line for line in page.splitlines() if "table_02_blind" in line]
    assert len(lines) == 2  # the table's own line, and the figure's that draws it
    for line in lines:
        # The most items of a row are 5, the most sources 3.
        assert "smoke" in line and "small (abc), large (def)" in line and "5 items of 3 sources" in line
    assert "(a_study/table_02_blind.md)" in lines[0]
    assert "(../figures/a_study/figure_02a.svg)" in lines[1] and "A figure" in lines[1]
    assert page.count("## ") == 1  # published numbers are no study


def test_a_table_without_rows_is_listed_as_such(results):
    empty = pd.DataFrame(columns=[*COLUMNS, "profile", "fingerprint"])
    write(index.TABLES / "a_study" / "spans.csv", empty, ["Not run."])
    index.main()
    (line,) = [line for line in index.INDEX.read_text().splitlines() if "spans" in line]
    assert "no rows" in line


@pytest.mark.parametrize(
    ("judge", "mark", "items", "sources", "judges", "n"),
    [
        ("small", "abc", 5, 3, "small (abc)", "5 items of 3 sources"),
        ("rules", "", 12, 12, "rules", "12 items of 12 sources"),  # no engine, and so no fingerprint
        ("small", "abc", None, 12, "small (abc)", "12 sources"),
        (None, "", 119, None, "", "119 items"),  # about no judge
        ("all", "", 8, 4, "", "8 items of 4 sources"),  # a mean over judges
        ("", "", None, None, "", ""),  # arithmetic
    ],
)
def test_what_is_not_there_is_not_told(results, judge, mark, items, sources, judges, n):
    row = {"judge": judge, "n_items": items, "n_clusters": sources, "profile": "smoke", "fingerprint": mark}
    rest = [name for name in row if name not in COLUMNS]
    path = index.TABLES / "a_study" / "one.csv"
    write(path, pd.DataFrame([row]).reindex(columns=[*COLUMNS, *rest]), ["Page."])
    assert index.basis(path) == {"profile": "smoke", "judges": judges, "n": n}
    assert "nan" not in index.page(["a_study"]) and "()" not in index.page(["a_study"])


def test_a_mean_over_judges_is_none_of_them(results):
    path = index.TABLES / "a_study" / "table_02_blind.csv"
    rows = read(path)
    write(path, pd.concat([rows, rows.tail(1).assign(judge="all", fingerprint="")]), ["Page."])
    assert index.basis(path)["judges"] == "small (abc), large (def)"


def test_a_table_of_another_form_is_named(results):
    (index.TABLES / "a_study" / "notes.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UnlistedError, match=r"notes\.csv: no column fingerprint, judge"):
        index.main()


def test_a_figure_whose_table_is_gone_is_named(results):
    draw("paper_tables/a_study/gone.csv")
    with pytest.raises(UnlistedError, match=r"figure_02a\.svg: the table that it draws is not there"):
        index.main()
