"""What each turn sees: read off the protocols that run, and held against what the study claims of them."""

from typing import get_args

import pytest

from studies.rationalization_probes.params import Scheme
from studies.rationalization_probes.tracing import Turn, turns
from tests.studies.rationalization_probes.support import params

PAIR, CUED_PAIR = ("document", "both candidates"), ("document", "both candidates", "cue")
LOCKED, CUED_LOCKED = ("locked notes",), ("locked notes", "cue")
SCHEMES = get_args(Scheme)
PBP = [scheme for scheme in SCHEMES if scheme.startswith("pbp")]


def by_step(scheme):
    return {turn.step: turn for turn in turns(params(), scheme)}


@pytest.mark.parametrize(
    ("scheme", "made"),
    [
        ("baseline", ("verdict", "rationale")),
        ("forced", ("verdict", "rationale")),
        ("scot", ("notes", "scores", "rationale")),
        ("scot_no_conciseness", ("notes", "scores", "rationale")),
    ],
)
def test_one_turn_schemes_see_all_and_go_on_in_the_same_conversation(scheme, made):
    assert turns(params(), scheme) == [
        Turn("judge", CUED_PAIR, made),
        Turn("reveal", ("its own answer", "cue"), made),
        Turn("control", ("its own answer",), made),
    ]


@pytest.mark.parametrize(
    ("scheme", "notes_see", "score_sees"),
    [
        ("pbp_once", CUED_PAIR, LOCKED),
        ("pbp_no_conciseness", CUED_PAIR, LOCKED),
        ("pbp_repeated", CUED_PAIR, CUED_LOCKED),
        ("pbp_grafted", PAIR, CUED_LOCKED),
    ],
)
def test_the_arms_of_proof_before_preference_differ_in_where_the_cue_is(scheme, notes_see, score_sees):
    assert turns(params(), scheme) == [
        Turn("notes", notes_see, ("notes with quotations",)),
        Turn("score", score_sees, ("scores",)),
        Turn("reveal", ("its own answer", "cue"), ("scores",)),
        Turn("control", ("its own answer",), ("scores",)),
        Turn("narrate", LOCKED, ("rationale",)),
    ]


def test_pointwise_shows_one_candidate_at_a_time_and_asks_no_rationale():
    alone = ("document", "one candidate", "cue")
    assert turns(params(), "pointwise") == [Turn(f"score_{n}", alone, ("scores",)) for n in (1, 2)]


@pytest.mark.parametrize("scheme", PBP)
def test_behind_the_lock_nothing_of_the_source_is_seen(scheme):
    behind = [turn for step, turn in by_step(scheme).items() if step != "notes"]
    assert len(behind) == 4
    assert not {"document", "both candidates", "one candidate"} & {part for t in behind for part in t.sees}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_shows_the_cue_and_the_source_somewhere(scheme):
    seen = {part for turn in turns(params(), scheme) for part in turn.sees}
    assert {"document", "cue"} <= seen
