"""What every engine has in common: who shows progress, and how everything is asked to stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from cfo_bench.clock import monotonic
from cfo_bench.errors import CfoBenchError
from cfo_bench.run.job import Job
from cfo_bench.run.live_page import Snapshot
from cfo_bench.run.supervisor import Verdict


@dataclass
class Active:
    """A run under way, for whoever shows progress: what its engine last heard of it."""

    job: Job
    snapshot: Snapshot = field(default_factory=lambda: Snapshot(None, 0, None))

    def elapsed(self) -> float:
        zero = self.snapshot.zero
        return 0.0 if zero is None else monotonic() - zero


class Progress(Protocol):
    """Who shows what happens: called from the main thread only."""

    def tick(self, active: Sequence[Active]) -> None: ...

    def said(self, text: str) -> None: ...

    def finished(self, job: Job, verdict: Verdict) -> None: ...


class Interrupted(CfoBenchError):
    """The user, or the system, asked us to stop."""

    def __init__(self, number: int) -> None:
        super().__init__("stopped: run the same command to go on where it stands")
        self.exit_code = 128 + number


@contextmanager
def signals_into(signals: list[int], stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM is noted and asks every run to `stop`; a second one leaves at once."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        if signals:
            os._exit(128 + number)  # the runs die with the process that they were forked from
        signals.append(number)
        stop()

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
