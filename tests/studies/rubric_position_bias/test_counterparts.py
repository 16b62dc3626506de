"""The paper's statements beside ours: the right one, in our unit; none where it has none; none forgotten."""

import itertools
import math

import pytest

from shared.reporting import published
from studies.rubric_position_bias import counterparts
from studies.rubric_position_bias.counterparts import (
    MAIN,
    NONE,
    PAPER,
    SAME,
    TOTALS,
    WITHOUT_A_ROW,
    claim,
    of,
    total,
)
from tests.shared.reporting.statements import results_of
from tests.studies.rubric_position_bias.small_tables import tables

SIX = ("gpt_oss_20b", "gpt_oss_120b", "qwen3_5_9b", "qwen3_5_27b", "gemma_3_12b", "gemma_3_27b")


def beside(quantity, table, **names):
    """The statement's number and what it says, as far as it says anything."""
    found = of(quantity, table, **names)
    told = [number for number in found[1:] if not math.isnan(number)]
    return found.id.removeprefix(claim("")), *told


# --- One judge's own, and the range of them ---------------------------------------------------------


def test_v_is_printed_of_two_judges_and_stands_beside_others_as_a_range():
    # Findings 6: GPT-OSS-120B at most 0.05 everywhere; Gemma-3-27B 0.114 at n = 5 and 0.220 at n = 9.
    assert beside("cramers_v", "rubric_size", judge="gemma_3_27b", size=5) == ("043", 0.114)
    assert beside("cramers_v", "rubric_size", judge="gemma_3_27b", size=9.0) == ("044", 0.22)
    assert beside("cramers_v", "rubric_size", judge="gpt_oss_120b", size=9) == ("042", 0, 0.05)
    assert beside("cramers_v", "rubric_size", judge="smollm2_135m", size=9) == ("", 0, 0.22)
    assert beside("cramers_v", "position", judge="smollm2_135m", condition="balanced") == ("", 0, 0.114)


def test_of_a_size_at_which_one_judge_alone_is_printed_the_others_have_nothing():
    assert beside("cramers_v", "rubric_size", judge="gpt_oss_120b", size=2) == ("042", 0, 0.05)
    assert of("cramers_v", "rubric_size", judge="smollm2_135m", size=2) == NONE


@pytest.mark.parametrize("quantity", ["sd_alpha", "sd_alpha_shares"])
def test_the_spread_of_priors_is_a_range_over_judges(quantity):
    assert beside(quantity, "logit", judge="gpt_oss_120b", condition="balanced") == ("063", 0.15)
    assert beside(quantity, "logit", judge="gemma_3_27b", condition="balanced") == ("064", 0.72)
    assert beside(quantity, "logit", judge="qwen3_5_9b", condition="balanced") == ("", 0.15, 0.72)


def test_an_over_selected_place_is_named_and_no_share():
    assert of("position_share", "position", judge="gpt_oss_20b", condition="place 1").id == claim("006")
    assert beside("position_share", "position", judge="gemma_3_27b", condition="place 5") == ("007",)
    for judge, place in (("gpt_oss_20b", 5), ("gemma_3_27b", 1), ("smollm2_135m", 1)):
        assert of("position_share", "position", judge=judge, condition=f"place {place}") == NONE


# --- All judges together ----------------------------------------------------------------------------


def test_counts_stand_beside_the_rows_that_count():
    def counts(claimed, condition, setting="score", **names):
        return beside(f"pearson_{claimed}", "agreement", condition=condition, setting=setting, **names)

    # Findings 3, 4 and 7: 10 of 12, 8 of 12, 6 of 12 cells.
    assert counts("cells_containing_0", "balanced - random") == ("013", 10)
    assert counts("cells_above_0", "balanced - fixed") == ("017", 8)
    assert counts("cells_above_0", "balanced - fixed", "criteria", size=4, scale="12345") == ("052", 6)
    assert counts("cells_below_0", "balanced - fixed") == ("",)
    assert [total(claim(number)) for number in TOTALS] == [12, 12, 6, 12]
    assert math.isnan(total(claim("042"))) and math.isnan(total(""))


def test_differences_are_a_range_or_at_most():
    names = {"condition": "balanced - random", "judge": "x"}
    assert beside("pearson", "agreement", **names) == ("015", -0.008, 0.015)
    several = {"setting": "criteria", "size": 4, **names}
    assert beside("pearson", "agreement", scale="12345", **several) == ("054", -0.02, 0.02)
    assert of("pearson", "agreement", scale="54321", **several) == NONE
    assert of("spearman", "agreement", **names) == NONE


def test_shares_of_the_gain_are_of_all_judges():
    # Findings 5, the appendix: 70 % and 87 %; ten times one order: 8 %.
    for condition, k, number, share in (
        ("balanced", 3, "025", 0.7),
        ("balanced", 5.0, "026", 0.87),
        ("fixed", 10, "035", 0.08),
    ):
        names = {"condition": condition, "k": k}
        assert beside("gain_share", "k_curve", judge="", **names) == (number, share)
        # Printed of all together; beside one judge it is a range of no width.
        assert beside("gain_share", "k_curve", judge="gpt_oss_20b", **names) == (number, share, share)
    assert of("gain_share", "k_curve", condition="random", k=3) == NONE
    assert beside("judges_tracking", "k_curve") == ("020", 5)


def test_rankings_are_in_shares():
    names = {"condition": "balanced - fixed", "judge": "x"}
    assert beside("kendall_tau", "ranking", **names) == ("056", 0.65, 0.85)
    for quantity in ("top1_change_low", "top1_change_high"):
        assert beside(quantity, "ranking", **names) == ("057", 0.15, 0.41)
        assert beside(quantity, "ranking", **names | {"judge": "gpt_oss_120b"}) == ("058", 0.21, 0.38)
        assert of(quantity, "ranking", condition="halves of balanced", judge="x") == NONE


