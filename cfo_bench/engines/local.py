"""Many runs on this machine, `n` side by side, each in a process of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext

from cfo_bench.engines.drive import Active, Interrupted, Progress, signals_into
from cfo_bench.live import LivePage
from cfo_bench.runner import Job
from cfo_bench.search import describe
from cfo_bench.supervisor import Outcome, Stop, Verdict, supervise

TICK_SECONDS = 0.2
# A supervisor that has not answered so long after its run's deadline is given up on.
GIVE_UP_SECONDS = 60.0
# How long runs may take to end when we fail ourselves.
STOP_SECONDS = 5.0


@dataclass
class Watched(Active):
    """A run whose page of memory is on this machine."""

    page: LivePage | None = None

    def refresh(self) -> None:
        if self.page is not None:
            with suppress(ValueError):  # the run ended and its page was closed between two looks
                self.snapshot = self.page.snapshot()


def run_jobs(
    jobs: Sequence[Job], side_by_side: int, context: ForkServerContext, force: bool, progress: Progress
) -> list[Verdict]:
    """Every job's verdict, in order. A failure of one stops no other; Interrupted when asked to stop."""
    stop = Stop()
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    events: queue.SimpleQueue[tuple[int, str | Verdict]] = queue.SimpleQueue()
    for index in range(len(jobs)):
        todo.put(index)
    verdicts: dict[int, Verdict] = {}
    active: dict[int, Watched] = {}
    signals: list[int] = []

    def work() -> None:
        while not signals:
            try:
                index = todo.get_nowait()
            except queue.Empty:
                return
            mine = active[index] = Watched(jobs[index])

            def show(page: LivePage, mine: Watched = mine) -> None:
                mine.page = page

            def say(text: str, index: int = index) -> None:
                events.put((index, text))

            try:
                verdict = supervise(jobs[index], context, stop, force, say, show)
            except Exception as error:  # a defect of ours must not take the other runs along
                verdict = Verdict(Outcome.FAILED, 1, f"unexpected {describe(error)}")
            events.put((index, verdict))

    threads: list[threading.Thread] = []

    def start_thread() -> None:
        threads.append(threading.Thread(target=work, daemon=True))
        threads[-1].start()

    with signals_into(signals, stop.set), _stopping(stop, threads):
        for _ in range(min(side_by_side, len(jobs))):
            start_thread()
        while len(verdicts) < len(jobs):
            is_over = bool(signals) and not any(thread.is_alive() for thread in threads)
            for index, event in _next_events(events):
                if isinstance(event, str):
                    progress.said(event)
                elif index not in verdicts:
                    active.pop(index, None)
                    verdicts[index] = event
                    progress.finished(jobs[index], event)
            if is_over:
                break
            for index, one in list(active.items()):
                one.refresh()
                if one.elapsed() > jobs[index].spec.budget_seconds + GIVE_UP_SECONDS:
                    events.put((index, Verdict(Outcome.FAILED, 1, "its supervisor did not answer: given up")))
                    start_thread()  # in place of the one that is stuck
            progress.tick(list(active.values()))
    if signals:
        raise Interrupted(signals[0])
    return [verdicts[index] for index in range(len(jobs))]


def _next_events(events: queue.SimpleQueue[tuple[int, str | Verdict]]) -> Iterator[tuple[int, str | Verdict]]:
    """What has happened since, after waiting for it a tick at the most."""
    try:
        yield events.get(timeout=TICK_SECONDS)
        while True:
            yield events.get_nowait()
    except queue.Empty:
        return


@contextmanager
def _stopping(stop: Stop, threads: Sequence[threading.Thread]) -> Iterator[None]:
    """When we fail, such as on a stderr that nobody reads any more, no run goes on unattended."""
    try:
        yield
    except BaseException:
        stop.set()
        for thread in threads:
            thread.join(STOP_SECONDS)
        raise
