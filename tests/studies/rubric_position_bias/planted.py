"""Judgements of a simulated judge with a planted position prior, leniency and content: for tests only.

The score of item i under an order is drawn from a softmax over the options s, shown at the places p(s):

    utility(i, s) = -sharpness (s - 1 - (n - 1) quality_i)^2 + beta_s + alpha_p(s)

Noise depends on the item and the order alone (and on the replicate above temperature 0), as an engine that is
asked once and replayed answers: equal requests have equal answers, whichever strategy asks them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm

Array = npt.NDArray[Any]

PAPER_JUDGES = ("gptoss20b", "gptoss120b", "qwen9b", "qwen27b", "gemma12b", "gemma27b")
PAPER_DATASETS = {  # items, clusters, criteria
    "mt_bench": (320, 80, ("quality",)),
    "vicuna": (320, 80, ("quality",)),
    "hanna": (576, 96, ("relevance", "coherence", "empathy", "surprise", "engagement", "complexity")),
    "summeval": (1600, 100, ("coherence", "consistency", "fluency", "relevance")),
}


def planted(
    items: int | pd.DataFrame,
    size: int,
    strategy: str | Sequence[str],
    alpha: npt.ArrayLike,
    beta: npt.ArrayLike,
    sharpness: float,
    rng: np.random.Generator,
    k: int | None = None,
    *,
    unparsed: float = 0.0,
    probabilities: bool = False,
    **names: str | float,
) -> pd.DataFrame:
    """Judgements of the setting ``score``, as the study reads them (with ``judge``).

    Parameters
    ----------
    items : int or DataFrame
        How many, each a cluster of its own; or `planted_items`, so that several calls judge the same.
    size : int
        Options of the rubric, 2 to 9.
    strategy : str or sequence of str
        ``balanced``, ``random``, ``fixed``; several are asked about the same items and answer alike where
        they show the same order.
    alpha, beta : array_like, shape (size,) or ()
        Position prior by place and leniency by option, in log-odds; 0 for none.
    sharpness : float
        0: no content, every item alike; 1: scores spread over neighbours; 10: nearly one score an item.
    rng : numpy.random.Generator
    k : int, optional
        Orders an item; 2 ``size`` by default, and never more than a strategy has.
    unparsed : float
        Share of answers that could not be parsed, independent of everything.
    probabilities : bool
        Fill ``p_1`` .. and ``mass``. At temperature 0 the most probable option is the score.
    **names
        Columns with one value: judge, scheme, temperature, effort, ...

    Returns
    -------
    DataFrame
        One row a trial, an item's trials together; the judgements' columns.
    """
    table = planted_items(items, rng) if isinstance(items, int) else items
    strategies = [strategy] if isinstance(strategy, str) else list(strategy)
    seed = np.uint64(rng.integers(2**63))
    shape = (table, size, np.asarray(alpha, float), np.asarray(beta, float), sharpness, seed, k)
    frames = [_of_strategy(one, *shape, rng, unparsed, probabilities, names) for one in strategies]
    return pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]


def planted_items(
    items: int,
    rng: np.random.Generator,
    *,
    clusters: int | None = None,
    criteria: Sequence[str] = ("quality",),
    dataset: str = "planted",
    reference_noise: float = 0.5,
) -> pd.DataFrame:
    """Items with a quality in [0, 1] and a reference score that follows it.

    Parameters
    ----------
    items : int
    clusters : int, optional
        Independent sources; each has its share of neighbouring items, whose qualities have a part in
        common. By default every item is one.
    criteria : sequence of str
        The items of a cluster run through its systems, and for each through the criteria.
    reference_noise : float
        Standard deviation of the reference around 1 + 4 quality.

    Returns
    -------
    DataFrame
        ``item, dataset, cluster, prompt, system, criterion, reference, rater, quality``; ``prompt`` is
        empty where a cluster has one system.
    """
    sources = items if clusters is None else clusters
    cluster = np.arange(items) * sources // items
    within = np.arange(items) - np.searchsorted(cluster, cluster)
    system, criterion = within // len(criteria), within % len(criteria)
    quality = (rng.random(sources)[cluster] + rng.random(items)) / 2
    prompts = [f"{dataset}-{c}" for c in cluster]
    titles = [criteria[c] for c in criterion]
    return pd.DataFrame(
        {
            "item": [f"{p}/system{s}/{c}" for p, s, c in zip(prompts, system, titles, strict=True)],
            "dataset": dataset,
            "cluster": prompts,
            "prompt": prompts if system.max(initial=0) > 0 else "",
            "system": [f"system{s}" for s in system],
            "criterion": titles,
            "reference": 1 + 4 * quality + reference_noise * rng.standard_normal(items),
            "rater": "human",
            "quality": quality,
        }
    )


def planted_criteria(
    items: int | pd.DataFrame,
    criteria: Sequence[str],
    alpha: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    strategy: str | Sequence[str] = "balanced",
    k: int | None = None,
    scales: Sequence[str] = ("12345",),
    interaction: npt.ArrayLike = 0.0,
    noise: float = 0.7,
    unparsed: float = 0.0,
    **names: str | float,
) -> pd.DataFrame:
    """Judgements of the setting ``criteria``: a row a trial and criterion.

    Parameters
    ----------
    items : int or DataFrame
        Of `planted_items` with one criterion.
    criteria : sequence of str
    alpha : array_like, shape (criteria,) or ()
        Points that standing at a place adds to a criterion's score, before rounding to 1 .. 5.
    rng : numpy.random.Generator
    strategy, k
        As in `planted`; a draw has the same order under every scale.
    scales : sequence of str
        The orders in which the range is listed, crossed with the orders of the criteria.
    interaction : array_like, shape (criteria,) or ()
        Points that the place adds under the last scale only.
    noise : float
        Standard deviation of a score, in points; 0: the same under every order but for ``alpha``.

    Returns
    -------
    DataFrame
    """
    table = planted_items(items, rng) if isinstance(items, int) else items
    m = len(criteria)
    at_place = np.broadcast_to(np.asarray(alpha, float), m)
    extra = np.broadcast_to(np.asarray(interaction, float), m)
    content = 1 + 4 * table["quality"].to_numpy()[:, None] + 0.5 * rng.standard_normal((len(table), m))
    strategies = [strategy] if isinstance(strategy, str) else list(strategy)
    drawn = {one: _draws(one, len(table), m, k, rng) for one in strategies}
    frames = []
    for scale in scales:
        seed = np.uint64(rng.integers(2**63))
        moved = at_place + (extra if len(scales) > 1 and scale == scales[-1] else 0.0)
        for one, (codes, orders) in drawn.items():
            rows = _frame(table, m, one, codes, orders, {"setting": "criteria", "scale": scale, **names})
            frames.append(_scored(rows, list(criteria), content, codes, orders, moved, noise, seed))
    return _with_failures(pd.concat(frames, ignore_index=True), unparsed, rng, ("score",))


def paper_grid(rng: np.random.Generator, probabilities: bool = False, share: float = 1.0) -> pd.DataFrame:
    """The paper's grid: 6 judges, 2,816 items of 4 data sets, every setting, 2.3 million judgements.

    Parameters
    ----------
    rng : numpy.random.Generator
    probabilities : bool
    share : float
        Of each data set's sources; below 1 a small grid with the same conditions.

    Returns
    -------
    DataFrame
        Of all items, five options in balanced and random orders and the fixed one, which is asked once at
        temperature 0; two, three and nine options, nine in random orders too; of HANNA and SummEval several
        criteria at once, under two scales. Of MT-Bench and HANNA alone, about a third of the items, the
        prompt arms and temperatures; of HANNA alone efforts, and the fixed order above temperature 0.
    """
    strengths = dict(zip(PAPER_JUDGES, (-0.3, 0.05, 0.15, -0.25, 0.2, 0.6), strict=True))
    frames = []
    for name, (items, clusters, criteria) in PAPER_DATASETS.items():
        sources = max(round(share * clusters), 2)
        count = items // clusters * sources
        table = planted_items(count, rng, clusters=sources, criteria=criteria, dataset=name)
        for judge, strength in strengths.items():
            for asked in _conditions(name):
                size = asked["size"]
                alpha, beta = strength * np.linspace(-1, 1, size), np.linspace(-0.3, 0.3, size)
                told: dict[str, Any] = {"probabilities": probabilities, "judge": judge, **asked}
                frames.append(planted(table, alpha=alpha, beta=beta, sharpness=8 / size, rng=rng, **told))
            if len(criteria) > 1:
                frames += _together(name, criteria, count // len(criteria), sources, judge, strength, rng)
    return pd.concat(frames, ignore_index=True)


def _conditions(dataset: str) -> list[dict[str, Any]]:
    """What is asked of a data set in the setting ``score``."""
    asked: list[dict[str, Any]] = [
        *({"size": size, "strategy": "fixed", "k": 1} for size in (2, 3, 5, 9)),
        *({"size": size, "strategy": "balanced"} for size in (2, 3)),
        *({"size": size, "strategy": ("balanced", "random")} for size in (5, 9)),
    ]
    if dataset in ("mt_bench", "hanna"):
        arms = ("prose", "debias", "cot", "verify", "anchor")
        asked += [{"size": 5, "strategy": "balanced", "scheme": scheme} for scheme in arms]
        strategies = ("balanced", "fixed") if dataset == "hanna" else "balanced"
        heats = (0.3, 0.6, 1.0)
        asked += [{"size": 5, "strategy": strategies, "temperature": heat} for heat in heats]
    if dataset == "hanna":
        efforts = ("low", "medium", "high")
        asked += [{"size": 5, "strategy": "balanced", "effort": effort} for effort in efforts]
    return asked


def _together(
    dataset: str,
    criteria: Sequence[str],
    items: int,
    clusters: int,
    judge: str,
    strength: float,
    rng: np.random.Generator,
) -> list[pd.DataFrame]:
    """All criteria of a text in one prompt, in each strategy's orders, by two scales."""
    table = planted_items(items, rng, clusters=clusters, criteria=("all",), dataset=dataset)
    alpha = strength * np.linspace(-0.5, 0.5, len(criteria))
    told: dict[str, Any] = {"scales": ("12345", "54321"), "interaction": alpha / 2, "judge": judge}
    return [
        planted_criteria(table, criteria, alpha, rng, strategy=strategy, k=k, **told)
        for strategy, k in ((("balanced", "random"), None), ("fixed", 1))
    ]


