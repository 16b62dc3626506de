"""The headline figure: how cue-invariant each judge and scheme is, in its verdicts and in its rationales."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from shared.frames import cells, rows_of
from shared.reporting.drawing import (
    GATE_WORDS,
    NOISE,
    Key,
    canvas,
    judge_keys,
    legend,
    marker_of,
    not_run,
    size_lines,
)
from shared.reporting.figures import GREY, INK, LIGHT
from shared.reporting.tables import NOT_AVAILABLE, number
from studies.rationalization_probes.drawing import schemes_of
from studies.rationalization_probes.pages import SCHEME_NAMES

TITLE = "How cue-invariant are verdicts and rationales?"
NOBODY = "no judge and scheme passed the competence gate: instrument check"
AXES = {
    "outcome_shift": "outcome shift: change in P(picks the candidate that carries the cue)",
    "rationale_shift": "rationale shift:\nexplanation drift above the noise floor",
}

WIDTH, LEAST_HEIGHT, LABEL_HEIGHT, BELOW = 9.4, 4.8, 0.34, 1.6
"""In inches; what stands below the axes is their names and the keys."""
SMALL = 20.0
"""The area of a mark without sensitivity, in square points; one of sensitivity 1 has `LARGE`."""
LARGE = 420.0


class Place(NamedTuple):
    """A judge under a scheme: where it stands, with the rows of both axes, and what its label says."""

    judge: str
    scheme: str
    gate: str
    outcome: dict[str, Any]
    rationale: dict[str, Any]
    sensitivity: float
    sizes: str

    @property
    def passed(self) -> bool:
        return self.gate == "passed"

    @property
    def defined(self) -> bool:
        return not (math.isnan(self.outcome["value"]) or math.isnan(self.rationale["value"]))

    @property
    def label(self) -> str:
        """Its name, and what a reader needs to weigh the mark."""
        said = [f"sensitivity {number(self.sensitivity)}", self.sizes, GATE_WORDS[self.gate]]
        return f"{SCHEME_NAMES[self.scheme]} ({self.judge})\n{', '.join(filter(None, said))}"


def draw_invariance(rows: pd.DataFrame) -> Figure:
    """Every judge and scheme by the shift of its verdicts (x) and rationales (y), sized by sensitivity.

    Parameters
    ----------
    rows : DataFrame
        The table ``invariance``: quantities ``outcome_shift``, ``rationale_shift`` and ``sensitivity``.
        Questions and their answers, another task, are left out.

    Returns
    -------
    Figure
        0, 0 is a judge that no cue moves. What passed the competence gate is black, its area by its
        sensitivity to real errors; all else is hollow, grey and small. Where neither shift can be told, the
        judge and scheme is named below the axis. The light ground is what `floor_of` says.
    """
    rows = rows[rows["quantity"].isin([*AXES, "sensitivity"])]
    places = places_of(rows[~rows["kind"].astype(str).str.startswith("qa_")])
    if not places:
        return not_run(*canvas(TITLE, 3.9))
    drawn = [place for place in places if place.defined]
    figure, axes = canvas(TITLE, max(LEAST_HEIGHT, BELOW + LABEL_HEIGHT * len(drawn)), width=WIDTH)
    judges = list(dict.fromkeys(place.judge for place in places))
    limits = _frame(axes, places)
    _ground(axes, places, limits)
    for place in drawn:
        _mark(axes, place, marker_of(judges, place.judge))
    _name(axes, drawn, LABEL_HEIGHT / (figure.get_figheight() - BELOW))
    if not any(place.passed for place in places):
        axes.text(0.5, 0.97, NOBODY, transform=axes.transAxes, ha="center", va="top", color=GREY)
    legend(figure, [*judge_keys(judges), *_keys(places)])
    return figure


def places_of(rows: pd.DataFrame) -> list[Place]:
    """One a judge and scheme, in the figure's order of schemes; a row that is lacking is nan."""
    found = {(names["judge"], names["scheme"]): cell for names, cell in cells(rows, ("judge", "scheme"))}
    order = schemes_of(rows)
    return [
        _place(judge, scheme, found[judge, scheme])
        for judge, scheme in sorted(found, key=lambda cell: order.index(cell[1]))
    ]


def _place(judge: str, scheme: str, cell: pd.DataFrame) -> Place:
    by_quantity = {str(row["quantity"]): row for row in rows_of(cell)}
    outcome, rationale, sensitivity = (by_quantity.get(name, _NO_ROW) for name in (*AXES, "sensitivity"))
    sizes = ", ".join(size_lines(cell[cell["quantity"].isin(list(AXES))]))
    gate = str(cell["gate"].iloc[0])
    return Place(judge, scheme, gate, outcome, rationale, sensitivity["value"], sizes)


_NO_ROW: dict[str, Any] = dict.fromkeys(("value", "ci_low", "ci_high", "floor_low", "floor_high"), math.nan)


def floor_of(rows: Sequence[dict[str, Any]]) -> float:
    """How far from 0 a shift lies without a cue.

    Parameters
    ----------
    rows : sequence of dict
        Of one quantity, one a judge and scheme.

    Returns
    -------
    float
        The least, over judges and schemes, of the farther end of the noise floor's interval, at most 1; nan
        where no floor was run. The least, so that no judge's noise widens the ground under another's mark.
    """
    ends = pd.Series([max(abs(row["floor_low"]), abs(row["floor_high"])) for row in rows], dtype=float)
    return float(ends.clip(upper=1).min())


