"""The paper's statements beside ours: the right one, in our unit; none where it has none; none forgotten."""

import math

import pytest

from shared.reporting import published
from studies.evidence_lock import counterparts
from studies.evidence_lock.counterparts import (
    CLAUDE,
    GPT,
    JUDGES,
    NONE,
    PAPER,
    PRINTED,
    STATED,
    WITHOUT_A_ROW,
    claim,
    of,
)
from tests.shared.reporting.statements import results_of
from tests.studies.evidence_lock.small_tables import tables

OURS = "smollm2_135m"
CALLED = {"structured": "structured", "lock": "evidence lock", "pointwise_lock": "pointwise lock"}


def beside(quantity, table, **names):
    """The statement's number and what it says, as far as it says anything."""
    found = of(quantity, table, **names)
    told = [number for number in found[1:] if not math.isnan(number)]
    return found.id.removeprefix(claim("")), *told


# --- By judge ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judge", "scheme", "number", "share"),
    [
        (CLAUDE, "structured", "014", 0.760),
        (CLAUDE, "lock", "015", 0.717),
        (GPT, "structured", "016", 0.756),
        (GPT, "lock", "017", 0.700),
        (CLAUDE, "pointwise_lock", "018", 0.673),
        (GPT, "pointwise_lock", "019", 0.692),
    ],
)
def test_a_judges_own_agreement_is_a_share(judge, scheme, number, share):
    names = {"judge": judge, "scheme": scheme, "dataset": "all"}
    assert beside("agreement", "agreement", **names) == (number, pytest.approx(share))
    assert of("agreement", "agreement", **names).value == pytest.approx(share)


def test_another_judge_has_the_range_over_both():
    # Structured: 76.0 and 75.6 %; the lock: 71.7 and 70.0 %
    told = beside("agreement", "agreement", judge=OURS, scheme="structured", dataset="all")
    assert told == ("", pytest.approx(0.756), pytest.approx(0.760))
    assert beside("agreement", "agreement", judge=OURS, scheme="lock")[1:] == pytest.approx((0.7, 0.717))


def test_of_one_data_set_the_number_is_a_range_without_width():
    """The paper's are over three."""
    found = of("agreement", "agreement", judge=GPT, scheme="lock", dataset="feedbackqa")
    assert math.isnan(found.value) and found.low == found.high == pytest.approx(0.7)
    assert found.id == claim("017")


def test_what_is_quoted_of_one_judge_stands_beside_all_but_the_other():
    # inconsistency: Claude 10.9 % and 18.9 %; GPT-5's is not quoted
    names = {"scheme": "structured", "dataset": "all"}
    assert beside("inconsistency", "agreement", judge=CLAUDE, **names) == ("021", pytest.approx(0.109))
    assert of("inconsistency", "agreement", judge=GPT, **names) == NONE
    found = of("inconsistency", "agreement", judge=OURS, **names)
    assert found.id == claim("021") and found.low == found.high == pytest.approx(0.109)


# --- Differences ------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["differences", "bundle"])
def test_a_loss_is_below_0_and_a_rise_above(table):
    names = {"scheme": "lock", "reference": "structured", "dataset": "all"}
    # "by 4 to 6 points", and by 8 to 10
    assert beside("agreement", table, judge=OURS, **names) == (
        "013",
        pytest.approx(-0.06),
        pytest.approx(-0.04),
    )
    assert beside("inconsistency", table, judge=OURS, **names) == (
        "020",
        pytest.approx(0.08),
        pytest.approx(0.1),
    )


def test_a_judges_own_difference_is_that_of_its_numbers():
    names = {"scheme": "lock", "reference": "structured", "dataset": "all"}
    # 71.7 - 76.0; 70.0 - 75.6; 18.9 - 10.9
    assert beside("agreement", "differences", judge=CLAUDE, **names) == ("", pytest.approx(-0.043))
    assert beside("agreement", "differences", judge=GPT, **names) == ("", pytest.approx(-0.056))
    assert beside("inconsistency", "differences", judge=CLAUDE, **names) == ("", pytest.approx(0.08))
    # GPT-5's own is not quoted, but it is one of both
    assert beside("inconsistency", "differences", judge=GPT, **names)[0] == "020"


def test_two_assessments_have_the_range_of_what_follows():
    # 67.3 - 76.0; 69.2 - 75.6
    names = {"judge": OURS, "scheme": "pointwise_lock", "reference": "structured"}
    assert beside("agreement", "differences", **names) == ("", pytest.approx(-0.087), pytest.approx(-0.064))


def test_a_stated_range_holds_the_differences_that_follow_from_the_numbers():
    """To the whole points in which it is stated."""
    for quantity, schemes in STATED.items():
        for scheme in schemes:
            names = {"scheme": scheme, "reference": "structured", "dataset": "all"}
            stated = of(quantity, "differences", judge=OURS, **names)
            for judge in JUDGES:
                own = of(quantity, "differences", judge=judge, **names).value
                assert math.isnan(own) or stated.low <= round(own, 2) <= stated.high


