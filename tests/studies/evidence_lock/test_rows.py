"""What every row of results is made of."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shared.metrics.resampling import Estimate, Inference
from studies.evidence_lock.rows import COLUMNS, corrected, draws, frame, row, signed_test

QUICK = Inference(resamples=200, permutations=20000)


def test_a_generator_depends_on_its_names_alone():
    def first(quantity, **names):
        return draws(np.random.default_rng(1))(quantity, names).random()

    assert first("a", judge="j", dataset="d") == first("a", dataset="d", judge="j")
    drawn = {first("a", judge="j"), first("b", judge="j"), first("a", judge="k"), first("a", scheme="j")}
    assert len(drawn) == 4


def test_a_row_counts_what_was_used_and_what_was_lost():
    asked = pd.DataFrame(
        {"item": list("abc"), "cluster": list("xxy"), "n_trials": [2, 2, 2], "n_unparsed": [0, 0, 1]}
    )
    made = row("agreement", {"judge": "j"}, Estimate(0.5, 0.1, 0.9, 1), asked.iloc[:2], asked)
    assert (made["n_items"], made["n_trials"], made["n_clusters"], made["n_unparsed"]) == (2, 4, 1, 1)
    assert (made["value"], made["ci_low"], made["ci_high"], made["judge"]) == (0.5, 0.1, 0.9, "j")
    assert list(frame([made]).columns) == list(COLUMNS)


def test_clusters_are_tested_as_a_whole():
    effects, clusters = [1, 1, -1, 1, 0.5, 1], list("aabcde")
    found = signed_test(effects, clusters, np.random.default_rng(0), QUICK)
    sums = np.array([2, -1, 1, 0.5, 1])
    oracle = stats.permutation_test((sums,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert found["p"] == pytest.approx(oracle.pvalue)
    assert np.isnan(found["mde"])  # five clusters can't reach 0.05
    assert signed_test([], [], np.random.default_rng(0), QUICK) == {}


@pytest.mark.parametrize(("clusters", "unit"), [(24, 0.5), (40, 0.25), (40, 1.0)])
def test_what_few_moved_clusters_could_show_is_found_four_times_in_five(clusters, unit):
    """Nothing moved, so that the spread says nothing: simulated with moves of one step, all one way."""
    draw, names = np.random.default_rng(5), np.arange(clusters)
    mde = signed_test(np.zeros(clusters), names, draw, QUICK, unit)["mde"]
    moved = draw.random((400, clusters)) < mde / unit
    few = Inference(permutations=1000)
    p = np.array([signed_test(unit * hits, names, draw, few, unit)["p"] for hits in moved])
    assert (p <= 0.05).mean() == pytest.approx(0.8, abs=0.06)  # three standard errors of 400 draws


def test_what_is_detectable_by_spread_depends_on_no_unit():
    effects = np.random.default_rng(2).choice([-0.5, 0.5], 200)
    whole, half = (
        signed_test(effects, range(200), np.random.default_rng(0), QUICK, u)["mde"] for u in (1, 0.5)
    )
    assert whole == pytest.approx(half) and whole > 0.05


def test_holm_leaves_pooled_rows_and_undefined_tests_out_of_the_family():
    rows = frame(
        [
            {"judge": "j", "dataset": "one", "quantity": "a", "p": 0.01},
            {"judge": "j", "dataset": "two", "quantity": "a", "p": 0.04},
            {"judge": "j", "dataset": "two", "quantity": "b", "p": 0.02},
            {"judge": "j", "dataset": "all", "quantity": "a", "p": 0.03},
            {"judge": "j", "dataset": "six", "quantity": "a", "p": np.nan},
        ]
    )
    found = corrected(rows, ("judge", "quantity"))["p_holm"].tolist()
    assert found[:4] == pytest.approx([0.02, 0.04, 0.02, 0.03]) and np.isnan(found[4])
    assert corrected(frame([]), ("judge",)).empty
