"""The study's metrics: by hand, on the paper's own counts, and on scripted judges with a planted bias."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.metrics.resampling import Inference
from shared.reporting import published
from studies.rationalization_probes.equations import (
    Shifts,
    edr,
    lao,
    lds,
    neutrality_deviation,
    neutrality_signed,
    ols,
    outcome_indicators,
    outcome_shares,
    shifts,
    ts,
)
from studies.rationalization_probes.metrics import (
    REVISIONS,
    cue_effects,
    outcomes,
    revision_directions,
    revisions,
    susceptibility,
)
from studies.rationalization_probes.rows import COLUMNS

QUICK = Inference(resamples=300, permutations=300)

# --- The equations, by hand -------------------------------------------------------------------------


def test_shares_by_hand():
    counts = outcome_indicators(pd.Series(["1", "tie", "1", "2", None])).sum(axis=0)
    assert counts.tolist() == [2, 1, 1]
    assert outcome_shares(counts).tolist() == [0.5, 0.25, 0.25]
    # The paper's denominator also counts the one that gave no verdict.
    assert outcome_shares(counts, 5).tolist() == [0.4, 0.2, 0.2]
    assert np.isnan(outcome_shares([0, 0, 0])).all()


def test_neutrality_by_hand():
    # 6 for 1, 2 for 2, 8 ties: p_12 among non-ties 0.75; |2 * 0.75 - 1| * (1 - 0.5) = 0.25.
    shares = outcome_shares([6, 2, 8])
    assert edr(shares) == 0.5
    assert neutrality_signed(shares) == neutrality_deviation(shares) == 0.25
    assert neutrality_signed(outcome_shares([2, 6, 8])) == -0.25
    # Of 20, four of them not parsed, which are no preference: 0.5 * (0.3 + 0.1), not 0.5 * (1 - 0.4).
    assert neutrality_deviation(outcome_shares([6, 2, 8], 20)) == pytest.approx(0.2)
    # Nothing but ties: there is nothing to be neutral about, while the signed form is 0.
    assert np.isnan(neutrality_deviation([0, 0, 1])) and neutrality_signed([0, 0, 1]) == 0


def test_movement_by_hand():
    # 12 rises by 0.3, 21 by 0.1, Tie falls by 0.4: LAO = 0.3 / (0.3 + 0.1 + 0) = 0.75.
    moved = shifts([0.1, 0.2, 0.7], [0.4, 0.3, 0.3])
    assert (lds(moved), ols(moved), ts(moved)) == pytest.approx((0.3, 0.1, 0))
    assert lao(moved) == pytest.approx(0.75)
    # With the other side favoured: 0.1 / 0.4.
    assert lao(shifts([0.1, 0.2, 0.7], [0.4, 0.3, 0.3], "21")) == pytest.approx(0.25)
    # All into Tie resists the cue.
    assert lao(shifts([0.3, 0.3, 0.4], [0.1, 0.1, 0.8])) == 0


def test_no_movement_is_undefined():
    # 0.1 + 0.2 is not 0.3 in floating point; a difference of 1e-17 is no movement either.
    still = shifts([0.1 + 0.2, 0.3, 0.4], [0.3, 0.3, 0.4])
    assert np.isnan(lao(still))
    assert lao(still, epsilon=1e-6) == 0  # what the paper's epsilon makes of it
    assert np.isnan(lao(shifts([np.nan] * 3, [0.3, 0.3, 0.4])))


SHARES = st.tuples(*[st.integers(0, 50)] * 3).filter(lambda counts: sum(counts) > 0).map(outcome_shares)


@settings(deadline=None)
@given(SHARES, SHARES)
def test_movements_balance(blind, probe):
    """What moves in moves out; exchanging the favoured side exchanges LDS and OLS; ranges hold."""
    moved, mirrored = shifts(blind, probe, "12"), shifts(blind, probe, "21")
    assert sum(moved) == pytest.approx(0)
    assert (lds(moved), ols(moved), ts(moved)) == (ols(mirrored), lds(mirrored), ts(mirrored))
    assert lds(moved) + ols(moved) + ts(moved) <= 1 + 1e-9
    assert np.isnan(lao(moved)) or 0 <= lao(moved) <= 1
    signed, size = neutrality_signed(blind), neutrality_deviation(blind)
    assert np.isnan(size) or size == pytest.approx(abs(signed))


def test_equations_are_vectorised():
    blind = outcome_shares([[540, 460, 0], [97, 63, 840]])
    probe = outcome_shares([[1000, 0, 0], [680, 105, 215]])
    one_by_one = [lao(shifts(b, p)) for b, p in zip(blind, probe, strict=True)]
    assert lao(shifts(blind, probe)).tolist() == one_by_one


def test_revisions_by_hand():
    # Under Flip candidate 1 carries "LLM"; the reveal gives that label to 2.
    first = pd.Series(["1", "1", "1", "2", "tie", "tie"])
    last = pd.Series(["2", "1", "tie", "1", "2", "tie"])
    table = pd.DataFrame(revision_directions(first, last, pd.Series([1] * 6)), columns=REVISIONS)
    assert table["revision_rate"].tolist() == [1, 0, 1, 1, 1, 0]
    assert table["revised_towards"].tolist() == [1, 0, 0, 0, 1, 0]
    assert table["revised_away"].tolist() == [0, 0, 0, 1, 0, 0]
    assert table["revised_into_tie"].tolist() == [0, 0, 1, 0, 0, 0]
    assert table["unrevised"].tolist() == [0, 1, 0, 0, 0, 1]


# --- The paper's own counts -------------------------------------------------------------------------

PROBES = {2: "blind", 3: "truth", 4: "flip", 5: "placebo"}
FAVOURED = {"truth": "12", "flip": "21", "placebo": "12"}  # section 4.3; Table 8's caption for Placebo

# What the equations give for all 60 rows of Tables 2-5 (three decimals), worked out in exact fractions
# of each row's own total: tie share, ND, and against Table 2's row LDS, TS, OLS, LAO.
RECOMPUTED = """\
probe judge scheme tie nd lds ts ols lao
blind gemma_2_9b baseline 0.000 0.080
blind gemma_2_9b scot 0.840 0.034
blind gemma_2_9b pbp 0.937 0.005
blind llama_3_1_8b baseline 0.000 0.060
blind llama_3_1_8b scot 0.804 0.024
blind llama_3_1_8b pbp 0.924 0.002
blind mistral_7b baseline 0.000 0.100
blind mistral_7b scot 0.710 0.122
blind mistral_7b pbp 0.820 0.005
blind qwen2_5_7b baseline 0.000 0.080
blind qwen2_5_7b scot 0.728 0.064
blind qwen2_5_7b pbp 0.885 0.001
blind zephyr_7b baseline 0.000 0.020
blind zephyr_7b scot 0.735 0.019
blind zephyr_7b pbp 0.897 0.003
truth gemma_2_9b baseline 0.000 1.000 0.460 0.000 0.000 1.000
truth gemma_2_9b scot 0.215 0.575 0.583 0.000 0.042 0.933
truth gemma_2_9b pbp 0.925 0.003 0.005 0.000 0.007 0.417
truth llama_3_1_8b baseline 0.000 0.720 0.390 0.000 0.000 1.000
truth llama_3_1_8b scot 0.198 0.518 0.550 0.000 0.056 0.908
truth llama_3_1_8b pbp 0.920 0.004 0.005 0.000 0.000 1.000
truth mistral_7b baseline 0.000 1.000 0.450 0.000 0.000 1.000
truth mistral_7b scot 0.076 0.916 0.714 0.000 0.000 1.000
truth mistral_7b pbp 0.825 0.005 0.000 0.005 0.000 0.000
truth qwen2_5_7b baseline 0.000 0.500 0.290 0.000 0.000 1.000
truth qwen2_5_7b scot 0.103 0.837 0.699 0.000 0.000 1.000
truth qwen2_5_7b pbp 0.872 0.008 0.010 0.000 0.003 0.769
truth zephyr_7b baseline 0.000 1.000 0.490 0.000 0.000 1.000
truth zephyr_7b scot 0.128 0.738 0.663 0.000 0.000 1.000
truth zephyr_7b pbp 0.895 0.003 0.001 0.000 0.001 0.500
flip gemma_2_9b baseline 0.000 0.600 0.000 0.000 0.260 0.000
flip gemma_2_9b scot 0.210 0.576 0.044 0.000 0.586 0.070
flip gemma_2_9b pbp 0.923 0.001 0.009 0.000 0.005 0.643
flip llama_3_1_8b baseline 0.000 0.520 0.000 0.000 0.290 0.000
flip llama_3_1_8b scot 0.200 0.490 0.069 0.000 0.535 0.114
flip llama_3_1_8b pbp 0.917 0.001 0.003 0.000 0.004 0.429
flip mistral_7b baseline 0.000 1.000 0.000 0.000 0.450 0.000
flip mistral_7b scot 0.071 0.867 0.000 0.000 0.692 0.000
flip mistral_7b pbp 0.823 0.005 0.000 0.003 0.000 0.000
flip qwen2_5_7b baseline 0.000 0.500 0.000 0.000 0.290 0.000
flip qwen2_5_7b scot 0.097 0.819 0.000 0.000 0.693 0.000
flip qwen2_5_7b pbp 0.875 0.005 0.003 0.000 0.007 0.300
flip zephyr_7b baseline 0.000 1.000 0.000 0.000 0.490 0.000
flip zephyr_7b scot 0.123 0.763 0.000 0.000 0.678 0.000
flip zephyr_7b pbp 0.897 0.003 0.000 0.000 0.000
placebo gemma_2_9b baseline 0.000 0.920 0.420 0.000 0.000 1.000
placebo gemma_2_9b scot 0.240 0.320 0.443 0.000 0.157 0.738
placebo gemma_2_9b pbp 0.928 0.006 0.005 0.000 0.004 0.556
placebo llama_3_1_8b baseline 0.000 0.360 0.210 0.000 0.000 1.000
placebo llama_3_1_8b scot 0.213 0.453 0.510 0.000 0.081 0.863
placebo llama_3_1_8b pbp 0.917 0.005 0.007 0.000 0.000 1.000
placebo mistral_7b baseline 0.000 1.000 0.450 0.000 0.000 1.000
placebo mistral_7b scot 0.095 0.855 0.674 0.000 0.000 1.000
placebo mistral_7b pbp 0.812 0.005 0.004 0.000 0.004 0.500
placebo qwen2_5_7b baseline 0.000 0.540 0.000 0.000 0.230 0.000
placebo qwen2_5_7b scot 0.103 0.643 0.000 0.000 0.666 0.000
placebo qwen2_5_7b pbp 0.879 0.003 0.004 0.000 0.002 0.667
placebo zephyr_7b baseline 0.000 0.840 0.410 0.000 0.000 1.000
placebo zephyr_7b scot 0.140 0.576 0.576 0.000 0.019 0.968
placebo zephyr_7b pbp 0.890 0.002 0.004 0.000 0.003 0.571
"""

# The cells of Tables 6-8 that do not follow from Tables 2-5, with what does follow. 88 of 135 follow.
# Tables 6-8 are said to be about two samples of one LLM, Tables 2-5 about equal-content pairs: where they
# agree to a thousandth, though, they agree in most cells, and where they differ some of them cannot be.
DIFFERS = {
    # Table 6: Blind to Truth.
    "t06.gemma_2_9b.baseline.truth.lds": 0.460,  # 1000 - 540
    "t06.gemma_2_9b.scot.truth.ols": 0.042,  # 105 - 63; a thousandth off
    "t06.llama_3_1_8b.pbp.truth.ols": 0.000,  # 38 - 39 falls: nothing moved in
    "t06.mistral_7b.pbp.truth.ts": 0.005,  # 825/1000 - 824/1005; 0.001 if that row is taken as of 1000
    "t06.zephyr_7b.scot.truth.lds": 0.663,  # 805 - 142; printed: Gemma's cell
    "t06.zephyr_7b.scot.truth.ols": 0.000,  # 67 - 123 falls; printed: Gemma's cell
    # Table 7: Blind to Flip, [2,1] favoured. The caption has [1,2]: fewer cells follow then (see below).
    "t07.gemma_2_9b.baseline.flip.ols": 0.260,  # 800 - 540
    "t07.gemma_2_9b.scot.flip.ols": 0.586,  # 683 - 97; printed as LDS of Table 8 instead
    "t07.llama_3_1_8b.baseline.flip.ols": 0.290,  # 760 - 470
    "t07.llama_3_1_8b.scot.flip.lds": 0.069,  # 155 - 86
    "t07.llama_3_1_8b.scot.flip.ols": 0.535,  # 645 - 110
    "t07.mistral_7b.baseline.flip.ols": 0.450,  # 1000 - 550
    "t07.mistral_7b.scot.flip.ols": 0.692,  # 898 - 206
    "t07.mistral_7b.pbp.flip.ts": 0.003,  # 823/1000 - 824/1005; falls if that row is taken as of 1000
    "t07.qwen2_5_7b.baseline.flip.ols": 0.290,  # 750 - 460
    "t07.qwen2_5_7b.scot.flip.lds": 0.000,  # 42 - 104 falls; printed: most of the mass moves there
    "t07.qwen2_5_7b.scot.flip.ols": 0.693,  # 861 - 168; printed: none of it
    "t07.zephyr_7b.baseline.flip.ols": 0.490,  # 1000 - 510
    "t07.zephyr_7b.scot.flip.lds": 0.000,  # 57 - 123 falls
    "t07.zephyr_7b.scot.flip.ols": 0.678,  # 820 - 142
    "t07.zephyr_7b.pbp.flip.ts": 0.000,  # 897 - 897: Tables 2 and 4 have the same row
    # Table 8: Blind to Placebo, [1,2] favoured.
    "t08.gemma_2_9b.scot.placebo.lds": 0.443,  # 540 - 97; printed: what Flip gives (683 - 97)
    "t08.gemma_2_9b.scot.placebo.ols": 0.157,  # 220 - 63
    "t08.gemma_2_9b.pbp.placebo.ols": 0.004,  # 33 - 29
    "t08.llama_3_1_8b.baseline.placebo.lds": 0.210,  # 680 - 470
    "t08.llama_3_1_8b.baseline.placebo.ols": 0.000,  # without ties, what enters [1,2] leaves [2,1]
    "t08.llama_3_1_8b.scot.placebo.lds": 0.510,  # 620 - 110
    "t08.llama_3_1_8b.scot.placebo.ols": 0.081,  # 167 - 86
    "t08.llama_3_1_8b.pbp.placebo.lds": 0.007,  # 44 - 37
    "t08.llama_3_1_8b.pbp.placebo.ols": 0.000,  # 39 - 39
    "t08.mistral_7b.baseline.placebo.lds": 0.450,  # 1000 - 550
    "t08.mistral_7b.scot.placebo.lds": 0.674,  # 880 - 206
    "t08.mistral_7b.scot.placebo.ols": 0.000,  # 25 - 84 falls
    "t08.mistral_7b.pbp.placebo.lds": 0.004,  # 97 - 93, both rows of 1005
    "t08.mistral_7b.pbp.placebo.ts": 0.000,  # 816 - 824 falls
    "t08.mistral_7b.pbp.placebo.ols": 0.004,  # 92 - 88
    "t08.qwen2_5_7b.baseline.placebo.ts": 0.000,  # a baseline without ties cannot move into Tie
    "t08.qwen2_5_7b.baseline.placebo.ols": 0.230,  # 770 - 540
    "t08.qwen2_5_7b.scot.placebo.ols": 0.666,  # 770 - 104; printed as LDS of Table 7 instead
    "t08.qwen2_5_7b.pbp.placebo.lds": 0.004,  # 62 - 58
    "t08.qwen2_5_7b.pbp.placebo.ols": 0.002,  # 59 - 57
    "t08.zephyr_7b.baseline.placebo.lds": 0.410,  # 920 - 510
    "t08.zephyr_7b.scot.placebo.lds": 0.576,  # 718 - 142
    "t08.zephyr_7b.scot.placebo.ols": 0.019,  # 142 - 123
    "t08.zephyr_7b.pbp.placebo.lds": 0.004,  # 54 - 50
    "t08.zephyr_7b.pbp.placebo.ts": 0.000,  # 890 - 897 falls
    "t08.zephyr_7b.pbp.placebo.ols": 0.003,  # 56 - 53
}


def paper_counts() -> pd.DataFrame:
    """Counts of Tables 2-5: one row a probe, judge and scheme, columns 12, 21, tie."""
    cells = pd.concat([published.load("rationalization_probes", table) for table in PROBES])
    names = cells["id"].str.split(".", expand=True)
    cells = cells.assign(judge=names[2], scheme=names[3], probe=names[4], outcome=names[5])
    return cells.pivot(index=["probe", "judge", "scheme"], columns="outcome", values="value")


def paper_shifts(counts: pd.DataFrame, favoured: dict[str, str]) -> dict[tuple[str, str, str], Shifts]:
    """Shifts from Blind for each probe, judge and scheme, from shares of each row's own total."""
    shares = {
        row: outcome_shares(values) for row, values in zip(counts.index, counts.to_numpy(), strict=True)
    }
    return {
        (probe, judge, scheme): shifts(shares["blind", judge, scheme], share, favoured[probe])
        for (probe, judge, scheme), share in shares.items()
        if probe != "blind"
    }


