"""One verdict a pair, made from several answers: of both orders, of all its trials, of several judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference, rate_interval
from studies.evidence_lock.pairs import CELL, POOLED, cells, largest_records, main_cells, pairs, signed
from studies.evidence_lock.rows import Draws, draws, frame, row

VERDICTS = ("1", "2", "tie")

GROUP = ("scheme", "naming", "writer")
"""What makes a cell, besides data set and judge."""

_ITEM = ("dataset", "item")

ALL_JUDGES = POOLED


def verdict_rows(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """How often the verdicts that several answers add up to are the label.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; those with neutral names and the largest record of their scheme are used.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`, by judge, data set (and over all), protocol and writer of records, and of the judge
        ``all`` where two judges or more were asked. ``order_averaged_agreement`` and ``majority_agreement``,
        in [0, 1], are the share of pairs with a strict label whose verdict is that label, so that a tie
        disagrees; ``order_averaged_tie_rate`` and ``majority_tie_rate`` the share of them that come out a
        tie. ``n_trials`` counts the answers that verdicts were made from, ``n_unparsed`` those that failed.

        The order-averaged verdict is the sign of the mean of both orders' signed verdicts (main cells; pairs
        without two verdicts are left out, and of ``all`` those that lack one from any judge), over the judges
        too for ``all``. The majority verdict is the most frequent one over all of a pair's trials (orders,
        crossed ones too, wordings, temperatures, replicates; for ``all`` those of all judges), and a tie
        where no single one is most frequent; answers that failed have no vote.

    Notes
    -----
    Where a pair has two trials the two differ in one case: a candidate and a tie are that candidate by the
    mean, and no majority.
    """
    by_name = draws(rng)
    neutral = largest_records(judgements[judgements["naming"] == "neutral"])
    found = {"order_averaged": order_averaged(main_cells(judgements)), "majority": majority(neutral)}
    rows: list[dict[str, Any]] = []
    for rule, decided in found.items():
        for names, cell in cells(decided, CELL):
            rows += _rows(rule, names, cell, by_name, inference)
    return frame(rows)


def _rows(
    rule: str, names: dict[str, Any], cell: pd.DataFrame, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    asked = cell[cell["label"] != "tie"]
    used = asked[asked["verdict"].notna()]
    hits = {"agreement": used["verdict"].eq(used["label"]), "tie_rate": used["verdict"].eq("tie")}
    for outcome, hit in hits.items() if len(asked) else ():
        quantity = f"{rule}_{outcome}"
        found = rate_interval(hit, used["cluster"], by_name(quantity, names), inference)
        yield row(quantity, names, found, used, asked)


def order_averaged(judgements: pd.DataFrame) -> pd.DataFrame:
    """The order-averaged verdict of each pair, by judge, and of all judges where there are several.

    Parameters
    ----------
    judgements : DataFrame
        Main cells.

    Returns
    -------
    DataFrame
        One row a judge (and ``all``), item, scheme, naming and writer: ``cluster, label``, ``record_chars``,
        ``n_trials, n_unparsed`` and ``verdict``, missing where an order has none.
    """
    both = pairs(judgements)
    both = both.assign(signed=(signed(both["verdict_12"]) + signed(both["verdict_21"])) / 2)
    return _and_of_all(both, _sign_of_mean)


def majority(judgements: pd.DataFrame) -> pd.DataFrame:
    """The most frequent verdict of each pair over all its trials; as `order_averaged`."""
    ok = judgements["status"] == "ok"
    votes = {f"votes_{verdict}": (judgements["verdict"].eq(verdict) & ok).astype(int) for verdict in VERDICTS}
    return _and_of_all(judgements.assign(n_trials=1, n_unparsed=(~ok).astype(int), **votes), _most_frequent)


def _and_of_all(rows: pd.DataFrame, decide: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """What ``decide`` makes of each judge's rows, then of all judges' together where there are several."""
    several = rows.groupby(list(GROUP))["judge"].transform("nunique") > 1
    together = [rows[several].assign(judge=ALL_JUDGES)] if several.any() else []
    return pd.concat([decide(one) for one in (rows, *together)], ignore_index=True)


def _items(rows: pd.DataFrame, summed: Sequence[str]) -> tuple[pd.DataFrame, Any]:
    """One row a judge, group and item, with the sums of some columns; and the groups themselves."""
    groups = rows.groupby(["judge", *GROUP, *_ITEM], sort=False)
    about = groups[["cluster", "label", "record_chars"]].first()
    return about.join(groups[["n_trials", "n_unparsed", *summed]].sum()), groups


def _sign_of_mean(rows: pd.DataFrame) -> pd.DataFrame:
    items, groups = _items(rows, ["signed"])
    complete = groups["signed"].count() == groups.size()
    verdicts = np.select([items["signed"] > 0, items["signed"] < 0], ["1", "2"], "tie")
    return items.assign(verdict=pd.Series(verdicts, index=items.index).where(complete)).reset_index()


def _most_frequent(rows: pd.DataFrame) -> pd.DataFrame:
    names = [f"votes_{verdict}" for verdict in VERDICTS]
    items, _ = _items(rows, names)
    votes = items[names].to_numpy()
    most = votes.max(axis=1, initial=0)
    alone = (votes == most[:, None]).sum(axis=1) == 1
    verdicts = np.where(alone, np.array(VERDICTS)[votes.argmax(axis=1)], "tie")
    return items.assign(verdict=pd.Series(verdicts, index=items.index).where(most > 0)).reset_index()
