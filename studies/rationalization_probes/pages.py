"""How each table reads: what it counts, what it leaves out, and its numbers laid out for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from shared.reporting.pages import basis, estimate, gate_notes, sizes, statuses, table
from shared.reporting.tables import between, interval, number, p_value, whole
from studies.rationalization_probes.captions import ABSENT, EXCLUDED, EXCLUDED_HERE, TEXTS

SCHEME_NAMES: Mapping[str, str] = {
    "baseline": "Baseline, ties allowed",
    "forced": "Baseline, forced choice",
    "scot": "SCoT",
    "scot_no_conciseness": "SCoT, without conciseness",
    "pbp_once": "PBP, cue once",
    "pbp_repeated": "PBP, cue repeated",
    "pbp_grafted": "PBP, cue at scoring only",
    "pbp_no_conciseness": "PBP, without conciseness",
    "pointwise": "Pointwise, Appendix A",
    "": "",
}

QUANTITY_NAMES: Mapping[str, str] = {
    "share_tie": "Tie",
    "share_12": "[1,2]",
    "share_21": "[2,1]",
    "share_first_shown": "first on the screen",
    "neutrality_signed": "ND, signed",
    "neutrality_deviation": "ND, size",
    "shift_favoured": "shift to favoured",
    "shift_opposite": "shift to opposite",
    "shift_tie": "shift to Tie",
    "lds": "LDS",
    "ols": "OLS",
    "ts": "TS",
    "lao": "LAO",
    "cue_effect": "cue effect",
    "tie_change": "change of ties",
    "revision_rate": "revised",
    "revised_towards": "towards the revealed label",
    "revised_away": "away from it",
    "revised_into_tie": "into Tie",
    "unrevised": "not revised",
    "prefers_undamaged": "prefers the undamaged text",
    "ties_less": "ties less on damaged pairs",
    "not_constant": "most frequent answer",
    "spans_found_rate": "quoted spans found in the source",
    "rationale_effect": "drift above the floor",
    "drift": "drift",
    "cosine": "cosine",
    "change_rate": "changed",
    "drift_above_empty": "drift above an empty line's",
    "drift_above_resample": "drift above a resample's",
    "lai": "LAI",
    "lai_blind": "LAI of Blind rationales",
    "lai_excess": "LAI above Blind's",
    "lai_wording_range": "range over wordings",
    "numbers_survive_rate": "numbers survive",
    "names_survive_rate": "names survive",
    "length_ratio": "length ratio",
    "consistency_rate": "agrees with the verdict",
    "states_rate": "states a preference",
    "intrusion_rate": "argues from the label",
    "intrusion_excess": "the same, above Blind's",
    "outcome_shift": "outcome shift",
    "rationale_shift": "rationale shift",
    "sensitivity": "sensitivity",
    "tie_rate": "ties",
    "error_slope": "slope of an error",
    "cue_slope": "slope of the label",
    "place_slope": "slope of the place",
    "price_in_errors": "price of the label, in errors",
    "graft_through": "through the notes",
    "graft_direct": "direct",
    "graft_total": "total",
    "graft_interaction": "interaction",
    "graft_through_tie": "through the notes, ties",
    "graft_direct_tie": "direct, ties",
    "graft_total_tie": "total, ties",
    "graft_interaction_tie": "interaction, ties",
    "precision": "precision",
    "recall": "recall",
    "accuracy": "accuracy",
    "calls": "calls",
}


def quantity_name(quantity: str) -> str:
    """How a table calls a quantity; scores are called by their criterion."""
    return QUANTITY_NAMES.get(quantity, quantity.removeprefix("score_").replace("_", " "))


def page(name: str, rows: pd.DataFrame, profile: str, confidence: float) -> Iterator[str]:
    """The page of a table.

    Parameters
    ----------
    name : str
        The table's, a key of `TEXTS`.
    rows : DataFrame
        With `tables.COLUMNS`.
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
    excluded = EXCLUDED_HERE.get(name, EXCLUDED)
    how = "" if name in ("scorers", "protocols") else " and resample whole documents"
    intervals = f"Intervals are at {confidence:.0%}{how}."
    yield f"{text.counted} {excluded} {intervals} {basis(rows, profile)}"
    yield from _BLOCKS.get(name, _in_rows)(rows)
    if name != "protocols":  # which turns ran is not an estimate
        yield from _notes(rows)


