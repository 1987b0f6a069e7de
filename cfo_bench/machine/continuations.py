"""How often this process was continued after a stop: Ctrl-Z and `fg`, SIGSTOP and SIGCONT.

A process that is frozen with its container, or halted with its virtual machine, hears nothing of it. So
whether there was a signal tells the one from the other.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Count:
    """Of the whole process: signals come to all of it."""

    times = 0
    counters = 0  # who counts at the moment


def times_continued() -> int | None:
    """None where nobody counts."""
    return _Count.times if _Count.counters else None


@contextmanager
def counting_continuations() -> Iterator[None]:
    """Only the main thread can handle signals: on another one, nothing is counted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGCONT)

    def on_continue(number: int, frame: Any) -> None:
        _Count.times += 1
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGCONT, on_continue)
    signal.siginterrupt(signal.SIGCONT, False)
    _Count.counters += 1
    try:
        yield
    finally:
        _Count.counters -= 1
        signal.signal(signal.SIGCONT, before if before is not None else signal.SIG_DFL)
