"""The study's tables on scripted judgements: cells by hand, marks, and what happens where data lack."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest

from shared.metrics.resampling import Inference
from shared.reporting import tables as reporting
from studies.rationalization_probes import pages, tables
from studies.rationalization_probes.tables import COLUMNS, Study, TablesError, all_tables, write_all
from tests.studies.rationalization_probes.scripted_judgements import every_arm, items_of, judgement

QUICK = Inference(resamples=200, permutations=200, few_clusters=12)


def study(rows, judge="smollm2_135m", inference=QUICK):
    frame = pd.DataFrame(rows).assign(judge=judge)
    return Study(tables.with_writers(frame, items_of(frame)), inference, seed=1, profile="smoke")


def built(rows, **changes):
    return dict(all_tables(study(rows, **changes)))


def cell(table, quantity, **names):
    rows = table[table["quantity"] == quantity]
    for name, value in names.items():
        rows = rows[rows[name] == value]
    assert len(rows) == 1
    return rows.iloc[0]


@pytest.fixture(scope="module")
def by_hand():
    """Four documents under SCoT; one answer under Blind could not be parsed."""
    blind, truth = ("tie", "1", "1", None), ("1", "1", "1", "tie")
    rows = [judgement(f"d{i}", verdict) for i, verdict in enumerate(blind)]
    rows += [judgement(f"d{i}", verdict, probe="truth") for i, verdict in enumerate(truth)]
    return built(rows)


@pytest.fixture(scope="module")
def sound():
    """A judge that passes the gate, asked everything."""
    return built(every_arm(16))


@pytest.fixture(scope="module")
def failing():
    """A judge that always prefers the damaged text, asked everything, as one of the paper's five."""
    return built(every_arm(16, damaged="2"), judge="gemma_2_9b")


# --- Cells by hand ----------------------------------------------------------------------------------


def test_shares_by_hand(by_hand):
    # Parsed: tie, 1, 1. Of all four, the tie is a quarter.
    tie = cell(by_hand["table_02_blind"], "share_tie")
    assert (tie["count"], tie["n_items"], tie["n_clusters"], tie["n_unparsed"]) == (1, 3, 3, 1)
    assert (tie["value"], tie["value_paper"]) == pytest.approx((1 / 3, 1 / 4))
    assert (tie["paper_low"], tie["paper_high"]) == pytest.approx((0.71, 0.84))
    signed = cell(by_hand["table_02_blind"], "neutrality_signed")
    assert signed["value"] == pytest.approx(2 / 3)


def test_movement_by_hand(by_hand):
    # Pairs with both parsed: d0 to d2. [1,2] rises from 2/3 to 1, all of it from Tie: LDS 1/3, LAO 1.
    table = by_hand["table_03_truth"]
    assert cell(table, "lds")["value"] == pytest.approx(1 / 3)
    assert cell(table, "shift_tie")["value"] == pytest.approx(-1 / 3)
    assert cell(table, "lao")["value"] == 1
    assert cell(table, "lao")["n_unparsed"] == 1
    effect = cell(by_hand["cue_effects"], "cue_effect")
    assert effect["value"] == pytest.approx(1 / 3)
    # One of three moved, p = 2 / 2^1; three could not have shown anything.
    assert (effect["p"], effect["p_holm"]) == (1, 1)
    assert np.isnan(effect["mde"])
    # No empty line was shown.
    assert np.isnan([cell(table, "lao")[name] for name in ("floor_value", "floor_low", "floor_high")]).all()


def test_codings_of_a_flip(sound):
    table = sound["table_04_flip"]
    assert set(sound["table_03_truth"]["coding"]) == {"", "carrier"}
    assert set(table["coding"]) == set(sound["table_05_placebo"]["coding"]) == {"", "carrier", "always_12"}
    # Always [1,2], while every verdict went to 2, the carrier: what was LDS is OLS.
    led, other = (cell(table, name, scheme="scot", coding=coding) for name, coding in
                  (("lds", "carrier"), ("ols", "always_12")))  # fmt: skip
    assert led["value"] == other["value"] == 0.75


