"""What the stages left, and answers as a reader reads them: nothing is lost, and nothing in it is obeyed."""

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import UserError
from shared.reporting.notebooks import load_asked, none_asked, readable, to_read


@pytest.fixture
def left(tmp_path, monkeypatch):
    """What the stages of a study left: two items, one judge asked about one of them."""
    monkeypatch.chdir(tmp_path)
    folder = Path("data/study")
    for name, rows in {
        "items": {"item": ["i", "j"], "text": ["One.", "Two."]},
        "trials": {"trial": ["t"], "item": ["i"]},
        "responses/one": {"trial": ["t"], "text": ["1"]},
        "judgements/one": {"trial": ["t"], "status": ["ok"]},
    }.items():
        file = folder / f"{name}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_parquet(file)
    return folder


def test_what_the_stages_left_is_read(left):
    found = load_asked("study", "one")
    assert found.items["j"] == {"item": "j", "text": "Two."}
    assert (len(found.trials), *found.responses["text"], *found.judgements["status"]) == (1, "1", "ok")
    assert list(none_asked(found.trials.columns).trials) == ["trial", "item"]


def test_who_shows_no_judgement_needs_none(left):
    (left / "judgements" / "one.parquet").unlink()
    assert load_asked("study", "one", judged=False).judgements.empty
    with pytest.raises(UserError, match=r"judgements/one\.parquet: absent"):
        load_asked("study", "one")


def test_an_absent_file_is_told_with_its_fix(left):
    with pytest.raises(UserError, match=r"responses/another\.parquet: absent"):
        load_asked("study", "another")
    with pytest.raises(UserError, match=r"^data/other/items\.parquet: absent; .*make repro\)$"):
        load_asked("other", "one")


def test_json_is_read_out():
    # by hand: fields at the top are apart by "; ", nested ones in brackets
    scored = {"summary_1": {"accuracy": 4, "fluency": 5}, "rationale": "Fine."}
    assert readable(json.dumps(scored)) == "summary_1 (accuracy: 4, fluency: 5); rationale: Fine."
    assert readable('{"a": {"b": {"c": "d"}}}') == "a (b (c: d))"


@pytest.mark.parametrize(
    "text", ["", "{}", "[1, 2]", "7", '"tie"', '{"verdict": "t', "Verdict: tie", "[" * 5000]
)
def test_what_is_no_json_object_stays_as_it_is(text):
    assert readable(text) == text


LEAVES = st.text(min_size=1) | st.integers() | st.booleans()
NESTED = st.recursive(LEAVES, lambda inner: st.dictionaries(st.text(), inner, min_size=1), max_leaves=8)


@given(st.dictionaries(st.text(), NESTED, min_size=1))
def test_nothing_that_was_said_is_lost(fields):
    said = readable(json.dumps(fields))

    def leaves(value):
        return (
            [leaf for part in value.values() for leaf in leaves(part)] if isinstance(value, dict) else [value]
        )

    assert all(str(leaf) in said for leaf in leaves(fields))


@given(st.text())
def test_any_answer_can_be_shown(text):
    assert readable(text) == text or text.lstrip().startswith("{")


def test_markup_in_an_answer_is_shown_and_not_obeyed():
    html = to_read(pd.DataFrame({"said": ["</summary_1><b>bold</b>"]})).to_html()
    assert "&lt;/summary_1&gt;&lt;b&gt;bold&lt;/b&gt;" in html and "<b>" not in html
