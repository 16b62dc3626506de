"""All tables of the study: which there are, what they have in common, and what happens where data lack."""

import pandas as pd
import pytest
from ruamel.yaml import YAML

from shared.errors import UserError
from shared.reporting import tables as reporting
from studies.rationalization_probes import embedding, tables
from studies.rationalization_probes.captions import TEXTS
from studies.rationalization_probes.design import ITEMS, TRIALS
from studies.rationalization_probes.judge import RESPONSES
from studies.rationalization_probes.judgements import JUDGEMENTS
from studies.rationalization_probes.params import ATTACKS
from studies.rationalization_probes.results import COLUMNS
from studies.rationalization_probes.tables import all_tables, write_all
from tests.studies.rationalization_probes.scripted_judgements import all_arms, items_of, judgement
from tests.studies.rationalization_probes.scripted_study import cell, inputs_of, study_of, vector

JUDGE = "smollm2_135m"


@pytest.fixture(scope="module")
def sound():
    """Every table of a judge that passes the gate, asked everything."""
    study = study_of(all_arms(12))
    return dict(all_tables(study, inputs_of(study)))


def test_every_table_is_made_once_and_declared_with_its_page(sound, root):
    assert list(dict.fromkeys(sound)) == list(sound) and set(sound) == set(TEXTS)
    stages = YAML(typ="safe").load(root / "studies/rationalization_probes/dvc.yaml")["stages"]
    declared = {path for out in stages["tables"]["outs"] for path in out}
    folder = tables.FOLDER.as_posix()
    assert declared == {f"{folder}/{name}.{end}" for name in sound for end in ("csv", "md")}


def test_every_table_has_every_column_and_rows(sound):
    for name, table in sound.items():
        assert tuple(table.columns[: len(COLUMNS)]) == COLUMNS, name
        assert not table.empty, name
        assert (table["profile"] == "smoke").all(), name


def test_rows_of_a_judge_name_its_fingerprint(sound):
    for name, table in sound.items():
        told = table[table["judge"] == JUDGE]
        assert (told["fingerprint"] == "0123456789ab").all(), name
        assert name in ("attacks", "scorers") or len(told) == len(table), name


def test_no_interval_lies_beside_its_value(sound):
    for name, table in sound.items():
        known = table.dropna(subset=["value", "ci_low", "ci_high"])
        assert (known["ci_low"] <= known["value"] + 1e-9).all(), name
        assert (known["value"] <= known["ci_high"] + 1e-9).all(), name


def test_identical_texts_are_identical(sound):
    """An attacked text differs from its twin: such pairs belong to the attack's own table."""
    assert not set(ATTACKS) & set(sound["table_10_identical"]["condition"])
    assert {"blind", "truth"} <= set(sound["table_10_identical"]["condition"])


def test_the_family_of_tests_is_corrected_together(sound):
    table = sound["cue_effects"]
    cued = table[(table["kind"] == "equal") & table["condition"].isin(["truth", "flip", "placebo"])]
    family = cued[cued["scheme"] != "pbp_grafted"]  # an arm that takes PBP apart, and no scheme of its own
    assert len(family) < len(cued)
    tested = family["p"].notna()
    assert tested.any() and family.loc[tested, "p_holm"].ge(family.loc[tested, "p"] - 1e-12).all()
    assert table.drop(family.index)["p_holm"].isna().all()
    assert set(family["quantity"]) == {"cue_effect", "tie_change", "drift_above_empty"}


def test_the_headline_figures_rows(sound):
    table = sound["invariance"]
    assert set(table["quantity"]) == {"outcome_shift", "rationale_shift", "sensitivity"}
    # prefers the undamaged text in both orders
    assert cell(table, "sensitivity", scheme="scot")["value"] == 1
    assert cell(table, "sensitivity", scheme="scot")["gate"] == "passed"


def test_the_gate_on_answers_stands_with_the_answers(sound):
    checks = sound["cross_task"][sound["cross_task"]["verdict"] != ""]
    assert set(checks["kind"]) == {"qa_damage"} and set(checks["scheme"]) == {"forced"}
    assert sound["competence"]["kind"].isna().all() and "" not in set(sound["competence"]["verdict"])
    # prefers the undamaged answer in both orders
    assert cell(checks, "prefers_undamaged")["value"] == 1


