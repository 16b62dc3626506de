"""From a judge's block in params to a client that can be asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from shared.judge.client import Client
from shared.judge.records import Engine
from shared.judge.slug import known_judge
from shared.judge.store import Store
from shared.params import Common, Judge


@asynccontextmanager
async def open_client(common: Common, slug: str) -> AsyncIterator[Client]:
    """A client of the judge ``slug``; its engine and the store are closed at the end.

    Raises
    ------
    UserError
        If there is no judge of that name.
    EngineError
        If the engine cannot be opened.
    StoreError
        If the store's file cannot be used.
    """
    judge = common.judges[known_judge(slug, common.judges)]
    store = Store(Path(common.store))
    try:
        engine = open_engine(judge)
        try:
            yield Client(
                engine,
                store,
                concurrency=judge.concurrency,
                retries=judge.retries,
                token_budget=judge.token_budget,
            )
        finally:
            await engine.aclose()
    finally:
        store.close()


def takes_effort(judge: Judge) -> bool:
    """Whether the judge's engine has a switch for the reasoning effort (``Request.effort``).

    An endpoint has the word for it; whether the model behind it listens is the server's to say.
    """
    return judge.engine == "endpoint"


def open_engine(judge: Judge) -> Engine:
    """The engine that a judge's block names, ready to answer.

    Engines are imported here, so that no stage pays for one that it does not use.
    """
    if judge.engine == "llamacpp":
        from shared.judge.engines.llamacpp import LlamaCppEngine

        return LlamaCppEngine(
            model=Path(judge.model),
            context=judge.context,
            threads=judge.threads,
            prefix_cache=judge.prefix_cache,
        )
    from shared.judge.engines.endpoint import EndpointEngine

    return EndpointEngine(
        base_url=judge.base_url,
        model=judge.model,
        api_key_env=judge.api_key_env,
        structured=judge.structured,
        timeout_s=judge.timeout_s,
        extra_headers=judge.extra_headers,
        context=judge.context,
        allow_other_model=judge.allow_other_model,
    )
