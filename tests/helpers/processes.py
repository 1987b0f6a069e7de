"""The processes that a test has started, found by a mark in their environment, and waiting for things."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def processes_with(mark: str) -> dict[int, str]:
    """Every living process with this mark in its environment: pid and command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            if mark.encode() not in (entry / "environ").read_bytes():
                continue
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:  # it ended while we looked
            continue
        if state != "Z":
            found[int(entry.name)] = command
    return found


def run_processes_with(mark: str) -> list[int]:
    """The runs' own processes: the children of a fork server, and theirs."""
    everything = processes_with(mark)
    servers = {pid for pid, command in everything.items() if "multiprocessing.forkserver" in command}
    return [pid for pid in servers if parent_of(pid) in servers]


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def wait_until(condition: Callable[[], object], what: str, seconds: float = 60.0, tick: float = 0.01) -> None:
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at, f"waited {seconds} s for {what}"
        time.sleep(tick)