# --- One strategy -----------------------------------------------------------------------------------


def _of_strategy(
    strategy: str,
    items: pd.DataFrame,
    size: int,
    alpha: Array,
    beta: Array,
    sharpness: float,
    seed: np.uint64,
    k: int | None,
    rng: np.random.Generator,
    unparsed: float,
    probabilities: bool,
    names: dict[str, str | float],
) -> pd.DataFrame:
    codes, orders = _draws(strategy, len(items), size, k, rng)
    frame = _frame(items, size, strategy, codes, orders, {"setting": "score", **names})
    places = np.argsort(orders, axis=-1)
    target = (size - 1) * items["quality"].to_numpy()
    content = -sharpness * (np.arange(size) - target[:, None]) ** 2 + np.broadcast_to(beta, size)
    utility = content[:, None] + np.broadcast_to(alpha, size)[places]
    uniform = _uniform(seed, codes, frame["replicate"].to_numpy().reshape(codes.shape), size)
    noisy = utility - np.log(-np.log(uniform))  # Gumbel noise: the largest is a draw from the softmax
    choice = noisy.argmax(axis=-1)
    place = np.take_along_axis(places, choice[..., None], axis=-1)
    frame = frame.assign(score=choice.ravel() + 1.0, position=place.ravel() + 1.0)
    filled = ["score", "position"]
    if probabilities:
        weights = noisy if frame["temperature"].iloc[0] == 0 else utility
        shares = np.exp(weights - weights.max(axis=-1, keepdims=True))
        shares = (shares / shares.sum(axis=-1, keepdims=True)).reshape(-1, size)
        columns = {f"p_{option + 1}": shares[:, option] for option in range(size)}
        frame = frame.assign(mass=0.98, **columns)
    return _with_failures(frame, unparsed, rng, filled)


