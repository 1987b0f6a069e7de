"""What a result's provenance says of the machine, and what a process can do to itself on it."""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import os
import platform
import resource
import signal
import sys
from importlib import metadata
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from cfo_bench import __version__, cgroups

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "xgboost-cpu", "xgboost", "lightgbm", "torch")

# What asks us to stop. The fork server blocks them, and so do its children until they have their handlers.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)

# One thread a run: set before numpy is first imported, or its BLAS has started its own.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def total_memory_mb() -> int:
    """What this process and its children may hold together."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    limit = cgroups.memory_limit_mb()
    return there if limit is None else min(there, limit)


def cores() -> int:
    """Cores that this process and its children may use."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole_cores(there, cgroups.cpu_limit())


def whole_cores(there: int, quota: float | None) -> int:
    """A part of a core is none to give to a thread, but there is always one."""
    return there if quota is None else max(1, min(there, int(quota)))


def provenance() -> dict[str, Any]:
    """Everything about here that may explain a difference between two runs; `contention` knows the now."""
    return {
        "cfo_bench": {"version": __version__, "commit": _commit()},
        "machine": {
            "cpu": _cpu_model(),
            "cores": cores(),
            "memory_mb": total_memory_mb(),
            "os": platform.platform(),
        },
        "python": platform.python_version(),
        "packages": {name: version for name in _PACKAGES if (version := _version(name)) is not None},
    }


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


def die_with_parent() -> None:
    """Ask the kernel to kill this process when the one it was forked from is gone, however that happens."""
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
    # The fork server lives as long as somebody holds this pipe: its children must not, or they and it
    # would keep each other alive after the death of the process that all of them work for.
    server: Any = forkserver._forkserver
    if server._forkserver_alive_fd is not None:
        os.close(server._forkserver_alive_fd)
        server._forkserver_alive_fd = None
    starter = multiprocessing.parent_process()
    if starter is not None and not starter.is_alive():  # it was gone before we asked
        os._exit(1)


def leave_stopping_to_others() -> None:
    """Ctrl-C and SIGTERM reach every process of a group: what becomes of this one, its supervisor decides.

    A handler that does nothing, since a signal that is ignored would stay so in programs started from here.
    """
    for number in STOP_SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


def signal_name(exit_code: int) -> str:
    """How a process ended, from a negative exit code."""
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"exit code {exit_code}"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the checkout that this code runs from; None for an installed wheel."""
    git = Path(__file__).resolve().parent.parent / ".git"
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        ref = head.removeprefix("ref: ")
        if (git / ref).is_file():
            return (git / ref).read_text().strip()
        packed = (git / "packed-refs").read_text().splitlines()
        return next((line.split()[0] for line in packed if line.endswith(f" {ref}")), None)
    except OSError:
        return None


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