# --- Layouts ----------------------------------------------------------------------------------------


def _outcome_blocks(rows: pd.DataFrame) -> Iterator[str]:
    """Outcomes side by side, as the paper has them; what moved below, one quantity a row."""
    shares = ["share_tie", "share_12", "share_21"]
    balance = ["neutrality_signed", "neutrality_deviation"]
    place = ["share_first_shown"]
    for block in (shares, balance, place):
        if len(found := rows[rows["quantity"].isin(block)]):
            yield _side_by_side(found, block)
    moved = rows[~rows["quantity"].isin([*shares, *balance, *place])]
    for coding, moved_so in moved[moved["coding"] != ""].groupby("coding", sort=False):
        yield f"Shifts from Blind, coding `{coding}`:"
        yield _rows_with(moved_so, ("value_paper", "p", "floor", "null"))
    if len(told := moved[moved["coding"] == ""]):
        yield "Rationales:"
        yield _rows_with(told, ("p", "mde"))


def _effects_below(rows: pd.DataFrame) -> Iterator[str]:
    """Outcomes side by side, then the cue's effects, then the gate where it is asked about these pairs."""
    effects = rows["quantity"].isin(["cue_effect", "tie_change"])
    gate = rows["verdict"] != ""
    yield from _outcome_blocks(rows[~effects & ~gate])
    yield "The effect of the cue:"
    yield from _effect_rows(rows[effects])
    if gate.any():
        yield "The competence gate:"
        yield from _competence_rows(rows[gate])


def _side_by_side(rows: pd.DataFrame, quantities: Sequence[str]) -> str:
    """One row a judge, scheme and condition; three columns a quantity."""
    keys = ["judge", "scheme", "kind", "condition", "system", "writer"]
    cells = []
    for _, cell in rows.groupby(keys, sort=False):
        by_quantity = {str(row["quantity"]): row for _, row in cell.iterrows()}
        first = cell.iloc[0]
        line = _names(first) | {"kind": first["kind"]} | sizes(first)
        for quantity in quantities:
            row, name = by_quantity[quantity], QUANTITY_NAMES[quantity]
            count = "" if pd.isna(row["count"]) else f" ({whole(row['count'])})"
            line |= {name: estimate(row) + count, f"{name}, of all": number(row["value_paper"])}
            line |= {f"{name}, paper": _paper(row)}
        cells.append(line | {"note": first["note"]})
    return table(cells)


def _in_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, ("value_paper",))


def _effect_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, ("value_paper", "p", "p_holm", "mde"))


def _tested_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, ("value_paper", "p", "mde"))


def _floored_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, ("value_paper", "p", "mde", "resting"))


def _equal_rows(rows: pd.DataFrame) -> Iterator[str]:
    """Equal pairs alone where there are any, since the CSV has every kind; else all rows."""
    equal = rows[rows["kind"] == "equal"]
    yield from _tested_rows(equal if len(equal) else rows)


def _protocol_lines(rows: pd.DataFrame) -> Iterator[str]:
    """One row a turn."""
    yield table(
        [
            {
                **_names(row),
                "turn": row["step"],
                "sees": row["sees"],
                "makes": row["makes"],
                "calls": whole(row["count"]),
                "trials": whole(row["n_trials"]),
            }
            for _, row in rows.iterrows()
        ]
    )


def _competence_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, ("p", "verdict", "gate"))


def _counted_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, ("count",))


def _status_rows(rows: pd.DataFrame) -> Iterator[str]:
    """One row a scheme, probe and stage; statuses side by side."""
    cells = []
    for _, cell in rows.groupby(["judge", "scheme", "condition", "stage"], sort=False):
        names = {**_names(cell.iloc[0]), "stage": cell.iloc[0]["stage"]}
        cells.append(statuses(cell, names, lambda quantity: quantity.removesuffix("_rate")))
    yield table(cells)


