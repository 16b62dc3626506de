"""How each table reads: what it counts, what it leaves out, and its numbers laid out for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from shared.reporting.tables import TOO_FEW, between, interval, markdown, number, p_value, whole

INSTRUMENT_CHECK = "instrument check"

GATE_NOTES: Mapping[str, str] = {
    "passed": "",
    "failed": INSTRUMENT_CHECK,
    "too few to tell": "gate not passed (too few to tell)",
}
"""What a row says of the competence gate: nothing only where it was passed."""

SCHEME_NAMES: Mapping[str, str] = {
    "baseline": "Baseline, ties allowed",
    "forced": "Baseline, forced choice",
    "scot": "SCoT",
    "pbp_once": "PBP, cue once",
    "pbp_repeated": "PBP, cue repeated",
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
}


class Text(NamedTuple):
    """A page's title and its first words: what is counted."""

    title: str
    counted: str


_PLACE = (
    "Where each item is shown in one drawn order, ND is confounded with the place on the screen. So the last "
    "block has the share of the verdicts other than Tie that went to the text shown first."
)

_PROBE = (
    "How often each outcome came on pairs of equal content {cue}, and how the shares moved from Blind, item "
    "by item. The favoured side is the candidate that carries the cue (coding `carrier`){second} The signed "
    "shift, tested in [cue_effects](cue_effects.md), and LDS carry the test; LAO, a ratio that a chance "
    "movement makes as large as any, has no p. LDS, OLS, TS and LAO can't be negative, so that noise alone "
    "keeps them above 0. Two columns say how far: what an empty label line moves, a cue without information; "
    "and the central range if Blind and probe were exchangeable. The paper's numbers on equal pairs follow "
    "from the counts of its Tables 2-5; its Tables 6-8, about two samples of one model, stand beside rows of "
    "kind `samples`, where that set was run."
)

TEXTS: Mapping[str, Text] = {
    "table_02_blind": Text(
        "Table 2: outcomes under Blind",
        "How often each outcome came on pairs of equal content, without any cue. Tie is the Equality "
        "Detection Rate (EDR); ND is the balance of the other two, signed ([1,2] minus [2,1]) and as the "
        f"paper's size, which is undefined where nothing but ties came. {_PLACE}",
    ),
    "table_03_truth": Text(
        "Table 3: outcomes under Truth labels",
        _PROBE.format(
            cue="when candidate 1 is labelled LLM",
            second=", with which the paper's side, [1,2], coincides by design.",
        ),
    ),
    "table_04_flip": Text(
        "Table 4: outcomes under Flip labels",
        _PROBE.format(
            cue="when candidate 2 is labelled LLM",
            second=", with which the side of the paper's section 4.3, [2,1], coincides by design; one of its "
            "captions has [1,2] (`always_12`).",
        ),
    ),
    "table_05_placebo": Text(
        "Table 5: outcomes under the placebo badge",
        _PROBE.format(
            cue="when one candidate, drawn per item, carries the badge",
            second="; the paper favours [1,2] for every item (`always_12`).",
        ),
    ),
    "table_09_extractive": Text(
        "Table 9: an abstractive summary against extractive ones",
        "How often candidate 1, an abstractive summary ([1,2]), was preferred to each system's extract "
        "([2,1]). Who wrote candidate 1 is in its column: `llm` a language model, `llm:<judge>` the "
        "generator of that name, `given` whoever wrote what came with the documents. The paper's was a "
        "language model's; it states neither scheme nor probe for its table: its numbers stand beside every "
        "one of ours.",
    ),
    "table_10_identical": Text(
        "Table 10: identical texts",
        "How often each outcome came where both candidates are the same text. The paper shows the labels and "
        "states no scheme: its numbers stand beside every scheme under Truth and Flip, and beside none "
        f"under Blind. Identical texts differ in place and label alone. {_PLACE}",
    ),
    "revision": Text(
        "Figure 3: revision after the labels are revealed",
        "How often a verdict under Flip changed when the same conversation went on: `reveal` tells the true "
        "labels, `control` only asks again, `difference` is reveal minus control, paired, and is the effect "
        "of the reveal itself. The paper has no control.",
    ),
    "cue_effects": Text(
        "The effect of a cue",
        "The primary outcome: by how much a cue raises the probability that the candidate that carries it is "
        "picked, against Blind's picks of the same candidate in the same screen order; and the change of "
        "ties. Condition `empty` is the same cue line without information: what any extra line does. p is "
        "from sign flips of whole documents. Holm's p corrects one declared family of each quantity: equal "
        "pairs under Truth, Flip and Placebo, over all judges and schemes of this table. MDE is the smallest "
        "effect that one test at alpha, not corrected, would find with probability 0.8 (above 1: no effect "
        "would be; n/a: too few documents for any).",
    ),
    "competence": Text(
        "The competence gate",
        "Whether a judge under a scheme can tell a damaged text from a sound one at all: it prefers the "
        "undamaged text over both screen orders (above 0), ties less on damaged than on equal pairs (above "
        "0; within documents that have both kinds, else between two groups of documents; not asked of a "
        "forced choice), and does not always give one answer on the screen (its most frequent answer stays "
        "below 1). p is one-sided.",
    ),
    "spans": Text(
        "Quoted spans",
        "The share of the spans that PBP's notes quote that stand in the source document.",
    ),
    "answers": Text(
        "What became of the answers",
        "The status of every answer that was due, over all kinds of pairs. Only `ok` answers have a verdict; "
        "no other is ever turned into one.",
    ),
}

