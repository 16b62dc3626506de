"""What this process, and those that it starts, took of the machine."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil

T = TypeVar("T")

SAMPLED_EVERY_S = 0.05


def peak_bytes() -> int:
    """The most memory that this process ever held."""
    status = Path("/proc/self/status")
    if status.exists():  # of this process alone; getrusage's peak may be that of the process that forked it
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def peak_while(work: Callable[[], T]) -> tuple[T, int]:
    """What the work gives, and the most memory that this process and its children held together meanwhile.

    Sampled, since no system keeps the peak of several processes together.
    """
    own, done, peak = psutil.Process(), threading.Event(), [0]

    def watch() -> None:
        while not done.wait(SAMPLED_EVERY_S):
            peak.append(sum(map(_resident, [own, *own.children(recursive=True)])))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        found = work()
    finally:
        done.set()
        watcher.join()
    return found, max(peak)


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:  # it has just ended
        return 0
