"""Many runs on this machine, as many side by side as it holds, each in a process of its own."""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from cfo_bench.clock import monotonic
from cfo_bench.engines import capacity
from cfo_bench.engines.drive import Active, Interrupted, Progress, signals_into
from cfo_bench.errors import describe
from cfo_bench.processes import ForkServerContext
from cfo_bench.records import RunSpec
from cfo_bench.results.folder import is_held
from cfo_bench.run.job import Job
from cfo_bench.run.live_page import LivePage
from cfo_bench.run.supervisor import Outcome, Stop, Verdict, already_done, supervise

TICK_SECONDS = 0.2
# A supervisor that has not answered so long after its run's deadline is given up on.
GIVE_UP_SECONDS = 60.0
# How long runs may take to end when we fail ourselves.
STOP_SECONDS = 5.0
# How often a run that failed for a reason from outside is started in all.
TRIES = 3
# How often we look whether another command has let go of a run.
WAIT_SECONDS = 0.5


class LocalEngine:
    """So many `jobs` side by side, and never more than the machine has unless it is oversubscribed."""

    def __init__(self, *, jobs: int = 1, oversubscribe: bool = False) -> None:
        self._side_by_side, self._oversubscribe = jobs, oversubscribe

    def check(self) -> None:
        """Nothing is needed but this machine."""

    def at_once(self) -> int:
        return self._side_by_side

    def price(self, specs: Sequence[RunSpec]) -> str:
        return capacity.price(specs, self._side_by_side, "--jobs {}", capacity.of_machine())

    def run(
        self, jobs: Sequence[Job], progress: Progress, *, force: bool, context: ForkServerContext
    ) -> list[Verdict]:
        return run_jobs(jobs, self._side_by_side, context, force, progress, self._oversubscribe)


def run_jobs(
    jobs: Sequence[Job],
    side_by_side: int,
    context: ForkServerContext,
    force: bool,
    progress: Progress,
    oversubscribe: bool = False,
) -> list[Verdict]:
    """Every job's verdict, in order. A failure of one stops no other; Interrupted when asked to stop.

    A job without memory gets a fair share of the machine's. A run that another command is at is left
    to it, and taken up only if it lets go of it unfinished.
    """
    done = {} if force else {index: found for index, job in enumerate(jobs) if (found := already_done(job))}
    have = capacity.of_machine()
    specs = [job.spec for job in jobs]
    todo = [spec for index, spec in enumerate(specs) if index not in done]
    wanted = min(side_by_side, len(todo))
    fitting = wanted if oversubscribe else min(wanted, capacity.at_once(todo, have))
    specs = capacity.with_memory(specs, have, fitting)
    if not oversubscribe:
        capacity.check_each_fits(todo, have)
    if fitting < wanted:
        progress.said(
            f"--jobs {side_by_side}: {fitting} at a time, since this machine has {have} for runs; "
            "--oversubscribe runs them all"
        )
    engine = _Engine(
        [replace(job, spec=spec) for job, spec in zip(jobs, specs, strict=True)],
        capacity.Queue(specs, side_by_side, None if oversubscribe else have),
        context,
        force,
        progress,
    )
    return engine.run(done)


@dataclass
class Watched(Active):
    """A run whose page of memory is on this machine."""

    page: LivePage | None = None

    def refresh(self) -> None:
        if self.page is not None:
            with suppress(ValueError):  # the run ended and its page was closed between two looks
                self.snapshot = self.page.snapshot()


