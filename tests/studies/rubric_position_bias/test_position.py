"""Position bias cell by cell: planted judges are measured at what was planted, clean ones are found clean."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shared.metrics.multiplicity import holm
from shared.metrics.resampling import Inference
from studies.rubric_position_bias.position import (
    NEEDS_ALL,
    difference_of_tests,
    position_rows,
    size_rows,
    with_holm,
)
from tests.studies.rubric_position_bias.planted import planted, planted_items

QUICK = Inference(resamples=200, permutations=199)
RISING = 0.8 * np.linspace(-1, 1, 5)


def rows_of(judgements: pd.DataFrame, inference: Inference = QUICK, seed: int = 1) -> pd.DataFrame:
    return position_rows(judgements, np.random.default_rng(seed), inference)


def one(rows: pd.DataFrame, quantity: str, **where: object) -> pd.Series:
    found = rows[rows["quantity"] == quantity]
    for name, value in where.items():
        found = found[found[name] == value]
    assert len(found) == 1
    return found.iloc[0]


def scripted(scores: dict[str, float], items: int = 12) -> pd.DataFrame:
    """Balanced judgements of three options where the score depends on the order alone."""
    rows = planted(items, 3, "balanced", 0, 0, 1, np.random.default_rng(0))
    score = rows["order"].map(scores)
    return rows.assign(score=score, status=np.where(score.isna(), "unparsed", "ok"))


# --- One cell, by hand ------------------------------------------------------------------------------


def test_a_judge_that_always_picks_the_first_place():
    # Six orders of three options: whatever stands first, is chosen.
    found = rows_of(scripted({order: int(order[0]) for order in ("123", "231", "312", "321", "213", "132")}))
    assert one(found, "position_share", condition="place 1")["value"] == 1
    assert one(found, "position_share", condition="place 1")["count"] == 72
    assert one(found, "position_share", condition="place 3")["value"] == 0
    v, way = one(found, "cramers_v"), one(found, "direction")
    assert (v["value"], one(found, "printed_v")["value"], way["value"]) == (1, 1, -1)
    assert one(found, "chi_square")["value"] == 72 * 2
    # 199 draws: the smallest p is 1/200. Intervals have a width although all resamples agree.
    assert v["p"] == way["p"] == 0.005
    assert v["ci_low"] < 1 == v["ci_high"] and way["ci_low"] == -1 < way["ci_high"]
    assert v["null_high"] < 1 and v["changed"] == "no"
    assert (v["n_items"], v["n_trials"], v["n_clusters"], v["n_unparsed"], v["k"]) == (12, 72, 12, 0, 6)


def test_a_judge_that_always_gives_the_same_score():
    found = rows_of(scripted(dict.fromkeys(("123", "231", "312", "321", "213", "132"), 2)))
    v = one(found, "cramers_v")
    assert (v["value"], v["p"], v["null_high"]) == (0, 1, 0)
    assert np.isnan(v["mde"])  # nothing that could have been found: no score could have moved
    assert one(found, "chi_square_null_ratio")["value"] == 0
    assert one(found, "direction")["p"] == 1


def test_answers_that_were_not_parsed_are_counted_and_left_out():
    found = rows_of(scripted({"123": 1, "231": 1, "312": 3}))  # no score under the three reversed orders
    v = one(found, "cramers_v")
    assert (v["n_trials"], v["n_unparsed"], v["n_items"]) == (36, 36, 12)
    assert one(found, "position_share", condition="place 1")["count"] == 24
    nothing = rows_of(scripted({}))
    assert nothing["n_trials"].eq(0).all() and nothing["n_unparsed"].eq(72).all()
    assert nothing[nothing["quantity"] != "position_share"]["value"].isna().all()
    assert nothing["p"].isna().all()


def test_the_paper_s_n_counts_what_could_not_be_parsed():
    found = rows_of(scripted({"123": 1, "231": 2, "312": 3}))  # half of 72 answers, always the first place
    whole, of_all = one(found, "printed_v"), one(found, "printed_v_of_all")
    assert (whole["value"], of_all["value"]) == (1, 0.5)
    assert of_all["ci_low"] == whole["ci_low"] / 2 and of_all["null_high"] == whole["null_high"] / 2


@pytest.mark.parametrize("k", [1, 2, 9])
def test_over_a_part_of_the_orders_only_the_permutation_test_is_defined(k):
    """No bias, and sharp content: the places chosen are those where the drawn orders put what is right."""
    found = rows_of(planted(120, 5, "balanced", 0, 0.5, 4, np.random.default_rng(3), k))
    numbers = ["value", "ci_low", "ci_high", "null_low", "null_high", "mde"]
    assert found[numbers].isna().all(axis=None) and (found["note"] == NEEDS_ALL).all()
    tested = found[found["p"].notna()]
    assert set(tested["quantity"]) == {"cramers_v", "direction"} and tested["p"].gt(0.05).all()
    assert set(found["changed"].dropna()) <= {""}
    shares = found[found["quantity"] == "position_share"]
    assert shares["count"].sum() == found["n_trials"].iloc[0] == 120 * k


def test_some_items_under_a_part_of_the_orders_are_enough_to_mix_places_and_content():
    rows = planted(20, 5, "balanced", RISING, 0, 1, np.random.default_rng(3))
    first = rows["item"] == rows["item"].iloc[0]
    assert "note" not in rows_of(rows)
    assert (rows_of(rows[~first | (rows["draw"] < 4)])["note"] == NEEDS_ALL).all()


def test_chi_square_is_scipys():
    found = rows_of(planted(80, 5, "balanced", 0.3 * RISING, 0, 1, np.random.default_rng(2)))
    counts = found.loc[found["quantity"] == "position_share", "count"]
    expected = stats.chisquare(counts)
    row = one(found, "chi_square")
    assert (row["value"], row["p"]) == pytest.approx((expected.statistic, expected.pvalue))
    assert one(found, "cramers_v")["value"] == pytest.approx(np.sqrt(row["value"] / (800 * 4)))


# --- Planted judges ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sharpness", [0, 1, 4])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_planted_bias_is_found_and_its_direction_told(sharpness, sign):
    rng = np.random.default_rng(3)
    items = planted_items(120, rng, clusters=40)
    found = rows_of(planted(items, 5, "balanced", sign * RISING, 0.2 * RISING, sharpness, rng))
    way = one(found, "direction")
    assert way["p"] == one(found, "cramers_v")["p"] == 0.005
    assert way["ci_low"] * sign > 0 and way["ci_high"] * sign > 0
    assert one(found, "cramers_v")["n_clusters"] == 40


def test_without_content_the_shares_are_the_planted_softmax():
    prior = np.exp(RISING) / np.exp(RISING).sum()
    found = rows_of(planted(600, 5, "balanced", RISING, 0, 0, np.random.default_rng(4)))
    shares = found[found["quantity"] == "position_share"]
    assert shares["value"].to_numpy() == pytest.approx(prior, abs=0.02)
    assert (shares["ci_low"].le(prior) & shares["ci_high"].ge(prior)).all()
    assert shares["null_low"].lt(0.2).all() and shares["null_high"].gt(0.2).all()


def test_a_judge_without_bias_is_found_clean_at_the_nominal_rate():
    # 200 data sets of 24 items of 12 sources each, planted as one and told apart by the judge's name.
    rng = np.random.default_rng(5)
    judgements = planted(planted_items(4800, rng, clusters=2400), 5, "balanced", 0, RISING, 1.5, rng)
    numbers = pd.factorize(judgements["item"])[0] // 24
    found = rows_of(judgements.assign(judge=numbers.astype(str)), Inference(resamples=2, permutations=199))
    assert found["n_clusters"].eq(12).all()
    exact, chi = (found[found["quantity"] == name]["p"] for name in ("cramers_v", "chi_square"))
    # Of 200 at 0.05, 10 +- 3.1: within three standard deviations; chi-square hardly ever rejects.
    assert 1 <= (exact <= 0.05).sum() <= 19
    assert (chi <= 0.05).sum() < (exact <= 0.05).sum()


def test_where_the_tests_differ_it_is_said_why():
    # Sharp content leaves a planted bias little room, and chi-square none to see it in.
    rng = np.random.default_rng(1)
    found = rows_of(planted(planted_items(100, rng), 5, "balanced", 0.7 * RISING, 0, 5, rng))
    chi, v = one(found, "chi_square"), one(found, "cramers_v")
    assert chi["p"] > 0.05 >= v["p"]
    assert chi["changed"] == v["changed"]
    assert v["changed"].startswith("yes: only the exact test rejects; sharp content")
    assert one(found, "chi_square_null_ratio")["value"] < 0.9


@pytest.mark.parametrize(
    ("chi_p", "exact_p", "ratio", "words"),
    [
        (0.001, 0.002, 0.3, "no"),
        (0.5, 0.5, 3.0, "no"),
        (0.2, 0.01, 0.5, "yes: only the exact test rejects; sharp content makes chi-square conservative: "
         "without bias it would average 2, not its 4 degrees of freedom"),
        (0.01, 0.2, 2.0, "yes: only chi-square rejects; a source's scores move together"),
        (0.06, 0.04, 1.0, "yes: only the exact test rejects; both are near the threshold"),
        (0.04, 0.06, 0.5, "yes: only chi-square rejects; both are near the threshold"),
        (np.nan, 0.5, 1.0, ""),
    ],
)  # fmt: skip
def test_reasons(chi_p, exact_p, ratio, words):
    said = difference_of_tests(chi_p, exact_p, ratio, 5, 0.05)
    assert said == words if words in ("no", "") else said.startswith(words)


# --- Many cells -------------------------------------------------------------------------------------


def several() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    items = planted_items(30, rng, clusters=10)
    return pd.concat(
        planted(items, 5, ("balanced", "random", "fixed"), strength * RISING, 0, 1, rng, judge=judge, **more)
        for judge, strength, more in (
            ("mild", 0.2, {}), ("strong", 1, {}), ("strong", 1, {"scheme": "cot"}),
            ("strong", 1, {"temperature": 0.3}), ("strong", 1, {"effort": "low"}),
        )
    )  # fmt: skip


def test_only_balanced_orders_are_counted():
    found = rows_of(several())
    assert set(found["strategy"]) == {"balanced"} and found["n_trials"].eq(300).all()
    assert rows_of(several().query("strategy != 'balanced'")).empty
    assert rows_of(several().assign(setting="criteria")).empty


def test_a_row_does_not_depend_on_other_cells():
    every, alone = rows_of(several()), rows_of(several().query("judge == 'mild'"))
    cells = every[every["judge"] == "mild"].reset_index(drop=True)
    # Holm's correction is over all cells, and that alone.
    pd.testing.assert_frame_equal(cells.drop(columns="p_holm"), alone.drop(columns="p_holm"))


def test_the_family_is_the_main_design():
    found = rows_of(several())
    corrected = found[found["p_holm"].notna()]
    assert corrected["judge"].tolist() == ["mild", "strong"]
    assert set(corrected["quantity"]) == {"cramers_v"} and set(corrected["scheme"]) == {"base"}
    assert corrected["p_holm"].tolist() == holm(corrected["p"]).tolist()
    assert with_holm(pd.DataFrame(), "cramers_v").empty


def test_cells_may_be_finer():
    rng = np.random.default_rng(8)
    judgements = planted(
        planted_items(40, rng, clusters=10, criteria=("a", "b")), 5, "balanced", 0, 0, 1, rng
    )
    by = ("judge", "dataset", "criterion", "size")
    found = position_rows(judgements, rng, QUICK, by)
    assert found[found["quantity"] == "direction"]["criterion"].tolist() == ["a", "b"]
    assert found["n_items"].eq(20).all() and found["n_clusters"].eq(10).all()


# --- Rubric sizes -----------------------------------------------------------------------------------


def sized(sizes: tuple[int, ...] = (2, 3, 5, 9)) -> pd.DataFrame:
    rng = np.random.default_rng(9)
    items = planted_items(60, rng, clusters=30)
    strength = {2: 1.0, 3: 0.2, 5: 0.5, 9: 1.5}
    return pd.concat(
        planted(items, n, "balanced", strength[n] * np.linspace(-1, 1, n), 0, 2 / n, rng) for n in sizes
    )


def test_v_over_sizes():
    found = size_rows(sized(), np.random.default_rng(1), QUICK)
    v = found[found["quantity"] == "cramers_v"].set_index("size")["value"]
    assert v.index.tolist() == [2, 3, 5, 9] and v.idxmin() == 3
    separate = rows_of(sized())
    separate = separate[separate["quantity"] == "cramers_v"].set_index("size")["value"]
    assert v.to_numpy() == pytest.approx(separate[v.index].to_numpy())
    # The grown bias at nine options is no noise.
    grown = one(found, "cramers_v_difference", condition="size 9 - size 3")
    assert grown["value"] == pytest.approx(v[9] - v[3]) and grown["ci_low"] > 0
    assert len(found[found["quantity"] == "cramers_v_difference"]) == 6
    shares = found[found["quantity"] == "lowest_v_share"].set_index("size")["value"]
    assert shares.sum() == pytest.approx(1) and shares[3] > 0.8
    above = found[found["quantity"] == "cramers_v_above_null"].set_index("size")["value"]
    assert (above < v).all() and above[9] > 0.1


def test_sizes_are_compared_on_the_same_sources():
    judgements = sized((3, 5))
    lost = judgements["cluster"].isin(judgements["cluster"].unique()[:10]) & (judgements["size"] == 5)
    judgements["score"] = judgements["score"].where(~lost)
    found = size_rows(judgements, np.random.default_rng(1), QUICK)
    assert found["n_clusters"].eq(20).all()
    assert size_rows(sized((5,)), np.random.default_rng(1), QUICK).empty


def test_sizes_are_compared_on_the_same_items():
    # Of ten sources with two items each, one item has no choice under five options.
    judgements = sized((3, 5))
    lost = judgements["item"].isin(judgements["item"].unique()[:20:2])
    judgements["score"] = judgements["score"].mask(lost & (judgements["size"] == 5))
    found = size_rows(judgements, np.random.default_rng(1), QUICK)
    v = found[found["quantity"] == "cramers_v"].set_index("size")
    assert v["n_items"].tolist() == [50, 50] and v["n_trials"].tolist() == [50 * 6, 50 * 10]
    assert found["n_clusters"].eq(30).all()
    kept = rows_of(judgements[~lost])
    kept = kept[kept["quantity"] == "cramers_v"].set_index("size")
    assert v["value"].to_numpy() == pytest.approx(kept["value"][v.index].to_numpy())


def test_a_size_under_a_part_of_its_orders_is_not_compared():
    judgements = sized((2, 3, 5))
    part = judgements[(judgements["size"] != 5) | (judgements["draw"] < 2)]
    found = size_rows(part, np.random.default_rng(1), QUICK)
    lost = found["note"] == NEEDS_ALL
    assert found.loc[lost, "value"].isna().all() and found.loc[~lost, "value"].notna().all()
    told = found[lost & (found["quantity"] != "lowest_v_share")]
    assert set(told["condition"]) == {"size 5", "size 5 - size 2", "size 5 - size 3"}
    # Which is lowest cannot be told where one is not known.
    assert lost[found["quantity"] == "lowest_v_share"].all()
    assert 0 < one(found, "cramers_v", size=5)["p"] < 1
