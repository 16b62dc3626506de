"""What the notebook shows: one item under a few orders, the answers, the distributions, rows of tables."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.reporting import tables as reporting
from shared.reporting.notebooks import Asked
from studies.rubric_position_bias.judge import with_texts
from studies.rubric_position_bias.judgements import judgements
from studies.rubric_position_bias.orders import balanced
from studies.rubric_position_bias.results import COLUMNS, TEXTS
from studies.rubric_position_bias.transcripts import (
    NOTHING,
    differing,
    distributions,
    drawn,
    first_orders,
    gate,
    load_asked,
    prompts,
    side_by_side,
    table,
)
from tests.shared.judge.scripted import completion
from tests.studies.rubric_position_bias.asking import CRITERIA, PARAMS, STRUCTURED, item, play, row

TABLES = Path("paper_tables/rubric_position_bias")
FIRST = {"2": -0.5, "3": -1.5, "1": -3.0, "4": -3.5, "5": -4.0, "The": -5.0}
"""Log-probabilities of a first token; options 1 to 5 have nearly all of the mass."""


def answered(trials: list[dict], script="2", top: dict[str, float] | None = None, items=None) -> Asked:
    """Trials, and what a scripted judge says to each."""
    texts = pd.DataFrame(items or [item("a"), item("b"), item("c", "criteria")])
    asked = pd.DataFrame(trials)
    said = completion(script)
    if top is not None:
        first = {"token": script, "logprob": top[script], "top": top}
        said = replace(said, logprobs=[first])
    responses = play(STRUCTURED, with_texts(asked, texts), lambda request: said)
    judged = judgements(asked, responses, texts)
    by_item = {row["item"]: row for row in texts.to_dict("records")}
    return Asked(by_item, asked, responses.assign(error=None), judged)


def scored(*orders: str, name: str = "a", **changes) -> list[dict]:
    return [row(name, order, draw=draw, **changes) for draw, order in enumerate(orders)]


# --- Which orders are shown -------------------------------------------------------------------------


def test_the_canonical_order_its_reverse_and_half_way_round():
    asked = answered([*scored(*balanced(5)), *scored("12345", name="b")])
    assert list(first_orders(asked)["order"]) == ["12345", "54321", "34512"]
    assert list(first_orders(asked, n=1)["order"]) == ["12345"]
    assert set(first_orders(asked)["item"]) == {"a"}


def test_what_was_not_asked_is_filled_up_in_the_order_of_the_trials():
    asked = answered(scored("23451", "15432", "54321", "23451"))
    assert list(first_orders(asked)["order"]) == ["54321", "23451", "15432"]


def test_only_the_papers_prompt_and_temperature_are_shown():
    others = [{"scheme": "cot"}, {"temperature": 0.6}, {"effort": "low"}]
    trials = [trial for changes in others for trial in scored("12345", **changes)]
    trials += [row("b", "321", size=3), *scored("21345", name="b")]
    assert list(first_orders(answered(trials))["trial"]) == [trials[-1]["trial"]]


def test_criteria_have_as_many_orders_as_they_are():
    trials = [
        row("c", order, "criteria", scale=s) for s in ("54321", "12345") for order in ("231", "123", "321")
    ]
    chosen = first_orders(
        answered(trials, '{"relevance": 1, "coherence": 2, "fluency": 3}'), "criteria", None
    )
    assert list(chosen["order"]) == ["123", "321", "231"]
    assert set(chosen["scale"]) == {"12345"}


def test_nothing_is_shown_of_what_was_not_asked():
    assert first_orders(NOTHING).empty and first_orders(NOTHING, "criteria", None).empty
    assert side_by_side(NOTHING, first_orders(NOTHING)).empty
    assert distributions(NOTHING, first_orders(NOTHING)).empty
    assert prompts(NOTHING, first_orders(NOTHING), PARAMS) == differing([]) == []


# --- What the judge reads ---------------------------------------------------------------------------


def test_prompts_are_those_that_were_asked():
    asked = answered(scored("12345", "54321"))
    found = prompts(asked, first_orders(asked), PARAMS)
    trials = with_texts(asked.trials, pd.DataFrame(list(asked.items.values())))
    assert found == [STRUCTURED.request(trial).messages[1].content for trial in trials]


def test_orders_differ_in_their_options_alone():
    asked = answered(scored("12345", "54321", "34512"))
    for order, lines in zip(
        ("12345", "54321", "34512"), differing(prompts(asked, asked.trials, PARAMS)), strict=True
    ):
        assert re.findall(r"^Score (\d)", lines, re.MULTILINE) == list(order)
        assert len(lines.splitlines()) == 5


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (["a\nb\nc", "a\nx\nc"], ["b", "x"]),
        (["a\nb", "a\nb"], ["", ""]),
        (["a\nb\nb\nc", "a\nb\nc"], ["b", ""]),  # what is at both ends is not counted twice
        (["a"], [""]),
        (["", "b"], ["", "b"]),
    ],
)
def test_lines_that_differ_by_hand(texts, lines):
    assert differing(texts) == lines


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=6), min_size=1, max_size=3))
def test_what_differs_is_in_its_text_and_the_rest_is_common(rows):
    texts = ["\n".join(lines) for lines in rows]
    found = differing(texts)
    assert all(lines in text for lines, text in zip(found, texts, strict=True))
    rests = {text.replace(lines, "", 1).count("a") for lines, text in zip(found, texts, strict=True)}
    assert len(rests) == 1


# --- What it says -----------------------------------------------------------------------------------


def test_answers_stand_side_by_side_with_where_they_stood():
    asked = answered(scored("12345", "54321", "34512"))
    found = side_by_side(asked, first_orders(asked))
    assert list(found.columns) == ["order", "said", "status", "score", "position"]
    # option 2 stands second, fourth and fifth
    assert found.to_numpy().tolist() == [
        ["12345", "2", "ok", "2", "2"],
        ["54321", "2", "ok", "2", "4"],
        ["34512", "2", "ok", "2", "5"],
    ]


def test_scores_of_criteria_stand_with_their_places():
    trials = [row("c", order, "criteria") for order in ("123", "321")]
    asked = answered(trials, '{"relevance": 1, "coherence": 2, "fluency": 3}')
    found = side_by_side(asked, asked.trials)
    assert list(found.columns) == ["order", "said", "status", *(one.name for one in CRITERIA)]
    assert found["relevance"].tolist() == ["1 (place 1)", "1 (place 3)"]


@pytest.mark.parametrize(("said", "status"), [("seven", "unparsed"), ("", "unparsed")])
def test_an_answer_without_a_score_has_none(said, status):
    asked = answered(scored("12345"), said)
    [found] = side_by_side(asked, asked.trials).to_dict("records")
    assert (found["said"], found["score"], found["position"]) == (said, "n/a", "n/a")
    assert set(asked.judgements["status"]) == {status}


def test_a_call_that_failed_is_told():
    asked = answered(scored("12345"))
    lost = asked.responses.assign(text=None, error="no answer in 120 s")
    [found] = side_by_side(asked._replace(responses=lost), asked.trials).to_dict("records")
    assert (found["said"], found["status"]) == ("no answer in 120 s", "failed")


def test_probabilities_stand_at_the_places_of_their_options():
    asked = answered(scored("12345", "34512"), "2", FIRST)
    found = distributions(asked, first_orders(asked)).set_index("order")
    total = sum(np.exp(value) for name, value in FIRST.items() if name != "The")
    share = f"2: {np.exp(-0.5) / total:.3f}"
    assert found.loc["12345", "place 2"] == found.loc["34512", "place 5"] == share
    assert found.loc["34512", "place 1"].startswith("3: ")
    assert set(found["mass"]) == {f"{total:.3f}"}


def test_without_distributions_there_is_nothing_to_show():
    asked = answered(scored("12345"))
    assert distributions(asked, asked.trials).empty


# --- What the stages left ---------------------------------------------------------------------------


def test_what_the_stages_left_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Path("data/rubric_position_bias")
    asked = answered(scored("12345", "54321"), "2", FIRST)
    pd.DataFrame(list(asked.items.values())).to_parquet(_made(folder / "items.parquet"))
    asked.trials.to_parquet(folder / "trials.parquet")
    asked.responses.to_parquet(_made(folder / "responses" / "one.parquet"))
    asked.judgements.to_parquet(_made(folder / "judgements" / "one.parquet"))
    found = load_asked("one")
    assert len(side_by_side(found, first_orders(found))) == len(distributions(found, found.trials)) == 2


def _made(file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


# --- Tables and figures -----------------------------------------------------------------------------


def estimate(quantity: str, value: float, **columns) -> dict:
    """A row of a table: 0.1 each way, of twelve sources."""
    texts = dict.fromkeys((*TEXTS, "note"), "")
    run = {"profile": "smoke", "fingerprint": "0123456789ab", "gate": "passed"}
    told = {"judge": "mine", "scheme": "base", "condition": "balanced", "setting": "score", "size": 5}
    ends = {"value": value, "ci_low": value - 0.1, "ci_high": value + 0.1, "n_clusters": 12, "n_unparsed": 0}
    return {**texts, **run, **told, **ends, "quantity": quantity, "temperature": 0.0, **columns}


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes a table where the notebook looks for it."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, *rows: dict) -> None:
        reporting.write(TABLES / f"{name}.csv", pd.DataFrame(rows, columns=list(COLUMNS)), ["# A page"])

    return write


def cells(text: str) -> list[list[str]]:
    """Rows of the Markdown table, its header first."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]