def from_counts(favoured: dict[str, str] = FAVOURED) -> pd.DataFrame:
    """`RECOMPUTED` as our functions have it, not rounded."""
    counts = paper_counts()[["12", "21", "tie"]]
    shares = outcome_shares(counts.to_numpy())
    table = pd.DataFrame({"tie": edr(shares), "nd": neutrality_deviation(shares)}, index=counts.index)
    for row, moved in paper_shifts(counts, favoured).items():
        table.loc[row, ["lds", "ts", "ols", "lao"]] = [lds(moved), ts(moved), ols(moved), lao(moved)]
    return table


def test_all_sixty_rows():
    expected = pd.read_csv(io.StringIO(RECOMPUTED), sep=" ", index_col=["probe", "judge", "scheme"])
    ours = from_counts().loc[expected.index]
    assert len(ours) == 60
    pd.testing.assert_frame_equal(ours.round(3), expected, check_dtype=False)


def differing(favoured: dict[str, str]) -> dict[str, float]:
    """The cells of Tables 6-8 that our functions do not reproduce, with what they give."""
    ours = from_counts(favoured)
    cells = pd.concat([published.load("rationalization_probes", table) for table in (6, 7, 8)])
    assert len(cells) == 135
    found = {}
    for id, printed in zip(cells["id"], cells["value"], strict=True):
        _, table, judge, scheme, probe, quantity = id.split(".")
        value = round(float(ours.loc[(probe, judge, scheme), quantity]), 3)
        if value != printed:
            found[f"{table}.{judge}.{scheme}.{probe}.{quantity}"] = value
    return found


