"""Who shows what an engine does, and what an engine tells about a run under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cfo_bench.clock import monotonic
from cfo_bench.run.job import Job
from cfo_bench.run.live_page import Snapshot
from cfo_bench.run.supervisor import Verdict


@dataclass
class Active:
    """A run under way."""

    job: Job
    snapshot: Snapshot = field(default_factory=lambda: Snapshot(None, 0, None))  # what its engine heard last

    def elapsed(self) -> float:
        """Seconds on the run's clock; 0 before it starts."""
        zero = self.snapshot.zero
        return 0.0 if zero is None else monotonic() - zero


class Listener(Protocol):
    """An engine calls it from the main thread only."""

    def tick(self, active: Sequence[Active]) -> None:
        """Several times a second: the runs that are under way now."""

    def said(self, text: str) -> None:
        """A message for the user, in one line."""

    def warned(self, text: str) -> None:
        """A message that the user gets also with --quiet."""

    def finished(self, job: Job, verdict: Verdict) -> None:
        """Once for each run, when nothing more will be done about it."""
