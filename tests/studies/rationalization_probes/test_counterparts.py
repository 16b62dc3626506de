"""The paper's numbers beside ours: the right cells, the study's own equations, none where it has none."""

import math

import pytest

from shared.reporting import published
from studies.rationalization_probes import counterparts
from studies.rationalization_probes.counterparts import NONE, of

FIVE = {"gemma_2_9b", "llama_3_1_8b", "mistral_7b", "qwen2_5_7b", "zephyr_7b"}


def test_shares_are_of_the_printed_rows_own_total():
    # Gemma, SCoT, Blind: 97, 63 and 840 of 1,000.
    tie = of("share_tie", "equal", "scot", "blind")
    assert set(tie.values) == FIVE
    assert tie.of("gemma_2_9b") == ("rationalization_probes.t02.gemma_2_9b.scot.blind.tie", 0.84)
    assert of("neutrality_signed", "equal", "scot", "blind").of("gemma_2_9b").value == pytest.approx(0.034)


def test_the_range_is_the_papers_own():
    # Section 5.4.1 states the range of SCoT's tie shares.
    low, high = published.bounds("rationalization_probes.claim.000-036")
    assert of("share_tie", "equal", "scot", "blind").span == pytest.approx((low, high))


def test_a_share_of_every_cell_of_tables_2_to_5_follows_from_its_id():
    for scheme in counterparts.SCHEMES:
        for probe in ("blind", "truth", "flip", "placebo"):
            parts = [of(f"share_{side}", "equal", scheme, probe) for side in ("12", "21", "tie")]
            for judge in FIVE:
                counts = [published.value(part.of(judge).id) for part in parts]
                shares = [part.of(judge).value for part in parts]
                assert shares == pytest.approx([count / sum(counts) for count in counts])


def test_a_printed_shift_is_the_cell_and_not_our_arithmetic():
    # Llama, SCoT, Flip: [2,1] rises from 86 to 155 of 1,000, which is 0.069; Table 7 prints 0.081.
    # That table is about two samples of one model, those counts are about equal pairs.
    assert of("lds", "equal", "scot", "flip").of("llama_3_1_8b") == ("", pytest.approx(0.069))
    lds = of("lds", "samples", "scot", "flip")
    assert set(lds.values) == FIVE
    assert lds.of("llama_3_1_8b") == ("rationalization_probes.t07.llama_3_1_8b.scot.flip.lds", 0.081)
    assert lds.values["llama_3_1_8b"] == 0.081


def test_codings_exchange_sides_under_flip_alone():
    for probe, same in (("truth", True), ("flip", False), ("placebo", True)):
        carrier, always = (of("lds", "equal", "scot", probe, coding) for coding in ("carrier", "always_12"))
        assert (carrier.values == always.values) is same
        # Table 7 has no cell for the side that its numbers are not of.
        assert bool(of("lds", "samples", "scot", probe, "always_12").cells) is same
    opposite = of("ols", "equal", "scot", "flip", "carrier")
    assert of("lds", "equal", "scot", "flip", "always_12").values == opposite.values


def test_the_primary_effect_is_the_shift_of_the_favoured_side():
    effect = of("cue_effect", "equal", "forced", "truth")
    # Gemma, Baseline: [1,2] from 540 to 1,000.
    assert effect.of("gemma_2_9b") == ("", pytest.approx(0.46))
    assert effect.values == of("shift_favoured", "equal", "forced", "truth").values


def test_what_is_undefined_is_left_out_of_the_range():
    # Zephyr's PBP row is the same in Tables 2 and 4: nothing moved, and LAO is 0/0.
    lao = of("lao", "equal", "pbp_once", "flip")
    assert math.isnan(lao.of("zephyr_7b").value)
    assert not any(map(math.isnan, lao.span))


def test_revision_rates_are_stated_in_the_text():
    for scheme, low, high in (("forced", 0.76, 0.85), ("scot", 0.76, 0.82), ("pbp_repeated", 0.05, 0.22)):
        rates = of("revision_rate", "equal", scheme, "reveal")
        assert set(rates.values) == FIVE
        assert rates.span == pytest.approx((low, high))
    assert published.value(rates.of("llama_3_1_8b").id) == 5


def test_extractive_and_identical_pairs():
    # Table 9: Qwen prefers the language model's summary to LexRank's 970 times of 1,000.
    assert of("share_12", "extractive", "forced", "blind", system="lexrank").span == (0.97, 1.0)
    assert (
        of("share_12", "extractive", "forced", "blind", system="klsum")
        .of("gemma_2_9b")
        .id.endswith("t09.gemma_2_9b.kl_sum.12")
    )
    assert of("share_tie", "extractive", "forced", "blind", system="lexrank").cells == {}  # no such column
    assert of("share_tie", "identical", "scot", "truth").span == (0.976, 0.987)


def test_drift_is_one_range_over_all_judges_probes_and_schemes():
    for probe in ("truth", "flip", "placebo"):
        for scheme in counterparts.SCHEMES:
            drift = of("drift", "equal", scheme, probe, over="same")
            assert (drift.values, drift.low_high) == ({}, (0.75, 0.81))
            assert drift.span == published.bounds("rationalization_probes.claim.000-084")
            # Of each of the five the statement is, of none the value.
            assert {judge: cell.id for judge, cell in drift.cells.items()} == dict.fromkeys(
                FIVE, "rationalization_probes.claim.000-084"
            )
            assert math.isnan(drift.of("gemma_2_9b").value) and drift.of("another").id == ""


