"""The sentences whose vectors are compared: those of answers and of frozen records (stage ``embed``)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from shared.embedding import write_vectors
from shared.errors import run_stage
from shared.frames import read, rows_of
from shared.params import load
from studies.evidence_lock.coverage import sentences
from studies.evidence_lock.design import ITEMS
from studies.evidence_lock.frozen import frozen_records, written
from studies.evidence_lock.judgements import JUDGEMENTS
from studies.evidence_lock.params import Section

EMBEDDINGS = Path("data/evidence_lock/embeddings.parquet")

ENCODER = "evidence_lock.encoder"


def sentences_to_embed(judgements: Iterable[pd.DataFrame], items: pd.DataFrame) -> list[str]:
    """Every sentence that `lost.lost_rows` compares: each once, sorted.

    Parameters
    ----------
    judgements : iterable of DataFrame
        One a judge; the evidence of `frozen.frozen_records` is taken.
    items : DataFrame
        Both answers of every item with such a record are taken.
    """
    found: set[str] = set()
    with_record: set[str] = set()
    for table in judgements:
        records = frozen_records(table)
        with_record.update(records["item"])
        texts = (written(row, candidate) for row in rows_of(records) for candidate in "12")
        found.update(sentence for text in texts for sentence in sentences(text))
    answers = items.loc[items["item"].isin(with_record), ["answer_1", "answer_2"]]
    found.update(sentence for text in answers.to_numpy().ravel() for sentence in sentences(text))
    return sorted(found)


def main() -> None:
    _, params = load("evidence_lock", Section)
    tables = (read(JUDGEMENTS / f"{slug}.parquet", "judgements") for slug in params.judges)
    write_vectors(EMBEDDINGS, sentences_to_embed(tables, read(ITEMS, "data")), params.encoder, ENCODER)


if __name__ == "__main__":
    run_stage(main)
