"""What the notebook shows: texts, cue lines, answers side by side, and rows of tables, by hand."""

from pathlib import Path

import pandas as pd
import pytest

from shared.errors import UserError
from shared.reporting import tables as reporting
from studies.rationalization_probes.design import design
from studies.rationalization_probes.judge import with_texts
from studies.rationalization_probes.params import TrialSet
from studies.rationalization_probes.protocols import Protocols
from studies.rationalization_probes.transcripts import (
    AFTER_FLIP,
    NOTHING,
    PROBES,
    cue_lines,
    drawn,
    first_trials,
    gate,
    load_asked,
    shown,
    side_by_side,
    table,
)
from tests.studies.rationalization_probes import scripted_tables as scripted
from tests.studies.rationalization_probes.support import attacked, item, items, obedient, params, play

TABLES = Path("paper_tables/rationalization_probes")


def trials(*schemes: str, orders: str = "both", texts: pd.DataFrame | None = None) -> pd.DataFrame:
    """The design over equal pairs, with Reveal-After."""
    probes = ["placebo", "flip", "truth", "blind"]  # not the order in which they are shown
    chosen = {"equal": TrialSet(items=None, schemes=list(schemes), probes=probes, reveal=True)}
    texts = items(item()) if texts is None else texts
    return design(texts, attacked(), params(sets=chosen, screen_orders=orders), seed=1)


def answer(trial: str, step: str, text: str | None, reason: str | None = "stop", error: str | None = None):
    return {"trial": trial, "step": step, "text": text, "finish_reason": reason, "error": error}


def verdicts(asked: pd.DataFrame, order: str) -> pd.DataFrame:
    """One answer a trial of one screen order, which names its probe, and Reveal-After under Flip."""
    rows = []
    for _, row in asked[asked["screen_order"] == order].iterrows():
        steps = ("judge", "reveal", "control") if row["reveal"] else ("judge",)
        rows += [answer(row["trial"], step, f"{row['probe']} {step}") for step in steps]
    return pd.DataFrame(rows, columns=["trial", "step", "text", "finish_reason", "error"])


# --- texts ------------------------------------------------------------------------------------------


def test_texts_are_shown_by_their_place_on_the_screen():
    row = {"kind": "equal", "source": "S", "candidate_1": "A", "candidate_2": "B"}
    marked = "<document> S </document> <summary_1> A </summary_1> <summary_2> B </summary_2>"
    assert " ".join(shown(row, "12").split()) == marked
    swapped = {**row, "candidate_1": "B", "candidate_2": "A"}
    assert shown(swapped, "21") == shown(row, "12") != shown(row, "21")


def test_answers_to_a_question_are_called_so():
    text = shown({"kind": "qa_equal", "source": "Q", "candidate_1": "A", "candidate_2": "B"})
    assert text.startswith("<question>\nQ\n</question>") and "<answer_2>\nB\n</answer_2>" in text


# --- cue lines --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "step"), [("forced", "judge"), ("scot", "judge"), ("pbp_once", "notes")])
@pytest.mark.parametrize("order", ["12", "21"])
def test_a_cue_line_is_a_line_of_the_prompt_that_was_asked(scheme, step, order):
    asked = trials(scheme)
    asked = asked[asked["screen_order"] == order]
    lines = cue_lines(asked, item(), scheme, params()).set_index("probe")["line"]
    assert list(lines.index) == list(PROBES) and lines["blind"] == ""
    for trial in with_texts(asked, items(item()), attacked()):
        prompt = play(Protocols(params(), True), trial, obedient).prompt(step).splitlines()
        assert prompt.count(lines[trial.probe]) == (1 if trial.probe != "blind" else prompt.count(""))


def test_swapped_places_swap_the_labels():
    by_order = {
        order: cue_lines(rows, item(), "forced", params()).set_index("probe")["line"]
        for order, rows in trials("forced").groupby("screen_order")
    }
    # candidate 1 is labelled LLM under Truth, candidate 2 under Flip; either may be shown first
    assert by_order["12"]["truth"] == by_order["21"]["flip"] != by_order["12"]["flip"]
    assert by_order["12"]["flip"] == by_order["21"]["truth"]


