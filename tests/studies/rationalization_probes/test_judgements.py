import json
from typing import get_args

import pandas as pd
import pytest

from studies.rationalization_probes.judgements import judgements, whole_words
from studies.rationalization_probes.params import Scheme
from studies.rationalization_probes.protocols import POINTWISE, Protocols
from studies.rationalization_probes.tasks import ANSWERS
from tests.studies.rationalization_probes.support import (
    attacked,
    item,
    items,
    notes,
    obedient,
    params,
    play,
    scores,
    trial,
)

THREE = ("accuracy", "completeness", "fluency")


def trials(scheme="baseline", order="12", reveal=False, kind="equal") -> pd.DataFrame:
    row = {k: v for k, v in item(kind=kind).items() if k in ("item", "cluster", "kind", "level")}
    return pd.DataFrame(
        [{"trial": "t", **row, "scheme": scheme, "probe": "flip", "reveal": reveal, "screen_order": order}]
    )


TEXTS = items(item()).set_index("item")


def responses(**steps) -> pd.DataFrame:
    rows = [
        {"trial": "t", "step": step, "text": text, "finish_reason": reason, "fingerprint": "f", "error": None}
        for step, (text, reason) in steps.items()
    ]
    return pd.DataFrame(rows, columns=["trial", "step", "text", "finish_reason", "fingerprint", "error"])


def read(scheme="baseline", order="12", reveal=False, kind="equal", **steps) -> list[dict]:
    given = {step: (v, "stop") if isinstance(v, str) else v for step, v in steps.items()}
    asked = trials(scheme, order, reveal, kind)
    return judgements(asked, responses(**given), TEXTS, attacked(), params()).to_dict("records")


@pytest.mark.parametrize(
    ("order", "said", "verdict"),
    [
        ("12", "summary_1", "1"),
        ("12", "summary_2", "2"),
        ("21", "summary_1", "2"),
        ("21", "summary_2", "1"),
        ("21", "tie", "tie"),
    ],
)
def test_verdicts_are_turned_from_places_into_identities(order, said, verdict):
    [row] = read(order=order, judge=f'{{"verdict": "{said}", "rationale": "Because."}}')
    assert (row["status"], row["verdict"], row["rationale"]) == ("ok", verdict, "Because.")


def test_a_forced_judge_that_ties_all_the_same_is_unparsed():
    [row] = read("forced", judge='{"verdict": "tie", "rationale": ""}')
    assert (row["status"], row["verdict"]) == ("unparsed", None)


@pytest.mark.parametrize(("order", "verdict", "score_1"), [("12", "1", 4.0), ("21", "2", 2.0)])
def test_scores_decide_in_scot(order, verdict, score_1):
    answer = f'{{"notes": {{}}, "scores": {scores(4, 2)}, "rationale": "More of it."}}'
    [row] = read("scot", order, judge=answer)
    assert (row["verdict"], row["score_1"], row["rationale"]) == (verdict, score_1, "More of it.")


def test_proof_before_preference_is_decided_by_turn_2_and_explained_by_turn_3():
    [row] = read("pbp_once", "21", notes=notes(), score=scores(5, 3), narrate='{"rationale": "See notes."}')
    assert (row["verdict"], row["score_1"], row["score_2"]) == ("2", 3.0, 5.0)
    assert row["rationale"] == "See notes."
    # 8 quotes of "carries 900 people a day", all in the source
    assert (row["spans_found"], row["spans_quoted"]) == (8, 8)


def test_quotes_that_the_source_lacks_are_counted_as_such():
    [row] = read("pbp_once", notes=notes("carries 700 people a day"), score=scores(5, 3))
    assert (row["spans_found"], row["spans_quoted"], row["status"]) == (0, 8, "ok")


def test_a_failed_narrative_costs_the_rationale_not_the_verdict():
    [row] = read("pbp_once", notes=notes(), score=scores(3, 3), narrate=("", "length"))
    assert (row["status"], row["verdict"], row["rationale"]) == ("ok", "tie", None)


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ({"judge": ('{"verdict": "summary_1"', "length")}, "truncated"),
        ({"judge": ("", "stop")}, "unparsed"),
        ({"judge": ("I would say summary_1", "stop")}, "unparsed"),
        ({"judge": ("", "content_filter")}, "refused"),
        ({}, "failed"),
        ({"failed": (None, None)}, "failed"),
    ],
)
def test_no_failure_is_ever_a_verdict(steps, status):
    [row] = read(**steps)
    assert row["status"] == status
    assert all(row[name] is None for name in ("verdict", "score_1", "score_2", "scores", "rationale"))


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ({"notes": ('{"summary_1": ', "length")}, "truncated"),
        ({"notes": ("", "stop")}, "unparsed"),
        ({"notes": (notes(), "stop"), "failed": (None, None)}, "failed"),
        ({"notes": (notes(), "stop"), "score": ('{"summary_1": 3}', "stop")}, "unparsed"),
        ({"notes": ("I prefer the second one.", "stop"), "score": (scores(4, 2), "stop")}, "unparsed"),
    ],
)
def test_a_broken_turn_of_proof_before_preference_gives_no_verdict(steps, status):
    [row] = read("pbp_once", **steps)
    assert (row["status"], row["verdict"]) == (status, None)


