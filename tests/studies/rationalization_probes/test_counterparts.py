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
