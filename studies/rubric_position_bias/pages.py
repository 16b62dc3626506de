"""How each table reads: what it counts, what it leaves out, and its numbers laid out for a person."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shared.reporting.pages import (
    basis,
    differing,
    estimate,
    gate_notes,
    in_common,
    plain,
    sizes,
    statuses,
    table,
)
from shared.reporting.tables import NOT_AVAILABLE, between, number, p_value, whole
from studies.rubric_position_bias import counterparts
from studies.rubric_position_bias.captions import ABSENT, EXCLUDED, EXCLUDED_HERE, TEXTS

SOURCES = "prompts"
"""What the independent sources are called: a prompt, an article, whatever a text was written for."""

QUANTITY_NAMES: Mapping[str, str] = {
    "position_share": "share of the choices",
    "direction": "direction",
    "cramers_v": "Cramer's V",
    "printed_v": "V squared (the paper's formula)",
    "printed_v_of_all": "V squared, of all that was asked (the paper's N)",
    "chi_square": "chi-square",
    "chi_square_null_ratio": "chi-square without bias, over its degrees of freedom",
    "cramers_v_above_null": "V above noise",
    "cramers_v_difference": "difference of V",
    "lowest_v_share": "share of resamples with the lowest V",
    "criterion_mean": "mean score",
    "last_minus_first": "last less first",
    "largest_shift": "largest shift",
    "friedman": "Friedman's chi-square",
    "kendalls_w": "Kendall's W",
    "scale_shift": "shift by the order of the range",
    "shift_difference": "difference of the largest shifts",
    "axes_interaction": "interaction of the axes",
    "pearson": "Pearson's r",
    "spearman": "Spearman's rho",
    **{
        f"{coefficient}_{claim}": f"{name}: {told}"
        for coefficient, name in (("pearson", "r"), ("spearman", "rho"))
        for claim, told in (
            ("cells_containing_0", "cells whose interval holds 0"),
            ("cells_above_0", "cells above 0"),
            ("cells_below_0", "cells below 0"),
            ("smallest_difference", "smallest difference"),
            ("largest_difference", "largest difference"),
        )
    },
    "gain": "gain in r",
    "gain_over_v": "rank correlation of gain and V",
    "gain_share": "share of the gain",
    "curve_gap": "largest gap, Balanced and Random",
    "judges_tracking": "judges without a larger gap than the paper's",
    "kendall_tau": "Kendall's tau",
    "top1_change_low": "best candidate changes, low",
    "top1_change_high": "best candidate changes, high",
    "alpha": "alpha",
    "sd_alpha": "sd(alpha)",
    "sd_alpha_shares": "sd(alpha), paper's form",
    "sd_alpha_difference": "difference of sd(alpha)",
    "sd_alpha_ratio": "ratio of sd(alpha)",
    "score_test": "score test",
    "lr": "likelihood ratio",
    "lr_shares": "likelihood ratio, paper's form",
    "gamma": "gamma (content), paper's form",
    "beta": "beta (leniency), paper's form",
    "distribution_rate": "trials with a distribution",
    "legal_mass": "probability on options",
    "mass_share": "mean probability",
    "mass_direction": "direction of the probability",
    "mass_v": "V of the probability",
    "mass_total_variation": "total variation from equal places",
    "answers_v": "V of the answers",
    "mass_v_difference": "V of the probability less that of the answers",
    "expected_score_correlation": "r of expected score and score",
    "likeliest_is_answer_rate": "likeliest option is the answer",
    "r_reference": "r with the reference",
    "r_other_orders": "r with the other orders' answers",
    "r_reference_gain": "gain in r with the reference",
    "r_other_orders_gain": "gain in r with the other orders' answers",
    "prior": "prior",
    "place_effect": "effect of place",
    "score_shift": "shift of a score",
    "orders_needed": "orders needed",
    "orders_needed_score": "orders needed, by the shift of a score",
    "follows": "follows the reference",
    "constant_share": "most frequent score or place",
    "answer_share": "most frequent answer by place",
    "ok_rate": "ok",
    "unparsed_rate": "unparsed",
    "truncated_rate": "truncated",
    "refused_rate": "refused",
    "failed_rate": "failed",
    "neighbour_imbalance": "neighbours that would have to change",
}

CELL = (
    "setting", "dataset", "rater", "criterion", "scheme", "size", "temperature", "effort", "scale", "contest",
    "limit",
)  # fmt: skip
"""What a row may be named by besides its judge, condition and k; shown where rows differ in it."""


def quantity_name(quantity: str) -> str:
    """How a table calls a quantity."""
    return QUANTITY_NAMES.get(quantity, quantity.replace("_", " "))


def page(name: str, rows: pd.DataFrame, profile: str, confidence: float) -> Iterator[str]:
    """The page of a table.

    Parameters
    ----------
    name : str
        The table's, a key of `TEXTS`.
    rows : DataFrame
        With ``results.COLUMNS``.
    profile : str
    confidence : float
        Level of the intervals.

    Yields
    ------
    str
        Title, one paragraph, the numbers, the notes; in Markdown.
    """
    text = TEXTS[name]
    yield f"# {text.title}"
    if rows.empty:
        yield f"Not run: {ABSENT[name]}. Profile `{profile}`."
        return
    told = [text.counted, EXCLUDED_HERE.get(name, EXCLUDED)]
    if name != "orders":  # arithmetic
        told.append(f"Intervals are at {confidence:.0%} and resample whole {SOURCES}.")
    told += [basis(rows, profile, SOURCES, counterparts.POOLED), in_common(rows, CELL, _LABELS)]
    yield " ".join(filter(None, told))
    blocks = list(_BLOCKS.get(name, _in_rows)(rows))
    yield from blocks
    yield _notes(rows, "\n".join(blocks))


_LABELS = {"dataset": "data set", "rater": "reference scores"}


# --- Layouts ----------------------------------------------------------------------------------------


def _in_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, rows)


def _places_first(*quantities: str) -> Callable[[pd.DataFrame], Iterator[str]]:
    """Quantities that have a row a place, side by side; all others below, one a row."""

    def blocks(rows: pd.DataFrame) -> Iterator[str]:
        for quantity in quantities:
            found = rows[rows["quantity"] == quantity]
            if len(found):
                yield _heading(quantity)
                yield _side_by_side(found, rows, "condition", ())
        if len(rest := rows[~rows["quantity"].isin(quantities)]):
            yield _rows_with(rest, rows)

    return blocks


def _curve_blocks(rows: pd.DataFrame) -> Iterator[str]:
    """Strategies side by side, one row a number of orders; first the share of the gain, as in the paper."""
    for quantity in ("gain_share", "pearson"):
        found = rows[rows["quantity"] == quantity]
        if len(found):
            yield _heading(quantity)
            yield _side_by_side(found, rows, "condition", ("k",))
    if len(rest := rows[~rows["quantity"].isin(["gain_share", "pearson"])]):
        yield _rows_with(rest, rows)


def _heading(quantity: str) -> str:
    name = quantity_name(quantity)
    return f"{name[0].upper()}{name[1:]}:"


def _quantities_first(*quantities: str, keys: Sequence[str]) -> Callable[[pd.DataFrame], Iterator[str]]:
    """These quantities side by side; all others below, one a row."""

    def blocks(rows: pd.DataFrame) -> Iterator[str]:
        together = rows["quantity"].isin(quantities)
        if together.any():
            yield _side_by_side(rows[together], rows, "quantity", keys)
        if len(rest := rows[~together]):
            yield _rows_with(rest, rows)

    return blocks


def _calibration_blocks(rows: pd.DataFrame) -> Iterator[str]:
    """One row a way to a score; the priors by place below."""
    priors = rows["quantity"] == "prior"
    scored = _quantities_first("r_reference", "r_other_orders", "gain_share", keys=("condition",))
    yield from scored(rows[~priors])
    for source in dict.fromkeys(rows.loc[priors, "condition"].str.split().str[0]):
        own = rows[priors & rows["condition"].str.startswith(source)]
        yield f"Prior, {source}:"
        places = own.assign(condition=own["condition"].str.removeprefix(f"{source} "))
        yield _side_by_side(places, rows, "condition", ())


def _status_rows(rows: pd.DataFrame) -> Iterator[str]:
    """Statuses side by side, as counts, with the rate of `ok`."""
    cells = _cells(rows, rows, ())
    yield table([statuses(cell, _names(cell.iloc[0], rows), quantity_name) for _, cell in cells])


_BLOCKS: Mapping[str, Callable[[pd.DataFrame], Iterator[str]]] = {
    "position": _places_first("position_share"),
    "criterion_order": _places_first("criterion_mean"),
    "logit": _places_first("alpha", "beta"),
    "first_token": _places_first("mass_share"),
    "k_curve": _curve_blocks,
    "ranking": _quantities_first(
        "kendall_tau", "top1_change_low", "top1_change_high", keys=("condition", "k")
    ),
    "calibration": _calibration_blocks,
    "budget": _quantities_first("place_effect", "score_shift", keys=("k",)),
    "answers": _status_rows,
}


def _cells(
    rows: pd.DataFrame, table_rows: pd.DataFrame, keys: Sequence[str]
) -> Iterator[tuple[Any, pd.DataFrame]]:
    """The rows that stand in one line: of one judge and cell, and one value of each key."""
    by = ["judge", *differing(table_rows, CELL), *keys]
    yield from rows.groupby(by, sort=False, dropna=False)


def _side_by_side(rows: pd.DataFrame, table_rows: pd.DataFrame, across: str, keys: Sequence[str]) -> str:
    """One line a cell and key; the values of ``across`` are the columns, each with the paper's beside it."""
    columns = {title: "" for name in dict.fromkeys(rows[across]) for title in _titles(name, across)}
    lines = []
    for _, cell in _cells(rows, table_rows, keys):
        first = cell.iloc[0]
        line = _names(first, table_rows) | {key: plain(first[key]) for key in keys} | columns
        for _, row in cell.iterrows():
            ours, paper = _titles(row[across], across)
            line |= {ours: _counted(row), paper: _paper(row)}
        lows, highs = cell["null_low"].astype(float), cell["null_high"].astype(float)
        line |= {"without bias": between(lows.min(), highs.max())}
        lines.append(line | _extras_of_cell(first) | sizes(first, SOURCES) | {"note": _notes_of_cell(cell)})
    return table(lines)