def test_alignment_is_a_number_of_one_judge_and_ranges_of_the_others():
    lai = of("lai", "equal", "scot", "placebo", over="same", wording="mean")
    assert lai.values == {"mistral_7b": 0.43}
    assert lai.of("mistral_7b") == ("rationalization_probes.claim.000-085", 0.43)
    assert list(lai.ranges.values()) == [(0.25, 0.35), (0, 0.1)]
    assert lai.of("llama_3_1_8b").id == "rationalization_probes.claim.000-086"
    low_three = {judge for judge, cell in lai.cells.items() if cell.id.endswith("087")}
    assert low_three == {"gemma_2_9b", "qwen2_5_7b", "zephyr_7b"}
    assert (lai.low_high, lai.span) == ((0, 0.35), (0, 0.43))


def attacked(quantity, scheme, condition):
    return of(quantity, "equal", scheme, condition, over="same", wording="mean")


@pytest.mark.parametrize(
    ("condition", "scheme", "lao", "lds", "drift", "lai"),
    [
        # Sections 5.8 and 5.9; cue-aligned shares are printed in percent.
        ("verbosity", "forced", (0.35, 0.7), (0.04, 0.11), (0.14, 0.18), (0.3, 0.55)),
        ("verbosity", "scot", (0.9, 0.97), (0.09, 0.14), (0.22, 0.28), (0.48, 0.7)),
        ("verbosity", "pbp_once", (0, 0.18), (0, 0.02), (0.08, 0.11), (0.15, 0.26)),
        ("confidence", "forced", (0.35, 0.65), (0.04, 0.11), (0.13, 0.18), (0.48, 0.67)),
        ("confidence", "scot", (0.9, 0.96), (0.08, 0.14), (0.22, 0.28), (0.5, 0.7)),
        ("confidence", "pbp_repeated", (0, 0.15), (0, 0.02), (0.08, 0.11), (0.18, 0.26)),
    ],
)
def test_attacks_are_stated_by_scheme(condition, scheme, lao, lds, drift, lai):
    for quantity, span in {"lao": lao, "lds": lds, "drift": drift, "lai": lai}.items():
        assert attacked(quantity, scheme, condition).span == pytest.approx(span)


def test_only_verbosity_under_pbp_is_stated_judge_by_judge():
    lao = attacked("lao", "pbp_once", "verbosity")
    assert lao.values == {
        "gemma_2_9b": 0.15,
        "llama_3_1_8b": 0.18,
        "mistral_7b": 0,
        "qwen2_5_7b": 0.12,
        "zephyr_7b": 0.1,
    }
    assert lao.low_high is None
    assert lao.of("zephyr_7b") == ("rationalization_probes.claim.000-092", 0.1)
    scot = attacked("lao", "scot", "verbosity")
    assert scot.ranges == {"rationalization_probes.claim.000-100": (0.9, 0.97)} and scot.values == {}


@pytest.mark.parametrize(
    "scheme", ["baseline", "scot_no_conciseness", "pbp_no_conciseness", "pbp_grafted", "pointwise"]
)
def test_schemes_of_our_own_have_no_counterpart(scheme):
    for quantity in ("share_tie", "lao", "drift", "lai", "revision_rate"):
        for condition in ("blind", "truth", "verbosity", "confidence", "reveal"):
            assert of(quantity, "equal", scheme, condition, over="same", wording="mean") == NONE


@pytest.mark.parametrize(
    ("quantity", "condition", "told"),
    [
        ("drift", "truth", {"over": "all"}),  # the paper's is over same decisions
        ("drift", "truth", {}),
        ("drift", "empty", {"over": "same"}),  # it had no noise floor
        ("drift", "verbosity", {"over": "all"}),
        ("lai", "truth", {"over": "same", "wording": "1"}),  # one wording of several
        ("lai", "truth", {"over": "all", "wording": "mean"}),
        ("lai_blind", "truth", {"over": "same", "wording": "mean"}),
        ("lao", "verbosity", {"coding": "always_12"}),  # whose side it took the other way is not told
        ("ols", "verbosity", {}),
    ],
)
def test_no_number_of_other_pairs_or_wordings(quantity, condition, told):
    assert of(quantity, "equal", "scot", condition, **told) == NONE
    assert of(quantity, "identical", "scot", condition, **told) == NONE


@pytest.mark.parametrize(
    "row",
    [
        ("share_tie", "equal", "baseline", "blind"),  # the paper's baseline could not tie
        ("share_tie", "identical", "scot", "blind"),  # its labels were shown
        ("share_12", "extractive", "scot", "blind"),  # no system
        ("cue_effect", "identical", "scot", "truth"),
        ("revision_rate", "equal", "scot", "control"),  # it had none
        ("revised_away", "equal", "scot", "reveal"),
        ("lao", "samples", "scot", "truth"),  # Tables 6-8 print LDS, TS and OLS
        ("cue_effect", "samples", "scot", "truth"),
        ("lds", "samples", "baseline", "truth"),
        ("lds", "samples", "scot", "empty"),
        ("spans_found_rate", "equal", "pbp_once", "blind"),
    ],
)
def test_no_number_where_the_paper_has_none(row):
    assert of(*row) == NONE
    assert all(map(math.isnan, NONE.span))
    assert NONE.of("gemma_2_9b").id == "" and math.isnan(NONE.of("gemma_2_9b").value)
