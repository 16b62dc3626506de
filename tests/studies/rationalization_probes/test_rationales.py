"""Drift and alignment of rationales: by hand on small vectors, at their limits, and under swaps."""

from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cosine

from shared.errors import UserError
from shared.metrics.resampling import Inference
from studies.rationalization_probes.params import Family, Probe, Rationales
from studies.rationalization_probes.rationales import (
    FLOORS,
    PROBE_FAMILY,
    alignment,
    alpha,
    beside_floor,
    compared,
    descriptor_pairs,
    distance,
    drift,
    drift_above_floor,
)
from studies.rationalization_probes.rows import COLUMNS
from tests.studies.rationalization_probes.scripted_judgements import CARRIER, judgement

QUICK = Inference(resamples=300, permutations=300)

VECTORS = {
    "east": np.array([1.0, 0.0]),
    "north": np.array([0.0, 1.0]),
    "west": np.array([-1.0, 0.0]),
    "north east": np.array([1.0, 1.0]) / np.sqrt(2),
    "nowhere": np.array([0.0, 0.0]),
}
DESCRIPTORS = {
    "label": [("east", "north"), ("east", "west")],
    "placebo": [("north", "east"), ("north", "west")],
}


def told(document, rationale, probe="blind", verdict="1", **names):
    """A judgement with a rationale; probes beside the scripted ones carry their cue on candidate 1."""
    known = probe if probe in CARRIER else "truth"
    found = judgement(document, verdict, probe=known, **names) | {"rationale": rationale, "judge": "judge"}
    found["trial"] = found["trial"].replace(f"|{known}|", f"|{probe}|")
    return found | {"probe": probe}


def table(*rows):
    return pd.DataFrame(list(rows))


def rng():
    return np.random.default_rng(7)


def drifts(judgements, thresholds=(0.1, 0.5)):
    return drift(judgements, VECTORS, thresholds, rng(), QUICK)


def above(judgements, floors=FLOORS):
    return drift_above_floor(judgements, VECTORS, rng(), QUICK, floors)


def aligned(judgements, descriptors=DESCRIPTORS):
    return alignment(judgements, VECTORS, descriptors, rng(), QUICK)


def cell(rows, quantity, **names):
    """The one row of that name."""
    found = rows[rows["quantity"] == quantity]
    for name, value in names.items():
        found = found[found[name] == value]
    assert len(found) == 1, f"{len(found)} rows"
    return found.iloc[0]


# --- Equations --------------------------------------------------------------------------------------


def test_distance_by_hand():
    # (1 - cos) / 2: the same 0, at 45 degrees (1 - sqrt(1/2)) / 2 = 0.146, orthogonal 0.5, opposite 1.
    others = [VECTORS[name] for name in ("east", "north east", "north", "west")]
    assert distance(VECTORS["east"], others) == pytest.approx([0, 0.14645, 0.5, 1], abs=1e-5)
    assert distance([3.0, 4.0], [3.0, 4.0]) == 0
    assert distance([3.0, 4.0], [6.0, 8.0]) == pytest.approx(0)  # length is no distance


def test_a_vector_without_direction_has_no_distance():
    assert np.isnan(distance([0.0, 0.0], [1.0, 0.0]))
    assert np.isnan(alpha([0.0, 0.0], [1.0, 0.0], [0.0, 1.0]))
    assert distance(np.empty((0, 2)), np.empty((0, 2))).shape == (0,)


COORDINATE = st.integers(-1000, 1000).map(lambda n: n / 100)
VECTOR = st.tuples(COORDINATE, COORDINATE, COORDINATE).filter(any)


@given(VECTOR, VECTOR)
def test_distance_is_half_of_the_cosine_distance(one, other):
    found = float(distance(one, other))
    assert 0 <= found <= 1
    assert found == pytest.approx(cosine(one, other) / 2, abs=1e-12)
    assert found == distance(other, one)
    assert distance(one, one) == 0
    assert distance(one, np.negative(one)) == pytest.approx(1)


