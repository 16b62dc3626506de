"""What the client adds to a call: its wall time over a bare loop's, on the real engine."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks import study
from benchmarks.engines import Recording, embedded_judge
from benchmarks.result import Measured
from shared.judge.client import Client
from shared.judge.records import Engine, Request
from shared.judge.store import Store

PAIRS = 5
REQUESTS = 10
MAX_TOKENS = 24


def overhead_ratio(pairs: int = PAIRS, n: int = REQUESTS, max_tokens: int = MAX_TOKENS) -> Measured:
    """Median over alternating pairs of (client's seconds) / (bare loop's seconds).

    Both send the same requests to a freshly started engine, in the same order. In every other pair the
    loop goes first, so that a machine that grows slower favours neither.
    """
    requests = study.capped(study.first_requests(1)[:n], max_tokens)
    ratios = []
    for pair in range(pairs):
        first, second = ("client", "loop") if pair % 2 == 0 else ("loop", "client")
        seconds = {way: asyncio.run(_seconds(way, requests)) for way in (first, second)}
        ratios.append(seconds["client"] / seconds["loop"])
    shown = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    note = f"median of {pairs} alternating pairs ({shown}), {len(requests)} requests a side"
    return Measured(statistics.median(ratios), len(requests), note)


async def _seconds(way: str, requests: list[Request]) -> float:
    """Wall time of all requests, the engine's start not counted."""
    async with embedded_judge() as judge:
        engine = Recording(judge)
        send = _through_client if way == "client" else _loop
        started = time.perf_counter()
        await send(engine, requests)
        seconds = time.perf_counter() - started
    assert engine.requests == requests, f"the {way} sent other requests, or in another order"
    return seconds


async def _loop(engine: Engine, requests: list[Request]) -> None:
    for request in requests:
        await engine.complete(request)


async def _through_client(engine: Engine, requests: list[Request]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder, "store.sqlite"))
        client = Client(engine, store)
        async for _ in client.run(requests, client.ask):
            pass
        store.close()
