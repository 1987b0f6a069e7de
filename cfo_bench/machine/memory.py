"""The memory of a process: the most that it has held, and a cap on it."""

from __future__ import annotations

import math
import os
import resource
import sys
from pathlib import Path


class PeakMemory:
    """The most memory that this process has held, in MB; the answer may be `every` seconds old.

    To ask the system takes 5 µs: too long for each of many cheap trials.
    """

    def __init__(self, every: float = 0.01) -> None:
        self._every, self._look_again_at, self._mb = every, -math.inf, 0.0

    def __call__(self, now: float) -> float:
        """`now` are the seconds of any clock, but always of the same one."""
        if now >= self._look_again_at:
            kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            self._mb = kilobytes / (2**20 if sys.platform == "darwin" else 2**10)
            self._look_again_at = now + self._every
        return self._mb


def cap_memory(extra_mb: int) -> None:
    """From now on this process may take `extra_mb` more than it holds; beyond that is a MemoryError."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # no /proc: we don't know how much we hold, so there is no cap
        return
    cap = pages * os.sysconf("SC_PAGE_SIZE") + extra_mb * 2**20
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (cap if hard == resource.RLIM_INFINITY else min(cap, hard), hard))
