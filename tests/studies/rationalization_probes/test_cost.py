"""The cost of a decision, by hand on a few calls."""

import numpy as np
import pandas as pd
import pytest

from shared.metrics.resampling import Inference
from studies.rationalization_probes.cost import COMPARED, COSTS, costs, decisions_of
from studies.rationalization_probes.rows import COLUMNS

QUICK = Inference(resamples=200, permutations=200)


def trial(document: str, scheme: str, kind: str = "equal", probe: str = "blind") -> dict[str, object]:
    return {
        "trial": f"{document}:{kind}|{scheme}|{probe}|12",
        "item": f"{document}:{kind}",
        "cluster": document,
        "kind": kind,
        "scheme": scheme,
        "probe": probe,
        "screen_order": "12",
        "replicate": 0,
    }


def call(of: dict[str, object], step: str, prompt: float, cached: float, written: float, seconds: float):
    told = {
        "prompt_tokens": prompt,
        "cached_tokens": cached,
        "completion_tokens": written,
        "seconds": seconds,
    }
    return {"judge": "j", "trial": of["trial"], "step": step, "key": "k", **told, "error": None}


def failed(of: dict[str, object]) -> dict[str, object]:
    return {**call(of, "failed", np.nan, np.nan, np.nan, np.nan), "key": None, "error": "timed out"}


def judged(calls: list[dict[str, object]], *trials: dict[str, object]) -> pd.DataFrame:
    """A verdict for each judge and trial, but where a call failed or none was made."""
    rows = []
    for judge in dict.fromkeys(one["judge"] for one in calls):
        for of in trials:
            mine = [one for one in calls if (one["judge"], one["trial"]) == (judge, of["trial"])]
            came = bool(mine) and not any(one["error"] for one in mine)
            rows.append({**of, "judge": judge, "stage": "first", "status": "ok" if came else "failed"})
    return pd.DataFrame(rows)


def found_of(calls: list[dict[str, object]], *trials: dict[str, object]) -> pd.DataFrame:
    return costs(pd.DataFrame(calls), judged(calls, *trials), np.random.default_rng(2), QUICK)


def row(found: pd.DataFrame, quantity: str, scheme: str) -> pd.Series:
    (at,) = found.index[(found["quantity"] == quantity) & (found["scheme"] == scheme)]
    return found.loc[at]


def values(found: pd.DataFrame, scheme: str, suffix: str = "") -> list[float]:
    names = COMPARED if suffix else COSTS
    return [row(found, f"{cost}{suffix}", scheme)["value"] for cost in names]


A, B = trial("a", "forced"), trial("b", "forced")
PBP_A, PBP_B = trial("a", "pbp_once"), trial("b", "pbp_once")
FORCED = [call(A, "judge", 100, 90, 20, 1.0), call(B, "judge", 200, 100, 40, 3.0)]
PBP = [
    call(PBP_A, "notes", 100, 80, 60, 2.0),
    call(PBP_A, "score", 50, 0, 10, 1.0),
    call(PBP_A, "narrate", 50, 40, 10, 1.0),
    call(PBP_B, "notes", 200, 200, 80, 4.0),  # cut: no other turn was asked
]


def test_means_and_ratios_by_hand():
    found = found_of(FORCED + PBP, A, B, PBP_A, PBP_B)
    assert list(found.columns) == list(COLUMNS)
    # calls; prompt (100 + 200) / 2; computed (10 + 100) / 2; written (20 + 40) / 2; seconds (1 + 3) / 2.
    assert values(found, "forced") == [1, 150, 55, 30, 2]
    # calls (3 + 1) / 2; (200 + 200) / 2; (20 + 50 + 10 + 0) / 2; (80 + 80) / 2; (4 + 4) / 2.
    assert values(found, "pbp_once") == [2, 200, 40, 80, 4]
    assert values(found, "pbp_once", "_ratio") == pytest.approx([2, 200 / 150, 80 / 30, 2])
    assert not found["quantity"].str.endswith("_ratio")[found["scheme"] == "forced"].any()
    # What is computed ahead is charged to no call: what is left compares nothing.
    assert "computed_tokens_ratio" not in set(found["quantity"])
    assert set(found["condition"]) == {"blind"} and set(found["kind"]) == {"equal"}
    one = row(found, "prompt_tokens", "forced")
    assert (one["n_trials"], one["n_clusters"], one["n_unparsed"]) == (2, 2, 0)
    assert (one["ci_low"], one["ci_high"]) == (100, 200)  # of two clusters the resamples are these and 150


def test_what_is_the_same_in_every_cluster_has_no_interval():
    calls = row(found_of(FORCED, A, B), "calls", "forced")
    assert calls["value"] == 1 and np.isnan(calls["ci_low"]) and np.isnan(calls["ci_high"])


