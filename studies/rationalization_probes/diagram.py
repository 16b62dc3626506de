"""Figure 1: the protocols as they ran, a lane a scheme: its turns, what they see, where a cue enters."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Arc, Ellipse, FancyBboxPatch, Rectangle

from shared.frames import cells
from shared.reporting.drawing import canvas, not_run
from shared.reporting.figures import GREY, INK, LIGHT
from studies.rationalization_probes.drawing import scheme_lines, schemes_of

TITLE = "The protocols that ran"

AGAIN = ("reveal", "control")
"""Turns that go on from the answer that gave the verdict."""

DECIDES = ("verdict", "scores")
"""What a turn makes that a verdict is read from, or computed from."""

# In inches, as all of the diagram.
MARGIN, NAME_WIDTH, BOX_WIDTH, VERDICT_WIDTH, GAP = 0.15, 1.2, 1.6, 0.72, 0.45
TITLE_LINE, LINE, PAD, BETWEEN_BOXES, BETWEEN_LANES = 0.14, 0.105, 0.06, 0.07, 0.32
TOP, BOTTOM = 0.45, 0.4
LINE_CHARS = 27


class Turn(NamedTuple):
    """One turn of a scheme: what it sees, with the cue and the lock apart, what it makes, its calls."""

    step: str
    sees: tuple[str, ...]
    makes: str
    calls: int

    @property
    def cued(self) -> bool:
        return "cue" in self.sees

    @property
    def locked(self) -> bool:
        return "locked notes" in self.sees

    @property
    def decides(self) -> bool:
        return self.step not in AGAIN and any(word in self.makes for word in DECIDES)

    @property
    def name(self) -> str:
        return f"{self.step.replace('_', ' ')}, {self.calls:,} call" + "s" * (self.calls != 1)

    @property
    def lines(self) -> list[str]:
        """What a box says below its name; what is asked again makes the same again."""
        told = [f"sees {', '.join(thing for thing in self.sees if thing != 'cue')}"]
        if self.step not in AGAIN:
            told.append(f"makes {self.makes}")
        return [line for text in told for line in textwrap.wrap(text, LINE_CHARS)]

    @property
    def height(self) -> float:
        return 2 * PAD + TITLE_LINE + LINE * len(self.lines)


class Lane(NamedTuple):
    """A scheme's turns: those up to the verdict, in order, and those after it, each on its own."""

    scheme: str
    before: list[Turn]
    after: list[Turn]

    @property
    def height(self) -> float:
        return max([*(turn.height for turn in self.before), _stacked(self.after)]) + BETWEEN_LANES

    @property
    def width(self) -> float:
        ahead = MARGIN + NAME_WIDTH + (BOX_WIDTH + GAP) * len(self.before) + VERDICT_WIDTH
        return ahead + (GAP + BOX_WIDTH) * bool(self.after) + MARGIN

    @property
    def decided(self) -> bool:
        """Whether a turn that gives a verdict ran at all."""
        return any(turn.decides for turn in self.before)


def draw_protocols(rows: pd.DataFrame) -> Figure:
    """The diagram of the protocols.

    Parameters
    ----------
    rows : DataFrame
        The table ``protocols``: ``scheme``, ``step``, ``position`` (from 1), ``sees`` and ``makes`` (lists
        with commas) and ``count`` (calls really made). Judges are added up; a turn without calls did not run
        and is left out.

    Returns
    -------
    Figure
        A lane for each scheme: its turns in order up to the verdict, which is read or computed from the last
        of them, then those that follow, one above the other in their order. A lock stands where notes are
        handed on without what they were made from, and a triangle where the cue of a cued probe enters.
    """
    found = [lane_of(scheme, rows[rows["scheme"] == scheme]) for scheme in schemes_of(rows)]
    lanes = [lane for lane in found if lane.before]
    if not lanes:
        return not_run(*canvas(TITLE, 3.9))
    width, height = max(lane.width for lane in lanes), TOP + sum(lane.height for lane in lanes) + BOTTOM
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    axes.text(MARGIN, height - 0.12, TITLE, va="top", fontsize=11, fontweight="bold")
    top = height - TOP
    for lane in lanes:
        _lane(axes, top - lane.height / 2, lane)
        top -= lane.height
    _keys(axes)
    return figure


def lane_of(scheme: str, rows: pd.DataFrame) -> Lane:
    """A scheme's turns in order, judges added up; without one that decides, all stand before the verdict."""
    every = [_turn(names["step"], cell) for names, cell in cells(rows.sort_values("position"), ("step",))]
    turns = [turn for turn in every if turn.calls]
    last = max((place for place, turn in enumerate(turns, start=1) if turn.decides), default=len(turns))
    return Lane(scheme, turns[:last], turns[last:])


