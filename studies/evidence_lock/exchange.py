"""Has one judge decide from the others' records (stage ``exchange``): ``... exchange SLUG``.

The record is the one that the other judge wrote for its own lock in the same trial; it is copied, so that a
trial's calls stand together, and what it cost the writer counts.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from shared.errors import UserError, run_stage
from shared.frames import read, rows_of
from shared.judge.slug import slug_argument
from shared.judge.stage import SCHEMA, Ask, ask_judge
from shared.params import load
from studies.evidence_lock.design import ITEMS, TRIALS
from studies.evidence_lock.judge import RESPONSES, with_texts
from studies.evidence_lock.params import Section
from studies.evidence_lock.protocols import Protocols, Trial, record_of

EXCHANGED = Path("data/evidence_lock/exchanged")

SAME_RECORD = ("item", "inspection", "record_chars", "wording", "naming", "temperature", "replicate")
"""What decides a judge's record: all of a trial but who decides, and in which order."""


def borrowed(trials: pd.DataFrame, responses: pd.DataFrame, writer: str) -> pd.DataFrame:
    """The calls in which a writer wrote the records that another judge is to decide from.

    Parameters
    ----------
    trials : DataFrame
        All trials, as the stage ``design`` writes them.
    responses : DataFrame
        The writer's, as the stage ``judge`` writes them.
    writer : str
        Its slug.

    Returns
    -------
    DataFrame
        One row a trial of the scheme ``other_record``, its id followed by ``|<writer>``: the columns of the
        trials, then those of the response in which the writer wrote the record, and ``writer``.

    Raises
    ------
    UserError
        If the writer was not asked for such a record.
    """
    own = trials[trials["scheme"] == "lock"].drop_duplicates(list(SAME_RECORD))
    # A trial's first row is its record, or says why there is none.
    first = responses.drop_duplicates("trial")
    written = own[["trial", *SAME_RECORD]].merge(first, on="trial").drop(columns="trial")
    wanted = trials[trials["scheme"] == "other_record"]
    found = wanted.merge(written, on=list(SAME_RECORD), how="left", indicator=True)
    if (lacking := found[found["_merge"] == "left_only"]["trial"]).size:
        raise UserError(
            f"{len(lacking)} trials of other_record have no record of {writer}, e.g. {lacking.iloc[0]!r}; put "
            "`lock` under the same items, orders and record_chars in evidence_lock.sets"
        )
    found = found.drop(columns="_merge").assign(writer=writer)
    return found.assign(trial=found["trial"] + "|" + writer)


def put(protocols: Protocols, records: dict[str, Any], trial: Trial, ask: Ask) -> Any:
    """The deciding call of one trial."""
    return protocols.decide(trial, records[trial.trial], ask)


def _readable(rows: pd.DataFrame, items: pd.DataFrame) -> Iterator[tuple[Trial, Any]]:
    """The trials whose record can be read, each with it."""
    for trial, row in zip(with_texts(rows, items), rows_of(rows), strict=True):
        if isinstance(row["text"], str) and (record := record_of(trial, row["text"], row["finish_reason"])):
            yield trial, record


def _others(slugs: Sequence[str], slug: str) -> list[str]:
    return [other for other in slugs if other != slug]


def main() -> None:
    common, params = load("evidence_lock", Section)
    slug = slug_argument(sys.argv, common.judges)
    out, trials = EXCHANGED / f"{slug}.parquet", read(TRIALS, "design")
    written = [
        borrowed(trials, read(RESPONSES / f"{other}.parquet", "judge"), other)
        for other in _others(params.judges, slug)
    ]
    rows = pd.concat(written, ignore_index=True) if written else trials[:0]
    out.parent.mkdir(parents=True, exist_ok=True)
    if rows.empty:
        SCHEMA.empty_table().to_pandas().to_parquet(out, index=False, schema=SCHEMA)
        print(f"{slug}: other_record not run: {'no set has it' if written else 'params name no other judge'}")
        return
    ready = dict((trial.trial, (trial, record)) for trial, record in _readable(rows, read(ITEMS, "data")))
    records = {name: record for name, (_, record) in ready.items()}
    decided = SCHEMA.empty_table().to_pandas()
    if ready:
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
            part = Path(folder, out.name)
            protocols = Protocols(params, common.judges[slug].structured)
            asked = (trial for trial, _ in ready.values())
            ask_judge(common, slug, asked, partial(put, protocols, records), part, total=len(ready))
            decided = pd.read_parquet(part)
    _write(rows, decided, out)


def _write(rows: pd.DataFrame, decided: pd.DataFrame, out: Path) -> None:
    """The copied records, and what was decided from them; a trial's calls together."""
    together = pd.concat([rows[list(SCHEMA.names)], decided], ignore_index=True)
    together.sort_values("trial", kind="stable").to_parquet(out, index=False, schema=SCHEMA)


if __name__ == "__main__":
    run_stage(main)