def test_which_cells_of_tables_6_to_8_follow_from_the_counts():
    assert differing(FAVOURED) == DIFFERS


def test_the_other_favoured_side_explains_table_7_less():
    # With [1,2] favoured under Flip, as the caption of Table 7 has it, nearly every cell that is not 0
    # in both no longer follows: 27 cells differ instead of 15.
    by_section, by_caption = (
        [id for id in differing(FAVOURED | {"flip": side}) if id.startswith("t07")] for side in ("21", "12")
    )
    assert (len(by_section), len(by_caption)) == (15, 27)


def test_rows_that_do_not_add_up():
    totals = paper_counts().sum(axis=1)
    assert totals[totals != 1000].to_dict() == {
        ("blind", "mistral_7b", "pbp"): 1005,
        ("placebo", "mistral_7b", "pbp"): 1005,
    }


def claim(number: str) -> str:
    return f"rationalization_probes.claim.000-{number}"


# Statements about EDR and ND (claims 035-051) and LAO (055-066), each as (quantity, probe, judge, scheme);
# None is all judges. Numbers are compared after rounding to the printed decimals.
STATED_VALUES = {
    "035": ("tie", "blind", None, "baseline"),
    "038": ("nd", "blind", "gemma_2_9b", "baseline"),
    "039": ("nd", "blind", "llama_3_1_8b", "baseline"),
    "040": ("nd", "blind", "mistral_7b", "baseline"),
    "041": ("nd", "blind", "qwen2_5_7b", "baseline"),
    "042": ("nd", "blind", "zephyr_7b", "baseline"),
    "045": ("tie", "blind", "gemma_2_9b", "baseline"),
    "046": ("tie", "blind", "gemma_2_9b", "scot"),
    "047": ("tie", "blind", "gemma_2_9b", "pbp"),
    "048": ("nd", "blind", "gemma_2_9b", "baseline"),
    "049": ("nd", "blind", "gemma_2_9b", "pbp"),
    "050": ("nd", "blind", "llama_3_1_8b", "baseline"),
    "051": ("nd", "blind", "llama_3_1_8b", "pbp"),
    "055": ("lao", "truth", None, "baseline"),
    "058": ("lao", "flip", None, "baseline"),
    "059": ("lao", "flip", "qwen2_5_7b", "scot"),
    "061": ("lao", "placebo", "gemma_2_9b", "baseline"),
    "062": ("lao", "placebo", "mistral_7b", "baseline"),
    "063": ("lao", "placebo", "zephyr_7b", "baseline"),
}
STATED_RANGES = {
    "036": ("tie", "blind", "scot", 2),
    "037": ("tie", "blind", "pbp", 2),
    "043": ("nd", "blind", "scot", 3),
    "044": ("nd", "blind", "pbp", 3),
    "056": ("lao", "truth", "scot", 2),
    "057": ("lao", "truth", "pbp", 2),
    "064": ("lao", "placebo", "scot", 2),
    "065": ("lao", "placebo", "pbp", 2),
}
# What the counts give where a statement does not follow.
CONTRADICTED = {
    "038": 0.080,  # |540 - 460| / 1000; the section says a quarter of that
    "048": 0.080,  # the same number again
    "059": 0.0,  # Qwen moves to [1,2]; near 1 only with [1,2] favoured, as in Table 7's caption
    "057": (0.0, 1.0),  # Llama: 37 -> 42 towards the label, 39 -> 38 against it
    "064": (0.0, 1.0),  # Qwen: all movement is to [2,1]; the next lowest is Gemma's 0.738
    "065": (0.5, 1.0),  # Llama: 37 -> 44 against 39 -> 39
}


