"""The competence gate on scripted judges whose competence is known."""

import numpy as np
import pandas as pd
import pytest

from shared.metrics.competence import competence
from shared.metrics.resampling import Inference

INFERENCE = Inference(resamples=200, permutations=2000)


def judgements(n_documents: int, verdict_on) -> pd.DataFrame:
    """Damaged pairs in both screen orders and one equal pair a document, answered by `verdict_on`."""
    rows = []
    for document in range(n_documents):
        asked = [("damage", "12"), ("damage", "21"), ("equal", "12" if document % 2 else "21")]
        for kind, order in asked:
            verdict = verdict_on(kind, order, document)
            rows.append(
                {
                    "item": f"{document}:{kind}",
                    "cluster": str(document),
                    "kind": kind,
                    "screen_order": order,
                    "status": "ok" if verdict else "unparsed",
                    "verdict": verdict,
                }
            )
    return pd.DataFrame(rows)


def gate(n_documents: int, verdict_on, **options):
    return competence(judgements(n_documents, verdict_on), np.random.default_rng(0), INFERENCE, **options)


def discerning(kind, order, document):
    return "1" if kind == "damage" else "tie"


def first_shown(kind, order, document):
    return order[0]


def always_tie(kind, order, document):
    return "tie"


def test_a_discerning_judge_passes():
    result = gate(14, discerning)
    assert result.verdict == "passed"
    # Every document prefers the undamaged text: one of 2^14 sign vectors; more than 2,000, so drawn.
    assert result.prefers_undamaged.estimate.value == 1
    assert result.prefers_undamaged.p == 1 / 2001
    assert result.ties_less.estimate.value == 1  # ties on all equal pairs, on no damaged one
    assert result.not_constant.estimate.value == pytest.approx(1 / 3)  # first, second and tie alike
    assert 0 < result.prefers_undamaged.estimate.low < result.prefers_undamaged.estimate.high == 1


def test_always_the_first_shown_fails():
    # Undamaged in one order, damaged in the other: 0 over both, in every document.
    result = gate(14, first_shown)
    assert (result.prefers_undamaged.estimate.value, result.prefers_undamaged.p) == (0, 1)
    assert (result.not_constant.estimate.value, result.not_constant.verdict) == (1, "failed")
    assert result.verdict == "failed"


def test_always_a_tie_fails():
    result = gate(14, always_tie)
    assert result.ties_less.estimate.value == 0
    assert {result.prefers_undamaged.verdict, result.ties_less.verdict, result.not_constant.verdict} == {
        "failed"
    }


def test_preferring_the_damaged_text_fails():
    result = gate(14, lambda kind, order, document: "2" if kind == "damage" else "tie")
    assert (result.prefers_undamaged.estimate.value, result.prefers_undamaged.p) == (-1, 1)
    assert result.verdict == "failed"


def test_few_documents_are_too_few_to_tell():
    # Four perfect documents: p = 1 / 2^4 = 0.0625 is above 0.05, and four are below few_clusters.
    result = gate(4, discerning)
    assert result.prefers_undamaged.p == 1 / 16
    assert result.verdict == "too few to tell"
    assert gate(4, first_shown).verdict == "too few to tell"
    assert gate(5, discerning).verdict == "passed"  # 1 / 2^5 = 0.03125


def apart(n_equal, n_damaged, verdict_on):
    """Equal pairs of some documents, damaged pairs of others, as with a borrowed ladder."""
    frame = judgements(n_equal + n_damaged, verdict_on)
    equal = frame["cluster"].astype(int) < n_equal
    return frame[(frame["kind"] == "equal") == equal]


def test_a_ladder_of_other_documents_serves():
    result = competence(apart(14, 12, discerning), np.random.default_rng(0), INFERENCE)
    assert result.verdict == "passed"
    # No document has both: all equal pairs tie, no damaged one does, and no draw of 2,000 is as far apart.
    assert (result.ties_less.estimate.value, result.ties_less.estimate.n_clusters) == (1, 26)
    assert result.ties_less.p == 1 / 2001
    assert 0 < result.ties_less.estimate.low < result.ties_less.estimate.high == 1


@pytest.mark.parametrize(("n_damaged", "p"), [(0, np.nan), (1, np.nan), (2, 1 / 15)])
def test_a_ladder_of_few_other_documents_is_too_few_to_tell(n_damaged, p):
    # Four that tie and two that do not: 1 / C(6, 2). A group of one leaves nothing to exchange.
    check = competence(apart(4, n_damaged, discerning), np.random.default_rng(0), INFERENCE).ties_less
    assert check.p == pytest.approx(p, nan_ok=True)
    assert check.verdict == "too few to tell"


def test_ties_of_other_documents_are_compared():
    # Ties everywhere: no difference. Ties on damaged pairs alone: the wrong way round.
    always = competence(apart(14, 14, always_tie), np.random.default_rng(0), INFERENCE).ties_less
    assert (always.estimate.value, always.p, always.verdict) == (0, 1, "failed")
    reverse = apart(14, 14, lambda kind, order, document: "tie" if kind == "damage" else "1")
    wrong = competence(reverse, np.random.default_rng(0), INFERENCE).ties_less
    assert (wrong.estimate.value, wrong.p, wrong.verdict) == (-1, 1, "failed")


def test_a_forced_choice_is_not_asked_about_ties():
    result = gate(14, lambda kind, order, document: "1" if kind == "damage" else order[0], can_tie=False)
    assert result.ties_less is None
    assert result.verdict == "passed"


def test_one_order_alone_tells_nothing():
    # The second order was never parsed: what is left mixes preference with position, and is dropped.
    result = gate(14, lambda kind, order, document: None if (kind, order) == ("damage", "21") else "1")
    assert np.isnan(result.prefers_undamaged.estimate.value)
    assert result.prefers_undamaged.verdict == "too few to tell"


def test_a_lost_replicate_does_not_tip_the_balance():
    # A first-position judge, asked twice in order 12 but once in order 21: still no preference.
    frame = judgements(14, first_shown)
    repeated = frame[(frame["kind"] == "damage") & (frame["screen_order"] == "12")]
    result = competence(pd.concat([frame, repeated]), np.random.default_rng(0), INFERENCE)
    assert result.prefers_undamaged.estimate.value == 0


def test_nothing_parsed_is_undefined():
    result = gate(14, lambda kind, order, document: None)
    assert np.isnan(result.not_constant.estimate.value) and np.isnan(result.ties_less.p)
    assert result.verdict == "too few to tell"


def test_a_guessing_judge_passes_rarely():
    # Guesses pass the preference check at most at its level: 150 judges at 0.05, three standard errors.
    generator = np.random.default_rng(4)

    def guess(kind, order, document):
        return generator.choice(["1", "2", "tie"])

    quick = Inference(resamples=50, permutations=400)
    checks = [competence(judgements(12, guess), generator, quick).prefers_undamaged for _ in range(150)]
    assert np.mean([check.verdict == "passed" for check in checks]) <= 0.05 + 0.053


def test_two_schemes_at_once_are_an_error():
    frame = judgements(3, discerning)
    mixed = pd.concat([frame.assign(scheme="scot"), frame.assign(scheme="baseline")])
    with pytest.raises(ValueError, match="one scheme at a time, not baseline, scot: select one"):
        competence(mixed, np.random.default_rng(0), INFERENCE)
