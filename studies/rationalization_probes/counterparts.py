"""What the paper printed beside each of our quantities, from its counts by the study's own equations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType
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

_RATIONALES: Mapping[str, str] = {"drift": "5.7/Fig 5a", "lai": "5.7/Fig 5b"}
"""Where the text states what label and badge did to rationales, without a scheme."""

_ATTACKS: Mapping[str, str] = {"verbosity": "5.8/Fig 6", "confidence": "5.9/Fig 7"}
_PANELS: Mapping[str, str] = {"lao": "a", "lds": "b", "drift": "c", "lai": "d"}
"""Where the text states what an attack did: a figure's panels."""

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
    several cells to compute has none. The two can differ where the paper contradicts itself. ``ranges`` maps
    the id of a statement to the range in which it puts several judges without telling them apart; their
    cells have its id and no value.
    """

    values: Mapping[str, float]
    cells: Mapping[str, Cell]
    ranges: Mapping[str, tuple[float, float]] = MappingProxyType({})

    @property
    def low_high(self) -> tuple[float, float] | None:
        """From the least to the largest end of the stated ranges; None where there is no range."""
        if not self.ranges:
            return None
        return min(low for low, _ in self.ranges.values()), max(high for _, high in self.ranges.values())

    @property
    def span(self) -> tuple[float, float]:
        """The least and the largest of the five; nan, nan where none is defined."""
        ends = [*self.values.values(), *(self.low_high or ())]
        defined = [value for value in ends if not np.isnan(value)]
        return (min(defined), max(defined)) if defined else (np.nan, np.nan)

    def of(self, judge: str) -> Cell:
        """One judge's cell; one without an id where its value is only computed, nan for any other judge."""
        return self.cells.get(judge, Cell("", self.values.get(judge, np.nan)))


NONE = Counterpart({}, {})


def of(
    quantity: str,
    kind: str,
    scheme: str,
    condition: str,
    coding: str = "carrier",
    system: str = "",
    over: str = "",
    wording: str = "",
) -> Counterpart:
    """The paper's numbers beside a row of our tables.

    Parameters
    ----------
    quantity, kind, scheme, condition, coding
        As the frames of `metrics` name them.
    system : str
        Of an extractive pair, as its provenance names it.
    over, wording : str
        As the frames of `rationales` have them.

    Returns
    -------
    Counterpart
        `NONE` where the paper has no such quantity. Shares are of each printed row's own total: two rows
        add up to 1,005. Tables 9 and 10 tell no scheme, so that their numbers stand beside every scheme;
        Table 10 had the labels shown, so that it stands beside Truth and Flip alone. Shifts on equal pairs
        follow from the counts of Tables 2-5; those that Tables 6-8 print are of two samples. What the text
        states of rationales is over the ``same`` decisions, and of alignment stands beside the ``mean`` of
        our wordings. It names no scheme for label and badge, and so stands beside each of `SCHEMES`.
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
        return _stated("5.6/Fig 3", SCHEMES[scheme], percent=True)
    if quantity not in _RATIONALES or _is_the_papers(quantity, over, wording):
        return _of_text(quantity, SCHEMES[scheme], condition, coding)
    return NONE


def _is_the_papers(quantity: str, over: str, wording: str) -> bool:
    """Whether a row about rationales is over the paper's pairs, and not of one wording among several."""
    return over == "same" and (quantity != "lai" or wording == "mean")


def _of_text(quantity: str, scheme: str, condition: str, coding: str) -> Counterpart:
    """What sections 5.7 to 5.9 state; of the attacked side, where a row has a side."""
    if quantity in _RATIONALES and condition in _SHIFT_TABLES:
        return _stated(_RATIONALES[quantity], scheme)
    if quantity in _PANELS and condition in _ATTACKS and coding == "carrier":
        place = f"{_ATTACKS[condition]}{_PANELS[quantity]}"
        return _stated(place, scheme, percent=quantity == "lai")
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
def _stated(location: str, scheme: str, percent: bool = False) -> Counterpart:
    """What the text states at a place of one scheme, or of all where it names none.

    A statement is of one judge, of several or of all, and gives a number or a range.
    """
    unit = 100 if percent else 1
    values: dict[str, float] = {}
    cells: dict[str, Cell] = {}
    ranges: dict[str, tuple[float, float]] = {}
    claims = published.claims()
    for claim in claims[(claims["paper"] == PAPER) & (claims["location"] == location)].itertuples():
        id, judges = str(claim.id), _judges(str(claim.model_scheme_condition), scheme)
        if claim.kind == "value":
            values |= dict.fromkeys(judges, published.value(id) / unit)
        elif judges:
            low, high = published.bounds(id)
            ranges[id] = low / unit, high / unit
        cells |= {judge: Cell(id, values.get(judge, np.nan)) for judge in judges}
    return Counterpart(values, cells, ranges)


def _judges(named: str, scheme: str) -> list[str]:
    """Whom a statement is about, as far as it is about this scheme: "Gemma-2-9B/PBP", "PBP", "Gemma,Qwen"."""
    models, _, of_scheme = named.rpartition("/")
    if not models and named.lower() not in SCHEMES.values():
        models, of_scheme = named, scheme
    if of_scheme.lower() != scheme:
        return []
    starts = tuple("" if name == "all" else name for name in models.split(","))
    return [slug for model, slug in _slugs().items() if model.startswith(starts)]


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
