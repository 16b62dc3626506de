from __future__ import annotations

import re
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.reporting import tables as written
from shared.reporting.readme import ReadmeError, Tables, check, fill, readmes

NAN = float("nan")

ROWS = [
    # scheme, value, low, high, clusters, paper_low, paper_high, published, gate
    ("forced", 0.5, 0.25, 0.75, 12, 0.0, 0.0, NAN, "passed"),
    ("scot", 0.123456, NAN, NAN, 1, 0.71, 0.84, NAN, "failed"),
    ("pbp_once", NAN, NAN, NAN, 0, NAN, NAN, NAN, "too few to tell"),
    ("exact", -0.0001, -0.1, 0.1, 12, 0.71, 0.84, 0.8, "passed"),
]


def frame(rows=ROWS, judge="mine", quantity="share_tie") -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "quantity": quantity,
                "judge": judge,
                "scheme": scheme,
                "condition": "blind",
                "value": value,
                "ci_low": low,
                "ci_high": high,
                "n_items": n,
                "n_clusters": n,
                "n_unparsed": 3,
                "published_id": "",
                "paper_low": paper_low,
                "paper_high": paper_high,
                "published": published,
                "profile": "full",
                "fingerprint": "abc123",
                "gate": gate,
                "note": written.TOO_FEW if n < 12 else "",
            }
            for scheme, value, low, high, n, paper_low, paper_high, published, gate in rows
        ]
    )


@pytest.fixture
def tables(tmp_path) -> Tables:
    page = ["# A table", "It counts ties.", "| scheme | ours |\n| --- | --- |\n| forced | 0.5 |", "| other |"]
    both = pd.concat([frame(), frame(quantity="share_12")])
    written.write(tmp_path / "paper_tables/study/table_02_blind.csv", frame(), page)
    written.write(tmp_path / "paper_tables/study/two.csv", both, ["no table here"])
    return Tables(tmp_path / "paper_tables", tmp_path / "studies/study")


def between(text: str) -> str:
    """What stands between the markers of a text with one pair."""
    return re.fullmatch(r".*?<!-- begin: .*?-->(.*)<!-- end: .*? -->.*", text, re.DOTALL).group(1)


def marked(spec: str, old: str = "old") -> str:
    """A pair of markers; findings stand on lines of their own."""
    return f"<!-- begin: {spec} -->{old}<!-- end: {spec.split()[0]} -->"


def filled(spec: str, tables: Tables) -> str:
    return between(fill(f"a {marked(spec)} z", tables))


# --- what is put in ----------------------------------------------------------------------------------


def test_a_name_alone_puts_in_the_first_table_of_the_page(tables):
    assert filled("study/table_02_blind", tables) == (
        "\n| scheme | ours |\n| --- | --- |\n| forced | 0.5 |\n\n"
        "From [table_02_blind](../../paper_tables/study/table_02_blind.md): profile full; `mine` (abc123); "
        "n = 0 to 12 (sources). Too few to conclude.\n"
    )


def test_filters_choose_rows_of_the_csv(tables):
    lines = filled("study/table_02_blind scheme=scot,exact", tables).strip().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:4]]
    assert cells[0] == ["judge", "scheme", "ours [interval]", "n", "unparsed", "paper", "gate"]
    assert cells[2:] == [
        ["mine", "scot", "0.123 [n/a]", "1", "3", "0.710 to 0.840", "instrument check"],
        # The printed cell itself comes before the range over the paper's judges; -0.0001 is no -0.000.
        ["mine", "exact", "0.000 [-0.100, 0.100]", "12", "3", "0.800", "passed"],
    ]


def test_enough_sources_need_no_warning_and_an_empty_column_goes(tables):
    written.write(tables.folder / "study/alone.csv", frame([(*ROWS[0][:5], NAN, NAN, NAN, "passed")]), [])
    head, _, _, _, origin = filled("study/alone scheme=forced", tables).strip().splitlines()
    assert "paper" not in head
    assert origin.endswith("n = 12 (sources).")


