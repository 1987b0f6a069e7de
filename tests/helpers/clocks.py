"""Clocks and deadlines for tests of learners."""

from __future__ import annotations

from cfo_bench.clock import Deadline, VirtualClock, WallClock


def forever() -> Deadline:
    """A deadline that never passes."""
    return Deadline(WallClock())


class CountingClock(VirtualClock):
    """A second passes each time somebody reads it."""

    def now(self) -> float:
        self.account(1.0)
        return super().now()
