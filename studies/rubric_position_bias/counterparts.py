"""What the paper states about each of our rows: no table of it is known here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np

from shared.reporting import published
from shared.reporting.results import Counterpart, told_of

PAPER = "rubric_position_bias"

SCALE = "12345"
"""The order in which the paper lists the range of a criterion's scores: it knows one."""

POOLED = ("", "all")
"""The judge of a row that is about several."""

MAIN: Mapping[str, Any] = {"setting": "score", "scheme": "base", "size": 5, "temperature": 0.0, "effort": ""}
"""The paper's main design, which a row has where it does not say otherwise."""

SAME: Mapping[str, str] = {"004": "057", "115": "057", "031": "025", "032": "026"}
"""Results that the paper states twice: the second place, and the one that is read here."""

WITHOUT_A_ROW: Mapping[str, str] = {
    "019": "a bound that five of six judges keep, which 020 counts",
    "040": "counts judges; which size has the lowest V, `lowest_v_share` tells of each judge",
    "049": "counts tests; `friedman` tells each test's p and Holm's",
    "060": "counts tests; `lr_shares` tells each test's p",
    "082": "counts judges whose bias is flat, which is not defined; `sd_alpha_difference` tells how flat",
    "117": "the paper's GPU time; how long a run takes here depends on the machine",
}
"""Results of the paper that no row of a table is about, and why."""

TOTALS: Mapping[str, str] = {"013": "014", "017": "018", "020": "021", "052": "053"}
"""Statements that count something, and the statement of how many there are in all."""


NONE = Counterpart()


class Statement(NamedTuple):
    """A statement of the paper, and which of our rows it is about.

    ``judge`` is the slug of the one that it names, "" for all. ``where`` are the row's other names.
    ``limit`` tells a number that is printed as an "up to": of a size, or of a difference of either sign.
    ``unit`` is how much of the printed unit is 1 of ours. A statement that gives no number of ours
    (``named``) marks the row.
    """

    number: str
    quantities: tuple[str, ...]
    where: Mapping[str, Any]
    judge: str = ""
    limit: Literal["", "size", "difference"] = ""
    unit: float = 1.0
    named: bool = False

    @property
    def id(self) -> str:
        return claim(self.number)

    def fits(self, names: Mapping[str, Any]) -> bool:
        """Whether a row of one of the quantities, its judge aside, is what the statement is about."""
        return all(
            names.get(name) in (wanted if isinstance(wanted, tuple) else (wanted,))
            for name, wanted in self.where.items()
        )

    def ends(self) -> tuple[float, float]:
        """The least and the greatest that is printed; twice the same number where it is one."""
        low, high = (end / self.unit for end in _printed(self.id))
        return {"size": 0.0, "difference": -high}.get(self.limit, low), high


def claim(number: str) -> str:
    """The id of a statement of this paper; ``number`` is what stands after ``002-``."""
    return f"{PAPER}.claim.002-{number}"


def of(quantity: str, table: str, **names: Any) -> Counterpart:
    """The paper's number beside a row of our tables.

    Parameters
    ----------
    quantity, table : str
    **names
        What else names the row: judge, setting, scheme, condition, dataset, size, temperature, effort, scale,
        k.
        What is not told, nan or "" is that of `MAIN`.

    Returns
    -------
    Counterpart
        A statement about the row's own judge comes first, then one about all. Statements of one judge each
        stand beside the others' rows as a range where there are two or more: the paper then gives its least
        and its most biased. `NONE` where it prints nothing.

    Notes
    -----
    The paper does not name the two data sets of its comparisons of strategies, nor those over which it takes
    V or sd(alpha) of a judge, so that these stand beside every data set of ours; likewise a ranking of one
    criterion or of their mean. V is `cramers_v`, with the root: by the formula as printed, a judge that the
    paper calls strongly biased would have a V far below the bound that it gives for its least biased one.
    """
    if quantity not in _statements():
        return NONE
    told = {"table": table, **MAIN, **told_of(names)}
    about = [one for one in _statements()[quantity] if one.fits(told)]
    judge = str(told.get("judge", ""))
    for wanted in (judge, ""):
        for statement in about:
            if statement.judge == wanted:
                return _counterpart(statement, exact=bool(wanted) or judge in POOLED)
    return _range_over(about) if len(about) > 1 and judge not in POOLED else NONE


def total(id: str) -> float:
    """Of how many a statement counts some; nan for any other statement."""
    number = id.removeprefix(claim(""))
    return published.value(claim(TOTALS[number])) if number in TOTALS else np.nan


def _counterpart(statement: Statement, exact: bool) -> Counterpart:
    if statement.named:
        return Counterpart(statement.id, np.nan, np.nan, np.nan)
    low, high = statement.ends()
    if exact and low == high:
        return Counterpart(statement.id, high, np.nan, np.nan)
    return Counterpart(statement.id, np.nan, low, high)


def _range_over(statements: list[Statement]) -> Counterpart:
    """From the least to the greatest end of what is printed of several judges."""
    if any(statement.named for statement in statements):
        return NONE
    lows, highs = zip(*(statement.ends() for statement in statements), strict=True)
    return Counterpart("", np.nan, min(lows), max(highs))