def test_a_key_that_tells_rows_apart_is_shown(tables):
    head = filled("study/two scheme=scot", tables).strip().splitlines()[0]
    assert [cell.strip() for cell in head.split("|")[1:5]] == [
        "judge",
        "scheme",
        "quantity",
        "ours [interval]",
    ]


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [("forced", "0.500 [0.250, 0.750]"), ("scot", "0.123 [n/a]"), ("pbp_once", "n/a")],
)
def test_a_value_stands_in_the_sentence(tables, scheme, expected):
    assert filled(f"value study/table_02_blind scheme={scheme}", tables) == expected


@pytest.mark.parametrize(
    ("id", "expected"),
    [("t02.gemma_2_9b.scot.blind.tie", "840"), ("claim.000-036", "0.71 to 0.84"), ("claim.000-049", "0.005")],
)
def test_what_a_paper_printed_is_looked_up(tables, id, expected):
    assert filled(f"published rationalization_probes.{id}", tables) == expected


def test_findings_have_a_column_a_scheme_and_the_paper_below(tables):
    questions = (
        "ties: under Blind: study/table_02_blind scheme=forced,scot,pbp_once",
        "picks: study/two quantity=share_12 scheme=scot",
    )
    lines = filled("\n".join(["findings", *questions]), tables).strip().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:4]]
    assert cells[0] == ["", "judge", "forced", "scot", "pbp_once", "n"]
    assert cells[2] == [
        "ties: under Blind", "`mine`",
        "0.500 [0.250, 0.750]<br>paper: 0.000",
        "*0.123 [n/a]*<br>paper: 0.710 to 0.840",  # italics: the gate was not passed
        "*n/a*", "0 to 12",
    ]  # fmt: skip
    assert cells[3] == ["picks", "`mine`", "", "*0.123 [n/a]*<br>paper: 0.710 to 0.840", "", "1"]
    assert "Italics: an instrument check" in lines[5]
    assert "[table_02_blind]" in lines[6] and "[two]" in lines[6]


def test_the_gate_is_told_in_words(tables):
    assert filled("gate study/table_02_blind", tables).strip() == (
        "`mine` passes the competence gate under forced, exact; it fails the competence gate under scot; "
        "it was asked too little for the competence gate under pbp_once. Only what a judge shows under a "
        "scheme that it passed is a finding about it."
    )


def test_a_judge_that_passed_nowhere_has_no_findings(tables):
    told = filled("gate study/table_02_blind scheme=scot", tables)
    assert "`mine` fails the competence gate under scot." in told
    assert "instrument check" in told and "finding about it" not in told


def test_a_judge_that_passed_everywhere_needs_no_warning(tables):
    told = filled("gate study/table_02_blind scheme=forced", tables)
    assert told.strip() == "`mine` passes the competence gate under forced."


# --- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("study/table_03", "table_03.csv is absent; run `make repro`"),
        ("figure x", "marker 'figure': unknown; a marker names <study>/<table>, value, published, gate"),
        ("gate ../../etc", "'../../etc' is not <study>/<table>"),
        ("study/two", "study/two.md holds no table"),
        ("value study/two scheme=scot", "2 rows fit; choose by quantity too"),
        ("value study/two scheme=x", "no row with scheme=x; scheme is one of: forced, scot"),
        ("value study/two colour=x", "'colour=x' does not choose rows; study/two.csv has: quantity"),
        ("value study/two scheme", "'scheme' does not choose rows"),
        ("published rationalization_probes.t02.gemma", "no published number has the id"),
        ("findings\nties study/two", "'ties study/two' is not '<question>: <study>/<table> column=value'"),
        ("findings\nties: study/two", "'ties' has several rows a scheme; choose by another column too"),
        ("findings", "give one line a question"),
    ],
)
def test_a_marker_that_cannot_be_filled_is_one_clear_line(tables, spec, message):
    with pytest.raises(ReadmeError, match=re.escape(message)) as error:
        fill(marked(spec), tables)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "name", "line"),
    [
        ("\n<!-- begin: gate study/two -->\n", "gate", 2),
        ("<!-- end: gate -->\n", "gate", 1),
        ("<!-- begin:  -->\n", "", 1),
        ("<!-- begin: gate study/two -->\n<!-- end: value -->", "gate", 1),
        # The end of an outer pair is not taken for that of an inner one.
        ("<!-- begin: a/b -->\n<!-- begin: c/d --><!-- end: c/d --><!-- end: a/b -->", "a/b", 1),
    ],
)
def test_a_marker_without_its_partner_is_named(tables, text, name, line):
    with pytest.raises(ReadmeError, match=f"^marker '{name}' on line {line} has no partner"):
        fill(text, tables)


