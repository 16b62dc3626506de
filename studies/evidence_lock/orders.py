"""What the orders of inspection and of decision do to a verdict, each apart, and beside that what noise does.

Where the record is frozen, the order in which the answers were inspected and the order in which the decision
lists them are two things, which the exchange of answers changes at once. Crossing them tells an inconsistency
that the record carries from the decision's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from shared.metrics.resampling import (
    Array,
    Inference,
    Statistic,
    bootstrap,
    cluster_sums,
    rate_interval,
    ratio,
    signed_interval,
)
from studies.evidence_lock import pairs, params
from studies.evidence_lock.rows import Draws, corrected, draws, frame, row, signed_test

CELL = (*pairs.CELL, "record_chars", "temperature")
"""What makes a cell, besides the data set."""

Orders = tuple[str, str]
"""Of inspection, and of decision."""

ORDERS: tuple[Orders, ...] = tuple(product(params.ORDERS, params.ORDERS))
"""12 and 12, 12 and 21, 21 and 12, 21 and 21: the columns of every array of verdicts here."""

CHANGES: Mapping[str, Sequence[tuple[int, int]]] = {
    "through_record": ((0, 2), (1, 3)),
    "direct": ((0, 1), (2, 3)),
    "both": ((0, 3),),
}
"""By change, the columns of `ORDERS` that are compared."""

LEANS: Mapping[str, Array] = {
    "towards_first_inspected": np.array([1, 1, -1, -1]) / 4,
    "towards_first_decided": np.array([1, -1, 1, -1]) / 4,
}
"""Weights of the signed verdicts: above 0 towards the candidate that was inspected, or listed, first."""

COMPONENTS = ("item", "inspection", "decision", "interaction", "across_records", "within_records")

RATES = (*CHANGES, "noise_wording", "noise_replicate", "agreement_by_order")
"""Quantities in [0, 1]; the others are signed, and tested."""

STEP: Mapping[str, float] = {
    **{f"{change}_above_noise": 0.25 for change in CHANGES},
    "through_record_less_direct": 0.5,
    **dict.fromkeys(LEANS, 0.25),
    "agreement_crossed_less_same": 0.5,
}
"""The least that an item moves a signed quantity, of one sample; the mean of several moves by less."""

FAMILY = ("judge", "naming", "condition")


class Units(NamedTuple):
    """Verdicts side by side: a row an item, wording and replicate, a column one of `ORDERS`.

    ``keys`` has ``item, wording, replicate, cluster, label``; ``verdicts`` is 1, -1 for candidates 1, 2 and 0
    for a tie, nan without one; ``asked`` tells an answer without a verdict from a trial that is not there.
    """

    keys: pd.DataFrame
    verdicts: Array
    asked: npt.NDArray[np.bool_]

    def where(self, rows: Any) -> Units:
        """The chosen rows."""
        return Units(self.keys[rows].reset_index(drop=True), self.verdicts[rows], self.asked[rows])

    def at(self, places: Any) -> Units:
        """The rows at these places, each as often as it is named."""
        return Units(self.keys.iloc[places].reset_index(drop=True), self.verdicts[places], self.asked[places])


def order_rows(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """How often a verdict changes with the order of inspection, of decision, of both, and with neither.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; schemes that have crossed trials are used, in every cell (`CELL`) of theirs that has
        crossed trials, a second wording or replicates.
    rng : numpy.random.Generator
    inference : Inference

    Returns
    -------
    DataFrame
        `rows.COLUMNS`. Over items that have a verdict under all orders that the cell asks, under wording 1;
        an item's replicates are averaged.

        ``through_record``, ``direct``, ``both``
            Share of verdicts (candidate 1, 2, tie) that change where the order of inspection alone does (each
            order of decision counts half); where the order of decision alone does, the record being the same;
            where both do, which is the paper's swap. In [0, 1].
        ``noise_wording``, ``noise_replicate``
            Share that change under the same orders: from wording 1 of the instructions to wording 2, or,
            above temperature 0, from one sample to another. In [0, 1].
        ``<change>_above_noise`` (condition: the noise)
            A change's rate less the noise of the same items, in [-1, 1]. The noise is the replicates' where
            the cell has some, otherwise the wording's.
        ``through_record_less_direct``
            Of the same items, in [-1, 1].
        ``towards_first_inspected``, ``towards_first_decided``
            The signed verdict's mean lean to the candidate that stands first at either, the other being
            balanced, in [-1, 1]; 1 is always the first.
        ``agreement_by_order`` (condition: the orders)
            Share that agree with the label; a judge's tie does not; label ties are left out.
        ``agreement_crossed_less_same``
            Agreement where the two orders differ less where they are one, in [-1, 1].
        ``variance_share`` (condition: one of `COMPONENTS`)
            See `components`.

        What is signed has ``p`` from sign flips of whole clusters, and ``mde``. ``p_holm`` is over the
        changes above one kind of noise of a judge: all schemes, data sets and temperatures, pooled rows
        apart. A cell without crossed trials has ``both`` and the noise alone. ``n_trials`` counts verdicts,
        ``n_unparsed`` answers without one.

    Notes
    -----
    A noise draws both calls anew. Of replicates, that is what an exchange that does nothing would give to
    ``through_record`` and ``both``. A wording changes the words of both calls, where ``through_record`` keeps
    the decision's question and order: its noise is overstated there, and what stands above it is a lower
    bound. ``direct`` keeps the record: either noise is overstated, and what stands above it is a lower bound,
    too. No trial draws the decision alone anew: ``variance_share`` does not tell its noise from the
    record's way with the decision's order.

    Raises
    ------
    ValueError
        If an item was judged twice under the same orders, or the decisions about one inspection rest on
        different records.
    """
    by_name = draws(rng)
    rows: list[dict[str, Any]] = []
    for names, cell in pairs.cells(_crossed_schemes(judgements), CELL):
        if _tells_orders(cell):
            rows += _cell_rows(names | {"wording": 1}, units(cell), by_name, inference)
    return _with_holm(frame(rows))


def units(cell: pd.DataFrame) -> Units:
    """A cell's verdicts by item, wording and replicate.

    Parameters
    ----------
    cell : DataFrame
        Judgements of one cell of `CELL`.

    Raises
    ------
    ValueError
        As `order_rows`.
    """
    _one_record(cell)
    key = ["item", "wording", "replicate"]
    double = cell.duplicated([*key, "inspection", "decision"])
    if double.any():
        raise ValueError(f"item {cell.loc[double, 'item'].iloc[0]!r} was judged twice under the same orders")
    keys = cell.drop_duplicates(key)[[*key, "cluster", "label"]].reset_index(drop=True)
    rows = _places(cell, keys, key)
    columns = [ORDERS.index(order) for order in zip(cell["inspection"], cell["decision"], strict=True)]
    verdicts, asked = np.full((len(keys), 4), np.nan), np.zeros((len(keys), 4), dtype=bool)
    verdicts[rows, columns] = pairs.signed(cell["verdict"].where(cell["status"] == "ok"))
    asked[rows, columns] = True
    return Units(keys, verdicts, asked)


def components(items: Array) -> Array:
    """Shares of the variance of signed verdicts, from summed columns of `item_components`.

    Parameters
    ----------
    items : ndarray, shape (..., 8)

    Returns
    -------
    ndarray, shape (..., 6)
        In the order of `COMPONENTS`, summing to 1: ``item`` is the variance over items of the mean verdict
        (what the texts decide); ``inspection`` and ``decision`` the mean square of each order's effect on an
        item, whichever way; ``interaction`` that of their product; ``across_records`` what the two decisions
        from one record share, over its samples; ``within_records`` what sets them apart, over the same. nan
        where verdicts do not vary. Without replicates the noise is in the components that it moves, and its
        own are nan; with them it is taken out, so that a component may come out below 0.

    Notes
    -----
    With y = m + a s + b t + c s t for orders s, t in {1, -1}, the mean of y^2 over the four orders is
    m^2 + a^2 + b^2 + c^2. A record is drawn for an inspection and serves both decisions, as a whole plot
    serves its split plots: the noise of a mean over decisions holds the record's and half the decision's,
    that of half their difference half the decision's and, whole, the interaction of record and decision
    order (a record that leads to candidate 1 in either order, another to what is listed first). Twice the
    latter is ``within_records``: the decision's noise at most, and above it even where a decision follows
    from its record. The former less the latter, a covariance, is ``across_records``: the record's noise at
    least. They are apart only where a decision is drawn again from the same record in the same order.

    References
    ----------
    Searle, Casella and McCulloch (1992), Variance Components, chapter 4 (moments of balanced designs).
    """
    n, mean, rest = items[..., 0], items[..., 1], items[..., 2:]
    parts = ratio(rest, n[..., None])
    parts[..., 0] -= ratio(mean, n) ** 2
    total = np.nansum(parts, axis=-1)
    return ratio(parts, np.where(np.abs(total) < 1e-12, 0, total)[..., None])


def item_components(verdicts: Array, items: npt.ArrayLike) -> tuple[Array, list[str]]:
    """What `components` sums, of each item.

    Parameters
    ----------
    verdicts : ndarray, shape (n, 4)
        Signed verdicts of replicates, by `ORDERS`, without nan.
    items : array_like, shape (n,)
        The item of each row. Where any has two rows or more, those that have one are left out.

    Returns
    -------
    columns : ndarray, shape (items, 8)
        1, m, m^2, a^2, b^2, c^2, across records, within records; the squares less the noise in them. The last
        two are nan where no item has two rows.
    names : list, length items
    """
    one, other = verdicts[:, :2], verdicts[:, 2:]  # inspection 12, inspection 21
    halves = {"mean_12": one.sum(axis=1), "mean_21": other.sum(axis=1),
              "half_12": one[:, 0] - one[:, 1], "half_21": other[:, 0] - other[:, 1]}  # fmt: skip
    found = (pd.DataFrame(halves) / 2).groupby(np.asarray(items, dtype=object), sort=False)
    size = found.size()
    kept = size >= min(2, size.max())
    k, mean, variance = size[kept].to_numpy(), found.mean()[kept], found.var(ddof=1)[kept]
    of_mean = variance[["mean_12", "mean_21"]].mean(axis=1).to_numpy()
    of_half = variance[["half_12", "half_21"]].mean(axis=1).to_numpy()
    left_of_mean, left_of_half = (np.nan_to_num(noise / (2 * k)) for noise in (of_mean, of_half))
    m, a = (mean["mean_12"] + mean["mean_21"]) / 2, (mean["mean_12"] - mean["mean_21"]) / 2
    b, c = (mean["half_12"] + mean["half_21"]) / 2, (mean["half_12"] - mean["half_21"]) / 2
    squares = [m**2 - left_of_mean, a**2 - left_of_mean, b**2 - left_of_half, c**2 - left_of_half]
    noise = [of_mean - of_half, 2 * of_half]
    return np.column_stack([np.ones(len(k)), m, *squares, *noise]), mean.index.tolist()


# --- Which judgements -------------------------------------------------------------------------------


def _crossed_schemes(judgements: pd.DataFrame) -> pd.DataFrame:
    """All judgements under schemes that have crossed trials."""
    crossed = judgements["inspection"] != judgements["decision"]
    return judgements[judgements["scheme"].isin(judgements.loc[crossed, "scheme"].unique())]


def _tells_orders(cell: pd.DataFrame) -> bool:
    """False of what was asked in the paper's two orders alone, without a noise to hold it against."""
    crossed = (cell["inspection"] != cell["decision"]).any()
    return bool(crossed or (cell["wording"] > 1).any() or (cell["replicate"] > 0).any())


