"""Readable examples of what the record lost: both answers with what is missing marked, record, verdicts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import pandas as pd

from shared.draws import number
from shared.frames import rows_of
from shared.metrics.resampling import Array
from shared.reporting.tables import fingerprints, markdown
from shared.reporting.tables import number as printed
from studies.evidence_lock.coverage import Vectors, sentences
from studies.evidence_lock.lost import GROUPS, covered, grouped, missing

SCHEME = "lock"

SHOWN = ("lost", "gained")

LONGEST = 700
"""Characters of a question that are shown."""

_VERDICTS = {"1": "answer 1", "2": "answer 2", "tie": "a tie"}

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|$~&!])")


@dataclass(frozen=True, slots=True)
class Side:
    """One answer, sentence by sentence, and what the record says on it."""

    name: str
    sentences: list[str]
    coverage: Array
    evidence: str


@dataclass(frozen=True, slots=True)
class Example:
    """One item in one order, as a judge saw it under Structured and under the lock.

    ``preferred`` is the label, ``why`` its reason where the data set says one; ``before`` and ``after`` are
    the verdicts of Structured and of the lock.
    """

    judge: str
    item: str
    order: str
    group: str
    context: str
    preferred: str
    why: str
    before: str
    after: str
    criteria: str
    sides: tuple[Side, Side]


def examples(judgements: pd.DataFrame, items: pd.DataFrame, vectors: Vectors, n: int = 10) -> list[Example]:
    """Units whose verdict the lock changed against the label or towards it.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``.
    items : DataFrame
        With ``item, context, answer_1, answer_2``, and ``told`` where a data set says why one is better.
    vectors : mapping
        Of all sentences.
    n : int
        How many at most.

    Returns
    -------
    list of Example
        ``lost`` first, then ``gained``, for a third of the places or as many as the losses leave. Each group
        is drawn by a hash of judge, item and order; an item is there once. The rule looks at no coverage.
    """
    units = _units(judgements)
    texts = {item["item"]: item for item in rows_of(items)}
    return [_example(unit, texts[unit["item"]], vectors) for unit in _drawn(units, n)]


def _units(judgements: pd.DataFrame) -> pd.DataFrame:
    units = grouped(judgements)
    return units[units["scheme"] == SCHEME]


def _drawn(units: pd.DataFrame, n: int) -> list[dict[str, Any]]:
    lost, gained = (sorted(rows_of(units[units["group"] == group]), key=_key) for group in SHOWN)
    lost = _once(lost)
    gained = _once(gained, {unit["item"] for unit in lost})
    n_gained = min(len(gained), max(n // 3, n - len(lost)))
    return [*lost[: n - n_gained], *gained[:n_gained]]


def _once(units: Sequence[dict[str, Any]], seen: Collection[str] = ()) -> list[dict[str, Any]]:
    first = {unit["item"]: unit for unit in reversed(units)}
    return [unit for unit in units if unit is first[unit["item"]] and unit["item"] not in seen]


def _key(unit: Mapping[str, Any]) -> int:
    return number("lost_examples", unit["judge"], unit["item"], unit["inspection"])


def _example(unit: Mapping[str, Any], item: Mapping[str, Any], vectors: Vectors) -> Example:
    return Example(
        unit["judge"],
        unit["item"],
        unit["inspection"],
        unit["group"],
        item["context"],
        unit["label"],
        item.get("told", ""),
        unit["verdict_reference"],
        unit["verdict"],
        unit["criteria"],
        (_side(unit, item, "1", vectors), _side(unit, item, "2", vectors)),
    )


def _side(unit: Mapping[str, Any], item: Mapping[str, Any], candidate: str, vectors: Vectors) -> Side:
    answer = item[f"answer_{candidate}"]
    found = covered(unit, answer, candidate, vectors)
    return Side(unit[f"name_{candidate}"], sentences(answer), found, unit[f"evidence_{candidate}"])


# --- The page ---------------------------------------------------------------------------------------


def examples_page(
    judgements: pd.DataFrame,
    items: pd.DataFrame,
    vectors: Vectors,
    threshold: float,
    profile: str = "",
    n: int = 10,
) -> str:
    """The examples as Markdown, after what they are drawn from.

    Parameters
    ----------
    judgements, items, vectors, n
        As for `examples`.
    threshold : float
        The cosine below which a sentence is marked as missing.
    profile : str
        Named where it is told.

    Returns
    -------
    str
        Where no verdict was lost or gained, the page says so.
    """
    parts = list(_head(_units(judgements), _basis(judgements, profile), threshold))
    for place, example in enumerate(examples(judgements, items, vectors, n), start=1):
        parts += _shown(place, example, threshold)
    return "\n\n".join(parts) + "\n"


def _head(units: pd.DataFrame, basis: str, threshold: float) -> Iterator[str]:
    yield "# What the record lost: examples"
    if units.empty:
        yield "*Not run: params ask no strict pair under both Structured and the lock.*"
        return
    yield basis
    yield (
        "`lost`: Structured is right and the lock is wrong; `kept`: both are right; `gained`: the lock is "
        "right and Structured is wrong; `neither`: both are wrong. Counted are pairs of answers in one order."
    )
    yield markdown(_counts(units))
    if not units["group"].isin(SHOWN).any():
        yield "*No verdict was lost or gained under the lock.*"
        return
    yield (
        "Below are pairs that were lost, then some that were gained, drawn by a hash of their names. After "
        "each sentence stands its cosine to the nearest sentence that the record has on the same answer; "
        f"**bold** is what falls below {printed(threshold)} and counts as missing. Whether the judge can do "
        "the task at all is on the page [competence](competence.md), whether losses differ from the rest on "
        "the page [lost](lost.md)."
    )


def _basis(judgements: pd.DataFrame, profile: str) -> str:
    marks = fingerprints(judgements)
    named = [f"{judge} (fingerprint {mark or 'none'})" for judge, mark in marks.items()]
    told = [f"Profile `{profile}`"] if profile else []
    return "; ".join([*told, f"judge: {', '.join(named)}"]) + "."


def _counts(units: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for judge, own in units.groupby("judge", sort=False):
        counts = {group: int((own["group"] == group).sum()) for group in GROUPS}
        rows.append({"judge": judge, **counts, "unparsed": int(own["group"].isna().sum())})
    return pd.DataFrame(rows)


def _shown(place: int, example: Example, threshold: float) -> Iterator[str]:
    yield f"## {place}. {example.group}: {plain(example.item)}"
    first = example.order[0]
    yield f"Judge {example.judge}; answer {first} stood first."
    yield f"> {plain(shorten(example.context, LONGEST, placeholder=' …'))}"
    why = f" {plain(example.why)}" if example.why else ""
    yield f"Preferred: answer {example.preferred}.{why}"
    yield f"Structured chose {_VERDICTS[example.before]}, the lock {_VERDICTS[example.after]}."
    for candidate, side in zip("12", example.sides, strict=True):
        better = ", preferred" if candidate == example.preferred else ""
        yield f"**Answer {candidate}**{better}, called {side.name}:"
        yield "\n".join(_marked(side, threshold))
    yield "**The record**"
    about = [(f"On {side.name}", side.evidence) for side in example.sides]
    yield "\n".join(f"- {of}: {plain(text)}" for of, text in [("Criteria", example.criteria), *about])


def _marked(side: Side, threshold: float) -> Iterator[str]:
    lacking = missing(side.coverage, threshold)
    for sentence, cosine, lost in zip(side.sentences, side.coverage, lacking, strict=True):
        text = f"**{plain(sentence)}**" if lost else plain(sentence)
        yield f"- {text} ({printed(cosine)})"


def plain(text: str) -> str:
    """A text in one line, whose markup is shown and not obeyed.

    >>> plain("a *b*\\n<i>c</i>")
    'a \\\\*b\\\\* \\\\<i\\\\>c\\\\</i\\\\>'
    """
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
