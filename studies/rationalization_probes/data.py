"""The ``data`` stage: makes the items, every pair of texts that a judge may be shown."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from shared.draws import draw
from shared.errors import run_stage
from shared.judge.hygiene import neutralise
from shared.params import load as load_params
from studies.rationalization_probes import damage, extractive, questions
from studies.rationalization_probes.candidates import with_candidates
from studies.rationalization_probes.documents import (
    Document,
    DocumentError,
    arrange,
    load,
    load_embedded,
    raise_for,
    visible,
)
from studies.rationalization_probes.params import DAMAGED, KINDS, Kind, Section, TrialSet
from studies.rationalization_probes.selection import select

ITEMS = Path("data/rationalization_probes/items.parquet")
GENERATED = Path("data/rationalization_probes/generated.jsonl")

LLM = "llm"
SHOWN = 10
"""At most so many documents are named in one line."""

MADE_OF: Mapping[Kind, tuple[str, str]] = {
    "equal": ("paraphrase_1", "paraphrase_2"),
    "identical": ("summary", "summary"),
    "samples": ("samples", "samples"),
    "extractive": ("summary", "summary"),
    "damage": ("paraphrase_1", "paraphrase_2"),
}
"""Which texts of a document the candidates of a kind come from (an extract comes from none)."""

Record = dict[str, Any]
"""A line of ``generated.jsonl``; see `generate.Text`."""

USED = ("document", "digest", "text_name", "status", "text", "generator")
"""The texts of a record that this stage reads."""


@dataclass(frozen=True, slots=True)
class Item:
    """A row of ``items.parquet``: two candidates for one document.

    ``candidate_1`` and ``candidate_2`` are identities, never places on a screen: 1 is the language
    model's text of an extractive pair, and the undamaged text of a damage pair. Where both texts have
    one writer it is drawn which is 1, so that the label that 1 carries under Truth is drawn too.
    ``level`` counts the errors in candidate 2; ``neutralised`` the places that hygiene changed in the
    three texts.
    """

    item: str
    cluster: str
    kind: Kind
    source: str
    candidate_1: str
    candidate_2: str
    provenance_1: str
    provenance_2: str
    level: int
    field: str
    neutralised: int


def items_of(document: Document, sentences: int | None, seed: int) -> Iterator[Item]:
    """The items that a document's texts allow, in the order of `KINDS`.

    Parameters
    ----------
    document : Document
        A kind is left out where a text that it needs is lacking, and where a generator wrote the same
        text twice (to a reader's eye): that pair would be an identical one under another name.
    sentences : int or None
        Sentences of an extractive summary; None: no extract is made.
    seed : int
        Decides, with the item's id, which of two equal texts is candidate 1.

    Yields
    ------
    Item
        ``<id>:equal`` (two paraphrases), ``<id>:identical`` (the summary twice), ``<id>:samples`` (the
        first two), ``<id>:extractive:<system>`` for each system, ``<id>:damage:<level>`` (paraphrase 1
        against the damaged paraphrase 2) for each level.

    Raises
    ------
    DocumentError
        If an extract is wanted of a document without words.
    """
    if pair := _pair(document.paraphrase_1, document.paraphrase_2):
        yield _item(document, "equal", *_drawn(pair, seed, document.id, "equal"))
    if document.summary:
        yield _item(document, "identical", document.summary, document.summary)
    if pair := _pair(*document.samples[:2]):
        yield _item(document, "samples", *_drawn(pair, seed, document.id, "samples"))
    if document.summary and sentences is not None:
        for system, extract in _extracts(document, sentences).items():
            yield _item(document, "extractive", document.summary, extract, system=system)
    yield from damage_items(document)


def _extracts(document: Document, sentences: int) -> dict[extractive.System, str]:
    try:
        return extractive.summarise(document.text, sentences)
    except ValueError as error:
        raise DocumentError(
            f"{document.id}: {error}; remove the document, or sets.extractive from params.yaml"
        ) from error


def damage_items(document: Document) -> Iterator[Item]:
    """Paraphrase 1 against each rung of the ladder: paraphrase 2 with one error, with two, with three."""
    if pair := _pair(document.paraphrase_1, document.paraphrase_2):
        for level, damaged in enumerate(damage.ladder(pair[1], document.damage), start=1):
            yield _item(document, "damage", pair[0], damaged, level=level)


def with_ladder(
    items: Sequence[Item], embedded: Iterable[Document], levels: Sequence[int] = ()
) -> list[Item]:
    """The items, the embedded documents' ladder in place of one that lacks a wanted level.

    The ladder asks whether a judge can tell a damaged text from an undamaged one, and any document
    serves for that; without one no judge could pass the competence gate. It comes whole, so that its
    levels differ in nothing but the number of errors.

    Parameters
    ----------
    items : sequence of Item
    embedded : iterable of Document
    levels : sequence of int
        The wanted ones; none: any ladder will do.

    Raises
    ------
    DocumentError
        If two documents of the same id would be taken for one.
    """
    own = {item.level for item in items if item.kind == "damage"}
    borrowed = [item for document in embedded for item in damage_items(document)]
    if (own and own.issuperset(levels)) or not {item.level for item in borrowed}.issuperset(levels):
        return list(items)
    clusters = {item.cluster for item in items}
    told = "is the id of an embedded document too, whose damage ladder is used; rename yours"
    doubled = dict.fromkeys(item.cluster for item in borrowed if item.cluster in clusters)
    raise_for([f"{name}: {told}" for name in doubled])
    return [item for item in items if item.kind != "damage"] + borrowed


def table(items: Iterable[Item]) -> pd.DataFrame:
    """One row an item, in the given order; the columns are `Item`'s fields.

    Raises
    ------
    DocumentError
        If two items have one id.
    """
    frame = pd.DataFrame([asdict(item) for item in items], columns=list(Item.__dataclass_fields__))
    doubled = frame.loc[frame["item"].duplicated(), "item"]
    raise_for([f"{item}: two items have this id; rename a document" for item in doubled])
    return frame


def read_generated(file: Path) -> list[Record]:
    """What the ``generate`` stage wrote.

    Raises
    ------
    DocumentError
        If it has not run, or a line is damaged.
    """
    if not file.is_file():
        raise DocumentError(f"{file} is absent; run the generate stage first")
    # Only "\n" ends a record: a text may hold any other character that str.splitlines splits at.
    lines = enumerate(file.read_bytes().split(b"\n"), start=1)
    return [_record(line, f"{file}:{at}") for at, line in lines if line.strip()]


def _record(line: bytes, where: str) -> Record:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or not all(isinstance(record.get(key), str) for key in USED):
        raise DocumentError(
            f"{where}: not a record of a text; remove the file and run the generate stage again"
        )
    return record


def with_generated(
    documents: Iterable[Document], records: Iterable[Record], generator: str
) -> list[Document]:
    """The documents, their gaps filled with the generator's texts.

    Only answers of status ``ok`` that show something are used, and a text that the document has is
    never replaced.

    Raises
    ------
    DocumentError
        If a text comes from another generator, or was written before the document or its summary changed.
    """
    written: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        written[record["document"]].append(record)
    documents = list(documents)
    told = "generated texts are stale; run the generate stage again"
    raise_for([f"{d.id}: {told}" for d in documents if _stale(d, written[d.id], generator)])
    return [_filled(document, written[document.id], f"{LLM}:{generator}") for document in documents]


def _stale(document: Document, records: Iterable[Record], generator: str) -> bool:
    return any((r["generator"], r["digest"]) != (generator, document.digest()) for r in records)


def _filled(document: Document, records: Iterable[Record], writer: str) -> Document:
    good = [r for r in records if r["status"] == "ok" and visible(r["text"])]
    texts: dict[str, Any] = {r["text_name"]: r["text"] for r in good if r["text_name"] != "samples"}
    samples = tuple(r["text"] for r in good if r["text_name"] == "samples")
    if samples:
        texts["samples"] = samples
    gaps = {name: text for name, text in texts.items() if not getattr(document, name)}
    return replace(document, generated=dict.fromkeys(gaps, writer), **gaps)


def check_sets(
    items: pd.DataFrame, documents: Sequence[Document], kinds: Iterable[str], generated: bool
) -> None:
    """Every set of the params finds its items.

    Without a generator nothing may lack; with one, a document whose generated text could not be used
    is left out, as long as others remain.

    Raises
    ------
    DocumentError
        Naming the documents, or the kind that has no item at all.
    """
    for kind in kinds:
        have = set(items.loc[items["kind"] == kind, "cluster"])
        if not have:
            raise DocumentError(f"sets.{kind}: no document allows such an item; {_fix(kind, generated)}")
        # One ladder serves all: a document of its own need not have any (see `with_ladder`).
        if kind in MADE_OF and kind != "damage" and not generated:
            lacking = [document.id for document in documents if document.id not in have]
            raise_for([f"{name}: no texts for {kind} items; {_fix(kind, generated)}" for name in lacking])


def check_levels(items: pd.DataFrame, kind: str, wanted: Iterable[int]) -> None:
    """Every wanted number of errors is on some ladder.

    Raises
    ------
    DocumentError
        Naming the levels that lack, and those that there are.
    """
    have = sorted(set(items.loc[items["kind"] == kind, "level"]))
    lacking = [level for level in wanted if level not in have]
    if lacking:
        raise DocumentError(
            f"levels of kind {kind}: no source has {_listed(lacking)} recorded errors; "
            f"the levels that there are: {_listed(have) or 'none'}"
        )


def shortfalls(items: pd.DataFrame, sets: Mapping[str, TrialSet]) -> list[str]:
    """One line for each set that asks for more documents than allow such an item."""
    lines = []
    for name, wanted in sets.items():
        have = select(items, name, wanted.model_copy(update={"items": None}))["cluster"].nunique()
        if wanted.items is not None and have < wanted.items:
            lines.append(
                f"note: sets.{name}.items asks for {wanted.items} documents; {have} allow such an item"
            )
    return lines


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def report(items: pd.DataFrame, documents: Sequence[Document]) -> str:
    """One line a kind: how many items, from how many documents; and what hygiene changed."""
    changed = items["neutralised"].sum()
    lines = [f"{len(documents)} documents, {len(items)} items, {changed} places neutralised"]
    for kind in KINDS:
        rows = items[items["kind"] == kind]
        have = set(rows["cluster"])
        of = (
            f"{len(have)} documents{_left_out(have, documents)}"
            if kind in MADE_OF
            else f"{len(have)} questions"
        )
        lines.append(f"  {kind}: {len(rows)} items of {of}")
    return "\n".join(lines)


def _left_out(have: set[str], documents: Sequence[Document]) -> str:
    """Names the documents that lack what a kind needs, where others have it: none goes silently."""
    lacking = [document.id for document in documents if document.id not in have]
    if not lacking or len(lacking) == len(documents):
        return ""
    more = ", ..." if len(lacking) > SHOWN else ""
    return f"; left out, for want of texts: {len(lacking)} ({', '.join(lacking[:SHOWN])}{more})"


def build(section: Section, external_dir: Path, seed: int) -> tuple[pd.DataFrame, list[Document]]:
    """The items of the params' documents, and the documents."""
    documents = load(section.documents, external_dir)
    if section.documents.candidates is not None:
        documents = with_candidates(documents, section.documents.candidates, external_dir)
    generator = section.documents.generate.judge
    if generator is not None:
        documents = with_generated(documents, read_generated(GENERATED), generator)
    documents = arrange(documents, seed)
    kinds = section.kinds()
    sentences = section.extractive_sentences if "extractive" in kinds else None
    items = [item for document in documents for item in items_of(document, sentences, seed)]
    items = with_ladder(items, arrange(load_embedded(), seed), section.levels("damage"))
    if any(kind.startswith("qa_") for kind in kinds):
        items += _with_ids_of_their_own(pairs_of_answers(section, external_dir, seed), items)
    frame = table(items)
    check_sets(frame, documents, kinds, generated=generator is not None)
    for kind in DAMAGED:
        check_levels(frame, kind, section.levels(kind))
    return frame, documents


def pairs_of_answers(section: Section, external_dir: Path, seed: int) -> list[Item]:
    """The items of the params' questions, in an order that does not depend on the file's."""
    asked = arrange(questions.load(section.questions, external_dir), seed)
    return [Item(**fields) for question in asked for fields in questions.question_items(question, seed)]


def _with_ids_of_their_own(answers: list[Item], items: list[Item]) -> list[Item]:
    """A question and a document of one id would be taken for one source."""
    taken = {item.cluster for item in items}
    doubled = dict.fromkeys(item.cluster for item in answers if item.cluster in taken)
    raise_for([f"{name}: is the id of a document and of a question; rename one" for name in doubled])
    return answers


def main() -> None:
    common, section = load_params("rationalization_probes", Section)
    items, documents = build(section, Path(common.data.external_dir), common.seed)
    ITEMS.parent.mkdir(parents=True, exist_ok=True)
    items.to_parquet(ITEMS, index=False)
    print(report(items, documents))
    for line in shortfalls(items, section.sets):
        print(line)


def _pair(*texts: str | None) -> tuple[str, str] | None:
    """Two texts that are there and differ to a reader's eye, or None."""
    first, second = (*texts, None, None)[:2]
    if first is None or second is None:
        return None
    one, two = visible(first), visible(second)
    return (first, second) if one and two and one != two else None


def _drawn(pair: tuple[str, str], seed: int, document: str, kind: str) -> tuple[str, str]:
    """The pair as it is or the other way round."""
    return draw((pair, pair[::-1]), seed, document, kind, "identities")


def _item(
    document: Document, kind: Kind, candidate_1: str, candidate_2: str, *, system: str = "", level: int = 0
) -> Item:
    (source, n), (first, n_1), (second, n_2) = map(neutralise, (document.text, candidate_1, candidate_2))
    writer_1, writer_2 = (document.writer(text) for text in MADE_OF[kind])
    return Item(
        item=":".join(filter(None, (document.id, kind, system or (str(level) if level else "")))),
        cluster=document.id,
        kind=kind,
        source=source,
        candidate_1=first,
        candidate_2=second,
        provenance_1=writer_1,
        provenance_2=f"tradml:{system}" if system else writer_2,
        level=level,
        field=document.field,
        neutralised=n + n_1 + n_2,
    )


def _fix(kind: str, generated: bool) -> str:
    if kind not in MADE_OF:
        return "map questions.columns (qa_damage needs damage), or remove the set"
    if kind == "damage":
        return "give documents recorded errors (column damage), or remove the set"
    if generated:
        return (
            "the generator's answers were cut, blank or twice the same (see generated.jsonl): raise "
            "documents.generate.max_tokens, name a stronger generator, or remove the set"
        )
    if kind == "samples":
        return "map documents.columns.samples, set documents.generate.judge, or remove the set"
    texts = "paraphrase_1 and paraphrase_2" if kind == "equal" else "summary"
    return f"map documents.columns for {texts}, set documents.generate.judge, or remove the set"


if __name__ == "__main__":
    run_stage(main)
