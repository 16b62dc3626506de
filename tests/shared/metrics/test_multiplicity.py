"""Corrected families: the arithmetic by hand, and undefined tests stay out of the family."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from shared.metrics.multiplicity import benjamini_hochberg, holm

P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), max_size=12)


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1 = 0.03, 0.04, 0.04, and never falling; the nan is no test.
    assert holm([0.04, np.nan, 0.01, 0.02]) == pytest.approx([0.04, np.nan, 0.03, 0.04], nan_ok=True)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_holm_agrees_with_statsmodels(n):
    p = np.random.default_rng(n).beta(0.4, 2, size=n)
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_benjamini_hochberg_agrees_with_scipy():
    p = [0.2, 0.001, 0.03, 0.5]
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


@pytest.mark.parametrize("correct", [holm, benjamini_hochberg])
def test_no_tests(correct):
    assert correct([]).shape == (0,)
    assert np.isnan(correct([np.nan, np.nan])).all()


@settings(deadline=None)
@given(P_VALUES)
def test_corrections_only_raise_and_keep_nan(p):
    raw = np.array(p, dtype=float)
    defined = ~np.isnan(raw)
    fdr, family = benjamini_hochberg(raw), holm(raw)
    assert (np.isnan(fdr) == ~defined).all() and (np.isnan(family) == ~defined).all()
    assert (raw[defined] <= fdr[defined] + 1e-12).all()
    assert (fdr[defined] <= family[defined] + 1e-12).all()
    assert (family[defined] <= 1).all()


@settings(deadline=None)
@given(P_VALUES)
def test_undefined_tests_cost_nothing(p):
    defined = [x for x in p if not np.isnan(x)]
    kept = holm(p)
    assert kept[~np.isnan(kept)] == pytest.approx(holm(defined))
