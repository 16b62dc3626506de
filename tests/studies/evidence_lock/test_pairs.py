"""Two orders side by side, by hand; a scripted judge's agreement and sensitivity to order come back."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.evidence_lock.pairs import KEY, cells, main_cells, pairs, signed
from tests.studies.evidence_lock.planted import planted, planted_items


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def judged(*verdicts: tuple[str | None, str | None], label: str = "1") -> pd.DataFrame:
    """A pair for each two verdicts, under 12 and 21; None for an answer that could not be parsed."""
    told = [side[order] for order in (0, 1) for side in verdicts]
    status = ["unparsed" if verdict is None else "ok" for verdict in told]
    return asked(len(verdicts)).assign(verdict=told, status=status, label=label)


@cache
def asked(items: int) -> pd.DataFrame:
    return planted(items, rng(), schemes=["structured"])


def values(found: pd.DataFrame, *columns: str) -> list[tuple[float, ...]]:
    return [tuple(row) for row in found[list(columns)].to_numpy(dtype=float).tolist()]


# --- By hand ----------------------------------------------------------------------------------------


def test_agreement_is_averaged_over_both_orders_and_a_tie_disagrees():
    found = pairs(judged(("1", "1"), ("1", "2"), ("2", "2"), ("1", "tie"), ("tie", "tie"), ("2", "tie")))
    # A tie is 0, or half a point: 1 and tie are (1 + 0) / 2, or (1 + 1/2) / 2.
    assert found["agreement"].tolist() == [1, 0.5, 0, 0.5, 0, 0]
    assert found["agreement_half"].tolist() == [1, 0.5, 0, 0.75, 0.5, 0.25]
    assert found["agreement_all"].tolist() == found["agreement"].tolist()
    assert found["ties"].tolist() == [0, 0, 0, 0.5, 1, 0.5]


def test_any_change_of_the_normalised_verdict_is_inconsistent():
    found = pairs(judged(("1", "1"), ("1", "2"), ("1", "tie"), ("tie", "2"), ("tie", "tie")))
    assert found["changed"].tolist() == [0, 1, 1, 1, 0]


def test_the_first_shown_is_candidate_1_under_12_and_2_under_21():
    found = pairs(judged(("1", "2"), ("2", "1"), ("1", "1"), ("1", "tie"), ("tie", "1"), ("tie", "tie")))
    # 1 then 2 is the first shown both times; a candidate both times is the first once, the second once.
    assert found["first_shown"].tolist() == [1, -1, 0, 0.5, -0.5, 0]


def test_a_pair_without_two_verdicts_is_dropped_and_counted():
    found = pairs(judged(("1", None), (None, None), (None, "2"), ("1", "1")))
    assert found["both"].tolist() == [False, False, False, True]
    assert found["n_unparsed"].tolist() == [1, 2, 1, 0] and set(found["n_trials"]) == {2}
    undefined = [
        "agreement",
        "agreement_half",
        "changed",
        "first_shown",
        "ties",
        "calls",
        "tokens",
        "seconds",
    ]
    assert found.loc[:2, undefined].isna().all(axis=None)
    # Of all that was asked: one of two right, none, none, both.
    assert found["agreement_all"].tolist() == [0.5, 0, 0, 1]
    assert found["verdict_12"].isna().tolist() == [False, True, True, False]


def test_human_ties_have_inconsistency_and_no_agreement():
    found = pairs(judged(("tie", "tie"), ("1", "2"), (None, "1"), label="tie"))
    assert found[["agreement", "agreement_half", "agreement_all"]].isna().all(axis=None)
    assert found["changed"].tolist()[:2] == [0, 1] and np.isnan(found["changed"][2])


def test_costs_are_means_over_the_two_verdicts():
    frame = judged(("1", "1")).assign(
        calls=[2, 2], prompt_tokens=[100, 300], completion_tokens=[10, 30], seconds=[1.0, 2.0]
    )
    # (110 + 330) / 2 tokens
    assert values(pairs(frame), "calls", "tokens", "seconds") == [(2, 220, 1.5)]


def test_a_cost_that_an_answer_does_not_tell_is_unknown():
    frame = judged(("1", "1"), ("1", "1")).assign(completion_tokens=[10, 10, None, 10])
    assert pairs(frame)["tokens"].isna().tolist() == [True, False]


def test_crossed_trials_are_left_out():
    frame = planted(4, rng(), schemes=["lock"], crossed=True)
    found = pairs(frame)
    assert len(frame) == 16 and len(found) == 4 and found["both"].all()
    pd.testing.assert_frame_equal(found, pairs(frame[frame["inspection"] == frame["decision"]]))


def test_an_order_that_was_not_asked_is_no_unparsed_answer():
    frame = judged(("1", "1"), ("1", "1"))
    found = pairs(frame.drop(index=frame.index[frame["decision"] == "21"][:1]))
    assert found["both"].tolist() == [False, True]
    assert values(found, "n_trials", "n_unparsed", "agreement_all") == [(1, 0, 1), (2, 0, 1)]


def test_a_pair_judged_twice_in_one_order_is_an_error():
    frame = judged(("1", "1"))
    with pytest.raises(ValueError, match="item 'planted/0' was judged twice in order 12 under structured"):
        pairs(pd.concat([frame, frame.iloc[[0]]]))


def test_of_nothing_there_are_no_pairs():
    found = pairs(judged(("1", "1")).iloc[:0])
    assert found.empty and {*KEY, "agreement", "changed", "tokens"} <= set(found.columns)


# --- Invariances ------------------------------------------------------------------------------------


def test_neither_the_sequence_of_trials_nor_other_cells_matter():
    frame = planted(6, rng(), flip=0.4, unparsed=0.2, wordings=[1, 2], record_chars=[300, 600])
    found = pairs(frame).set_index(list(KEY)).sort_index()
    shuffled = pairs(frame.sample(frac=1, random_state=1)).set_index(list(KEY)).sort_index()
    pd.testing.assert_frame_equal(found, shuffled)
    alone = pairs(frame[frame["scheme"] == "lock"]).set_index(list(KEY)).sort_index()
    pd.testing.assert_frame_equal(alone, found[found.index.get_level_values("scheme") == "lock"])


VERDICT = st.sampled_from(["1", "2", "tie", None])
SWAP = {"1": "2", "2": "1", "tie": "tie", None: None}


@settings(max_examples=40)
@given(st.lists(st.tuples(VERDICT, VERDICT), min_size=1, max_size=6), st.sampled_from(["1", "2"]))
def test_the_candidates_names_do_not_matter(verdicts, label):
    # Candidate 2 called 1: labels and verdicts swap, and what stood under 12 stands under 21.
    one = pairs(judged(*verdicts, label=label))
    other = pairs(judged(*((SWAP[b], SWAP[a]) for a, b in verdicts), label=SWAP[label]))
    for column in ("agreement", "agreement_half", "agreement_all", "changed", "first_shown", "ties"):
        np.testing.assert_array_equal(one[column], other[column])


@settings(max_examples=40)
@given(st.lists(st.tuples(VERDICT, VERDICT), min_size=1, max_size=6))
def test_bounds(verdicts):
    found = pairs(judged(*verdicts))
    assert (found["agreement"].dropna() <= found.loc[found["both"], "agreement_half"]).all()
    assert found["agreement_all"].between(0, 1).all()
    # A judge that picks one place agrees with half.
    placed = found["first_shown"].abs() == 1
    assert (found.loc[placed, "agreement"] == 0.5).all()


# --- Which pairs ------------------------------------------------------------------------------------


def caps(found: pd.DataFrame, by: str) -> set[tuple[str, int]]:
    return set(zip(found[by], found["record_chars"], strict=True))


def test_the_main_cells():
    kinds = {"schemes": ["standard", "lock"], "record_chars": [150, 600], "wordings": [1, 2]}
    frame = planted(3, rng(), temperatures=[0.0, 1.0], replicates=2, **kinds)
    letters = planted(3, rng(), schemes=["lock"], naming="letters", record_chars=[150])
    found = main_cells(pairs(pd.concat([frame, letters])))
    assert len(found) == 6
    assert caps(found, "scheme") == {("lock", 600), ("standard", 0)}
    told = found[["wording", "naming", "temperature", "replicate"]].drop_duplicates()
    assert told.to_numpy().tolist() == [[1, "neutral", 0.0, 0]]
    assert main_cells(pairs(pd.concat([frame, letters])), "letters")["record_chars"].tolist() == [150] * 3


def test_a_data_set_asked_under_smaller_records_alone_stays():
    one = planted(planted_items(2, dataset="one"), rng(), schemes=["lock"], record_chars=[600, 1200])
    other = planted(planted_items(2, dataset="other"), rng(), schemes=["lock"], record_chars=[600])
    found = main_cells(pairs(pd.concat([one, other])))
    assert caps(found, "dataset") == {("one", 1200), ("other", 600)}
    pooled = [names for names, _ in cells(found) if names["dataset"] == "all"]
    assert "record_chars" not in pooled[0] and pooled[0]["wording"] == 1


def test_cells_come_by_data_set_and_pooled_where_there_are_several():
    one = planted(planted_items(2, dataset="one"), rng())
    other = planted(planted_items(3, dataset="other"), rng(), schemes=["lock"])
    found = [
        (names["scheme"], names["dataset"], len(rows))
        for names, rows in cells(pairs(pd.concat([one, other])))
    ]
    assert found == [("structured", "one", 2), ("lock", "one", 2), ("lock", "other", 3), ("lock", "all", 5)]


def test_signed():
    assert signed(pd.Series(["1", "2", "tie"])).tolist() == [1, -1, 0]
    assert np.isnan(signed(pd.Series([None, "1"], dtype=object))[0])


# --- The scripted judge -----------------------------------------------------------------------------


@pytest.mark.parametrize(("agree", "flip", "first"), [(0.8, 0.3, 0.5), (0.6, 0.1, 0.9), (1.0, 0.0, 0.5)])
def test_what_was_planted_comes_back(agree, flip, first):
    frame = planted(4000, rng(5), schemes=["lock"], agree=agree, flip=flip, first=first)
    found = pairs(frame)
    # Three standard errors of a rate of 4000 are 0.024 at most.
    assert found["agreement"].mean() == pytest.approx(agree, abs=0.024)
    assert found["changed"].mean() == pytest.approx(flip, abs=0.024)
    assert found["first_shown"].mean() == pytest.approx(flip * (2 * first - 1), abs=0.04)
    by_order = frame["verdict"].eq(frame["label"]).groupby(frame["decision"]).mean()
    assert by_order.to_numpy() == pytest.approx([agree, agree], abs=0.024 if first == 0.5 else 0.1)


def test_the_planted_parts_of_inconsistency_are_apart():
    frame = planted(4000, rng(6), schemes=["lock"], flip=0.1, through=0.2, crossed=True)
    verdicts = frame.pivot(index="item", columns=["inspection", "decision"], values="verdict")
    others = [("12", "21"), ("21", "12"), ("21", "21")]
    moved = [(verdicts["12", "12"] != verdicts[other]).mean() for other in others]
    assert moved == pytest.approx([0.1, 0.2, 0.3], abs=0.024)


def test_a_judge_that_flips_cannot_agree_with_all():
    with pytest.raises(ValueError, match=r"flips with probability 0\.4 can't agree with probability 0\.9"):
        planted(4, rng(), agree=0.9, flip=0.4)