@cache
def _printed(id: str) -> tuple[float, float]:
    try:
        value = published.value(id)
    except ValueError:
        return published.bounds(id)
    return value, value


@cache
def _statements() -> dict[str, list[Statement]]:
    """All statements that stand beside rows, by quantity."""
    found: dict[str, list[Statement]] = {}
    for part in (_of_position, _of_agreement, _of_curves, _of_ranking, _of_the_logit, _of_temperature):
        for statement in part():
            for quantity in statement.quantities:
                found.setdefault(quantity, []).append(statement)
    return found


def _of_position() -> Iterator[Statement]:
    """Findings 1, 6 and 7."""
    v = ("cramers_v",)
    of_v = {"table": ("position", "rubric_size"), **_main("size")}
    yield Statement("042", v, of_v, judge="gpt_oss_120b")
    yield Statement("043", v, {**of_v, "size": 5}, judge="gemma_3_27b")
    yield Statement("044", v, {**of_v, "size": 9}, judge="gemma_3_27b")
    for number, judge in (("006", "gpt_oss_20b"), ("007", "gemma_3_27b")):
        place = {"table": "position", "condition": f"place {published.value(claim(number)):.0f}", **_main()}
        yield Statement(number, ("position_share",), place, judge=judge, named=True)
    shift = {"table": "criterion_order", "scale": SCALE, **_main("size", "setting")}
    yield Statement("051", ("largest_shift",), shift, limit="size")


def _of_agreement() -> Iterator[Statement]:
    """Findings 3 and 4; 7 on the order of criteria."""
    random, fixed = "balanced - random", "balanced - fixed"
    score = {"table": "agreement", **_main()}
    criteria = {"table": "agreement", "scale": SCALE, **_main("size"), "setting": "criteria"}
    yield Statement("013", ("pearson_cells_containing_0",), {**score, "condition": random})
    extremes = ("pearson", "pearson_smallest_difference", "pearson_largest_difference")
    yield Statement("015", extremes, {**score, "condition": random})
    yield Statement("017", ("pearson_cells_above_0",), {**score, "condition": fixed})
    yield Statement("052", ("pearson_cells_above_0",), {**criteria, "condition": fixed})
    yield Statement("054", extremes, {**criteria, "condition": random}, limit="difference")


def _of_temperature() -> Iterator[Statement]:
    """Finding 11."""
    heat = {"table": "temperature", "dataset": "hanna", "condition": "balanced", **_main("temperature")}
    for number, temperature in (("083", 0.0), ("084", 1.0)):
        yield Statement(number, ("pearson",), {**heat, "temperature": temperature}, judge="qwen3_5_9b")
    thought = {"table": "temperature", "dataset": "hanna", **_main("effort")}
    for number, effort in (("085", "low"), ("086", "medium"), ("087", "high")):
        yield Statement(number, ("chi_square",), {**thought, "effort": effort}, judge="gpt_oss_20b")


def _of_curves() -> Iterator[Statement]:
    """Finding 5. Shares of the gain are over all judges: beside one judge's a range of no width."""
    curve = {"table": "k_curve", **_main()}
    yield Statement("020", ("judges_tracking",), curve)
    share = ("gain_share",)
    for number, strategy, k in (("025", "balanced", 3), ("026", "balanced", 5), ("035", "fixed", 10)):
        yield Statement(number, share, {**curve, "condition": strategy, "k": k}, unit=100)


def _of_ranking() -> Iterator[Statement]:
    """Finding 8."""
    fixed = {"table": "ranking", "condition": "balanced - fixed", **_main()}
    changes = ("top1_change_low", "top1_change_high")
    yield Statement("056", ("kendall_tau",), fixed)
    yield Statement("057", changes, fixed, unit=100)
    yield Statement("058", changes, fixed, judge="gpt_oss_120b", unit=100)


def _of_the_logit() -> Iterator[Statement]:
    """Findings 9 and 10."""
    sd = {"table": "logit", "condition": "balanced", **_main()}
    for number, judge in (("063", "gpt_oss_120b"), ("064", "gemma_3_27b")):
        yield Statement(number, ("sd_alpha", "sd_alpha_shares"), sd, judge=judge)
    arms = {"table": "prompt_arms", **_main("scheme")}
    sizes = {"base": "067", "prose": "068", "debias": "070", "cot": "072", "verify": "074", "anchor": "076"}
    for arm, number in sizes.items():
        yield Statement(number, ("sd_alpha", "sd_alpha_shares"), {**arms, "condition": arm})
    ratios = {"prose": "069", "debias": "071", "cot": "073", "verify": "075", "anchor": "077"}
    for arm, number in ratios.items():
        yield Statement(number, ("sd_alpha_ratio",), {**arms, "condition": f"{arm} / base"})


def _main(*but: str) -> dict[str, Any]:
    """`MAIN` without what a statement is not bound to."""
    return {name: value for name, value in MAIN.items() if name not in but}
