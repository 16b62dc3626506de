"""What the notebook shows a reader: the texts judged, the answers side by side, rows of the tables.

Nothing here makes a number: it reads what the stages wrote, and says in one line what is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from shared.errors import UserError
from shared.frames import rows_of
from shared.judge.prompts import CUT
from shared.reporting import notebooks, readme
from shared.reporting.notebooks import TABLES, Results, none_asked, said
from studies.rationalization_probes.captions import ABSENT
from studies.rationalization_probes.params import Section
from studies.rationalization_probes.protocols import Protocols, Trial
from studies.rationalization_probes.tasks import task_of

STUDY = "rationalization_probes"

PROBES = ("blind", "truth", "flip", "placebo")
"""The paper's, in its order; the fifth, Reveal-After, goes on from Flip."""

REVEAL = "reveal"
AFTER_FLIP = (REVEAL, "control")
"""The steps of a Flip trial that belong to Reveal-After."""

KEYS = ("judge", "scheme", "kind", "system", "condition", "coding", "over", "wording", "quantity")
"""What may tell two rows of a table apart, in the order of its columns."""

ALWAYS = ("judge", "scheme", "wording")
"""Shown even where it tells no rows apart; ``wording`` says why a price is n/a."""


RESULTS = Results(STUDY, ABSENT, KEYS, ALWAYS)
table, drawn = RESULTS.table, RESULTS.drawn

load_asked = partial(notebooks.load_asked, STUDY, judged=False)

NOTHING = none_asked(["item", "kind", "scheme"])
"""What there is to show before anything was run."""


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
        (REVEAL if answer["step"] in AFTER_FLIP else trial["probe"], answer["step"], *said(answer))
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


# --- Tables and figures -----------------------------------------------------------------------------


def gate() -> str:
    """In words: which judges passed the competence gate, and what follows for every other number."""
    return RESULTS.absent("competence") or " ".join(readme.gate(TABLES.rows(f"{STUDY}/competence")))
