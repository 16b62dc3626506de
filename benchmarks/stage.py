"""The judge stage as a study runs it, with another engine in place of the one that params name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from shared.judge import stage
from shared.judge.client import Client
from shared.judge.records import Engine, Message, Request
from shared.judge.stage import Ask
from shared.judge.store import Store
from shared.params import Common, load
from studies.rationalization_probes.params import Section

CONCURRENCY = 4
STORE = "store.sqlite"
RESPONSES = "responses.parquet"


class Question(NamedTuple):
    """A trial: a text to ask about."""

    trial: str
    text: str


async def two_turns(question: Question, ask: Ask) -> None:
    """Two calls, the second built from the first's answer."""
    first = await ask("first", _request(f"{question.trial}\n{question.text}"))
    await ask("second", _request(f"{question.trial}\n{first.text}"), lock=first.key)


def _request(text: str) -> Request:
    return Request((Message("user", text, (len(text),)),), max_tokens=16)


def judge(engine: Callable[[], Engine], questions: Iterable[Question], folder: Path) -> None:
    """Put the questions to an engine; the store and the table of responses lie in ``folder``."""

    @asynccontextmanager
    async def opened(common: Common, slug: str) -> AsyncIterator[Client]:
        store, chosen = Store(folder / STORE), engine()
        try:
            yield Client(chosen, store, concurrency=CONCURRENCY)
        finally:
            await chosen.aclose()
            store.close()

    common, _ = load("rationalization_probes", Section)
    with patch.object(stage, "open_client", opened):
        stage.ask_judge(common, "benchmark", questions, two_turns, folder / RESPONSES)