def _scored(
    rows: pd.DataFrame,
    criteria: list[str],
    content: Array,
    codes: Array,
    orders: Array,
    at_place: Array,
    noise: float,
    seed: np.uint64,
) -> pd.DataFrame:
    """A row a trial and criterion, with its place and score."""
    m, k = len(criteria), codes.shape[1]
    places = np.argsort(orders, axis=-1)
    replicates = rows["replicate"].to_numpy().reshape(codes.shape)
    spread = noise * norm.ppf(_uniform(seed, codes, replicates, m))
    wished = content[:, None] + at_place[places] + spread
    rows = rows.loc[rows.index.repeat(m)].reset_index(drop=True)
    return rows.assign(
        criterion=np.tile(criteria, len(codes) * k),
        reference=np.repeat(content, k, axis=0).ravel(),
        position=places.ravel() + 1.0,
        score=np.clip(np.rint(wished), 1, 5).ravel(),
    )


def _frame(
    items: pd.DataFrame,
    size: int,
    strategy: str,
    codes: Array,
    orders: Array,
    names: dict[str, Any],
) -> pd.DataFrame:
    """Everything of a trial but its answer."""
    n, k = codes.shape
    rows = items.drop(columns="quality").loc[lambda table: table.index.repeat(k)].reset_index(drop=True)
    draw = np.tile(np.arange(k), n)
    temperature = float(names.get("temperature", 0.0))
    rows = rows.assign(
        judge="planted",
        setting="score",
        scheme="base",
        size=size,
        strategy=strategy,
        draw=draw,
        order=_texts(codes, orders),
        scale="",
        temperature=temperature,
        effort="",
        replicate=draw if strategy == "fixed" and temperature > 0 else 0,
        status="ok",
        mass=np.nan,
        **{f"p_{option}": np.nan for option in range(1, 10)},
        fingerprint="0123456789ab",
        parser=1,
    )
    rows = rows.assign(**{name: value for name, value in names.items() if name != "temperature"})
    return rows.assign(trial=_trial_names(rows))


