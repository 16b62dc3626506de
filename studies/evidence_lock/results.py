"""What every row of every table says besides its estimate: the gate, the paper's number, what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from shared.frames import rows_of
from shared.reporting import tables
from shared.reporting.results import ENDING, Study, finished, worst_of
from studies.evidence_lock import counterparts
from studies.evidence_lock.gate import gate_rows
from studies.evidence_lock.pairs import NEUTRAL, POOLED, REFERENCE

COLUMNS = (
    *tables.COLUMNS,
    "dataset", "subset", "rater", "reference", "record_chars", "wording", "naming", "temperature", "writer",
    "p", "p_holm", "p_mcnemar", "mde", "count", "verdict", "n_trials",
    *ENDING,
)  # fmt: skip
"""Of every table; a column that does not apply to a row is n/a, a text that is lacking is empty."""

TEXTS = (
    "judge", "scheme", "condition", "dataset", "subset", "rater", "reference", "naming", "writer", "verdict",
    "published_id",
)  # fmt: skip

Gates = Mapping[tuple[str, str, str, str], str]
"""The gate's verdict by judge, data set, scheme and naming."""


def verdicts(gates: pd.DataFrame) -> Gates:
    """Each cell's verdict, from `gate.gate_rows`."""
    return {
        (row["judge"], row["dataset"], row["scheme"], row["naming"]): row["gate"] for row in rows_of(gates)
    }


TAKEN_FROM = {"lost": {"reference": REFERENCE}}
"""Tables whose rows all say what became of another scheme's verdicts, though none is a difference."""


def gates_of(study: Study) -> pd.DataFrame:
    """The competence gate of every judge, data set, scheme and naming, as rows of a table."""
    return gate_rows(study.judgements, study.rng("competence"), study.inference)


def finisher(study: Study, gates: Gates) -> Callable[[str, pd.DataFrame], pd.DataFrame]:
    """Adds to a table's rows the paper's numbers, the gate, and what they rest on."""
    raters = study.judgements.groupby("dataset")["rater"].unique().map(lambda found: ", ".join(sorted(found)))

    def finish(name: str, rows: pd.DataFrame) -> pd.DataFrame:
        rows = rows.assign(rater=rows["dataset"].map(raters) if "dataset" in rows else "")
        return finished(
            rows,
            study,
            COLUMNS,
            TEXTS,
            gate_of=lambda row: _gate_of(row | TAKEN_FROM.get(name, {}), gates),
            counterpart_of=lambda row: counterparts.of(row["quantity"], name, **_names(row)),
        )

    return finish


def _gate_of(row: dict[str, Any], gates: Gates) -> str:
    """The verdict on a row's judge, data set, scheme and naming; of a row about several judges, the worst.

    A row that says no naming is about neutral names.

    A difference has the gate of the scheme that it is taken from: whether the judge can do the task at all.
    That a lock makes it lose that ability is a finding, and no failure of the instrument.
    """
    scheme, naming = row["reference"] or row["scheme"], row["naming"] or NEUTRAL
    if not scheme or not row["judge"]:
        return ""
    found = {
        verdict
        for (judge, *asked), verdict in gates.items()
        if asked == [row["dataset"], scheme, naming] and row["judge"] in (judge, POOLED)
    }
    return worst_of(found)


def _names(row: dict[str, Any]) -> dict[str, Any]:
    names = (
        "judge", "dataset", "scheme", "reference", "subset", "wording", "temperature", "writer", "condition",
    )  # fmt: skip
    return {name: row[name] for name in names}
