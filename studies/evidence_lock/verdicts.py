"""One verdict a pair, made from several answers: of both orders, of more trials, of several judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.resampling import Inference, rate_interval
from studies.evidence_lock.cost import mean_ratio
from studies.evidence_lock.pairs import CELL, POOLED, cells, main_cells, pairs, signed
from studies.evidence_lock.rows import Draws, draws, frame, row

VERDICTS = ("1", "2", "tie")

GROUP = ("scheme", "naming", "writer")
"""What makes a cell, besides data set and judge."""

_ITEM = ("dataset", "item")

_PAIR = ("judge", *GROUP, *_ITEM, "record_chars")
"""What a pair's trials of one protocol have in common, whatever their orders, wording and temperature."""


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
        ``all`` where two judges or more were asked. ``<rule>_agreement``, in [0, 1], is the share of pairs
        with a strict label whose verdict is that label, so that a tie disagrees; ``<rule>_tie_rate`` the
        share of them that come out a tie. ``n_trials`` counts the answers that verdicts were made from,
        ``n_unparsed`` those that failed. A rule is one of

        ``order_averaged``
            The sign of the mean of both orders' signed verdicts, over the judges too for ``all``.
        ``majority``
            The most frequent of the same verdicts, and a tie where no single one is: two votes a judge under
            every protocol, so that protocols can be set side by side.
        ``majority_all``
            The most frequent over all of a pair's trials: crossed orders, wordings, temperatures and
            replicates too; an answer that failed has no vote. Of the pairs that were asked more than the two
            orders alone. ``majority_all_votes`` is their mean number of votes: more votes agree more often
            with equal skill, so that this rule tells no protocol from another that was asked less.

        All leave out the pairs that lack a verdict in either order, and of ``all`` those that lack one from
        any judge: of one order alone the place would decide.

    Notes
    -----
    Of one judge's two votes the first two rules differ in one case: a candidate and a tie are that candidate
    by the mean, and no majority.
    """
    by_name = draws(rng)
    found = {
        "order_averaged": order_averaged(judgements),
        "majority": majority(judgements),
        "majority_all": majority_all(judgements),
    }
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
    if rule == "majority_all" and len(asked):
        quantity = f"{rule}_votes"
        votes = used["n_trials"] - used["n_unparsed"]
        mean = mean_ratio(np.ones(len(used)), votes, used, by_name(quantity, names), inference)
        yield row(quantity, names, mean, used, asked)


def order_averaged(judgements: pd.DataFrame) -> pd.DataFrame:
    """The order-averaged verdict of each pair, by judge, and of all judges where there are several.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; the main cells are used.

    Returns
    -------
    DataFrame
        One row a judge (and ``all``), item, scheme, naming and writer: ``cluster, label``, ``record_chars``,
        ``n_trials, n_unparsed`` and ``verdict``, missing where an order has none.
    """
    both = pairs(main_cells(judgements))
    both = both.assign(signed=(signed(both["verdict_12"]) + signed(both["verdict_21"])) / 2)
    return _and_of_all(both, _sign_of_mean)


def majority(judgements: pd.DataFrame) -> pd.DataFrame:
    """The most frequent of each pair's verdicts in the two orders; as `order_averaged`."""
    both = pairs(main_cells(judgements))
    votes = {f"votes_{name}": _votes(both, name, ["verdict_12", "verdict_21"]) for name in VERDICTS}
    return _and_of_all(both.assign(**votes), _most_frequent)


def majority_all(judgements: pd.DataFrame) -> pd.DataFrame:
    """The most frequent verdict over all trials of each pair that has more than its two orders.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; those with neutral names and the record of the main cells are used.

    Returns
    -------
    DataFrame
        As `order_averaged`; ``verdict`` is missing where the main cell lacks one in either order.
    """
    both = pairs(main_cells(judgements)).rename(columns={"n_trials": "n_main"})
    trials = judgements[judgements["naming"] == "neutral"].merge(
        both[[*_PAIR, "both", "n_main"]], on=list(_PAIR), validate="many_to_one"
    )
    asked = trials.groupby(list(_PAIR))["item"].transform("size")
    more = trials[asked > trials["n_main"]]
    ok = more["status"] == "ok"
    told = more.assign(n_trials=1, n_unparsed=(~ok).astype(int), verdict=more["verdict"].where(ok))
    votes = {f"votes_{name}": _votes(told, name, ["verdict"]) for name in VERDICTS}
    return _and_of_all(told.assign(**votes), _most_frequent)


def _votes(rows: pd.DataFrame, verdict: str, columns: Sequence[str]) -> pd.Series:
    return rows[list(columns)].isin([verdict]).sum(axis=1)


def _and_of_all(rows: pd.DataFrame, decide: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """What ``decide`` makes of each judge's rows, then of all judges' together where there are several."""
    several = rows.groupby(list(GROUP))["judge"].transform("nunique") > 1
    together = [rows[several].assign(judge=POOLED)] if several.any() else []
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
    items, groups = _items(rows, names)
    votes = items[names].to_numpy()
    most = votes.max(axis=1, initial=0)
    alone = (votes == most[:, None]).sum(axis=1) == 1
    verdicts = pd.Series(np.where(alone, np.array(VERDICTS)[votes.argmax(axis=1)], "tie"), index=items.index)
    return items.assign(verdict=verdicts.where(groups["both"].all())).reset_index()
