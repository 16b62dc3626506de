"""What the notebook shows: one pair under every protocol, the calls, the verdicts, rows of tables."""

import json
from pathlib import Path

import pandas as pd
import pytest

from shared.reporting import tables as reporting
from studies.evidence_lock import transcripts
from studies.evidence_lock.results import COLUMNS, TEXTS
from studies.evidence_lock.transcripts import (
    NOTHING,
    calls_of,
    drawn,
    examples,
    first_pair,
    gate,
    load_asked,
    prompts,
    record,
    shown,
    side_by_side,
    table,
    verdicts,
)
from tests.studies.evidence_lock import small_study
from tests.studies.evidence_lock.small_study import APART, FOUR, PARAMS, asked, first_shown

TABLES = Path("paper_tables/evidence_lock")


@pytest.fixture(scope="module")
def first():
    """A judge that takes what stands first."""
    return asked()


def refusing(field):
    """A judge that says nothing that can be read where it is asked for a field."""
    return lambda request: "No." if field in request.schema["properties"] else first_shown(request)


def names(found):
    """The names of candidates 1 and 2 of the pair that is shown."""
    return tuple(first_pair(found).iloc[0][["name_1", "name_2"]])


# --- Which pair is shown ----------------------------------------------------------------------------


def test_the_first_pair_under_the_lock_in_every_schemes_main_cell(first):
    chosen = first_pair(first)
    assert set(chosen["item"]) == {"embedded/train"}
    assert list(chosen["scheme"].unique()) == [*FOUR, "lock_with_source", "conversation", "reread"]
    assert list(chosen["decision"]) == ["12", "21"] * 7
    assert (chosen["inspection"] == chosen["decision"]).all()
    assert set(chosen["naming"]) == {"neutral"} and set(chosen["wording"]) == {1}
    # the shorter records of the budgets are not shown
    assert chosen.loc[chosen["scheme"] == "lock", "record_chars"].tolist() == [300, 300]


def test_nothing_is_shown_of_what_was_not_asked(first):
    for found in (NOTHING, first._replace(trials=first.trials[first.trials["scheme"] != "lock"])):
        chosen = first_pair(found)
        assert chosen.empty and shown(found, chosen) == ""
        assert (
            side_by_side(found, chosen).empty
            and verdicts(found, chosen).empty
            and record(found, chosen).empty
        )
        assert calls_of(found, chosen, "lock", PARAMS) == {}


def test_the_pair_as_people_read_it(first):
    one, two = names(first)
    assert shown(first, first_pair(first)) == (
        f"When does it leave, and where?\n\n--- {one}:\nAt nine, from platform two.\n\n"
        f"--- {two}:\nAt nine.\n\n--- people prefer: {one}"
    )


# --- What each call reads ---------------------------------------------------------------------------


def trial(found, scheme, order="12"):
    chosen = first_pair(found)
    return chosen[(chosen["scheme"] == scheme) & (chosen["decision"] == order)].iloc[0].to_dict()


def test_the_lock_sees_the_answers_once_and_then_the_record_alone(first):
    found = prompts(first, trial(first, "lock"), PARAMS)
    assert list(found) == ["record", "verdict"]
    assert "from platform two" in found["record"] and "from platform two" not in found["verdict"]
    one, _ = names(first)
    assert f"{one} says nine." in found["verdict"]


def test_prompts_are_those_that_were_asked(first):
    """Asked again with what they say, they have the same keys."""
    kept = []
    again = small_study.play(
        first.trials[first.trials["scheme"].isin(FOUR + APART)],
        lambda request: kept.append(request.messages[-1].content) or first_shown(request),
    )
    assert again["key"].tolist() == first.responses["key"].tolist()
    of_lock = again["trial"] == trial(first, "lock")["trial"]
    texts = [text for text, is_of_lock in zip(kept, of_lock, strict=True) if is_of_lock]
    assert list(prompts(first, trial(first, "lock"), PARAMS).values()) == texts


