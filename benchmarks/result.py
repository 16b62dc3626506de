"""What a benchmark is: a name, a bar, and a measurement that the bar is laid on."""

from __future__ import annotations

import operator
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Sign = Literal["<=", ">=", "=="]
COMPARE: dict[Sign, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
}


@dataclass(frozen=True)
class Bar:
    """What a value has to satisfy, e.g. ``Bar("<=", 1.05)``."""

    sign: Sign
    limit: float

    def holds(self, value: float) -> bool:
        """Whether the value satisfies the bar; a value that is undefined (nan) never does."""
        return COMPARE[self.sign](value, self.limit)

    def __str__(self) -> str:
        return f"{self.sign} {self.limit:g}"


@dataclass(frozen=True)
class Measured:
    """A measurement.

    Attributes
    ----------
    value : float
        nan where it could not be measured.
    n : int
        What it rests on: requests, calls, pairs; ``note`` says which.
    note : str
        How it was measured, in a few words.
    flaw : str
        What else went wrong, e.g. answers that differ. A flawed measurement fails its bar whatever its value.
    """

    value: float
    n: int
    note: str
    flaw: str = ""


@dataclass(frozen=True)
class Benchmark:
    """One bar of the project. Names are stable: others look results up by them."""

    name: str
    unit: str
    bar: Bar
    measure: Callable[[], Measured]

    def run(self) -> dict[str, Any]:
        """Measure, and give the row of ``results.json``: {name, value, unit, bar, ok, n, note}."""
        found = self.measure()
        defined = found.value == found.value  # nan has no place in JSON
        return {
            "name": self.name,
            "value": round(found.value, 4) if defined else None,
            "unit": self.unit,
            "bar": str(self.bar),
            "ok": self.bar.holds(found.value) and not found.flaw,
            "n": found.n,
            "note": "; ".join(filter(None, (found.flaw, found.note, machine()))),
        }


def machine() -> str:
    """What the numbers were measured on: cores, processor, Python."""
    return f"{os.cpu_count()} cores, {_processor()}, Python {platform.python_version()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