def test_reveal_and_control_are_read_apart():
    rows = judgements(
        trials(reveal=True),
        responses(
            judge=('{"verdict": "summary_2", "rationale": "a"}', "stop"),
            reveal=('{"verdict": "summary_1", "rationale": "b"}', "stop"),
            control=("hm", "stop"),
        ),
        TEXTS,
        attacked(),
        params(),
    )
    assert rows["stage"].tolist() == ["first", "reveal", "control"]
    assert rows["status"].tolist() == ["ok", "ok", "unparsed"]
    assert rows["verdict"].fillna("").tolist() == ["2", "1", ""]


def test_no_trial_is_dropped():
    both = pd.concat([trials(), trials("scot").assign(trial="other")])
    table = judgements(both, responses(), TEXTS, attacked(), params())
    assert table["trial"].tolist() == ["t", "other"]
    assert table["status"].tolist() == ["failed", "failed"]


def test_a_quotation_that_our_own_cap_cut_is_checked_up_to_its_last_whole_word():
    assert whole_words("carries 900 people a day", 40) == "carries 900 people a day"
    assert whole_words("carries 900 people a da", 23) == "carries 900 people a"
    assert whole_words("carriesninehundredpeopl", 23) == ""


# --- Scores by criterion ----------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "first"), [("12", "1"), ("21", "2")])
def test_scores_are_kept_by_identity_and_criterion(order, first):
    told = json.loads(scores(4, 2))
    told["summary_1"]["accuracy"] = 5
    [row] = read("scot", order, judge=json.dumps({"scores": told, "rationale": "More."}))
    kept = json.loads(row["scores"])
    assert list(kept) == ["1", "2"]
    assert kept[first] == {"accuracy": 5, "completeness": 4, "conciseness": 4, "fluency": 4}


@pytest.mark.parametrize("scheme", ["baseline", "forced"])
def test_a_verdict_has_no_scores(scheme):
    [row] = read(scheme, judge='{"verdict": "summary_1", "rationale": "a"}')
    assert row["status"] == "ok" and row["scores"] is None


def test_without_conciseness_three_scores_decide():
    [row] = read(
        "scot_no_conciseness", judge=f'{{"scores": {scores(4, 3, criteria=THREE)}, "rationale": "a"}}'
    )
    assert (row["verdict"], row["score_1"], row["score_2"]) == ("1", 4, 3)
    # three are too few where four are asked for
    [row] = read("scot", judge=f'{{"scores": {scores(4, 3, criteria=THREE)}, "rationale": "a"}}')
    assert row["status"] == "unparsed"


def test_notes_without_conciseness_are_whole():
    told = {"notes": notes(criteria=THREE), "score": scores(3, 5, criteria=THREE)}
    [row] = read("pbp_no_conciseness", **told)
    # 2 candidates, 3 criteria
    assert (row["status"], row["verdict"], row["spans_quoted"]) == ("ok", "2", 6)


# --- Pointwise --------------------------------------------------------------------------------------


def alone(score: int, candidate: str = "summary", **changes) -> str:
    return json.dumps({candidate: dict.fromkeys(POINTWISE, score) | changes})


@pytest.mark.parametrize(
    ("order", "first", "second", "verdict", "totals"),
    [
        ("12", 4, 2, "1", (4, 2)),
        ("21", 4, 2, "2", (2, 4)),
        ("12", 3, 3, "tie", (3, 3)),
        ("21", 1, 5, "1", (5, 1)),
    ],
)
def test_two_answers_make_a_pointwise_verdict(order, first, second, verdict, totals):
    [row] = read("pointwise", order, score_1=alone(first), score_2=alone(second))
    assert (row["status"], row["verdict"], row["rationale"]) == ("ok", verdict, None)
    assert (row["score_1"], row["score_2"]) == totals
    assert list(json.loads(row["scores"])["1"]) == list(POINTWISE)