def test_a_scheme_like_the_reference_costs_as_much():
    like = [{**one, "trial": one["trial"].replace("forced", "baseline")} for one in FORCED]
    found = found_of(FORCED + like, A, B, trial("a", "baseline"), trial("b", "baseline"))
    assert values(found, "baseline", "_ratio") == [1] * 4


def test_other_trials_and_later_stages_do_not_count():
    cued, other = trial("a", "forced", probe="flip"), trial("a", "forced", kind="identical")
    more = [call(A, "reveal", 9, 9, 9, 9), call(A, "control", 9, 9, 9, 9)]
    more += [call(cued, "judge", 9, 9, 9, 9), call(other, "judge", 9, 9, 9, 9)]
    assert values(found_of(FORCED + more, A, B, cued, other), "forced") == [1, 150, 55, 30, 2]


def test_a_shared_request_counts_for_each_trial():
    schemes = ("pbp_once", "pbp_repeated")
    asked = [call(trial("a", scheme), "notes", 10, 0, 5, 1) for scheme in schemes]  # one key
    found = found_of(asked, *(trial("a", scheme) for scheme in schemes))
    assert [row(found, "prompt_tokens", scheme)["value"] for scheme in schemes] == [10, 10]


def test_failures_are_counted_and_left_out_of_the_means():
    third, fourth = trial("c", "forced"), trial("d", "forced")
    calls = [*FORCED, call(third, "notes", 999, 0, 999, 9), failed(third)]  # nothing was asked of the fourth
    found = found_of(calls, A, B, third, fourth)
    failures = row(found, "failure_rate", "forced")
    assert (failures["value"], failures["count"], failures["n_trials"]) == (0.5, 2, 4)
    assert values(found, "forced") == [1, 150, 55, 30, 2]
    assert row(found, "seconds", "forced")["n_unparsed"] == 2


def test_a_ratio_rests_on_what_both_schemes_decided():
    found = found_of([*FORCED, *PBP[:3], failed(PBP_B)], A, B, PBP_A, PBP_B)
    # Of document a alone: 3 / 1, 200 / 100, 80 / 20, 4 / 1.
    assert values(found, "pbp_once", "_ratio") == [3, 2, 4, 4]
    assert row(found, "seconds_ratio", "pbp_once")["n_trials"] == 1


def test_tokens_that_are_not_told_are_not_taken_for_none():
    silent = [{**one, "cached_tokens": np.nan} for one in FORCED]
    found = found_of(silent, A, B)
    assert np.isnan(row(found, "computed_tokens", "forced")["value"])
    assert row(found, "computed_tokens", "forced")["n_unparsed"] == 2
    assert row(found, "prompt_tokens", "forced")["value"] == 150
    calls = [*PBP[:2], {**PBP[2], "seconds": None}]
    half = decisions_of(pd.DataFrame(calls), judged(calls, PBP_A))
    assert np.isnan(half["seconds"].item()) and half["calls"].item() == 3


def test_without_a_forced_choice_there_is_no_ratio():
    assert not found_of(PBP, PBP_A, PBP_B)["quantity"].str.endswith("_ratio").any()


def test_nothing_written_has_no_ratio():
    found = found_of([call(A, "judge", 5, 5, 0, 1), call(PBP_A, "notes", 5, 0, 1, 1)], A, PBP_A)
    assert np.isnan(row(found, "completion_tokens_ratio", "pbp_once")["value"])  # 1 / 0


def test_a_judge_that_answered_nothing_of_this():
    elsewhere = trial("a", "forced", kind="damage")
    found = found_of([call(elsewhere, "judge", 5, 5, 1, 1)], A, elsewhere)
    assert row(found, "failure_rate", "forced")["value"] == 1
    assert found.loc[found["quantity"] != "failure_rate", "value"].isna().all()


def test_each_judge_is_counted_alone():
    calls = pd.DataFrame(FORCED)
    both = pd.concat([calls, calls.assign(judge="k", seconds=calls["seconds"] * 10)])
    found = costs(both, judged(both.to_dict("records"), A, B), np.random.default_rng(2), QUICK)
    assert found.loc[found["quantity"] == "seconds"].set_index("judge")["value"].to_dict() == {
        "j": 2,
        "k": 20,
    }


def test_a_protocol_that_breaks_off_does_not_look_cheap():
    # PBP on b was cut in its notes: one call of 200 tokens, no verdict. Its costs are nobody's mean.
    calls = FORCED + PBP
    judgements = judged(calls, A, B, PBP_A, PBP_B)
    judgements.loc[judgements["trial"] == PBP_B["trial"], "status"] = "truncated"
    found = costs(pd.DataFrame(calls), judgements, np.random.default_rng(2), QUICK)
    assert values(found, "pbp_once") == [3, 200, 80, 80, 4]  # a's alone: 100 + 50 + 50, ...
    assert row(found, "failure_rate", "pbp_once")["value"] == 0.5
    assert row(found, "calls", "pbp_once")["n_unparsed"] == 1