@pytest.mark.parametrize(
    ("scheme", "calls"), [("standard", 1), ("structured", 1), ("conversation", 2), ("reread", 2)]
)
def test_every_scheme_can_be_shown(first, scheme, calls):
    assert len(calls_of(first, first_pair(first), scheme, PARAMS)) == calls


def test_pointwise_reads_each_answer_alone(first):
    found = calls_of(first, first_pair(first), "pointwise_lock", PARAMS)
    assert list(found) == ["assess_1", "assess_2", "verdict"]
    assert "from platform two" in found["assess_1"] and "from platform two" not in found["assess_2"]


def test_a_call_that_was_not_answered_is_the_last(first):
    only = first.responses[first.responses["step"] == "record"]
    assert list(prompts(first._replace(responses=only), trial(first, "lock"), PARAMS)) == [
        "record",
        "verdict",
    ]
    none = first._replace(responses=first.responses[:0])
    assert list(prompts(none, trial(first, "lock"), PARAMS)) == ["record"]


def test_a_record_that_can_not_be_read_ends_the_trial():
    found = asked(
        lambda request: "No." if "evidence" in request.schema["properties"] else first_shown(request)
    )
    assert list(prompts(found, trial(found, "lock"), PARAMS)) == ["record"]


# --- What it says -----------------------------------------------------------------------------------


def test_answers_stand_side_by_side(first):
    found = side_by_side(first, first_pair(first))
    assert list(found.columns) == ["scheme", "step", "said", "status"]
    assert set(found["status"]) == {"ok"}
    one, two = names(first)
    told = found[found["scheme"] == "standard"]["said"].tolist()
    assert told == [f"verdict: {one}"]
    assert side_by_side(first, first_pair(first), "21")["said"].tolist()[0] == f"verdict: {two}"
    assert found[found["scheme"] == "pointwise_lock"]["step"].tolist() == ["assess_1", "assess_2", "verdict"]


def test_a_judge_that_goes_by_the_place_changes_its_verdict(first):
    found = verdicts(first, first_pair(first))
    one, two = names(first)
    assert found["1 shown first"].tolist() == [one] * 7 and found["2 shown first"].tolist() == [two] * 7
    assert set(found["changed"]) == {"yes"} and set(found["people"]) == {one}


def test_a_judge_that_ties_does_not():
    def tie(request):
        said = json.loads(first_shown(request))
        return json.dumps(said | {"verdict": "tie"} if "verdict" in said else said)

    found = asked(tie)
    told = verdicts(found, first_pair(found))
    assert set(told["1 shown first"]) == {"tie"} and set(told["changed"]) == {"no"}


def test_what_could_not_be_read_is_no_verdict():
    found = asked(
        lambda request: "No." if "verdict" in request.schema["properties"] else first_shown(request)
    )
    told = verdicts(found, first_pair(found))
    assert set(told["1 shown first"]) == {"(unparsed)"} and set(told["changed"]) == {""}


def test_a_call_that_failed_is_told(first):
    lost = first.responses.assign(text=None, error="no answer in 120 s")
    found = side_by_side(first._replace(responses=lost), first_pair(first))
    assert set(found["said"]) == {"no answer in 120 s"} and set(found["status"]) == {"failed"}


def test_the_record_in_both_orders_of_inspection(first):
    found = record(first, first_pair(first))
    one, two = names(first)
    assert found["inspected first"].tolist() == [one, two]
    assert found[one].tolist() == [f"{one} says nine."] * 2
    assert set(found["names a better answer"]) == {"none"} and set(found["hash"].str.len()) == {12}
    # the same texts, written in another order
    assert found["hash"].nunique() == 2


def test_a_record_that_names_a_winner_is_shown_with_its_name(first):
    judged = first.judgements.assign(named="2")
    found = record(first._replace(judgements=judged), first_pair(first))
    assert set(found["names a better answer"]) == {names(first)[1]}


# --- What the stages left ---------------------------------------------------------------------------