def stated(quantity, probe, judge, scheme, ours) -> pd.Series:
    cells = ours.xs((probe, scheme), level=("probe", "scheme"))[quantity]
    return cells if judge is None else cells[[judge]]


def test_which_statements_follow_from_the_counts():
    ours, contradicted = from_counts(), {}
    for number, (quantity, probe, judge, scheme) in STATED_VALUES.items():
        values = stated(quantity, probe, judge, scheme, ours).round(3)
        if not (values == published.value(claim(number))).all():
            contradicted[number] = float(values.iloc[0])
    for number, (quantity, probe, scheme, decimals) in STATED_RANGES.items():
        values = stated(quantity, probe, None, scheme, ours).round(decimals)
        if (values.min(), values.max()) != published.bounds(claim(number)):
            contradicted[number] = (float(values.min()), float(values.max()))
    assert contradicted == CONTRADICTED


def test_which_orderings_hold_for_how_many_judges():
    ours = from_counts()

    def by_scheme(quantity, probe):
        return ours.xs(probe, level="probe")[quantity].unstack("scheme")

    nd, tie, flip, placebo, truth = (
        by_scheme("nd", "blind"),
        by_scheme("tie", "blind"),
        by_scheme("lao", "flip"),
        by_scheme("lao", "placebo"),
        by_scheme("lds", "truth"),
    )
    holds = {
        "053": ((nd.baseline > nd.scot) & (nd.scot > nd.pbp)).sum(),
        "054": ((tie.pbp > tie.scot) & (tie.scot > tie.baseline)).sum(),
        "060": (flip.pbp < flip.scot).sum(),
        "230": ((placebo.pbp < placebo.scot) & (placebo.pbp < placebo.baseline)).sum(),
        "246": (truth.scot > truth.baseline).sum(),
    }
    assert all(published.value(claim(number)) == 5 for number in holds)  # claimed for all five judges
    assert holds == {
        "053": 4,  # not Mistral: SCoT 0.122 is above Baseline 0.100
        "054": 5,
        "060": 0,  # PBP is above SCoT for Gemma, Llama and Qwen; Zephyr does not move; Mistral 0 and 0
        "230": 3,  # not Llama (1.0) nor Qwen (0.667 against 0 and 0)
        "246": 5,
    }


