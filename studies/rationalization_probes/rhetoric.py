"""What rationales state and argue from: consistency and stereotype intrusion.

The paper names both and defines neither. Consistency is the agreement of the verdict with the preference
that the rationale states; stereotype intrusion is the share of rationales that argue from the source label.
The scorers read single rationales (`stated_preference`, `argues_from_label`) and are checked against
labelled examples (`precision_recall`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from shared.errors import UserError
from shared.frames import cells
from shared.judge.stated import Stated, stated_preference
from shared.metrics.resampling import (
    Array,
    Inference,
    named_generator,
    rate_interval,
    ratio,
    signed_interval,
)
from studies.rationalization_probes.label_argument import argues_from_label
from studies.rationalization_probes.pairing import cued_cells, of_stage
from studies.rationalization_probes.rows import entropy_of, frame, row, signed_test
from studies.rationalization_probes.tasks import task_of

__all__ = [
    "argues_from_label",
    "consistency",
    "intrusion",
    "load_examples",
    "precision_recall",
    "stated_preference",
]

CELL = ("judge", "scheme", "kind", "probe")
STATES: tuple[Stated, ...] = get_args(Stated)
Flags = npt.NDArray[np.bool_]
ORIGINS = ("hand-made", "real")
"""Where labelled examples come from: written for the check, or a judge's own."""


# --- Metrics ------------------------------------------------------------------------------------------


