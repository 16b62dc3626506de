"""The study's figures (stage ``figures``), drawn from its tables: ours beside the paper's five judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from shared.errors import UserError, run_stage
from shared.frames import rows_of
from shared.reporting.figures import GREY, INK, LIGHT, MARKERS, Caption, save, style
from shared.reporting.tables import NOT_AVAILABLE, TOO_FEW, read
from studies.rationalization_probes import counterparts
from studies.rationalization_probes.pages import GATE_NOTES, INSTRUMENT_CHECK, SCHEME_NAMES
from studies.rationalization_probes.tables import FOLDER as TABLES

FOLDER = Path("figures/rationalization_probes")

# A scheme takes 1 along the axis: our judges on its left, the paper's on its right.
OURS, OURS_WIDTH = -0.15, 0.5
PAPERS, PAPERS_WIDTH = 0.27, 0.26


class FiguresError(UserError):
    """A table that a figure draws is not there; the message names it and the fix."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure of one quantity by scheme: where it stands, how it is called, the range of its axis.

    ``note`` is what a reader must know beside the title.
    """

    table: str
    quantity: str
    title: str
    axis: str
    bounds: tuple[float, float] = (0, 1)
    note: str = ""

    @property
    def caption(self) -> str:
        return f"{self.title}; {self.note}" if self.note else self.title


_LAO = "LAO: share of all movement\nthat goes to the cue's candidate"

PLOTS = {
    "figure_02a_equality_detection": Plot(
        "table_02_blind", "share_tie", "Equality detection under Blind", "EDR: share of ties on equal pairs"
    ),
    "figure_02b_neutrality": Plot(
        "table_02_blind",
        "neutrality_signed",
        "Neutrality under Blind",
        "[1,2] minus [2,1] on equal pairs\n(its size is the paper's ND)",
        (-1, 1),
        "confounded with the place on the screen at one drawn order per item (share_first_shown, Table 2)",
    ),
    "figure_04a_lao_truth": Plot("table_03_truth", "lao", "Label anchoring under Truth", _LAO),
    "figure_04b_lao_flip": Plot("table_04_flip", "lao", "Label anchoring under Flip", _LAO),
    "figure_04c_lao_placebo": Plot("table_05_placebo", "lao", "Anchoring on the placebo badge", _LAO),
}

REVISION = "figure_03_revision"

# Bottom of the stack first, each with the fill that tells it apart in grey.
DIRECTIONS = {
    "revised_towards": ("towards the revealed label", "#a6a6a6", ""),
    "revised_away": ("away from it", "white", "////"),
    "revised_into_tie": ("into Tie", "#e6e6e6", "...."),
}


# --- One quantity by scheme -------------------------------------------------------------------------


def draw_marks(plot: Plot, rows: pd.DataFrame) -> Figure:
    """A quantity with its interval, by scheme and judge.

    Parameters
    ----------
    plot : Plot
    rows : DataFrame
        The plot's table; other quantities and codings in it are left alone.

    Returns
    -------
    Figure
        Judges that have not passed the gate are grey, those that failed it on a hatched ground; what is
        undefined is marked n/a. Of LAO, which noise alone keeps above 0, thick grey bars are its range if
        Blind and probe were exchangeable, and a dotted line what an empty label line gives.
    """
    rows = rows[(rows["quantity"] == plot.quantity) & (rows["kind"] == "equal")]
    rows = rows[rows["coding"].fillna("").isin(["", "carrier"])]
    figure, axes = _canvas(plot.title, 3.9)
    axes.set_title(plot.note, fontsize=8, color=GREY)
    if rows.empty:
        return _not_run(figure, axes)
    judges, schemes = list(rows["judge"].unique()), _schemes(rows)
    for position, scheme in enumerate(schemes):
        cell = rows[rows["scheme"] == scheme]
        for row in rows_of(cell):
            slot = position + _slot(judges, row["judge"])
            _mark(axes, slot, row, MARKERS[judges.index(row["judge"]) % len(MARKERS)], plot.bounds)
        _paper(axes, position, plot.quantity, scheme, str(cell["condition"].iloc[0]))
    _frame(axes, rows, schemes, plot)
    _legend(figure, _judge_keys(judges) + _shared_keys(rows))
    return figure


def _slot(judges: Sequence[str], judge: str) -> float:
    """Where a judge stands within its scheme."""
    step = OURS_WIDTH / len(judges)
    return OURS - OURS_WIDTH / 2 + step * (judges.index(judge) + 0.5)


def _mark(axes: Axes, x: float, row: dict[str, Any], marker: str, bounds: tuple[float, float]) -> None:
    colour = _ink(row["gate"])
    if row["gate"] == "failed":
        axes.axvspan(x - 0.07, x + 0.07, facecolor="none", edgecolor="#c9c9c9", hatch="////", lw=0, zorder=0)
    if pd.isna(row["value"]):
        axes.text(x, sum(bounds) / 2, NOT_AVAILABLE, ha="center", va="center", color=GREY, fontsize=8)
        return
    if row["quantity"] == "lao":
        axes.plot([x, x], [row["null_low"], row["null_high"]], color="#c9c9c9", lw=7, solid_capstyle="butt")
        beside = x + 0.06
        axes.plot([beside, beside], [row["floor_low"], row["floor_high"]], color=GREY, lw=0.9, ls=":")
        axes.plot(beside, row["floor_value"], "_", color=GREY, ms=6, clip_on=False)
    if pd.notna(row["ci_low"]):
        axes.plot([x, x], [row["ci_low"], row["ci_high"]], color=colour, lw=1.1)
    axes.plot(x, row["value"], marker, color=colour, ms=6, clip_on=False, zorder=3)


def _ink(gate: str) -> str:
    """Black only for what passed the gate."""
    return INK if gate == "passed" else GREY


def _paper(axes: Axes, position: int, quantity: str, scheme: str, condition: str) -> None:
    """The paper's five judges in a lighter column, or no column where it has no such scheme."""
    values = list(counterparts.of(quantity, "equal", scheme, condition).values.values())
    if not values:
        return
    middle = position + PAPERS
    axes.axvspan(middle - PAPERS_WIDTH / 2, middle + PAPERS_WIDTH / 2, color=LIGHT, lw=0, zorder=0)
    spread = np.linspace(-0.09, 0.09, len(values))
    axes.plot(middle + spread, values, "o", mfc="white", mec=GREY, mew=0.9, ms=4, clip_on=False, zorder=3)