def test_reveal_after_tells_the_line_of_truth():
    """As the notebook says in words."""
    asked = trials("forced", orders="one")
    truth = cue_lines(asked, item(), "forced", params(), ["truth"])["line"].iloc[0]
    [flip] = with_texts(asked[asked["probe"] == "flip"], items(item()), attacked())
    transcript = play(Protocols(params(), True), flip, obedient)
    assert truth in transcript.of("reveal").messages[-1].content


# --- answers ----------------------------------------------------------------------------------------


def test_probes_stand_side_by_side_with_reveal_after_last():
    asked = trials("forced")
    first = asked["screen_order"].iloc[0]
    both = pd.concat([verdicts(asked, "12"), verdicts(asked, "21")])
    found = side_by_side(asked, both, "doc:equal", "forced")
    # one of two screen orders: 4 probes, then the reveal and its control
    assert list(found["probe"]) == [*PROBES, "reveal", "reveal"]
    assert list(found["step"]) == ["judge"] * 4 + list(AFTER_FLIP)
    assert list(found["said"]) == [f"{p} judge" for p in PROBES] + ["flip reveal", "flip control"]
    assert found.equals(side_by_side(asked, verdicts(asked, first), "doc:equal", "forced"))


def test_probes_are_shown_in_the_order_asked_for():
    asked = trials("forced", orders="one")
    answers = verdicts(asked, asked["screen_order"].iloc[0])
    found = side_by_side(asked, answers, "doc:equal", "forced", ["placebo", "empty", "blind"])
    assert list(found["probe"]) == ["placebo", "blind"]  # `empty` was not asked; no Flip, no reveal


def test_every_turn_of_pbp_is_a_row():
    asked = trials("pbp_once", orders="one")
    flip = asked.loc[asked["probe"] == "flip", "trial"].iloc[0]
    steps = ("notes", "score", "reveal", "control", "narrate")
    found = side_by_side(asked, pd.DataFrame([answer(flip, s, s) for s in steps]), "doc:equal", "pbp_once")
    assert list(found["probe"]) == ["flip"] * 3 + ["reveal"] * 2
    assert list(found["step"]) == ["notes", "score", "narrate", "reveal", "control"]


@pytest.mark.parametrize(
    ("text", "reason", "error", "said", "status"),
    [
        ('{"verdict": "tie"}', "stop", None, "verdict: tie", "ok"),
        ('{"verdict": "ti', "length", None, '{"verdict": "ti', "truncated"),
        ("", "content_filter", None, "", "refused"),
        ("", "stop", None, "", "unparsed"),
        (None, None, "no answer in 120 s", "no answer in 120 s", "failed"),
    ],
)
def test_status_goes_by_how_the_answer_ended(text, reason, error, said, status):
    asked = trials("forced", orders="one")
    blind = asked.loc[asked["probe"] == "blind", "trial"].iloc[0]
    answers = pd.DataFrame([answer(blind, "judge", text, reason, error)])
    [row] = side_by_side(asked, answers, "doc:equal", "forced").to_dict("records")
    assert row == {"probe": "blind", "step": "judge", "said": said, "status": status}


def test_a_trial_without_answers_has_no_row():
    asked = trials("forced")
    assert side_by_side(asked, verdicts(asked, "none"), "doc:equal", "forced").empty


@pytest.mark.parametrize(("name", "scheme"), [("doc:equal", "scot"), ("other:equal", "forced")])
def test_what_was_not_put_on_trial_is_named(name, scheme):
    asked = trials("forced")
    with pytest.raises(UserError, match=rf"^no trial of '{name}' under '{scheme}'; .*make repro`$"):
        side_by_side(asked, verdicts(asked, "12"), name, scheme)


# --- which pairs are shown --------------------------------------------------------------------------


def test_the_first_items_in_trial_order_are_shown():
    texts = items(item("b:equal"), item("a:equal"), item("c:equal"))
    asked = trials("scot", "forced", texts=texts)
    first = first_trials(asked, ["baseline", "forced", "scot"], n=2)
    assert [(row["item"], row["scheme"]) for row in first] == [("b:equal", "forced"), ("a:equal", "forced")]
    assert len(first_trials(asked, ["scot"], n=9)) == 3