ABSENT: Mapping[str, str] = {
    "table_02_blind": "params have no set `equal`",
    "table_03_truth": "params have no set `equal` under truth",
    "table_04_flip": "params have no set `equal` under flip",
    "table_05_placebo": "params have no set `equal` under placebo",
    "table_09_extractive": "params have no set `extractive`",
    "table_10_identical": "params have no set `identical`",
    "revision": "no set in params has `reveal: true`",
    "cue_effects": "no set in params has a cue",
    "competence": "there are no judgements",
    "spans": "no set in params has a PBP scheme",
    "answers": "there are no judgements",
}
"""Why a table has no rows."""

_EXCLUDED = (
    "Answers that could not be parsed, were cut off, refused or failed are counted (unparsed) and left out "
    'of each estimate and its interval; "of all", printed where there are any, keeps them in the '
    "denominator, as the paper does."
)
_EXCLUDED_HERE: Mapping[str, str] = {
    "competence": "Answers without a verdict are counted (unparsed) and left out, as are damaged pairs that "
    "have a verdict in one screen order only.",
    "spans": "Notes that could not be read are counted (unparsed) and left out.",
    "answers": "Nothing is left out.",
}


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
    excluded = _EXCLUDED_HERE.get(name, _EXCLUDED)
    intervals = f"Intervals are at {confidence:.0%} and resample whole documents."
    yield f"{text.counted} {excluded} {intervals} {_basis(rows, profile)}"
    yield from _BLOCKS.get(name, _in_rows)(rows)
    yield from _notes(rows)


def _basis(rows: pd.DataFrame, profile: str) -> str:
    judges = rows[["judge", "fingerprint"]].drop_duplicates()
    named = ", ".join(
        f"{judge} (fingerprint {mark or 'none'})"
        for judge, mark in zip(*(judges[name] for name in judges), strict=True)
    )
    n = f"up to {rows['n_items'].max():.0f} items of {rows['n_clusters'].max():.0f} documents a row"
    return f"Profile `{profile}`; {n}; judge: {named}."


# --- Layouts ----------------------------------------------------------------------------------------


def _outcome_blocks(rows: pd.DataFrame) -> Iterator[str]:
    """Outcomes side by side, as the paper has them; what moved below, one quantity a row."""
    shares = ["share_tie", "share_12", "share_21"]
    balance = ["neutrality_signed", "neutrality_deviation"]
    place = ["share_first_shown"]
    for block in (shares, balance, place):
        yield _side_by_side(rows[rows["quantity"].isin(block)], block)
    moved = rows[~rows["quantity"].isin([*shares, *balance, *place])]
    for coding, moved_so in moved.groupby("coding", sort=False):
        yield f"Shifts from Blind, coding `{coding}`:"
        yield _rows_with(moved_so, ("value_paper", "p", "floor", "null"))


def _side_by_side(rows: pd.DataFrame, quantities: Sequence[str]) -> str:
    """One row a judge, scheme and condition; three columns a quantity."""
    keys = ["judge", "scheme", "condition", "system", "writer"]
    cells = []
    for _, cell in rows.groupby(keys, sort=False):
        by_quantity = {str(row["quantity"]): row for _, row in cell.iterrows()}
        first = cell.iloc[0]
        line = _names(first) | _sizes(first)
        for quantity in quantities:
            row, name = by_quantity[quantity], QUANTITY_NAMES[quantity]
            count = "" if pd.isna(row["count"]) else f" ({whole(row['count'])})"
            line |= {name: _estimate(row) + count, f"{name}, of all": number(row["value_paper"])}
            line |= {f"{name}, paper": _paper(row)}
        cells.append(line | {"note": first["note"]})
    return _table(cells)


def _in_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, ("value_paper",))


def _effect_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, ("value_paper", "p", "p_holm", "mde"))


def _revision_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, ("value_paper", "p", "mde"))


def _competence_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, ("p", "verdict", "gate"))


def _counted_rows(rows: pd.DataFrame) -> Iterator[str]:
    yield _rows_with(rows, ("count",))


def _status_rows(rows: pd.DataFrame) -> Iterator[str]:
    """One row a scheme, probe and stage; statuses side by side."""
    cells = []
    for _, cell in rows.groupby(["judge", "scheme", "condition", "stage"], sort=False):
        first = cell.iloc[0]
        line = {**_names(first), "stage": first["stage"], "answers due": whole(first["n_trials"])}
        line |= {
            str(row["quantity"]).removesuffix("_rate"): whole(row["count"]) for _, row in cell.iterrows()
        }
        answered = cell[cell["quantity"] == "ok_rate"].iloc[0]
        cells.append(line | {"ok rate [interval]": _estimate(answered), "note": first["note"]})
    yield _table(cells)