def consistency(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """How often the rationale states what the verdict is.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; only the stage ``first`` is used.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, one row a judge, scheme, kind, probe and quantity. ``consistency_rate``: of the
        rationales that state a preference, a tie among them, those that state the verdict's; nan where none
        states any. ``states_rate``: of all rationales, those that state one. A stated tie agrees with a tie
        alone, so never with a forced choice. ``n_unparsed`` counts the judgements without a rationale.
    """
    entropy = entropy_of(rng)
    rows = []
    for names, cell in cells(of_stage(judgements, "first"), CELL):
        told = cell[_has_rationale(cell)]
        stated = told.assign(stated=_stated_identities(told))
        stating = stated[stated["stated"] != "none"]
        without = {"n_unparsed": len(cell) - len(told)}
        for quantity, used, hits in (
            ("consistency_rate", stating, stating["stated"] == stating["verdict"]),
            ("states_rate", stated, stated["stated"] != "none"),
        ):
            rows.append(_rate_row(quantity, names, used, cell, hits, entropy, inference) | without)
    return frame(rows)


def intrusion(
    judgements: pd.DataFrame, labels: Mapping[str, str], rng: np.random.Generator, inference: Inference
) -> pd.DataFrame:
    """How often rationales argue from the source label or the badge.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; each judgement under a cue is paired with Blind's of the same item, screen order and
        replicate.
    labels : mapping of str to str
        The cues' words, as in params.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`. ``intrusion_rate``: the share of rationales under each probe, Blind too, in [0, 1].
        ``intrusion_excess``: what a probe adds to Blind's rationale of the same pair, in [-1, 1], with ``p``
        (sign flips of whole clusters, not corrected) and ``mde``; Blind's own rate is the scorer's false
        alarms, for nothing names a source there. ``n_unparsed`` counts what lacks a rationale, or one of
        the two.

    Raises
    ------
    ValueError
        If a judgement has no Blind to be compared with, or several.
    """
    entropy = entropy_of(rng)
    rows = []
    for names, cell in cells(of_stage(judgements, "first"), CELL):
        told = cell[_has_rationale(cell)]
        argued = _argued(told["rationale"], labels)
        rows.append(_rate_row("intrusion_rate", names, told, cell, argued, entropy, inference))
    for names, cell in cued_cells(judgements):
        both = cell[cell["parsed"] & cell["rationale"].notna() & cell["rationale_blind"].notna()]
        excess = _argued(both["rationale"], labels) - _argued(both["rationale_blind"], labels)
        rows.append(_excess_row(names, both, cell, excess, entropy, inference))
    return frame(rows)


def _has_rationale(cell: pd.DataFrame) -> pd.Series:
    return (cell["status"] == "ok") & cell["rationale"].notna()


def _stated_identities(told: pd.DataFrame) -> list[str]:
    """What each rationale states, a place on the screen turned into the identity that stood there."""
    return [
        _identity(stated_preference(rationale, task_of(kind).candidate), order)
        for rationale, kind, order in zip(told["rationale"], told["kind"], told["screen_order"], strict=True)
    ]


def _identity(stated: Stated, screen_order: str) -> str:
    return {"first": screen_order[0], "second": screen_order[1]}.get(stated, stated)


def _argued(rationales: pd.Series, labels: Mapping[str, str]) -> Array:
    return np.array([argues_from_label(rationale, labels) for rationale in rationales], dtype=float)


def _rate_row(
    quantity: str,
    names: dict[str, str],
    used: pd.DataFrame,
    cell: pd.DataFrame,
    hits: npt.ArrayLike,
    entropy: int,
    inference: Inference,
) -> dict[str, Any]:
    generator = named_generator(entropy, quantity, *names.values())
    found = rate_interval(hits, used["cluster"], generator, inference)
    return row(quantity, names, used, cell, found) | {"count": int(np.sum(hits))}


def _excess_row(
    names: dict[str, str],
    both: pd.DataFrame,
    cell: pd.DataFrame,
    excess: Array,
    entropy: int,
    inference: Inference,
) -> dict[str, Any]:
    generator = named_generator(entropy, "intrusion_excess", *names.values())
    found = signed_interval(excess, both["cluster"], generator, inference)
    return row("intrusion_excess", names, both, cell, found) | signed_test(excess, both, generator, inference)


# --- The scorers, checked -----------------------------------------------------------------------------


def precision_recall(examples: pd.DataFrame, labels: Mapping[str, str], inference: Inference) -> pd.DataFrame:
    """How well the scorers read rationales that people have labelled.

    Parameters
    ----------
    examples : DataFrame
        From `load_examples`: the truth and the rationale.
    labels : mapping of str to str
        The cues' words, as in params.
    inference : Inference
        ``confidence`` is used.

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, ``condition`` being the examples' origin. ``precision`` and ``recall`` of each
        class of what is stated and of ``stereotype`` (``wording``), and ``accuracy`` of both scorers
        (``wording``: ``states``, ``stereotype``), with Wilson's interval over examples; nan where no
        example is in the denominator. ``n_trials`` is the denominator, ``count`` what was read right in it.
    """
    rows = []
    for origin, group in examples.groupby("origin", sort=False):
        for quantity, wording, right in _readings(group, labels):
            rows.append({"condition": origin, **_wilson_row(quantity, wording, right, inference)})
    return frame(rows)


def _readings(group: pd.DataFrame, labels: Mapping[str, str]) -> Iterator[tuple[str, str, Flags]]:
    """Each quantity with what it is about, and for each example of its denominator whether it was right."""
    states = np.array([stated_preference(rationale) for rationale in group["rationale"]])
    argued = _argued(group["rationale"], labels) > 0
    truth = group["states"].to_numpy()
    yield "accuracy", "states", states == truth
    for name in STATES:
        yield from _of_class(name, states == name, truth == name)
    stereotype = group["stereotype"].to_numpy(dtype=bool)
    yield "accuracy", "stereotype", argued == stereotype
    yield from _of_class("stereotype", argued, stereotype)


def _of_class(name: str, found: Flags, true: Flags) -> Iterator[tuple[str, str, Flags]]:
    yield "precision", name, true[found]
    yield "recall", name, found[true]


def _wilson_row(quantity: str, wording: str, right: Flags, inference: Inference) -> dict[str, Any]:
    n, hits = len(right), int(right.sum())
    low, high = (np.nan, np.nan)
    if n:
        low, high = proportion_confint(hits, n, alpha=inference.alpha, method="wilson")
    value = {"value": float(ratio(hits, n)), "ci_low": float(low), "ci_high": float(high)}
    return {"quantity": quantity, "wording": wording, **value, "count": hits, "n_items": n, "n_trials": n}


def load_examples(path: Path) -> pd.DataFrame:
    """Labelled rationales, from a ``.jsonl`` file or from all such files of a folder.

    Parameters
    ----------
    path : Path
        Each line is an object with ``rationale`` (text), ``states`` (first, second, tie, none: by place on
        the screen), ``stereotype`` (true, false) and ``origin`` (hand-made, real); other keys are left out.

    Returns
    -------
    DataFrame
        One row an example, with these four columns.

    Raises
    ------
    UserError
        If there is no file or no example, or a line is not as it should be; it names the line and the key.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not all(file.is_file() for file in files):
        raise UserError(
            f"{path}: absent; it should be a .jsonl file of labelled rationales, or a folder of them"
        )
    rows = [example for file in files for example in _examples(file)]
    if not rows:
        raise UserError(f"{path}: holds no example; give one JSON object a line, in files named *.jsonl")
    return pd.DataFrame(rows, columns=list(_EXPECTED))


def _examples(file: Path) -> Iterator[dict[str, Any]]:
    for at, line in enumerate(file.read_bytes().split(b"\n"), start=1):
        if line.strip():
            yield _example(line, f"{file}:{at}")


def _example(line: bytes, where: str) -> dict[str, Any]:
    try:
        example = json.loads(line)
    except (ValueError, RecursionError):
        example = None
    if not isinstance(example, dict):
        raise UserError(f"{where}: not a JSON object; write one example a line")
    for key, (allowed, words) in _EXPECTED.items():
        value = example.get(key)
        if not (isinstance(value, str) and value.strip() if allowed is None else _is_one_of(value, allowed)):
            raise UserError(f"{where}: {key} is {value!r}; it should be {words}")
    return {key: example[key] for key in _EXPECTED}


def _is_one_of(value: object, allowed: tuple[object, ...]) -> bool:
    """Whether it is one of them and of the same type: 1 is no ``true``."""
    return any(type(value) is type(one) and value == one for one in allowed)


_EXPECTED: dict[str, tuple[tuple[object, ...] | None, str]] = {
    "rationale": (None, "a text"),
    "states": (STATES, ", ".join(STATES)),
    "stereotype": ((True, False), "true or false"),
    "origin": (ORIGINS, " or ".join(ORIGINS)),
}
"""The keys of an example: what each may be (None: any text that is not empty), and how that is said."""