def test_the_floor_is_what_an_empty_line_moves(sound):
    # Every eighth of 16 documents went from Tie to 1 when a line without information was added.
    for name in ("table_03_truth", "table_04_flip", "table_05_placebo"):
        table = sound[name]
        for quantity, moved in {"lds": 1 / 8, "shift_tie": -1 / 8, "ols": 0, "ts": 0, "lao": 1}.items():
            row = cell(table, quantity, scheme="scot", coding="carrier")
            assert row["floor_value"] == moved
            # Of two moved documents an eighth of the resamples have none, in which LAO is undefined.
            assert row["floor_low"] <= moved <= row["floor_high"] or quantity == "lao"
            assert np.isnan(row["floor_low"]) == (quantity == "lao")
        # A forced choice said 1 to these in any case: nothing moved, and LAO is undefined.
        forced = cell(table, "lao", scheme="forced", coding="carrier")
        assert np.isnan(forced["floor_value"])
        assert cell(table, "lds", scheme="forced", coding="carrier")["floor_value"] == 0
        assert table.loc[table["quantity"].str.startswith("share"), "floor_value"].isna().all()
    # The signed effect of the empty line is a row of its own, outside the family of tests.
    row = cell(sound["cue_effects"], "cue_effect", scheme="scot", condition="empty")
    assert row["value"] == 1 / 8 and np.isnan(row["p_holm"])
    cued = sound["cue_effects"].query("kind == 'equal' and condition != 'empty'")
    assert cued["p_holm"].notna().all() and set(cued["condition"]) == {"truth", "flip", "placebo"}


def test_shifts_of_two_samples_have_the_papers_tables_beside():
    rows = [
        judgement(f"d{i}", verdict, kind=kind, probe=probe)
        for i in range(2)
        for kind in ("equal", "samples")
        for probe, verdict in (("blind", "tie"), ("truth", "1"))
    ]
    table = built(rows, judge="gemma_2_9b")["table_03_truth"]
    # Table 6 prints 0.583, and Tables 2 and 3 have [1,2] rise from 97 to 680.
    samples, equal = (cell(table, "lds", kind=kind) for kind in ("samples", "equal"))
    assert (samples["published_id"], samples["published"]) == (
        "rationalization_probes.t06.gemma_2_9b.scot.truth.lds",
        0.583,
    )
    assert (equal["published_id"], equal["published"]) == ("", pytest.approx(0.583))
    assert set(table.loc[table["quantity"] == "share_tie", "kind"]) == {"equal"}


def test_revision_by_hand(sound):
    # Under Flip all picked 2; revealed, all went to 1, which has the label now; asked again, none did.
    table = sound["revision"]
    rates = {name: cell(table, "revision_rate", scheme="scot", condition=name)["value"]
             for name in ("reveal", "control", "difference")}  # fmt: skip
    assert rates == {"reveal": 1, "control": 0, "difference": 1}
    assert cell(table, "revised_towards", scheme="scot", condition="reveal")["value"] == 1
    paper = cell(table, "revision_rate", scheme="scot", condition="reveal")
    assert (paper["paper_low"], paper["paper_high"]) == pytest.approx((0.76, 0.82))


def test_extractive_pairs_by_system(sound):
    row = cell(sound["table_09_extractive"], "share_12", scheme="scot", system="textrank")
    assert (row["value"], row["count"], row["paper_low"]) == (1, 16, 1)
    assert row["writer"] == "given"
    assert set(sound["table_02_blind"]["writer"]) == {""}


def test_spans_by_hand():
    # 1 of 2 and 3 of 4 found: 4 of 6. One document's notes could not be read.
    spans = {"d0": (1, 2), "d1": (3, 4), "d2": None}
    rows = [judgement(name, "1", scheme="pbp_once", spans=pair) for name, pair in spans.items()]
    row = cell(built(rows)["spans"], "spans_found_rate")
    assert row["value"] == pytest.approx(4 / 6)
    assert (row["count"], row["n_items"], row["n_unparsed"]) == (4, 2, 1)


def test_answers_add_up(by_hand):
    table = by_hand["answers"]
    blind = table[table["condition"] == "blind"].set_index("quantity")
    assert blind["count"].to_dict() == {
        "ok_rate": 3, "unparsed_rate": 1, "truncated_rate": 0, "refused_rate": 0, "failed_rate": 0,
    }  # fmt: skip
    assert blind["value"].sum() == 1
    assert (blind["n_trials"] == 4).all() and (blind["n_unparsed"] == 1).all()


# --- Marks ------------------------------------------------------------------------------------------


def test_every_table_has_every_column(sound):
    assert len(sound) == len(pages.TEXTS) == len(pages.ABSENT)
    for name, table in sound.items():
        assert tuple(table.columns) == COLUMNS, name
        assert not table.empty, name
        assert (table["profile"] == "smoke").all() and (table["fingerprint"] == "0123456789ab").all()


