"""The only place that reads the time.

A run's clock starts at 0 when the method is first asked. The wall clock is the machine's
monotonic clock, which all its processes share, so that a supervisor can read off the moment
`zero` when the budget of another process ends. The virtual clock moves only when it is told to.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Seconds of one run."""

    def now(self) -> float: ...

    def account(self, seconds: float) -> None:
        """Seconds that an evaluation says it took: they have passed already, or pass now."""

    def rewind(self, moment: float) -> None:
        """Go on from an earlier moment: what passed since is charged to nobody."""


class WallClock:
    """Real seconds since the clock's start; `elapsed` is where a resumed run stood."""

    def __init__(self, elapsed: float = 0.0) -> None:
        self.zero = time.perf_counter() - elapsed

    def now(self) -> float:
        return time.perf_counter() - self.zero

    def account(self, seconds: float) -> None:
        pass

    def rewind(self, moment: float) -> None:
        self.zero = time.perf_counter() - moment


class VirtualClock:
    """Seconds that pass when an evaluation says so: hours in milliseconds, the same everywhere."""

    def __init__(self, elapsed: float = 0.0) -> None:
        self._now = elapsed

    def now(self) -> float:
        return self._now

    def account(self, seconds: float) -> None:
        self._now += seconds

    def rewind(self, moment: float) -> None:
        self._now = moment


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of a run's clock, as a learner sees it: check `passed()` each round or batch."""

    clock: Clock
    at: float = float("inf")

    def now(self) -> float:
        return self.clock.now()

    def passed(self) -> bool:
        return self.clock.now() >= self.at


def monotonic() -> float:
    """The machine's monotonic seconds: the scale of `WallClock.zero`."""
    return time.perf_counter()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def unix_now() -> float:
    """Seconds on the scale that files are stamped with."""
    return time.time()


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