def _turn(step: str, cell: pd.DataFrame) -> Turn:
    sees, makes = (str(cell[column].iloc[0]) for column in ("sees", "makes"))
    return Turn(step, tuple(sees.split(", ")), makes, int(cell["count"].sum()))


def _stacked(turns: Sequence[Turn]) -> float:
    """The height of boxes one above the other."""
    return sum(turn.height + BETWEEN_BOXES for turn in turns) - BETWEEN_BOXES if turns else 0


def _lane(axes: Axes, middle: float, lane: Lane) -> None:
    name, *variant = scheme_lines(lane.scheme)
    axes.text(MARGIN, middle + 0.03, name, va="bottom", fontsize=9, fontweight="bold")
    axes.text(MARGIN, middle - 0.03, "\n".join(variant), va="top", fontsize=8, color=GREY)
    left = MARGIN + NAME_WIDTH
    for before, turn in zip([None, *lane.before], lane.before, strict=False):
        _box(axes, left, middle, turn)
        if before and turn.locked and "notes" in before.makes:
            _lock(axes, left - GAP / 2 - 0.03, middle)
        left += BOX_WIDTH
        if lane.decided or turn is not lane.before[-1]:
            _arrow(axes, (left, middle), (left + GAP, middle))
        left += GAP
    if lane.decided:
        _verdict(axes, left, middle)
        _after(axes, left + VERDICT_WIDTH, middle, lane.after)


def _after(axes: Axes, left: float, middle: float, turns: Sequence[Turn]) -> None:
    """Each turn after the verdict, with an arrow of its own: none of them sees another."""
    top = middle + _stacked(turns) / 2
    for turn in turns:
        centre = top - turn.height / 2
        _arrow(axes, (left, middle), (left + GAP, centre), dashed=turn.step in AGAIN)
        _box(axes, left + GAP, centre, turn)
        top -= turn.height + BETWEEN_BOXES


def _box(axes: Axes, left: float, middle: float, turn: Turn) -> None:
    again, top = turn.step in AGAIN, middle + turn.height / 2
    axes.add_patch(
        FancyBboxPatch(
            (left, top - turn.height), BOX_WIDTH, turn.height, boxstyle="round,pad=0,rounding_size=0.06",
            fc="white" if again else LIGHT, ec=GREY, ls="--" if again else "-", lw=0.9,
        )
    )  # fmt: skip
    axes.text(left + 0.07, top - PAD, turn.name, va="top", fontsize=7.5, fontweight="bold")
    lines = "\n".join(turn.lines)
    axes.text(left + 0.07, top - PAD - TITLE_LINE, lines, va="top", fontsize=6.5, linespacing=1.1)
    if turn.cued:
        _cue(axes, left + BOX_WIDTH - 0.14, top)


def _cue(axes: Axes, x: float, top: float) -> None:
    """A triangle that points into the box from above."""
    axes.plot(x, top, "v", color=INK, ms=8, zorder=4)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], dashed: bool = False) -> None:
    line = {"color": GREY, "lw": 0.9, "ls": "--" if dashed else "-"}
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "shrinkA": 1, "shrinkB": 1, **line})


def _lock(axes: Axes, x: float, y: float) -> None:
    """A padlock on the way from the notes to what is built from them alone."""
    axes.add_patch(Arc((x, y + 0.05), 0.11, 0.16, theta1=0, theta2=180, ec=INK, lw=1.4, zorder=4))
    axes.add_patch(Rectangle((x - 0.085, y - 0.08), 0.17, 0.13, fc=INK, ec=INK, gid="lock", zorder=4))


def _verdict(axes: Axes, left: float, middle: float) -> None:
    centre = (left + VERDICT_WIDTH / 2, middle)
    axes.add_patch(Ellipse(centre, VERDICT_WIDTH, 0.42, fc="white", ec=INK, lw=1.1))
    axes.text(*centre, "verdict", ha="center", va="center", fontsize=7.5, fontweight="bold")


def _keys(axes: Axes) -> None:
    """Below the lanes: what the marks mean."""
    y, x = 0.2, MARGIN + 0.1
    axes.plot(x, y, "v", color=INK, ms=8)
    axes.text(x + 0.12, y, "the cue enters (under a cued probe)", va="center", fontsize=7.5)
    _lock(axes, x + 2.6, y)
    axes.text(x + 2.75, y, "notes locked", va="center", fontsize=7.5)
    axes.add_line(Line2D([x + 3.75, x + 4.05], [y, y], color=GREY, lw=0.9, ls="--"))
    axes.text(x + 4.12, y, "the same conversation goes on", va="center", fontsize=7.5)
