"""Figure 1: the protocols as they ran, a lane a scheme: its turns, what they see, where a cue enters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Arc, Ellipse, FancyBboxPatch, Rectangle

from shared.frames import cells
from shared.reporting.figures import GREY, INK, LIGHT
from studies.rationalization_probes.drawing import canvas, not_run, scheme_lines, schemes_of

TITLE = "The protocols that ran"

AGAIN = ("reveal", "control")
"""Turns that go on after the verdict, each from the same conversation."""

DECIDES = ("verdict", "scores")
"""What a turn makes that a verdict is read from, or computed from."""

# In inches, as all of the diagram.
MARGIN, NAME_WIDTH = 0.15, 1.2
BOX_WIDTH, BOX_HEIGHT, GAP = 1.55, 0.92, 0.42
VERDICT_WIDTH = 0.72
LANE_HEIGHT, TOP, BOTTOM = 1.24, 0.5, 0.45
LINE_CHARS = 26


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
        return self.step.replace("_", " ")

    @property
    def counted(self) -> str:
        return f"{self.calls:,} call" + "s" * (self.calls != 1)


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
        A lane for each scheme. The verdict stands after the turn that it is read or computed from. A lock
        stands where notes are handed on without what they were made from, and a triangle where the cue of a
        cued probe enters.
    """
    lanes = {scheme: turns_of(rows[rows["scheme"] == scheme]) for scheme in schemes_of(rows)}
    lanes = {scheme: turns for scheme, turns in lanes.items() if turns}
    if not lanes:
        return not_run(*canvas(TITLE, 3.9))
    width = max(_lane_width(turns) for turns in lanes.values())
    height = TOP + LANE_HEIGHT * len(lanes) + BOTTOM
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    axes.text(MARGIN, height - 0.12, TITLE, va="top", fontsize=11, fontweight="bold")
    for number, (scheme, turns) in enumerate(lanes.items()):
        middle = height - TOP - LANE_HEIGHT * (number + 0.5)
        _lane(axes, middle, scheme, turns)
    _keys(axes)
    return figure


def turns_of(rows: pd.DataFrame) -> list[Turn]:
    """A scheme's turns in order, judges added up; those that go on after the verdict last."""
    turns = [
        Turn(
            names["step"],
            tuple(str(cell["sees"].iloc[0]).split(", ")),
            str(cell["makes"].iloc[0]),
            int(cell["count"].sum()),
        )
        for names, cell in cells(rows.sort_values("position"), ("step",))
    ]
    return sorted((turn for turn in turns if turn.calls), key=lambda turn: turn.step in AGAIN)


def _lane_width(turns: Sequence[Turn]) -> float:
    ends = [right for _, _, right in _columns(turns)]
    return ends[-1] + MARGIN


def _columns(turns: Sequence[Turn]) -> Iterator[tuple[list[Turn], float, float]]:
    """What stands above each other, with its left and right end; the verdict is a column without turns."""
    ahead = [turn for turn in turns if turn.step not in AGAIN]
    deciding = [turn for turn in ahead if turn.decides]
    left = MARGIN + NAME_WIDTH
    for turn in ahead:
        yield [turn], left, left + BOX_WIDTH
        left += BOX_WIDTH + GAP
        if deciding and turn is deciding[-1]:
            yield [], left, left + VERDICT_WIDTH
            left += VERDICT_WIDTH + GAP
    if again := [turn for turn in turns if turn.step in AGAIN]:
        yield again, left, left + BOX_WIDTH


def _lane(axes: Axes, middle: float, scheme: str, turns: Sequence[Turn]) -> None:
    name, *variant = scheme_lines(scheme)
    axes.text(MARGIN, middle + 0.03, name, va="bottom", fontsize=9, fontweight="bold")
    axes.text(MARGIN, middle - 0.03, "\n".join(variant), va="top", fontsize=8, color=GREY)
    before: list[Turn] | None = None
    for column, left, right in _columns(turns):
        if before is not None:
            again = bool(column) and column[0].step in AGAIN
            _arrow(axes, left - GAP, left, middle, dashed=again)
        if before and column and column[0].locked and "notes" in before[0].makes:
            _lock(axes, left - GAP / 2 - 0.03, middle)
        _column(axes, column, left, right, middle)
        before = column


