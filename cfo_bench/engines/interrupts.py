"""Ctrl-C and SIGTERM while an engine is at work."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from cfo_bench.errors import CfoBenchError


class Interrupted(CfoBenchError):
    """The user, or the system, asked us to stop."""

    def __init__(self, number: int) -> None:
        super().__init__("stopped: run the same command to go on where it stands")
        self.exit_code = 128 + number


@contextmanager
def signals_into(signals: list[int]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM is added to `signals`; a second one ends this process at once."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        if signals:
            os._exit(128 + number)  # the runs die with the process that they were forked from
        signals.append(number)

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