def test_a_difference_from_anything_else_has_none():
    for names in ({"reference": "lock"}, {"reference": ""}, {"reference": "standard"}):
        assert of("agreement", "differences", judge=CLAUDE, scheme="lock", **names) == NONE
    for scheme in ("standard", "structured", "conversation", "reread"):
        assert of("agreement", "differences", judge=CLAUDE, scheme=scheme, reference="structured") == NONE


# --- Cost -------------------------------------------------------------------------------------------


def test_tokens_are_quoted_of_one_judge():
    assert beside("tokens", "cost", judge=CLAUDE, scheme="lock", dataset="all") == ("023", 4183)
    assert beside("tokens", "cost", judge=OURS, scheme="structured") == ("024", 1864, 1864)
    assert of("tokens", "cost", judge=GPT, scheme="lock") == NONE
    # 4183 / 1864
    names = {"scheme": "lock", "reference": "structured", "dataset": "all"}
    assert beside("tokens_ratio", "cost", judge=CLAUDE, **names) == ("", pytest.approx(2.2441, abs=1e-4))


@pytest.mark.parametrize(("scheme", "calls"), [("structured", 1), ("lock", 2), ("pointwise_lock", 3)])
def test_calls_are_the_protocols(scheme, calls):
    for judge in (*JUDGES, OURS):
        assert set(beside("calls", "cost", judge=judge, scheme=scheme, dataset="lfqa")[1:]) == {calls}


# --- Where there is none ----------------------------------------------------------------------------


@pytest.mark.parametrize("other", [{"wording": 2}, {"temperature": 0.7}, {"subset": "law"}, {"writer": "x"}])
def test_another_design_than_the_papers_has_none(other):
    names = {"judge": OURS, "scheme": "lock"}
    assert of("agreement", "agreement", **names) != NONE
    assert of("agreement", "agreement", **names, **other) == NONE


def test_what_a_row_does_not_tell_is_the_papers_design():
    names = {"judge": GPT, "scheme": "lock"}
    lacking = {"subset": "", "wording": math.nan, "temperature": None, "writer": "", "dataset": math.nan}
    assert of("agreement", "agreement", **names, **lacking) == of("agreement", "agreement", **names)


@pytest.mark.parametrize("naming", ["neutral", "letters"])
def test_whatever_answers_are_called(naming):
    assert of("agreement", "agreement", judge=GPT, scheme="lock", naming=naming).id == claim("017")


@pytest.mark.parametrize("judge", ["", "all"])
def test_rows_about_several_judges_have_none(judge):
    assert of("agreement", "agreement", judge=judge, scheme="lock") == NONE


@pytest.mark.parametrize("quantity", ["agreement_half", "agreement_all", "tie_rate", "first_shown"])
def test_what_the_paper_does_not_count_has_none(quantity):
    assert of(quantity, "agreement", judge=CLAUDE, scheme="lock") == NONE


BEYOND = ["verdicts", "orders", "budgets", "leaks", "lost", "competence", "answers"]


@pytest.mark.parametrize("table", BEYOND)
def test_tables_beyond_the_paper_have_none(table):
    for row in tables()[table].to_dict("records"):
        assert not row["published_id"] and math.isnan(row["paper_low"])


# --- None forgotten ---------------------------------------------------------------------------------


def reached():
    """The ids beside any row that our tables have, were they about the paper's judges."""
    return {
        of(**{**row, "judge": judge}, table=name).id
        for name, rows in tables().items()
        for row in rows.to_dict("records")
        for judge in (*JUDGES, OURS)
    } - {""}


def test_every_result_of_the_paper_stands_beside_a_row_or_is_listed_with_its_reason():
    beside_rows, listed = reached(), {claim(number) for number in WITHOUT_A_ROW}
    assert results_of(PAPER) - beside_rows == listed
    assert all(len(reason) > 4 for reason in WITHOUT_A_ROW.values())


def test_every_statement_stands_beside_a_row():
    printed = {
        number for schemes in PRINTED.values() for found in schemes.values() for number in found.values()
    }
    stated = {number for schemes in STATED.values() for number, _ in schemes.values()}
    assert reached() == {claim(number) for number in printed | stated}


def test_the_tables_have_what_stands_beside_their_rows():
    for name, rows in tables().items():
        for row in rows.to_dict("records"):
            found = of(**row, table=name)
            assert row["published_id"] == found.id
            numbers = [row["published"], row["paper_low"], row["paper_high"]]
            assert numbers == pytest.approx(found[1:], nan_ok=True)


def test_a_statement_is_about_what_it_is_taken_for():
    claims = published.claims().set_index("id")
    for quantity, schemes in PRINTED.items():
        for scheme, found in schemes.items():
            for judge, number in found.items():
                row = claims.loc[claim(number)]
                told = f"{row['model_scheme_condition']} {row['quantity']}".lower()
                assert CALLED[scheme] in told
                assert quantity == "calls" or judge.split("_")[0] in told
                assert quantity in f"{row['statement']} {row['quantity']}".lower()


def test_ids_are_of_this_paper():
    assert claim("001") == "evidence_lock.claim.003-001" and claim("001").startswith(PAPER)
    assert set(counterparts.STATED["agreement"]) == {"lock"}
