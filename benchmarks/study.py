"""Real requests: those that the study ``rationalization_probes`` makes of the embedded documents.

They are the same under every profile: documents, trial sets and answer caps are not those of params.yaml
but the embedded ones, the paper's schemes under its probes, and the default profile's caps.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from benchmarks.engines import Recording, embedded_judge
from shared.judge.client import Client
from shared.judge.records import EngineError, Request, Response
from shared.judge.stage import Recorder
from shared.judge.store import Store
from shared.params import load, read
from shared.profiles import DEFAULT, PROFILES
from studies.rationalization_probes.data import items_of, table
from studies.rationalization_probes.design import design
from studies.rationalization_probes.documents import arrange, load_embedded
from studies.rationalization_probes.judge import with_texts
from studies.rationalization_probes.params import Answer, Probe, Scheme, Section, TrialSet
from studies.rationalization_probes.protocols import Protocols, Trial

STUDY = "rationalization_probes"
KINDS = ("equal", "identical")
SCHEMES: tuple[Scheme, ...] = ("baseline", "forced", "scot", "pbp_once", "pbp_repeated")
PROBES: tuple[Probe, ...] = ("blind", "empty", "truth", "flip", "placebo")
NO_ATTACKS = pd.DataFrame(columns=["item", "probe", "carrier", "text", "status"])


class Asked(NamedTuple):
    """What one run of the study asked of the engine, in order, and what that cost it."""

    requests: list[Request]
    tokens: list[list[int]]
    computed_tokens: int


@cache
def settings() -> tuple[Section, int]:
    """The study's section with the workload's own trial sets and answer caps, and the seed."""
    common, section = load(STUDY, Section)
    every = TrialSet(items=None, schemes=list(SCHEMES), probes=list(PROBES), reveal=True)
    caps = read(PROFILES / f"{DEFAULT}.yaml")[STUDY]["answer"]
    own = {"sets": dict.fromkeys(KINDS, every), "answer": Answer.model_validate(caps)}
    return section.model_copy(update=own), common.seed


def items(documents: int) -> pd.DataFrame:
    """The equal and the identical pair of the first ``documents`` embedded documents."""
    section, seed = settings()
    first = arrange(load_embedded(), seed)[:documents]
    frame = table(item for d in first for item in items_of(d, section.extractive_sentences, seed))
    return frame[frame["kind"].isin(KINDS)]


def trials_table(pairs: pd.DataFrame) -> pd.DataFrame:
    """Every scheme under every probe, on those items, in design order."""
    section, seed = settings()
    return design(pairs, NO_ATTACKS, section, seed)


def trials(documents: int) -> list[Trial]:
    """The rows of `trials_table` on `items`, with their texts."""
    pairs = items(documents)
    return list(with_texts(trials_table(pairs), pairs, NO_ATTACKS))


class _FirstTurn(Exception):
    """Ends a protocol at its first request."""


def first_requests(documents: int) -> list[Request]:
    """The first turn of each of `trials`, without repetitions; no model is asked."""
    protocols = Protocols(settings()[0], structured=True)
    found: list[Request] = []

    async def ask(step: str, request: Request, lock: str | None = None) -> Response:
        if request not in found:
            found.append(request)
        raise _FirstTurn

    async def collect() -> None:
        for trial in trials(documents):
            try:
                await protocols.run(trial, ask)
            except _FirstTurn:
                continue

    asyncio.run(collect())
    return found


def capped(requests: list[Request], max_tokens: int) -> list[Request]:
    """The requests with shorter answers, where only the prompts' length matters."""
    return [replace(request, max_tokens=max_tokens) for request in requests]


@cache
def asked(documents: int) -> Asked:
    """Put the study to the embedded judge from cold, every turn of `trials`, and write down what it cost.

    Raises
    ------
    EngineError
        If a trial fails.
    """
    return asyncio.run(_asked(documents))


async def _asked(documents: int) -> Asked:
    protocols = Protocols(settings()[0], structured=True)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder, "store.sqlite"))
        async with embedded_judge() as engine:
            recording = Recording(engine)
            client = Client(recording, store)
            async for _, result in client.run(
                trials(documents), lambda trial: protocols.run(trial, Recorder(client, trial).ask)
            ):
                if isinstance(result, EngineError):
                    raise result
            tokens = [(await engine.tokens(request.messages))[0] for request in recording.requests]
            computed = engine.computed_tokens
        store.close()
    return Asked(recording.requests, tokens, computed)
