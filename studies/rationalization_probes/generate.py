"""The ``generate`` stage: a model writes the summaries, paraphrases and samples that documents lack."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from shared.draws import number
from shared.errors import UserError, run_stage
from shared.judge.client import Client
from shared.judge.hygiene import neutralise, replace_surrogates
from shared.judge.opening import open_client
from shared.judge.parsing import status_before_reading
from shared.judge.prompts import render
from shared.judge.records import EngineError, Request, Response, Status
from shared.params import Common
from shared.params import load as load_params
from studies.rationalization_probes.documents import Document, load
from studies.rationalization_probes.params import Section

GENERATED = Path("data/rationalization_probes/generated.jsonl")
PROMPTS = Path(__file__).parent / "prompts"

SHOWN = 3
"""At most so many documents that were not written are named in the error that ends the stage."""

TEMPERATURE = 0.8
"""Of paraphrases and samples, which must differ from one another; the summary is written at 0."""

Ask = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Order:
    """One text to be written: its name in `Document`, and which of several it is."""

    text_name: str
    replicate: int
    temperature: float


@dataclass(frozen=True, slots=True)
class Text:
    """A line of ``generated.jsonl``: what a generator answered, and all that says how.

    ``status`` is ``ok`` only for a whole, non-empty answer; the ``data`` stage uses no other.
    ``digest`` is the document's (`Document.digest`); ``key`` finds the answer in the store.
    """

    document: str
    digest: str
    text_name: str
    replicate: int
    status: Status
    text: str
    finish_reason: str
    generator: str
    model: str
    fingerprint: str
    temperature: float
    prompt_hash: str
    key: str


@dataclass(frozen=True, slots=True)
class Written:
    """A document's texts, in order; ``failure`` is what ended the writing, and the texts came before it."""

    document: str
    texts: Sequence[Text]
    failure: EngineError | None


@dataclass(frozen=True, slots=True)
class Generator:
    """Who writes, how much, and from which seed."""

    slug: str
    samples: int
    max_tokens: int
    seed: int


def lacking(document: Document, samples: int) -> list[Order]:
    """What must be written for a document: nothing that it has is written again.

    Samples count as there if there are any: they must all come from one generator.
    """
    orders = [] if document.summary else [Order("summary", 0, 0.0)]
    for replicate, name in enumerate(("paraphrase_1", "paraphrase_2")):
        if not getattr(document, name):
            orders.append(Order(name, replicate, TEMPERATURE))
    if not document.samples:
        orders += [Order("samples", replicate, TEMPERATURE) for replicate in range(samples)]
    return orders


async def write_lacking(document: Document, generator: Generator, ask: Ask) -> AsyncIterator[Text]:
    """Write a document's lacking texts: paraphrases from the summary, all else from the document.

    Parameters
    ----------
    document : Document
    generator : Generator
    ask : Ask
        The client's `ask`.

    Yields
    ------
    Text
        Whatever came, whole or not. Without a usable summary no paraphrase is asked for.
    """
    summary = document.summary
    for order in lacking(document, generator.samples):
        source = summary if order.text_name.startswith("paraphrase") else document.text
        if source is None:
            continue
        request = _request(document, order, source, generator)
        text = _text(document, order, request, await ask(request), generator)
        if order.text_name == "summary" and text.status == "ok":
            summary = text.text
        yield text


async def generate(
    client: Client, documents: Sequence[Document], generator: Generator
) -> AsyncIterator[Written]:
    """All lacking texts, document by document, in the documents' order.

    A document whose request failed for good (too long a prompt, too many tries) keeps the texts that
    were answered before.
    """
    came: dict[str, list[Text]] = defaultdict(list)

    async def protocol(document: Document) -> None:
        async for text in write_lacking(document, generator, client.ask):
            came[document.id].append(text)

    async for document, failure in client.run(_incomplete(documents, generator.samples), protocol):
        yield Written(document.id, came.pop(document.id, []), failure)


def _incomplete(documents: Iterable[Document], samples: int) -> Iterator[Document]:
    return (document for document in documents if lacking(document, samples))


def _request(document: Document, order: Order, source: str, generator: Generator) -> Request:
    template = "generate_paraphrase" if order.text_name.startswith("paraphrase") else "generate_summary"
    return Request(
        messages=(render(PROMPTS, template, text=neutralise(source)[0]),),
        max_tokens=generator.max_tokens,
        temperature=order.temperature,
        seed=number(generator.seed, document.id, "generate") % 2**31,  # servers take 31 bits
        replicate=order.replicate,
        item=f"{document.id}:{order.text_name}",
    )


def _text(
    document: Document, order: Order, request: Request, response: Response, generator: Generator
) -> Text:
    done = response.completion
    return Text(
        document=document.id,
        digest=document.digest(),
        text_name=order.text_name,
        replicate=order.replicate,
        status=status_before_reading(done.text, done.finish_reason),
        text=replace_surrogates(done.text).strip(),
        finish_reason=done.finish_reason,
        generator=generator.slug,
        model=done.model,
        fingerprint=response.fingerprint,
        temperature=order.temperature,
        prompt_hash=hashlib.sha256(request.messages[0].content.encode()).hexdigest(),
        key=response.key,
    )


async def write(client: Client, documents: Sequence[Document], generator: Generator, file: Path) -> str:
    """Write the file in one step, with all texts that came, and tell how many there are by status.

    Raises
    ------
    UserError
        Where an engine's error left a document unfinished; the file holds what came.
    """
    counts: dict[Status, int] = {}
    failures: dict[str, EngineError] = {}
    # A folder of its own, gone at the end: two runs at once never write into one file.
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".generate-") as scratch:
        part = Path(scratch, file.name)
        with part.open("w", encoding="utf-8") as lines:
            async for written in generate(client, documents, generator):
                if written.failure is not None:
                    failures[written.document] = written.failure
                for text in written.texts:
                    lines.write(json.dumps(asdict(text), ensure_ascii=False) + "\n")
                    counts[text.status] = counts.get(text.status, 0) + 1
        part.replace(file)
    _raise_for(failures)
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "none lacked"


def _raise_for(failures: Mapping[str, EngineError]) -> None:
    if not failures:
        return
    shown = "; ".join(f"{name}: {error}" for name, error in list(failures.items())[:SHOWN])
    more = f"; and {len(failures) - SHOWN} more" if len(failures) > SHOWN else ""
    raise UserError(
        f"{len(failures)} document{'s' * (len(failures) > 1)} not written whole: {shown}{more}; "
        "run the generate stage again: what was answered is kept and costs nothing"
    )


async def _run(common: Common, documents: Sequence[Document], generator: Generator) -> str:
    async with open_client(common, generator.slug) as client:
        try:
            return await write(client, documents, generator, GENERATED)
        finally:
            print(f"{generator.slug}: {client.summary}")


def main() -> None:
    common, section = load_params("rationalization_probes", Section)
    settings = section.documents.generate
    GENERATED.parent.mkdir(parents=True, exist_ok=True)
    if settings.judge is None:
        GENERATED.write_text("", encoding="utf-8")
        print("no generator (documents.generate.judge is null): nothing was written")
        return
    if settings.judge in section.judges:
        print(f"note: {settings.judge} writes texts and judges them too; name another generator if you can")
    generator = Generator(settings.judge, settings.samples, settings.max_tokens, common.seed)
    documents = load(section.documents, Path(common.data.external_dir))
    print(f"texts written: {asyncio.run(_run(common, documents, generator))}")


if __name__ == "__main__":
    run_stage(main)
