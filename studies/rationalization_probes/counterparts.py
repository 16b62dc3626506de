"""What the paper printed beside each of our quantities, from its counts by the study's own equations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from shared.metrics.resampling import Array
from shared.reporting import published
from studies.rationalization_probes.equations import (
    OUTCOMES,
    Shifts,
    Side,
    edr,
    lao,
    lds,
    neutrality_deviation,
    neutrality_signed,
    ols,
    outcome_shares,
    shifts,
    ts,
)

PAPER = "rationalization_probes"

SCHEMES: Mapping[str, str] = {
    "forced": "baseline",
    "scot": "scot",
    "pbp_once": "pbp",
    "pbp_repeated": "pbp",
}
"""The paper's name of each scheme. Its baseline could not tie: our ``baseline``, which can, has none."""

SYSTEMS: Mapping[str, str] = {
    "lexrank": "lexrank",
    "textrank": "textrank",
    "klsum": "kl_sum",
    "sumbasic": "sumbasic",
}
"""The paper's name of each extractive system (Table 9)."""

_OUTCOME_TABLES = {"blind": 2, "truth": 3, "flip": 4, "placebo": 5}
_SHIFT_TABLES = {"truth": 6, "flip": 7, "placebo": 8}
_SHIFTS_PRINTED = ("lds", "ols", "ts")

_OF_SHARES: Mapping[str, Callable[[Array], Array]] = {
    "share_12": lambda shares: shares[..., 0],
    "share_21": lambda shares: shares[..., 1],
    "share_tie": edr,
    "neutrality_signed": neutrality_signed,
    "neutrality_deviation": neutrality_deviation,
}
_OF_SHIFTS: Mapping[str, Callable[[Shifts], Array]] = {
    "cue_effect": lambda shift: shift.favoured,
    "tie_change": lambda shift: shift.tie,
    "shift_favoured": lambda shift: shift.favoured,
    "shift_opposite": lambda shift: shift.opposite,
    "shift_tie": lambda shift: shift.tie,
    "lds": lds,
    "ols": ols,
    "ts": ts,
    "lao": lao,
}


class Cell(NamedTuple):
    """A printed cell: its id, and what it says in our unit (a printed count as a share of its row)."""

    id: str
    value: float


class Counterpart(NamedTuple):
    """The paper's five judges on one quantity.

    ``values`` maps a judge's slug to the value that follows from the paper's counts; it is empty where the
    paper has no such quantity. ``cells`` maps a slug to the cell that prints the quantity; one that takes
    several cells to compute has none. The two can differ where the paper contradicts itself.
    """

    values: Mapping[str, float]
    cells: Mapping[str, Cell]

    @property
    def span(self) -> tuple[float, float]:
        """The least and the largest of the five; nan, nan where none is defined."""
        defined = [value for value in self.values.values() if not np.isnan(value)]
        return (min(defined), max(defined)) if defined else (np.nan, np.nan)

    def of(self, judge: str) -> Cell:
        """One judge's cell; one without an id where its value is only computed, nan for any other judge."""
        return self.cells.get(judge, Cell("", self.values.get(judge, np.nan)))


NONE = Counterpart({}, {})


def of(
    quantity: str, kind: str, scheme: str, condition: str, coding: str = "carrier", system: str = ""
) -> Counterpart:
    """The paper's numbers beside a row of our tables.

    Parameters
    ----------
    quantity, kind, scheme, condition, coding
        As the frames of `metrics` name them.
    system : str
        Of an extractive pair, as its provenance names it.

    Returns
    -------
    Counterpart
        `NONE` where the paper has no such quantity. Shares are of each printed row's own total: two rows
        add up to 1,005. Tables 9 and 10 tell no scheme, so that their numbers stand beside every scheme;
        Table 10 had the labels shown, so that it stands beside Truth and Flip alone. Shifts on equal pairs
        follow from the counts of Tables 2-5; those that Tables 6-8 print are of two samples.
    """
    if kind == "extractive" and quantity in _OF_SHARES and system in SYSTEMS:
        return _shares(9, SYSTEMS[system], quantity)
    if kind == "identical" and quantity in _OF_SHARES and condition in ("truth", "flip"):
        return _shares(10, "identical", quantity)
    if scheme not in SCHEMES:
        return NONE
    if kind == "samples" and quantity in _SHIFTS_PRINTED and condition in _SHIFT_TABLES:
        return _printed_shifts(quantity, SCHEMES[scheme], condition, coding)
    if kind != "equal":
        return NONE
    if quantity in _OF_SHARES and condition in _OUTCOME_TABLES:
        return _shares(_OUTCOME_TABLES[condition], f"{SCHEMES[scheme]}.{condition}", quantity)
    if quantity in _OF_SHIFTS and condition in _SHIFT_TABLES:
        return _moved(quantity, SCHEMES[scheme], condition, coding)
    if quantity == "revision_rate" and condition == "reveal":
        return _revision(SCHEMES[scheme])
    return NONE


