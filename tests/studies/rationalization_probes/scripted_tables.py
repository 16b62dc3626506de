"""Tables by script, as the stage ``tables`` writes them, for the figures that draw them: for tests only."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import pandas as pd

from studies.rationalization_probes.results import COLUMNS

SCHEMES = ("baseline", "forced", "scot", "pbp_once")
GATES = {"sound": "passed", "failing": "failed"}


def row(quantity: str, value: float, half: float = 0.1, **columns: object) -> dict[str, object]:
    """An estimate with an interval of value -/+ half, of a judge that passed the gate."""
    told = {"quantity": quantity, "value": value, "ci_low": value - half, "ci_high": value + half}
    sizes = {"n_items": 16, "n_clusters": 16, "n_unparsed": 0}
    texts = {"coding": "", "over": "", "wording": "", "gate": "passed", "note": "", "kind": "equal"}
    return {"judge": "sound", "scheme": "scot", "condition": "truth", **told, **sizes, **texts, **columns}


def table(rows: Iterable[dict[str, object]], *extra: str) -> pd.DataFrame:
    """Rows as a frame of all columns."""
    return pd.DataFrame(list(rows), columns=[*COLUMNS, *extra])


def cells(judges: Sequence[str], schemes: Sequence[str]) -> Iterable[dict[str, object]]:
    """What names each judge, with its gate, and scheme."""
    for judge, scheme in itertools.product(judges, schemes):
        yield {"judge": judge, "scheme": scheme, "gate": GATES.get(judge, "too few to tell")}


def drift(judges: Sequence[str] = ("sound",), schemes: Sequence[str] = SCHEMES) -> pd.DataFrame:
    """Drift under three cues 0.4, under the floors 0.1 and 0.2; over all pairs 0.9."""
    values = {"truth": 0.4, "flip": 0.4, "placebo": 0.4, "empty": 0.1, "resample": 0.2}
    return table(
        row("drift", value, condition=condition, over=over, **cell)
        for cell in cells(judges, schemes)
        for condition, same in values.items()
        for over, value in (("same", same), ("all", 0.9))
    )


def alignment(judges: Sequence[str] = ("sound",), schemes: Sequence[str] = SCHEMES) -> pd.DataFrame:
    """LAI 0.7 as a mean over wordings, 0.6 on Blind's rationales; one wording alone gives 0.95."""
    values = {("lai", "mean"): 0.7, ("lai_blind", "mean"): 0.6, ("lai", "1"): 0.95, ("lai_blind", "1"): 0.95}
    return table(
        row(quantity, value, 0.05, condition=condition, over="same", wording=wording, **cell)
        for cell in cells(judges, schemes)
        for condition in ("truth", "flip", "placebo")
        for (quantity, wording), value in values.items()
    )


def attack(name: str, judges: Sequence[str] = ("sound",), schemes: Sequence[str] = SCHEMES) -> pd.DataFrame:
    """LAO 0.5, LDS 0.1, drift 0.15, cue-aligned share 0.6; on identical pairs all 0.9."""
    noise = {"null_low": 0.0, "null_high": 0.6, "floor_value": 0.3, "floor_low": 0.1, "floor_high": 0.5}
    values = {
        ("lao", "", ""): 0.5,
        ("lds", "", ""): 0.1,
        ("drift", "same", ""): 0.15,
        ("lai", "same", "mean"): 0.6,
    }
    return table(
        row(
            quantity, value if kind == "equal" else 0.9, 0.02,
            condition=name, over=over, wording=wording, kind=kind, **cell, **noise,
        )
        for cell in cells(judges, schemes)
        for kind in ("equal", "identical")
        for (quantity, over, wording), value in values.items()
    )  # fmt: skip


def invariance(
    judges: Sequence[str] = ("sound",), schemes: Sequence[str] = SCHEMES, *, floor: float = 0.1
) -> pd.DataFrame:
    """Each scheme further from 0, 0 than the one before; sensitivity 0.5."""
    floors = {"floor_low": -floor, "floor_high": floor / 2}
    shifts = [
        row(quantity, 0.1 * step * size, 0.05, condition="", **cell, **floors)
        for cell, step in zip(cells(judges, schemes), itertools.count(), strict=False)
        for quantity, size in (("outcome_shift", 1), ("rationale_shift", 0.5))
    ]
    real = [
        row("sensitivity", 0.5, condition="blind", kind="damage", **cell) for cell in cells(judges, schemes)
    ]
    return table([*shifts, *real])


def price(judges: Sequence[str] = ("sound",), schemes: Sequence[str] = SCHEMES) -> pd.DataFrame:
    """Sensitivity 0.2 a level, ties 0.5; under Truth all 0.9. A failing judge has no price."""
    rows = []
    for cell in cells(judges, schemes):
        for level, (condition, factor) in itertools.product((1, 2, 3), (("blind", 1.0), ("truth", 4.0))):
            told = {"kind": "damage", "condition": condition, "wording": f"{level} errors", **cell}
            rows += [
                row("sensitivity", min(0.2 * level * factor, 0.9), **told),
                row("tie_rate", 0.5 if condition == "blind" else 0.9, **told),
            ]
        told = {"kind": "damage", "condition": "labels", **cell}
        if cell["gate"] == "failed":
            nan = float("nan")
            why = {"wording": "n/a: the judge does not react to errors"}
            rows.append(row("price_in_errors", nan, **told) | why)
        else:
            rows.append(row("price_in_errors", 1.5, 0.5, **told))
    return table(rows)


TURNS = {
    "judge": ("document, both candidates, cue", "verdict, rationale"),
    "notes": ("document, both candidates, cue", "notes with quotations"),
    "score": ("locked notes, cue", "scores"),
    "reveal": ("its own answer, cue", "scores"),
    "control": ("its own answer", "scores"),
    "narrate": ("locked notes", "rationale"),
    "score_1": ("document, one candidate, cue", "scores"),
    "score_2": ("document, one candidate, cue", "scores"),
}
STEPS = {
    "forced": ("judge", "reveal", "control"),
    "pbp_once": ("notes", "score", "reveal", "control", "narrate"),
    "pointwise": ("score_1", "score_2"),
}


def protocols(judges: Sequence[str] = ("sound",), schemes: Sequence[str] = tuple(STEPS)) -> pd.DataFrame:
    """12 calls of each turn and judge."""
    return table(
        (
            row("calls", 12, step=step, position=position, sees=sees, makes=makes, count=12)
            | {"judge": judge, "scheme": scheme}
            for judge, scheme in itertools.product(judges, schemes)
            for position, step in enumerate(STEPS[scheme], start=1)
            for sees, makes in [TURNS[step]]
        ),
        "step", "position", "sees", "makes",
    )  # fmt: skip


def all_tables(judges: Sequence[str] = ("sound", "failing")) -> dict[str, pd.DataFrame]:
    """Every table that is made here, by name."""
    return {
        "protocols": protocols(judges),
        "rationale_drift": drift(judges),
        "rationale_alignment": alignment(judges),
        "attack_verbosity": attack("verbosity", judges),
        "attack_confidence": attack("confidence", judges),
        "invariance": invariance(judges),
        "price": price(judges),
    }