def test_what_the_stages_left_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small_study.write(tmp_path)
    found = load_asked("smollm2_135m")
    chosen = first_pair(found)
    assert len(verdicts(found, chosen)) == 7
    assert list(calls_of(found, chosen, "lock", PARAMS)) == ["record", "verdict"]


# --- Tables and figures -----------------------------------------------------------------------------


def estimate(quantity: str, value: float, **columns) -> dict:
    """A row of a table: 0.1 each way, of twelve questions."""
    texts = dict.fromkeys((*TEXTS, "note"), "")
    run = {"profile": "smoke", "fingerprint": "0123456789ab", "gate": "passed"}
    told = {"judge": "mine", "scheme": "lock", "dataset": "lfqa", "naming": "neutral"}
    ends = {"value": value, "ci_low": value - 0.1, "ci_high": value + 0.1, "n_clusters": 12, "n_unparsed": 0}
    return {**texts, **run, **told, **ends, "quantity": quantity, **columns}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a table where the notebook looks for it."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, *rows: dict) -> None:
        reporting.write(TABLES / f"{name}.csv", pd.DataFrame(rows, columns=list(COLUMNS)), ["# A page"])

    return write


def test_rows_of_a_table_by_hand(written):
    told = {"reference": "structured", "p_holm": 0.02}
    written(
        "differences",
        estimate("agreement", -0.25, paper_low=-0.06, paper_high=-0.04, **told),
        estimate("agreement", 0.5, scheme="standard", **told),
        estimate("inconsistency", 0.5, **told),
    )
    text = table("differences quantity=agreement", "p_holm")
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]
    assert cells[0] == ["judge", "scheme", "ours [interval]", "p_holm", "n", "unparsed", "paper"]
    assert cells[2] == ["mine", "lock", "-0.250 [-0.350, -0.150]", "0.020", "12", "0", "-0.060 to -0.040"]
    assert "profile smoke; `mine` (0123456789ab); n = 12 (sources)." in text


def test_a_table_that_is_not_there_or_empty_says_why(written):
    assert (
        table("orders quantity=direct") == "*`orders` is not there yet: run `make repro`, which writes it.*"
    )
    written("orders")
    assert table("orders quantity=direct") == f"*Not run: {transcripts.ABSENT['orders']}.*"


def test_the_gate_in_words_by_data_set(written):
    assert gate() == "*`competence` is not there yet: run `make repro`, which writes it.*"
    written(
        "competence",
        estimate("prefers_better", 0.5),
        estimate("prefers_better", 0.5, dataset="coval", gate="failed"),
    )
    lfqa, coval = gate().split("\n\n")
    assert lfqa == "**lfqa**: `mine` passes the competence gate under lock."
    assert coval.startswith("**coval**: `mine` fails the competence gate under lock.")
    written("competence")
    assert gate() == f"*Not run: {transcripts.ABSENT['competence']}.*"


PAGE = "# What the record lost\n\nFrom here.\n\n## 1. a\n\nOne.\n\n## 2. b\n\nTwo.\n\n## 3. c\n\nThree.\n"


def test_the_first_few_examples(written):
    assert examples() == "*`lost_examples` is not there yet: run `make repro`, which writes it.*"
    written("lost")
    (TABLES / "lost_examples.md").write_text(PAGE)
    assert examples(3) == PAGE.partition("\n")[2].strip()
    told = examples(1)
    assert told.startswith("From here.\n\n## 1. a\n\nOne.") and "## 2" not in told
    assert told.endswith("*2 more stand in paper_tables/evidence_lock/lost_examples.md.*")


def test_a_page_without_examples_is_shown_whole(written):
    written("lost")
    (TABLES / "lost_examples.md").write_text("# What the record lost\n\n*None was lost.*\n")
    assert examples() == "*None was lost.*"


def test_only_figures_that_are_there_are_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = Path("figures/evidence_lock/plane.svg")
    file.parent.mkdir(parents=True)
    file.write_text("<svg/>")
    assert drawn("bundle", "plane") == [file]
    assert drawn("bundle") == drawn() == []
