import numpy as np
import pandas as pd
import pytest

from shared.metrics.resampling import Estimate, Inference, share
from studies.rationalization_probes.rows import COLUMNS, entropy_of, estimate, frame, row, signed_test

QUICK = Inference(resamples=300, permutations=300)
NAMES = {"judge": "j", "scheme": "scot", "probe": "truth"}


def rng():
    return np.random.default_rng(1)


def documents(n, each=1):
    names = np.repeat([f"d{i}" for i in range(n)], each)
    return pd.DataFrame({"item": [f"{name}:{i % each}" for i, name in enumerate(names)], "cluster": names})


def test_a_row_counts_what_its_estimate_rests_on():
    cell = documents(3, each=2)
    # 4 of 6 trials were used: 2 documents with two items each
    found = row("lds", NAMES, cell.head(4), cell, Estimate(0.5, 0.1, 0.9, 2))
    assert found == {
        "quantity": "lds",
        "judge": "j",
        "scheme": "scot",
        "condition": "truth",
        "value": 0.5,
        "ci_low": 0.1,
        "ci_high": 0.9,
        "n_items": 4,
        "n_trials": 4,
        "n_clusters": 2,
        "n_unparsed": 2,
    }


def test_a_frame_has_every_column_even_without_rows():
    assert tuple(frame([]).columns) == COLUMNS
    assert tuple(frame([], by=("judge", "probe", "system")).columns) == (*COLUMNS, "system")
    one = frame([row("lds", NAMES, documents(1), documents(1), Estimate(0.5, 0.1, 0.9, 2))])
    assert one[["p", "coding", "count"]].isna().all(axis=None)


def test_an_estimate_is_the_statistic_of_the_summed_columns():
    used = documents(2, each=2)
    # columns (n, hits): 3 of 4
    columns = np.array([[1, 1], [1, 1], [1, 1], [1, 0]], float)
    found = estimate(share, columns, used, rng(), QUICK, (0, 1))
    assert found.value == 0.75
    assert 0 <= found.low <= 0.75 <= found.high <= 1


@pytest.mark.parametrize("sign", [1, -1])
def test_a_signed_test_flips_whole_documents(sign):
    # 8 documents, each of two trials, all moved one way: 2 of 2^8 flips are as far out
    found = signed_test(sign * np.ones(16), documents(8, each=2), rng(), QUICK)
    assert found["p"] == 2 / 2**8


def test_no_effect_at_all_is_no_evidence():
    assert signed_test(np.zeros(8), documents(8), rng(), QUICK)["p"] == 1


def test_without_rows_nothing_is_tested():
    assert signed_test(np.array([]), documents(0), rng(), QUICK) == {}


def test_entropy_is_the_generators_own():
    assert entropy_of(rng()) == entropy_of(rng())
    generator = rng()
    assert entropy_of(generator) != entropy_of(generator)