def test_alpha_by_hand():
    # Nearer to the favoured one, nearer to the other, in the middle.
    rationales = [[2.0, 1.0], [1.0, 2.0], [1.0, 1.0]]
    assert alpha(rationales, [1.0, 0.0], [0.0, 1.0]).tolist() == [1, 0, 0.5]
    # By direction alone: a long descriptor is no nearer one.
    assert alpha(rationales, [1.0, 0.0], [0.0, 100.0]).tolist() == [1, 0, 0.5]
    assert alpha(rationales, [1.0, 0.0], [1.0, 0.0]).tolist() == [0.5, 0.5, 0.5]


@given(VECTOR, VECTOR, VECTOR)
def test_exchanged_descriptors_give_the_rest_to_1(rationale, favoured, opposite):
    one, other = alpha(rationale, favoured, opposite), alpha(rationale, opposite, favoured)
    assert float(one) in (0, 0.5, 1) and one + other == 1


# --- Pairs ------------------------------------------------------------------------------------------


def test_pairs_by_hand():
    pairs = compared(
        table(
            told("a", "east"),
            told("a", "north", "flip"),
            told("b", "east", verdict="tie"),
            told("b", "east", "flip", verdict="2"),
            told("c", "east"),
            told("c", None, "flip", verdict=None),
        ),
        VECTORS,
    )
    assert pairs["same"].tolist() == [True, False, False]
    assert pairs["delta"].tolist() == pytest.approx([0.5, 0, np.nan], nan_ok=True)


def test_a_text_without_a_vector_is_told():
    rows = table(told("a", "east"), told("a", "said otherwise", "truth"))
    with pytest.raises(UserError, match=r"'said otherwise': run the `embed` stage"):
        compared(rows, VECTORS)
    with pytest.raises(UserError, match=r"'a label'"):
        aligned(table(told("a", "east"), told("a", "east", "truth")), {"label": [("a label", "east")]})


def test_a_judgement_without_blind_is_an_error():
    with pytest.raises(ValueError, match="no judgement under Blind"):
        compared(table(told("a", "east", "truth")), VECTORS)


# --- Drift ------------------------------------------------------------------------------------------


@pytest.fixture
def moved():
    """Four documents under Truth: turned by 90 degrees, not at all, by 180 with another verdict, unparsed."""
    return table(
        *(told(name, "east") for name in "abcd"),
        told("a", "north", "truth"),
        told("b", "east", "truth"),
        told("c", "west", "truth", verdict="2"),
        told("d", None, "truth", verdict=None),
    )


def test_drift_by_hand(moved):
    rows = drifts(moved)
    assert tuple(rows.columns) == COLUMNS
    # All with two rationales: (0.5 + 0 + 1) / 3; cosines 0, 1 and -1.
    everything = cell(rows, "drift", over="all")
    assert everything["value"] == pytest.approx(0.5)
    assert cell(rows, "cosine", over="all")["value"] == pytest.approx(0)
    assert tuple(everything[["n_items", "n_trials", "n_clusters", "n_unparsed"]]) == (3, 3, 3, 1)
    # The same decision: (0.5 + 0) / 2; what was not parsed is no such pair.
    same = cell(rows, "drift", over="same")
    assert same["value"] == pytest.approx(0.25)
    assert cell(rows, "cosine", over="same")["value"] == pytest.approx(0.5)
    assert tuple(same[["n_trials", "n_unparsed"]]) == (2, 0)
    # Three documents have an interval; the resamples of two would give back their two values.
    assert everything["ci_low"] < 0.5 < everything["ci_high"]
    assert np.isnan([same["ci_low"], same["ci_high"]]).all()
    assert same["condition"] == "truth"


def test_change_rates_by_hand(moved):
    # 0.5, 0 and 1: two above 0.1; one above 0.5, for what equals the threshold is not above it.
    rows = drifts(moved)
    assert cell(rows, "change_rate", over="all", wording="> 0.1")["value"] == pytest.approx(2 / 3)
    assert cell(rows, "change_rate", over="all", wording="> 0.5")["value"] == pytest.approx(1 / 3)
    assert cell(rows, "change_rate", over="same", wording="> 0.5")["count"] == 0
    assert drifts(moved, thresholds=())["quantity"].unique().tolist() == ["drift", "cosine"]


