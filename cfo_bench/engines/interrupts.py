"""Ctrl-C and SIGTERM while an engine is at work."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# Whether a second signal ends this process at once. The program `cfo-bench` sets it; in somebody else's
# program or notebook, a second signal goes to whatever handled signals before.
exits_at_once = False


@contextmanager
def signals_into(signals: list[int], stop: Callable[[], None] = lambda: None) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM is added to `signals`, and `stop` is called: the engine then ends its runs.

    Only the main thread can handle signals: on another one, nothing is installed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}

    def on_signal(number: int, frame: FrameType | None) -> None:
        if not signals:
            signals.append(number)
            stop()
        elif exits_at_once:
            os._exit(128 + number)  # the runs die with the process that they were forked from
        else:
            signal.signal(number, before[number])
            signal.raise_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, on_signal)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