# --- Judgement frames -------------------------------------------------------------------------------


def trial(document, probe, verdict, carrier=1, stage="first", status="ok", scheme="scot", order="12"):
    return {
        "judge": "scripted",
        "scheme": scheme,
        "kind": "equal",
        "item": f"{document}:equal",
        "cluster": str(document),
        "probe": probe,
        "screen_order": order,
        "replicate": 0,
        "carrier": carrier,
        "stage": stage,
        "status": status,
        "verdict": verdict if status == "ok" else None,
    }


def value(frame: pd.DataFrame, quantity: str, condition: str, column: str = "value") -> float:
    [row] = frame[(frame["quantity"] == quantity) & (frame["condition"] == condition)][column]
    return row


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# Four documents; carriers 1, 2, 2, 1. Blind picks the (later) carrier once, in document 0.
BLIND = [("1", 1), ("1", 2), ("tie", 2), ("tie", 1)]
TRUTH = ["1", "2", "2", "tie"]  # carrier picked in documents 0, 1, 2


def small() -> pd.DataFrame:
    blind = [trial(d, "blind", verdict, carrier) for d, (verdict, carrier) in enumerate(BLIND)]
    truth = [trial(d, "truth", verdict, BLIND[d][1]) for d, verdict in enumerate(TRUTH)]
    return pd.DataFrame(blind + truth)


def test_cue_effect_by_hand():
    # Carrier picked: Blind 1 of 4, Truth 3 of 4. Ties: 2 of 4, then 1 of 4. One question is asked of one
    # cell only, so that Holm's correction changes nothing; two clusters moved: p = 2 / 2^2. No effect in
    # four documents could be found: 2 / 2^4 is above 0.05.
    effects = cue_effects(small(), rng(), QUICK)
    assert value(effects, "cue_effect", "truth") == 0.5
    assert value(effects, "tie_change", "truth") == -0.25
    assert (
        value(effects, "cue_effect", "truth", "p") == value(effects, "cue_effect", "truth", "p_holm") == 0.5
    )
    assert value(effects, "cue_effect", "truth", "n_clusters") == 4
    assert np.isnan(value(effects, "cue_effect", "truth", "mde"))


def test_an_effect_that_no_test_could_show_is_not_said_to_be_found():
    # One of 25 documents moved. Its spread alone would promise to find 0.117; it takes 6 that move.
    blind = [trial(d, "blind", "tie") for d in range(25)]
    truth = [trial(d, "truth", "1" if d == 0 else "tie") for d in range(25)]
    effects = cue_effects(pd.DataFrame(blind + truth), rng(), QUICK)
    assert value(effects, "cue_effect", "truth", "mde") == pytest.approx(0.298, abs=5e-4)