def test_a_missing_rationale_of_the_same_decision_is_counted():
    """A verdict may be parsed whose rationale is empty, or whose narrative was cut."""
    rows = drifts(
        table(told("a", "east"), told("a", None, "truth"), told("b", None), told("b", None, "truth"))
    )
    for over in ("all", "same"):
        found = cell(rows, "drift", over=over)
        assert np.isnan(found["value"]) and (found["n_trials"], found["n_unparsed"]) == (0, 2)


def test_no_decision_unchanged_is_not_available():
    rows = drifts(table(told("a", "east"), told("a", "north", "truth", verdict="tie")))
    assert cell(rows, "drift", over="all")["value"] == pytest.approx(0.5)
    for quantity in ("drift", "cosine"):
        assert np.isnan(cell(rows, quantity, over="same")["value"])
    assert np.isnan(cell(rows, "change_rate", over="same", wording="> 0.1")["value"])


def test_a_text_without_direction_counts_as_no_rationale():
    rows = drifts(
        table(
            told("a", "east"), told("a", "nowhere", "truth"), told("b", "east"), told("b", "north", "truth")
        )
    )
    found = cell(rows, "drift", over="all")
    assert (found["value"], found["n_unparsed"]) == (pytest.approx(0.5), 1)


def test_rationales_that_stay_do_not_drift():
    rows = drifts(table(*(told(name, "east", probe) for name in "abcd" for probe in ("blind", "truth"))))
    still = cell(rows, "drift", over="same")
    assert (still["value"], still["ci_low"]) == (0, 0) and 0 < still["ci_high"] < 1
    assert cell(rows, "cosine", over="same")["value"] == 1


def test_drift_does_not_know_the_candidates_names(moved):
    """Exchanging the candidates exchanges verdicts, orders and carriers, and moves no rationale."""
    exchanged = moved.assign(
        verdict=moved["verdict"].replace({"1": "2", "2": "1"}),
        screen_order="21",
        carrier=3 - moved["carrier"],
    )
    pd.testing.assert_frame_equal(drifts(moved), drifts(exchanged))


def test_a_row_does_not_depend_on_other_rows(moved):
    more = pd.concat([moved, moved.assign(scheme="baseline")], ignore_index=True)
    rows = drifts(more)
    pd.testing.assert_frame_equal(rows[rows["scheme"] == "scot"].reset_index(drop=True), drifts(moved))


def test_nothing_judged_gives_empty_frames(moved):
    nothing = moved[moved["probe"] == "none"]
    for rows in (drifts(nothing), above(nothing), aligned(nothing)):
        assert rows.empty and tuple(rows.columns) == COLUMNS
    blind = moved[moved["probe"] == "blind"]
    assert drifts(blind).empty and above(blind).empty and aligned(blind).empty


# --- Above the floors -------------------------------------------------------------------------------


@pytest.fixture
def floored():
    """Truth turns a by 90 degrees, b by 180 and c by 0; an empty line turns b by 90 and c by 90."""
    return table(
        *(told(name, "east") for name in "abc"),
        told("a", "north", "truth"),
        told("b", "west", "truth"),
        told("c", "east", "truth", verdict="2"),
        told("a", "east", "empty"),
        told("b", "north", "empty", verdict="tie"),
        told("c", "north", "empty"),
    )


def test_drift_above_the_floor_by_hand(floored):
    rows = above(floored)
    # (0.5 - 0 + 1 - 0.5 + 0 - 0.5) / 3; only a keeps its verdict under both.
    found = cell(rows, "drift_above_empty", over="all")
    assert found["value"] == pytest.approx(0.5 / 3)
    # Effects 0.5, 0.5, -0.5: of 8 sign vectors all reach a sum of 0.5 in size.
    assert (found["p"], found["n_trials"], found["n_unparsed"]) == (1, 3, 0)
    same = cell(rows, "drift_above_empty", over="same")
    assert (same["value"], same["n_trials"]) == (pytest.approx(0.5), 1)
    assert set(rows["condition"]) == {"truth"}


def test_a_floor_that_was_not_asked_is_not_available(floored):
    for over in ("all", "same"):
        found = cell(above(floored), "drift_above_resample", over=over)
        assert np.isnan(found["value"]) and np.isnan(found["p"])
        assert (found["n_trials"], found["n_unparsed"]) == (0, 0)


