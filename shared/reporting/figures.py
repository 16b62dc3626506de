"""Figures that are the same bytes on every run, and that read in grey."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from shared.errors import UserError
from shared.reporting.tables import read

INK, GREY, LIGHT = "#1a1a1a", "#7a7a7a", "#ececec"
"""What was measured; what only checks the instrument; the ground below published numbers."""

MARKERS = ("o", "s", "D", "^", "v", "P", "X")
"""One a judge, in the order of params."""

_STYLE: Any = {
    "svg.hashsalt": "judges on trial",  # ids would otherwise be drawn anew on each run
    "svg.fonttype": "path",  # the same picture where the font is not installed
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.6,
    "xtick.major.size": 0,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    "figure.facecolor": "white",
}


@dataclass(frozen=True, slots=True)
class Caption:
    """What a figure says about itself inside its file: its title, and the table that it draws."""

    title: str
    source: str


class FiguresError(UserError):
    """A table that a figure draws is not there; the message names it and the fix."""


class Drawn(NamedTuple):
    """A figure: the table that it draws, how it is called, and what draws it."""

    table: str
    caption: str
    draw: Callable[[pd.DataFrame], Figure]


@contextmanager
def style() -> Iterator[None]:
    """The project's figure style, and nothing of the user's own."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def save(figure: Figure, path: Path, caption: Caption) -> None:
    """Write an SVG that depends on the figure alone: no date, fixed ids.

    Call it inside `style`, which fixes the ids.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None, "Title": caption.title, "Source": caption.source}
    figure.savefig(path, format="svg", metadata=metadata)


def caption_of(path: Path) -> Caption:
    """What `save` wrote into the file; empty texts for another program's SVG."""
    root = ElementTree.parse(path).getroot()

    def text(name: str) -> str:
        return root.findtext(f".//{{http://purl.org/dc/elements/1.1/}}{name}", "")

    return Caption(text("title"), text("source"))


def draw_all(figures: Mapping[str, Drawn], tables: Path, folder: Path) -> None:
    """Draw every figure, by the name of its file, from the tables in a folder.

    Raises
    ------
    FiguresError
        If a table is not there.
    """
    with style():
        for name, drawn in figures.items():
            path = tables / f"{drawn.table}.csv"
            if not path.is_file():
                raise FiguresError(f"{path} is absent; run `make repro`, which writes it")
            save(drawn.draw(read(path)), folder / f"{name}.svg", Caption(drawn.caption, path.as_posix()))
