"""A judge with a known accuracy and a known sensitivity to place, from its prompts to the tables' rows."""

import json

import numpy as np
import pandas as pd
import pytest

from shared.draws import number
from shared.metrics.resampling import Inference
from studies.evidence_lock.agreement import agreement_rows
from studies.evidence_lock.design import design
from studies.evidence_lock.judgements import judgements
from studies.evidence_lock.pairs import pairs
from studies.evidence_lock.params import Section
from tests.studies.evidence_lock.small_study import PARAMS, play

ITEMS = 120
RIGHT = 0.8
FOLLOWS_PLACE = {"structured": 0.1, "lock": 0.5, "pointwise_lock": 0.3}
"""How often the judge takes what stands first, whatever it says; else it is right with `RIGHT`."""

SCHEMES = list(FOLLOWS_PLACE)


@pytest.fixture(scope="module")
def texts():
    """Pairs of which half have the better answer first: a place is no candidate."""
    label = np.where(np.arange(ITEMS) % 2 == 0, "1", "2")
    answers = {f"answer_{side}": np.where(label == side, "At nine.", "At ten.") for side in "12"}
    about = {"subset": "", "rater": "intended", "margin": np.nan, "n_raters": np.nan}
    names = [f"embedded/{at}" for at in range(ITEMS)]
    told = {"item": names, "cluster": names, "dataset": "embedded", "context": "When does it leave?"}
    return pd.DataFrame({**told, **answers, "label": label, **about, "reason": "", "told": ""})


@pytest.fixture(scope="module")
def params():
    told = PARAMS.model_dump() | {"sets": {"main": {"items": None, "schemes": SCHEMES}}}
    return Section.model_validate(told)


def chance(item, *names):
    """A number in [0, 1) that is the same in every trial of the item under the scheme."""
    return number(item, *names) % 10_000 / 10_000


def follows_place(item, scheme):
    return chance(item, scheme, "place") < FOLLOWS_PLACE[scheme]


def is_right(item, scheme):
    return chance(item, scheme, "right") < RIGHT


def verdict(request, scheme, better):
    """The schema lists the two names as the call shows them, then the tie."""
    first, second, tie = request.schema["properties"]["verdict"]["enum"]
    assert tie == "tie"
    if follows_place(request.item, scheme):
        return first
    other = second if better == first else first
    return better if is_right(request.item, scheme) else other


def script(better_of, schemes):
    """The judge: it knows the better answer's name, and by ``schemes`` under which scheme it is asked."""

    def answer(request):
        item, scheme = request.item, schemes()
        asked = request.schema["properties"]
        said = {}
        for name, form in asked.items():
            if name == "verdict":
                said[name] = verdict(request, scheme, better_of[item])
            elif name == "evidence":
                said[name] = {called: f"{called} gives a time." for called in form["properties"]}
            else:
                said[name] = "A good answer gives the time."
        return json.dumps(said)

    return answer


@pytest.fixture(scope="module")
def judged(texts, params):
    trials = design(texts, params, seed=1)
    label = texts.set_index("item")["label"]
    better_of = {row.item: getattr(row, f"name_{label[row.item]}") for row in trials.itertuples()}
    parts = []
    for scheme, own in trials.groupby("scheme", sort=False):
        responses = play(own, script(better_of, lambda scheme=scheme: scheme), params, texts)
        parts.append(judgements(own, responses, texts))
    return pd.concat(parts, ignore_index=True).assign(judge="planted")


@pytest.fixture(scope="module")
def rows(judged):
    return agreement_rows(pairs(judged), np.random.default_rng(0), Inference(resamples=500, permutations=500))


def the(rows, quantity, scheme):
    [found] = rows[(rows["quantity"] == quantity) & (rows["scheme"] == scheme)].to_dict("records")
    return found


def test_every_answer_is_read_and_both_orders_are_asked(judged):
    assert len(judged) == ITEMS * 2 * len(SCHEMES) and judged["status"].eq("ok").all()
    assert judged.groupby(["scheme", "decision"]).size().eq(ITEMS).all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_was_planted_is_what_is_counted(rows, texts, scheme):
    """To the last pair: whoever follows the place changes, and is right in one order of two."""
    place = np.array([follows_place(item, scheme) for item in texts["item"]])
    right = np.array([is_right(item, scheme) for item in texts["item"]])
    assert the(rows, "inconsistency", scheme)["value"] == pytest.approx(place.mean())
    expected = np.where(place, 0.5, right).mean()
    assert the(rows, "agreement", scheme)["value"] == pytest.approx(expected)
    assert the(rows, "first_shown", scheme)["value"] == pytest.approx(place.mean())
    assert the(rows, "tie_rate", scheme)["value"] == 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_intervals_hold_what_was_planted(rows, scheme):
    q = FOLLOWS_PLACE[scheme]
    for quantity, planted in (("inconsistency", q), ("agreement", q / 2 + (1 - q) * RIGHT)):
        found = the(rows, quantity, scheme)
        assert found["ci_low"] <= planted <= found["ci_high"], quantity
        assert found["ci_high"] - found["ci_low"] < 0.25
