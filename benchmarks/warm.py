"""A second run over a full store: it pays nothing, and is about as fast as looking up can be."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path

from benchmarks import study
from benchmarks.engines import Recording, ScriptedEngine
from benchmarks.result import Measured
from shared.judge.client import Client
from shared.judge.records import Request, fingerprint_id, key_bytes
from shared.judge.store import FORMAT, Store

N = 2000
ROUNDS = 15
DOCUMENTS = 2


def calls(n: int = N) -> Measured:
    """Calls that a second run over a full store makes."""
    requests = _requests(n)
    with _full_store(requests) as path:
        engine, _ = asyncio.run(_run(path, requests))
    return Measured(len(engine.requests), n, f"second run of {n} requests, scripted engine")


def lookups_ratio(n: int = N, rounds: int = ROUNDS) -> Measured:
    """The client's lookups per second in a second run, over a bare loop's.

    The bare loop hashes the same keys' bytes, which lie ready, SELECTs the row and reads its JSON. Each
    side counts with the fastest of its alternating rounds: what else the machine does only adds to them.
    """
    requests = _requests(n)
    payloads = [key_bytes(fingerprint_id(ScriptedEngine().fingerprint), request) for request in requests]
    with _full_store(requests) as path:
        seconds = [(asyncio.run(_run(path, requests))[1], _bare(path, payloads)) for _ in range(rounds)]
    client, bare = (n / min(side) for side in zip(*seconds, strict=True))
    size = statistics.mean(map(len, payloads))
    note = (
        f"client {client:.0f}/s, bare {bare:.0f}/s, the fastest of {rounds} alternating rounds each; "
        f"{n} requests of {size:.0f} bytes on average"
    )
    return Measured(client / bare, n, note)


def _requests(n: int) -> list[Request]:
    """``n`` different requests of real size: the study's first turns, as replicates."""
    real = study.first_requests(DOCUMENTS)
    return [replace(r, replicate=i // len(real)) for i, r in enumerate(islice(cycle(real), n))]


@contextmanager
def _full_store(requests: list[Request]) -> Iterator[Path]:
    """A store that holds an answer to each request."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "store.sqlite")
        asyncio.run(_run(path, requests))
        yield path


async def _run(path: Path, requests: list[Request]) -> tuple[Recording, float]:
    """Ask for all requests; give the engine and the seconds, the store's opening not counted."""
    store = Store(path)
    engine = Recording(ScriptedEngine())
    client = Client(engine, store)
    started = time.perf_counter()
    async for _ in client.run(requests, client.ask):
        pass
    seconds = time.perf_counter() - started
    store.close()
    return engine, seconds


def _bare(path: Path, payloads: list[bytes]) -> float:
    """Seconds for a hash, a SELECT and a JSON load each."""
    db = sqlite3.connect(path)
    query = f"SELECT completion FROM responses_v{FORMAT} WHERE key=?"
    started = time.perf_counter()
    for payload in payloads:
        key = hashlib.sha256(payload).hexdigest()
        json.loads(db.execute(query, (key,)).fetchone()[0])
    seconds = time.perf_counter() - started
    db.close()
    return seconds