def test_nothing_is_shown_of_a_scheme_that_was_not_asked():
    assert first_trials(trials("scot"), ["forced", "baseline"], n=2) == []
    assert first_trials(NOTHING.trials, ["forced", "baseline"], n=2) == []


def test_what_the_stages_left_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Path("data/rationalization_probes")
    (folder / "responses").mkdir(parents=True)
    asked = trials("forced", orders="one")
    items(item()).to_parquet(folder / "items.parquet")
    asked.to_parquet(folder / "trials.parquet")
    verdicts(asked, asked["screen_order"].iloc[0]).to_parquet(folder / "responses" / "one.parquet")
    found = load_asked("one")
    assert found.items["doc:equal"]["candidate_2"] == item()["candidate_2"]
    assert len(side_by_side(found.trials, found.responses, "doc:equal", "forced")) == 6


# --- tables and figures -----------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a table where the notebook looks for it."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, *rows: dict) -> None:
        frame = scripted.table(rows).assign(profile="smoke", fingerprint="0123456789ab")
        reporting.write(TABLES / f"{name}.csv", frame, ["# A page"])

    return write


def cells(text: str) -> list[list[str]]:
    """Rows of the Markdown table, its header first."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]


def test_rows_of_a_table_by_hand(written):
    written(
        "cue_effects",
        scripted.row("cue_effect", 0.5, paper_low=0.25, paper_high=0.75, p_holm=0.04, mde=0.3),
        scripted.row("cue_effect", -0.5, condition="flip", published=-0.125, p_holm=2e-5, mde=float("nan")),
        scripted.row("tie_change", 0.1),
    )
    text = table("cue_effects quantity=cue_effect", "p_holm", "mde")
    head = ["judge", "scheme", "condition", "ours [interval]", "p_holm", "mde", "n", "unparsed", "paper"]
    # the scripted rows have half a width of 0.1 and 16 documents; all is one quantity and one kind
    assert cells(text) == [
        head,
        ["sound", "scot", "truth", "0.500 [0.400, 0.600]", "0.040", "0.300", "16", "0", "0.250 to 0.750"],
        ["sound", "scot", "flip", "-0.500 [-0.600, -0.400]", "2.0e-05", "n/a", "16", "0", "-0.125"],
    ]
    assert text.splitlines()[-1] == (
        "From [cue_effects](../paper_tables/rationalization_probes/cue_effects.md): "
        "profile smoke; `sound` (0123456789ab); n = 16 (sources)."
    )


def test_the_note_and_the_reason_of_an_undefined_price_are_shown(written):
    nan = float("nan")
    why = {"wording": "n/a: the judge does not react to errors", "note": "instrument check"}
    written("price", scripted.row("price_in_errors", nan, **why))
    head, row = cells(table("price"))
    assert dict(zip(head, row, strict=True)) | {"ours [interval]": "n/a", **why} == dict(
        zip(head, row, strict=True)
    )


def test_a_table_that_is_not_there_is_named_with_its_fix(written):
    assert table("invariance quantity=outcome_shift") == (
        "*`invariance` is not there yet: run `make repro`, which writes it.*"
    )


def test_an_empty_table_says_what_params_lack(written):
    written("price")
    assert table("price quantity=price_in_errors") == (
        "*Not run: no set of damaged pairs in params has the labels.*"
    )


def test_rows_that_are_not_there_are_told_beside_those_that_are(written):
    written("price", scripted.row("tie_rate", 0.5))
    assert "no row with quantity=price_in_errors; quantity is one of: tie_rate" in table(
        "price quantity=price_in_errors"
    )


def test_an_extra_that_is_no_column_is_an_error(written):
    written("price", scripted.row("tie_rate", 0.5))
    with pytest.raises(KeyError, match="p_hom"):
        table("price", "p_hom")


def test_the_gate_in_words(written):
    assert gate() == "*`competence` is not there yet: run `make repro`, which writes it.*"
    written("competence", scripted.row("prefers_undamaged", 0.5))
    assert gate() == "`sound` passes the competence gate under scot."


def test_only_figures_that_are_there_are_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = Path("figures/rationalization_probes/price.svg")
    file.parent.mkdir(parents=True)
    file.write_text("<svg/>")
    assert drawn("cue_invariance", "price") == [file]
    assert drawn("cue_invariance") == drawn() == []
