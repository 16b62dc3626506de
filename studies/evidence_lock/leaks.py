"""What records give away: a judge that was told not to choose may name a winner all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference, rate_interval, signed_interval
from shared.reading import Row, json_lines, made
from studies.evidence_lock.agreement import FAMILY, NAMINGS
from studies.evidence_lock.named import stated_by
from studies.evidence_lock.pairs import cells, main_cells
from studies.evidence_lock.rows import Draws, corrected, draws, frame, row, signed_test

RECORDS = ("lock", "structured")
"""Who writes about both answers: told not to choose, and told to choose afterwards. What the other schemes'
first calls write is the lock's own record: the request is the same."""

WINNERS = ("1", "2")

STEP = {"named_first_shown": 1.0, "names_winner_rate": 0.5}
"""The least that one pair moves a signed quantity: of both its records, or of one of the two, averaged."""

LABELS = Path("data/embedded/evidence_lock/leak_labels.jsonl")
"""Records of the embedded judge, and whom a reader who had not seen the rules' answers takes them to name."""

PLACES = ("first", "second")
"""Whom a record may name, by the order in which it was written."""

SAME_TRIAL = ("judge", "item", "inspection", "naming")


def leak_rows(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """How often records name a winner, whom they name, and whether the verdict follows.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; the main cells are used, of neutral names and of letters, and of crossed trials those
        with one order.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, a row a judge, data set (and over all), scheme and quantity.

        Of the records of the lock, and of the evidence that Structured writes on its way to a verdict:

        * ``names_winner_rate``, in [0, 1]: the share that names one answer as better, by a choice or a
          comparison; for the lock also less Structured's share in the same trials (``reference``), in
          [-1, 1];
        * ``names_tie_rate``: the share that says in so many words that neither is better;
        * ``leans_rate``: the share that has more praise, or less criticism, of one answer too;
        * ``named_first_shown``, in [-1, 1]: of those that name a winner, +1 where it is the answer that was
          inspected first, -1 where it is the second;
        * ``named_agreement``, in [0, 1]: of those that name a winner, and where people prefer one answer, the
          share that names that one.

        Of every scheme: ``follows_named_rate``, in [0, 1], of the verdicts after a record that names a
        winner, the share for that answer. ``reread`` never sees the record: its share says how often the two
        agree anyway. ``other_record`` has its rows by ``writer``.

        Signed quantities are tested against 0 by flipping the signs of clusters (``p``; ``p_holm`` over the
        schemes and data sets of a judge; ``mde``). ``n_unparsed`` counts the trials of the row whose record,
        or verdict, could not be read.
    """
    by_name = draws(rng)
    same = judgements[
        (judgements["inspection"] == judgements["decision"]) & judgements["scheme"].ne("standard")
    ]
    same = same[same["scheme"] != "pointwise_lock"]  # it has no text about both
    main = pd.concat([main_cells(same, naming) for naming in NAMINGS]).assign(n_trials=1)
    read = main.assign(n_unparsed=main["named"].eq("").astype(int))
    rows: list[dict[str, Any]] = []
    for names, cell in cells(read[read["scheme"].isin(RECORDS)]):
        rows += _of_records(names, cell, by_name, inference)
    for names, cell in cells(_beside(read)):
        rows.append(_difference(names, cell, by_name, inference))
    decided = main[main["named"].isin(WINNERS)]
    for names, cell in cells(decided.assign(n_unparsed=decided["status"].ne("ok").astype(int))):
        rows.append(_follows(names, cell, by_name, inference))
    return corrected(frame(rows), FAMILY)


def _of_records(
    names: Mapping[str, Any], cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    """What the records of one cell say, and of those that name a winner, whom."""
    there = cell[cell["named"] != ""]
    for quantity, hits in (
        ("names_winner_rate", there["named"].isin(WINNERS)),
        ("names_tie_rate", there["named"].eq("tie")),
        ("leans_rate", there["leans"].isin(WINNERS)),
    ):
        yield _rate(quantity, names, there, cell, hits, by_name, inference)
    naming = there[there["named"].isin(WINNERS)]
    yield _first_shown(names, naming, cell, by_name, inference)
    strict = naming[naming["label"] != "tie"]
    asked = cell[cell["label"] != "tie"]
    hits = strict["named"] == strict["label"]
    yield _rate("named_agreement", names, strict, asked, hits, by_name, inference)


def _rate(
    quantity: str,
    names: Mapping[str, Any],
    used: pd.DataFrame,
    asked: pd.DataFrame,
    hits: pd.Series,
    by_name: Draws,
    inference: Inference,
) -> dict[str, Any]:
    found = rate_interval(hits.to_numpy(dtype=float), used["cluster"], by_name(quantity, names), inference)
    return row(quantity, names, found, used, asked)


def _first_shown(
    names: Mapping[str, Any], naming: pd.DataFrame, cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> dict[str, Any]:
    signs = naming["named"].eq(naming["inspection"].str[0]).map({True: 1.0, False: -1.0})
    return _signed("named_first_shown", names, signs, naming, cell, by_name, inference)


def _signed(
    quantity: str,
    names: Mapping[str, Any],
    effects: pd.Series,
    used: pd.DataFrame,
    asked: pd.DataFrame,
    by_name: Draws,
    inference: Inference,
) -> dict[str, Any]:
    rng, values = by_name(quantity, names), effects.to_numpy(dtype=float)
    found = signed_interval(values, used["cluster"], rng, inference)
    return {
        **row(quantity, names, found, used, asked),
        **signed_test(values, used["cluster"], rng, inference, STEP[quantity]),
    }


def _beside(read: pd.DataFrame) -> pd.DataFrame:
    """The lock's records with the evidence that Structured wrote in the same trial."""
    told = ["named", "n_trials", "n_unparsed"]
    other = read.loc[read["scheme"] == "structured", [*SAME_TRIAL, *told]]
    both = read[read["scheme"] == "lock"].merge(
        other, on=list(SAME_TRIAL), suffixes=("", "_reference"), validate="one_to_one"
    )
    return both.assign(**{name: both[name] + both[f"{name}_reference"] for name in told[1:]})


def _difference(
    names: Mapping[str, Any], cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> dict[str, Any]:
    """How much less, or more, the lock's records name a winner than Structured's evidence does."""
    there = cell[(cell["named"] != "") & (cell["named_reference"] != "")]
    naming, reference = (there[name].isin(WINNERS).astype(float) for name in ("named", "named_reference"))
    told = {**names, "condition": "lock - structured", "reference": "structured"}
    return _signed("names_winner_rate", told, naming - reference, there, cell, by_name, inference)


def _follows(
    names: Mapping[str, Any], cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> dict[str, Any]:
    """Whether the verdict is the winner that the record names."""
    decided = cell[cell["status"] == "ok"]
    hits = decided["verdict"] == decided["named"]
    return _rate("follows_named_rate", names, decided, cell, hits, by_name, inference)


# --- How well records are read ------------------------------------------------------------------------


def read_labels(file: Path = LABELS) -> pd.DataFrame:
    """The labelled records, and whom the rules take them to name.

    Returns
    -------
    DataFrame
        One row a record: ``item``, ``labelled`` and ``read``, each "first" or "second" by the order of the
        inspection, "tie" or "none".

    Raises
    ------
    SourceError
        If the file is absent or a line has no such record.
    """
    found = made(json_lines(file, "it comes with the repository: restore it"), _labelled)
    return pd.DataFrame([label for _, label in found])


def _labelled(row: Row) -> dict[str, str]:
    names, texts, told = row.texts("names"), row.texts("evidence"), row.text("named")
    if told not in (*PLACES, "tie", "none") or not len(names) == len(texts) == 2:
        raise ValueError(
            "no two names, two texts, and one of first, second, tie, none in column 'named'; mend it"
        )
    read, _ = stated_by(row.text("criteria"), tuple(zip(names, texts, strict=True)))
    return {"item": row.text("item"), "labelled": told, "read": read}


def reader_rows(labels: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """How far the rules that read records can be trusted: against a reader's labels.

    Parameters
    ----------
    labels : DataFrame
        From `read_labels`.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, two rows that are about no judge of this run. ``reader_precision``, in [0, 1]: of the
        records that the rules take to name a winner, the share in which the reader takes them to name the
        same; ``reader_recall``: of those in which the reader does, the share in which the rules name the
        same. nan where there is none. A pair's records are one cluster.
    """
    by_name = draws(rng)
    told = labels.assign(cluster=labels["item"], n_trials=1, n_unparsed=0)
    hits = told["read"] == told["labelled"]
    rows = []
    for quantity, column in (("reader_precision", "read"), ("reader_recall", "labelled")):
        used = told[told[column].isin(PLACES)]
        names = {"dataset": "embedded"}
        rows.append(_rate(quantity, names, used, used, hits[used.index], by_name, inference))
    return frame(rows)