def _one_record(cell: pd.DataFrame) -> None:
    """Both decisions about an inspection see one record, or their difference is not the decision's."""
    held = cell[cell["record_sha256"] != ""]
    records = held.groupby(["item", "wording", "replicate", "inspection"])["record_sha256"].nunique()
    if (records > 1).any():
        item = records.index[records > 1][0][0]
        raise ValueError(f"item {item!r}: the decisions about one inspection rest on different records")


def _places(rows: pd.DataFrame, among: pd.DataFrame, key: list[str]) -> npt.NDArray[np.intp]:
    """Where each row's key is among others; -1 for nowhere."""
    return pd.MultiIndex.from_frame(among[key]).get_indexer(pd.MultiIndex.from_frame(rows[key]))


# --- Rows of a cell ---------------------------------------------------------------------------------


def _cell_rows(
    names: Mapping[str, Any], cell: Units, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    for quantity, condition, values in item_values(cell):
        named = {**names, **({"condition": condition} if condition else {})}
        yield _row(quantity, named, values, by_name(quantity, named), inference)
    needed = _needed(cell)
    if _is_crossed(needed):
        yield from _share_rows(names, needed, by_name, inference)


def _row(
    quantity: str,
    names: Mapping[str, Any],
    values: pd.DataFrame,
    rng: np.random.Generator,
    inference: Inference,
) -> dict[str, Any]:
    used = values[values["value"].notna()]
    effects, clusters = used["value"].to_numpy(), used["cluster"].to_numpy()
    if quantity in RATES:
        return row(quantity, names, rate_interval(effects, clusters, rng, inference), used, values)
    found = row(quantity, names, signed_interval(effects, clusters, rng, inference), used, values)
    return found | signed_test(effects, clusters, rng, inference, step(quantity, effects))


def step(quantity: str, effects: Array) -> float:
    """The least by which an item differs from 0 in a signed quantity: `STEP`, or less as they were seen."""
    moved = np.abs(effects[np.abs(effects) > 1e-9])
    return float(min(STEP[quantity], moved.min(initial=np.inf)))


def _share_rows(
    names: Mapping[str, Any], needed: Units, by_name: Draws, inference: Inference
) -> Iterator[dict[str, Any]]:
    complete = ~np.any(np.isnan(needed.verdicts), axis=1)
    values = _by_item(needed, np.where(complete, 0.0, np.nan), 4)
    columns, items = item_components(needed.verdicts[complete], needed.keys["item"].to_numpy()[complete])
    used = values.set_index("item").loc[items].reset_index()
    for place, component in enumerate(COMPONENTS):
        if len(items) and not np.isnan(columns[:, 2 + place]).all():
            told = {**names, "condition": component}
            # One generator for all components: they are shares of one whole in every resample.
            sums, generator = cluster_sums(columns, used["cluster"]), by_name("variance_share", names)
            found = bootstrap(_component(place), sums, generator, inference)
            yield row("variance_share", told, found, used, values)


def _component(place: int) -> Statistic:
    return lambda sums: components(sums)[..., place]


def _with_holm(rows: pd.DataFrame) -> pd.DataFrame:
    """With p-values corrected of what stands above the noise."""
    family = rows["quantity"].isin([f"{name}_above_noise" for name in CHANGES])
    above = corrected(rows[family], FAMILY)
    return rows.assign(p_holm=above["p_holm"].reindex(rows.index))


# --- Values of each item ----------------------------------------------------------------------------


def item_values(cell: Units) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """What `order_rows` takes the means of, but for the shares of the variance.

    Yields
    ------
    str, str, DataFrame
        A quantity, its condition ("" for none), and ``item, cluster, value, n_trials, n_unparsed``, a row an
        item that was asked all that the quantity needs; ``value`` is nan where a verdict is lacking.
    """
    needed, noises = _needed(cell), {"noise_wording": wording_noise(cell)}
    noises["noise_replicate"] = replicate_noise(cell)
    of_all_four = _is_crossed(needed)
    changed = {name: _changed(needed, compared) for name, compared in CHANGES.items()
               if of_all_four or name == "both"}  # fmt: skip
    yield from ((name, "", values) for name, values in changed.items())
    yield from ((name, "", values) for name, values in noises.items() if len(values))
    floor = "noise_replicate" if len(noises["noise_replicate"]) else "noise_wording"
    if len(noises[floor]):
        for name, values in changed.items():
            yield f"{name}_above_noise", floor, _less(values, noises[floor])
    if of_all_four:
        less = _less(changed["through_record"], changed["direct"], same_trials=True)
        yield "through_record_less_direct", "", less
        yield from (
            (name, "", _by_item(needed, needed.verdicts @ weights, 4)) for name, weights in LEANS.items()
        )
        yield from _agreement(needed)


def _needed(cell: Units) -> Units:
    """Wording 1 under all orders that the cell has: all four, or the paper's two, of items asked them all."""
    first = cell.where((cell.keys["wording"] == 1).to_numpy())
    columns = first.asked.any(axis=0)
    return first.where(first.asked[:, columns].all(axis=1))


def _is_crossed(needed: Units) -> bool:
    return bool(needed.asked.any() and needed.asked.all())


def _changed(needed: Units, compared: Sequence[tuple[int, int]]) -> pd.DataFrame:
    """The mean change over the compared orders, of units with all verdicts that were asked for."""
    one, other = (needed.verdicts[:, columns] for columns in np.array(compared).T)
    complete = ~np.any(np.isnan(needed.verdicts) & needed.asked, axis=1)
    return _by_item(needed, np.where(complete, (one != other).mean(axis=1), np.nan), 2 * len(compared))


def _agreement(needed: Units) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """By orders of inspection and decision, on the same items."""
    strict = needed.where((needed.keys["label"] != "tie").to_numpy())
    label = pairs.signed(strict.keys["label"])[:, None]
    complete = ~np.any(np.isnan(strict.verdicts), axis=1)
    agrees = np.where(complete[:, None], strict.verdicts == label, np.nan)
    for column, (inspection, decision) in enumerate(ORDERS):
        told = f"inspection {inspection}, decision {decision}"
        yield "agreement_by_order", told, _by_item(strict, agrees[:, column], 1)
    yield "agreement_crossed_less_same", "", _by_item(strict, agrees @ np.array([-1, 1, 1, -1]) / 2, 4)


def wording_noise(cell: Units) -> pd.DataFrame:
    """How often an item's verdict changes with the wording, orders and replicate being the same.

    Returns
    -------
    DataFrame
        ``item, cluster, value, n_trials, n_unparsed``, a row an item that both wordings were asked about: the
        mean over the orders under which both have a verdict (nan for none), the verdicts that it rests on,
        and the answers without one.
    """
    first, second = (cell.where((cell.keys["wording"] == wording).to_numpy()) for wording in (1, 2))
    partner = _places(first.keys, second.keys, ["item", "replicate"])
    return _noise(first.where(partner >= 0), second.at(partner[partner >= 0]))


def replicate_noise(cell: Units) -> pd.DataFrame:
    """How often an item's verdict changes from one sample to another, orders being the same, wording 1.

    All pairs of an item's replicates count, and trials once for each pair. Returns as `wording_noise`.
    """
    first = cell.where((cell.keys["wording"] == 1).to_numpy())
    places = first.keys.groupby("item", sort=False).indices.values()
    both = [pair for own in places for pair in combinations(own, 2)]
    one, other = np.array(both, dtype=int).reshape(-1, 2).T
    return _noise(first.at(one), first.at(other))


def _noise(one: Units, other: Units) -> pd.DataFrame:
    """The mean change between two answers to the same, of the orders under which both were asked."""
    asked = one.asked & other.asked
    lost = np.isnan(one.verdicts), np.isnan(other.verdicts)
    compared = asked & ~lost[0] & ~lost[1]
    sums = one.keys[["item", "cluster"]].assign(
        changed=((one.verdicts != other.verdicts) & compared).sum(axis=1),
        compared=compared.sum(axis=1),
        asked=asked.sum(axis=1),
        n_unparsed=sum((part & asked).sum(axis=1) for part in lost),
    )
    found = sums.groupby(["item", "cluster"], sort=False).sum().reset_index()
    found = found[found["asked"] > 0].reset_index(drop=True)
    value = ratio(found["changed"], found["compared"])
    return found[["item", "cluster", "n_unparsed"]].assign(value=value, n_trials=2 * found["compared"])


def _by_item(asked: Units, values: Array, verdicts: int) -> pd.DataFrame:
    """Mean over an item's replicates that have a value, each of which rests on so many verdicts."""
    there = ~np.isnan(values)
    rows = asked.keys[["item", "cluster"]].assign(
        value=values,
        n_trials=verdicts * there,
        n_unparsed=(np.isnan(asked.verdicts) & asked.asked).sum(axis=1),
    )
    found = rows.groupby(["item", "cluster"], sort=False)
    return found.agg({"value": "mean", "n_trials": "sum", "n_unparsed": "sum"}).reset_index()


def _less(one: pd.DataFrame, other: pd.DataFrame, *, same_trials: bool = False) -> pd.DataFrame:
    """One value less another, of the items that were asked for both."""
    both = one.merge(other.drop(columns="cluster"), on="item", suffixes=("", "_other"))
    counts = {} if same_trials else {
        name: both[name] + both[f"{name}_other"] for name in ("n_trials", "n_unparsed")
    }  # fmt: skip
    return both[["item", "cluster", "n_trials", "n_unparsed"]].assign(
        value=both["value"] - both["value_other"], **counts
    )
