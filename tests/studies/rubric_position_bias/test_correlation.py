"""Correlations of resamples: the oracle is scipy, given every drawn item as often as it was drawn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from studies.rubric_position_bias.correlation import pearson, spearman

ORACLES = [(pearson, stats.pearsonr), (spearman, stats.spearmanr)]


def once(n_clusters: int) -> np.ndarray:
    """The weights of the sample itself."""
    return np.ones((n_clusters, 1))


def test_pearson_by_hand():
    # Deviations -1, 0, 1 and -1, 1, 0: products 1 + 0 + 0, sums of squares 2 and 2.
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    assert pearson(x, y, np.arange(3), once(3)).tolist() == [0.5]


def test_spearman_by_hand_with_ties():
    # Ranks 1.5, 1.5, 3 and 1, 2, 3; centred -0.5, -0.5, 1 and -1, 0, 1.
    # Products 0.5 + 0 + 1 = 1.5; sums of squares 1.5 and 2: 1.5 / sqrt(3).
    x, y = np.array([4.0, 4.0, 5.0]), np.array([1.0, 7.0, 9.0])
    assert spearman(x, y, np.arange(3), once(3)) == pytest.approx([1.5 / 3**0.5])


def test_a_weight_is_a_repetition_by_hand():
    # Cluster 0 (items 0 and 1) twice, cluster 1 (item 2) once: 1, 2, 1, 2, 3 against 1, 3, 1, 3, 2.
    x, y, clusters = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]), np.array([0, 0, 1])
    repeated = [1, 2, 1, 2, 3], [1, 3, 1, 3, 2]
    for ours, oracle in ORACLES:
        assert ours(x, y, clusters, np.array([[2.0], [1.0]])) == pytest.approx([oracle(*repeated).statistic])


@pytest.mark.filterwarnings("ignore::scipy.stats.ConstantInputWarning")
@pytest.mark.parametrize(("ours", "oracle"), ORACLES)
@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.integers(2, 10).map(lambda score: score / 2), st.just(float("nan"))),
            st.one_of(st.floats(1, 5), st.integers(1, 5).map(float), st.just(float("nan"))),
            st.integers(0, 3),
        ),
        min_size=8,
        max_size=30,
    ),
    draws=st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=3),
)
def test_resamples_agree_with_scipy(ours, oracle, rows, draws):
    x, y, clusters = (np.array(column) for column in zip(*sorted(rows, key=lambda row: row[2]), strict=True))
    clusters = np.unique(clusters, return_inverse=True)[1]
    weights = np.array(draws, dtype=float).T[: clusters.max() + 1]
    found = ours(x, y, clusters, weights)
    for weight, rho in zip(weights.T, found, strict=True):
        repeated = np.repeat(np.arange(len(x)), weight.astype(int)[clusters])
        kept = repeated[~np.isnan(x[repeated] + y[repeated])]
        spreads = [len(set(values[kept])) for values in (x, y)]
        expected = oracle(x[kept], y[kept]).statistic if min(spreads) > 1 else np.nan
        assert rho == pytest.approx(expected, abs=1e-7, nan_ok=True)


@pytest.mark.parametrize(("ours", "oracle"), ORACLES)
def test_several_vectors_at_once(ours, oracle):
    # Two of the three leave out the same items. More items than a block of resamples holds at once.
    rng = np.random.default_rng(3)
    y, clusters = rng.normal(size=60), np.repeat(np.arange(20), 3)
    x = y + rng.normal(size=(2, 2, 60))
    x[0, :, :5] = np.nan
    weights = rng.multinomial(20, np.full(20, 1 / 20), size=2500).T.astype(float)
    found = ours(x, y, clusters, weights)
    assert found.shape == (2, 2, 2500)
    for place in np.ndindex(2, 2):
        assert found[place] == pytest.approx(ours(x[place], y, clusters, weights))
    repeated = np.repeat(np.arange(60), weights[:, -1].astype(int)[clusters])
    assert found[1, 1, -1] == pytest.approx(oracle(x[1, 1][repeated], y[repeated]).statistic)


@pytest.mark.parametrize(("ours", "oracle"), ORACLES)
def test_a_constant_has_no_correlation(ours, oracle):
    y, clusters = np.array([1.0, 2.0, 3.0, 4.0]), np.arange(4)
    assert np.isnan(ours(np.full(4, 3.1), y, clusters, once(4))).all()
    assert np.isnan(ours(y, np.full(4, 0.1 + 0.2), clusters, once(4))).all()
    # A resample that draws one item alone, whatever its value; and one of two that have the same value.
    alone = np.array([[4.0], [0.0], [0.0], [0.0]])
    assert np.isnan(ours(np.array([10 / 3, 1.0, 2.0, 10 / 3]), y, clusters, alone)).all()
    same = np.array([[2.0], [0.0], [0.0], [2.0]])
    assert np.isnan(ours(np.array([10 / 3, 1.0, 2.0, 10 / 3]), y, clusters, same)).all()


@pytest.mark.parametrize(("ours", "oracle"), ORACLES)
def test_nothing_left_has_no_correlation(ours, oracle):
    nothing = np.full(3, np.nan)
    assert np.isnan(ours(nothing, np.arange(3.0), np.arange(3), once(3))).all()


@pytest.mark.parametrize(("ours", "oracle"), ORACLES)
def test_units_do_not_matter(ours, oracle):
    # 1 to 5 as 11 to 51, and a far offset, which would cost an uncentred sum of squares its digits.
    rng = np.random.default_rng(1)
    x, y, clusters = rng.integers(1, 6, 30).astype(float), rng.normal(size=30), np.arange(30)
    before = ours(x, y, clusters, once(30))
    assert ours(10 * x + 1, y, clusters, once(30)) == pytest.approx(before)
    assert ours(x + 1e7, y - 1e7, clusters, once(30)) == pytest.approx(before, abs=1e-6)
    assert ours(-x, y, clusters, once(30)) == pytest.approx(-before)