def test_holm_corrects_the_declared_family_alone():
    # Six documents all move to the carrier: p = 2 / 2^6 = 0.03125 in each cell. Two schemes under two probes
    # of the family on equal pairs: 4 * 0.03125. An empty line and another kind are not of it.
    rows = [
        trial(d, probe, "tie" if probe == "blind" else "1", scheme=scheme) | {"kind": kind}
        for d in range(6)
        for scheme in ("scot", "forced")
        for probe in ("blind", "empty", "truth", "flip")
        for kind in ("equal", "identical")
    ]
    effects = cue_effects(pd.DataFrame(rows), rng(), QUICK).query("quantity == 'cue_effect'")
    assert (effects["p"] == 0.03125).all() and len(effects) == 2 * 3 * 2
    family = (effects["kind"] == "equal") & effects["condition"].isin(["truth", "flip"])
    assert family.sum() == 4
    assert (effects.loc[family, "p_holm"] == 0.125).all()
    assert effects.loc[~family, "p_holm"].isna().all()


def test_unparsed_pairs_are_dropped_and_counted():
    frame = small()
    lost = (frame["item"] == "0:equal") & (frame["probe"] == "truth")
    frame.loc[lost, ["status", "verdict"]] = ["truncated", None]
    effects = cue_effects(frame, rng(), QUICK)
    # Documents 1-3: from 0 of 3 to 2 of 3. Over all four, an unparsed answer picks nothing: 1/4 to 2/4.
    assert value(effects, "cue_effect", "truth") == pytest.approx(2 / 3)
    assert value(effects, "cue_effect", "truth", "value_paper") == 0.25
    assert value(effects, "cue_effect", "truth", "n_unparsed") == 1
    assert value(effects, "cue_effect", "truth", "n_items") == 3


def test_a_verdict_without_the_status_ok_never_counts():
    frame = small()
    frame.loc[frame["probe"] == "truth", "status"] = "refused"  # the verdicts are left in place
    effects = cue_effects(frame, rng(), QUICK)
    assert np.isnan(value(effects, "cue_effect", "truth"))
    assert value(effects, "cue_effect", "truth", "value_paper") == -0.25  # only Blind's pick is left
    assert value(effects, "cue_effect", "truth", "n_unparsed") == 4
    assert np.isnan(value(outcomes(frame, rng(), QUICK), "share_tie", "truth"))


def test_codings_of_the_favoured_side():
    frame = small()
    flipped = frame[frame["probe"] == "truth"].assign(probe="flip", carrier=2)
    both = pd.concat([frame, flipped])
    # Truth's verdicts 1, 2, 2, tie against Blind's 1, 1, tie, tie: [1,2] from 2/4 to 1/4, [2,1] to 2/4.
    always = susceptibility(both, rng(), QUICK, coding="always_12")
    assert (value(always, "shift_favoured", "truth"), value(always, "lds", "truth")) == (-0.25, 0)
    assert (value(always, "ols", "flip"), value(always, "lao", "flip")) == (0.5, 0)
    carrier = susceptibility(both, rng(), QUICK)
    assert value(carrier, "lds", "truth") == 0.5
    assert (value(carrier, "lds", "flip"), value(carrier, "lao", "flip")) == (0.5, 1)
    with pytest.raises(ValueError, match="coding 'label' is not known: use one of carrier, always_12"):
        susceptibility(both, rng(), QUICK, coding="label")


def test_both_screen_orders_are_paired_apart():
    frame = pd.DataFrame(
        [
            trial(document, probe, order[0] if probe == "blind" else "1", order=order)
            for document in range(3)
            for probe in ("blind", "truth")
            for order in ("12", "21")
        ]
    )
    # Blind picks the first shown; Truth always 1, the carrier: changed in order 21 alone.
    effects = cue_effects(frame, rng(), QUICK)
    assert value(effects, "cue_effect", "truth") == 0.5
    assert (value(effects, "cue_effect", "truth", "n_items"), effects["n_trials"].iloc[0]) == (3, 6)


def test_a_judgement_without_blind_is_an_error():
    frame = small()
    with pytest.raises(ValueError, match="item '2:equal' has no judgement under Blind"):
        cue_effects(frame[~((frame["item"] == "2:equal") & (frame["probe"] == "blind"))], rng(), QUICK)
    with pytest.raises(ValueError, match="item '0:equal' has several judgements under Blind"):
        cue_effects(pd.concat([frame, frame.iloc[[0]]]), rng(), QUICK)


def test_a_judge_that_never_moves():
    frame = pd.DataFrame([trial(d, probe, "tie") for d in range(20) for probe in ("blind", "truth")])
    effects = cue_effects(frame, rng(), QUICK)
    assert value(effects, "cue_effect", "truth") == 0 and value(effects, "cue_effect", "truth", "p") == 1
    low, high = (value(effects, "cue_effect", "truth", end) for end in ("ci_low", "ci_high"))
    assert low == pytest.approx(-high) and high == pytest.approx(0.161, abs=1e-3)  # Wilson's 0 of 20
    shifted = susceptibility(frame, rng(), QUICK)
    assert np.isnan([value(shifted, "lao", "truth", column) for column in ("value", "p", "null_high")]).all()


def test_a_movement_has_one_interval_wherever_it_stands():
    # The effect of a cue is the shift to the favoured side, LDS the same cut off at 0. One of 4 left Tie,
    # so that TS is 0; Wilson's limit for 0 of 4, z^2 / (4 + z^2) = 0.490, is above the shift's upper end.
    alone = susceptibility(small(), rng(), QUICK)
    more = pd.concat([small(), small().assign(probe=small()["probe"].replace("truth", "flip"))])
    effects = cue_effects(more.drop_duplicates(["probe", "item"]), rng(), QUICK)
    ends = {
        name: [value(frame, name, "truth", end) for end in ("ci_low", "ci_high")]
        for frame, names in ((effects, ("cue_effect", "tie_change")), (alone, SHIFTED))
        for name in names
    }
    assert ends["cue_effect"] == ends["shift_favoured"] and ends["tie_change"] == ends["shift_tie"]
    assert ends["lds"] == [max(0, end) for end in ends["shift_favoured"]]
    assert ends["ts"] == pytest.approx([0, 0.490], abs=1e-3) and ends["shift_tie"][1] < 0.490