class _Engine:
    """Its one thread gives out the runs and hears of them; each run has a thread that supervises it."""

    def __init__(
        self,
        jobs: Sequence[Job],
        waiting: capacity.Queue,
        context: ForkServerContext,
        force: bool,
        progress: Progress,
    ) -> None:
        self._jobs, self._waiting, self._context, self._progress = jobs, waiting, context, progress
        self._forced = set(range(len(jobs))) if force else set()
        self._stop = Stop()
        self._signals: list[int] = []
        self._events: queue.SimpleQueue[tuple[int, str | Verdict]] = queue.SimpleQueue()
        self._verdicts: dict[int, Verdict] = {}
        self._active: dict[int, Watched] = {}
        self._threads: dict[int, threading.Thread] = {}
        self._starts: Counter[int] = Counter()
        self._elsewhere: set[int] = set()  # the runs that another command is at
        self._look_at = 0.0
        self._has_said_that_it_waits = False

    def run(self, done: dict[int, Verdict]) -> list[Verdict]:
        with signals_into(self._signals, self._stop.set), self._stopping():
            for index in range(len(self._jobs)):
                if index in done:
                    self._finish(index, done[index])
                else:
                    self._waiting.add(index)
            while len(self._verdicts) < len(self._jobs) and (self._active or not self._signals):
                if not self._signals:
                    self._look_elsewhere()
                    while (chosen := self._waiting.take()) is not None:
                        self._start(chosen)
                for index, event in self._next_events():
                    if isinstance(event, str):
                        self._progress.said(event)
                    elif index in self._active:  # else it was given up on
                        self._end(index, event)
                self._give_up_on_the_stuck()
                self._progress.tick(list(self._active.values()))
        if self._signals:
            raise Interrupted(self._signals[0])
        return [self._verdicts[index] for index in range(len(self._jobs))]

    def _start(self, index: int) -> None:
        self._starts[index] += 1
        watched = self._active[index] = Watched(self._jobs[index])
        thread = self._threads[index] = threading.Thread(
            target=self._supervise, args=(index, watched), daemon=True
        )
        thread.start()

    def _supervise(self, index: int, watched: Watched) -> None:
        """What a run's own thread does."""
        job, force = self._jobs[index], index in self._forced

        def show(page: LivePage) -> None:
            watched.page = page

        def say(text: str) -> None:
            self._events.put((index, text))

        try:
            # Another command may have done it since.
            verdict = (None if force else already_done(job)) or supervise(
                job, self._context, self._stop, force, say, show
            )
        except Exception as error:  # a defect of ours must not take the other runs along
            verdict = Verdict(Outcome.FAILED, 1, f"unexpected {describe(error)}")
        self._events.put((index, verdict))

    def _end(self, index: int, verdict: Verdict) -> None:
        """The run's supervisor is done; the run itself may be so, or need another start."""
        del self._active[index], self._threads[index]
        self._waiting.release(index)
        if verdict.outcome is Outcome.BUSY:
            self._elsewhere.add(index)
            self._forced.discard(index)  # it is being done right now: not once more
        elif verdict.outside and self._starts[index] < TRIES:
            self._progress.said(f"{verdict.message}: tried again ({self._starts[index] + 1} of {TRIES})")
            if verdict.has_begun:
                self._forced.discard(index)
            self._waiting.add(index)
        else:
            self._finish(index, verdict)

    def _finish(self, index: int, verdict: Verdict) -> None:
        self._verdicts[index] = verdict
        self._progress.finished(self._jobs[index], verdict)

    def _look_elsewhere(self) -> None:
        """When nothing else waits: the runs that another command has let go of, done or not."""
        if self._waiting or not self._elsewhere or monotonic() < self._look_at:
            return
        self._look_at = monotonic() + WAIT_SECONDS
        for index in sorted(self._elsewhere):
            if not is_held(self._jobs[index].trace_path):
                self._elsewhere.remove(index)
                self._starts[index] = 0
                self._waiting.add(index)
        if not (self._waiting or self._active or self._has_said_that_it_waits):
            count = len(self._elsewhere)
            self._progress.said(f"waiting for another cfo-bench, which is at {count} of the runs")
            self._has_said_that_it_waits = True

    def _give_up_on_the_stuck(self) -> None:
        for index, one in list(self._active.items()):
            one.refresh()
            if one.elapsed() > one.job.spec.budget_seconds + GIVE_UP_SECONDS:
                # Not tried again here: its page stays locked by the supervisor that hangs.
                del self._active[index], self._threads[index]
                self._waiting.release(index)
                message = "its supervisor did not answer: given up"
                self._finish(index, Verdict(Outcome.FAILED, 1, message, outside=True))

    def _next_events(self) -> Iterator[tuple[int, str | Verdict]]:
        """What has happened since, after waiting for it a tick at the most."""
        try:
            yield self._events.get(timeout=TICK_SECONDS)
            while True:
                yield self._events.get_nowait()
        except queue.Empty:
            return

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """When we fail, such as on a stderr that nobody reads any more, no run goes on unattended."""
        try:
            yield
        except BaseException:
            self._stop.set()
            for thread in self._threads.values():
                thread.join(STOP_SECONDS)
            raise
