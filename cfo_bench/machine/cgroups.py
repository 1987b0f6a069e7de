"""What the control groups of Linux leave this process: batch systems and containers set them.

Version 2 has one tree of groups, version 1 one for each controller, and both may be there at once. A
group's limit holds for all below it, so that the tightest one from ours up to the root counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_SELF = Path("/proc/self")


def cpu_limit(proc: Path = _SELF) -> float | None:
    """How many cores' worth of time our groups may use; None without a limit."""
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
    """What our groups may hold; None without a limit. Version 1 writes none as an absurdly high one."""
    limits = []
    for group, is_v2 in _groups(proc, "memory"):
        (limit,) = _words(group / ("memory.max" if is_v2 else "memory.limit_in_bytes"), 1)
        if limit.isdecimal():
            limits.append(int(limit) // 2**20)
    return min(limits, default=None)


def _groups(proc: Path, controller: str) -> Iterator[tuple[Path, bool]]:
    """The folder of our group and those of the groups around it, each with whether it is version 2."""
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
        # In a container, the mount may show a part of the tree only, and our name be that of outside.
        inside = name.removeprefix(root) if root != "/" else name
        top = Path(mount.encode().decode("unicode_escape"))
        here = top.joinpath(*(part for part in Path(inside).parts if part not in ("/", "..")))
        for group in (here, *here.parents):
            yield group, kind == "cgroup2"
            if group == top:
                break


def _names(proc: Path) -> dict[str, str]:
    """Our group in the tree of each controller; that of version 2 by the empty name."""
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
    """The words of a one-line file, or as many empty ones: a group need not have every file."""
    try:
        words = path.read_text().split()
    except OSError:
        words = []
    return words if len(words) == count else [""] * count