def test_rows_of_a_table_by_hand(written):
    written(
        "k_curve",
        estimate("gain_share", 0.5, k=3, published=0.7),
        estimate("gain_share", 0.75, k=5, paper_low=0.5, paper_high=0.9, p_holm=0.02),
        estimate("pearson", 0.5, k=3),
    )
    text = table("k_curve quantity=gain_share", "p_holm")
    assert cells(text) == [
        ["judge", "k", "ours [interval]", "p_holm", "n", "unparsed", "paper"],
        ["mine", "3", "0.500 [0.400, 0.600]", "n/a", "12", "0", "0.700"],
        ["mine", "5", "0.750 [0.650, 0.850]", "0.020", "12", "0", "0.500 to 0.900"],
    ]
    assert text.splitlines()[-1] == (
        "From [k_curve](../paper_tables/rubric_position_bias/k_curve.md): "
        "profile smoke; `mine` (0123456789ab); n = 12 (sources)."
    )


def test_a_table_that_is_not_there_is_named_with_its_fix(written):
    assert table("budget quantity=orders_needed") == (
        "*`budget` is not there yet: run `make repro`, which writes it.*"
    )


def test_an_empty_table_says_what_params_lack(written):
    written("prompt_arms")
    assert table("prompt_arms quantity=sd_alpha") == (
        "*Not run: no set in params has another scheme beside `base`.*"
    )


