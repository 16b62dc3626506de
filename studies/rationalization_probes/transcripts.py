"""What the notebook shows a reader: the texts judged, the answers side by side, rows of the tables.

Nothing here makes a number: it reads what the stages wrote, and says in one line what is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pandas.io.formats.style import Styler

from shared.errors import UserError
from shared.frames import read, rows_of
from shared.judge.parsing import status_before_reading
from shared.judge.prompts import CUT
from shared.reporting import readme
from shared.reporting.tables import between, interval, markdown, number, p_value, whole
from studies.rationalization_probes.captions import ABSENT
from studies.rationalization_probes.design import ITEMS, TRIALS
from studies.rationalization_probes.judge import RESPONSES
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.protocols import Protocols, Trial
from studies.rationalization_probes.tasks import task_of

STUDY = "rationalization_probes"
FIGURES = Path("figures") / STUDY
TABLES = readme.Tables(readme.TABLES, seen_from=Path("notebooks"))

PROBES = ("blind", "truth", "flip", "placebo")
"""The paper's, in its order; the fifth, Reveal-After, goes on from Flip."""

REVEAL = "reveal"
AFTER_FLIP = (REVEAL, "control")
"""The steps of a Flip trial that belong to Reveal-After."""

KEYS = ("judge", "scheme", "kind", "system", "condition", "coding", "over", "wording", "quantity")
"""What may tell two rows of a table apart, in the order of its columns."""

ALWAYS = ("judge", "scheme", "wording")
"""Shown even where it tells no rows apart; ``wording`` says why a price is n/a."""


class Asked(NamedTuple):
    """What one judge was asked and what it answered; ``items`` are the texts by their item's id."""

    items: Mapping[str, dict[str, Any]]
    trials: pd.DataFrame
    responses: pd.DataFrame


NOTHING = Asked({}, pd.DataFrame(columns=["item", "kind", "scheme"]), pd.DataFrame())
"""What there is to show before anything was run."""


def load_asked(judge: str) -> Asked:
    """The texts, trials and answers of one judge, as `make repro` leaves them.

    Raises
    ------
    UserError
        If a file is absent: it names the file and `make repro`.
    """
    items, trials = read(ITEMS, "data"), read(TRIALS, "design")
    responses = read(RESPONSES / f"{judge}.parquet", "judge")
    return Asked({row["item"]: row for row in rows_of(items)}, trials, responses)


# --- Transcripts ------------------------------------------------------------------------------------


def first_trials(
    trials: pd.DataFrame, schemes: Sequence[str], n: int, kind: str = "equal"
) -> list[dict[str, Any]]:
    """The first trial of each of the first ``n`` items of a kind, in the order in which trials run.

    Parameters
    ----------
    trials : DataFrame
        As the stage ``design`` writes them.
    schemes : sequence of str
        The first of them that any item of this kind was put under is taken; the others are not.
    n : int
    kind : str

    Returns
    -------
    list of dict
        Rows of ``trials``, at most ``n``; none where no such item was put under any of the schemes.
    """
    of_kind = trials[trials["kind"] == kind]
    for scheme in schemes:
        asked = of_kind[of_kind["scheme"] == scheme].drop_duplicates("item")
        if len(asked):
            return list(rows_of(asked.head(n)))
    return []


def shown(item: Mapping[str, Any], screen_order: str = "12") -> str:
    """The source and the two candidates of an item, marked as in the prompt.

    Parameters
    ----------
    item : mapping
        A row of the items: kind, source, candidate_1, candidate_2.
    screen_order : str
        "12", or "21" where candidate 2 was shown first. What ``summary_1`` means is a place on the screen.
    """
    task = task_of(item["kind"])
    texts = [item["source"], *(item[f"candidate_{identity}"] for identity in screen_order)]
    names = [task.source, *task.shown]
    return "\n\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in zip(names, texts, strict=True))


def cue_lines(
    trials: pd.DataFrame,
    item: Mapping[str, Any],
    scheme: str,
    params: Section,
    probes: Sequence[str] = PROBES,
) -> pd.DataFrame:
    """The one line in which the probes differ, as the judge reads it.

    Parameters
    ----------
    trials : DataFrame
    item : mapping
        A row of the items.
    scheme : str
        One that shows both candidates at once: pointwise has lines of its own.
    params : Section
        Its ``labels`` are the words of the cues.
    probes : sequence of str

    Returns
    -------
    DataFrame
        Columns probe and line (empty under Blind), one row a probe that was asked.

    Raises
    ------
    UserError
        As `side_by_side`.
    """
    protocols = Protocols(params, structured=True)
    lines = []
    for row in _of_item(trials, str(item["item"]), scheme, probes):
        trial = Trial(**{name: {**item, **row}[name] for name in Trial._fields})
        lines.append((row["probe"], protocols.cue(trial).replace(CUT, "")))
    return pd.DataFrame(lines, columns=["probe", "line"])


