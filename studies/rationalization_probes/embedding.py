"""The texts whose vectors are compared: rationales, and the descriptors of cues (stage ``embed``)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from shared.embedding import write_vectors
from shared.errors import run_stage
from shared.frames import read
from shared.params import load
from studies.rationalization_probes.judgements import JUDGEMENTS
from studies.rationalization_probes.params import Rationales, Section

EMBEDDINGS = Path("data/rationalization_probes/embeddings.parquet")

ENCODER = "rationalization_probes.rationales.encoder"


def texts_to_embed(judgements: Iterable[pd.DataFrame], rationales: Rationales) -> list[str]:
    """Every text that a metric compares: each once, sorted.

    Parameters
    ----------
    judgements : iterable of DataFrame
        One a judge; the rationales of stage ``first`` are taken.
    rationales : Rationales
        Both sides of every descriptor are taken.
    """
    texts = {
        text
        for wordings in rationales.descriptors.values()
        for wording in wordings
        for text in (wording.favoured, wording.opposite)
    }
    for table in judgements:
        texts.update(table.loc[table["stage"] == "first", "rationale"].dropna())
    return sorted(texts)


def main() -> None:
    _, params = load("rationalization_probes", Section)
    tables = (read(JUDGEMENTS / f"{slug}.parquet", "judgements") for slug in params.judges)
    texts = texts_to_embed(tables, params.rationales)
    write_vectors(EMBEDDINGS, texts, params.rationales.encoder, ENCODER)


if __name__ == "__main__":
    run_stage(main)
