"""Whether an answer depends on its neighbours: the same requests in two random orders."""

from __future__ import annotations

import asyncio

import numpy as np
import numpy.typing as npt

from benchmarks import study
from benchmarks.engines import embedded_judge
from benchmarks.result import Measured
from shared.judge.records import Request

DOCUMENTS = 3
REQUESTS = 100
MAX_TOKENS = 32
SEED = 1


def order_invariance(documents: int = DOCUMENTS, n: int = REQUESTS, max_tokens: int = MAX_TOKENS) -> Measured:
    """Share of texts that are equal between two random orders, each on a freshly started engine.

    1 means that an answer depends on its request alone.
    """
    rng = np.random.default_rng(SEED)
    everything = study.first_requests(documents)
    picked = [everything[i] for i in rng.permutation(len(everything))[:n]]
    requests = study.capped(picked, max_tokens)
    one, other = (asyncio.run(_texts(requests, rng.permutation(len(requests)))) for _ in range(2))
    equal = sum(one[i] == other[i] for i in range(len(requests)))
    note = f"{equal} of {len(requests)} texts equal, answers capped at {max_tokens} tokens, exact mode"
    flaw = "" if len(requests) == n else f"the study makes {len(requests)} requests, not {n}"
    return Measured(equal / len(requests), len(requests), note, flaw)


async def _texts(requests: list[Request], order: npt.NDArray[np.int64]) -> dict[int, str]:
    """Each request's answer, by its place in ``requests``, asked in the given order."""
    async with embedded_judge() as engine:
        return {int(i): (await engine.complete(requests[i])).text for i in order}