def _titles(name: str, across: str) -> tuple[str, str]:
    title = quantity_name(name) if across == "quantity" else name
    return title, f"{title}, paper"


def _counted(row: pd.Series) -> str:
    """An estimate, with the number of choices where there is one, and of resamples without it."""
    count = "" if pd.isna(row["count"]) else f" ({whole(row['count'])})"
    lost = _whole_or_nothing(row, "undefined_resamples")
    return estimate(row) + count + (f", {lost} undefined" if lost else "")


def _extras_of_cell(row: pd.Series) -> dict[str, str]:
    """What is the same for all columns of a line."""
    own = ("count", "undefined resamples")  # of each column
    counts = {name: _whole_or_nothing(row, column) for name, column in _COUNTS.items() if name not in own}
    return {"calls": number(row["calls"]), **counts}


def _notes_of_cell(cell: pd.DataFrame) -> str:
    """What the notes of a line's columns say, each thing once; of values that are n/a first."""
    told = dict.fromkeys(part for note in cell["note"] for part in note.split("; ") if part)
    return "; ".join(sorted(told, key=lambda part: not part.startswith(NOT_AVAILABLE)))


def _rows_with(rows: pd.DataFrame, table_rows: pd.DataFrame) -> str:
    """One row a quantity: names, ours with its interval, its tests, sizes, the paper's, the note."""
    several = rows["condition"].nunique() > 1
    return table([_line(row, table_rows, several) for _, row in rows.iterrows()])