def test_prompt_arms_are_of_no_single_judge():
    arms = {"base": 0.377, "prose": 0.455, "debias": 0.373, "cot": 0.347, "verify": 0.356, "anchor": 0.249}
    for arm, sd in arms.items():
        names = {"scheme": arm, "condition": arm}
        assert beside("sd_alpha", "prompt_arms", judge="all", **names)[1:] == (sd,)
        # Printed once; beside one judge it is a range of no width.
        assert beside("sd_alpha", "prompt_arms", judge="x", **names)[1:] == (sd, sd)
    ratio = beside("sd_alpha_ratio", "prompt_arms", judge="all", scheme="anchor", condition="anchor / base")
    assert ratio == ("077", 0.66)


def test_the_largest_shift_is_at_most_the_most_extreme_cell():
    for judge in ("qwen3_5_9b", "smollm2_135m"):
        names = {"judge": judge, "criterion": "fluency", "size": 4, "setting": "criteria"}
        assert beside("largest_shift", "criterion_order", **names, scale="12345") == ("051", 0, 0.8)
        for scale in ("54321", ""):
            assert of("largest_shift", "criterion_order", **names, scale=scale) == NONE


# --- Where there is none ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [{"scheme": "cot"}, {"size": 9}, {"temperature": 0.3}, {"effort": "low"}, {"setting": "other"}],
)
def test_another_design_than_the_papers_has_none(other):
    rows = [
        ("pearson", "agreement", {"condition": "balanced - random"}),
        ("sd_alpha", "logit", {"condition": "balanced", "judge": "x"}),
        ("kendall_tau", "ranking", {"condition": "balanced - fixed"}),
        ("judges_tracking", "k_curve", {}),
    ]
    for quantity, table, names in rows:
        assert of(quantity, table, **names | MAIN) != NONE
        assert of(quantity, table, **names | MAIN | other) == NONE


def test_what_a_row_does_not_tell_is_the_main_design():
    told = {"condition": "balanced", "judge": "x"}
    lacking = {"size": math.nan, "temperature": None, "effort": "", "scheme": "", "k": math.nan}
    assert of("sd_alpha", "logit", **told, **lacking) == of("sd_alpha", "logit", **told)


@pytest.mark.parametrize("table", ["first_token", "calibration", "budget", "competence", "answers", "orders"])
def test_tables_beyond_the_paper_have_none(table):
    for row in tables()[table].to_dict("records"):
        assert not row["published_id"] and math.isnan(row["paper_low"])


# --- None forgotten ---------------------------------------------------------------------------------


def reached() -> set[str]:
    """The ids beside any row that our tables have, were they about the paper's judges, sizes and K."""
    found = set()
    for name, rows in tables().items():
        for row in rows.to_dict("records"):
            sizes = (5, 9) if name == "rubric_size" else (row["size"],)
            judges = SIX if row["judge"] not in counterparts.POOLED else (row["judge"],)
            arms = (
                ("base", "prose", "debias", "cot", "verify", "anchor") if name == "prompt_arms" else ("cot",)
            )
            for judge, size, arm in itertools.product(judges, sizes, arms):
                changed = {"judge": judge, "size": size, "condition": row["condition"].replace("cot", arm)}
                found.add(of(**{**row, **changed}, table=name).id)
    return found - {""}


def test_every_result_of_the_paper_stands_beside_a_row_or_is_listed_with_its_reason():
    beside_rows = reached()
    listed = {claim(number) for number in WITHOUT_A_ROW}
    twice = {claim(number) for number in SAME}
    assert results_of(PAPER) - beside_rows - listed - twice == set()
    assert not listed & beside_rows and not listed & twice  # what has got a row is not listed any more
    assert {claim(number) for number in SAME.values()} <= beside_rows
    assert listed <= results_of(PAPER)


def test_the_tables_have_what_stands_beside_their_rows():
    """Whatever names a row is told to `of`."""
    for name, rows in tables().items():
        for row in rows.to_dict("records"):
            found = of(**row, table=name)
            assert row["published_id"] == found.id
            assert [row["published"], row["paper_low"], row["paper_high"]] == pytest.approx(
                found[1:], nan_ok=True
            )


def test_every_statement_stands_beside_a_row():
    every = {one.id for found in counterparts._statements().values() for one in found}
    assert every == reached()


def test_statements_that_are_the_same_say_the_same():
    for again, first in SAME.items():
        assert counterparts._printed(claim(again)) == counterparts._printed(claim(first))


def test_reasons_are_told():
    assert all(len(reason) > 4 for reason in WITHOUT_A_ROW.values())


def test_a_statement_names_the_judge_that_it_is_taken_for():
    claims = published.claims().set_index("id")["model_scheme_condition"]
    for found in counterparts._statements().values():
        for one in found:
            named = str(claims[one.id]).lower().replace("-", "_").replace(".", "_")
            assert named.startswith(one.judge)


def test_the_papers_v_has_the_root():
    """Otherwise a judge that it calls strongly biased is far below its bound for the least biased one."""
    # GPT-OSS-20B on HANNA: chi-square over 96 stories, 6 criteria and 10 orders of 5 options.
    stories, criteria, orders = (published.value(claim(number)) for number in ("103", "104", "093"))
    squared = published.value(claim("085")) / (stories * criteria * orders * 4)
    bound = published.bounds(claim("042"))[1]
    assert squared < bound / 5
    assert bound < math.sqrt(squared) < published.value(claim("043"))


def test_ids_are_of_this_paper():
    assert claim("001") == "rubric_position_bias.claim.002-001" and claim("001").startswith(PAPER)
