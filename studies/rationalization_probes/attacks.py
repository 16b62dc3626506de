"""The ``attacks`` stage: rewrites one candidate of a pair, longer or in a firmer tone (paper, 4.5).

The attacked candidate is drawn per item, and its text is the only thing that differs from Blind. A rewritten
text that lost or gained a number or a name is kept in the table and not put on trial.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from shared.draws import draw, number
from shared.errors import UserError, run_stage
from shared.frames import cells, read, rows_of
from shared.judge.client import Client
from shared.judge.hygiene import neutralise
from shared.judge.opening import open_client
from shared.judge.parsing import status_before_reading
from shared.judge.prompts import render
from shared.judge.records import EngineError, Request, Response
from shared.params import Common, load
from studies.rationalization_probes.documents import visible
from studies.rationalization_probes.params import ATTACKS, Attack, Section, TrialSet
from studies.rationalization_probes.rewriting import (
    NoWords,
    Survival,
    assertive,
    count_words,
    survives,
    verbose,
)
from studies.rationalization_probes.selection import select

ITEMS = Path("data/rationalization_probes/items.parquet")
REWRITTEN = Path("data/rationalization_probes/attacks.parquet")
PROMPTS = Path(__file__).parent / "prompts"

RULES = "rules"
"""The writer where no judge is asked."""

FACTS_LOST = "facts lost"
"""Status of a text whose numbers or names are not those of the text that it was made from."""

NO_ATTACK = "no attack"
"""Status of a text that is what it was, or that was to be longer and is not."""

SHOWN = 3
"""At most so many failures are printed."""

REWRITERS: Mapping[Attack, Callable[..., str]] = {"verbosity": verbose, "confidence": assertive}

TYPES = {
    "item": "str",
    "cluster": "str",
    "kind": "str",
    "probe": "str",
    "carrier": "int64",
    "text": "str",
    "writer": "str",
    "status": "str",
    "numbers_survive": "boolean",
    "names_survive": "boolean",
    "words_before": "int64",
    "words_after": "Int64",
    "fingerprint": "str",
    "key": "str",
}
"""The table's columns; those of a text that did not come whole may be missing."""


class Order(NamedTuple):
    """A text to be rewritten: the candidate ``carrier`` of an item, as it is."""

    item: str
    cluster: str
    kind: str
    probe: Attack
    carrier: int
    text: str


