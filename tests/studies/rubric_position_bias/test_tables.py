"""Every table from judgements, written beside its page; and that a second run writes the same bytes."""

import numpy as np
import pandas as pd
import pytest

from shared.errors import UserError
from shared.metrics.resampling import Inference
from shared.params import load
from shared.reporting import tables as reporting
from shared.reporting.results import Study
from studies.rubric_position_bias import captions, tables
from studies.rubric_position_bias.judgements import JUDGEMENTS
from studies.rubric_position_bias.params import Section
from studies.rubric_position_bias.results import COLUMNS
from tests.studies.rubric_position_bias.planted import planted, planted_criteria, planted_items

QUICK = Inference(resamples=200, permutations=200)
SLOPE = np.linspace(-1, 1, 5)


def judged(judge="a", seed=1):
    """Every arm that the tables know, of a judge that leans to the last places."""
    rng = np.random.default_rng(seed)
    items = planted_items(36, rng, clusters=12, dataset="embedded")
    asked = [
        {"strategy": ("balanced", "random", "fixed"), "probabilities": True},
        {"strategy": "balanced", "scheme": "prose"},
        {"strategy": ("balanced", "fixed"), "temperature": 0.6},
    ]
    frames = [
        planted(items, 5, alpha=SLOPE, beta=0, sharpness=2, rng=rng, judge=judge, **names) for names in asked
    ]
    frames += [
        planted(items, n, strategy, np.linspace(-1, 1, n), 0, 2, rng, judge=judge)
        for n, strategy in ((2, "balanced"), (3, "balanced"), (9, ("balanced", "random", "fixed")))
    ]
    criteria = planted_criteria(
        8, ("x", "y", "z"), [0, 0.2, 0.4], rng, judge=judge, dataset="embedded", scales=("12345", "54321")
    )
    return pd.concat([*frames, criteria], ignore_index=True).assign(fingerprint="0123456789ab")


@pytest.fixture(scope="module")
def section(root):
    return load("rubric_position_bias", Section, root / "params.yaml")[1]


@pytest.fixture(scope="module")
def made(section):
    study = Study(judged(), QUICK, 1, "smoke")
    return dict(tables.all_tables(study, section))


def test_two_processes_make_the_same_tables_as_one(made, section, monkeypatch):
    monkeypatch.setattr(tables, "MANY", 0)
    for name, rows in tables.all_tables(Study(judged(), QUICK, 1, "smoke"), section):
        # One product of matrices may add up in another sequence on one thread than on two.
        pd.testing.assert_frame_equal(rows, made[name], rtol=1e-12)


def test_every_table_has_rows_and_the_columns_that_all_have(made):
    assert set(made) == set(captions.TEXTS) == set(captions.ABSENT)
    for name, rows in made.items():
        assert len(rows) and list(rows.columns) == list(COLUMNS), name


def test_the_tables_are_those_that_the_stage_declares(root, made):
    declared = (root / "studies/rubric_position_bias/dvc.yaml").read_text(encoding="utf-8")
    for name in made:
        assert f"- paper_tables/rubric_position_bias/{name}.csv:" in declared
    assert declared.count("{cache: false}") == 2 * len(made) + declared.count(".svg: {cache: false}")


def test_what_was_planted_is_found(made):
    position = made["position"].set_index("quantity")
    assert position.loc["direction", "value"] > 0.1 and position.loc["cramers_v", "p"] < 0.05
    assert made["logit"].set_index("quantity").loc["sd_alpha", "p"] < 0.05


@pytest.mark.parametrize("name", ["agreement", "gain", "k_curve", "ranking"])
def test_strategies_are_compared_of_five_and_of_nine_options(made, name):
    score = made[name].query("setting == 'score'")
    assert set(score["size"]) == {5, 9}
    assert (score.loc[score["judge"] == "a", "gate"] != "not asked").all()
    if name != "gain":
        nine = score[score["size"] == 9]
        assert {"balanced - random", "balanced - fixed"} <= set(nine["condition"]) and nine["k"].max() == 18


