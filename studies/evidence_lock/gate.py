"""The competence gate by judge, data set, protocol and naming: does a judge prefer what people do at all?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from shared.metrics.competence import Check, Competence, basis, competence, of_both_kinds
from shared.metrics.resampling import Inference
from studies.evidence_lock.agreement import NAMINGS
from studies.evidence_lock.pairs import cells, main_cells
from studies.evidence_lock.rows import draws, frame, row

CHECKS = {"prefers_better": "prefers_undamaged", "ties_less": "ties_less", "not_constant": "not_constant"}
"""Each quantity here, and its check in `shared.metrics.competence`."""

MORE = ("verdict", "gate")
"""Columns beyond `rows.COLUMNS`: the answer of the row's own check, and the gate's, which sums them."""

_SWAPPED = {"1": "2", "2": "1", "12": "21", "21": "12"}


def gate_rows(judgements: pd.DataFrame, rng: np.random.Generator, inference: Inference) -> pd.DataFrame:
    """The competence gate of each judge under each protocol on each data set.

    Parameters
    ----------
    judgements : DataFrame
        With ``judge``; the main cells are used, without crossed trials: neutral names and letters each have
        their own gate; of ``other_record`` it is one of all writers.
    rng : numpy.random.Generator
    inference : Inference
        Tests are one-sided at 1 - ``confidence``; what does not pass has failed only with at least
        ``few_clusters`` clusters.

    Returns
    -------
    DataFrame
        `rows.COLUMNS` and `MORE`, two or three rows a gate. ``prefers_better`` is P(the answer that people
        prefer) - P(the other) over both orders, in [-1, 1]; ``ties_less`` the tie rate on pairs that people
        call a tie less that on the others; ``not_constant`` the share of the most frequent answer as the
        screen shows it (first, second, tie): 1 is constant. ``verdict`` is the answer of the row's own check,
        ``gate`` that of all of them, the same in each of their rows: ``failed`` where one failed, ``passed``
        where all passed, else ``too few to tell``. A data set in which people call no pair a tie is not asked
        about ties.

    See Also
    --------
    shared.metrics.competence.competence : the checks.
    """
    by_name = draws(rng)
    rows: list[dict[str, Any]] = []
    for names, cell in cells(_asked(judgements), ("judge", "scheme", "naming")):
        asked = as_damage(cell)
        can_tie = bool((asked["kind"] == "equal").any())
        found = competence(asked, by_name("gate", names), inference, can_tie=can_tie)
        rows += _rows(names, asked, found)
    return frame(rows, MORE)


def _asked(judgements: pd.DataFrame) -> pd.DataFrame:
    same = judgements[judgements["inspection"] == judgements["decision"]]
    return pd.concat([main_cells(same, naming) for naming in NAMINGS])


def as_damage(judgements: pd.DataFrame) -> pd.DataFrame:
    """Judgements of one cell as the gate takes them: candidate 1 is the one that people prefer.

    Returns
    -------
    DataFrame
        ``item, cluster, kind, screen_order, status, verdict``, and counts. ``kind`` is ``damage``, or
        ``equal`` where people call a tie.
    """
    told = judgements[["item", "cluster", "status"]].assign(
        kind=np.where(judgements["label"] == "tie", "equal", "damage"), n_trials=1
    )
    second = judgements["label"] == "2"
    turned = {
        name: judgements[column].mask(second, judgements[column].replace(_SWAPPED))
        for name, column in (("screen_order", "decision"), ("verdict", "verdict"))
    }
    return told.assign(**turned, n_unparsed=(judgements["status"] != "ok").astype(int))


def _rows(names: dict[str, Any], asked: pd.DataFrame, found: Competence) -> Iterator[dict[str, Any]]:
    rests_on = basis(asked)
    of = {
        "prefers_better": asked[asked["kind"] == "damage"],
        "ties_less": of_both_kinds(asked),
        "not_constant": asked,
    }
    for quantity, name in CHECKS.items():
        check: Check | None = getattr(found, name)
        if check is not None:
            made = row(quantity, names, check.estimate, rests_on[name], of[quantity])
            yield {**made, "p": check.p, "verdict": check.verdict, "gate": found.verdict}