# --- Revision after the reveal ----------------------------------------------------------------------


def draw_revision(rows: pd.DataFrame) -> Figure:
    """Figure 3: revised verdicts by direction, after the reveal and after only being asked again.

    Parameters
    ----------
    rows : DataFrame
        The table ``revision``, of which equal pairs are drawn.

    Returns
    -------
    Figure
        One panel a judge.
    """
    rows = rows[rows["kind"] == "equal"]
    judges, schemes = list(rows["judge"].unique()), _schemes(rows)
    figure, axes = _canvas("Revision after the labels are revealed", 4.3, max(1, len(judges)))
    if rows.empty:
        return _not_run(figure, axes)
    for panel, judge in zip(figure.axes, judges, strict=True):
        mine = rows[rows["judge"] == judge]
        for position, scheme in enumerate(schemes):
            for shift, condition in ((-0.32, "reveal"), (-0.02, "control")):
                cell = mine[(mine["scheme"] == scheme) & (mine["condition"] == condition)]
                _stack(panel, position + shift, cell.set_index("quantity"))
            _paper(panel, position, "revision_rate", scheme, "reveal")
        _frame(panel, mine[mine["quantity"] == "revision_rate"], schemes, _REVISED)
        _name_bars(panel, schemes)
        if len(judges) > 1:
            panel.text(0, 1.02, judge, transform=panel.transAxes, fontsize=8, color=GREY)
    directions = [
        Patch(facecolor=colour, edgecolor=INK, hatch=hatch, lw=0.8, label=label)
        for label, colour, hatch in DIRECTIONS.values()
    ]
    _legend(figure, directions + _shared_keys(rows))
    return figure


_REVISED = Plot("revision", "revision_rate", "", "share of verdicts that changed")


def _stack(axes: Axes, x: float, cell: pd.DataFrame) -> None:
    """One bar: the directions add up to the revision rate, which carries the interval."""
    total = cell.loc["revision_rate"].to_dict()
    colour = _ink(total["gate"])
    if total["gate"] == "failed":
        axes.axvspan(x - 0.14, x + 0.14, facecolor="none", edgecolor="#c9c9c9", hatch="////", lw=0, zorder=0)
    if pd.isna(total["value"]):
        axes.text(x, 0.5, NOT_AVAILABLE, ha="center", va="center", color=GREY, fontsize=8)
        return
    base = 0.0
    for direction, (_, fill, hatch) in DIRECTIONS.items():
        height = float(cell["value"][direction])
        axes.bar(x, height, 0.24, base, color=fill, edgecolor=colour, hatch=hatch, lw=0.8, zorder=2)
        base += height
    if pd.notna(total["ci_low"]):
        axes.plot([x, x], [total["ci_low"], total["ci_high"]], color=colour, lw=1.8, zorder=3)
    axes.plot(x, total["value"], "_", color=colour, ms=9, clip_on=False, zorder=4)