class Writer(NamedTuple):
    """The judge that writes, how much, and from which seed."""

    slug: str
    max_tokens: int
    seed: int


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A row of ``attacks.parquet``.

    ``status`` is ``ok`` where the text goes on trial; else `FACTS_LOST`, `NO_ATTACK`, or why no whole answer
    came (``truncated``, ``refused``, ``unparsed``, ``failed``). Of such an answer nothing is compared: what
    survives and ``words_after`` are None. ``key`` and ``fingerprint`` find the answer in the store; they are
    empty for rules.
    """

    item: str
    cluster: str
    kind: str
    probe: Attack
    carrier: int
    text: str
    writer: str
    status: str
    numbers_survive: bool | None
    names_survive: bool | None
    words_before: int
    words_after: int | None
    fingerprint: str
    key: str


# --- What is to be rewritten ------------------------------------------------------------------------


def orders(items: pd.DataFrame, sets: Mapping[str, TrialSet], seed: int) -> list[Order]:
    """The texts that the sets' attacks need, each once, in the order of the sets and their items.

    Parameters
    ----------
    items : DataFrame
        One row an item, in document order.
    sets : mapping of str to TrialSet
        A set asks for an attack by naming it among its probes.
    seed : int
        Decides, with the item and the attack, which candidate is attacked.
    """
    wanted = [
        _order(item, probe, seed)
        for name, chosen in sets.items()
        for item in rows_of(select(items, name, chosen))
        for probe in ATTACKS
        if probe in chosen.probes
    ]
    return list(dict.fromkeys(wanted))


def _order(item: Mapping[str, Any], probe: Attack, seed: int) -> Order:
    carrier = draw([1, 2], seed, item["item"], f"{probe} carrier")
    return Order(item["item"], item["cluster"], item["kind"], probe, carrier, item[f"candidate_{carrier}"])


# --- Who rewrites -----------------------------------------------------------------------------------


def by_rules(order: Order, seed: int) -> Rewritten:
    """The text as `rewriting` makes it; ``failed`` where there is no word to work with."""
    try:
        text = REWRITERS[order.probe](order.text, seed, order.item, order.probe)
    except NoWords:
        return _unwritten(order, RULES, "failed", "", "", "")
    return _compared(order, text, RULES)


async def by_writer(
    client: Client, wanted: Iterable[Order], writer: Writer
) -> AsyncIterator[tuple[Rewritten, EngineError | None]]:
    """The texts as a judge writes them, in the given order, and what kept one from being written.

    Interrupted, a second run pays for nothing that was answered: the client's store keeps it.
    """

    async def protocol(order: Order) -> Response:
        return await client.ask(_request(order, writer))

    async for order, answer in client.run(wanted, protocol):
        if isinstance(answer, EngineError):
            yield _unwritten(order, f"llm:{writer.slug}", "failed", "", client.fingerprint, ""), answer
        else:
            yield _read(order, answer, writer), None


def _request(order: Order, writer: Writer) -> Request:
    return Request(
        messages=(render(PROMPTS, f"attack_{order.probe}", text=neutralise(order.text)[0]),),
        max_tokens=writer.max_tokens,
        seed=number(writer.seed, order.item, order.probe) % 2**31,  # servers take 31 bits
        item=f"{order.item}:{order.probe}",
    )


def _read(order: Order, answer: Response, writer: Writer) -> Rewritten:
    done, name = answer.completion, f"llm:{writer.slug}"
    status = status_before_reading(done.text, done.finish_reason)
    if status != "ok":
        return _unwritten(order, name, status, done.text, answer.fingerprint, answer.key)
    return _compared(order, done.text.strip(), name, answer.fingerprint, answer.key)


def _unwritten(order: Order, writer: str, status: str, text: str, fingerprint: str, key: str) -> Rewritten:
    """A row without a whole text; what came of it is kept."""
    return Rewritten(
        **order._asdict() | {"text": neutralise(text)[0]},
        writer=writer,
        status=status,
        numbers_survive=None,
        names_survive=None,
        words_before=count_words(order.text),
        words_after=None,
        fingerprint=fingerprint,
        key=key,
    )


def _compared(order: Order, text: str, writer: str, fingerprint: str = "", key: str = "") -> Rewritten:
    """A row with a whole text, compared as a judge will be shown it."""
    shown, _ = neutralise(text)
    found = survives(order.text, shown)
    return Rewritten(
        **order._asdict() | {"text": shown},
        writer=writer,
        status=_status(order, shown, found),
        numbers_survive=found.numbers,
        names_survive=found.names,
        words_before=count_words(order.text),
        words_after=count_words(shown),
        fingerprint=fingerprint,
        key=key,
    )


def _status(order: Order, text: str, found: Survival) -> str:
    if not found.facts:
        return FACTS_LOST
    same = visible(text) == visible(order.text)
    not_longer = order.probe == "verbosity" and found.added_words <= 0
    return NO_ATTACK if same or not_longer else "ok"


# --- The table and what is told of it ---------------------------------------------------------------


def table(rewritten: Iterable[Rewritten]) -> pd.DataFrame:
    """One row an item and attack, in the given order; no rows give an empty table of the same types."""
    return pd.DataFrame([asdict(text) for text in rewritten], columns=list(TYPES)).astype(TYPES)


def report(attacks: pd.DataFrame) -> str:
    """One line an attack: how many texts, how many kept their facts, how much longer they are."""
    lines = [_line(names["probe"], cell) for names, cell in cells(attacks, ("probe",))]
    return "\n".join(lines) or "no set asks for an attack: nothing was rewritten"


def _line(probe: str, cell: pd.DataFrame) -> str:
    whole = cell[cell["words_after"].notna()]
    kept = int((whole["numbers_survive"] & whole["names_survive"]).sum())
    longer = (whole["words_after"].astype(float) / whole["words_before"]).median()
    words = f"median length {longer:.2f} of the original" if len(whole) else "none whole"
    statuses = ", ".join(f"{n} {status}" for status, n in cell["status"].value_counts(sort=False).items())
    return f"{probe}: {len(cell)} texts ({statuses}); {kept} keep all numbers and names; {words}"


# --- The stage --------------------------------------------------------------------------------------


async def _written(common: Common, wanted: Sequence[Order], writer: Writer) -> list[Rewritten]:
    texts: list[Rewritten] = []
    failures: list[str] = []
    async with open_client(common, writer.slug) as client:
        try:
            async for text, failure in by_writer(client, wanted, writer):
                texts.append(text)
                if failure is not None:
                    failures.append(f"{text.item}:{text.probe}: {failure}")
        finally:
            print(f"{writer.slug}: {client.summary}")
    _tell(failures, len(wanted))
    return texts


def _tell(failures: Sequence[str], asked: int) -> None:
    """Print what failed; an error where nothing else came, since a table of failures is none."""
    if failures and len(failures) == asked:
        raise UserError(f"attacks.writer: no text was written; the last error: {failures[-1]}")
    for failure in failures[:SHOWN]:
        print(f"failed: {failure}")
    if failures:
        print(
            f"{len(failures)} texts failed; to ask for those again, force the stage: dvc repro -s -f attacks"
        )


def rewritten(common: Common, section: Section, wanted: Sequence[Order]) -> list[Rewritten]:
    """The texts, by the rules or by the writer that the params name."""
    slug = section.attacks.writer
    if slug is None or not wanted:  # no order needs no engine
        return [by_rules(order, common.seed) for order in wanted]
    if slug in section.judges:
        print(f"note: {slug} writes the attacks and judges them too; name another writer if you can")
    return asyncio.run(_written(common, wanted, Writer(slug, section.attacks.max_tokens, common.seed)))


def main() -> None:
    common, section = load("rationalization_probes", Section)
    wanted = orders(read(ITEMS, "data"), section.sets, common.seed)
    attacks = table(rewritten(common, section, wanted))
    attacks.to_parquet(REWRITTEN, index=False)
    print(report(attacks))


if __name__ == "__main__":
    run_stage(main)
