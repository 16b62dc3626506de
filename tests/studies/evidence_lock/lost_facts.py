"""Judgements and texts whose coverage is known by hand: for tests only.

Each sentence names one fact; sentences on the same fact have the same vector, those on different facts
orthogonal ones. So a sentence is covered by 1 or by 0.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

FACTS = ("alpha", "beta", "gamma", "delta", "omega")

CRITERIA = "Names the facts."


class Facts(dict):
    """A vector of any sentence: which facts it names."""

    def __missing__(self, text: str) -> np.ndarray:
        words = re.findall(r"\w+", text.lower())
        return np.array([float(fact in words) for fact in FACTS])


def telling(*facts: str) -> str:
    """A sentence on each fact."""
    return " ".join(f"It names {fact} here." for fact in facts)


def items_of(
    n: int, better: tuple[str, ...] = ("alpha", "beta"), worse: tuple[str, ...] = ("gamma", "delta")
):
    """Pairs of answers on facts; the label is 1, 2, 1, ... Every second item shares its question."""
    rows = []
    for place in range(n):
        label = "12"[place % 2]
        texts = {label: telling(*better), "21"[place % 2]: telling(*worse)}
        rows.append(
            {
                "item": f"planted/{place}",
                "dataset": "planted",
                "subset": "",
                "cluster": f"planted/q{place}",
                "context": f"Question {place}?",
                "answer_1": texts["1"],
                "answer_2": texts["2"],
                "label": label,
                "rater": "human",
                "told": "",
            }
        )
    return pd.DataFrame(rows)


def judged(
    item: pd.Series,
    scheme: str,
    right: bool | None,
    better: str = "",
    worse: str = "",
    order: str = "12",
    **more: object,
) -> dict[str, object]:
    """One judgement; ``right`` None has no verdict, ``better`` and ``worse`` are the record's two texts."""
    label, other = item["label"], "21"["12".index(item["label"])]
    texts = {label: better, other: worse}
    row = {
        "judge": "scripted",
        "item": item["item"],
        "dataset": item["dataset"],
        "subset": "",
        "cluster": item["cluster"],
        "label": label,
        "rater": "human",
        "name_1": "Cedar",
        "name_2": "Willow",
        "scheme": scheme,
        "inspection": order,
        "decision": order,
        "record_chars": 600,
        "wording": 1,
        "naming": "neutral",
        "temperature": 0.0,
        "replicate": 0,
        "writer": "",
        "status": "unparsed" if right is None else "ok",
        "verdict": {None: None, True: label, False: other}[right],
        "criteria": CRITERIA,
        "evidence_1": texts["1"],
        "evidence_2": texts["2"],
        "fingerprint": "0123456789ab",
        **more,
    }
    told = (
        "scheme",
        "inspection",
        "decision",
        "record_chars",
        "wording",
        "naming",
        "temperature",
        "replicate",
    )
    return {**row, "trial": "|".join(str(row[name]) for name in ("item", *told))}


def both(
    item: pd.Series, before: bool | None, after: bool | None, better: str, worse: str, order: str = "12"
) -> list[dict[str, object]]:
    """Structured and the lock on one item in one order."""
    return [
        judged(item, "structured", before, order=order),
        judged(item, "lock", after, better, worse, order=order),
    ]
