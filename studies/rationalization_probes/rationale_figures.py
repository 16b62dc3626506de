"""Figures of rationales: drift and label alignment (5), and both attacks with their outcomes (6, 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shared.frames import rows_of
from shared.reporting.drawing import (
    WIDTH,
    Beside,
    Key,
    canvas,
    floor,
    gate_keys,
    judge_keys,
    legend,
    not_run,
    nothing,
    say_not_run,
)
from shared.reporting.figures import GREY
from studies.rationalization_probes.drawing import (
    AXIS_WIDTH,
    SCHEME_WIDTH,
    Plot,
    lao_keys,
    lao_noise,
    panel,
    paper_keys,
    schemes_of,
    width_of,
)

PROBES = {"truth": "Truth", "flip": "Flip", "placebo": "Placebo"}
"""The panels of Figure 5."""

FLOORS: Mapping[str, tuple[str, str]] = {
    "empty": ("_", "an empty label line"),
    "resample": ("x", "Blind sampled again"),
}
"""The markers and names of what moves a rationale without a cue."""

DRIFT = Plot(
    "rationale_drift",
    "drift",
    "Explanation drift from Blind, where the verdict stayed",
    "drift: (1 - cosine) / 2",
    note="verdicts that stayed are selected by what the cue may have changed",
    over="same",
)
ALIGNMENT = Plot(
    "rationale_alignment",
    "lai",
    "Label-aligned rationales, where the verdict stayed",
    "LAI: share nearer to\nthe cue's descriptor",
    note="mean over the wordings of the descriptors",
    over="same",
    wording="mean",
)

ATTACKS = {"verbosity": "Verbosity attack", "confidence": "Confidence attack"}


# --- Figure 5 ---------------------------------------------------------------------------------------


def draw_drift(rows: pd.DataFrame) -> Figure:
    """Figure 5a: how far rationales moved from Blind's where the verdict did not change.

    Parameters
    ----------
    rows : DataFrame
        The table ``rationale_drift``, of which ``drift`` of equal pairs over the ``same`` decisions is drawn.

    Returns
    -------
    Figure
        One panel a probe of `PROBES`. Beside each mark are the noise floors of its judge and scheme, dotted.
    """
    chosen = DRIFT.of(rows)
    keys: list[Key] = [
        Line2D([], [], color=GREY, lw=0.9, ls=":", marker=marker, ms=6, label=name)
        for condition, (marker, name) in FLOORS.items()
        if (chosen["condition"] == condition).any()
    ]
    return _by_probe(DRIFT, chosen, _floors_of(chosen), keys)


def draw_alignment(rows: pd.DataFrame) -> Figure:
    """Figure 5b: whose label rationales sound like where the verdict did not change.

    Parameters
    ----------
    rows : DataFrame
        The table ``rationale_alignment``, of which ``lai`` of equal pairs over the ``same`` decisions, mean
        over wordings, is drawn.

    Returns
    -------
    Figure
        One panel a probe of `PROBES`, with a line at 0.5. The tick beside each mark is the same scorer on
        Blind's rationales.
    """
    figure = _by_probe(ALIGNMENT, ALIGNMENT.of(rows), _blind_of(rows), [BLIND_KEY])
    for axes in figure.axes:
        if axes.has_data():
            axes.axhline(0.5, color=GREY, lw=0.8, zorder=1)
    return figure


def _by_probe(plot: Plot, rows: pd.DataFrame, beside: Beside, keys: Sequence[Key]) -> Figure:
    """A panel for each probe, one below the other."""
    cued = rows[rows["condition"].isin(list(PROBES))]
    if cued.empty:
        return not_run(*canvas(plot.title, 3.9))
    judges = list(cued["judge"].unique())
    figure, _ = canvas(plot.title, 4.3, len(PROBES), width_of(schemes_of(cued)))
    for axes, (probe, name) in zip(figure.axes, PROBES.items(), strict=True):
        _probe_panel(axes, plot, cued[cued["condition"] == probe], judges, beside)
        axes.set_title(f"{name}; {plot.note}" if probe == "truth" else name, fontsize=8, color=GREY)
    legend(figure, [*judge_keys(judges), *paper_keys([plot], cued), *keys, *gate_keys(cued)])
    return figure


def _probe_panel(axes: Axes, plot: Plot, rows: pd.DataFrame, judges: Sequence[str], beside: Beside) -> None:
    if rows.empty:
        say_not_run(axes)
    else:
        panel(axes, plot, rows, judges, beside)


def _floors_of(rows: pd.DataFrame) -> Beside:
    """Draws the noise floors of a mark's judge and scheme."""

    def beside(axes: Axes, x: float, row: dict[str, Any]) -> None:
        mine = rows[(rows["judge"] == row["judge"]) & (rows["scheme"] == row["scheme"])]
        for step, (condition, (marker, _)) in enumerate(FLOORS.items(), start=1):
            for found in rows_of(mine[mine["condition"] == condition]):
                floor(axes, x + 0.05 * step, found, marker)

    return beside


