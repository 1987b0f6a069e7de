"""What Linux tells of processes in /proc. Elsewhere nothing is known, and that is no error."""

from __future__ import annotations

import os

_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def stat(pid: int) -> list[bytes]:
    """The fields of /proc/<pid>/stat from the state on; empty where there is no such process."""
    # The command stands before them in parentheses, and may contain anything.
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def is_stopped(fields: list[bytes]) -> bool:
    """Whether the process of these `stat` fields is stopped, by a signal or a debugger."""
    return fields[:1] in ([b"T"], [b"t"])


def children(pid: int) -> list[int]:
    """The processes that its main thread has forked, and that have not ended."""
    return list(map(int, _read(f"/proc/{pid}/task/{pid}/children").split()))


def seconds_run(fields: list[bytes]) -> float:
    """How long the process of these `stat` fields, and children that it waited for, had a processor."""
    return sum(map(int, fields[11:15])) / _TICKS_A_SECOND


def seconds_waited() -> float:
    """How long this thread was ready to run, while others had the processors."""
    fields = _read("/proc/thread-self/schedstat").split()
    return int(fields[1]) / 1e9 if len(fields) == 3 else 0.0


def slowness() -> float:
    """How many times longer than on an idle machine this thread has taken so far; 1 where it is not known."""
    fields = _read("/proc/thread-self/schedstat").split()
    run, waited = (int(fields[0]), int(fields[1])) if len(fields) == 3 else (1, 0)
    return (run + waited) / max(run, 1)


def age_seconds() -> float:
    """How long ago this process was started; 0 where that is not known."""
    fields, uptime = stat(os.getpid()), _read("/proc/uptime").split()
    if len(fields) < 20 or not uptime:
        return 0.0
    return max(float(uptime[0]) - int(fields[19]) / _TICKS_A_SECOND, 0.0)


def _read(path: str) -> bytes:
    """Not by `Path`, which takes several times as long: supervisors do this several times a second."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(fd, 4096)
    except OSError:  # it ended while we looked
        return b""
    finally:
        os.close(fd)
