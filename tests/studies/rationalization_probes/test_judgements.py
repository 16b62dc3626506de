import pandas as pd
import pytest

from studies.rationalization_probes.judgements import judgements, whole_words
from tests.studies.rationalization_probes.support import item, notes, params, scores


def trials(scheme="baseline", order="12", reveal=False) -> pd.DataFrame:
    row = {k: v for k, v in item().items() if k in ("item", "cluster", "kind", "level")}
    return pd.DataFrame(
        [{"trial": "t", **row, "scheme": scheme, "probe": "flip", "reveal": reveal, "screen_order": order}]
    )


def responses(**steps) -> pd.DataFrame:
    rows = [
        {"trial": "t", "step": step, "text": text, "finish_reason": reason, "fingerprint": "f", "error": None}
        for step, (text, reason) in steps.items()
    ]
    return pd.DataFrame(rows, columns=["trial", "step", "text", "finish_reason", "fingerprint", "error"])


def read(scheme="baseline", order="12", reveal=False, **steps) -> list[dict]:
    given = {step: (v, "stop") if isinstance(v, str) else v for step, v in steps.items()}
    sources = pd.Series({item()["item"]: item()["source"]})
    return judgements(trials(scheme, order, reveal), responses(**given), sources, params()).to_dict("records")


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
    assert row["verdict"] is None and row["score_1"] is None and row["rationale"] is None


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
        pd.Series({item()["item"]: item()["source"]}),
        params(),
    )
    assert rows["stage"].tolist() == ["first", "reveal", "control"]
    assert rows["status"].tolist() == ["ok", "ok", "unparsed"]
    assert rows["verdict"].fillna("").tolist() == ["2", "1", ""]


def test_no_trial_is_dropped():
    both = pd.concat([trials(), trials("scot").assign(trial="other")])
    table = judgements(both, responses(), pd.Series({item()["item"]: item()["source"]}), params())
    assert table["trial"].tolist() == ["t", "other"]
    assert table["status"].tolist() == ["failed", "failed"]


def test_a_quotation_that_our_own_cap_cut_is_checked_up_to_its_last_whole_word():
    assert whole_words("carries 900 people a day", 40) == "carries 900 people a day"
    assert whole_words("carries 900 people a da", 23) == "carries 900 people a"
    assert whole_words("carriesninehundredpeopl", 23) == ""