def test_same_judgements_same_bytes(tmp_path):
    rows = all_arms(3).query("scheme == 'forced'")
    for run in ("one", "two"):
        study = study_of(rows)
        list(write_all(study, inputs_of(study), tmp_path / run))
    written = sorted((tmp_path / "one").iterdir())
    assert len(written) == 2 * len(TEXTS)
    for path in written:
        assert (tmp_path / "two" / path.name).read_bytes() == path.read_bytes(), path.name


# --- Where data lack --------------------------------------------------------------------------------


def test_nothing_parsed_is_not_available(tmp_path):
    rows = all_arms(3).query("scheme in ('forced', 'pbp_once', 'pbp_grafted')")
    lost = {"status": "truncated", "verdict": None, "rationale": None, "scores": None}
    rows = rows.assign(**lost, spans_found=None, spans_quoted=None)
    study = study_of(rows)
    list(write_all(study, inputs_of(study), tmp_path))
    table = reporting.read(tmp_path / "table_02_blind.csv")
    assert table["value"].isna().all() and (table["n_items"] == 0).all() and (table["n_unparsed"] == 3).all()
    assert ",n/a," in (tmp_path / "table_02_blind.csv").read_text()
    answers = reporting.read(tmp_path / "answers.csv")
    assert (answers.loc[answers["quantity"] == "truncated_rate", "value"] == 1).all()
    for name in ("rationale_drift", "rationale_alignment", "consistency", "cue_effects", "price", "grafting"):
        assert reporting.read(tmp_path / f"{name}.csv")["value"].isna().all(), name


def test_sets_that_were_not_run_leave_a_table_with_a_note(tmp_path):
    study = study_of([judgement("d0", "1"), judgement("d1", "tie")])
    told = list(write_all(study, inputs_of(study), tmp_path))
    assert "table_09_extractive: no rows; params have no set `extractive`" in told
    assert reporting.read(tmp_path / "table_09_extractive.csv").empty
    assert "Not run: params have no set `extractive`." in (tmp_path / "table_09_extractive.md").read_text()
    written = {path.stem for path in tmp_path.glob("*.csv")}
    assert written == set(TEXTS) == {path.stem for path in tmp_path.glob("*.md")}
    assert {line.split(":")[0] for line in told} == {
        name for name in written if reporting.read(tmp_path / f"{name}.csv").empty
    }


# --- The stage --------------------------------------------------------------------------------------


@pytest.fixture
def checkout(root, tmp_path, monkeypatch):
    """A folder in which the stage can run, with the judgements of a judge that was removed."""
    params = (root / "params.yaml").read_text().replace("resamples: 2000", "resamples: 200")
    (tmp_path / "params.yaml").write_text(params.replace("permutations: 10000", "permutations: 200"))
    examples = tmp_path / tables.EXAMPLES
    examples.parent.mkdir(parents=True)
    examples.symlink_to(root / tables.EXAMPLES)
    study = study_of([judgement("d0", "1"), judgement("d1", "tie")])
    rows = study.judgements.drop(columns=["judge", "system", "writer"])
    inputs = inputs_of(study)
    vectors = pd.DataFrame([{"text": text, "vector": vector(text)} for text in study.vectors])
    for path, table in (
        (ITEMS, items_of(rows)),
        (TRIALS, inputs.trials),
        (tables.REWRITTEN, inputs.attacks),
        (embedding.EMBEDDINGS, vectors),
        (JUDGEMENTS / "removed.parquet", rows),
        (RESPONSES / "removed.parquet", inputs.responses.drop(columns="judge")),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        table.to_parquet(tmp_path / path)
    monkeypatch.chdir(tmp_path)
    return rows


def test_a_judge_that_was_not_run_is_named_with_the_fix(checkout):
    with pytest.raises(UserError, match=r"smollm2_135m\.parquet: absent; run the `judgements` stage"):
        tables.main()
    assert not tables.FOLDER.exists()


def test_a_judge_that_is_not_in_params_is_not_read(checkout, capsys):
    checkout.assign(verdict="2").to_parquet(JUDGEMENTS / f"{JUDGE}.parquet")
    (RESPONSES / "removed.parquet").rename(RESPONSES / f"{JUDGE}.parquet")
    tables.main()
    table = reporting.read(tables.FOLDER / "table_02_blind.csv")
    assert set(table["judge"]) == {JUDGE}
    assert cell(table, "share_21")["value"] == 1
    assert f"tables of {JUDGE}" in capsys.readouterr().out
