"""Judgements by script, as the stage ``judgements`` writes them: for tests only."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pandas as pd

CARRIER = {"blind": 1, "empty": 1, "truth": 1, "flip": 2, "placebo": 2}
FAVOURED = {"blind": "", "empty": "", "truth": "12", "flip": "21", "placebo": "21"}
ATTACKED = {"verbosity": 2, "confidence": 2}
SCHEMES = ("baseline", "forced", "scot", "pbp_once", "pbp_repeated")


def judgement(
    document: str,
    verdict: str | None,
    *,
    kind: str = "equal",
    scheme: str = "scot",
    probe: str = "blind",
    stage: str = "first",
    order: str = "12",
    system: str = "",
    spans: tuple[int, int] | None = None,
    level: int | None = None,
    scores: dict[str, dict[str, int]] | None = None,
) -> dict[str, object]:
    """One row; no verdict is an answer that could not be parsed. ``spans``: found, quoted."""
    item = ":".join(filter(None, (document, kind, system, str(level or ""))))
    found, quoted = spans or (None, None)
    carrier = (CARRIER | ATTACKED).get(probe, 1)
    return {
        "trial": f"{item}|{scheme}|{probe}|{order}",
        "item": item,
        "cluster": document,
        "kind": kind,
        "level": level or int(kind in ("damage", "qa_damage")),
        "scheme": scheme,
        "probe": probe,
        "reveal": stage != "first",
        "screen_order": order,
        "carrier": carrier,
        "favoured": FAVOURED.get(probe, "21" if carrier == 2 else "12"),
        "replicate": 0,
        "stage": stage,
        "status": "unparsed" if verdict is None else "ok",
        "verdict": verdict,
        "score_1": None,
        "score_2": None,
        "scores": json.dumps(scores) if scores else None,
        "rationale": None,
        "spans_found": found,
        "spans_quoted": quoted,
        "fingerprint": "0123456789ab",
        "parser": 1,
    }


def items_of(judgements: pd.DataFrame) -> pd.DataFrame:
    """The columns of the items table that the tables read."""
    items = judgements[["item", "kind"]].drop_duplicates()
    return items.assign(
        provenance_1="given",
        provenance_2=[f"tradml:{name}" if name else "llm" for name in map(system_of, items["item"])],
    )


def system_of(item: str) -> str:
    """The extractive system that an item's name ends in."""
    _, kind, *system = item.split(":")
    return "".join(system) if kind == "extractive" else ""


def every_arm(documents: int, damaged: str = "1") -> pd.DataFrame:
    """A judge that was asked everything; ``damaged``: what it says on damaged pairs, in both orders."""
    rows = []
    for scheme in SCHEMES:
        spans = (3, 4) if scheme.startswith("pbp") else None
        for number in range(documents):
            one, told = f"doc-{number:02d}", {"scheme": scheme, "spans": spans}
            # Alternating on equal pairs without a cue; with one, always its carrier; an empty one makes
            # every eighth a 1.
            free = "12"[number % 2] if scheme == "forced" else ("tie", "1", "tie", "2")[number % 4]
            says = {"blind": free, "empty": "1" if number % 8 == 0 else free}
            for probe, carrier in CARRIER.items():
                rows.append(judgement(one, says.get(probe, str(carrier)), probe=probe, **told))
            rows.append(judgement(one, "1", probe="flip", stage="reveal", **told))
            rows.append(judgement(one, "2", probe="flip", stage="control", **told))
            for probe in ("blind", "truth"):
                rows.append(judgement(one, free, kind="identical", probe=probe, **told))
            rows.append(judgement(one, "1", kind="extractive", system="textrank", **told))
            for order in ("12", "21"):
                rows.append(judgement(one, damaged, kind="damage", order=order, **told))
    return pd.DataFrame(rows)


def all_arms(documents: int, damaged: str = "1") -> pd.DataFrame:
    """`every_arm`, and the arms that the paper's main tables have no place for; with rationales."""
    rows = [row for number in range(documents) for row in _further(f"doc-{number:02d}", number, damaged)]
    return with_rationales(pd.concat([every_arm(documents, damaged), pd.DataFrame(rows)], ignore_index=True))


def _further(one: str, number: int, damaged: str) -> Iterator[dict[str, object]]:
    """A cue's carrier is picked under it; without one every other document's first text."""
    free = "12"[number % 2]
    for scheme in ("forced", "scot"):
        yield judgement(one, free, scheme=scheme, probe="resample")
    yield judgement(one, free if number else None, scheme="forced", probe="free")
    for probe, carrier in ATTACKED.items():
        for kind in ("equal", "identical"):
            yield judgement(one, str(carrier), scheme="forced", kind=kind, probe=probe)
    for probe, carrier in CARRIER.items():
        picked = free if probe in ("blind", "empty") else str(carrier)
        yield judgement(one, picked, scheme="pbp_grafted", probe=probe, spans=(3, 4))
        if probe != "empty":
            yield judgement(one, picked, scheme="forced", kind="samples", probe=probe)
            yield from _answers(one, picked, probe, damaged)
    for probe in ("relabel_llm", "relabel_tradml"):
        picked = "1" if probe == "relabel_llm" else "2"
        yield judgement(one, picked, scheme="forced", kind="extractive", system="textrank", probe=probe)
    yield from _pointwise(one, damaged)
    yield from _priced(one, damaged)


def _answers(one: str, picked: str, probe: str, damaged: str) -> Iterator[dict[str, object]]:
    yield judgement(f"q-{one}", picked, scheme="forced", kind="qa_equal", probe=probe)
    if probe == "blind":
        for order in ("12", "21"):
            yield judgement(f"q-{one}", damaged, scheme="forced", kind="qa_damage", level=3, order=order)


def _pointwise(one: str, damaged: str) -> Iterator[dict[str, object]]:
    rest = {"completeness": 5, "coherence_and_fluency": 5}
    given = {"1": {"factual_accuracy": 4, **rest}, "2": {"factual_accuracy": 3, **rest}}
    for probe in ("blind", "truth"):
        yield judgement(one, "1", scheme="pointwise", probe=probe, scores=given)
    for order in ("12", "21"):
        yield judgement(one, damaged, scheme="pointwise", kind="damage", order=order)


def _priced(one: str, damaged: str) -> Iterator[dict[str, object]]:
    """`every_arm` has the first error without labels."""
    for order, probe, level in itertools.product(("12", "21"), ("blind", "truth", "flip"), (None, 3)):
        if level or probe != "blind":
            picked = "2" if probe == "flip" and not level else damaged
            yield judgement(
                one, picked, scheme="forced", kind="damage", probe=probe, order=order, level=level
            )


def with_rationales(rows: pd.DataFrame) -> pd.DataFrame:
    """Each verdict explained; under a label with the label."""
    told = [
        _rationale(*row) if isinstance(row[0], str) else None
        for row in rows[["verdict", "screen_order", "probe", "kind"]].itertuples(index=False)
    ]
    return rows.assign(rationale=told)


def _rationale(verdict: str, order: str, probe: str, kind: str) -> str:
    candidate = "answer" if kind.startswith("qa_") else "summary"
    if verdict == "tie":
        return f"Neither {candidate} is better."
    why = "was written by LLM" if probe in ("truth", "flip") else "keeps the facts"
    return f"{candidate}_{order.index(verdict) + 1} is better because it {why}."