def test_a_floor_asked_of_some_items_is_compared_with_these(floored):
    fewer = floored[~((floored["item"].str.startswith("c")) & (floored["probe"] == "empty"))]
    found = cell(above(fewer), "drift_above_empty", over="all")
    assert (found["value"], found["n_trials"], found["n_unparsed"]) == (pytest.approx(0.5), 2, 0)
    pairs = beside_floor(compared(fewer, VECTORS), "empty")
    assert pairs["floor_asked"].tolist() == [True, True, False]
    assert pairs["above"].tolist() == pytest.approx([0.5, 0.5, np.nan], nan_ok=True)


def test_exchanging_cue_and_floor_flips_the_sign(floored):
    exchanged = floored.assign(probe=floored["probe"].replace({"truth": "flip", "empty": "truth"}))
    exchanged = exchanged.assign(probe=exchanged["probe"].replace({"flip": "empty"}))
    one, other = (cell(above(rows), "drift_above_empty", over="all") for rows in (floored, exchanged))
    assert other["value"] == -one["value"] and other["p"] == one["p"]


def test_a_cue_that_moves_every_rationale_is_found():
    probes = {"blind": "east", "resample": "north east", "placebo": "west"}
    rows = table(*(told(f"d{n}", text, probe) for n in range(8) for probe, text in probes.items()))
    found = cell(above(rows), "drift_above_resample", over="same")
    # 1 - 0.146, the same in 8 documents: p = 2 / 2^8.
    assert found["value"] == pytest.approx(0.85355, abs=1e-5)
    assert found["p"] == pytest.approx(2 / 256)
    # All agree to the last digit: no spread to tell a detectable distance from.
    assert np.isnan(found["mde"]) and found["ci_low"] < found["value"] < found["ci_high"]


def test_a_double_floor_is_an_error(floored):
    double = pd.concat([floored, floored[floored["probe"] == "empty"]], ignore_index=True)
    with pytest.raises(ValueError, match="many-to-one"):
        above(double)


# --- Alignment --------------------------------------------------------------------------------------


@pytest.fixture
def leaning():
    """Under Truth a turns from the other label to the cue's, b stays between, c changes its verdict."""
    return table(
        told("a", "north"),
        told("a", "east", "truth"),
        told("b", "north east"),
        told("b", "north east", "truth"),
        told("c", "west"),
        told("c", "west", "truth", verdict="2"),
    )


def test_alignment_by_hand(leaning):
    rows = aligned(leaning)
    assert tuple(rows.columns) == COLUMNS
    # Wording 1, east against north: a 1 (Blind 0), b 0.5 (0.5); c, west, is 90 degrees from north and 180
    # from east: 0 (0).
    assert cell(rows, "lai", over="same", wording="1")["value"] == pytest.approx(0.75)
    assert cell(rows, "lai_blind", over="same", wording="1")["value"] == pytest.approx(0.25)
    assert cell(rows, "lai_excess", over="same", wording="1")["value"] == pytest.approx(0.5)
    assert cell(rows, "lai", over="all", wording="1")["value"] == pytest.approx(0.5)
    # Wording 2, east against west: a 1 (Blind, orthogonal to both, 0.5), b 1 (1), c 0 (0).
    assert cell(rows, "lai", over="same", wording="2")["value"] == pytest.approx(1)
    assert cell(rows, "lai_blind", over="same", wording="2")["value"] == pytest.approx(0.75)
    # Their mean: (1 + 0.75) / 2; and the range, 1 - 0.75.
    assert cell(rows, "lai", over="same", wording="mean")["value"] == pytest.approx(0.875)
    assert cell(rows, "lai_excess", over="same", wording="mean")["value"] == pytest.approx(0.375)
    assert cell(rows, "lai_wording_range", over="same")["value"] == pytest.approx(0.25)
    assert cell(rows, "lai", over="same", wording="1")["n_trials"] == 2