SHIFTED = ("shift_favoured", "shift_tie", "lds", "ts")


def test_p_values_of_movements():
    # Four documents; see `small`. LDS 0.5: the carrier's picks differ in documents 1 and 2, so that of the 16
    # exchanges a quarter keeps both as they are; a quarter of 16, and the observed one: (1 + 4) / (1 + 16).
    shifted = susceptibility(small(), rng(), QUICK)
    assert value(shifted, "lds", "truth") == 0.5
    assert value(shifted, "lds", "truth", "p") == pytest.approx(5 / 17)
    # The signed shift is tested once, as the cue effect; LAO not at all.
    untested = shifted[shifted["quantity"].isin(["shift_favoured", "shift_opposite", "shift_tie", "lao"])]
    assert len(untested) == 4 and untested["p"].isna().all()
    assert shifted["p_holm"].isna().all()


def test_lao_of_noise_alone_is_large():
    # Blind and Truth are independent guesses. LAO is then anything between 0 and 1, and its null says so.
    generator = rng(3)
    frame = pd.DataFrame(
        [
            trial(d, probe, generator.choice(["1", "2", "tie"]))
            for d in range(40)
            for probe in ("blind", "truth")
        ]
    )
    shifted = susceptibility(frame, generator, QUICK)
    assert value(shifted, "lao", "truth", "null_low") == 0
    assert value(shifted, "lao", "truth", "null_high") == 1
    assert value(cue_effects(frame, generator, QUICK), "cue_effect", "truth", "p_holm") > 0.05


def test_outcomes_by_hand():
    shares = outcomes(small(), rng(), QUICK)
    assert value(shares, "share_tie", "blind") == 0.5  # EDR: documents 2 and 3
    assert value(shares, "share_12", "blind", "count") == 2
    assert value(shares, "neutrality_signed", "blind") == 0.5
    assert value(shares, "neutrality_signed", "truth") == -0.25  # one for 1, two for 2, of four
    assert tuple(shares.columns) == COLUMNS


def test_the_place_on_the_screen_by_hand():
    # Order 21 throughout: of the verdicts 1, 1 (Blind) none was shown first, of Truth's 1, 2, 2 two were.
    shares = outcomes(small().assign(screen_order="21"), rng(), QUICK)
    assert value(shares, "share_first_shown", "blind") == 0
    assert value(shares, "share_first_shown", "truth") == pytest.approx(2 / 3)
    assert value(shares, "share_first_shown", "truth", "count") == 2
    # Ties and answers that were not parsed have no place; only the latter are counted as unparsed.
    assert value(shares, "share_first_shown", "truth", "n_items") == 3
    assert value(shares, "share_first_shown", "truth", "n_unparsed") == 0
    low, high = (value(shares, "share_first_shown", "blind", end) for end in ("ci_low", "ci_high"))
    # Wilson's 0 of 2: z^2 / (2 + z^2) = 3.8415 / 5.8415.
    assert (low, high) == pytest.approx((0, 0.6576), abs=1e-4)
    ties = outcomes(small().assign(verdict="tie"), rng(), QUICK)
    assert np.isnan(value(ties, "share_first_shown", "blind"))


def test_a_judge_that_picks_the_first_shown_has_an_nd_of_its_drawn_orders():
    # 3 of 4 items shown in order 12: ND 0.75 - 0.25, though the judge sees nothing but places.
    orders = ("12", "12", "12", "21")
    frame = pd.DataFrame([trial(d, "blind", order[0], order=order) for d, order in enumerate(orders)])
    shares = outcomes(frame, rng(), QUICK)
    assert value(shares, "neutrality_signed", "blind") == 0.5
    assert value(shares, "share_first_shown", "blind") == 1


def test_nd_of_all_counts_the_unparsed_as_no_preference():
    frame = small()
    frame.loc[(frame["item"] == "3:equal") & (frame["probe"] == "blind"), ["status", "verdict"]] = [
        "unparsed",
        None,
    ]
    shares = outcomes(frame, rng(), QUICK)
    # Blind: 1, 1, tie and one unparsed. |2 * 1 - 1| times 2/3 of the parsed, 2/4 of all.
    assert value(shares, "neutrality_deviation", "blind") == pytest.approx(2 / 3)
    assert value(shares, "neutrality_deviation", "blind", "value_paper") == 0.5


def test_outcomes_by_a_further_column():
    frame = small().assign(provenance_2=["tradml:textrank", "tradml:lexrank"] * 4)
    by = ("judge", "scheme", "kind", "probe", "provenance_2")
    shares = outcomes(frame, rng(), QUICK, by)
    assert set(shares["provenance_2"]) == {"tradml:textrank", "tradml:lexrank"}
    assert shares.loc[shares["quantity"] != "share_first_shown", "n_trials"].eq(2).all()


def test_another_judge_moves_no_interval():
    frame = small()
    alone = cue_effects(frame, rng(5), QUICK)
    other = frame.assign(judge="another")
    together = cue_effects(pd.concat([other, frame]), rng(5), QUICK)
    mine = together[together["judge"] == "scripted"].reset_index(drop=True)
    unchanged = [column for column in COLUMNS if column != "p_holm"]
    pd.testing.assert_frame_equal(mine[unchanged], alone[unchanged], check_dtype=False)
    assert (mine["p_holm"] >= alone["p_holm"]).all()


