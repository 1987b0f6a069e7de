"""The memory of a process: how much it has held at most, and a cap on what it may take."""

from __future__ import annotations

import math
import os
import resource
import sys
from pathlib import Path


class PeakMemory:
    """The most memory this process has held, in MB: as it was `every` seconds ago or less.

    Asking the system takes 5 µs in the middle of a run, which a cheap trial would notice each time.
    """

    def __init__(self, every: float = 0.01) -> None:
        self._every, self._look_again_at, self._mb = every, -math.inf, 0.0

    def __call__(self, now: float) -> float:
        """`now` is on any clock, as long as it is the same one each time."""
        if now >= self._look_again_at:
            kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            self._mb = kilobytes / (2**20 if sys.platform == "darwin" else 2**10)
            self._look_again_at = now + self._every
        return self._mb


def cap_memory(extra_mb: int) -> None:
    """From here on this process may take `extra_mb` more than it holds; asking for more is a MemoryError."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # no /proc: the system can't say what we hold, so nothing can be capped
        return
    cap = pages * os.sysconf("SC_PAGE_SIZE") + extra_mb * 2**20
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (cap if hard == resource.RLIM_INFINITY else min(cap, hard), hard))
