"""The ``data`` stage: makes the items, one a text and criterion, or one a text and all of its criteria."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from shared.draws import number
from shared.errors import run_stage
from shared.judge.hygiene import neutralise
from shared.params import load as load_params
from shared.reading import SourceError
from studies.rubric_position_bias.params import Dataset, DatasetParams, Section, Setting
from studies.rubric_position_bias.sources import EMBEDDED, RATERS, Candidate, Criterion, load

ITEMS = Path("data/rubric_position_bias/items.parquet")

COLUMNS = (
    "item", "dataset", "cluster", "prompt", "system", "setting", "instruction", "text", "source",
    "reference_answer", "criterion", "question", "levels", "criteria", "reference", "references", "rater",
)  # fmt: skip

OWN, ALL = "rubric", "all"
"""Last part of an item's id, where no single criterion has a name: a prompt's own rubric; all criteria."""


def items(params: Section, external_dir: Path, root: Path, seed: int = 0) -> pd.DataFrame:
    """The items of all data sets.

    Parameters
    ----------
    params : Section
        ``datasets`` says where each lies, which systems' texts and how many items are taken.
    external_dir : Path
        ``data.external_dir``; each ``path`` lies below it.
    root : Path
        The repository's, below which the embedded texts lie.
    seed : int
        Decides the order of the prompts, and so which ones come first.

    Returns
    -------
    DataFrame
        Columns `COLUMNS`. Data sets stand in the order of the params, in each the setting ``score`` before
        ``criteria``; prompts by a hash, each prompt's items together. ``items`` of a data set takes
        so many from the front in each setting: whole prompts, but for the last.

    Raises
    ------
    SourceError
        If a data set cannot be read, or a system has no text there.
    """
    rows = [
        row
        for name, settings in params.datasets.items()
        if settings.items != 0
        for row in _taken(name, settings, _candidates(name, settings, external_dir, root), seed)
    ]
    return _with_prompts(pd.DataFrame(rows, columns=list(COLUMNS)))


def _candidates(name: Dataset, settings: DatasetParams, external_dir: Path, root: Path) -> list[Candidate]:
    candidates = load(name, external_dir / (settings.path or ""), root / EMBEDDED)
    if settings.systems is None:
        return candidates
    writers = {one.writer or one.system for one in candidates}
    for wanted in settings.systems:
        if wanted not in writers:
            raise SourceError(
                f"datasets.{name}.systems: no text of {wanted!r}; there are: {', '.join(sorted(writers))}"
            )
    return [one for one in candidates if (one.writer or one.system) in settings.systems]


def _taken(
    name: Dataset, settings: DatasetParams, candidates: Sequence[Candidate], seed: int
) -> Iterator[dict[str, Any]]:
    """The first items of each setting."""
    arranged = sorted(candidates, key=lambda one: number(seed, "prompt", name, one.cluster))
    for rows in (_score_items, _criteria_items):
        found = [row for candidate in arranged for row in rows(name, candidate)]
        yield from found[: settings.items]


def _score_items(name: Dataset, candidate: Candidate) -> Iterator[dict[str, Any]]:
    """One item a criterion that has levels."""
    for criterion in candidate.criteria:
        if criterion.levels:
            yield _item(name, candidate, "score", criterion.name or OWN) | {
                "criterion": criterion.name,
                "question": _safe(criterion.question),
                "levels": json.dumps([_safe(level) for level in criterion.levels]),
                "reference": candidate.references[criterion.name],
            }


def _criteria_items(name: Dataset, candidate: Candidate) -> Iterator[dict[str, Any]]:
    """One item for all criteria; none for a single one, which has no order."""
    if len(candidate.criteria) > 1:
        yield _item(name, candidate, "criteria", ALL) | {
            "criteria": json.dumps([_told(criterion) for criterion in candidate.criteria]),
            "references": json.dumps(dict(candidate.references)),
        }


def _told(criterion: Criterion) -> dict[str, str]:
    return {"name": criterion.name, "question": _safe(criterion.question)}


def _item(name: Dataset, candidate: Candidate, setting: Setting, last: str) -> dict[str, Any]:
    """What items of both settings have, and the blanks that one setting fills."""
    cluster = f"{name}/{candidate.cluster}"
    return {
        "item": f"{cluster}/{candidate.system}/{last}",
        "dataset": name,
        "cluster": cluster,
        "system": candidate.system,
        "setting": setting,
        "instruction": _safe(candidate.instruction),
        "text": _safe(candidate.text),
        "source": _safe(candidate.source),
        "reference_answer": _safe(candidate.reference_answer),
        "criterion": "",
        "question": "",
        "levels": "[]",
        "criteria": "[]",
        "reference": float("nan"),
        "references": "{}",
        "rater": RATERS[name],
    }


@lru_cache(1024)
def _safe(text: str) -> str:
    """Cached, since a text stands in an item of each criterion, and an article in those of each system."""
    return neutralise(text)[0]


def _with_prompts(frame: pd.DataFrame) -> pd.DataFrame:
    """What candidates compete for: their cluster, or "" where it has a single candidate in the setting."""
    candidates = frame.groupby(["cluster", "setting"])["system"].transform("nunique")
    return frame.assign(prompt=frame["cluster"].where(candidates > 1, ""))


def report(found: pd.DataFrame) -> str:
    """One line a data set and setting: items, prompts, systems, and whose the reference scores are."""
    lines = [f"{len(found)} items"]
    for (dataset, setting, rater), rows in found.groupby(["dataset", "setting", "rater"], sort=False):
        lines.append(
            f"  {dataset}, {setting}: {len(rows)} items of {rows['cluster'].nunique()} prompts and "
            f"{rows['system'].nunique()} systems; reference scores: {rater}"
        )
    return "\n".join(lines)


def shortfalls(found: pd.DataFrame, params: Section) -> list[str]:
    """One line for each data set and setting that has fewer items than asked for."""
    lines = []
    for name, settings in params.datasets.items():
        for setting, rows in found[found["dataset"] == name].groupby("setting", sort=False):
            if settings.items is not None and len(rows) < settings.items:
                asked = f"note: datasets.{name}.items asks for {settings.items}"
                lines.append(f"{asked}; there are {len(rows)} in the setting {setting}")
    return lines


def main() -> None:
    common, params = load_params("rubric_position_bias", Section)
    found = items(params, Path(common.data.external_dir), Path(), common.seed)
    ITEMS.parent.mkdir(parents=True, exist_ok=True)
    found.to_parquet(ITEMS, index=False)
    print(report(found))
    for line in shortfalls(found, params):
        print(line)


if __name__ == "__main__":
    run_stage(main)