def _line(row: pd.Series, table_rows: pd.DataFrame, several: bool) -> dict[str, str]:
    line = _names(row, table_rows)
    line |= {"quantity": quantity_name(row["quantity"])}
    line |= {"condition": row["condition"]} if several else {}
    line |= {"k": plain(row["k"]), "ours [interval]": estimate(row)}
    line |= {
        "without bias": between(row["null_low"], row["null_high"]),
        "p, uncorrected": p_value(row["p"]),
        "p, Holm": p_value(row["p_holm"]),
        "MDE": number(row["mde"]),
        "V": number(row["v"]),
        "calls": number(row["calls"]),
        "tests differ": row["changed"],
    }
    line |= {name: _whole_or_nothing(row, column) for name, column in _COUNTS.items()}
    line |= {name: row[name] for name in ("verdict", "gate")} if row["verdict"] else {}
    return line | sizes(row, SOURCES) | {"paper": _paper(row), "note": row["note"]}


_COUNTS = {
    "count": "count",
    "cells": "n_cells",
    "contests": "n_contests",
    "without a tau": "n_undefined",
    "undefined resamples": "undefined_resamples",
}


def _whole_or_nothing(row: pd.Series, column: str) -> str:
    """A count; nothing where there is none, and where nothing was lost."""
    value = row[column]
    lost = column in ("n_undefined", "undefined_resamples")
    return "" if pd.isna(value) or (lost and value == 0) else whole(value)


def _names(row: pd.Series, table_rows: pd.DataFrame) -> dict[str, str]:
    return {"judge": row["judge"], **{name: plain(row[name]) for name in differing(table_rows, CELL)}}


def _paper(row: pd.Series) -> str:
    """The paper's number, with of how many where it counts; or its range; or that it names this row."""
    if pd.isna(row["published"]):
        told = between(row["paper_low"], row["paper_high"])
        return told or ("over-selected" if row["published_id"] else "")
    total = counterparts.total(row["published_id"])
    return number(row["published"]) if np.isnan(total) else f"{row['published']:g} of {total:g}"


# --- Notes ------------------------------------------------------------------------------------------


def _notes(rows: pd.DataFrame, shown: str) -> str:
    """What a reader must know about the columns and marks that this table really has, and shows."""
    notes = ["`n/a`: undefined or not estimable, which is not 0."]
    if re.search(r", \d+ undefined", shown):
        notes.append("undefined: so many resamples gave no value, and are left out of the interval.")
    if (rows["published_id"] != "").any() or rows["paper_low"].notna().any():
        notes.append(
            "paper: what its text states, which is all that is known here: of the row's own judge; or of all "
            "six together; or the range from its least to its most biased judge. It is about its own data."
        )
    if rows["null_low"].notna().any():
        notes.append("without bias: the central range if scores had nothing to do with the orders.")
    if "| MDE " in shown:
        notes.append("MDE: the smallest effect that one uncorrected test would find four times in five.")
    if (rows["rater"] == "intended").any():
        notes.append(
            "intended: the reference is the level that a text's writer aimed at, and nobody's rating."
        )
    notes += gate_notes(rows, SOURCES)
    return "\n".join(f"* {note}" for note in notes)
