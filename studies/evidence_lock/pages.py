"""How each table reads: what it counts, what it leaves out, and its numbers laid out for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from shared.judge.records import STATUSES
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
from shared.reporting.tables import between, number, p_value, whole
from studies.evidence_lock import counterparts
from studies.evidence_lock.captions import ABSENT, EXCLUDED, EXCLUDED_HERE, TEXTS

SOURCES = "questions"
"""What the independent sources are called: a question, a prompt, whatever two answers answer."""

SCHEME_NAMES: Mapping[str, str] = {
    "standard": "Standard",
    "structured": "Structured",
    "lock": "Evidence Lock",
    "pointwise_lock": "Pointwise Lock",
    "frozen_evidence": "Structured's evidence, frozen",
    "lock_with_source": "record and source",
    "conversation": "one conversation",
    "reread": "source read again",
    "other_record": "another's record",
}
"""The paper's four, then the arms that take the lock apart."""

QUANTITY_NAMES: Mapping[str, str] = {
    "agreement": "agreement",
    "agreement_half": "agreement, a tie half",
    "agreement_all": "agreement, of all",
    "inconsistency": "inconsistency",
    "first_shown": "picks the first shown",
    "tie_rate": "ties",
    "order_averaged_agreement": "agreement, both orders' mean",
    "order_averaged_tie_rate": "ties, both orders' mean",
    "majority_agreement": "agreement, most frequent verdict",
    "majority_tie_rate": "ties, most frequent verdict",
    "majority_all_agreement": "agreement, most frequent of all trials",
    "majority_all_tie_rate": "ties, most frequent of all trials",
    "majority_all_votes": "votes a pair, of all trials",
    "calls": "calls",
    "tokens": "tokens",
    "seconds": "seconds",
    "tokens_ratio": "tokens over Structured's",
    "prefers_better": "prefers the better answer",
    "ties_less": "ties less on unequal pairs",
    "not_constant": "most frequent answer",
    "through_record": "through the record",
    "direct": "direct",
    "both": "both",
    "noise_wording": "noise: wording",
    "noise_replicate": "noise: replicate",
    "through_record_above_noise": "through the record, above noise",
    "direct_above_noise": "direct, above noise",
    "both_above_noise": "both, above noise",
    "through_record_less_direct": "through the record less direct",
    "towards_first_inspected": "towards the first inspected",
    "towards_first_decided": "towards the first listed",
    "agreement_by_order": "agreement by order",
    "agreement_crossed_less_same": "agreement, crossed less same orders",
    "variance_share": "share of the variance",
    "record_chars_written": "characters written",
    "cap_filled_rate": "fill their cap",
    "over_cap_rate": "longer than their cap",
    "names_winner_rate": "names a better answer",
    "names_tie_rate": "says that neither is better",
    "leans_rate": "leans",
    "named_first_shown": "names the first inspected",
    "named_agreement": "the named is the better",
    "follows_named_rate": "followed",
    "reader_precision": "precision of the rules",
    "reader_recall": "recall of the rules",
    "share": "share",
    "better_first": "better answer stood first",
    "coverage_better": "coverage, better answer",
    "coverage_worse": "coverage, worse answer",
    "coverage_gap": "better less worse",
    "missing_better": "missing, better answer",
    "missing_worse": "missing, worse answer",
    "own_less_other": "own text less the other's",
    "judge_ties": "the judge's ties",
    "human_ties": "people's ties",
    "ended_at_record": "ended at the record",
    "ended_at_assess_1": "ended at the first assessment",
    "ended_at_assess_2": "ended at the second assessment",
    "ended_at_verdict": "ended at the verdict",
    "ok_rate": "ok",
    "unparsed_rate": "unparsed",
    "truncated_rate": "truncated",
    "refused_rate": "refused",
    "failed_rate": "failed",
}

CELL = (
    "dataset", "subset", "scheme", "reference", "record_chars", "naming", "wording", "temperature", "writer",
)  # fmt: skip
"""What a row may be named by besides its judge and condition; shown where rows differ in it."""

RATERS: Mapping[str, str] = {
    "intended": "is the answer that its writer made the better one, and nobody's preference",
    "gold": "holds by any reader's lights: pairs were written, or chosen, so that one answer is better",
}
"""What a label is that is not a reader's preference."""

