"""This machine: its cores, its memory, and what a trace's header says of it."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from cfo_bench import __version__
from cfo_bench.machine import cgroups

_PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "xgboost-cpu", "xgboost", "lightgbm", "torch")


def total_memory_mb() -> int:
    """How much memory this process and its children may hold together."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    limit = cgroups.memory_limit_mb()
    return there if limit is None else min(there, limit)


def cores() -> int:
    """How many cores this process and its children may use."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return whole_cores(there, cgroups.cpu_limit())


def whole_cores(there: int, quota: float | None) -> int:
    """The cores that threads can be given: a part of one does not count, and there is at least one."""
    return there if quota is None else max(1, min(there, int(quota)))


def provenance() -> dict[str, Any]:
    """What may explain a difference between two runs: versions and machine; not how busy it is."""
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
    """The commit of a checkout, read from its files; a `git worktree` has its branches in another folder."""
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
