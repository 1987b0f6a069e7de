"""What a process leaves behind when it ends: the processes that it started, and their own.

On Linux a process can ask to become the parent of orphans below it. So nothing that a run starts gets out
of sight, not even by a double fork or a new session, and it can be ended when the run is over.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress

from cfo_bench.clock import monotonic, sleep
from cfo_bench.machine import proc

# How long killed processes may take to end, and how often we look.
_PATIENCE_SECONDS, _LOOK_SECONDS = 2.0, 0.002


def adopt_orphans() -> None:
    """From now on this process is the parent of every orphan among its descendants."""
    if sys.platform == "linux":
        set_child_subreaper = 36  # PR_SET_CHILD_SUBREAPER
        ctypes.CDLL(None).prctl(set_child_subreaper, 1)


def end_children(parent: int, but: Collection[int] = ()) -> None:
    """Kills the children of a process that adopts orphans, and all their descendants; not those in `but`."""
    give_up_at = monotonic() + _PATIENCE_SECONDS
    while True:
        children = _living_by_parent()
        found = [pid for pid in children.get(parent, ()) if pid not in but]
        if not found or monotonic() > give_up_at:
            return
        for pid in _with_descendants(found, children):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        sleep(_LOOK_SECONDS)  # what was started meanwhile is adopted, and found the next time


def _with_descendants(pids: Iterable[int], children: dict[int, list[int]]) -> list[int]:
    found: list[int] = []
    for pid in pids:
        found += [pid, *_with_descendants(children.get(pid, ()), children)]
    return found


def _living_by_parent() -> dict[int, list[int]]:
    """The process ids of all children of each process; empty where the system has no /proc."""
    found: dict[int, list[int]] = {}
    with suppress(OSError):
        for name in os.listdir("/proc"):
            fields = proc.stat(int(name)) if name.isdecimal() else []
            if fields and fields[0] not in (b"Z", b"X"):
                found.setdefault(int(fields[1]), []).append(int(name))
    return found