def _trial_names(rows: pd.DataFrame) -> pd.Series:
    one = rows.iloc[0]
    before = f"|{one['scheme']}|{one['size']}|"
    between = f"|{one['scale']}|{one['temperature']}|{one['effort']}|{one['strategy']}|"
    ends = rows["draw"].astype(str) + "|" + rows["replicate"].astype(str)
    return rows["item"] + before + rows["order"] + between + ends


def _with_failures(
    rows: pd.DataFrame, share: float, rng: np.random.Generator, filled: Sequence[str]
) -> pd.DataFrame:
    if share == 0:
        return rows
    lost = rng.random(len(rows)) < share
    rows = rows.assign(status=np.where(lost, "unparsed", "ok"))
    rows.loc[lost, list(filled)] = np.nan
    return rows


# --- Orders and noise -------------------------------------------------------------------------------


@cache
def _all_orders(size: int) -> Array:
    """All orders of ``size`` options, in the sequence of their digits; shape (size!, size)."""
    return np.array(list(itertools.permutations(range(1, size + 1))), dtype=np.int8)


@cache
def _rotations(size: int) -> Array:
    """Where the balanced orders are among all orders."""
    forward = [np.roll(np.arange(1, size + 1), -shift) for shift in range(size)]
    every = np.unique([*forward, *(order[::-1] for order in forward)], axis=0)
    powers = 10 ** np.arange(size)[::-1]
    return np.searchsorted(_all_orders(size) @ powers, every @ powers)


def _draws(
    strategy: str, items: int, size: int, k: int | None, rng: np.random.Generator
) -> tuple[Array, Array]:
    """The orders of each item: their numbers among all, shape (items, K), and digits, (items, K, size)."""
    wanted = 2 * size if k is None else k
    if strategy == "balanced":
        codes = rng.permuted(np.tile(_rotations(size), (items, 1)), axis=1)[:, :wanted]
    elif strategy == "random":
        codes = _distinct(items, factorial(size), wanted, rng)
    elif strategy == "fixed":
        codes = np.zeros((items, wanted), dtype=int)
    else:
        raise ValueError(f"strategy {strategy!r} is not known")
    return codes, _all_orders(size)[codes]


def _distinct(items: int, total: int, k: int, rng: np.random.Generator) -> Array:
    """For each item k different numbers below ``total``."""
    if total <= 1000:
        return rng.permuted(np.tile(np.arange(total), (items, 1)), axis=1)[:, :k]
    codes = rng.integers(total, size=(items, k))
    while (again := (np.diff(np.sort(codes, axis=1), axis=1) == 0).any(axis=1)).any():
        codes[again] = rng.integers(total, size=(again.sum(), k))
    return codes


def _texts(codes: Array, orders: Array) -> pd.Series:
    """Orders as strings of digits; each different one is written once."""
    found, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    digits = orders.reshape(-1, orders.shape[-1])[first]
    texts = pd.array(["".join(map(str, row)) for row in digits.tolist()], dtype="str")
    assert len(texts) == len(found)
    return pd.Series(texts.take(inverse.ravel()))


def _uniform(seed: np.uint64, codes: Array, replicates: Array, size: int) -> Array:
    """A number in (0, 1) for each item, order, replicate and option: equal wherever all four are equal."""
    with np.errstate(over="ignore"):
        keys = _mixed(seed + np.arange(len(codes), dtype=np.uint64))[:, None]
        keys = _mixed(keys + codes.astype(np.uint64))
        keys = _mixed(keys + replicates.astype(np.uint64))[..., None]
        bits = _mixed(keys + np.arange(size, dtype=np.uint64))
    return ((bits >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53


def _mixed(keys: Array) -> Array:
    """SplitMix64 (Steele, Lea and Flood 2014), one step from each key."""
    keys = keys + np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))
