"""Grafting: by hand, on judges moved at one place only, and with arms that are lacking."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.metrics.resampling import Inference
from studies.rationalization_probes.grafting import grafting
from studies.rationalization_probes.rows import COLUMNS
from tests.studies.rationalization_probes.scripted_judgements import judgement

QUICK = Inference(resamples=100, permutations=100)
FEW = Inference(resamples=20, permutations=20)
EFFECTS = ("graft_through", "graft_direct", "graft_total", "graft_interaction")


def asked(document: str, neither=None, notes=None, scores=None, both=None, probe="flip", order="12"):
    """One document in every arm; the carrier is 2. An arm without a word was not asked; "-": unparsed."""
    said = {
        ("pbp_once", "blind"): neither,
        ("pbp_once", probe): notes,
        ("pbp_grafted", probe): scores,
        ("pbp_repeated", probe): both,
    }
    return [
        {
            **judgement(document, None if word == "-" else word, scheme=scheme, probe=shown, order=order),
            "judge": "judge",
        }
        for (scheme, shown), word in said.items()
        if word is not None
    ]


def grafted(rows: list[dict[str, object]], inference: Inference = QUICK) -> pd.DataFrame:
    found = grafting(pd.DataFrame(rows), np.random.default_rng(0), inference)
    return found.set_index("quantity")


def effects(found: pd.DataFrame, suffix: str = "") -> list[float]:
    return [float(found["value"][f"{effect}{suffix}"]) for effect in EFFECTS]


def test_effects_by_hand():
    # Picks of the carrier (2), in the order neither, notes, scores, both:
    #   a: 0 0 0 1    b: 0 1 0 1    c: 1 1 1 1    d: 0 0 0 0
    # through 1/4, direct 0, total 2/4, interaction 2/4 - 1/4 - 0 = 1/4. Ties: a 1 1 0 0, d 0 0 1 1:
    # through 0, direct (-1 + 1) / 4 = 0, total (-1 + 1) / 4 = 0.
    rows = (
        asked("a", "tie", "tie", "1", "2")
        + asked("b", "1", "2", "1", "2")
        + asked("c", "2", "2", "2", "2")
        + asked("d", "1", "1", "tie", "tie")
    )
    found = grafted(rows)
    assert effects(found) == [0.25, 0, 0.5, 0.25]
    assert effects(found, "_tie") == [0, 0, 0, 0]
    assert set(found["scheme"]) == {"pbp_grafted"} and set(found["condition"]) == {"flip"}
    assert (found["n_items"] == 4).all() and (found["n_unparsed"] == 0).all()
    # Through the notes one document moved, and either sign is as extreme; of ties one moved each way.
    assert found["p"]["graft_through"] == 1 and found["p"]["graft_direct_tie"] == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("1", "2", "1", "2"), [1, 0, 1, 0]),  # the notes take the cue up, and nothing else does
        (("1", "1", "2", "2"), [0, 1, 1, 0]),  # the scores do
        (("1", "1", "1", "2"), [0, 0, 1, 1]),  # only where both have seen it
        (("1", "2", "2", "2"), [1, 1, 1, -1]),  # either is enough
        (("2", "1", "1", "2"), [-1, -1, 0, 2]),  # the interaction has the range [-2, 2]
        (("tie", "tie", "tie", "tie"), [0, 0, 0, 0]),
    ],
)
def test_a_judge_that_is_moved_at_one_place(words, expected):
    rows = [row for number in range(8) for row in asked(f"doc-{number}", *words)]
    found = grafted(rows)
    assert effects(found) == expected
    # All documents agree; the interval says that others might not.
    assert (found["ci_high"] > found["ci_low"]).all()
    assert found["ci_high"]["graft_interaction"] <= 2 and found["ci_high"]["graft_through"] <= 1


WORDS = st.sampled_from(["1", "2", "tie"])
DOCUMENTS = st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=1, max_size=4)


@settings(max_examples=20)
@given(DOCUMENTS)
def test_effects_add_up(documents):
    rows = [row for number, words in enumerate(documents) for row in asked(f"doc-{number}", *words)]
    found = grafted(rows, FEW)
    for suffix in ("", "_tie"):
        through, direct, total, interaction = effects(found, suffix)
        assert through + direct + interaction == pytest.approx(total)


@settings(max_examples=20)
@given(DOCUMENTS)
def test_swapping_the_candidates_flips_signs(documents):
    rows = [row for number, words in enumerate(documents) for row in asked(f"doc-{number}", *words)]
    other = {"1": "2", "2": "1", "tie": "tie"}
    there = grafted(rows, FEW)
    back = grafted([{**row, "verdict": other[row["verdict"]]} for row in rows], FEW)
    # What moves to the carrier moved to its opponent, or into a tie: picks of both and ties sum to 0.
    for effect in EFFECTS:
        moved = there["value"][effect] + back["value"][effect] + there["value"][f"{effect}_tie"]
        assert moved == pytest.approx(0)
        assert there["value"][f"{effect}_tie"] == back["value"][f"{effect}_tie"]


def test_arms_are_paired_by_item_and_order():
    # Blind picks 2 in one order and 1 in the other, and so does every arm: nothing moved.
    rows = asked("a", "2", "2", "2", "2", order="12") + asked("a", "1", "1", "1", "1", order="21")
    assert effects(grafted(rows[::-1])) == effects(grafted(rows)) == [0, 0, 0, 0]


def test_the_carrier_is_the_cue_s_and_not_blind_s():
    # Blind's rows name 1 as the carrier. Under Truth it is 1, under Flip 2, of which no verdict tells.
    words = ("tie", "1", "1", "1")
    assert effects(grafted(asked("a", *words, probe="truth"))) == [1, 1, 1, -1]
    assert effects(grafted(asked("a", *words, probe="flip"))) == [0, 0, 0, 0]


def test_an_arm_that_is_lacking_leaves_the_others():
    rows = [row for number in range(3) for row in asked(f"doc-{number}", "1", notes="2", both="2")]
    found = grafted(rows)
    assert effects(found)[0] == effects(found)[2] == 1
    for quantity in ("graft_direct", "graft_interaction", "graft_direct_tie"):
        assert found.loc[quantity, ["value", "ci_low", "ci_high", "p", "mde"]].isna().all()
        assert found.loc[quantity, ["n_items", "n_trials", "n_clusters", "n_unparsed"]].eq(0).all()


def test_without_the_reference_nothing_is_known():
    found = grafted(asked("a", notes="2", scores="2", both="2"))
    assert found["value"].isna().all() and (found["n_trials"] == 0).all()


def test_nothing_asked_gives_no_rows():
    rows = pd.DataFrame(asked("a", "1", "2", "2", "2"))
    for none in (rows[rows["probe"] == "blind"], rows.head(0), rows.assign(scheme="scot")):
        found = grafting(none, np.random.default_rng(0), QUICK)
        assert found.empty and tuple(found.columns) == COLUMNS


def test_an_unparsed_answer_costs_only_what_needs_it():
    rows = asked("a", "1", "2", "-", "2") + asked("b", "1", "1", "2", "2")
    found = grafted(rows)
    assert found["value"]["graft_through"] == 0.5 and found["n_unparsed"]["graft_through"] == 0
    # Of b alone; over both, an answer that was not parsed picked nothing: (0 + 1) / 2.
    assert found["value"]["graft_direct"] == 1 and found["n_unparsed"]["graft_direct"] == 1
    assert found["value_paper"]["graft_direct"] == 0.5
    # b: 1 - 0 - 1 + 0 = 0.
    assert found["value"]["graft_interaction"] == 0 and found["n_items"]["graft_interaction"] == 1


def test_noise_is_reported_apart():
    empty = [row for number in range(4) for row in asked(f"doc-{number}", "2", "1", "2", "2", probe="empty")]
    resample = [
        {**judgement(f"doc-{number}", "tie", scheme=scheme), "judge": "judge", "probe": "resample"}
        for number in range(4)
        for scheme in ("pbp_once", "pbp_repeated")
    ]
    found = grafted(empty + resample).reset_index()
    floor = found[found["condition"] == "empty"].set_index("quantity")
    assert effects(floor) == [1, 0, 0, -1]  # the carrier of an empty cue is 1
    again = found[found["condition"] == "resample"].set_index("quantity")
    # A resample shows the cue at no place: through the notes, and no more.
    assert list(again.index) == ["graft_through", "graft_through_tie"]
    assert again["value"].tolist() == [0, 1]


def test_two_answers_in_one_arm_are_an_error():
    with pytest.raises(ValueError, match="item 'a:equal' has several judgements in one arm"):
        grafted(asked("a", "1", "2", "2", "2") + asked("a", "1", "2", "2", "2"))


def test_documents_are_resampled_whole():
    # Four rows of one document are one cluster: no interval, and no effect that could be found.
    one = [row for order in ("12", "21") for row in asked("a", "1", "2", "2", "2", order=order)]
    found = grafted(one)
    assert (found["n_trials"] == 2).all() and (found["n_clusters"] == 1).all()
    assert found[["ci_low", "ci_high", "mde"]].isna().all(axis=None)
