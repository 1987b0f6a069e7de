"""The memory of a process: the most that it has held, and a cap on it."""

from __future__ import annotations

import math
import os
import resource
import sys
from pathlib import Path


class PeakMemory:
    """The most memory that this process has held, in MB; the answer may be `every` seconds old.

    To ask the system takes 25 µs: too long for each of many cheap trials.
    """

    def __init__(self, every: float = 0.1) -> None:
        self._every, self._look_again_at, self._mb = every, -math.inf, 0.0

    def __call__(self, now: float) -> float:
        """`now` are the seconds of any clock, but always of the same one."""
        if now >= self._look_again_at:
            self._mb = _peak_mb()
            self._look_again_at = now + self._every
        return self._mb


def _peak_mb() -> float:
    """Linux's `ru_maxrss` includes what the process that started this one held, so /proc comes first."""
    try:
        with open("/proc/self/status", "rb") as status:
            return int(status.read().partition(b"VmHWM:")[2].split(maxsplit=1)[0]) / 2**10
    except (OSError, IndexError):  # no /proc, or one that doesn't tell
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return kilobytes / (2**20 if sys.platform == "darwin" else 2**10)


def cap_memory(extra_mb: int) -> None:
    """From now on this process may take `extra_mb` more than it holds; beyond that is a MemoryError."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # no /proc: we don't know how much we hold, so there is no cap
        return
    cap = pages * os.sysconf("SC_PAGE_SIZE") + extra_mb * 2**20
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (cap if hard == resource.RLIM_INFINITY else min(cap, hard), hard))