def _shares(table: int, row: str, quantity: str) -> Counterpart:
    """A function of the shares in one row of an outcome table."""
    values = {
        judge: float(_OF_SHARES[quantity](outcome_shares(counts)))
        for (judge, name), counts in _counts(table).items()
        if name == row
    }
    ids = _printed(table, row, quantity.removeprefix("share_"), values)
    return Counterpart(values, {judge: Cell(id, values[judge]) for judge, id in ids.items()})


def _moved(quantity: str, scheme: str, probe: str, coding: str) -> Counterpart:
    """A function of the shift of the shares from Table 2 to the probe's table, which no cell prints."""
    side = _favoured(probe, coding)
    values = {
        judge: float(_OF_SHIFTS[quantity](shifts(outcome_shares(blind), _probed(judge, scheme, probe), side)))
        for (judge, name), blind in _counts(2).items()
        if name == f"{scheme}.blind"
    }
    return Counterpart(values, {})


def _printed_shifts(quantity: str, scheme: str, probe: str, coding: str) -> Counterpart:
    """A column of Tables 6-8, whose numbers are of section 4.3's side."""
    if _favoured(probe, coding) != _favoured(probe, "carrier"):
        return NONE
    ids = _printed(_SHIFT_TABLES[probe], f"{scheme}.{probe}", quantity, _slugs().values())
    cells = {judge: Cell(id, published.value(id)) for judge, id in ids.items()}
    return Counterpart({judge: cell.value for judge, cell in cells.items()}, cells)


def _probed(judge: str, scheme: str, probe: str) -> Array:
    return outcome_shares(_counts(_OUTCOME_TABLES[probe])[judge, f"{scheme}.{probe}"])


def _favoured(probe: str, coding: str) -> Side:
    """Section 4.3. The paper's badge and its label under Truth were always on candidate 1."""
    return "21" if probe == "flip" and coding != "always_12" else "12"


@cache
def _revision(scheme: str) -> Counterpart:
    """Section 5.6 states Figure 3's bars in percent, one statement a judge and scheme."""
    claims = published.claims()
    claims = claims[(claims["paper"] == PAPER) & (claims["location"] == "5.6/Fig 3")]
    cells: dict[str, Cell] = {}
    for claim in claims.itertuples():
        model, _, name = str(claim.model_scheme_condition).partition("/")
        if name.lower() == scheme:
            cell = Cell(str(claim.id), published.value(str(claim.id)) / 100)
            cells[_slugs()[model]] = cell
    return Counterpart({judge: cell.value for judge, cell in cells.items()}, cells)


@cache
def _slugs() -> dict[str, str]:
    """A judge's slug by its printed name."""
    rows = published.load(PAPER, 2)
    return {model: id.split(".")[2] for model, id in zip(rows["model"], rows["id"], strict=True)}


@cache
def _ids(table: int) -> frozenset[str]:
    return frozenset(published.load(PAPER, table)["id"])


@cache
def _counts(table: int) -> dict[tuple[str, str], Array]:
    """Printed counts in the order of `OUTCOMES`, by judge and row; an outcome that is not printed is 0."""
    counts: dict[tuple[str, str], Array] = {}
    printed = published.load(PAPER, table)
    for id, count in zip(printed["id"], printed["value"], strict=True):
        _, _, judge, *names, outcome = id.split(".")
        cell = counts.setdefault((judge, ".".join(names)), np.zeros(len(OUTCOMES)))
        cell[OUTCOMES.index(outcome)] = count
    return counts


def _printed(table: int, row: str, outcome: str, judges: Iterable[str]) -> dict[str, str]:
    """The ids of those judges' cells, where the table prints any."""
    ids = {judge: f"{PAPER}.t{table:02d}.{judge}.{row}.{outcome}" for judge in judges}
    return {judge: id for judge, id in ids.items() if id in _ids(table)}
