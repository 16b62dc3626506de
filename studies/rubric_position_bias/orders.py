"""The orders in which a rubric's options, or a prompt's criteria, are shown.

An order is a string of digits: the options in the sequence in which the prompt shows them. In "34512" option
3 stands first. Options are numbered from 1, the worst level or the first criterion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from shared.draws import number

Strategy = Literal["balanced", "random", "fixed"]
"""How an item's orders are chosen."""

DIGITS = "123456789"
MOST = len(DIGITS)
"""An order has one digit an option, so no more options than this."""


def canonical(size: int) -> str:
    """All options from the first to the last.

    Raises
    ------
    ValueError
        If ``size`` is not in 1..9.

    Examples
    --------
    >>> canonical(5)
    '12345'
    """
    if not 1 <= size <= MOST:
        raise ValueError(f"an order has 1 to {MOST} options, not {size}")
    return DIGITS[:size]


def balanced(size: int) -> list[str]:
    """The paper's complementary orders: n forward rotations, then n rotations of the reverse.

    Over them every option stands equally often in every place: twice in each of the 2n orders. Two options
    have only two orders, three have all six; a single option has one.

    Parameters
    ----------
    size : int
        Number of options n, 1 to 9.

    Returns
    -------
    list of str
        2n distinct orders (2 for n = 2, 1 for n = 1).

    Notes
    -----
    The orders balance places, not neighbours: see `neighbour_imbalance`.

    Examples
    --------
    >>> balanced(3)
    ['123', '231', '312', '321', '213', '132']
    """
    forward = canonical(size)
    rotations = [shown[start:] + shown[:start] for shown in (forward, forward[::-1]) for start in range(size)]
    return list(dict.fromkeys(rotations))


def drawn(size: int, k: int, *names: str | int) -> list[str]:
    """Distinct orders, drawn uniformly from all n!, decided by ``names``.

    Parameters
    ----------
    size : int
        Number of options n, 1 to 9.
    k : int
        How many; all n! (in a drawn sequence) where k is no less.
    *names
        What decides the draw: the seed, the item's id.

    Returns
    -------
    list of str
        min(k, n!) orders. The first k of them are the same whatever more is asked for.
    """
    options = canonical(size)
    ranks = _without_replacement(math.factorial(size), k, *names, "random", size)
    return [_permutation(options, rank) for rank in ranks]


def sequence(size: int, strategy: Strategy, k: int, *names: str | int) -> list[str]:
    """A strategy's first k orders for one item.

    Parameters
    ----------
    size : int
        Number of options n, 1 to 9.
    strategy : {"balanced", "random", "fixed"}
        The balanced orders in a drawn sequence, so that the first k are a random subset of size k; orders
        drawn from all n!; the canonical order k times.
    k : int
        How many are asked for. Balanced and random orders are distinct, so there may be fewer.
    *names
        What decides the draws: the seed, the item's id.
    """
    if strategy == "balanced":
        orders = balanced(size)
        places = _without_replacement(len(orders), k, *names, "balanced", size)
        return [orders[place] for place in places]
    if strategy == "random":
        return drawn(size, k, *names)
    return [canonical(size)] * k


def neighbour_counts(orders: Sequence[str]) -> npt.NDArray[np.int64]:
    """How often each option is shown directly after each other one.

    Parameters
    ----------
    orders : sequence of str
        One order or more, all of the same n options.

    Returns
    -------
    ndarray of shape (n, n)
        Row a - 1, column b - 1: how often option b follows option a. The diagonal is 0.

    Raises
    ------
    ValueError
        If there is no order, or they differ in length.

    Examples
    --------
    >>> neighbour_counts(["123", "231"]).tolist()  # 1-2, 2-3; 2-3, 3-1
    [[0, 1, 0], [0, 0, 2], [1, 0, 0]]
    """
    sizes = {len(order) for order in orders}
    if len(sizes) != 1:
        raise ValueError(f"orders should be one or more of one length, not of lengths {sorted(sizes)}")
    shown = np.array([[int(digit) - 1 for digit in order] for order in orders])
    counts = np.zeros((shown.shape[1],) * 2, dtype=np.int64)
    np.add.at(counts, (shown[:, :-1], shown[:, 1:]), 1)
    return counts


def neighbour_imbalance(orders: Sequence[str]) -> float:
    """How far the options' neighbours are from balance.

    Parameters
    ----------
    orders : sequence of str
        One order or more, all of the same n options.

    Returns
    -------
    float
        Total variation distance between the shares of the n(n - 1) ordered pairs among all neighbours and
        equal shares, in [0, 1): the share of neighbours that would have to change. 0: every option follows
        every other equally often. The balanced orders have (n - 3) / (n - 1) for n >= 3, 0.5 for n = 5. nan
        for a single option, which has no neighbour.

    Examples
    --------
    >>> neighbour_imbalance(["123"])  # two of six pairs, once each: (2 |1/2 - 1/6| + 4 |0 - 1/6|) / 2
    0.6666666666666667
    """
    counts = neighbour_counts(orders)
    n = len(counts)
    if n < 2:
        return math.nan
    shares = counts[~np.eye(n, dtype=bool)] / counts.sum()
    return float(np.abs(shares - 1 / (n * (n - 1))).sum() / 2)


def _without_replacement(total: int, k: int, *names: str | int) -> Iterator[int]:
    """The first k of a drawn sequence of 0..total - 1, by a Fisher-Yates shuffle that keeps what moved."""
    moved: dict[int, int] = {}
    for step in range(min(k, total)):
        place = step + number(*names, step) % (total - step)
        yield moved.get(place, place)
        moved[place] = moved.pop(step, step)


def _permutation(options: str, rank: int) -> str:
    """The permutation of this rank among all, sorted: its digits in the factorial number system."""
    left = list(options)
    shown = []
    for after in range(len(left) - 1, -1, -1):
        place, rank = divmod(rank, math.factorial(after))
        shown.append(left.pop(place))
    return "".join(shown)