_BLOCKS = {
    "table_02_blind": _outcome_blocks,
    "table_03_truth": _outcome_blocks,
    "table_04_flip": _outcome_blocks,
    "table_05_placebo": _outcome_blocks,
    "table_09_extractive": _outcome_blocks,
    "table_10_identical": _outcome_blocks,
    "revision": _revision_rows,
    "cue_effects": _effect_rows,
    "competence": _competence_rows,
    "spans": _counted_rows,
    "answers": _status_rows,
}

_EXTRA_NAMES = {
    "value_paper": "of all",
    "p": "p, uncorrected",
    "p_holm": "p, Holm",
    "mde": "MDE, one test at alpha",
    "count": "count",
}


def _rows_with(rows: pd.DataFrame, extras: Sequence[str]) -> str:
    """One row a quantity: names, ours with its interval, the extras, sizes, the paper's, the note."""
    return _table([_line(row, extras) for _, row in rows.iterrows()])


def _line(row: pd.Series, extras: Sequence[str]) -> dict[str, str]:
    line = _names(row)
    if pd.notna(row["kind"]):
        line["kind"] = row["kind"]
    line |= {"quantity": QUANTITY_NAMES[row["quantity"]], "ours [interval]": _estimate(row)}
    for extra in extras:
        line |= _extra(row, extra)
    return line | _sizes(row) | {"paper": _paper(row), "note": row["note"]}


def _extra(row: pd.Series, name: str) -> dict[str, str]:
    if name == "floor":
        empty = interval(row["floor_value"], row["floor_low"], row["floor_high"])
        return {"an empty label line [interval]": empty}
    if name == "null":
        return {"if Blind and probe were exchangeable": between(row["null_low"], row["null_high"]) or "n/a"}
    if name in ("verdict", "gate"):
        return {name: row[name]}
    written = {"count": whole, "p": p_value, "p_holm": p_value}.get(name, number)
    return {_EXTRA_NAMES[name]: written(row[name])}


def _names(row: pd.Series) -> dict[str, str]:
    names = {"judge": row["judge"], "scheme": SCHEME_NAMES[row["scheme"]], "condition": row["condition"]}
    pair = {"candidate 1 by": row["writer"], "system": row["system"]}
    return names | (pair if row["system"] else {})


def _sizes(row: pd.Series) -> dict[str, str]:
    sizes = {"n": "n_items", "documents": "n_clusters", "unparsed": "n_unparsed"}
    return {name: whole(row[column]) for name, column in sizes.items()}


def _estimate(row: pd.Series) -> str:
    return interval(row["value"], row["ci_low"], row["ci_high"])


def _paper(row: pd.Series) -> str:
    """The judge's own printed number, or the range over the paper's five."""
    return (
        between(row["paper_low"], row["paper_high"])
        if pd.isna(row["published"])
        else number(row["published"])
    )


def _table(lines: Sequence[dict[str, str]]) -> str:
    """Lines as Markdown, without the columns that would say nothing: see `_says_something`."""
    frame = pd.DataFrame(lines).fillna("")
    unparsed = "unparsed" in frame and bool((frame["unparsed"] != "0").any())
    return markdown(frame[[name for name in frame if _says_something(str(name), frame[name], unparsed)]])


def _says_something(name: str, column: pd.Series, unparsed: bool) -> bool:
    """Not: what is empty throughout, one kind throughout, and "of all" where all were parsed."""
    if name.endswith("of all"):
        return unparsed
    return bool((column != "").any()) and not (name == "kind" and column.nunique() == 1)


# --- Notes ------------------------------------------------------------------------------------------


def _notes(rows: pd.DataFrame) -> Iterator[str]:
    """What a reader must know about the columns and marks that this table really has."""
    notes = ["`n/a`: undefined or not estimable, which is not 0."]
    if rows["paper_low"].notna().any():
        notes.append(
            "paper: the range over its five judges, computed from its printed counts by the same functions "
            "(Figure 3: as stated in its text); the judge's own number where it is one of the five."
        )
        if (rows["scheme"] == "baseline").any():
            notes.append(
                "The paper's Baseline could not tie: it stands beside the forced choice. A Baseline that "
                "may tie has no counterpart in the paper."
            )
    if rows["note"].str.contains(INSTRUMENT_CHECK).any():
        notes.append(
            f"{INSTRUMENT_CHECK}: the judge failed the [competence gate](competence.md) under this scheme, "
            "so the row tells about the instrument and not about a bias."
        )
    if (rows["gate"] == "too few to tell").any():
        notes.append(
            f"{GATE_NOTES['too few to tell']}: the judge has not passed the [competence gate](competence.md) "
            "under this scheme, with too few documents to say that it failed."
        )
    if rows["note"].str.contains(TOO_FEW).any():
        notes.append(f"{TOO_FEW}: fewer documents than `statistics.few_clusters` in params.")
    yield "\n".join(f"* {note}" for note in notes)