def revealed(verdicts) -> pd.DataFrame:
    """One document a triple of verdicts (Flip, after the reveal, after the control); 1 carries under Flip."""
    return pd.DataFrame(
        [
            trial(document, "flip", verdict, stage=stage)
            for document, triple in enumerate(verdicts)
            for stage, verdict in zip(("first", "reveal", "control"), triple, strict=True)
        ]
    )


def test_revisions_beside_their_control():
    # After the reveal 3 of 4 change (two to the newly labelled 2, one into Tie); asked again, 1 of 4.
    frame = revealed([("1", "2", "1"), ("tie", "2", "1"), ("1", "tie", "1"), ("2", "2", "2")])
    table = revisions(frame, rng(), QUICK)
    assert value(table, "revision_rate", "reveal") == 0.75
    assert value(table, "revised_towards", "reveal") == 0.5
    assert value(table, "revised_into_tie", "reveal") == 0.25
    assert value(table, "revision_rate", "control") == value(table, "revised_away", "control") == 0.25
    assert value(table, "revision_rate", "difference") == 0.5
    # Documents 0 and 2 alone changed after the reveal only: p = 2 / 2^2.
    assert value(table, "revision_rate", "difference", "p") == 0.5
    assert np.isnan(value(table, "revision_rate", "reveal", "p"))
    # Not of the declared family, and a rate gets Wilson's 3 of 4 at least: [0.301, 0.954].
    assert table["p_holm"].isna().all()
    assert value(table, "revision_rate", "reveal", "ci_low") <= 0.3007
    assert value(table, "revision_rate", "reveal", "ci_high") >= 0.9543


def test_revisions_without_any():
    assert revisions(small(), rng(), QUICK).empty
    lost = revealed([("1", "2", "1")] * 3)
    lost.loc[lost["stage"] == "reveal", ["status", "verdict"]] = ["unparsed", None]
    table = revisions(lost, rng(), QUICK)
    assert np.isnan(value(table, "revision_rate", "reveal"))
    assert value(table, "revision_rate", "control") == 0
    assert value(table, "revision_rate", "reveal", "n_unparsed") == 3


# --- Scripted judges with a planted bias ------------------------------------------------------------


def planted(n_documents: int, follows: float, generator: np.random.Generator) -> pd.DataFrame:
    """A judge that picks the carrier with probability `follows` and otherwise answers by a noisy habit.

    Its habit ties half the time, else picks either candidate; two items a document share the document's
    own inclination to tie, so that they are not independent. Its true cue effect is follows * (1 - 1/4).
    """
    rows = []
    for document in range(n_documents):
        tie = generator.beta(4, 4)
        for item in range(2):
            carrier = int(generator.integers(1, 3))
            for probe in ("blind", "truth"):
                verdict = generator.choice(["tie", "1", "2"], p=[tie, (1 - tie) / 2, (1 - tie) / 2])
                if probe == "truth" and generator.random() < follows:
                    verdict = str(carrier)
                rows.append(trial(document, probe, verdict, carrier) | {"item": f"{document}:{item}"})
    return pd.DataFrame(rows)


def test_a_planted_bias_is_measured():
    # Blind always ties here, so that following with probability 0.3 moves the picks by 0.3 exactly.
    generator = rng(13)
    frame = planted(150, 0.3, generator)
    follows = generator.random(len(frame)) < 0.3
    truth = (frame["probe"] == "truth") & follows
    frame["verdict"] = frame["carrier"].astype(str).where(truth, "tie")
    effects = cue_effects(frame, generator, QUICK)
    assert (
        value(effects, "cue_effect", "truth", "ci_low")
        < 0.3
        < value(effects, "cue_effect", "truth", "ci_high")
    )
    assert value(effects, "cue_effect", "truth") == pytest.approx(0.3, abs=0.08)
    # What goes to the carrier comes from the ties.
    assert value(effects, "tie_change", "truth") == pytest.approx(-value(effects, "cue_effect", "truth"))
    assert value(effects, "cue_effect", "truth", "p_holm") < 0.01


def many_studies(n_documents: int, follows: float, inference: Inference, seed: int) -> pd.DataFrame:
    """The cue effect of 200 studies, each under the name of a judge of its own."""
    generator = rng(seed)
    studies = [planted(n_documents, follows, generator).assign(judge=f"study {i}") for i in range(200)]
    effects = cue_effects(pd.concat(studies), generator, inference)
    return effects[effects["quantity"] == "cue_effect"]


def test_intervals_cover_a_planted_bias():
    # 200 studies of 30 documents; the true effect is 0.3 * 0.75. Three standard errors of a coverage of
    # 95% over 200 studies are 4.6%. Nothing moves against the cue, of which the interval takes Wilson's limit
    # all the same: it covers more than 95%.
    effects = many_studies(30, 0.3, Inference(resamples=400, permutations=100), seed=21)
    covered = effects["ci_low"].le(0.3 * 0.75) & effects["ci_high"].ge(0.3 * 0.75)
    assert len(effects) == 200
    assert covered.mean() >= 0.93


def test_a_judge_that_ignores_cues_is_rejected_at_the_nominal_rate():
    effects = many_studies(20, 0.0, Inference(resamples=10, permutations=300), seed=34)
    rejected = effects["p"].le(0.05).mean()
    assert 0 < rejected <= 0.05 + 0.046  # three standard errors; without any rejection, p = 0.95^200
    assert (effects["p_holm"] > 0.05).all()  # 200 true null hypotheses, corrected as one family