def side_by_side(
    trials: pd.DataFrame,
    responses: pd.DataFrame,
    item: str,
    scheme: str,
    probes: Sequence[str] = PROBES,
) -> pd.DataFrame:
    """What a judge said about one item under each probe, one row a probe and step.

    Parameters
    ----------
    trials, responses : DataFrame
        As the stages ``design`` and ``judge`` write them.
    item, scheme : str
    probes : sequence of str
        In the order of the rows. Those that were not asked have no row.

    Returns
    -------
    DataFrame
        Columns probe, step, said (see `readable`) and status, which goes by how the answer ended: ``ok``,
        ``truncated``, ``refused``, ``unparsed`` (nothing was said) or ``failed``. Reveal-After and its
        control are the last rows, as the probe ``reveal``. Where both screen orders were asked, those of
        the first order.

    Raises
    ------
    UserError
        If the item was not put on trial under the scheme.
    """
    rows = [
        (REVEAL if answer["step"] in AFTER_FLIP else trial["probe"], answer["step"], *_said(answer))
        for trial in _of_item(trials, item, scheme, probes)
        for answer in rows_of(responses[responses["trial"] == trial["trial"]])
    ]
    rows.sort(key=lambda row: row[0] == REVEAL)
    return pd.DataFrame(rows, columns=["probe", "step", "said", "status"])


def _of_item(trials: pd.DataFrame, item: str, scheme: str, probes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The item's trials under a scheme, in the order of the probes and in one screen order."""
    asked = trials[(trials["item"] == item) & (trials["scheme"] == scheme)]
    if asked.empty:
        raise UserError(f"no trial of {item!r} under {scheme!r}; add it to params, then run `make repro`")
    in_one_order = asked[asked["screen_order"] == asked["screen_order"].iloc[0]]
    by_probe = {row["probe"]: row for row in rows_of(in_one_order)}
    return (by_probe[probe] for probe in probes if probe in by_probe)


def _said(answer: Mapping[str, Any]) -> tuple[str, str]:
    """Words and status; a trial that failed has a last row with an error and no text."""
    if not isinstance(answer["text"], str):
        return str(answer["error"]), "failed"
    return readable(answer["text"]), status_before_reading(answer["text"], answer["finish_reason"])


def readable(text: str) -> str:
    """An answer without its JSON: ``verdict: tie; rationale: Alike.``; any other text as it is.

    Nested fields stand in brackets after their name: ``summary_1 (accuracy: 4, fluency: 5)``.
    """
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _fields(fields, "; ") if isinstance(fields, dict) and fields else text


def _fields(fields: Mapping[str, Any], between_them: str) -> str:
    return between_them.join(
        f"{name} ({_fields(value, ', ')})" if isinstance(value, dict) else f"{name}: {value}"
        for name, value in fields.items()
    )


def to_read(frame: pd.DataFrame) -> Styler:
    """Texts to the left, without the index; markup in an answer is shown, not obeyed."""
    left = frame.style.format(escape="html").hide(axis="index")
    return left.set_properties(None, **{"text-align": "left", "vertical-align": "top"})


# --- Tables and figures -----------------------------------------------------------------------------


def table(source: str, *extras: str) -> str:
    """Rows of one of the study's tables, in Markdown.

    Parameters
    ----------
    source : str
        ``<table> column=value[,value] ...``: the table's name, and which rows.
    *extras : str
        Columns of numbers to show beside ours, such as ``p_holm`` and ``mde``.

    Returns
    -------
    str
        What tells the rows apart, ours with its interval, the extras, n (independent sources), unparsed,
        the paper's number or range, the note; below it, the run that they are of. One line in its place
        where there is no such table, or no such row.

    Raises
    ------
    KeyError
        If the table has no column of an extra's name.
    """
    name = source.split()[0]
    if absent := _absent(name):
        return absent
    try:
        rows = TABLES.rows(f"{STUDY}/{source}")
    except readme.ReadmeError as error:
        return f"*Not run: {ABSENT[name] if TABLES.rows(f'{STUDY}/{name}').empty else error}.*"
    return "\n".join([markdown(_laid_out(rows, extras)), "", readme.origin(rows, TABLES)])


def gate() -> str:
    """In words: which judges passed the competence gate, and what follows for every other number."""
    return _absent("competence") or " ".join(readme.gate(TABLES.rows(f"{STUDY}/competence")))


def drawn(*names: str) -> list[Path]:
    """The files of those of the study's figures that are there."""
    return [file for name in names if (file := FIGURES / f"{name}.svg").is_file()]


def _absent(name: str) -> str:
    """That a table is not there, and the fix; nothing where it is."""
    file = TABLES.folder / STUDY / f"{name}.csv"
    return "" if file.is_file() else f"*`{name}` is not there yet: run `make repro`, which writes it.*"


def _laid_out(rows: pd.DataFrame, extras: Sequence[str]) -> pd.DataFrame:
    """The columns that `table` names; those without a word in them are left out."""
    there = [key for key in KEYS if key in rows]
    names = [key for key in there if key in ALWAYS or rows[key].nunique(dropna=False) > 1]
    columns: dict[str, Any] = {
        "ours [interval]": [interval(*row) for row in _values(rows, "value", "ci_low", "ci_high")],
        **{name: rows[name].map(p_value if name.startswith("p") else number) for name in extras},
        "n": rows["n_clusters"].map(whole),
        "unparsed": rows["n_unparsed"].map(whole),
        "paper": [_paper(*row) for row in _values(rows, "published", "paper_low", "paper_high")],
        "note": rows["note"],
    }
    laid = rows[names].astype(object).fillna("").assign(**columns)
    return laid.loc[:, (laid != "").any()]


def _paper(exact: float, low: float, high: float) -> str:
    """What the paper printed for this judge, or the range over its five."""
    return between(exact, exact) or between(low, high)


def _values(rows: pd.DataFrame, *columns: str) -> Iterator[tuple[float, ...]]:
    return rows[list(columns)].astype(float).itertuples(index=False, name=None)