def _column(axes: Axes, turns: Sequence[Turn], left: float, right: float, middle: float) -> None:
    """A turn, the verdict, or the turns that go on from it."""
    if not turns:
        _verdict(axes, left, right, middle)
    elif turns[0].step in AGAIN:
        height = BOX_HEIGHT / 2
        for row, turn in enumerate(turns):
            centre = middle + (len(turns) - 1) / 2 * (height + 0.06) - row * (height + 0.06)
            _box(axes, left, centre, height, turn)
    else:
        _box(axes, left, middle, BOX_HEIGHT, turns[0])


def _lines(turn: Turn) -> list[str]:
    """What a box says below its name; what is asked again makes the same again."""
    told = [f"sees {', '.join(thing for thing in turn.sees if thing != 'cue')}"]
    if turn.step not in AGAIN:
        told.append(f"makes {turn.makes}")
    return [line for text in told for line in textwrap.wrap(text, LINE_CHARS)] + [turn.counted]


def _box(axes: Axes, left: float, middle: float, height: float, turn: Turn) -> None:
    again = turn.step in AGAIN
    axes.add_patch(
        FancyBboxPatch(
            (left, middle - height / 2), BOX_WIDTH, height, boxstyle="round,pad=0,rounding_size=0.06",
            fc="white" if again else LIGHT, ec=GREY, ls="--" if again else "-", lw=0.9,
        )
    )  # fmt: skip
    top = middle + height / 2 - 0.05
    axes.text(left + 0.07, top, turn.name, va="top", fontsize=7.5, fontweight="bold")
    axes.text(left + 0.07, top - 0.135, "\n".join(_lines(turn)), va="top", fontsize=6.5, linespacing=1.05)
    if turn.cued:
        _cue(axes, left + BOX_WIDTH - 0.14, middle + height / 2)


def _cue(axes: Axes, x: float, top: float) -> None:
    """A triangle that points into the box from above."""
    axes.plot(x, top, "v", color=INK, ms=8, zorder=4)


def _arrow(axes: Axes, left: float, right: float, y: float, dashed: bool) -> None:
    axes.annotate(
        "",
        (right - 0.02, y),
        (left + 0.02, y),
        arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 0.9, "ls": "--" if dashed else "-"},
    )


def _lock(axes: Axes, x: float, y: float) -> None:
    """A padlock on the way from the notes to what is built from them alone."""
    axes.add_patch(Arc((x, y + 0.05), 0.11, 0.16, theta1=0, theta2=180, ec=INK, lw=1.4, zorder=4))
    axes.add_patch(Rectangle((x - 0.085, y - 0.08), 0.17, 0.13, fc=INK, ec=INK, gid="lock", zorder=4))


def _verdict(axes: Axes, left: float, right: float, middle: float) -> None:
    centre = ((left + right) / 2, middle)
    axes.add_patch(Ellipse(centre, right - left, 0.42, fc="white", ec=INK, lw=1.1))
    axes.text(*centre, "verdict", ha="center", va="center", fontsize=7.5, fontweight="bold")


def _keys(axes: Axes) -> None:
    """Below the lanes: what the marks mean."""
    y, x = 0.2, MARGIN + 0.1
    axes.plot(x, y, "v", color=INK, ms=8)
    axes.text(x + 0.12, y, "the cue enters (under a cued probe)", va="center", fontsize=7.5)
    _lock(axes, x + 2.6, y)
    axes.text(x + 2.75, y, "notes locked", va="center", fontsize=7.5)
    axes.add_line(Line2D([x + 3.75, x + 4.05], [y, y], color=GREY, lw=0.9, ls="--"))
    axes.text(x + 4.12, y, "asked again", va="center", fontsize=7.5)
