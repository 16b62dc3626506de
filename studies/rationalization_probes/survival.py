"""What attacks left of the facts: how many texts keep numbers and names, and how much longer they are."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shared.frames import cells
from shared.metrics.resampling import Array, Inference, named_generator, rate_interval, share
from studies.rationalization_probes.rows import entropy_of, estimate, frame, row


def survival_rows(attacks: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """How many attacked texts keep their numbers and names, and how much longer they are.

    Parameters
    ----------
    attacks : DataFrame
        From `attacks.table`.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, by writer (``judge``), kind and attack (``condition``); no scheme. Quantities:
        ``numbers_survive_rate`` and ``names_survive_rate``, in [0, 1], with their ``count``; and
        ``length_ratio``, the mean over texts of words after to words before, above 0. Over the texts that
        came whole, those left off the trial included; ``n_unparsed`` counts the others.
    """
    entropy = entropy_of(rng)
    rows = [
        found
        for names, cell in cells(attacks, ("writer", "kind", "probe"))
        for found in _cell_rows(names, cell, entropy, inference)
    ]
    return frame(rows)


def _cell_rows(
    names: dict[str, str], cell: pd.DataFrame, entropy: int, inference: Inference
) -> list[dict[str, object]]:
    whole = cell[cell["words_after"].notna()]
    judged = {"judge": names["writer"], "scheme": "", "kind": names["kind"], "probe": names["probe"]}

    def generator(quantity: str) -> np.random.Generator:
        return named_generator(entropy, quantity, *judged.values())

    rows = []
    for quantity, column in _SURVIVE.items():
        hits = whole[column].to_numpy(dtype=float)
        found = rate_interval(hits, whole["cluster"], generator(quantity), inference)
        rows.append(row(quantity, judged, whole, cell, found) | {"count": hits.sum()})
    columns = np.column_stack([np.ones(len(whole)), _length_ratios(whole)])
    # Nothing but 0 bounds how much longer a text can get.
    longer = estimate(share, columns, whole, generator("length_ratio"), inference, (0.0, np.inf))
    return [*rows, row("length_ratio", judged, whole, cell, longer)]


_SURVIVE = {"numbers_survive_rate": "numbers_survive", "names_survive_rate": "names_survive"}


def _length_ratios(whole: pd.DataFrame) -> Array:
    return (whole["words_after"].astype(float) / whole["words_before"]).to_numpy()