def test_the_gate_marks_rows(sound, failing):
    for scheme in ("baseline", "scot", "forced"):
        assert cell(sound["table_02_blind"], "share_tie", scheme=scheme)["gate"] == "passed"
        row = cell(failing["table_02_blind"], "share_tie", scheme=scheme)
        assert (row["gate"], row["note"]) == ("failed", "instrument check")
    # A judge that prefers damaged texts, each one in both orders: minus 1.
    assert cell(failing["competence"], "prefers_undamaged", scheme="scot")["value"] == -1
    assert "ties_less" not in set(sound["competence"].query("scheme == 'forced'")["quantity"])


def test_few_documents_are_marked(by_hand, sound):
    assert set(by_hand["table_02_blind"]["note"]) == {
        "gate not passed (too few to tell); too few to conclude"
    }
    assert set(by_hand["table_02_blind"]["gate"]) == {"too few to tell"}
    table = sound["table_02_blind"]
    rests_on_few = table["n_clusters"] < QUICK.few_clusters
    assert set(table.loc[rests_on_few, "note"]) == {"too few to conclude"}
    assert set(table.loc[~rests_on_few, "note"]) == {""}
    # Half of the 16 verdicts were ties, which have no place on the screen.
    assert set(table.loc[rests_on_few, "quantity"]) == {"share_first_shown"}
    assert cell(table, "share_first_shown", scheme="scot")["n_items"] == 8


def test_one_of_the_papers_judges_gets_its_own_cell(sound, failing):
    row = cell(failing["table_02_blind"], "share_tie", scheme="pbp_once")
    assert row["published_id"] == "rationalization_probes.t02.gemma_2_9b.pbp.blind.tie"
    assert row["published"] == 0.937
    assert set(sound["table_02_blind"]["published_id"]) == {""}
    assert sound["table_02_blind"]["published"].isna().all()


# --- Pages ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    rows = pd.concat([every_arm(16, damaged="2"), pd.DataFrame([judgement("doc-99", None)])])
    list(write_all(study(rows), folder))
    return folder


def test_pages_say_what_they_rest_on(folder):
    for name, text in pages.TEXTS.items():
        page = (folder / f"{name}.md").read_text()
        assert page.startswith(f"# {text.title}")
        assert "Profile `smoke`" in page and "smollm2_135m (fingerprint 0123456789ab)" in page
        rows = [line for line in page.splitlines() if line.startswith("| smollm2_135m")]
        assert rows and all("instrument check" in row for row in rows), name


def test_a_gate_that_was_not_passed_shows_in_every_row(tmp_path):
    list(write_all(study(every_arm(3)), tmp_path))
    for name in pages.TEXTS:
        page = (tmp_path / f"{name}.md").read_text()
        rows = [line for line in page.splitlines() if line.startswith("| smollm2_135m")]
        assert rows and all("gate not passed (too few to tell)" in row for row in rows), name
        assert "instrument check" not in page


def test_pages_name_uncorrected_tests_and_whose_text_it_is(folder):
    truth, effects, extractive, revision = (
        (folder / f"{name}.md").read_text()
        for name in ("table_03_truth", "cue_effects", "table_09_extractive", "revision")
    )
    for page in (truth, effects, revision):
        assert "| p, uncorrected" in page and "| p " not in page
    assert "| p, Holm" in effects and "p, Holm" not in truth + revision
    assert "MDE, one test at alpha" in effects
    assert "| an empty label line [interval]" in truth and "floor" not in truth
    lao = [line.split("|") for line in truth.splitlines() if "| LAO " in line]
    heads = [cell.strip() for cell in next(x for x in truth.splitlines() if "uncorrected" in x).split("|")]
    assert {line[heads.index("p, uncorrected")].strip() for line in lao} == {"n/a"}
    # The texts came with the documents: nobody says that a language model wrote them.
    given = [line for line in extractive.splitlines() if "textrank" in line]
    assert given and all("| given " in line for line in given)
    assert not re.search("language model's summary", extractive)
    for name in ("table_02_blind", "table_10_identical"):
        page = (folder / f"{name}.md").read_text()
        assert "confounded with the place on the screen" in page and "| first on the screen" in page


