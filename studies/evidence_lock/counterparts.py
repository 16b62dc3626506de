"""What the paper states about each of our rows: no table of it is known here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from shared.reporting import published
from shared.reporting.results import Counterpart, told_of
from studies.evidence_lock.pairs import POOLED, REFERENCE

PAPER = "evidence_lock"

CLAUDE, GPT = "claude_sonnet_4_5", "gpt_5"
JUDGES = (CLAUDE, GPT)
"""The paper's two."""

SEVERAL = ("", POOLED)
"""The judge, or the data set, of a row that is about several."""

POINTS = 100.0
"""Percent and percentage points in one of our shares."""

DESIGN: Mapping[str, Any] = {"subset": "", "wording": 1, "temperature": 0.0, "writer": ""}
"""The paper's design, which a row has where it says nothing else; its letters and our names are one."""

PRINTED: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "agreement": {
        "structured": {CLAUDE: "014", GPT: "016"},
        "lock": {CLAUDE: "015", GPT: "017"},
        "pointwise_lock": {CLAUDE: "018", GPT: "019"},
    },
    "inconsistency": {"structured": {CLAUDE: "021"}, "lock": {CLAUDE: "022"}},
    "tokens": {"structured": {CLAUDE: "024"}, "lock": {CLAUDE: "023"}},
    "calls": {
        "structured": dict.fromkeys(JUDGES, "008"),
        "lock": dict.fromkeys(JUDGES, "009"),
        "pointwise_lock": dict.fromkeys(JUDGES, "010"),
    },
}
"""By quantity, scheme and judge, the statement that prints a number."""

STATED: Mapping[str, Mapping[str, tuple[str, int]]] = {
    "agreement": {"lock": ("013", -1)},
    "inconsistency": {"lock": ("020", 1)},
}
"""By quantity and scheme, the range in which a difference from `REFERENCE` is stated, and its sign: a loss is
printed without one."""

WITHOUT_A_ROW: Mapping[str, str] = {
    "025": "counts data sets over which the effects agree; `differences` tells each data set's own",
}
"""Results of the paper that no row of a table is about, and why."""


NONE = Counterpart()


class Cell(NamedTuple):
    """A printed number in our unit; without an id where it is computed from two."""

    id: str
    value: float


class Printed(NamedTuple):
    """What is printed of one quantity: by judge, and as one range over both (nan where it is not)."""

    cells: Mapping[str, Cell]
    stated: Counterpart = NONE


def claim(number: str) -> str:
    """The id of a statement of this paper; ``number`` is what stands after ``003-``."""
    return f"{PAPER}.claim.003-{number}"


def of(quantity: str, table: str, **names: Any) -> Counterpart:
    """The paper's number beside a row of our tables.

    Parameters
    ----------
    quantity, table : str
    **names
        What else names the row: judge, dataset, scheme, reference, subset, wording, temperature, writer. What
        is not told, nan or "" is that of `DESIGN`.

    Returns
    -------
    Counterpart
        The judge's own number comes first, then the range that is stated of both judges. Beside another
        judge stand the range over the two, or the one number where the text quotes one judge alone. It has no
        id where it is computed from two numbers, or a range over two. `NONE` where the paper prints nothing.

    Notes
    -----
    The paper's numbers are over its three data sets together: beside a row about one data set they are a
    range of no width, and no number of that data set. How it counts a judge's tie is not said; its agreement
    stands beside `agreement` alone, in which a tie is a disagreement.
    """
    told = told_of(names)
    if any(told.get(name, usual) != usual for name, usual in DESIGN.items()):
        return NONE
    printed = _printed(quantity, table, str(told.get("scheme", "")), str(told.get("reference", "")))
    return _beside(printed, str(told.get("judge", "")), str(told.get("dataset", "")))


# --- What is printed --------------------------------------------------------------------------------


@cache
def _printed(quantity: str, table: str, scheme: str, reference: str) -> Printed:
    """What the paper prints of one quantity under one scheme; nothing where it prints nothing."""
    match table:
        case "agreement" if quantity in ("agreement", "inconsistency"):
            return Printed(_of_scheme(quantity, scheme, POINTS))
        case "cost" if quantity in ("calls", "tokens"):
            return Printed(_of_scheme(quantity, scheme))
        case "cost" if quantity == "tokens_ratio":
            return Printed(_ratios(scheme))
        case "differences" | "bundle" if reference == REFERENCE:
            return Printed(_differences(quantity, scheme), _stated(quantity, scheme))
    return Printed({})


def _of_scheme(quantity: str, scheme: str, unit: float = 1.0) -> dict[str, Cell]:
    """The numbers of a scheme, by judge."""
    numbers = PRINTED.get(quantity, {}).get(scheme, {})
    return {
        judge: Cell(claim(number), published.value(claim(number)) / unit) for judge, number in numbers.items()
    }


def _differences(quantity: str, scheme: str) -> dict[str, Cell]:
    """A scheme's numbers less those of `REFERENCE`, of judges that have both."""
    ours, base = (_of_scheme(quantity, name, POINTS) for name in (scheme, REFERENCE))
    both = [judge for judge in ours if judge in base and scheme != REFERENCE]
    return {judge: Cell("", ours[judge].value - base[judge].value) for judge in both}


def _ratios(scheme: str) -> dict[str, Cell]:
    """A scheme's tokens over those of `REFERENCE`, of judges that have both."""
    ours, base = (_of_scheme("tokens", name) for name in (scheme, REFERENCE))
    both = [judge for judge in ours if judge in base and scheme != REFERENCE]
    return {judge: Cell("", ours[judge].value / base[judge].value) for judge in both}


def _stated(quantity: str, scheme: str) -> Counterpart:
    """The range in which a difference is stated, with its sign."""
    if scheme not in STATED.get(quantity, {}):
        return NONE
    number, sign = STATED[quantity][scheme]
    low, high = sorted(sign * end / POINTS for end in published.bounds(claim(number)))
    return Counterpart(claim(number), np.nan, low, high)


# --- Beside which row -------------------------------------------------------------------------------


def _beside(printed: Printed, judge: str, dataset: str) -> Counterpart:
    """The judge's own number, what is stated of both, or what is printed of the others."""
    if judge in SEVERAL:
        return NONE
    if judge in printed.cells:
        return _own(printed.cells[judge], over_all=dataset in SEVERAL)
    if printed.stated != NONE or judge in JUDGES:
        return printed.stated
    return _range_over(printed.cells.values())


def _own(cell: Cell, over_all: bool) -> Counterpart:
    if over_all:
        return Counterpart(cell.id, cell.value, np.nan, np.nan)
    return Counterpart(cell.id, np.nan, cell.value, cell.value)


def _range_over(cells: Iterable[Cell]) -> Counterpart:
    """From the least to the greatest; with the statement's id where all are one."""
    found = list(cells)
    if not found:
        return NONE
    ids, values = {cell.id for cell in found}, [cell.value for cell in found]
    return Counterpart(ids.pop() if len(ids) == 1 else "", np.nan, min(values), max(values))
