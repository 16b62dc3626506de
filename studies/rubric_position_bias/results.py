"""What every row of every table says besides its estimate: the gate, the paper's number, what it rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from shared.frames import rows_of
from shared.reporting import tables
from shared.reporting.pages import plain
from shared.reporting.results import ENDING, NOT_ASKED, Study, finished, worst_of
from studies.rubric_position_bias import counterparts
from studies.rubric_position_bias.gate import gate_rows

COLUMNS = (
    *tables.COLUMNS,
    "setting", "dataset", "rater", "criterion", "size", "temperature", "effort", "scale", "strategy", "k",
    "contest", "p", "p_holm", "mde", "null_low", "null_high", "count", "v", "verdict", "changed",
    "undefined_resamples", "calls", "limit", "n_cells", "n_contests", "n_undefined", "n_trials",
    *ENDING,
)  # fmt: skip
"""Of every table; a column that does not apply to a row is n/a, a text that is lacking is empty."""

TEXTS = (
    "judge", "scheme", "condition", "setting", "dataset", "rater", "criterion", "effort", "scale", "strategy",
    "contest", "verdict", "changed", "published_id",
)  # fmt: skip

MAIN: Mapping[str, Any] = {"scheme": "base", "size": 5, "temperature": 0.0, "effort": ""}
"""The paper's main design: five options, its own prompt, temperature 0."""

GATE = ("judge", "setting", "dataset", "scheme", "size", "temperature", "effort", "scale")
"""What has a gate of its own."""

OVER_SIZES = ("lowest_v_share",)
"""What compares all rubric sizes of a cell, though a row names one."""


def main_design(judgements: pd.DataFrame) -> pd.DataFrame:
    """The judgements of `MAIN`; of the setting ``criteria`` whatever their number is."""
    chosen = (judgements["size"] == MAIN["size"]) | (judgements["setting"] == "criteria")
    for name in ("scheme", "temperature", "effort"):
        chosen &= judgements[name] == MAIN[name]
    return judgements[chosen]


ALL = "all"
"""The judge of a mean over judges."""

Gates = Mapping[tuple[Any, ...], str]
"""The gate's verdict by the values of `GATE`."""


def verdicts(gates: pd.DataFrame) -> Gates:
    """Each cell's verdict, from `gate.gate_rows`."""
    return {tuple(row[name] for name in GATE): row["verdict"] for row in rows_of(gates)}


def gates_of(study: Study) -> pd.DataFrame:
    """The competence gate of every cell, as rows of a table."""
    return gate_rows(study.judgements, study.rng("competence"), study.inference)


def finisher(study: Study, gates: Gates) -> Callable[[str, pd.DataFrame], pd.DataFrame]:
    """Adds to a table's rows the paper's numbers, the gate, and what they rest on."""

    def finish(name: str, rows: pd.DataFrame) -> pd.DataFrame:
        return finished(
            rows,
            study,
            COLUMNS,
            TEXTS,
            gate_of=lambda row: _gate_of(row, gates),
            counterpart_of=lambda row: counterparts.of(row["quantity"], name, **_names(row)),
        )

    return finish


def _gate_of(row: dict[str, Any], gates: Gates) -> str:
    """The verdict on the cell that a row is about; the worst where it is about several, nothing for none."""
    own = {name: row[name] for name in GATE if not (pd.isna(row[name]) or row[name] in ("", ALL))}
    if not own.keys() - {"size"}:
        return ""
    return worst_of({verdict for wanted in _cells_of(row, own) for verdict in _found(wanted, gates)})


def _cells_of(row: dict[str, Any], own: dict[str, Any]) -> list[dict[str, Any]]:
    """What names the cell, or both that a difference or ratio is of; what is not named is every one asked.

    A row without an effort is about none, and one without a setting about single criteria.
    """
    cell = {"setting": "score", "effort": "", **own}
    if cell["setting"] == "score":
        cell["scale"] = ""
    if row["quantity"] in OVER_SIZES:
        return [{name: value for name, value in cell.items() if name != "size"}]
    ends = re.split(" [-/] ", str(row["condition"]))
    if len(ends) != 2:
        return [cell]
    if all(end.startswith("size ") for end in ends):
        return [cell | {"size": float(end.removeprefix("size "))} for end in ends]
    for name in ("scheme", "temperature", "effort"):
        if name in own and plain(own[name]) == ends[0]:
            return [cell, cell | {name: type(own[name])(ends[1])}]
    return [cell]


def _found(wanted: Mapping[str, Any], gates: Gates) -> list[str]:
    """The verdicts on all cells with these names."""
    if wanted.keys() >= set(GATE):
        return [gates.get(tuple(wanted[name] for name in GATE), NOT_ASKED)]
    return [verdict for cell, verdict in gates.items() if _is_of(cell, wanted)] or [NOT_ASKED]


def _is_of(cell: tuple[Any, ...], wanted: Mapping[str, Any]) -> bool:
    return all(value == wanted[name] for name, value in zip(GATE, cell, strict=True) if name in wanted)


def _names(row: dict[str, Any]) -> dict[str, Any]:
    names = (
        "judge",
        "setting",
        "scheme",
        "condition",
        "dataset",
        "criterion",
        "size",
        "temperature",
        "effort",
        "scale",
        "k",
    )
    return {name: row[name] for name in names}