def test_pages_print_the_papers_denominator_where_it_differs(folder):
    # 16 parsed, 8 of them ties; a 17th was not parsed.
    page = (folder / "table_02_blind.md").read_text()
    (line,) = [line for line in page.splitlines() if "SCoT" in line and "(8)" in line]
    cells = [cell.strip() for cell in line.split("|")]
    assert "0.710 to 0.840" in cells
    assert cells[cells.index("0.710 to 0.840") - 1] == f"{8 / 17:.3f}"
    assert "of all" not in (folder / "table_03_truth.md").read_text().split("\n\n")[2]


def test_same_judgements_same_bytes(tmp_path):
    rows = every_arm(8).query("scheme == 'pbp_once'")
    for run in ("one", "two"):
        list(write_all(study(rows), tmp_path / run))
    for path in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / path.name).read_bytes() == path.read_bytes(), path.name


# --- Where data lack --------------------------------------------------------------------------------


def test_nothing_parsed_is_not_available(tmp_path):
    rows = every_arm(3).query("scheme in ('forced', 'pbp_once')")
    rows = rows.assign(status="truncated", verdict=None, spans_found=None, spans_quoted=None)
    list(write_all(study(rows), tmp_path))
    table = reporting.read(tmp_path / "table_02_blind.csv")
    assert table["value"].isna().all() and (table["n_items"] == 0).all() and (table["n_unparsed"] == 3).all()
    assert ",n/a," in (tmp_path / "table_02_blind.csv").read_text()
    answers = reporting.read(tmp_path / "answers.csv")
    assert (answers.loc[answers["quantity"] == "truncated_rate", "value"] == 1).all()


def test_sets_that_were_not_run_leave_a_table_with_a_note(tmp_path):
    told = list(write_all(study([judgement("d0", "1"), judgement("d1", "tie")]), tmp_path))
    assert "table_09_extractive: no rows; params have no set `extractive`" in told
    assert reporting.read(tmp_path / "table_09_extractive.csv").empty
    assert "Not run: params have no set `extractive`." in (tmp_path / "table_09_extractive.md").read_text()
    written = {path.stem for path in tmp_path.glob("*.csv")}
    assert written == set(pages.TEXTS) == {path.stem for path in tmp_path.glob("*.md")}
    assert {line.split(":")[0] for line in told} == {
        name for name in written if reporting.read(tmp_path / f"{name}.csv").empty
    }


# --- The stage --------------------------------------------------------------------------------------


@pytest.fixture
def checkout(root, tmp_path, monkeypatch):
    """A folder in which the stage can run: params, items, and judgements of a judge that was removed."""
    params = (root / "params.yaml").read_text().replace("resamples: 2000", "resamples: 200")
    (tmp_path / "params.yaml").write_text(params)
    rows = pd.DataFrame([judgement("d0", "1"), judgement("d1", "tie")])
    (tmp_path / tables.JUDGEMENTS).mkdir(parents=True)
    items_of(rows).to_parquet(tmp_path / tables.ITEMS)
    rows.to_parquet(tmp_path / tables.JUDGEMENTS / "removed.parquet")
    monkeypatch.chdir(tmp_path)
    return rows


def test_a_judge_that_was_not_run_is_named_with_the_fix(checkout):
    with pytest.raises(TablesError, match=r"smollm2_135m\.parquet is absent; run `make repro`"):
        tables.main()
    assert not tables.FOLDER.exists()


def test_a_judge_that_is_not_in_params_is_not_read(checkout, capsys):
    checkout.assign(verdict="2").to_parquet(tables.JUDGEMENTS / "smollm2_135m.parquet")
    tables.main()
    table = reporting.read(tables.FOLDER / "table_02_blind.csv")
    assert set(table["judge"]) == {"smollm2_135m"}
    assert cell(table, "share_21")["value"] == 1
    assert "tables of smollm2_135m" in capsys.readouterr().out


def test_systems_come_from_the_items(checkout):
    rows = pd.DataFrame([judgement("d0", "1", kind="extractive", system="lexrank"), judgement("d0", "1")])
    rows.to_parquet(tables.JUDGEMENTS / "judge.parquet")
    read = tables.read_judgements(["judge"], items_of(rows))
    assert read["system"].tolist() == ["lexrank", ""]
    assert read["writer"].tolist() == ["given", ""]
    assert set(read["judge"]) == {"judge"}
    shutil.rmtree(tables.JUDGEMENTS)
    with pytest.raises(TablesError, match="judge 'judge'"):
        tables.read_judgements(["judge"], items_of(rows))
