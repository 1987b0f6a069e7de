"""How busy the machine is: its load, and the time that a hypervisor gave to other machines."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Ticks:
    """Clock ticks of all processors since the machine started."""

    total: int
    stolen: int  # that the hypervisor gave to other machines


def ticks() -> Ticks | None:
    """The ticks up to now; None where the system does not count them."""
    try:
        with Path("/proc/stat").open("rb") as file:
            # user nice system idle iowait irq softirq steal; what guests took is in user and nice.
            counts = [int(word) for word in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    return Ticks(sum(counts), counts[7]) if len(counts) == 8 else None


def steal_percent(since: Ticks | None) -> float | None:
    """Which percentage of the machine's time since then its hypervisor gave to others."""
    now = ticks()
    if since is None or now is None or now.total <= since.total:
        return None
    return round(100 * max(now.stolen - since.stolen, 0) / (now.total - since.total), 1)


def load() -> float:
    """How many processes ran or waited to run, on average over the last minute."""
    return round(os.getloadavg()[0], 2)


# Read when the command, or the cluster's worker, started: a run's process is forked after that.
_BEGAN = ticks()


def at_start() -> dict[str, Any]:
    """How busy this machine is now, for the header of a run that starts here."""
    return {
        "node": platform.node(),
        "cpus": os.cpu_count(),
        "load": load(),
        "load_5min": round(os.getloadavg()[1], 2),
        "steal_percent": steal_percent(_BEGAN),
    }