def _blind_of(rows: pd.DataFrame) -> Beside:
    """Draws what the scorer gives on Blind's rationales of the same pairs."""
    blind = ALIGNMENT.of(rows, "lai_blind")

    def beside(axes: Axes, x: float, row: dict[str, Any]) -> None:
        mine = blind[(blind["judge"] == row["judge"]) & (blind["scheme"] == row["scheme"])]
        for found in rows_of(mine[mine["condition"] == row["condition"]]):
            axes.plot(x + 0.06, found["value"], "_", color=GREY, ms=7, clip_on=False)

    return beside


BLIND_KEY = Line2D([], [], ls="", marker="_", color=GREY, ms=7, label="the same scorer on Blind's rationales")


# --- Figures 6 and 7 --------------------------------------------------------------------------------


def attack_plots(attack: str) -> list[Plot]:
    """The four panels of an attack's figure."""
    table = f"attack_{attack}"
    drift, alignment = (replace(plot, table=table, note="") for plot in (DRIFT, ALIGNMENT))
    return [
        Plot(table, "lao", "(a) LAO", "share of all movement that\ngoes to the attacked text"),
        Plot(table, "lds", "(b) LDS", "shift to the attacked text"),
        replace(drift, title="(c) explanation drift, verdict kept"),
        replace(
            alignment, title="(d) cue-aligned rationales, verdict kept", axis="share nearer to\nthe attack"
        ),
    ]


def draw_attack(attack: str, rows: pd.DataFrame) -> Figure:
    """Figure 6 (verbosity) or 7 (confidence): outcomes and rationales when one candidate's text is attacked.

    Parameters
    ----------
    attack : {"verbosity", "confidence"}
    rows : DataFrame
        The table ``attack_verbosity`` or ``attack_confidence``, of which equal pairs are drawn.

    Returns
    -------
    Figure
        Four panels: (a) LAO, (b) LDS, (c) drift and (d) cue-aligned share over the same decisions.
    """
    title = f"{ATTACKS[attack]} on one of two texts of equal content"
    plots = attack_plots(attack)
    parts = [_attacked(plot.of(rows), attack) for plot in plots]
    drawn = pd.concat(parts)
    if drawn.empty:
        return not_run(*canvas(title, 3.9))
    judges = list(drawn["judge"].unique())
    figure = _two_by_two(title, drawn)
    for axes, plot, part in zip(figure.axes, plots, parts, strict=True):
        axes.set_title(plot.title, fontsize=9)
        _probe_panel(
            axes, _fitted(plot, part), part, judges, lao_noise if plot.quantity == "lao" else nothing
        )
    keys = [*judge_keys(judges), *paper_keys(plots, drawn), *lao_keys(drawn), *gate_keys(drawn)]
    legend(figure, keys)
    return figure


def _attacked(rows: pd.DataFrame, attack: str) -> pd.DataFrame:
    return rows[rows["condition"] == attack]


def _two_by_two(title: str, rows: pd.DataFrame) -> Figure:
    width = max(1.5 * WIDTH, 2 * (AXIS_WIDTH + SCHEME_WIDTH * len(schemes_of(rows))))
    figure, first = canvas(title, 7.4, width=width)
    first.remove()
    figure.subplots(2, 2)
    return figure


def _fitted(plot: Plot, rows: pd.DataFrame) -> Plot:
    """The plot with an axis that ends soon above what it holds: an attack may move little."""
    papers = [plot.paper(scheme, plot.table.removeprefix("attack_")).span[1] for scheme in rows["scheme"]]
    highest = pd.Series([*rows["value"], *rows["ci_high"], *papers]).max()
    top = next((end for end in (0.2, 0.5) if highest <= end), 1.0)
    return replace(plot, bounds=(0, top))
