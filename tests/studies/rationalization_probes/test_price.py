"""The price of a label: by hand, on judges of known slopes, and where there is none."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from shared.metrics.resampling import Inference
from studies.rationalization_probes.price import CUES, NO_CUE, NO_FIT, NO_INTERVAL, NO_REACTION, SLOPES, price
from studies.rationalization_probes.rows import COLUMNS
from tests.studies.rationalization_probes.scripted_judgements import judgement

QUICK = Inference(resamples=300, permutations=300)


def answer(document: str, verdict: str | None, probe: str, order: str, level: int) -> dict[str, object]:
    row = judgement(document, verdict, kind="damage", probe=probe, order=order)
    return {**row, "judge": "judge", "item": f"{document}:damage:{level}", "level": level}


def priced(judgements: pd.DataFrame, inference: Inference = QUICK) -> pd.DataFrame:
    return price(judgements, np.random.default_rng(0), inference)


def labels(judgements: pd.DataFrame, inference: Inference = QUICK) -> pd.DataFrame:
    """The rows of the fit, by quantity."""
    found = priced(judgements, inference)
    return found[found["condition"] == "labels"].set_index("quantity")


def at(judgements: pd.DataFrame, quantity: str, probe: str, level: int) -> pd.Series:
    found = priced(judgements)
    chosen = found[(found["quantity"] == quantity) & (found["condition"] == probe)]
    return chosen[chosen["wording"] == f"{level} errors"].squeeze()


def asked(says, documents: int, levels=(1, 2, 3)) -> pd.DataFrame:
    """What a judge says of every document, level, order and probe."""
    return pd.DataFrame(
        [
            answer(f"doc-{number:03d}", says(number, probe, order, level), probe, order, level)
            for number in range(documents)
            for level in levels
            for order in ("12", "21")
            for probe in CUES
        ]
    )


def by_hand() -> pd.DataFrame:
    """Ten documents with two errors; of them, in each order, this many pick 1 (halves are ties)."""
    picks = {"truth": 9, "blind": 7.5, "flip": 5}

    def says(number: int, probe: str, order: str, level: int) -> str:
        rank = number if order == "12" else 9 - number  # so that no document is always for the same
        whole, half = int(picks[probe]), picks[probe] % 1
        return "1" if rank < whole else "tie" if rank == whole and half else "2"

    return asked(says, 10, levels=(2,))


def sloped(documents: int = 60, error=0.6, cue=0.9, place=0.4, seed: int = 0) -> pd.DataFrame:
    """A judge that draws twice with these slopes, and ties where the draws differ."""
    rng = np.random.default_rng(seed)

    def says(number: int, probe: str, order: str, level: int) -> str:
        worth = error * level + cue * CUES[probe] + place * (1 if order == "12" else -1)
        drawn = (rng.random(2) < 1 / (1 + np.exp(-worth))).sum()
        return ("2", "tie", "1")[drawn]

    return asked(says, documents)


def test_the_price_by_hand():
    # Two errors. log-odds of 1: Truth 9 of 10, log 9 = 2 log 3; Blind 7.5 of 10, log 3; Flip 5 of 10, 0.
    # So cue = log 3, 2 errors = log 3, error = log(3) / 2, and the label is worth 2 errors: under Flip the
    # judge is at even odds between the undamaged text and the labelled one with two errors.
    found = labels(by_hand())["value"]
    assert found["error_slope"] == pytest.approx(np.log(3) / 2)
    assert found["cue_slope"] == pytest.approx(np.log(3))
    assert found["place_slope"] == pytest.approx(0)
    assert found["price_in_errors"] == pytest.approx(2)


def test_known_slopes_are_recovered():
    judgements = sloped()
    found = labels(judgements, Inference(resamples=1000, permutations=100))
    for quantity, truth in zip((*SLOPES, "price_in_errors"), (0.6, 0.9, 0.4, 1.5), strict=True):
        assert found.loc[quantity, "ci_low"] < truth < found.loc[quantity, "ci_high"]
        assert abs(found.loc[quantity, "value"] - truth) < 0.25
    assert found.loc["price_in_errors", "wording"] == ""
    assert (found["n_trials"] == 60 * 18).all() and (found["n_clusters"] == 60).all()


def test_slopes_and_their_spread_agree_with_statsmodels():
    judgements = sloped(documents=80)
    picks = judgements["verdict"].map({"1": 1.0, "2": 0.0, "tie": 0.5})
    place = judgements["screen_order"].map({"12": 1, "21": -1})
    columns = np.column_stack([judgements["level"], judgements["probe"].map(CUES), place])
    groups = pd.factorize(judgements["cluster"])[0]
    oracle = sm.GLM(picks, columns, family=sm.families.Binomial())
    clustered = oracle.fit(tol=1e-12, cov_type="cluster", cov_kwds={"groups": groups})
    found = labels(judgements, Inference(resamples=2000)).loc[list(SLOPES)]
    assert found["value"].to_numpy() == pytest.approx(clustered.params.to_numpy(), abs=1e-6)
    # The bootstrap's intervals against the sandwich's, whose clusters are the same.
    width = (found["ci_high"] - found["ci_low"]).to_numpy()
    assert width == pytest.approx(2 * 1.96 * clustered.bse.to_numpy(), rel=0.15)


def test_swapping_the_candidates_flips_signs():
    judgements = sloped()
    there = labels(judgements)["value"]
    other = judgements.assign(verdict=judgements["verdict"].map({"1": "2", "2": "1", "tie": "tie"}))
    swapped = labels(other)
    assert swapped.loc[list(SLOPES), "value"].to_numpy() == pytest.approx(-there[list(SLOPES)].to_numpy())
    # It now prefers the damaged text: a price in errors has no meaning.
    assert np.isnan(swapped.loc["price_in_errors", "value"])
    assert swapped.loc["price_in_errors", "wording"] == NO_REACTION
    for level in (1, 2, 3):
        one, two = (at(rows, "sensitivity", "flip", level)["value"] for rows in (judgements, other))
        assert one == -two


def test_swapping_the_labels_flips_the_price_alone():
    judgements = sloped()
    turned = judgements["probe"].map({"blind": "blind", "truth": "flip", "flip": "truth"})
    there, back = (labels(rows)["value"] for rows in (judgements, judgements.assign(probe=turned)))
    signs = pd.Series({"error_slope": 1, "cue_slope": -1, "place_slope": 1, "price_in_errors": -1})
    assert back.to_numpy() == pytest.approx((there * signs[there.index]).to_numpy())


def test_turning_the_screen_flips_the_place_alone():
    judgements = sloped()
    turned = judgements["screen_order"].map({"12": "21", "21": "12"})
    there, back = (labels(rows)["value"] for rows in (judgements, judgements.assign(screen_order=turned)))
    assert back["place_slope"] == pytest.approx(-there["place_slope"])
    assert back["price_in_errors"] == pytest.approx(there["price_in_errors"])


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (lambda number, probe, order, level: order[0], NO_FIT),  # always the first shown
        (lambda number, probe, order, level: "1", NO_FIT),  # never wrong
        # Always the label's candidate: it would take any number of errors.
        (
            lambda number, probe, order, level: {"truth": "1", "flip": "2", "blind": "12"[number % 2]}[probe],
            NO_FIT,
        ),
        (lambda number, probe, order, level: "tie", NO_REACTION),
        (lambda number, probe, order, level: "12"[number % 2], NO_REACTION),
    ],
)
def test_judges_without_a_price(says, why):
    found = labels(asked(says, 10))
    assert found.loc["price_in_errors", ["value", "ci_low", "ci_high"]].isna().all()
    assert found.loc["price_in_errors", "wording"] == why
    # Slopes may be 0, but a slope without finite value has no interval, and none has one of width 0.
    slopes = found.loc[list(SLOPES)]
    assert slopes.loc[slopes["value"].isna(), ["ci_low", "ci_high"]].isna().all(axis=None)
    assert not (slopes["ci_low"] == slopes["ci_high"]).any()
    assert slopes["value"].isna().all() == (why == NO_FIT)


def test_a_judge_that_hardly_reacts_has_no_price():
    # The slope is above 0, its interval isn't: the price may be anything.
    found = labels(sloped(documents=12, error=0.03, seed=2))
    assert found.loc["error_slope", "ci_low"] <= 0 < found.loc["error_slope", "value"]
    assert np.isnan(found.loc["price_in_errors", "value"])
    assert found.loc["price_in_errors", "wording"] == NO_REACTION
    assert np.isfinite(found.loc["cue_slope", "value"])


def test_one_document_has_slopes_and_no_price():
    one = by_hand().assign(cluster="doc")
    found = labels(one)
    assert found.loc["cue_slope", "value"] == pytest.approx(np.log(3))
    assert np.isnan(found.loc["cue_slope", "ci_low"])
    assert found.loc["price_in_errors", "wording"] == NO_INTERVAL


def test_without_labels_only_the_slopes_of_errors_and_place_are_left():
    blind = sloped()[lambda rows: rows["probe"] == "blind"]
    found = labels(blind)
    assert found.loc["error_slope", "ci_low"] > 0
    assert np.isnan(found.loc["cue_slope", "value"])
    assert found.loc["price_in_errors", "wording"] == NO_CUE


def test_sensitivity_and_ties_by_hand():
    # One error: a picks the undamaged in both orders (+1, +1), b ties and then picks the damaged (0, -1),
    # c was not parsed in one order, so that its tie counts among ties alone.
    said = {"a": ("1", "1"), "b": ("tie", "2"), "c": ("tie", None)}
    rows = [
        answer(document, verdict, "blind", order, 1)
        for document, verdicts in said.items()
        for order, verdict in zip(("12", "21"), verdicts, strict=True)
    ]
    judgements = pd.DataFrame(rows)
    sensitivity, ties = (at(judgements, quantity, "blind", 1) for quantity in ("sensitivity", "tie_rate"))
    # (1 + 1 + 0 - 1) / 4; of all six answers (1 + 1 - 1) / 6.
    assert (sensitivity["value"], sensitivity["value_paper"]) == pytest.approx((0.25, 1 / 6))
    assert (sensitivity["n_items"], sensitivity["n_trials"], sensitivity["n_unparsed"]) == (2, 4, 2)
    # 2 of 5; of all six.
    assert (ties["value"], ties["value_paper"], ties["count"]) == pytest.approx((0.4, 1 / 3, 2))
    assert ties["n_unparsed"] == 1


def test_a_judge_that_always_picks_the_first_shown_is_not_sensitive():
    judgements = asked(lambda number, probe, order, level: order[0], 8)
    found = at(judgements, "sensitivity", "truth", 3)
    assert found["value"] == 0 and found["p"] == 1
    assert found["ci_low"] < 0 < found["ci_high"]


def test_abstaining_shows_as_ties_and_not_as_invariance():
    # Under any label it abstains; the price it would have is that of the answers under Blind.
    judgements = sloped()
    abstains = judgements.assign(verdict=judgements["verdict"].where(judgements["probe"] == "blind", "tie"))
    assert at(abstains, "tie_rate", "truth", 2)["value"] == 1
    assert at(abstains, "sensitivity", "truth", 2)["value"] == 0
    assert labels(abstains)["value"]["cue_slope"] == pytest.approx(0, abs=1e-9)


def test_other_kinds_probes_and_stages_are_left_alone():
    judgements = by_hand()
    noise = [
        judgement("doc-000", "2", kind="equal"),
        judgement("doc-000", "2", kind="damage", probe="placebo"),
        judgement("doc-000", "2", kind="damage", probe="flip", stage="reveal"),
    ]
    more = pd.concat([judgements, pd.DataFrame(noise).assign(judge="judge")], ignore_index=True)
    pd.testing.assert_frame_equal(priced(more), priced(judgements))


def test_nothing_asked_and_nothing_parsed():
    judgements = by_hand()
    assert priced(judgements.head(0)).empty
    assert tuple(priced(judgements.head(0)).columns) == COLUMNS
    unparsed = priced(judgements.assign(status="unparsed", verdict=None))
    assert unparsed["value"].isna().all() and (unparsed["n_trials"] == 0).all()
    assert unparsed.set_index("quantity").loc["price_in_errors", "n_unparsed"] == 60
