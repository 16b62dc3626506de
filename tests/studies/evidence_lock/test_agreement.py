"""Rates of each protocol by hand; intervals that cover what a scripted judge was given."""

import numpy as np
import pandas as pd
import pytest

from shared.metrics.resampling import Inference
from studies.evidence_lock.agreement import agreement_rows
from studies.evidence_lock.pairs import pairs
from studies.evidence_lock.rows import COLUMNS
from tests.studies.evidence_lock.planted import many_judges, planted, planted_items

QUICK = Inference(resamples=200, permutations=200)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def found_of(judgements: pd.DataFrame, inference: Inference = QUICK) -> pd.DataFrame:
    return agreement_rows(pairs(judgements), rng(), inference)


def row(found: pd.DataFrame, quantity: str, **names: object) -> pd.Series:
    chosen = found["quantity"] == quantity
    for name, value in {"subset": None, **names}.items():
        chosen &= found[name].isna() if value is None else found[name] == value
    (at,) = found.index[chosen]
    return found.loc[at]


def verdicts(frame: pd.DataFrame, under_12: list[str | None], under_21: list[str | None]) -> pd.DataFrame:
    told = [*under_12, *under_21]
    return frame.assign(verdict=told, status=["unparsed" if v is None else "ok" for v in told])


def test_rates_by_hand():
    items = planted_items(5).assign(label=["1", "1", "2", "1", "tie"])
    frame = planted(items, rng(), schemes=["lock"])
    found = found_of(verdicts(frame, ["1", "1", "tie", None, "1"], ["1", "2", "2", "1", "tie"]))
    assert list(found.columns) == list(COLUMNS)
    # Pairs with two verdicts: 1.0, 0.5 and 0.5; with half a point for the tie 1.0, 0.5 and 0.75.
    agreement = row(found, "agreement")
    assert agreement["value"] == pytest.approx(2 / 3)
    assert agreement[["n_items", "n_trials", "n_clusters", "n_unparsed"]].tolist() == [3, 6, 3, 1]
    assert row(found, "agreement_half")["value"] == pytest.approx(0.75)
    # All four: 1, 1/2, 1/2, and one of two answered and right.
    everything = row(found, "agreement_all")
    assert (everything["value"], everything["n_items"], everything["n_trials"]) == (0.625, 4, 8)
    # Human ties are kept: changed 0, 1, 1, and 1 of the tie.
    inconsistency = row(found, "inconsistency")
    assert (inconsistency["value"], inconsistency["n_items"], inconsistency["n_unparsed"]) == (0.75, 4, 1)
    # Two of eight verdicts are ties. Of the pairs the first shown is picked 0 net, 1, 1/2 and 1/2.
    assert row(found, "tie_rate")["value"] == 0.25
    assert row(found, "first_shown")["value"] == pytest.approx((0 + 1 + 0.5 + 0.5) / 4)
    assert row(found, "first_shown")["p"] == 0.25  # sums 1, 1/2, 1/2: two of eight flips are as large
    assert np.isnan(agreement["p"])


def test_unanimous_rates_have_a_width():
    found = found_of(planted(10, rng(), schemes=["lock"], agree=1.0))
    agreement, inconsistency = row(found, "agreement"), row(found, "inconsistency")
    assert (agreement["value"], agreement["ci_high"]) == (1, 1) and agreement["ci_low"] < 0.8
    assert (inconsistency["value"], inconsistency["ci_low"]) == (0, 0) and inconsistency["ci_high"] > 0.2


def test_a_judge_that_picks_the_first_agrees_with_half_and_leans():
    found = found_of(planted(20, rng(), schemes=["lock"], agree=0.5, flip=1.0, first=1.0))
    assert row(found, "agreement")["value"] == 0.5 and row(found, "inconsistency")["value"] == 1
    place = row(found, "first_shown")
    assert place["value"] == 1 and place["p"] <= 0.05 and place["ci_low"] > 0.5