_HEADS = {"reference": "less", "record_chars": "record at most", "writer": "record by"}

_REDUNDANT: Mapping[str, Sequence[str]] = {
    "differences": ("condition",),
    "cost": ("condition", "reference"),
    "leaks": ("condition",),
    "budgets": ("condition",),
}
"""By table, what says again what other columns say."""


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
    told += [f"Intervals are at {confidence:.0%} and resample whole {SOURCES}."]
    called = _called(name, rows)
    told.append(basis(rows, profile, SOURCES, counterparts.SEVERAL))
    told.append(in_common(called, CELL, {"dataset": "data set", **_HEADS}))
    yield " ".join(filter(None, told))
    yield from _blocks(name, called)
    yield _notes(rows)


def _called(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """A table's rows, their schemes called as people call them, without names that are redundant in it."""
    told = rows.assign(
        scheme=rows["scheme"].replace(dict(SCHEME_NAMES)),
        reference=rows["reference"].replace(dict(SCHEME_NAMES)),
        condition=rows["condition"].replace(_CONDITION_NAMES),
    )
    for column in _REDUNDANT.get(name, ()):
        told[column] = ""
    return told.assign(**{column: _none_marked(told[column]) for column in ("reference", "condition")})


_CONDITION_NAMES = {
    **{noise: QUANTITY_NAMES[noise] for noise in ("noise_wording", "noise_replicate")},
    "across_records": "sampling, across records",
    "within_records": "sampling, within a record",
}
"""A change is told above a noise, which is a quantity itself."""


def _none_marked(column: pd.Series) -> pd.Series:
    """A name that some rows lack, said to be lacking: a rate and a difference differ in nothing else."""
    return column.replace("", "-") if (column != "").any() else column


# --- Layouts ----------------------------------------------------------------------------------------

_TOGETHER: Mapping[str, Sequence[tuple[str, ...]]] = {
    "agreement": (
        ("agreement", "agreement_half", "agreement_all"),
        ("inconsistency", "tie_rate"),
    ),
    "verdicts": (
        ("order_averaged_agreement", "majority_agreement", "order_averaged_tie_rate", "majority_tie_rate"),
        ("majority_all_agreement", "majority_all_tie_rate", "majority_all_votes"),
    ),
    "cost": (("calls", "tokens", "seconds"),),
    "orders": (("through_record", "direct", "both", "noise_wording", "noise_replicate"),),
    "budgets": (
        ("agreement", "inconsistency", "tokens", "record_chars_written", "cap_filled_rate", "over_cap_rate"),
    ),
    "leaks": (
        ("names_winner_rate", "names_tie_rate", "leans_rate", "named_agreement", "follows_named_rate"),
    ),
    "lost": (
        (
            "share",
            "better_first",
            "coverage_better",
            "coverage_worse",
            "coverage_gap",
            "missing_better",
            "missing_worse",
        ),
    ),
}
"""Quantities that stand side by side, one line a cell, each group a table of its own.

All others stand below, one a row, as do those that are tested, with their test.
"""


_STATUSES = tuple(f"{status}_rate" for status in STATUSES)


def _blocks(name: str, rows: pd.DataFrame) -> Iterator[str]:
    rest = rows
    if name == "answers":
        told = rows["quantity"].isin(_STATUSES)
        cells = _cells(rows[told], rows)
        yield table([statuses(cell, _names(cell.iloc[0], rows), quantity_name) for cell in cells])
        rest = rows[~told]
    for group in _TOGETHER.get(name, ()):
        together = rest["quantity"].isin(group) & rest["p"].isna()
        if together.any():
            yield _side_by_side(rest[together], rows, group)
        rest = rest[~together]
    if len(rest):
        yield table([_line(row, rows) for _, row in rest.iterrows()])


def _cells(rows: pd.DataFrame, table_rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The rows that stand in one line: all that differ in their quantity alone."""
    by = list(_named(table_rows))
    for _, cell in rows.groupby(by, sort=False, dropna=False):
        yield cell


def _side_by_side(rows: pd.DataFrame, table_rows: pd.DataFrame, quantities: Sequence[str]) -> str:
    """One line a cell, one column a quantity, each with the paper's number beside it."""
    titles = [(quantity_name(quantity), f"{quantity_name(quantity)}, paper") for quantity in quantities]
    columns = {title: "" for pair in titles for title in pair}
    lines = []
    for cell in _cells(rows, table_rows):
        line = _names(cell.iloc[0], table_rows) | columns
        for _, row in cell.iterrows():
            name = quantity_name(row["quantity"])
            line |= {name: estimate(row), f"{name}, paper": _paper(row)}
        lines.append(line | _sizes_of(cell) | {"note": _note_of(cell)})
    return table(lines)


def _sizes_of(cell: pd.DataFrame) -> dict[str, str]:
    """The sizes of a line; from the least to the greatest where its quantities rest on different answers."""
    each = [sizes(row, SOURCES) for _, row in cell.iterrows()]
    return {name: " to ".join(_ends([size[name] for size in each])) for name in each[0]}


def _ends(counts: Sequence[str]) -> list[str]:
    known = sorted((count for count in dict.fromkeys(counts) if count.isdigit()), key=int)
    return [*dict.fromkeys((known[0], known[-1]))] if known else [counts[0]]


def _note_of(cell: pd.DataFrame) -> str:
    return "; ".join(dict.fromkeys(part for note in cell["note"] for part in note.split("; ") if part))


def _line(row: pd.Series, table_rows: pd.DataFrame) -> dict[str, str]:
    """Names, ours with its interval, its tests, sizes, the paper's, the note."""
    line = _names(row, table_rows)
    line |= {"quantity": quantity_name(row["quantity"]), "ours [interval]": estimate(row)}
    line |= {title: _test(row, column) for column, title in _TESTS.items()}
    line |= {title: _count(row, column) for column, title in _COUNTS.items()}
    line |= {name: row[name] for name in ("verdict", "gate")} if row["verdict"] else {}
    return line | sizes(row, SOURCES) | {"paper": _paper(row), "note": row["note"]}


_TESTS = {"p": "p, uncorrected", "p_holm": "p, Holm", "mde": "MDE", "p_mcnemar": "p, McNemar"}
_COUNTS = {"count": "count"}


def _test(row: pd.Series, column: str) -> str:
    written = number if column == "mde" else p_value
    return written(row[column])


def _count(row: pd.Series, column: str) -> str:
    return "" if pd.isna(row[column]) else whole(row[column])


def _named(rows: pd.DataFrame) -> list[str]:
    """The columns that name a line: the judge, and all in which rows of the table differ."""
    return ["judge", *differing(rows, (*CELL, "condition"))]


def _names(row: pd.Series, table_rows: pd.DataFrame) -> dict[str, str]:
    return {_HEADS.get(name, name): plain(row[name]) for name in _named(table_rows)}


def _paper(row: pd.Series) -> str:
    """The paper's number, or its range."""
    if pd.notna(row["published"]):
        return number(row["published"])
    return between(row["paper_low"], row["paper_high"])


# --- Notes ------------------------------------------------------------------------------------------


def _notes(rows: pd.DataFrame) -> str:
    """What a reader must know about the columns and marks that this table really has."""
    notes = ["`n/a`: undefined or not estimable, which is not 0."]
    if rows["published"].notna().any() or rows["paper_low"].notna().any():
        notes.append(_OF_THE_PAPER)
    if rows["mde"].notna().any():
        notes.append("MDE: the smallest effect that one uncorrected test would find four times in five.")
    if rows["p_mcnemar"].notna().any():
        notes.append("McNemar: exact, and as if items were independent of each other.")
    notes += _raters(rows)
    notes += gate_notes(rows, SOURCES)
    return "\n".join(f"* {note}" for note in notes)


def _raters(rows: pd.DataFrame) -> Iterator[str]:
    """Whose the labels are, of data sets where they are nobody's preference."""
    for rater, told in RATERS.items():
        names = dict.fromkeys(rows.loc[rows["rater"] == rater, "dataset"])
        if names:
            yield f"{', '.join(names)}: the label {told}."


_OF_THE_PAPER = (
    "paper: what its text states, over its three data sets together: of the row's own judge; or the range "
    "over its two judges; or of the one of them that is quoted. It is about its own data."
)