def test_a_table_without_the_common_columns_is_named(tables):
    frame().drop(columns="gate").to_csv(tables.folder / "study/bare.csv", index=False)
    with pytest.raises(ReadmeError, match=r"bare\.csv has no column 'gate'"):
        fill(marked("gate study/bare"), tables)


def test_an_unknown_verdict_of_the_gate_is_refused(tables):
    written.write(tables.folder / "study/odd.csv", frame([("scot", *ROWS[0][1:-1], "perhaps")]), [])
    with pytest.raises(ReadmeError, match="gate says 'perhaps'"):
        fill(marked("gate study/odd"), tables)


# --- invariances -------------------------------------------------------------------------------------

PROSE = st.text(st.characters(exclude_categories=["Cs"])).filter(lambda text: "<!--" not in text)
SPECS = st.sampled_from(
    [
        "study/table_02_blind",
        "study/two scheme=scot",
        "value study/table_02_blind scheme=forced",
        "gate study/table_02_blind",
    ]
)


@settings(max_examples=40)
@given(st.lists(st.tuples(PROSE, SPECS, PROSE)), PROSE)
def test_prose_is_untouched_and_filling_twice_changes_nothing(tmp_path_factory, pieces, rest):
    # What stands between markers may be anything: it is replaced.
    folder = tmp_path_factory.getbasetemp() / "invariant"
    if not folder.exists():
        written.write(folder / "study/table_02_blind.csv", frame(), ["| a |\n| --- |\n| b |"])
        written.write(folder / "study/two.csv", frame(), [])
    tables = Tables(folder, folder.parent)
    text = "".join(prose + marked(spec, old) for prose, spec, old in pieces)
    once = fill(text + rest, tables)
    assert fill(once, tables) == once
    outside = re.split(r"<!-- begin: .*?-->.*?<!-- end: .*? -->", once, flags=re.DOTALL)
    assert outside == [*(prose for prose, _, _ in pieces), rest]


# --- the repository's own pages ----------------------------------------------------------------------


@pytest.fixture
def head(root, tmp_path) -> Path:
    """The pages and tables of the last commit: a repro may have changed the working tree since."""
    wanted = ["README.md", "studies", "paper_tables"]
    archive = subprocess.run(["git", "archive", "HEAD", *wanted], cwd=root, capture_output=True, check=True)
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(tmp_path, filter="data")
    return tmp_path


def test_readmes_and_tables_agree_as_committed(head):
    assert all("<!-- begin: " in page.read_text(encoding="utf-8") for page in readmes(head))
    check(head)


def test_a_number_typed_by_hand_is_found(tables):
    root = tables.folder.parent
    spec = "value study/table_02_blind scheme=forced"
    (root / "README.md").write_text(marked(spec, "0.900 [0.800, 0.990]"))
    with pytest.raises(ReadmeError, match=r"README\.md: not what the tables say; run `make readme`"):
        check(root)
    (root / "README.md").write_text(marked(spec, "0.500 [0.250, 0.750]"))
    check(root)


def test_every_link_of_a_page_leads_somewhere(root):
    for page in readmes(root):
        text = page.read_text(encoding="utf-8")
        targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) + re.findall(r'src="([^"]+)"', text)
        local = [target for target in targets if "://" not in target]
        assert local, f"{page} links to nothing"
        assert [target for target in local if not (page.parent / target).exists()] == []
