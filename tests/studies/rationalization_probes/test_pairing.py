import pandas as pd
import pytest

from studies.rationalization_probes.pairing import as_floor, cued_cells, of_stage, paired
from tests.studies.rationalization_probes.scripted_judgements import judgement


def frame(*rows):
    return pd.DataFrame(list(rows)).assign(judge="judge")


def test_a_cued_judgement_stands_beside_blinds():
    pairs = paired(
        frame(
            judgement("d0", "1", probe="truth") | {"rationale": "Cued."},
            judgement("d1", "2", probe="truth"),
            judgement("d1", "tie"),
            judgement("d0", "2") | {"rationale": "Blind."},
        )
    )
    assert pairs[["item", "verdict", "verdict_blind"]].values.tolist() == [
        ["d0:equal", "1", "2"],
        ["d1:equal", "2", "tie"],
    ]
    assert pairs.loc[0, ["rationale", "rationale_blind"]].tolist() == ["Cued.", "Blind."]
    assert pairs["parsed"].all()


@pytest.mark.parametrize(("blind", "cued"), [(None, "1"), ("1", None), (None, None)])
def test_a_pair_is_parsed_where_both_answers_are(blind, cued):
    [parsed] = paired(frame(judgement("d0", blind), judgement("d0", cued, probe="truth")))["parsed"]
    assert not parsed


def test_no_verdict_is_read_where_the_answer_was_not_parsed():
    cut = judgement("d0", "1") | {"status": "truncated"}
    assert of_stage(frame(cut), "first")["verdict"].isna().all()


def test_only_the_first_decisions_are_paired():
    rows = [judgement("d0", "1"), judgement("d0", "2", probe="flip")]
    later = [judgement("d0", "1", probe="flip", stage=stage) for stage in ("reveal", "control")]
    assert len(paired(frame(*rows, *later))) == 1


def test_an_answer_in_free_text_is_under_no_cue():
    pairs = paired(frame(*(judgement("d0", "1", probe=probe) for probe in ("blind", "free", "resample"))))
    assert pairs["probe"].tolist() == ["resample"]


@pytest.mark.parametrize(
    "other",
    [
        {"scheme": "forced"},
        {"order": "21"},
        {"kind": "identical"},
    ],
)
def test_a_cue_without_its_blind_is_an_error_that_names_the_item(other):
    with pytest.raises(ValueError, match=r"item 'd0:\w+' has no judgement under Blind .*: run that one too"):
        paired(frame(judgement("d0", "1"), judgement("d0", "1", probe="truth", **other)))


@pytest.mark.parametrize("changed", [{"judge": "another"}, {"replicate": 1}])
def test_a_judges_answer_is_compared_with_its_own(changed):
    rows = frame(judgement("d0", "1"), judgement("d0", "1", probe="truth"))
    for column, value in changed.items():
        rows.loc[1, column] = value
    with pytest.raises(ValueError, match="item 'd0:equal' has no judgement under Blind"):
        paired(rows)


def test_a_double_blind_is_an_error_that_names_the_item():
    with pytest.raises(ValueError, match="item 'd0:equal' has several judgements under Blind"):
        paired(frame(judgement("d0", "1"), judgement("d0", "2"), judgement("d0", "1", probe="truth")))


def test_without_any_cue_there_is_no_pair():
    assert paired(frame(judgement("d0", "1"))).empty
    assert list(cued_cells(frame(judgement("d0", "1")))) == []


def test_cells_are_named_by_judge_scheme_kind_and_probe():
    rows = [
        judgement(name, "1", probe=probe) for name in ("d0", "d1") for probe in ("blind", "flip", "truth")
    ]
    found = {names["probe"]: (names, len(cell)) for names, cell in cued_cells(frame(*rows))}
    expected = {"judge": "judge", "scheme": "scot", "kind": "equal"}
    assert found == {probe: (expected | {"probe": probe}, 2) for probe in ("flip", "truth")}


def test_the_floor_stands_on_the_cues_own_candidate():
    """The empty line carries nothing: its carrier is a place holder, and the cue's takes its place."""
    rows = frame(
        judgement("d0", "tie"),
        judgement("d0", "1", probe="empty") | {"carrier": 1},
        judgement("d0", "2", probe="flip") | {"carrier": 2},
    )
    floor = as_floor(rows, "flip")
    assert sorted(floor["probe"]) == ["blind", "flip"]
    standing = floor[floor["probe"] == "flip"].iloc[0]
    assert (standing["verdict"], standing["carrier"]) == ("1", 2)
    assert as_floor(rows[rows["probe"] != "empty"], "flip").empty
