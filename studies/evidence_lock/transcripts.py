"""What the notebook shows: one pair under every protocol, what each call reads and says, rows of tables.

Nothing here makes a number: it reads what the stages wrote, and says in one line what is not there.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

import pandas as pd

from shared.frames import rows_of
from shared.judge.records import Completion, Request, Response
from shared.reporting import notebooks, readme
from shared.reporting.notebooks import TABLES, Asked, Results, none_asked, said
from studies.evidence_lock.captions import ABSENT
from studies.evidence_lock.design import SCHEME_PLACES
from studies.evidence_lock.judge import own, with_texts
from studies.evidence_lock.pairs import NEUTRAL
from studies.evidence_lock.params import Section
from studies.evidence_lock.protocols import Protocols

STUDY = "evidence_lock"

KEYS = (
    "judge", "dataset", "subset", "scheme", "reference", "record_chars", "naming", "wording", "temperature",
    "writer", "condition", "quantity",
)  # fmt: skip
"""What may tell two rows of a table apart, in the order of its columns."""

MAIN = {"wording": 1, "naming": "neutral", "temperature": 0.0, "replicate": 0}
"""Whose answers are shown: the main cell of each scheme."""

RESULTS = Results(STUDY, ABSENT, KEYS)
table, drawn = RESULTS.table, RESULTS.drawn

NOTHING = none_asked(["trial", "item", "scheme", "inspection", "decision", "record_chars", *MAIN])
"""What there is to show before anything was run."""


def load_asked(judge: str) -> Asked:
    """As `shared.reporting.notebooks.load_asked`, less the trials that wait for other judges' records."""
    asked = notebooks.load_asked(STUDY, judge)
    return asked._replace(trials=own(asked.trials))


# --- One pair ---------------------------------------------------------------------------------------


def first_pair(asked: Asked) -> pd.DataFrame:
    """Trials of the first pair that was put under the lock, in the order in which trials run.

    Parameters
    ----------
    asked : Asked

    Returns
    -------
    DataFrame
        Rows of its trials in the main cell of each scheme (the largest record, first wording, temperature 0,
        what call 2 shows in the order of call 1): by scheme, then order. None where no pair was put under the
        lock. The rule looks at no answer.
    """
    rows = asked.trials[asked.trials["inspection"] == asked.trials["decision"]]
    for name, value in MAIN.items():
        rows = rows[rows[name] == value]
    locked = rows[rows["scheme"] == "lock"]
    rows = rows[rows["item"] == locked["item"].iloc[0]] if len(locked) else rows[:0]
    rows = rows[rows["record_chars"] == rows.groupby("scheme")["record_chars"].transform("max")]
    places = rows["scheme"].map(SCHEME_PLACES)
    return rows.assign(place=places).sort_values(["place", "decision"], kind="stable").drop(columns="place")


def shown(asked: Asked, chosen: pd.DataFrame) -> str:
    """The question and both answers under their names, and which of them people prefer; "" of no pair."""
    if chosen.empty:
        return ""
    trial = chosen.iloc[0]
    item = asked.items[trial["item"]]
    parts = [item["context"]]
    parts += [f"--- {trial[f'name_{identity}']}:\n{item[f'answer_{identity}']}" for identity in "12"]
    return "\n\n".join([*parts, f"--- people prefer: {_called(item['label'], trial)}"])


def prompts(asked: Asked, trial: Mapping[str, Any], params: Section) -> dict[str, str]:
    """What the judge reads in each call of one trial: by step, the last turn of its request.

    Parameters
    ----------
    asked : Asked
    trial : mapping
        A row of its trials.
    params : Section

    Returns
    -------
    dict of str
        In the order of the calls. A call that follows one without an answer was not asked, and is not there.
    """
    answers = {row["step"]: row for row in rows_of(_answers(asked, trial["trial"]))}
    found: dict[str, str] = {}

    async def ask(step: str, request: Request, lock: str | None = None) -> Response:
        found[step] = request.messages[-1].content
        if step not in answers:
            raise _NotAnswered
        return _replayed(answers[step])

    [asking] = with_texts(pd.DataFrame([trial]), pd.DataFrame([asked.items[trial["item"]]]))
    _to_its_end(Protocols(params, enforced=True).run(asking, ask))
    return found


def calls_of(asked: Asked, chosen: pd.DataFrame, scheme: str, params: Section) -> dict[str, str]:
    """What the judge reads in each call of a scheme's first trial (see `prompts`); {} where there is none."""
    trials = list(rows_of(chosen[chosen["scheme"] == scheme]))
    return prompts(asked, trials[0], params) if trials else {}


class _NotAnswered(Exception):
    """Nothing was answered here: the trial ended."""


def _to_its_end(protocol: Coroutine[Any, Any, None]) -> None:
    """Run a protocol whose calls wait for nothing; a notebook has a loop that is running already."""
    with suppress(StopIteration, _NotAnswered):
        protocol.send(None)


def _replayed(row: Mapping[str, Any]) -> Response:
    """A row of responses as the answer that it was."""
    values = {field.name: row[field.name] for field in fields(Completion) if field.name != "logprobs"}
    return Response(Completion(**values), row["key"], row["fingerprint"], replayed=True)


