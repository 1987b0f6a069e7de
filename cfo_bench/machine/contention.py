"""Who else wanted the machine: its load, and what a hypervisor kept from it."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Ticks:
    """Clock ticks of all the machine's processors since it started, and those that were stolen."""

    total: int
    stolen: int


def ticks() -> Ticks | None:
    """None where the system does not count them."""
    try:
        with Path("/proc/stat").open("rb") as file:
            # user nice system idle iowait irq softirq steal; what guests took is in user and nice.
            counts = [int(word) for word in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    return Ticks(sum(counts), counts[7]) if len(counts) == 8 else None


def steal_percent(since: Ticks | None) -> float | None:
    """The share of the machine's time since then that its hypervisor gave to others."""
    now = ticks()
    if since is None or now is None or now.total <= since.total:
        return None
    return round(100 * max(now.stolen - since.stolen, 0) / (now.total - since.total), 1)


def load() -> float:
    """Processes that ran or waited to run, on average over the last minute."""
    return round(os.getloadavg()[0], 2)


# A run's process is forked from one that read this when the command, or the cluster's worker, began.
_BEGAN = ticks()


def at_start() -> dict[str, Any]:
    """What a header says of a run's own moment, on its own node."""
    return {
        "node": platform.node(),
        "cpus": os.cpu_count(),
        "load": load(),
        "load_5min": round(os.getloadavg()[1], 2),
        "steal_percent": steal_percent(_BEGAN),
    }
