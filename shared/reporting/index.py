"""The root stage ``report``: paper_tables/INDEX.md, every table and figure with what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from shared.errors import UserError, run_stage
from shared.reporting.figures import caption_of
from shared.reporting.tables import markdown, read

TABLES = Path("paper_tables")
FIGURES = Path("figures")
INDEX = TABLES / "INDEX.md"


class UnlistedError(UserError):
    """A table or figure that can't be listed; the message names it and the fix."""


def basis(table: Path) -> dict[str, str]:
    """What a table's numbers rest on.

    Parameters
    ----------
    table : Path
        A result table's CSV.

    Returns
    -------
    dict of str
        ``profile``, ``judges`` (each with its fingerprint, where it has one) and ``n`` (the most items, and
        independent clusters of them, behind one row, of which a table may tell one alone, or neither);
        ``no rows`` where the table is empty. A row about several judges, or about none, names no judge.

    Raises
    ------
    UnlistedError
        If it has not the columns that a result table has.
    """
    rows = read(table)
    wanted = {"judge", "profile", "fingerprint", "n_items", "n_clusters"}
    if lacking := wanted - set(rows.columns):
        raise UnlistedError(
            f"{table}: no column {', '.join(sorted(lacking))}; remove it, or run `make repro`"
        )
    if rows.empty:
        return {"profile": "", "judges": "", "n": "no rows"}
    judges = rows.loc[~(rows["judge"].isna() | rows["judge"].isin(NO_JUDGE)), ["judge", "fingerprint"]]
    counts = _most(rows, "n_items", "items"), _most(rows, "n_clusters", "sources")
    return {
        "profile": ", ".join(rows["profile"].unique()),
        "judges": ", ".join(_marked(*judge) for judge in judges.drop_duplicates().itertuples(index=False)),
        "n": " of ".join(filter(None, counts)),
    }


NO_JUDGE = ("", "all")
"""The judge of a row about several judges, or about none."""


def _marked(judge: str, mark: str) -> str:
    return judge if pd.isna(mark) or not mark else f"{judge} ({mark})"


def _most(rows: pd.DataFrame, column: str, called: str) -> str:
    """The most of what is counted behind one row; empty where no row tells."""
    most = rows[column].max()
    return "" if pd.isna(most) else f"{most:.0f} {called}"


def table_rows(study: str) -> Iterator[dict[str, str]]:
    """One row a table of the study, by name."""
    for path in sorted((TABLES / study).glob("*.csv")):
        name = f"[{path.stem}]({study}/{path.stem}.md)"
        yield {"table": name, "rows": f"[csv]({study}/{path.name})", **basis(path)}


def figure_rows(study: str) -> Iterator[dict[str, str]]:
    """One row a figure of the study, resting on the table that it draws."""
    for path in sorted((FIGURES / study).glob("*.svg")):
        caption = caption_of(path)
        source = Path(caption.source)
        if not caption.source or not source.is_file():
            raise UnlistedError(
                f"{path}: the table that it draws is not there; remove it, or run `make repro`"
            )
        link = f"[{path.stem}](../{path.as_posix()})"
        yield {"figure": link, "shows": caption.title, "draws": source.stem, **basis(source)}


def page(studies: Sequence[str]) -> str:
    """The whole index."""
    parts = ["# Tables and figures", _PREAMBLE]
    for study in studies:
        parts.append(f"## {study}")
        tables, figures = list(table_rows(study)), list(figure_rows(study))
        parts += [markdown(pd.DataFrame(rows)) for rows in (tables, figures) if rows]
    return "\n\n".join(parts) + "\n"


_PREAMBLE = (
    "Everything that `make repro` rebuilds. The profile says how much was run; n is the most items, and "
    "independent sources of them (documents, stories, questions), that stand behind one row of the table. "
    "A judge is named with the fingerprint of its engine, weights and settings. What the papers printed is "
    "in [published](published/README.md)."
)


def main() -> None:
    studies = sorted(p.name for p in TABLES.iterdir() if p.is_dir() and p.name != "published")
    INDEX.write_text(page(studies), encoding="utf-8")
    print(f"{INDEX}: {len(studies)} {'study' if len(studies) == 1 else 'studies'}")


if __name__ == "__main__":
    run_stage(main)
