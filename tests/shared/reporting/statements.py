"""What a paper states, as the tests of the studies' counterparts ask: for tests only."""

from __future__ import annotations

from shared.reporting import published


def results_of(paper: str) -> set[str]:
    """The ids of all statements of results, which only a rerun can check."""
    claims = published.claims()
    mine = claims[claims["paper"] == paper]
    return set(mine.loc[mine["checkable_from"].fillna("").str.contains("needs rerun"), "id"])