_BLOCKS = {
    "table_02_blind": _outcome_blocks,
    "table_03_truth": _outcome_blocks,
    "table_04_flip": _outcome_blocks,
    "table_05_placebo": _outcome_blocks,
    **dict.fromkeys(
        (
            "table_06_samples_truth",
            "table_07_samples_flip",
            "table_08_samples_placebo",
            "attack_verbosity",
            "attack_confidence",
        ),
        _outcome_blocks,
    ),
    **dict.fromkeys(("relabel", "cross_task"), _effects_below),
    **dict.fromkeys(("rationale_drift", "rationale_alignment", "consistency"), _equal_rows),
    "grafting": _tested_rows,
    "invariance": _floored_rows,
    "protocols": _protocol_lines,
    "table_09_extractive": _outcome_blocks,
    "table_10_identical": _outcome_blocks,
    "revision": _tested_rows,
    "cue_effects": _effect_rows,
    "competence": _competence_rows,
    "spans": _counted_rows,
    "answers": _status_rows,
}

_FLOOR_NAMES = {"floor": "an empty label line [interval]", "resting": "without a cue: floor [interval]"}

_EXTRA_NAMES = {
    "value_paper": "of all",
    "p": "p, uncorrected",
    "p_holm": "p, Holm",
    "mde": "MDE, one test at alpha",
    "count": "count",
}


def _rows_with(rows: pd.DataFrame, extras: Sequence[str]) -> str:
    """One row a quantity: names, ours with its interval, the extras, sizes, the paper's, the note."""
    return table([_line(row, extras) for _, row in rows.iterrows()])


def _line(row: pd.Series, extras: Sequence[str]) -> dict[str, str]:
    line = _names(row)
    if pd.notna(row["kind"]):
        line["kind"] = row["kind"]
    line |= {name: row[name] for name in ("over", "wording") if row[name]}
    line |= {"quantity": quantity_name(row["quantity"]), "ours [interval]": estimate(row)}
    for extra in extras:
        line |= _extra(row, extra)
    return line | sizes(row) | {"paper": _paper(row), "note": row["note"]}


def _extra(row: pd.Series, name: str) -> dict[str, str]:
    if name in _FLOOR_NAMES:
        return {_FLOOR_NAMES[name]: interval(row["floor_value"], row["floor_low"], row["floor_high"])}
    if name == "null":
        return {"if Blind and probe were exchangeable": between(row["null_low"], row["null_high"]) or "n/a"}
    if name in ("verdict", "gate"):
        return {name: row[name]}
    written = {"count": whole, "p": p_value, "p_holm": p_value}.get(name, number)
    return {_EXTRA_NAMES[name]: written(row[name])}


def _names(row: pd.Series) -> dict[str, str]:
    names = {name: "" if pd.isna(row[name]) else row[name] for name in ("judge", "scheme", "condition")}
    names["scheme"] = SCHEME_NAMES[names["scheme"]]
    pair = {"candidate 1 by": row["writer"], "system": row["system"]}
    return names | (pair if row["system"] else {})


def _paper(row: pd.Series) -> str:
    """The judge's own printed number, or the range over the paper's five."""
    return (
        between(row["paper_low"], row["paper_high"])
        if pd.isna(row["published"])
        else number(row["published"])
    )


# --- Notes ------------------------------------------------------------------------------------------


def _notes(rows: pd.DataFrame) -> Iterator[str]:
    """What a reader must know about the columns and marks that this table really has."""
    notes = ["`n/a`: undefined or not estimable, which is not 0."]
    if rows["paper_low"].notna().any():
        notes.append(
            "paper: the range over its five judges, computed from its printed counts by the same functions "
            "(Figures 3 and 5-7: as stated in its text); the judge's own number where it is one of the five."
        )
        if (rows["scheme"] == "baseline").any():
            notes.append(
                "The paper's Baseline could not tie: it stands beside the forced choice. A Baseline that "
                "may tie has no counterpart in the paper."
            )
    notes += gate_notes(rows)
    yield "\n".join(f"* {note}" for note in notes)
