"""A process knows how often it was continued."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

from cfo_bench.machine.processes import counting_continuations, times_continued


def counted(action: Callable[[], None]) -> int:
    before = times_continued()
    action()
    after = times_continued()
    assert before is not None and after is not None
    return after - before


def test_continuations_are_counted_and_others_hear_of_them_too() -> None:
    heard: list[int] = []
    handler = signal.signal(signal.SIGCONT, lambda number, frame: heard.append(number))
    try:
        with counting_continuations(), counting_continuations():
            assert counted(lambda: None) == 0
            assert counted(lambda: os.kill(os.getpid(), signal.SIGCONT)) >= 1
        assert heard == [signal.SIGCONT]
        os.kill(os.getpid(), signal.SIGCONT)
        assert len(heard) == 2
    finally:
        signal.signal(signal.SIGCONT, handler)


def test_where_nobody_counts_nothing_is_known() -> None:
    assert times_continued() is None
    found: list[int | None] = []

    def on_another_thread() -> None:
        with counting_continuations():
            found.append(times_continued())

    thread = threading.Thread(target=on_another_thread)
    thread.start()
    thread.join()
    assert found == [None]
