"""Judgements by script, as the stage ``judgements`` writes them: for tests only."""

from __future__ import annotations

import pandas as pd

CARRIER = {"blind": 1, "empty": 1, "truth": 1, "flip": 2, "placebo": 2}
FAVOURED = {"blind": "", "empty": "", "truth": "12", "flip": "21", "placebo": "21"}


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
) -> dict[str, object]:
    """One row; no verdict is an answer that could not be parsed. ``spans``: found, quoted."""
    item = ":".join(filter(None, (document, kind, system)))
    found, quoted = spans or (None, None)
    return {
        "trial": f"{item}|{scheme}|{probe}|{order}",
        "item": item,
        "cluster": document,
        "kind": kind,
        "level": 1 if kind == "damage" else 0,
        "scheme": scheme,
        "probe": probe,
        "reveal": stage != "first",
        "screen_order": order,
        "carrier": CARRIER[probe],
        "favoured": FAVOURED[probe],
        "replicate": 0,
        "stage": stage,
        "status": "unparsed" if verdict is None else "ok",
        "verdict": verdict,
        "score_1": None,
        "score_2": None,
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
    return "".join(item.split(":")[2:])


def every_arm(documents: int, damaged: str = "1") -> pd.DataFrame:
    """A judge that was asked everything; ``damaged``: what it says on damaged pairs, in both orders."""
    schemes = ("baseline", "forced", "scot", "pbp_once", "pbp_repeated")
    rows = []
    for scheme in schemes:
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