def side_by_side(asked: Asked, chosen: pd.DataFrame, order: str = "12") -> pd.DataFrame:
    """What the judge said under each scheme, one row a call.

    Parameters
    ----------
    asked : Asked
    chosen : DataFrame
        Rows of the trials, as `first_pair` gives them.
    order : str
        Whose answers: of this order of the candidates.

    Returns
    -------
    DataFrame
        Columns scheme, step, said (without its JSON), and status, which goes by how the answer ended.
    """
    rows = [
        (trial["scheme"], answer["step"], *said(answer))
        for trial in rows_of(chosen[chosen["decision"] == order])
        for answer in rows_of(_answers(asked, trial["trial"]))
    ]
    return pd.DataFrame(rows, columns=["scheme", "step", "said", "status"])


def verdicts(asked: Asked, chosen: pd.DataFrame) -> pd.DataFrame:
    """Whom each scheme prefers in both orders, one row a scheme.

    Parameters
    ----------
    asked : Asked
    chosen : DataFrame
        Rows of the trials, as `first_pair` gives them.

    Returns
    -------
    DataFrame
        Columns scheme, ``1 shown first``, ``2 shown first`` (the preferred answer's name, a tie, or in
        brackets the status of what could not be read), changed (yes, no, nothing where a verdict is lacking)
        and people.
    """
    rows = [
        _both_orders(str(scheme), own_rows, asked)
        for scheme, own_rows in chosen.groupby("scheme", sort=False)
    ]
    return pd.DataFrame(rows, columns=["scheme", "1 shown first", "2 shown first", "changed", "people"])


def _both_orders(scheme: str, rows: pd.DataFrame, asked: Asked) -> tuple[str, ...]:
    """One line of `verdicts`."""
    found = {trial["decision"]: _verdict(asked, trial) for trial in rows_of(rows)}
    said_so = [found.get(order, "") for order in ("12", "21")]
    lacking = [verdict for verdict in said_so if not verdict or verdict.startswith("(")]
    changed = "" if lacking else ("yes" if said_so[0] != said_so[1] else "no")
    first = rows.iloc[0]
    return scheme, *said_so, changed, _called(asked.items[first["item"]]["label"], first)


def _verdict(asked: Asked, trial: Mapping[str, Any]) -> str:
    """What was read from a trial, in the answers' names."""
    for row in rows_of(asked.judgements[asked.judgements["trial"] == trial["trial"]]):
        return _called(row["verdict"], trial) if row["status"] == "ok" else f"({row['status']})"
    return ""


def _called(verdict: str, trial: Mapping[str, Any] | pd.Series) -> str:
    return "tie" if verdict == "tie" else str(trial[f"name_{verdict}"])


def record(asked: Asked, chosen: pd.DataFrame) -> pd.DataFrame:
    """The frozen record of the lock in both orders of inspection, as it was read from call 1.

    Parameters
    ----------
    asked : Asked
    chosen : DataFrame
        Rows of the trials, as `first_pair` gives them.

    Returns
    -------
    DataFrame
        One row an order: inspected first, criteria, one column an answer, ``names a better answer`` (which
        one the record calls the better in so many words, or none) and the start of its hash.
    """
    return pd.DataFrame(list(_records(asked, chosen[chosen["scheme"] == "lock"])))


def _records(asked: Asked, locked: pd.DataFrame) -> Iterator[dict[str, str]]:
    for trial in rows_of(locked):
        for row in rows_of(asked.judgements[asked.judgements["trial"] == trial["trial"]]):
            named = row["named"]
            yield {
                "inspected first": trial[f"name_{trial['inspection'][0]}"],
                "criteria": row["criteria"],
                **{trial[f"name_{identity}"]: row[f"evidence_{identity}"] for identity in "12"},
                "names a better answer": _called(named, trial) if named in ("1", "2", "tie") else named,
                "hash": row["record_sha256"][:12],
            }


def _answers(asked: Asked, trial: str) -> pd.DataFrame:
    """The calls of a trial; none before anything was run."""
    return asked.responses[asked.responses["trial"] == trial] if len(asked.responses) else asked.responses


# --- Tables and figures -----------------------------------------------------------------------------


def gate() -> str:
    """In words, for each data set and naming: under which schemes each judge passed the competence gate."""
    if absent := RESULTS.absent("competence"):
        return absent
    rows = TABLES.rows(f"{STUDY}/competence")
    told = [
        f"**{dataset}{'' if naming in ('', NEUTRAL) else f', {naming}'}**: {' '.join(readme.gate(own))}"
        for (dataset, naming), own in rows.groupby(["dataset", "naming"], sort=False)
    ]
    return "\n\n".join(told) or f"*Not run: {ABSENT['competence']}.*"


def examples(n: int = 3) -> str:
    """The first few examples of what the record lost, as the page of all of them has them.

    Parameters
    ----------
    n : int
        How many at most.

    Returns
    -------
    str
        Markdown; a line that tells the fix where the page is not there.
    """
    file = TABLES.folder / STUDY / "lost_examples.md"
    if not file.is_file():
        return "*`lost_examples` is not there yet: run `make repro`, which writes it.*"
    head, *found = file.read_text(encoding="utf-8").split(_EXAMPLE)
    told = _EXAMPLE.join([head.partition("\n")[2], *found[:n]]).strip()  # the cell above it is its title
    return told if len(found) <= n else f"{told}\n\n*{len(found) - n} more stand in {file.as_posix()}.*"


_EXAMPLE = "\n## "
