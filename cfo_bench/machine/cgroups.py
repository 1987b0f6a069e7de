"""The limits of Linux control groups, which batch systems and containers set for their processes.

Version 2 has one tree of groups, version 1 one for each controller, and a system may have both. A
group's limit holds for all groups below it: the lowest one between ours and the root counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_SELF = Path("/proc/self")


def cpu_limit(proc: Path = _SELF) -> float | None:
    """How many cores this process may use, such as 3.5; None without a limit."""
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
    """How much memory this process may hold; None without a limit, which version 1 writes as a huge one."""
    limits = []
    for group, is_v2 in _groups(proc, "memory"):
        (limit,) = _words(group / ("memory.max" if is_v2 else "memory.limit_in_bytes"), 1)
        if limit.isdecimal():
            limits.append(int(limit) // 2**20)
    return min(limits, default=None)


def _groups(proc: Path, controller: str) -> Iterator[tuple[Path, bool]]:
    """The folders of our group and its ancestors, each with whether it is version 2."""
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
        # In a container, the mount may show only a part of the tree, while our name is the one outside.
        inside = name.removeprefix(root) if root != "/" else name
        top = Path(mount.encode().decode("unicode_escape"))
        here = top.joinpath(*(part for part in Path(inside).parts if part not in ("/", "..")))
        for group in (here, *here.parents):
            yield group, kind == "cgroup2"
            if group == top:
                break


def _names(proc: Path) -> dict[str, str]:
    """Our group's name in the tree of each controller; the tree of version 2 has the controller `""`."""
    found = {}
    for line in _lines(proc / "cgroup"):
        _, controllers, name = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), name))
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:  # no Linux
        return []


def _words(path: Path, count: int) -> list[str]:
    """The words of a one-line file; as many empty ones where the file is missing, as it may be."""
    try:
        words = path.read_text().split()
    except OSError:
        words = []
    return words if len(words) == count else [""] * count
