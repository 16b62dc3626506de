"""What the notebook shows: a text, one rubric in several orders, the answers side by side, rows of tables.

Nothing here makes a number: it reads what the stages wrote, and says in one line what is not there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from shared.frames import rows_of
from shared.reporting import notebooks, readme
from shared.reporting.notebooks import TABLES, Asked, Results, none_asked, said
from shared.reporting.tables import number, whole
from studies.rubric_position_bias.captions import ABSENT
from studies.rubric_position_bias.judge import with_texts
from studies.rubric_position_bias.judgements import PROBABILITIES
from studies.rubric_position_bias.orders import canonical
from studies.rubric_position_bias.params import Section
from studies.rubric_position_bias.protocols import Protocols

STUDY = "rubric_position_bias"

KEYS = (
    "judge", "setting", "dataset", "rater", "criterion", "scheme", "size", "temperature", "effort", "scale",
    "contest", "condition", "k", "quantity",
)  # fmt: skip
"""What may tell two rows of a table apart, in the order of its columns."""

MAIN = {"scheme": "base", "temperature": 0.0, "effort": ""}
"""Whose answers are shown: the paper's own prompt and temperature."""

RESULTS = Results(STUDY, ABSENT, KEYS)
table, drawn = RESULTS.table, RESULTS.drawn

load_asked = partial(notebooks.load_asked, STUDY)

NOTHING = none_asked(["trial", "item", "setting", "size", "order", "scale", "draw", *MAIN])
"""What there is to show before anything was run."""


# --- Transcripts ------------------------------------------------------------------------------------


def first_orders(asked: Asked, setting: str = "score", size: int | None = 5, n: int = 3) -> pd.DataFrame:
    """Trials of the first item in the order in which trials run, one for each of a few orders.

    Parameters
    ----------
    asked : Asked
    setting : str
        ``score`` or ``criteria``.
    size : int or None
        Number of options; None: any, as criteria have.
    n : int
        How many orders at most.

    Returns
    -------
    DataFrame
        Rows of the trials (base prompt, temperature 0, the range in its usual order): the canonical order,
        its reverse and the rotation half way, so far as they were asked, then others in the order in which
        they ran. None where no such item was asked. The rule looks at no answer.
    """
    rows = asked.trials[asked.trials["setting"] == setting]
    for name, value in MAIN.items():
        rows = rows[rows[name] == value]
    rows = rows[(rows["size"] == size) | (size is None)]
    rows = rows[rows["item"] == rows["item"].iloc[0]] if len(rows) else rows
    rows = rows[rows["scale"].isin(["", canonical(5)])].drop_duplicates("order")
    wanted = _first_choices(int(rows["size"].iloc[0])) if len(rows) else []
    rank = rows["order"].map(lambda order: wanted.index(order) if order in wanted else len(wanted))
    return rows.iloc[rank.to_numpy().argsort(kind="stable")].head(n)


def _first_choices(size: int) -> list[str]:
    forward, half = canonical(size), size // 2
    return [forward, forward[::-1], forward[half:] + forward[:half]]


def prompts(asked: Asked, chosen: pd.DataFrame, params: Section) -> list[str]:
    """What the judge reads in each of some trials: the user's turn of its request."""
    items = pd.DataFrame(list(asked.items.values()))
    protocols = Protocols(params, structured=True)
    return [protocols.request(trial).messages[-1].content for trial in with_texts(chosen, items)]


def differing(texts: Sequence[str]) -> list[str]:
    """The lines of each text from the first that is not the same in all of them to the last.

    Parameters
    ----------
    texts : sequence of str

    Returns
    -------
    list of str
        As many; all empty where the texts are alike.
    """
    lines = [text.splitlines() for text in texts]
    start = _alike(lines)
    stop = _alike([rows[start:][::-1] for rows in lines])
    return ["\n".join(rows[start : len(rows) - stop]) for rows in lines]


def _alike(texts: Sequence[Sequence[str]]) -> int:
    """How many lines all texts begin with."""
    count = 0
    for row in zip(*texts, strict=False):
        if len(set(row)) > 1:
            break
        count += 1
    return count


def side_by_side(asked: Asked, chosen: pd.DataFrame) -> pd.DataFrame:
    """What the judge said under each order, one row a trial.

    Parameters
    ----------
    asked : Asked
    chosen : DataFrame
        Rows of the trials, as `first_orders` gives them.

    Returns
    -------
    DataFrame
        Columns order, said (without its JSON), status, which goes by how the answer ended, and what was read
        from it: of the setting ``score`` the score and the place at which it stood; of ``criteria`` the score
        of each criterion, with its place in brackets. A trial without an answer has no row.
    """
    rows = []
    for trial in rows_of(chosen):
        for answer in rows_of(asked.responses[asked.responses["trial"] == trial["trial"]]):
            words, status = said(answer)
            read_from = asked.judgements[asked.judgements["trial"] == trial["trial"]]
            rows.append({"order": trial["order"], "said": words, "status": status, **_read(read_from)})
    return pd.DataFrame(rows)


def distributions(asked: Asked, chosen: pd.DataFrame) -> pd.DataFrame:
    """How the first token's probability is spread over the options, one row an order, one column a place.

    Parameters
    ----------
    asked : Asked
    chosen : DataFrame
        Rows of the trials.

    Returns
    -------
    DataFrame
        Columns order, ``place 1`` .. (``3: 0.410`` is 0.41 for option 3, which stands there), and ``mass``,
        the probability of all options together. No row for a trial without a distribution.
    """
    rows = []
    for trial in rows_of(chosen):
        for row in rows_of(asked.judgements[asked.judgements["trial"] == trial["trial"]]):
            if not pd.isna(row["mass"]):
                rows.append({"order": trial["order"], **_by_place(row, trial["order"])})
    return pd.DataFrame(rows)


def _by_place(row: Mapping[str, Any], order: str) -> dict[str, str]:
    places = {
        f"place {place}": f"{option}: {number(row[PROBABILITIES[int(option) - 1]])}"
        for place, option in enumerate(order, start=1)
    }
    return places | {"mass": number(row["mass"])}


def _read(rows: pd.DataFrame) -> dict[str, str]:
    """What was read from one answer."""
    if (rows["setting"] == "score").all():
        return {name: whole(value) for name in ("score", "position") for value in rows[name]}
    return {
        row["criterion"]: f"{whole(row['score'])} (place {whole(row['position'])})" for row in rows_of(rows)
    }


# --- Tables and figures -----------------------------------------------------------------------------


def gate() -> str:
    """In words, for each data set: which judges passed the competence gate at five options, temperature 0."""
    if absent := RESULTS.absent("competence"):
        return absent
    rows = TABLES.rows(f"{STUDY}/competence")
    rows = rows[(rows["size"] == 5) | (rows["setting"] == "criteria")]
    for name, value in MAIN.items():
        rows = rows[rows[name] == value]
    told = [
        f"**{dataset}, setting {setting}**: {' '.join(readme.gate(own))}"
        for (dataset, setting), own in rows.groupby(["dataset", "setting"], sort=False)
    ]
    return "\n\n".join(told) or f"*Not run: {ABSENT['competence']}.*"