def test_rows_that_are_not_there_are_told_beside_those_that_are(written):
    written("budget", estimate("place_effect", 0.1))
    assert "no row with quantity=orders_needed; quantity is one of: place_effect" in table(
        "budget quantity=orders_needed"
    )


def test_an_extra_that_is_no_column_is_an_error(written):
    written("budget", estimate("place_effect", 0.1))
    with pytest.raises(KeyError, match="p_hom"):
        table("budget", "p_hom")


def test_the_gate_in_words_is_that_of_the_main_design(written):
    assert gate() == "*`competence` is not there yet: run `make repro`, which writes it.*"
    main = {"dataset": "hanna"}
    written(
        "competence",
        estimate("follows", 0.5, **main),
        estimate("follows", 0.5, **main, gate="failed", scheme="cot"),
        estimate("follows", 0.5, **main, gate="failed", size=9),
        estimate("follows", 0.5, **main, gate="failed", temperature=0.6),
        estimate("follows", 0.5, **main, setting="criteria", size=6, gate="too few to tell"),
    )
    score, criteria = gate().split("\n\n")
    assert score == "**hanna, setting score**: `mine` passes the competence gate under base."
    assert criteria.startswith("**hanna, setting criteria**: `mine` was asked too little")


def test_an_empty_gate_says_why(written):
    written("competence")
    assert gate() == "*Not run: no set in params has balanced orders.*"


def test_only_figures_that_are_there_are_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = _made(Path("figures/rubric_position_bias/position.svg"))
    file.write_text("<svg/>")
    assert drawn("ranking", "position") == [file]
    assert drawn("ranking") == drawn() == []
