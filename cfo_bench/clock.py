"""The only place that reads the time.

A run's clock starts at 0 when the method is first asked. The wall clock counts from `zero`, a moment of
the machine's monotonic clock. All processes of a machine share that clock, so that a supervisor knows when
the budget of another process ends. The virtual clock moves only by the seconds that it is given.
"""

from __future__ import annotations

import mmap
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Seconds of one run."""

    def now(self) -> float: ...

    def account(self, seconds: float) -> None:
        """Add the seconds of an evaluation to the virtual clock; the wall clock has moved by itself."""

    def rewind(self, moment: float) -> None:
        """Set the clock back to an earlier moment, so that the time since then does not count."""


class WallClock:
    """Real seconds; the clock of a resumed run starts at the `elapsed` seconds."""

    def __init__(self, elapsed: float = 0.0) -> None:
        self.zero = time.perf_counter() - elapsed
        self.latest = elapsed  # the last reading

    def now(self) -> float:
        self.latest = now = time.perf_counter() - self.zero
        return now

    def account(self, seconds: float) -> None:
        pass

    def rewind(self, moment: float) -> None:
        self.zero = time.perf_counter() - moment
        self.latest = moment


class SharedWallClock(WallClock):
    """A wall clock that this process shares with its forks: if one sets it back, all see it."""

    def __init__(self, elapsed: float = 0.0) -> None:
        self._shared = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("d")
        super().__init__(elapsed)

    @property
    def zero(self) -> float:
        return self._shared[0]

    @zero.setter
    def zero(self, moment: float) -> None:
        self._shared[0] = moment

    @property
    def latest(self) -> float:
        """The last reading in any of the processes."""
        return self._shared[1]

    @latest.setter
    def latest(self, moment: float) -> None:
        self._shared[1] = moment


class VirtualClock:
    """Seconds that evaluations report: hours pass in milliseconds, the same on every machine."""

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
    """When a trial has to end, on the run's clock. A learner checks `passed()` each round or batch.

    Parameters
    ----------
    clock : Clock
        The clock of the run.
    at : float
        The second of that clock at which the trial has to end; by default never.
    """

    clock: Clock
    at: float = float("inf")

    def now(self) -> float:
        """Read the clock of the run.

        Returns
        -------
        float
            The seconds since the run started.
        """
        return self.clock.now()

    def passed(self) -> bool:
        """Check whether the trial has to end now.

        Returns
        -------
        bool
            True from the second `at` on.
        """
        return self.clock.now() >= self.at


def monotonic() -> float:
    """The machine's monotonic seconds: the scale of `WallClock.zero`."""
    return time.perf_counter()


def process_seconds() -> float:
    """The processor seconds of all threads of this process."""
    return time.process_time()


def process_seconds_of(pid: int) -> float:
    """The processor seconds of another process; 0 if it has ended."""
    try:
        return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid(3) computes it on Linux
    except OSError:
        return 0.0


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def unix_now() -> float:
    """Seconds since 1970, as in the modification times of files."""
    return time.time()


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
