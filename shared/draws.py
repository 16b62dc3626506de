"""Draws that depend on names alone, so that adding an item moves no other item's draw."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def draw(options: Sequence[T], *names: str | int) -> T:
    """One of ``options``, uniformly, decided by ``names`` (a seed, an item's id, what is drawn).

    Equal names give equal draws on every machine and in every process; different names give
    independent ones.
    """
    return options[number(*names) % len(options)]


def number(*names: str | int) -> int:
    """A uniform integer of 64 bits decided by ``names``; a key to sort or to seed by."""
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def generator(*names: str | int) -> np.random.Generator:
    """A generator of one thing's own, decided by ``names``, so that adding another thing moves nothing."""
    return np.random.default_rng(number(*names))