def _name_bars(axes: Axes, schemes: Sequence[str]) -> None:
    """Which bar is which, between the axis and the schemes' names."""
    names = [(position + shift, name) for position in range(len(schemes)) for shift, name in _BARS]
    axes.set_xticks([x for x, _ in names], [name for _, name in names], minor=True, fontsize=7, color=GREY)
    axes.tick_params(axis="x", which="major", pad=16)


_BARS = ((-0.32, "reveal"), (-0.02, "control"))


# --- What all figures have --------------------------------------------------------------------------


def _canvas(title: str, height: float, panels: int = 1) -> tuple[Figure, Axes]:
    # Not pyplot: no global list of figures that somebody has to close.
    figure = Figure(figsize=(7.6, height * (1 if panels == 1 else 0.75 * panels)), layout="constrained")
    first, *_ = np.atleast_1d(figure.subplots(panels, 1))
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure, first


def _not_run(figure: Figure, axes: Axes) -> Figure:
    axes.set_axis_off()
    axes.text(0.5, 0.5, "not run with these params", ha="center", va="center", color=GREY)
    return figure


def _schemes(rows: pd.DataFrame) -> list[str]:
    return [scheme for scheme in SCHEME_NAMES if scheme in set(rows["scheme"])]


def _frame(axes: Axes, rows: pd.DataFrame, schemes: Sequence[str], plot: Plot) -> None:
    """Names, n and the warning below each scheme; the range; a line at 0 where values have signs."""
    axes.set_xticks(
        range(len(schemes)), [_label(scheme, rows[rows["scheme"] == scheme]) for scheme in schemes]
    )
    axes.set_xlim(-0.5, len(schemes) - 0.5)
    axes.set_ylim(*plot.bounds)
    axes.set_ylabel(plot.axis)
    axes.tick_params(axis="x", labelsize=8)
    if plot.bounds[0] < 0:
        axes.axhline(0, color=GREY, lw=0.8, zorder=1)


def _label(scheme: str, cell: pd.DataFrame) -> str:
    """The scheme's name on two lines, items and documents, and whether these are too few."""
    name, _, variant = SCHEME_NAMES[scheme].partition(", ")
    sizes = [f"n = {_range(cell['n_items'])} items", f"{_range(cell['n_clusters'])} documents"]
    warning = [TOO_FEW] if cell["note"].str.contains(TOO_FEW).any() else []
    return "\n".join([name, variant, *sizes, *warning])


def _range(counts: pd.Series) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"


def _judge_keys(judges: Sequence[str]) -> list[Line2D | Patch]:
    return [
        Line2D([], [], color=INK, marker=MARKERS[index % len(MARKERS)], lw=1.1, ms=6, label=judge)
        for index, judge in enumerate(judges)
    ]


def _shared_keys(rows: pd.DataFrame) -> list[Line2D | Patch]:
    keys: list[Line2D | Patch] = [
        Line2D([], [], ls="", marker="o", mfc="white", mec=GREY, ms=4, label="paper (five judges)")
    ]
    if (rows["quantity"] == "lao").any():
        keys += [
            Line2D([], [], color="#c9c9c9", lw=7, label="if Blind and probe were exchangeable"),
            Line2D([], [], color=GREY, lw=0.9, ls=":", marker="_", ms=6, label="an empty label line"),
        ]
    if (rows["gate"] == "too few to tell").any():
        keys.append(Patch(facecolor=GREY, lw=0, label=GATE_NOTES["too few to tell"]))
    if (rows["gate"] == "failed").any():
        keys.append(Patch(facecolor="none", edgecolor="#c9c9c9", hatch="////", lw=0, label=INSTRUMENT_CHECK))
    return keys


def _legend(figure: Figure, keys: Sequence[Line2D | Patch]) -> None:
    figure.legend(handles=list(keys), loc="outside lower left", ncols=min(3, len(keys)), fontsize=8)


# --- The stage --------------------------------------------------------------------------------------


def write_all(tables: Path = TABLES, folder: Path = FOLDER) -> None:
    """Draw every figure from the tables in a folder.

    Raises
    ------
    FiguresError
        If a table is not there.
    """
    with style():
        for name, plot in PLOTS.items():
            rows, source = _read(tables, plot.table)
            save(draw_marks(plot, rows), folder / f"{name}.svg", Caption(plot.caption, source))
        rows, source = _read(tables, "revision")
        title = "Revision after the labels are revealed"
        save(draw_revision(rows), folder / f"{REVISION}.svg", Caption(title, source))


def _read(folder: Path, name: str) -> tuple[pd.DataFrame, str]:
    path = folder / f"{name}.csv"
    if not path.is_file():
        raise FiguresError(f"{path} is absent; run `make repro`, which writes it")
    return read(path), path.as_posix()


def main() -> None:
    write_all()
    print(f"{FOLDER}: {len(PLOTS) + 1} figures")


if __name__ == "__main__":
    run_stage(main)
