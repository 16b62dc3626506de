"""Runs the benchmarks, writes ``benchmarks/results.json`` and prints a table.

``python -m benchmarks.run`` runs all; ``python -m benchmarks.run ONLY=<prefix>`` runs those whose names
begin so, and keeps the others' last results. Exit code 1 where a bar that was measured does not hold.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from benchmarks import kill, memory, order, overhead, prefill, rubric, warm
from benchmarks.result import Bar, Benchmark
from shared.errors import UserError, run_stage

RESULTS = Path("benchmarks/results.json")

BENCHMARKS = (
    Benchmark("client_overhead_ratio", "ratio of wall times", Bar("<=", 1.05), overhead.overhead_ratio),
    Benchmark("prefill_ratio", "ratio of tokens", Bar("<=", 1.15), prefill.prefill_ratio),
    Benchmark("order_invariance", "share of texts", Bar("==", 1.0), order.order_invariance),
    Benchmark("warm_calls", "calls", Bar("==", 0), warm.calls),
    Benchmark("warm_lookups_ratio", "ratio of lookups per second", Bar(">=", 0.5), warm.lookups_ratio),
    Benchmark("kill_extra_calls", "calls", Bar("<=", kill.SCRIPTED.most_extra), kill.scripted),
    Benchmark("kill_real_extra_calls", "calls", Bar("<=", kill.REAL.most_extra), kill.real),
    Benchmark("client_memory_ratio", "ratio of bytes", Bar("<=", 1.10), memory.memory_ratio),
    Benchmark("rubric_cached_share", "share of prompt tokens", Bar(">=", 0.6), rubric.cached_share),
    Benchmark("rubric_analysis_seconds", "s", Bar("<=", 60), rubric.analysis_seconds),
    Benchmark("rubric_analysis_gb", "10^9 bytes", Bar("<=", 4), rubric.analysis_gb),
)


def chosen(prefix: str, benchmarks: Sequence[Benchmark] = BENCHMARKS) -> list[Benchmark]:
    """The benchmarks whose names begin with ``prefix``; all for an empty one.

    Raises
    ------
    UserError
        If there is none; lists the names.
    """
    found = [benchmark for benchmark in benchmarks if benchmark.name.startswith(prefix)]
    if not found:
        names = ", ".join(benchmark.name for benchmark in benchmarks)
        raise UserError(f"ONLY={prefix}: no benchmark begins so; use a prefix of one of: {names}")
    return found


def run(
    prefix: str = "", path: Path = RESULTS, benchmarks: Sequence[Benchmark] = BENCHMARKS
) -> list[dict[str, Any]]:
    """Run the chosen benchmarks; return their rows.

    The file is written after each of them, so that one that breaks costs no other's result. It holds
    every benchmark in the order of ``benchmarks``: those that did not run keep their last row, and
    rows of benchmarks that are no more are dropped.
    """
    rows = _last(path)
    ran = []
    for benchmark in chosen(prefix, benchmarks):
        print(f"{benchmark.name} ...", file=sys.stderr, flush=True)
        rows[benchmark.name] = benchmark.run()
        ran.append(rows[benchmark.name])
        kept = [rows[b.name] for b in benchmarks if b.name in rows]
        path.write_text(
            json.dumps(kept, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
        )
    return ran


def _last(path: Path) -> dict[str, dict[str, Any]]:
    """Rows of the last run, by name."""
    if not path.is_file():
        return {}
    try:
        return {row["name"]: row for row in json.loads(path.read_text(encoding="utf-8"))}
    except (ValueError, TypeError, KeyError):
        raise UserError(f"{path}: not a list of results; remove it and run all benchmarks") from None


def prefix_of(arguments: Sequence[str]) -> str:
    """The prefix in ``ONLY=<prefix>``; empty where nothing is given.

    Raises
    ------
    UserError
        At any other argument.
    """
    match arguments:
        case []:
            return ""
        case [argument] if argument.startswith("ONLY="):
            return argument.removeprefix("ONLY=")
    raise UserError(f"{' '.join(arguments)}: not understood; give nothing, or ONLY=<prefix of a name>")


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a table for the terminal."""
    columns = ("name", "value", "bar", "ok", "unit", "n")
    return tabulate([[row[c] for c in columns] for row in rows], headers=columns, disable_numparse=True)


def main() -> None:
    """Run what the command line asks for; fail where a bar does not hold."""
    rows = run(prefix_of(sys.argv[1:]))
    print(table(rows))
    missed = [row["name"] for row in rows if not row["ok"]]
    if missed:
        raise UserError(f"below the bar: {', '.join(missed)}; notes are in {RESULTS}")


if __name__ == "__main__":
    run_stage(main)