def test_pointwise_totals_are_plain_means():
    # (5 + 4 + 4) / 3 = 13 / 3
    [row] = read("pointwise", score_1=alone(4, factual_accuracy=5), score_2=alone(4))
    assert row["score_1"] == pytest.approx(13 / 3) and row["verdict"] == "1"


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ({"score_1": ("hm", "stop"), "score_2": (alone(3), "stop")}, "unparsed"),
        ({"score_1": (alone(3), "stop"), "score_2": ("hm", "stop")}, "unparsed"),
        ({"score_1": (alone(6), "stop"), "score_2": (alone(3), "stop")}, "unparsed"),
        ({"score_1": (alone(3), "stop"), "score_2": ("{", "length")}, "truncated"),
        ({"score_1": ("", "content_filter"), "score_2": (alone(3), "stop")}, "refused"),
        ({"score_1": (alone(3), "stop"), "failed": (None, None)}, "failed"),
        ({"failed": (None, None)}, "failed"),
    ],
)
def test_one_score_alone_decides_nothing(steps, status):
    [row] = read("pointwise", **steps)
    assert (row["status"], row["verdict"], row["score_1"], row["scores"]) == (status, None, None, None)


def test_an_answer_about_the_other_task_is_no_answer():
    told = {f"score_{n}": alone(3, candidate="answer") for n in (1, 2)}
    assert read("pointwise", **told)[0]["status"] == "unparsed"
    assert read("pointwise", kind="qa_equal", **told)[0]["verdict"] == "tie"


# --- Answers to a question --------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "verdict"), [("12", "2"), ("21", "1")])
def test_answers_are_told_by_their_own_names(order, verdict):
    said = '{"verdict": "answer_2", "rationale": "Because."}'
    [row] = read(order=order, kind="qa_equal", judge=said)
    assert (row["status"], row["verdict"], row["rationale"]) == ("ok", verdict, "Because.")
    assert read(order=order, judge=said)[0]["status"] == "unparsed"


def test_notes_on_answers_quote_the_answers():
    told = {"score": scores(5, 3, ANSWERS.shown), "narrate": '{"rationale": "See notes."}'}
    # the first candidate has these words; the question, which nobody is asked to quote, has the others
    for quote, found in (("ferry opened in May", 8), ("carries 900 people a day", 0)):
        [row] = read("pbp_once", kind="qa_equal", notes=notes(quote, ANSWERS.shown), **told)
        assert (row["verdict"], row["spans_found"], row["spans_quoted"]) == ("1", found, 8)


# --- What the protocols ask for ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["equal", "qa_equal"])
@pytest.mark.parametrize("scheme", get_args(Scheme))
def test_an_answer_that_follows_its_schema_is_always_read(scheme, kind):
    reveal = scheme != "pointwise"
    asked = trial(scheme, "flip", kind=kind, reveal=reveal)
    transcript = play(Protocols(params(), structured=True), asked, obedient)
    told = {
        step: (obedient(step, request), "stop")
        for step, request in zip(transcript.steps, transcript.requests, strict=True)
    }
    table = judgements(
        trials(scheme, reveal=reveal, kind=kind), responses(**told), TEXTS, attacked(), params()
    )
    rows = table.to_dict("records")
    assert [row["stage"] for row in rows] == (["first", "reveal", "control"] if reveal else ["first"])
    assert {row["status"] for row in rows} == {"ok"}
    # the least of each: the first verdict that is allowed, or scores of 1 for both
    assert {row["verdict"] for row in rows} == {"1" if scheme in ("baseline", "forced") else "tie"}
    assert rows[0]["rationale"] == (None if scheme == "pointwise" else "words")


def test_quotes_of_an_attacked_answer_are_sought_in_what_was_shown():
    # Candidate 1 was rewritten: its own words were not shown, the longer ones were. 8 quotes each.
    asked = trials("pbp_once", kind="qa_equal").assign(probe="verbosity")
    longer = {"item": item()["item"], "probe": "verbosity", "carrier": 1, "status": "ok"}
    attacks = attacked({**longer, "text": "A ferry, of all things, opened in May."})
    found = {}
    for quote in ("A ferry opened in May", "A ferry, of all things", "In May a ferry line"):
        said = notes(quote, ANSWERS.shown), scores(4, 2, ANSWERS.shown)
        answers = responses(notes=(said[0], "stop"), score=(said[1], "stop"))
        [row] = judgements(asked, answers, TEXTS, attacks, params()).to_dict("records")
        found[quote] = row["spans_found"], row["spans_quoted"]
    assert list(found.values()) == [(0, 8), (8, 8), (8, 8)]