def test_fixed_is_compared_at_every_temperature(made):
    r = made["temperature"].query("quantity == 'pearson'").set_index(["temperature", "condition"])["k"]
    once = {"balanced": 10, "fixed": 10, "balanced - fixed": 10}
    assert r.to_dict() == {(heat, name): k for heat in (0.0, 0.6) for name, k in once.items()}


def test_criteria_are_pooled_and_alone(made):
    rows = made["agreement"].query(
        "setting == 'criteria' and condition == 'balanced' and quantity == 'pearson'"
    )
    assert rows.groupby("scale")["criterion"].agg(list).to_dict() == {
        scale: ["", "x", "y", "z"] for scale in ("12345", "54321")
    }
    assert not (made["agreement"].query("criterion != ''")["quantity"].str.contains("cells")).any()


def test_no_estimate_lies_outside_its_own_interval(made):
    for name, rows in made.items():
        known = rows[rows["ci_low"].notna() & rows["value"].notna()]
        inside = (known["ci_low"] <= known["value"] + 1e-9) & (known["value"] <= known["ci_high"] + 1e-9)
        # a difference or maximum may be biased in its resamples; a share or a correlation is not
        plain = known["quantity"].isin(["pearson", "position_share", "direction", "ok_rate"])
        assert inside[plain].all(), name


def test_the_same_judgements_give_the_same_bytes(tmp_path, section):
    for folder in ("first", "second"):
        list(tables.write_all(Study(judged(), QUICK, 1, "smoke"), section, tmp_path / folder))
    files = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert files == sorted(f"{name}{ending}" for name in captions.TEXTS for ending in (".csv", ".md"))
    for name in files:
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_another_judge_moves_no_row_of_the_first(section):
    """Only what is corrected or pooled over judges may differ."""
    both = Study(pd.concat([judged(), judged("b", 2)]), QUICK, 1, "smoke")
    alone, together = (
        {name: rows[rows["judge"] == "a"] for name, rows in tables.all_tables(study, section)}
        for study in (Study(judged(), QUICK, 1, "smoke"), both)
    )
    for name in alone:
        kept = alone[name].drop(columns="p_holm").reset_index(drop=True)
        pd.testing.assert_frame_equal(kept, together[name].drop(columns="p_holm").reset_index(drop=True))


@pytest.mark.parametrize("status", ["unparsed", "failed"])
def test_a_judge_without_any_score_has_tables_too(section, status):
    lost = judged().assign(status=status, score=np.nan)
    lost.loc[lost["setting"] == "score", "position"] = np.nan  # a criterion's place is known without a score
    lost[[f"p_{n}" for n in range(1, 10)]] = np.nan
    made = dict(tables.all_tables(Study(lost, QUICK, 1, "smoke"), section))
    assert made["answers"].set_index("quantity").loc[f"{status}_rate", "value"].min() == 1
    for name in ("position", "agreement", "ranking", "logit"):
        assert made[name]["value"].isna().all() or made[name].empty, name


def test_one_balanced_set_alone_leaves_the_others_empty_with_a_reason(tmp_path, section):
    items = planted_items(12, np.random.default_rng(1), dataset="embedded")
    rows = planted(items, 5, "balanced", 0, 0, 2, np.random.default_rng(1), judge="a")
    study = Study(rows.assign(fingerprint="0123456789ab"), QUICK, 1, "smoke")
    told = list(tables.write_all(study, section, tmp_path))
    empty = {line.partition(":")[0] for line in told}
    assert {"rubric_size", "criterion_order", "gain", "k_curve", "ranking", "prompt_arms"} <= empty
    assert "Not run" in (tmp_path / "gain.md").read_text(encoding="utf-8")


def test_the_stage_reads_exactly_the_judges_of_params(root, tmp_path, monkeypatch, capsys):
    (tmp_path / "params.yaml").write_text((root / "params.yaml").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"smollm2_135m\.parquet: absent; run the `judgements` stage"):
        tables.main()
    JUDGEMENTS.mkdir(parents=True)
    for judge in ("smollm2_135m", "removed"):
        judged().drop(columns="judge").to_parquet(JUDGEMENTS / f"{judge}.parquet")
    tables.main()
    assert "tables of smollm2_135m" in capsys.readouterr().out
    assert set(reporting.read(tables.FOLDER / "position.csv")["judge"]) == {"smollm2_135m"}
