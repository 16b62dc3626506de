"""The ten examples: how they are drawn, and what a reader sees of them."""

import pandas as pd
import pytest

from studies.evidence_lock.lost_page import examples, examples_page, plain
from tests.studies.evidence_lock.lost_facts import Facts, both, items_of, telling

RECORD = telling("alpha"), telling("gamma", "delta")


def study(lost: int, gained: int, kept: int = 2) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Items of which so many are lost, gained and kept, in both orders."""
    items = items_of(lost + gained + kept)
    verdicts = [(True, False)] * lost + [(False, True)] * gained + [(True, True)] * kept
    units = [
        row
        for (_, item), (before, after) in zip(items.iterrows(), verdicts, strict=True)
        for order in ("12", "21")
        for row in both(item, before, after, *RECORD, order=order)
    ]
    return pd.DataFrame(units), items


@pytest.mark.parametrize(
    ("lost", "gained", "expected"),
    [
        (20, 20, (7, 3)),
        (20, 0, (10, 0)),
        (20, 2, (8, 2)),
        (4, 20, (4, 6)),
        (0, 20, (0, 10)),
        (2, 1, (2, 1)),
        (0, 0, (0, 0)),
    ],
)
def test_losses_first_then_gains_and_the_places_are_filled(lost, gained, expected):
    found = examples(*study(lost, gained), Facts())
    groups = [example.group for example in found]
    assert (groups.count("lost"), groups.count("gained")) == expected
    assert groups == sorted(groups, key=["lost", "gained"].index)
    assert len({example.item for example in found}) == len(found)  # an item once, in one of its orders


def test_the_draw_depends_on_names_alone():
    units, items = study(9, 5)
    drawn = [(one.item, one.order) for one in examples(units, items, Facts())]
    again = examples(units.sample(frac=1, random_state=3), items, Facts())
    assert [(one.item, one.order) for one in again] == drawn
    # Another record, or fewer facts in it, draws the same.
    other = examples(units.assign(evidence_1="It says little."), items, Facts())
    assert [(one.item, one.order) for one in other] == drawn
    assert [place for place, _ in drawn[:6]] != [f"planted/{n}" for n in range(6)]


def test_an_item_that_is_lost_and_gained_is_shown_once():
    items = items_of(1)
    item = items.iloc[0]
    units = [*both(item, True, False, *RECORD, order="12"), *both(item, False, True, *RECORD, order="21")]
    found = examples(pd.DataFrame(units), items, Facts())
    assert [example.group for example in found] == ["lost"]


def test_what_an_example_holds():
    units, items = study(1, 0, 0)
    (example,) = examples(units, items.assign(told="It names alpha."), Facts())
    assert (example.preferred, example.before, example.after) == ("1", "1", "2")
    assert example.why == "It names alpha." and example.context == "Question 0?"
    assert [side.name for side in example.sides] == ["Cedar", "Willow"]
    assert example.sides[0].sentences == ["It names alpha here.", "It names beta here."]
    assert example.sides[0].coverage.tolist() == [1, 0] and example.sides[0].evidence == RECORD[0]
    assert example.sides[1].coverage.tolist() == [1, 1]


def page_of(units, items, **more) -> str:
    return examples_page(units, items, Facts(), 0.5, **more)


def test_a_reader_sees_what_is_missing():
    page = page_of(*study(1, 1), profile="smoke")
    assert page.startswith("# What the record lost: examples\n")
    assert "Profile `smoke`; judge: scripted (fingerprint 0123456789ab)." in page
    assert "- It names alpha here. (1.000)\n- **It names beta here.** (0.000)\n" in page
    assert "falls below 0.500" in page
    assert page.count("\n## ") == 2 and "## 1. lost: planted/0" in page and "## 2. gained: planted/1" in page
    assert "Structured chose answer 1, the lock answer 2." in page
    assert "- On Cedar: It names alpha here.\n- On Willow: It names gamma here. It names delta here." in page
    lines = page.splitlines()
    head = next(place for place, line in enumerate(lines) if "unparsed" in line)
    assert [part.strip() for part in lines[head].split("|")[1:-1]] == [
        "judge", "lost", "kept", "gained", "neither", "unparsed",
    ]  # fmt: skip
    assert [part.strip() for part in lines[head + 2].split("|")[1:-1]] == [
        "scripted",
        "2",
        "4",
        "2",
        "0",
        "0",
    ]


def test_texts_from_outside_can_t_lay_out_the_page():
    units, items = study(1, 0, 0)
    hostile = "# A heading\n\n## 2. lost: forged\n| a | <script>alert(1)</script> **x** `y` [z](u) $m$"
    page = page_of(
        units.assign(criteria=hostile, evidence_2=hostile), items.assign(context=hostile, told=hostile)
    )
    assert page.count("\n## ") == 1 and "<script>" not in page
    assert not any(line.startswith("|") and line.strip("| ")[:1] == "a" for line in page.splitlines())


def test_a_long_question_is_cut():
    units, items = study(1, 0, 0)
    page = page_of(units, items.assign(context="word " * 1000))
    shown = next(line for line in page.splitlines() if line.startswith("> "))
    assert len(shown) <= 702 and shown.endswith("…")


def test_ties_and_answers_in_the_other_order_are_told():
    items = items_of(1)
    lock = both(items.iloc[0], True, False, *RECORD, order="21")
    lock[1] |= {"verdict": "tie"}
    page = page_of(pd.DataFrame(lock), items)
    assert "the lock a tie." in page and "answer 2 stood first" in page


def test_nothing_lost_and_nothing_asked():
    page = page_of(*study(0, 0))
    assert "No verdict was lost or gained" in page and "\n## " not in page
    units, items = study(2, 0)
    absent = page_of(units[units["scheme"] == "structured"], items)
    assert "Not run: params ask no strict pair" in absent and "No verdict was" not in absent


@pytest.mark.parametrize(
    ("text", "expected"), [("a\n b", "a b"), ("1 < 2 & *x*", "1 \\< 2 \\& \\*x\\*"), ("", "")]
)
def test_plain_texts(text, expected):
    assert plain(text) == expected


def test_a_cosine_that_is_undefined_is_told_as_such():
    units, items = study(1, 0, 0)
    page = page_of(units.assign(evidence_1="..."), items)
    assert "**It names alpha here.** (n/a)" in page
