"""This machine: its cores, memory and load, and its facts for the header of a trace."""

from __future__ import annotations

import math
import os
import platform
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from cfo_bench import __version__

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "xgboost-cpu", "xgboost", "lightgbm", "torch")


def total_memory_mb() -> int:
    """The memory that this process and its children may use together."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    limit = memory_limit_mb()
    return installed if limit is None else min(installed, limit)


def cores() -> int:
    """The number of cores that this process and its children may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole_cores(usable, cpu_limit())


def whole_cores(usable: int, quota: float | None) -> int:
    """The number of cores for threads: a fraction of a core does not count, but the result is at least 1."""
    return usable if quota is None else max(1, min(usable, int(quota)))


def provenance() -> dict[str, Any]:
    """Facts that may explain a difference between two runs: versions and machine, without its load."""
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


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the checkout that this code runs from; None for an installed wheel."""
    return commit_of(Path(__file__).resolve().parents[2])


def commit_of(checkout: Path) -> str | None:
    """The commit of a checkout, read from its files. A `git worktree` has its branches in another folder."""
    git = checkout / ".git"
    try:
        if git.is_file():
            git = checkout / git.read_text().removeprefix("gitdir: ").strip()
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        ref = head.removeprefix("ref: ")
        if (git / "commondir").is_file():
            git = git / (git / "commondir").read_text().strip()
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


# --- limits of Linux control groups, set by batch systems and containers ----------------------------


# Version 2 has one tree of groups, version 1 one for each controller, and a system may have both. A
# group's limit applies to all groups below it: the lowest limit from our group to the root counts.
_SELF = Path("/proc/self")


def cpu_limit(proc: Path = _SELF) -> float | None:
    """The number of cores that this process may use, such as 3.5; None without a limit."""
    limits = []
    for group, is_v2 in _groups(proc, "cpu"):
        if is_v2:
            quota, period = _words(group / "cpu.max", 2)
        else:
            (quota,), (period,) = (
                _words(group / "cpu.cfs_quota_us", 1),
                _words(group / "cpu.cfs_period_us", 1),
            )
        if quota.isdecimal() and period.isdecimal() and int(period) > 0:  # else it is "max", or -1
            limits.append(int(quota) / int(period))
    return min(limits, default=None)


def memory_limit_mb(proc: Path = _SELF) -> int | None:
    """The memory that this process may use; None if there is no limit, which version 1 writes as a huge
    number.
    """
    limits = []
    for group, is_v2 in _groups(proc, "memory"):
        (limit,) = _words(group / ("memory.max" if is_v2 else "memory.limit_in_bytes"), 1)
        if limit.isdecimal():
            limits.append(int(limit) // 2**20)
    return min(limits, default=None)


def _groups(proc: Path, controller: str) -> Iterator[tuple[Path, bool]]:
    """The folders of our group and its ancestors, each with a flag for version 2."""
    names = _names(proc)
    for line in _lines(proc / "mountinfo"):
        where, _, what = line.partition(" - ")
        kind, _, options = what.partition(" ")
        if kind == "cgroup2":
            name = names.get("")
        elif kind == "cgroup" and controller in options.rpartition(" ")[2].split(","):
            name = names.get(controller)
        else:
            continue
        if name is None:
            continue
        root, mount = where.split()[3:5]
        # In a container, the mount may be only a part of the tree, while the name of our group is that of the
        # host.
        inside = name.removeprefix(root) if root != "/" else name
        top = Path(mount.encode().decode("unicode_escape"))
        ours = top.joinpath(*(part for part in Path(inside).parts if part not in ("/", "..")))
        for group in (ours, *ours.parents):
            yield group, kind == "cgroup2"
            if group == top:
                break


def _names(proc: Path) -> dict[str, str]:
    """The name of our group in the tree of each controller; the controller of version 2 is `""`."""
    names = {}
    for line in _lines(proc / "cgroup"):
        _, controllers, name = line.split(":", 2)
        names.update(dict.fromkeys(controllers.split(","), name))
    return names


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:  # no Linux
        return []


def _words(path: Path, count: int) -> list[str]:
    """The words of a one-line file; the same number of empty words if the file is missing."""
    try:
        words = path.read_text().split()
    except OSError:
        words = []
    return words if len(words) == count else [""] * count


# --- how busy the machine is ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ticks:
    """Clock ticks of all processors since the machine started."""

    total: int
    stolen: int  # given to other machines by the hypervisor


def ticks() -> Ticks | None:
    """The ticks up to now; None if the system does not count them."""
    try:
        with Path("/proc/stat").open("rb") as file:
            # user nice system idle iowait irq softirq steal; the time of guests is included in user and nice.
            counts = [int(word) for word in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    return Ticks(sum(counts), counts[7]) if len(counts) == 8 else None


def steal_percent(since: Ticks | None) -> float | None:
    """The percentage of the machine's time since then that its hypervisor gave to other machines."""
    now = ticks()
    if since is None or now is None or now.total <= since.total:
        return None
    return round(100 * max(now.stolen - since.stolen, 0) / (now.total - since.total), 1)


def machine_load() -> float:
    """The number of processes that ran or waited to run, on average over the last minute."""
    return round(os.getloadavg()[0], 2)


# Read when the command, or the cluster's worker, started: a run's process is forked after that.
_BEGAN = ticks()


def at_start() -> dict[str, Any]:
    """The load of this machine now, for the header of a run that starts here."""
    return {
        "node": platform.node(),
        "cpus": os.cpu_count(),
        "load": machine_load(),
        "load_5min": round(os.getloadavg()[1], 2),
        "steal_percent": steal_percent(_BEGAN),
    }


# --- the memory of a process ------------------------------------------------------------------------


class PeakMemory:
    """The peak memory of this process in MB; the value may be `every` seconds old.

    Reading it from the system takes 25 µs, too long for each of many cheap trials.
    """

    def __init__(self, every: float = 0.1) -> None:
        self._every, self._look_again_at, self._mb = every, -math.inf, 0.0

    def __call__(self, now: float) -> float:
        """`now` is a reading of any clock, but always of the same clock."""
        if now >= self._look_again_at:
            self._mb = _peak_mb()
            self._look_again_at = now + self._every
        return self._mb


def _peak_mb() -> float:
    """Linux's `ru_maxrss` includes the peak of the process that started this one, so /proc is read first."""
    try:
        with open("/proc/self/status", "rb") as status:
            return int(status.read().partition(b"VmHWM:")[2].split(maxsplit=1)[0]) / 2**10
    except (OSError, IndexError):  # no /proc, or one without the line
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return kilobytes / (2**20 if sys.platform == "darwin" else 2**10)


def cap_memory(extra_mb: int) -> None:
    """Limits this process to `extra_mb` more than it uses now; beyond that, a MemoryError is raised."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # without /proc the present size is not known, so there is no cap
        return
    cap = pages * os.sysconf("SC_PAGE_SIZE") + extra_mb * 2**20
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (cap if hard == resource.RLIM_INFINITY else min(cap, hard), hard))
