"""Paired differences by hand and against scipy and statsmodels; nominal error rates of scripted judges."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from shared.metrics.resampling import Inference
from studies.evidence_lock.differences import MORE, beside, difference_rows, mcnemar_p
from studies.evidence_lock.pairs import main_cells, pairs
from studies.evidence_lock.rows import COLUMNS
from tests.studies.evidence_lock.planted import many_judges, planted, planted_items

QUICK = Inference(resamples=200, permutations=200)
EXACT = Inference(resamples=200, permutations=10000)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def found_of(judgements: pd.DataFrame, inference: Inference = QUICK) -> pd.DataFrame:
    return difference_rows(pairs(judgements), rng(), inference)


def row(found: pd.DataFrame, quantity: str, **names: object) -> pd.Series:
    chosen = found["quantity"] == quantity
    for name, value in names.items():
        chosen &= found[name] == value
    (at,) = found.index[chosen]
    return found.loc[at]


def told(*verdicts: tuple[str, str, str, str], label: str = "1") -> pd.DataFrame:
    """Items with the verdicts of Structured and of the lock, each under 12 and 21; "" could not be parsed."""
    frame = planted(planted_items(len(verdicts)).assign(label=label), rng())
    # The frame's sequence: all items under each of structured 12, structured 21, lock 12, lock 21.
    given = [item[place] for place in range(4) for item in verdicts]
    return frame.assign(
        verdict=[verdict or None for verdict in given],
        status=["ok" if verdict else "unparsed" for verdict in given],
    )


def test_differences_by_hand():
    found = found_of(
        told(
            ("1", "1", "1", "2"),  # agreement 1 and 1/2, changed 0 and 1
            ("1", "1", "2", "2"),  # 1 and 0, 0 and 0
            ("1", "2", "tie", "1"),  # 1/2 and 1/2, 1 and 1; a tie for half a point: 1/2 and 3/4
            ("1", "1", "1", ""),  # dropped and counted
        )
    )
    assert list(found.columns) == [*COLUMNS, *MORE]
    agreement = row(found, "agreement")
    assert agreement["value"] == pytest.approx((-0.5 - 1 + 0) / 3)
    assert (agreement["reference"], agreement["condition"]) == ("structured", "lock - structured")
    # Two protocols of two orders each: 12 trials were used, one was lost.
    assert agreement[["n_items", "n_trials", "n_clusters", "n_unparsed"]].tolist() == [3, 12, 3, 1]
    assert row(found, "agreement_half")["value"] == pytest.approx((-0.5 - 1 + 0.25) / 3)
    inconsistency = row(found, "inconsistency")
    assert inconsistency["value"] == pytest.approx(1 / 3)
    assert agreement["p"] == 0.5  # sums -1/2 and -1: two of four flips are as large
    assert (inconsistency["p"], inconsistency["p_mcnemar"]) == (1, 1)  # one of one: 2 / 2
    assert np.isnan(agreement["p_mcnemar"])
    assert agreement["ci_low"] < agreement["value"] < agreement["ci_high"]


def test_the_sign_flips_are_scipys():
    found = found_of(planted(planted_items(11), rng(3), agree=0.7, flip=0.4), EXACT)
    wide = main_cells(pairs(planted(planted_items(11), rng(3), agree=0.7, flip=0.4)))
    table = wide.pivot(index="item", columns="scheme", values="agreement")
    effects = (table["lock"] - table["structured"]).to_numpy()
    oracle = stats.permutation_test((effects,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert row(found, "agreement")["p"] == pytest.approx(oracle.pvalue)
    assert row(found, "agreement")["value"] == pytest.approx(effects.mean())


def test_clusters_flip_as_a_whole():
    # One question with six pairs: a single cluster, that either sign could have, however many pairs move.
    frame = told(*[("1", "1", "2", "2")] * 6).assign(cluster="q")
    found = row(found_of(frame), "agreement")
    assert (found["value"], found["p"], found["n_clusters"]) == (-1, 1, 1)
    assert np.isnan(found["ci_low"]) and np.isnan(found["mde"])
    apart = row(found_of(told(*[("1", "1", "2", "2")] * 6)), "agreement")
    assert apart["p"] == pytest.approx(2 / 2**6)


def test_mcnemar_is_statsmodels():
    # Both change 2, the first alone 5, the second alone 1, neither 3.
    first = [1] * 2 + [1] * 5 + [0] * 1 + [0] * 3
    second = [1] * 2 + [0] * 5 + [1] * 1 + [0] * 3
    assert mcnemar_p(first, second) == mcnemar([[2, 5], [1, 3]], exact=True).pvalue
    assert mcnemar_p(first, second) == pytest.approx(2 * (1 + 6) / 2**6)  # P(0 or 1 of 6), twice
    assert mcnemar_p([1, 0], [1, 0]) == 1 and np.isnan(mcnemar_p([], []))


def test_a_protocol_like_structured_differs_by_nothing_with_a_width():
    frame = planted(12, rng(), schemes=["structured"], flip=0.4)
    found = found_of(pd.concat([frame, frame.assign(scheme="lock")]))
    assert (found["value"] == 0).all() and (found["p"] == 1).all()
    assert (found["ci_low"] < -0.1).all() and (found["ci_high"] > 0.1).all()
    # With 12 clusters six must move one way, the 0.8 quantile of Beta(6, 7), each by one order's verdict.
    least = {"agreement": 0.5, "agreement_half": 0.25, "inconsistency": 1.0}
    expected = [stats.beta.ppf(0.8, 6, 7) * least[quantity] for quantity in found["quantity"]]
    assert found["mde"].tolist() == pytest.approx(expected)


def test_turned_round_it_has_the_other_sign():
    frame = planted(20, rng(), agree={"structured": 0.9, "lock": 0.6})
    swapped = frame.assign(scheme=frame["scheme"].map({"structured": "lock", "lock": "structured"}))
    one, other = row(found_of(frame), "agreement"), row(found_of(swapped), "agreement")
    assert one["value"] == -other["value"] and one["p"] == pytest.approx(other["p"])


def test_only_pairs_of_both_protocols_count():
    items = planted_items(10)
    lock = planted(items.head(6), rng(), schemes=["lock"])
    structured = planted(items.tail(8), rng(), schemes=["structured"])
    found = row(found_of(pd.concat([lock, structured])), "agreement")
    assert found["n_items"] == 4  # items 2 to 5


def test_without_structured_there_is_nothing_to_compare():
    found = found_of(planted(4, rng(), schemes=["lock", "standard"]))
    assert found.empty and list(found.columns) == [*COLUMNS, *MORE]
    assert found_of(planted(4, rng(), schemes=["structured"])).empty


def test_another_writers_record_is_a_row_for_each_writer():
    items = planted_items(8)
    own = planted(items, rng(), judge="a", schemes=["structured"])
    others = [planted(items, rng(), judge="a", schemes=["other_record"], writer=name) for name in "bc"]
    found = found_of(pd.concat([own, *others]))
    assert found.loc[found["quantity"] == "agreement", "writer"].tolist() == ["b", "c"]


def test_letters_are_compared_with_letters():
    neutral = planted(8, rng(), agree=1.0)
    letters = planted(8, rng(1), naming="letters", agree={"structured": 1.0, "lock": 0.0})
    found = found_of(pd.concat([neutral, letters]))
    by_naming = found[found["quantity"] == "agreement"].set_index("naming")["value"]
    assert by_naming.to_dict() == {"neutral": 0, "letters": -1}


def test_holm_is_over_the_protocols_and_data_sets_of_a_judge_and_quantity():
    agree = {"structured": 0.9, "lock": 0.5, "standard": 0.5}
    frames = [
        planted(planted_items(20, dataset=name), rng(seed), schemes=list(agree), agree=agree)
        for seed, name in enumerate(["one", "other"])
    ]
    found = found_of(pd.concat(frames), EXACT)
    agreement = found[found["quantity"] == "agreement"]
    own, pooled = agreement[agreement["dataset"] != "all"], agreement[agreement["dataset"] == "all"]
    assert (len(own), len(pooled)) == (4, 2)
    assert own["p_holm"].min() == pytest.approx(4 * own["p"].min())
    assert pooled["p_holm"].min() == pytest.approx(2 * pooled["p"].min())


def test_a_reference_with_two_budgets_is_an_error():
    found = pairs(planted(3, rng(), schemes=["structured"], record_chars=[150, 600]))
    with pytest.raises(pd.errors.MergeError):
        beside(found, found)


def test_planted_differences_are_covered_and_no_difference_is_found_at_the_nominal_rate():
    agree = {"structured": 0.8, "lock": 0.7, "reread": 0.8}
    flip = {"structured": 0.1, "lock": 0.3, "reread": 0.1}
    found = found_of(many_judges(60, 40, rng(), schemes=list(agree), agree=agree, flip=flip))
    for quantity, of in {"agreement": agree, "inconsistency": flip}.items():
        for scheme in ("lock", "reread"):
            rows = found[(found["quantity"] == quantity) & (found["scheme"] == scheme)]
            truth = of[scheme] - of["structured"]
            covered = (rows["ci_low"] <= truth) & (truth <= rows["ci_high"])
            # A nominal 0.95 less three standard errors of 60 draws, 0.085.
            assert len(rows) == 60 and covered.mean() >= 0.865
            assert rows["value"].mean() == pytest.approx(truth, abs=0.035)
            if scheme == "reread":
                assert (rows["p"] <= 0.05).mean() <= 0.05 + 0.085
    lock = found[(found["quantity"] == "inconsistency") & (found["scheme"] == "lock")]
    assert (lock["p"] <= 0.05).mean() > 0.4