def test_each_probe_is_compared_with_its_own_descriptors():
    probes = {"blind": "north east", "truth": "east", "flip": "east", "placebo": "north", "empty": "west"}
    rows = aligned(table(*(told("a", text, probe) for probe, text in probes.items())))
    assert set(rows["condition"]) == {"truth", "flip", "placebo"}  # an empty line shows no cue
    lai = rows[(rows["quantity"] == "lai") & (rows["over"] == "same") & (rows["wording"] == "mean")]
    assert lai["value"].tolist() == [1, 1, 1]


def test_a_cue_without_descriptors_is_an_error():
    rows = table(told("a", "east"), told("a", "east", "verbosity"))
    with pytest.raises(ValueError, match="probe 'verbosity' needs descriptors of 'verbosity'"):
        aligned(rows)


def test_no_unchanged_decision_has_no_alignment():
    rows = aligned(table(told("a", "north"), told("a", "east", "truth", verdict="tie")))
    same = rows[rows["over"] == "same"]
    assert same[["value", "ci_low", "ci_high", "p", "mde"]].isna().all(axis=None)
    assert (same["n_trials"] == 0).all()
    assert set(same["quantity"]) == {"lai", "lai_blind", "lai_excess", "lai_wording_range"}
    assert cell(rows, "lai", over="all", wording="1")["value"] == 1


def test_rationales_that_ignore_the_cue_have_no_excess():
    texts = ("east", "north", "west", "north east")
    rows = aligned(
        table(*(told(f"d{n}", texts[n % 4], probe) for n in range(8) for probe in ("blind", "truth")))
    )
    excess = rows[rows["quantity"] == "lai_excess"]
    assert (excess["value"] == 0).all() and (excess["p"] == 1).all()
    # The scorer's own lean is the same in both: a judge that ignores labels need not have an LAI of 0.5.
    blind, cued = (rows.loc[rows["quantity"] == name, "value"].tolist() for name in ("lai_blind", "lai"))
    assert blind == cued


def test_rationales_that_always_follow_the_cue_are_found():
    rows = aligned(
        table(
            *(
                told(f"d{n}", text, probe)
                for n in range(8)
                for probe, text in (("blind", "west"), ("flip", "east"))
            )
        )
    )
    lai = cell(rows, "lai", over="same", wording="mean")
    # Eight documents, all on one side: p = 2 / 2^8 against 0.5, and a limit that is not 1.
    assert (lai["value"], lai["ci_high"]) == (1, 1) and 0.5 < lai["ci_low"] < 1
    assert lai["p"] == pytest.approx(2 / 256) and 0 < lai["mde"] <= 0.5
    assert cell(rows, "lai_blind", over="same", wording="mean")["value"] == 0
    assert cell(rows, "lai_excess", over="same", wording="mean")["value"] == 1
    assert cell(rows, "lai_wording_range", over="same")["value"] == 0


def test_exchanged_descriptors_mirror_every_quantity(leaning):
    mirrored = {family: [pair[::-1] for pair in pairs] for family, pairs in DESCRIPTORS.items()}
    one, other = aligned(leaning), aligned(leaning, mirrored)
    for quantity, total in (("lai", 1), ("lai_blind", 1), ("lai_excess", 0)):
        pick = one["quantity"] == quantity
        assert (one.loc[pick, "value"] + other.loc[pick, "value"]).to_numpy() == pytest.approx(total)
    ranged = one["quantity"] == "lai_wording_range"
    assert other.loc[ranged, "value"].to_numpy() == pytest.approx(one.loc[ranged, "value"].to_numpy())


def test_every_probe_with_a_cue_has_a_family():
    """And every family of params has a probe; only these probes show nothing to be aligned with."""
    assert set(get_args(Probe)) - set(PROBE_FAMILY) == {"blind", "free", *FLOORS}
    assert set(PROBE_FAMILY.values()) == set(get_args(Family))


def test_descriptors_of_params_are_pairs():
    wordings = [{"favoured": "east", "opposite": "west"}, {"favoured": "east", "opposite": "north"}]
    section = Rationales.model_validate(
        {
            "encoder": "folder",
            "thresholds": [0.1],
            "descriptors": dict.fromkeys(PROBE_FAMILY.values(), wordings),
        }
    )
    pairs = descriptor_pairs(section)
    assert pairs["label"] == [("east", "west"), ("east", "north")]
    assert set(pairs) == set(PROBE_FAMILY.values())