def _frame(axes: Axes, places: Sequence[Place]) -> tuple[float, float]:
    """Axes with 0 in the middle, and how far they reach."""
    reach_x = _reach([place.outcome for place in places])
    reach_y = _reach([place.rationale for place in places])
    axes.set_xlim(-reach_x, reach_x)
    axes.set_ylim(-reach_y, reach_y)
    lost = [f"{SCHEME_NAMES[place.scheme]} ({place.judge})" for place in places if not place.defined]
    said = textwrap.fill(f"{NOT_AVAILABLE}, not drawn: {'; '.join(lost)}", 80) if lost else ""
    axes.set_xlabel("\n".join(filter(None, [AXES["outcome_shift"], said])))
    axes.set_ylabel(AXES["rationale_shift"])
    axes.axhline(0, color=GREY, lw=0.8, zorder=1)
    axes.axvline(0, color=GREY, lw=0.8, zorder=1)
    return reach_x, reach_y


def _reach(rows: Sequence[dict[str, Any]]) -> float:
    """Beyond the farthest end of an interval, and of the ground, with some room."""
    ends = pd.Series([row[end] for row in rows for end in ("value", "ci_low", "ci_high")]).abs()
    farthest = pd.Series([ends.max(), floor_of(rows), 0.05]).max()
    return min(1.25 * float(farthest), 1.12)


def _ground(axes: Axes, places: Sequence[Place], reach: tuple[float, float]) -> None:
    """The light ground within which a shift is no more than noise, from what passed the gate."""
    passed = [place for place in places if place.passed]
    half_x = floor_of([place.outcome for place in passed])
    half_y = floor_of([place.rationale for place in passed])
    if math.isnan(half_x) or math.isnan(half_y):
        return
    axes.add_patch(
        Rectangle((-half_x, -half_y), 2 * half_x, 2 * half_y, fc=LIGHT, ec=NOISE, lw=0.8, zorder=0)
    )
    name = "cue-invariant (within the noise floor)"
    axes.text(-half_x, -half_y - 0.02 * reach[1], name, ha="left", va="top", color=GREY, fontsize=8)


def _mark(axes: Axes, place: Place, marker: str) -> None:
    x, y = place.outcome["value"], place.rationale["value"]
    colour = INK if place.passed else GREY
    for row, along in ((place.outcome, "x"), (place.rationale, "y")):
        ends = [row["ci_low"], row["ci_high"]]
        across = [ends, [y, y]] if along == "x" else [[x, x], ends]
        axes.plot(*across, color=colour if place.passed else NOISE, lw=0.9, zorder=2)
    fill = colour if place.passed else "none"
    axes.plot(x, y, marker, mfc=fill, mec=colour, ms=math.sqrt(_area(place)), alpha=0.85, zorder=3)


def _area(place: Place) -> float:
    """By sensitivity where the gate was passed; else as small as can be."""
    if not place.passed:
        return SMALL
    return SMALL + (LARGE - SMALL) * max(place.sensitivity, 0)


def _name(axes: Axes, places: Sequence[Place], gap: float) -> None:
    """Labels right of the axes, in the order of the marks' heights, each with a leader."""
    ordered = sorted(places, key=lambda place: place.rationale["value"], reverse=True)
    low, high = axes.get_ylim()
    wanted = [(place.rationale["value"] - low) / (high - low) for place in ordered]
    for place, height in zip(ordered, spread(wanted, gap), strict=True):
        axes.annotate(
            place.label,
            (place.outcome["value"], place.rationale["value"]),
            (1.03, height),
            textcoords="axes fraction",
            va="center",
            fontsize=7,
            color=INK if place.passed else GREY,
            arrowprops={"arrowstyle": "-", "color": NOISE, "lw": 0.6, "shrinkB": 4, "relpos": (0, 0.5)},
        )


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Heights in [0, 1] at least a gap apart, each as near to the wanted one as those around it allow.

    Parameters
    ----------
    wanted : sequence of float
        From the highest to the lowest.
    gap : float
        Above 0; less where the heights would not fit.

    Returns
    -------
    list of float
        In the order of ``wanted``.
    """
    gap = min(gap, 1 / max(len(wanted), 1))
    heights: list[float] = []
    above = 1 + gap / 2
    for left, height in zip(range(len(wanted), 0, -1), wanted, strict=True):
        above = max(min(height, above - gap), (left - 0.5) * gap)
        heights.append(above)
    return heights


def _keys(places: Sequence[Place]) -> list[Key]:
    keys: list[Key] = []
    if any(place.passed for place in places):
        keys += [
            Line2D(
                [], [], ls="", marker="o", color=INK, ms=math.sqrt(SMALL + (LARGE - SMALL) * size),
                label=f"sensitivity {size:g}",
            )
            for size in (0.1, 0.5, 1)
        ]  # fmt: skip
    if not all(place.passed for place in places):
        keys.append(
            Line2D(
                [], [], ls="", marker="o", mfc="none", mec=GREY, ms=math.sqrt(SMALL), label="gate not passed"
            )
        )
    return keys
