"""The price of a verdict, by hand."""

import numpy as np
import pandas as pd
import pytest

from shared.metrics.resampling import Inference
from studies.evidence_lock.cost import cost_rows
from studies.evidence_lock.pairs import pairs
from studies.evidence_lock.rows import COLUMNS
from tests.studies.evidence_lock.planted import planted, planted_items

QUICK = Inference(resamples=200, permutations=200)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def found_of(frame: pd.DataFrame) -> pd.DataFrame:
    return cost_rows(pairs(frame), rng(), QUICK)


def row(found: pd.DataFrame, quantity: str, scheme: str) -> pd.Series:
    (at,) = found.index[(found["quantity"] == quantity) & (found["scheme"] == scheme)]
    return found.loc[at]


def spent(frame: pd.DataFrame, scheme: str, tokens: list[float], seconds: float = 1.0) -> pd.DataFrame:
    """The frame with these prompt tokens an item, the same in both orders, and 10 tokens of answer."""
    own = frame["scheme"] == scheme
    told = dict(zip(frame["item"].unique(), tokens, strict=True))
    return frame.assign(
        prompt_tokens=frame["item"].map(told).where(own, frame["prompt_tokens"]),
        completion_tokens=frame["completion_tokens"].mask(own, 10),
        seconds=frame["seconds"].mask(own, seconds),
    )


def study() -> pd.DataFrame:
    frame = planted(3, rng())
    return spent(spent(frame, "structured", [90, 190, 290]), "lock", [190, 290, 690], 2.5)


def test_means_and_ratio_by_hand():
    found = found_of(study())
    assert list(found.columns) == list(COLUMNS)
    # (100 + 200 + 300) / 3 and (200 + 300 + 700) / 3; the ratio is of sums, 1200 / 600.
    assert [row(found, "tokens", scheme)["value"] for scheme in ("structured", "lock")] == [200, 400]
    ratio = row(found, "tokens_ratio", "lock")
    assert (ratio["value"], ratio["reference"], ratio["condition"]) == (2, "structured", "lock / structured")
    # Of resamples of three clusters' ratios, 2, 1.5 and 7/3, none is beyond these.
    assert 1.5 <= ratio["ci_low"] < 2 < ratio["ci_high"] <= 7 / 3
    assert [row(found, "calls", scheme)["value"] for scheme in ("structured", "lock")] == [1, 2]
    assert row(found, "seconds", "lock")["value"] == 2.5
    assert ratio[["n_items", "n_trials", "n_clusters", "n_unparsed"]].tolist() == [3, 6, 3, 0]
    assert not ((found["quantity"] == "tokens_ratio") & (found["scheme"] == "structured")).any()


def test_what_is_the_same_everywhere_has_no_interval():
    calls = row(found_of(study()), "calls", "lock")
    assert calls["value"] == 2 and np.isnan(calls["ci_low"]) and np.isnan(calls["ci_high"])


def test_of_two_clusters_no_interval_is_told():
    frame = study()
    few = row(found_of(frame[frame["item"] != "planted/2"]), "tokens", "lock")
    assert few["value"] == 250 and np.isnan(few["ci_low"])


def test_pairs_without_two_verdicts_are_left_out_and_counted():
    frame = study()
    lost = (frame["item"] == "planted/2") & (frame["scheme"] == "lock") & (frame["decision"] == "12")
    found = found_of(frame.assign(status=frame["status"].mask(lost, "failed")))
    tokens = row(found, "tokens", "lock")
    assert (tokens["value"], tokens["n_items"], tokens["n_unparsed"]) == (250, 2, 1)
    # On the pairs of both: 500 / 300.
    assert row(found, "tokens_ratio", "lock")["value"] == pytest.approx(500 / 300)
    assert row(found, "tokens", "structured")["value"] == 200


def test_an_unknown_cost_is_undefined():
    found = found_of(study().assign(seconds=np.nan))
    assert np.isnan(row(found, "seconds", "lock")["value"])
    assert row(found, "tokens", "lock")["value"] == 400


def test_a_protocol_like_structured_costs_as_much():
    frame = planted(6, rng(), schemes=["structured"])
    found = found_of(pd.concat([frame, frame.assign(scheme="standard")]))
    assert row(found, "tokens_ratio", "standard")["value"] == 1


def test_without_structured_there_is_no_ratio():
    found = found_of(planted(4, rng(), schemes=["lock"]))
    assert set(found["quantity"]) == {"calls", "tokens", "seconds"}


def test_data_sets_are_pooled():
    frames = [planted(planted_items(4, dataset=name), rng()) for name in ("one", "other")]
    found = found_of(pd.concat(frames))
    assert set(found["dataset"]) == {"one", "other", "all"}
    pooled = found[(found["dataset"] == "all") & (found["quantity"] == "tokens_ratio")]
    assert pooled["n_items"].tolist() == [8]


def test_of_nothing_there_are_no_rows():
    assert found_of(study().iloc[:0]).empty
