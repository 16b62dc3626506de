"""The judge stage of every study: trials in, one row a call out, in one Parquet file."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from shared.errors import UserError
from shared.judge.client import Client
from shared.judge.opening import open_client
from shared.judge.records import EngineError, Request, Response
from shared.params import Common


class HasTrialId(Protocol):
    @property
    def trial(self) -> str: ...


T = TypeVar("T", bound=HasTrialId)
Ask = Callable[..., Awaitable[Response]]

ROWS_A_GROUP = 2000
SHOWN_FAILURES = 10

SCHEMA = pa.schema(
    [
        ("trial", pa.string()),
        ("step", pa.string()),
        ("key", pa.string()),
        ("fingerprint", pa.string()),
        ("text", pa.string()),
        ("finish_reason", pa.string()),
        ("prompt_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("seconds", pa.float64()),
        ("model", pa.string()),
        ("lock", pa.string()),
        ("logprobs", pa.string()),
        ("error", pa.string()),
    ]
)
"""Answers exactly as they came. A trial that failed has a last row with ``error`` and no text.

``logprobs`` is JSON: what ``Completion.logprobs`` holds for the first generated token; null without any.
"""


def ask_judge(
    common: Common,
    slug: str,
    trials: Iterable[T],
    protocol: Callable[[T, Ask], Awaitable[None]],
    out: Path,
    total: int | None = None,
) -> None:
    """Put all trials to one judge and write the responses; print what was paid and what was replayed.

    Interrupted at any moment, a second run pays only for what was not yet answered.

    Raises
    ------
    UserError
        If the judge is unknown, or no trial at all got an answer.
    """
    asyncio.run(_ask_judge(common, slug, trials, protocol, out, total))


async def _ask_judge(
    common: Common,
    slug: str,
    trials: Iterable[T],
    protocol: Callable[[T, Ask], Awaitable[None]],
    out: Path,
    total: int | None,
) -> None:
    failures: list[str] = []
    answered = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    async with open_client(common, slug) as client:
        recorders = (Recorder(client, trial) for trial in trials)
        try:
            with _writer(out) as write, tqdm(total=total, desc=slug, unit="trial", mininterval=1) as bar:
                async for recorder, result in client.run(recorders, lambda r: protocol(r.trial, r.ask)):
                    if isinstance(result, EngineError):
                        recorder.failed(result)
                        failures.append(f"{recorder.trial.trial}: {result}")
                    answered += any(row["error"] is None for row in recorder.rows)
                    write(recorder.rows)
                    bar.update()
        finally:
            print(f"{slug}: {client.summary}")
    for failure in failures[:SHOWN_FAILURES]:
        print(f"{slug}: failed: {failure}")
    if failures and not answered:
        raise UserError(f"{slug}: no trial was answered; the last error: {failures[-1]}")
    if failures:
        print(
            f"{slug}: {len(failures)} trials failed; to ask only those again, force the stage that asks "
            f"{slug}: `dvc repro --force <this stage>`"
        )


class Recorder(Generic[T]):
    """One trial's calls, as the rows that are written."""

    def __init__(self, client: Client, trial: T) -> None:
        self.client = client
        self.trial = trial
        self.rows: list[dict[str, Any]] = []

    async def ask(self, step: str, request: Request, lock: str | None = None) -> Response:
        """Ask, and record the answer under the name of its step."""
        response = await self.client.ask(request)
        done = response.completion
        self._record(
            step=step,
            key=response.key,
            text=done.text,
            finish_reason=done.finish_reason,
            prompt_tokens=done.prompt_tokens,
            cached_tokens=done.cached_tokens,
            completion_tokens=done.completion_tokens,
            seconds=done.seconds,
            model=done.model,
            lock=lock,
            logprobs=json.dumps(done.logprobs[0]) if done.logprobs else None,
        )
        return response

    def failed(self, error: EngineError) -> None:
        """Record that the trial ended here, and why."""
        self._record(step="failed", error=str(error))

    def _record(self, **values: Any) -> None:
        known = {"trial": self.trial.trial, "fingerprint": self.client.fingerprint}
        self.rows.append(dict.fromkeys(SCHEMA.names) | known | values)


@contextmanager
def _writer(out: Path) -> Iterator[Callable[[list[dict[str, Any]]], None]]:
    """Append rows to a Parquet file group by group, so that memory stays flat; all or nothing on disk."""
    waiting: list[dict[str, Any]] = []
    # A folder of its own, removed whatever happens: two stages at once never write to one file.
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        part = Path(folder, out.name)
        with pq.ParquetWriter(part, SCHEMA) as file:

            def flush() -> None:
                file.write_table(pa.Table.from_pylist(waiting, SCHEMA))
                waiting.clear()

            def write(rows: list[dict[str, Any]]) -> None:
                waiting.extend(rows)
                if len(waiting) >= ROWS_A_GROUP:
                    flush()

            yield write
            flush()
        part.replace(out)
