"""Has one judge decide from the others' records (stage ``exchange``): ``... exchange SLUG``.

The record is the one that the other judge wrote for its own lock in the same trial; it is copied, so that a
trial's calls stand together, and what it cost the writer counts.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Awaitable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from shared.errors import UserError, run_stage
from shared.frames import read, rows_of
from shared.judge.slug import slug_argument
from shared.judge.stage import SCHEMA, Ask, ask_judge
from shared.params import Common, load
from studies.evidence_lock.design import ITEMS, SAME_RECORD, TRIALS
from studies.evidence_lock.judge import RESPONSES, with_texts
from studies.evidence_lock.params import Section
from studies.evidence_lock.protocols import Protocols, Record, Trial, record_of

EXCHANGED = Path("data/evidence_lock/exchanged")


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
            f"{len(lacking)} trials of other_record have no record of {writer}, e.g. {lacking.iloc[0]!r}; "
            "run the `judge` stage (make repro)"
        )
    found = found.drop(columns="_merge").assign(writer=writer)
    return found.assign(trial=found["trial"] + "|" + writer)


def put(protocols: Protocols, records: Mapping[str, Record], trial: Trial, ask: Ask) -> Awaitable[None]:
    """The deciding call of one trial."""
    return protocols.decide(trial, records[trial.trial], ask)


def main() -> None:
    common, params = load("evidence_lock", Section)
    slug = slug_argument(sys.argv, common.judges)
    out, trials = EXCHANGED / f"{slug}.parquet", read(TRIALS, "design")
    out.parent.mkdir(parents=True, exist_ok=True)
    others = [judge for judge in params.judges if judge != slug]
    rows = _of_others(trials, others)
    if rows.empty:
        SCHEMA.empty_table().to_pandas().to_parquet(out, index=False, schema=SCHEMA)
        print(f"{slug}: other_record not run: {'no set has it' if others else 'params name no other judge'}")
        return
    ready = list(_readable(rows, read(ITEMS, "data")))
    together = [rows[list(SCHEMA.names)], *([_decided(common, params, slug, ready, out)] if ready else [])]
    # A stable order: a trial's record stands before what was decided from it.
    table = pd.concat(together, ignore_index=True).sort_values("trial", kind="stable")
    table.to_parquet(out, index=False, schema=SCHEMA)


def _of_others(trials: pd.DataFrame, others: list[str]) -> pd.DataFrame:
    """What all other judges wrote, one after the other; where nothing is asked, no file is looked for."""
    if not (trials["scheme"] == "other_record").any():
        return trials[:0]
    written = [borrowed(trials, read(RESPONSES / f"{name}.parquet", "judge"), name) for name in others]
    return pd.concat(written, ignore_index=True) if written else trials[:0]


def _readable(rows: pd.DataFrame, items: pd.DataFrame) -> Iterator[tuple[Trial, Record]]:
    """The trials whose record can be read, each with it."""
    for trial, row in zip(with_texts(rows, items), rows_of(rows), strict=True):
        if isinstance(row["text"], str) and (record := record_of(trial, row["text"], row["finish_reason"])):
            yield trial, record


def _decided(
    common: Common, params: Section, slug: str, ready: list[tuple[Trial, Record]], out: Path
) -> pd.DataFrame:
    """The rows of the deciding calls; written beside ``out`` first, as any judge's are."""
    protocols = Protocols(params, common.judges[slug].structured)
    records = {trial.trial: record for trial, record in ready}
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        part = Path(folder, out.name)
        asked = (trial for trial, _ in ready)
        ask_judge(common, slug, asked, partial(put, protocols, records), part, total=len(ready))
        return pd.read_parquet(part)


if __name__ == "__main__":
    run_stage(main)