def test_holm_is_over_the_protocols_and_data_sets_of_a_judge():
    frames = [
        planted(planted_items(12, dataset=name), rng(seed), flip=0.6, agree=0.6, first=0.9)
        for seed, name in enumerate(["one", "other"])
    ]
    found = found_of(pd.concat(frames))
    place = found[found["quantity"] == "first_shown"]
    own, pooled = place[place["dataset"] != "all"], place[place["dataset"] == "all"]
    assert len(own) == 4 and len(pooled) == 2
    assert own["p_holm"].min() == pytest.approx(min(1, 4 * own["p"].min()))
    assert pooled["p_holm"].min() == pytest.approx(min(1, 2 * pooled["p"].min()))


def test_data_sets_pool_their_items():
    one = planted(planted_items(10, dataset="one"), rng(), schemes=["lock"], agree=1.0)
    other = planted(planted_items(30, dataset="other"), rng(), schemes=["lock"], agree=0.0)
    found = found_of(pd.concat([one, other]))
    assert row(found, "agreement", dataset="all")["value"] == 0.25
    assert row(found, "agreement", dataset="all")["n_clusters"] == 40
    assert set(found_of(one)["dataset"]) == {"one"}


def test_letters_stand_apart_and_budgets_are_left_out():
    frame = planted(8, rng(), record_chars=[150, 600])
    letters = planted(8, rng(), naming="letters")
    found = found_of(pd.concat([frame, letters]))
    assert set(zip(found["scheme"], found["naming"], found["record_chars"], strict=True)) == {
        (scheme, naming, 600) for scheme in ("structured", "lock") for naming in ("neutral", "letters")
    }


def test_subsets_come_where_a_data_set_has_several():
    several = planted(planted_items(8, subsets=["Natural", "Adversarial"]), rng(), schemes=["lock"])
    one = planted(planted_items(8, dataset="one", subsets=["all of it"]), rng(), schemes=["lock"])
    found = found_of(pd.concat([several, one]))
    of_subsets = found[found["subset"].notna()]
    assert set(of_subsets["quantity"]) == {"agreement", "inconsistency"}
    assert set(zip(of_subsets["dataset"], of_subsets["subset"], strict=True)) == {
        ("planted", "Natural"),
        ("planted", "Adversarial"),
    }
    assert row(found, "agreement", subset="Natural")["n_items"] == 4


def test_adding_a_cell_moves_no_other():
    frame = planted(12, rng(), flip=0.3, agree=0.7)
    alone = found_of(frame[frame["scheme"] == "lock"]).drop(columns="p_holm")
    more = found_of(frame).drop(columns="p_holm")
    more = more[more["scheme"] == "lock"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, more)


def test_without_answers_values_are_undefined():
    found = found_of(planted(3, rng(), schemes=["lock"], unparsed=1.0))
    agreement = row(found, "agreement")
    assert np.isnan(agreement["value"]) and (agreement["n_items"], agreement["n_unparsed"]) == (0, 6)
    assert row(found, "agreement_all")["value"] == 0
    assert np.isnan(row(found, "first_shown")["p"])


def test_of_nothing_there_are_no_rows():
    found = found_of(planted(3, rng()).iloc[:0])
    assert found.empty and list(found.columns) == list(COLUMNS)


def test_a_set_without_strict_labels_has_no_agreement():
    found = found_of(planted(planted_items(4, tied=4), rng(), schemes=["lock"]))
    assert set(found["quantity"]) == {"inconsistency", "tie_rate", "first_shown"}


def test_intervals_cover_what_was_planted_at_about_the_nominal_rate():
    truth = {"agreement": 0.72, "inconsistency": 0.2, "first_shown": 0.2 * 0.4}
    kinds = {"schemes": ["lock"], "agree": 0.72, "flip": 0.2, "first": 0.7, "unparsed": 0.03}
    found = found_of(many_judges(80, 40, rng(), **kinds))
    for quantity, planted_value in truth.items():
        rows = found[found["quantity"] == quantity]
        covered = (rows["ci_low"] <= planted_value) & (planted_value <= rows["ci_high"])
        # A nominal 0.95 less three standard errors of 80 draws, 0.073.
        assert len(rows) == 80 and covered.mean() >= 0.877
        assert rows["value"].mean() == pytest.approx(planted_value, abs=0.02)
        assert (rows["ci_high"] - rows["ci_low"]).mean() < 0.4
