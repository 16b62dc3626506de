"""The ``data`` stage: makes the items, one a pair of answers and the label that people gave it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from shared.draws import number
from shared.errors import run_stage
from shared.judge.hygiene import neutralise
from shared.params import load as load_params
from studies.evidence_lock.params import Dataset, Section
from studies.evidence_lock.sources import RATERS, Loaded, Pair, load, question

ITEMS = Path("data/evidence_lock/items.parquet")

COLUMNS = (
    "item", "dataset", "subset", "cluster", "context", "answer_1", "answer_2", "label", "rater",
    "margin", "n_raters", "reason", "told",
)  # fmt: skip

Sources = Mapping[Dataset, Loaded]
"""What each data set holds, in the order of the params."""


def loaded(params: Section, external_dir: Path, root: Path) -> Sources:
    """What each data set holds; those of which no item is taken are not even looked for."""
    return {
        name: load(name, settings, external_dir, root)
        for name, settings in params.datasets.items()
        if settings.items != 0
    }


def arranged(sources: Sources, params: Section, seed: int) -> pd.DataFrame:
    """The items that are taken, one a row, with the columns `COLUMNS`.

    Data sets stand in the order of the params. In each, questions stand by a hash, each question's pairs
    together and by a hash too, so that neither the file's order nor a new pair moves another. ``items`` of
    a data set takes so many from the front: whole questions, but for the last.
    """
    rows = [
        row
        for name, found in sources.items()
        for row in _in_order(name, found, seed)[: params.datasets[name].items]
    ]
    frame = pd.DataFrame([_safe(row) for row in rows], columns=list(COLUMNS))
    return frame.astype({"margin": float, "n_raters": float})


def _in_order(name: Dataset, found: Loaded, seed: int) -> list[dict[str, Any]]:
    rows = [_item(name, pair) for pair in found.pairs]
    return sorted(
        rows, key=lambda row: (number(seed, "question", row["cluster"]), number(seed, "pair", row["item"]))
    )


def _item(name: Dataset, pair: Pair) -> dict[str, Any]:
    return {
        "item": f"{name}/{pair.id}",
        "dataset": name,
        "subset": pair.subset,
        "cluster": f"{name}/{question(pair)}",
        "context": pair.context,
        "answer_1": pair.answer_1,
        "answer_2": pair.answer_2,
        "label": pair.label,
        "rater": RATERS[name],
        "margin": pair.margin,
        "n_raters": pair.n_raters,
        "reason": pair.reason,
        "told": pair.told,
    }


def _safe(row: Mapping[str, Any]) -> dict[str, Any]:
    """The same, what others wrote being made harmless in a prompt."""
    texts = ("context", "answer_1", "answer_2", "told")
    return {**row, **{name: neutralise(row[name])[0] for name in texts}}


def report(found: pd.DataFrame, sources: Sources) -> str:
    """One line a data set: pairs, questions, labels and whose they are, and how many were left out of it."""
    lines = [f"{len(found)} items"]
    for name, source in sources.items():
        rows = found[found["dataset"] == name]
        labels = rows["label"].value_counts()
        told = ", ".join(f"{labels.get(label, 0)} {words}" for label, words in _LABELS.items())
        lines.append(
            f"  {name}: {len(rows)} of {len(source.pairs)} pairs, of {rows['cluster'].nunique()} questions; "
            f"{told}; labels: {RATERS[name]}{_left_out(source)}"
        )
    return "\n".join(lines)


_LABELS = {"1": "prefer answer 1", "2": "prefer answer 2", "tie": "are ties"}


def _left_out(source: Loaded) -> str:
    if not source.left_out:
        return ""
    return "; left out: " + ", ".join(f"{n} {fault}" for fault, n in sorted(source.left_out.items()))


def shortfalls(found: pd.DataFrame, params: Section) -> list[str]:
    """One line for each data set that has fewer items than asked for."""
    taken = found["dataset"].value_counts()
    return [
        f"note: datasets.{name}.items asks for {settings.items}; there are {taken.get(name, 0)}"
        for name, settings in params.datasets.items()
        if settings.items is not None and taken.get(name, 0) < settings.items
    ]


def main() -> None:
    common, params = load_params("evidence_lock", Section)
    sources = loaded(params, Path(common.data.external_dir), Path())
    found = arranged(sources, params, common.seed)
    ITEMS.parent.mkdir(parents=True, exist_ok=True)
    found.to_parquet(ITEMS, index=False)
    for line in (report(found, sources), *shortfalls(found, params)):
        print(line)


if __name__ == "__main__":
    run_stage(main)
