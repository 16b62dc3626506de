"""Every table from judgements, beside its page, whatever came out; a second run writes the same bytes."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

from shared.errors import UserError
from shared.reporting import tables as reporting
from shared.reporting.results import Study
from studies.evidence_lock import captions, tables
from studies.evidence_lock.data import ITEMS
from studies.evidence_lock.embedding import EMBEDDINGS
from studies.evidence_lock.judgements import JUDGEMENTS
from studies.evidence_lock.leaks import LABELS
from studies.evidence_lock.results import COLUMNS
from tests.studies.evidence_lock import small_tables
from tests.studies.evidence_lock.planted import ARMS, OWN, planted, planted_items
from tests.studies.evidence_lock.small_tables import FEW, SENTENCES

TEXTS = {"context": "When does it leave?", "answer_1": " ".join(SENTENCES[1:]), "answer_2": SENTENCES[1]}
PAIRS = planted_items(16, dataset="embedded", tied=2).assign(rater="intended", told="", **TEXTS)

MAIN = {"schemes": OWN}
TWO = [{"schemes": ["structured", "lock"]}]
FEW_ARMS = [*TWO, {"schemes": ["lock"], "crossed": True}]
RIGHT = ["agreement", "differences", "verdicts", "bundle", "orders", "budgets", "lost"]
"""Tables about verdicts."""


def judged(pairs, judge="mine", arms=(MAIN,), seed=1, **kinds):
    """Judgements of one planted judge; what two arms ask is there once."""
    rng = np.random.default_rng(seed)
    plain = pairs.drop(columns=["told", *TEXTS])
    told = {"judge": judge, "agree": 0.7, "flip": 0.2, **kinds}
    return pd.concat([planted(plain, rng, **told, **arm) for arm in arms]).drop_duplicates("trial")


def vectors():
    return dict(zip(SENTENCES, np.eye(len(SENTENCES)), strict=True))


def study(*frames, profile="smoke"):
    return Study(pd.concat(frames, ignore_index=True), FEW, 1, profile)


def made(*frames, pairs=None):
    texts = tables.Texts(PAIRS if pairs is None else pairs, vectors(), 0.5)
    return dict(tables.all_tables(study(*frames), texts))


def written(folder, *frames, pairs=None):
    """The tables as a reader finds them, and what the stage says."""
    texts = tables.Texts(PAIRS if pairs is None else pairs, vectors(), 0.5)
    told = list(tables.write_all(study(*frames), texts, folder))
    return {name: reporting.read(folder / f"{name}.csv") for name in captions.TEXTS}, told


@pytest.fixture(scope="module")
def one():
    """Every table of one judge on one data set, with all arms."""
    return made(judged(PAIRS, arms=ARMS))


# --- What is made -----------------------------------------------------------------------------------


def test_two_judges_and_two_data_sets_fill_every_table():
    found = small_tables.tables()
    assert list(found) == list(captions.TEXTS) and set(found) == set(captions.ABSENT)
    for name, rows in found.items():
        assert len(rows) and list(rows.columns) == list(COLUMNS), name
    assert {"embedded", "lfqa", "all"} <= set(found["agreement"]["dataset"])
    assert set(small_tables.JUDGES) <= set(found["agreement"]["judge"])


def test_the_tables_are_those_that_the_stage_declares(root):
    declared = YAML(typ="safe").load((root / "studies/evidence_lock/dvc.yaml").read_text(encoding="utf-8"))
    outs = {path for out in declared["stages"]["tables"]["outs"] for path in out}
    pages = {f"{name}{end}" for name in captions.TEXTS for end in (".csv", ".md")}
    assert outs == {f"{tables.FOLDER}/{name}" for name in pages | {tables.EXAMPLES}}


def test_no_rate_lies_outside_its_own_interval_or_its_range(one):
    for name, rows in one.items():
        ends = rows[rows["ci_low"].notna() & rows["value"].notna()]
        inside = (ends["ci_low"] <= ends["value"] + 1e-9) & (ends["value"] <= ends["ci_high"] + 1e-9)
        rates = ends["quantity"].str.endswith(("agreement", "_rate")) & (ends["reference"] == "")
        assert inside[rates].all() and ends.loc[rates, ["ci_low", "ci_high"]].stack().between(0, 1).all(), (
            name
        )
        assert rows["p"].dropna().between(0, 1).all() and (rows["p"].dropna() > 0).all(), name


def test_every_estimate_has_an_interval_and_every_test_what_it_could_have_found(one):
    for name, rows in one.items():
        known = rows[rows["value"].notna() & (rows["n_clusters"] > 1)]
        # planted calls, seconds, lengths and votes never vary, so that there is no interval of them
        known = known[known["quantity"] != "majority_all_votes"]
        assert known["ci_low"].notna().all() or name in ("cost", "budgets", "lost"), name
        # of fewer questions no number that changes is enough; the gate looks for no effect, and all planted
        # records are alike
        tested = rows[rows["p"].notna() & (rows["n_clusters"] >= 12)]
        assert tested["mde"].notna().all() or name in ("competence", "lost"), name


def test_all_that_the_tables_say_is_written(tmp_path):
    pairs = PAIRS.iloc[:4]
    found, told = written(tmp_path, judged(pairs, arms=TWO), pairs=pairs)
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {f"{n}{end}" for n in captions.TEXTS for end in (".csv", ".md")} | {tables.EXAMPLES}
    again = made(judged(pairs, arms=TWO), pairs=pairs)
    assert {name: len(rows) for name, rows in found.items()} == {
        name: len(rows) for name, rows in again.items()
    }
    empty = {line.partition(":")[0] for line in told}
    assert empty == {name for name, rows in again.items() if rows.empty}
    examples = (tmp_path / tables.EXAMPLES).read_text(encoding="utf-8")
    assert "Profile `smoke`; judge: mine (fingerprint 0123456789ab)." in examples


# --- What moves nothing -----------------------------------------------------------------------------


def test_the_same_judgements_give_the_same_bytes(tmp_path):
    rows = judged(PAIRS, arms=FEW_ARMS)
    for folder in ("first", "second"):
        written(tmp_path / folder, rows)
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes(), path.name


def test_another_judge_moves_no_row_of_the_first():
    """But the rows about all judges together."""
    mine, other = (judged(PAIRS, judge, seed=seed, arms=FEW_ARMS) for seed, judge in enumerate("ab"))
    alone, together = (
        {name: rows[rows["judge"] == "a"].reset_index(drop=True) for name, rows in made(*frames).items()}
        for frames in ((mine,), (mine, other))
    )
    for name in alone:
        pd.testing.assert_frame_equal(alone[name], together[name], obj=name)


def test_another_protocol_moves_no_agreement_or_difference():
    """Only what is corrected over all of them may differ."""
    every = judged(PAIRS, arms=[{"schemes": ["structured", "lock", "reread"]}])
    few = every[every["scheme"] != "reread"]
    less, more = (made(rows) for rows in (few, every))
    for name in ("agreement", "differences", "cost", "competence"):
        kept = more[name][more[name]["scheme"] != "reread"].reset_index(drop=True)
        assert len(kept) and len(kept) < len(more[name]), name
        pd.testing.assert_frame_equal(less[name].drop(columns="p_holm"), kept.drop(columns="p_holm"))


# --- What may come out ------------------------------------------------------------------------------


def test_a_judge_without_any_verdict_has_tables_and_pages_too(tmp_path):
    texts = dict.fromkeys(["criteria", "evidence_1", "evidence_2", "named", "leans"], "")
    lost = judged(PAIRS, arms=FEW_ARMS).assign(failed_step="record", verdict=None, **texts)
    lost["status"] = np.where(lost["decision"] == "12", "unparsed", "failed")
    found, _ = written(tmp_path, lost)
    counts = found["answers"].set_index("quantity")
    for status, share in (("ok", 0), ("unparsed", 0.5), ("failed", 0.5)):
        assert (counts.loc[f"{status}_rate", "value"] == share).all()
    assert counts.loc["judge_ties", "value"].isna().all() and counts.loc["human_ties", "value"] == 2 / 16
    for name in RIGHT:
        rows = found[name]
        of_all = rows["quantity"] == "agreement_all"  # in which no verdict is a disagreement
        assert (rows.loc[of_all, "value"] == 0).all(), name
        assert rows.loc[~of_all, "value"].isna().all() or set(rows.loc[rows["value"].notna(), "n_items"]) == {
            0
        }, name
    assert set(found["competence"]["verdict"]) == {"too few to tell"} or found["competence"].empty
    page = (tmp_path / "agreement.md").read_text(encoding="utf-8")
    assert "n/a" in page and not re.search(r"\bnan\b", page)


def test_one_pair_has_tables_and_pages_without_an_interval(tmp_path):
    pairs = PAIRS.iloc[:1]
    found, _ = written(tmp_path, judged(pairs, arms=ARMS), pairs=pairs)
    for name, rows in found.items():
        assert len(rows), name
        # one question can't be resampled
        assert rows.loc[rows["n_clusters"] <= 1, "ci_low"].isna().all(), name
        assert set(rows["dataset"]) == {"embedded"}, name
    main = found["agreement"]
    assert main.loc[main["quantity"] == "agreement", "value"].isin([0, 0.5, 1]).all()
    assert main["note"].str.contains(reporting.TOO_FEW).all()


def test_pairs_that_people_call_ties_alone_have_no_agreement(tmp_path):
    pairs = PAIRS.assign(label="tie")
    found, _ = written(tmp_path, judged(pairs, arms=TWO), pairs=pairs)
    rows = found["agreement"]
    assert rows.loc[rows["quantity"] == "agreement", "value"].isna().all()
    assert rows.loc[rows["quantity"] == "inconsistency", "value"].notna().all()


def test_where_nothing_is_crossed_or_varied_the_page_says_so(tmp_path):
    pairs = PAIRS.iloc[:6]
    one = judged(pairs, arms=[{"schemes": ["standard"]}])
    found, told = written(tmp_path, one, pairs=pairs)
    for name in ("differences", "orders", "leaks", "lost", "budgets"):
        assert found[name].empty or found[name]["value"].isna().all(), name
        page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        if found[name].empty:
            assert f"{name}: no rows; {captions.ABSENT[name]}" in told
            assert f"Not run: {captions.ABSENT[name]}" in page
    assert len(found["agreement"]) and "Not run" not in (tmp_path / "agreement.md").read_text(
        encoding="utf-8"
    )


def test_anothers_record_is_a_row_for_each_writer():
    pairs = PAIRS.iloc[:8]
    frames = [
        judged(pairs, arms=TWO),
        *(judged(pairs, arms=[{"schemes": ["other_record"], "writer": w}]) for w in "xy"),
    ]
    rows = made(*frames, pairs=pairs)["agreement"]
    own = rows[(rows["scheme"] == "other_record") & (rows["quantity"] == "agreement")]
    assert own["writer"].tolist() == ["x", "y"] and set(rows.loc[rows["scheme"] == "lock", "writer"]) == {""}


# --- The stage --------------------------------------------------------------------------------------


def test_the_stage_reads_exactly_the_judges_of_params(root, tmp_path, monkeypatch, capsys):
    document = YAML(typ="safe").load(root / "params.yaml")
    document["statistics"] |= {"resamples": 100, "permutations": 100}
    YAML().dump(document, tmp_path / "params.yaml")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"smollm2_135m\.parquet: absent; run the `judgements` stage"):
        tables.main()
    JUDGEMENTS.mkdir(parents=True)
    pairs = PAIRS.iloc[:4]
    for judge in ("smollm2_135m", "removed"):
        judged(pairs, arms=TWO).drop(columns="judge").to_parquet(JUDGEMENTS / f"{judge}.parquet")
    pairs.to_parquet(ITEMS)
    with pytest.raises(UserError, match=r"embeddings\.parquet: absent; run the `embed` stage"):
        tables.main()
    told = {"text": list(vectors()), "vector": [list(row) for row in vectors().values()]}
    pd.DataFrame(told).to_parquet(EMBEDDINGS)
    with pytest.raises(UserError, match=r"leak_labels\.jsonl"):
        tables.main()
    LABELS.parent.mkdir(parents=True)
    shutil.copy(root / LABELS, LABELS)
    tables.main()
    printed = capsys.readouterr().out
    assert "tables of smollm2_135m, profile" in printed and "orders: no rows; " in printed
    assert set(reporting.read(tables.FOLDER / "agreement.csv")["judge"]) == {"smollm2_135m"}
    # What is said of the rules is about no judge of the run.
    leaks = reporting.read(tables.FOLDER / "leaks.csv")
    about_none = leaks.loc[leaks["judge"].fillna("") == "", "quantity"]
    assert about_none.tolist() == ["reader_precision", "reader_recall"]
    page = (tables.FOLDER / "leaks.md").read_text(encoding="utf-8")
    assert "precision of the rules" in page and "(fingerprint none)" not in page.split("smollm2_135m")[0]
