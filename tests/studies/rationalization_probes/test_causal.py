"""The causal summary: one family by hand, pooling by hand, and what is lacking."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from shared.metrics.resampling import Inference
from studies.rationalization_probes.causal import (
    DRIFT,
    OUTCOMES,
    POOLED,
    causal,
    invariance,
    pooled,
    resting,
)
from studies.rationalization_probes.metrics import FAMILY_PROBES, cue_effects
from studies.rationalization_probes.rationales import drift_above_floor
from studies.rationalization_probes.rows import COLUMNS, frame
from tests.studies.rationalization_probes.scripted_judgements import judgement

QUICK = Inference(resamples=200, permutations=200)
VECTORS = {"plain": np.array([1.0, 0.0]), "other": np.array([0.0, 1.0]), "opposite": np.array([-1.0, 0.0])}


def line(quantity: str, p: float, condition="truth", kind="equal", over=None, value=0.1) -> dict[str, object]:
    return {
        "quantity": quantity,
        "judge": "judge",
        "scheme": "scot",
        "kind": kind,
        "condition": condition,
        "over": over,
        "value": value,
        "p": p,
        "n_trials": 10,
    }


def drifted(p: float, condition="truth", kind="equal", over="all", quantity=DRIFT) -> dict[str, object]:
    return line(quantity, p, condition, kind, over)


NO_DRIFT = frame([])


def told(document: str, verdict: str | None, rationale: str, probe: str = "blind") -> dict[str, object]:
    return {**judgement(document, verdict, probe=probe), "judge": "judge", "rationale": rationale}


def summarised(judgements: pd.DataFrame, competence_rows: pd.DataFrame = NO_DRIFT) -> pd.DataFrame:
    """The three rows of a judge, by quantity."""
    together = pooled(judgements)
    effects = cue_effects(together, np.random.default_rng(0), QUICK)
    drift_rows = drift_above_floor(together, VECTORS, np.random.default_rng(0), QUICK)
    return invariance(effects, drift_rows, competence_rows).set_index("quantity")


# --- One family -------------------------------------------------------------------------------------


def test_holm_by_hand_over_three_outcomes():
    effects = frame([line("cue_effect", 0.01), line("tie_change", 0.04)])
    found = causal(effects, frame([drifted(0.02)])).set_index("quantity")
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1.
    assert found["p_holm"].to_dict() == pytest.approx({"cue_effect": 0.03, DRIFT: 0.04, "tie_change": 0.04})
    # Not three families of one, whose corrected p-values were the raw ones.
    assert (found["p_holm"] >= found["p"]).all() and (found["p_holm"] > found["p"]).any()


def test_only_the_declared_family_is_corrected():
    effects = frame(
        [
            line("cue_effect", 0.01),
            line("cue_effect", 0.02, condition="placebo"),
            line("cue_effect", 0.03, condition="empty"),
            line("cue_effect", 0.03, condition="verbosity"),
            line("cue_effect", 0.03, kind="identical"),
            line("tie_change", float("nan")),
        ]
    )
    found = causal(effects, frame([drifted(0.03, condition="flip"), drifted(0.5, kind="samples")]))
    family = found["p_holm"].notna()
    assert set(found.loc[family, "condition"]) == {"truth", "placebo", "flip"}
    assert family.sum() == 3  # a test that could not be made is none
    oracle = multipletests([0.01, 0.02, 0.03], method="holm")[1]
    assert sorted(found.loc[family, "p_holm"]) == pytest.approx(sorted(oracle))
    assert len(found) == 8  # every effect is shown, in the family or not


def test_drift_is_over_all_pairs_and_above_the_empty_line():
    rows = [drifted(0.01), drifted(0.01, over="same"), drifted(0.01, quantity="drift_above_resample")]
    found = causal(frame([line("cue_effect", 0.5)]), frame(rows))
    assert found["quantity"].tolist() == ["cue_effect", DRIFT]
    assert found["over"].iloc[1] == "all"


def test_outcomes_of_one_cue_stand_together():
    effects = frame(
        [line(quantity, 0.1, condition) for condition in ("truth", "flip") for quantity in OUTCOMES[:2]]
    )
    found = causal(effects, frame([drifted(0.1, "flip"), drifted(0.1, "truth")]))
    assert found["condition"].tolist() == ["truth"] * 3 + ["flip"] * 3
    assert found["quantity"].tolist() == [*OUTCOMES, *OUTCOMES]


def test_a_family_is_over_all_judges():
    two = [{**line("cue_effect", 0.02), "judge": judge} for judge in ("one", "two")]
    assert causal(frame(two), NO_DRIFT)["p_holm"].tolist() == pytest.approx([0.04, 0.04])


def test_without_rationales_the_outcomes_are_left():
    found = causal(frame([line("cue_effect", 0.01), line("tie_change", 0.5)]), NO_DRIFT)
    assert found["p_holm"].tolist() == pytest.approx([0.02, 0.5])
    assert causal(NO_DRIFT, NO_DRIFT).empty


# --- The figure's summary ---------------------------------------------------------------------------


def by_hand() -> pd.DataFrame:
    """Two documents. Truth's rationale is opposite to Blind's (delta 1), Flip's other (0.5), the rest plain.

    Picks of the carrier (Truth: 1, Flip and Placebo: 2) against Blind's:
      a, Blind 1:   Truth 1: 1 - 1   Flip 2: 1 - 0   Placebo tie: 0 - 0
      b, Blind tie: Truth 1: 1 - 0   Flip tie: 0     Placebo 2: 1 - 0
    """
    texts = {"truth": "opposite", "flip": "other"}
    said = {
        "a": {"blind": "1", "empty": "1", "truth": "1", "flip": "2", "placebo": "tie"},
        "b": {"blind": "tie", "empty": "tie", "truth": "1", "flip": "tie", "placebo": "2"},
    }
    rows = [
        told(document, verdict, texts.get(probe, "plain"), probe)
        for document, verdicts in said.items()
        for probe, verdict in verdicts.items()
    ]
    return pd.DataFrame(rows)


def test_pooled_shifts_by_hand():
    found = summarised(by_hand())
    # 3 of 6 picks of the carrier were won; each document has three rows.
    assert found["value"]["outcome_shift"] == pytest.approx(3 / 6)
    assert found["n_trials"]["outcome_shift"] == 6 and found["n_clusters"]["outcome_shift"] == 2
    # Deltas 1, 0.5 and 0 in either document, and 0 under the empty line.
    assert found["value"]["rationale_shift"] == pytest.approx(0.5)
    assert found["condition"]["rationale_shift"] == POOLED


def test_a_pooled_effect_is_the_mean_of_the_probes():
    rng = np.random.default_rng(5)
    words = np.array(["1", "2", "tie"])
    rows = [
        told(f"doc-{number}", str(rng.choice(words)), "plain", probe)
        for number in range(30)
        for probe in ("blind", "empty", *FAMILY_PROBES)
    ]
    apart = cue_effects(pd.DataFrame(rows), np.random.default_rng(0), QUICK)
    mine = apart[(apart["quantity"] == "cue_effect") & apart["condition"].isin(FAMILY_PROBES)]
    found = summarised(pd.DataFrame(rows)).loc["outcome_shift"]
    assert found["value"] == pytest.approx(mine["value"].mean())
    assert found["ci_low"] < found["value"] < found["ci_high"]


def test_swapping_the_candidates_turns_the_outcome_alone():
    judgements = by_hand()
    # Verdict and carrier swapped alike: the same pick of the carrier under other names.
    other = judgements.assign(
        verdict=judgements["verdict"].map({"1": "2", "2": "1", "tie": "tie"}),
        carrier=3 - judgements["carrier"],
    )
    there, back = summarised(judgements)["value"], summarised(other)["value"]
    assert back["outcome_shift"] == there["outcome_shift"]
    # Only the carrier swapped: what was won from the opponent was lost. Ties aside, the sign turns.
    decided = judgements.assign(verdict=judgements["verdict"].replace("tie", "1"))
    turned = decided.assign(carrier=3 - decided["carrier"])
    one, two = summarised(decided)["value"], summarised(turned)["value"]
    assert one["outcome_shift"] == -two["outcome_shift"] != 0
    assert one["rationale_shift"] == two["rationale_shift"]


def test_noise_alone_leaves_both_shifts_at_zero():
    # A judge that answers by chance, whatever the cue: sizes are far above 0, signed means are not.
    rng = np.random.default_rng(2)
    rows = [
        told(f"doc-{number}", str(rng.choice(["1", "2"])), str(rng.choice(list(VECTORS))), probe)
        for number in range(150)
        for probe in ("blind", "empty", *FAMILY_PROBES)
    ]
    found = summarised(pd.DataFrame(rows))
    for shift in ("outcome_shift", "rationale_shift"):
        assert found.loc[shift, "ci_low"] < 0 < found.loc[shift, "ci_high"]
        assert abs(found.loc[shift, "value"]) < 0.1


def shifts_of(judgements: pd.DataFrame) -> pd.DataFrame:
    found = cue_effects(judgements, np.random.default_rng(1), Inference(resamples=200, permutations=100))
    return found[(found["quantity"] == "cue_effect") & (found["condition"] == POOLED)].set_index("judge")


def test_the_floor_is_one_answer_an_item_whose_copies_do_not_cancel():
    # A forced choice that, without a cue, turns from one candidate to the other. Copies for Truth (carrier 1)
    # and Flip (carrier 2) add up to 0: at most a third of each turn was left.
    rows = [told(f"d{i}", said, "plain", probe) for i in range(8) for probe, said in TURNS.items()]
    floor = resting(pd.DataFrame(rows))
    standing = floor[floor["probe"] == POOLED]
    assert len(standing) == 8 and set(floor["probe"]) == {"blind", POOLED}
    found = shifts_of(floor).loc["judge"]
    # +1 where the drawn carrier is 2, -1 where it is 1.
    assert found["value"] == (2 * (standing["carrier"] == 2) - 1).mean() and found["n_trials"] == 8
    assert set(standing["carrier"]) == {1, 2}


TURNS = {"blind": "1", "empty": "2", "truth": "1", "flip": "2", "placebo": "2"}


def test_a_judge_that_tosses_a_coin_lies_within_its_floor():
    # A hundred such judges of 25 documents. What the figure draws: the farther end of the floor's interval.
    rng = np.random.default_rng(4)
    rows = [
        {**told(f"d{i}", str(rng.choice(["1", "2"])), "plain", probe), "judge": f"judge {judge}"}
        for judge in range(100)
        for i in range(25)
        for probe in TURNS
    ]
    tossed = pd.DataFrame(rows)
    shift, floor = shifts_of(pooled(tossed))["value"], shifts_of(resting(tossed))
    ground = floor[["ci_low", "ci_high"]].abs().max(axis=1)
    assert (shift.abs() <= ground).mean() >= 0.9
    # Nor would one cue alone, which is a single answer as the floor is, leave it much more often.
    alone = cue_effects(tossed[tossed["probe"].isin(["blind", "placebo"])], rng, QUICK)
    alone = alone[alone["quantity"] == "cue_effect"].set_index("judge")["value"]
    assert (alone.abs() <= ground).mean() >= 0.9


def test_other_kinds_are_not_pooled():
    judgements = by_hand()
    other = judgements.assign(kind="identical", item=judgements["item"] + ":identical", verdict="2")
    both = pd.concat([judgements, other], ignore_index=True)
    pd.testing.assert_frame_equal(summarised(both), summarised(judgements))
    assert set(pooled(both)["probe"]) == {"blind", "empty", POOLED}


def test_sensitivity_comes_from_the_gate():
    gate = pd.DataFrame(
        [
            {
                "quantity": "prefers_undamaged",
                "judge": "judge",
                "scheme": "scot",
                "value": 0.4,
                "n_items": 12,
            },
            {"quantity": "ties_less", "judge": "judge", "scheme": "scot", "value": 0.9, "n_items": 12},
            {
                "quantity": "prefers_undamaged",
                "judge": "judge",
                "scheme": "forced",
                "value": 0.7,
                "n_items": 12,
            },
        ]
    )
    found = summarised(by_hand(), gate)
    assert found.index.tolist() == ["outcome_shift", "rationale_shift", "sensitivity"]
    assert found["value"]["sensitivity"] == 0.4 and found["n_items"]["sensitivity"] == 12
    with pytest.raises(ValueError, match="not a one-to-one merge"):
        summarised(by_hand(), pd.concat([gate, gate]))


def test_what_was_not_asked_is_not_available():
    # No empty line, so no floor; no damaged pairs, so no gate.
    judgements = by_hand()[lambda rows: rows["probe"] != "empty"]
    found = summarised(judgements)
    assert found["value"]["outcome_shift"] == pytest.approx(3 / 6)
    assert found.loc[["rationale_shift", "sensitivity"], ["value", "ci_low", "ci_high"]].isna().all(axis=None)
    assert found["n_trials"]["rationale_shift"] == found["n_trials"]["sensitivity"] == 0


def test_nothing_unparsed_is_counted_as_a_shift():
    judgements = by_hand()
    lost = judgements["probe"].isin(FAMILY_PROBES)
    unparsed = judgements.assign(
        verdict=judgements["verdict"].where(~lost), status=judgements["status"].where(~lost, "unparsed")
    )
    found = summarised(unparsed)
    assert np.isnan(found["value"]["outcome_shift"]) and found["n_unparsed"]["outcome_shift"] == 6


def test_no_cue_no_rows():
    blind = by_hand()[lambda rows: rows["probe"] == "blind"]
    found = summarised(blind).reset_index()
    assert found.empty and set(found.columns) == set(COLUMNS)
