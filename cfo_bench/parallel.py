"""Several trials of one run at once: the loop of `search`, with evaluators beside the method."""

from __future__ import annotations

import heapq
import multiprocessing
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Protocol, runtime_checkable

from cfo_bench.clock import Clock, Deadline, VirtualClock
from cfo_bench.errors import Exhausted
from cfo_bench.machine import die_with_parent, signal_name
from cfo_bench.records import EndReason, Objective, Optimizer, Result, Status, Trial
from cfo_bench.search import Records, Referee, Watcher

# How long past its deadline an evaluator may take to give up by itself, before it is killed.
GRACE_SECONDS = 0.1


@runtime_checkable
class Pool(Protocol):
    """Evaluators: `submit` never waits, `next_done` gives (trial, result, ended) of the first to end."""

    def submit(self, trial: Trial, started: float) -> None: ...

    def next_done(self) -> tuple[Trial, Result, float]: ...


def search_parallel(
    optimizer: Optimizer,
    pool: Pool,
    workers: int,
    clock: Clock,
    referee: Referee,
    watcher: Watcher | None = None,
    done: int = 0,
    waiting: Sequence[Trial] = (),
) -> Records:
    """`workers` trials at a time until a limit is met. `waiting` ones were asked for before a resume."""
    limits = referee.limits
    under_way: dict[int, tuple[float, float]] = {}
    queue = list(waiting)
    reason: EndReason | None = None
    while True:
        while reason is None and len(under_way) < workers:
            asked_at = clock.now()
            if asked_at >= limits.budget_seconds:
                reason = EndReason.BUDGET
            elif limits.max_trials is not None and done + len(under_way) >= limits.max_trials:
                reason = EndReason.MAX_TRIALS
            else:
                try:
                    trial = queue.pop(0) if queue else referee.ask(optimizer)
                except Exhausted:
                    reason = EndReason.EXHAUSTED
                    continue
                started = clock.now()
                under_way[trial.number] = (started, started - asked_at)
                if watcher:
                    watcher.began(trial, started, started - asked_at)
                pool.submit(trial, started)
        if not under_way:
            assert reason is not None  # the loop above fills up unless a reason stops it
            return reason
        trial, result, ended = pool.next_done()
        started, ask_seconds = under_way.pop(trial.number)
        result = referee.judge(result, started, ended)
        if watcher:
            watcher.evaluated(referee.record(trial, result, started, ended, ask_seconds))
        telling_at = clock.now()
        referee.tell(optimizer, trial, result)
        done += 1
        yield referee.record(trial, result, started, ended, ask_seconds, clock.now() - telling_at)
        if reason is EndReason.EXHAUSTED:
            reason = None  # what was just told may open a way on


class VirtualPool:
    """Evaluators on the virtual clock: trials end in the order of their analytic seconds."""

    def __init__(self, objective: Objective, clock: VirtualClock, referee: Referee) -> None:
        self._objective, self._clock, self._referee = objective, clock, referee
        self._ends: list[tuple[float, int, Trial, Result]] = []

    def submit(self, trial: Trial, started: float) -> None:
        deadline = Deadline(self._clock, self._referee.limits.trial_ends_at(started))
        result = self._referee.evaluate(self._objective, trial, deadline)
        ended = started + result.fit_seconds + result.validate_seconds
        heapq.heappush(self._ends, (ended, trial.number, trial, result))

    def next_done(self) -> tuple[Trial, Result, float]:
        ended, _, trial, result = heapq.heappop(self._ends)
        self._clock.account(max(ended - self._clock.now(), 0.0))
        return trial, result, ended


class _Evaluator:
    """One forked process that evaluates what it is sent."""

    def __init__(self, serve: Callable[[Connection], None]) -> None:
        fork = multiprocessing.get_context("fork")
        self.pipe, theirs = fork.Pipe()
        self.process = fork.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.trial: Trial | None = None
        self.axe_at = 0.0

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class ProcessPool:
    """Evaluators as processes: each prepares its own objective, and is killed past a trial's deadline.

    They are forked from the method's process, which never trains and so has no threads to lose.
    """

    def __init__(
        self,
        prepare: Callable[[], Objective],
        after_prepare: Callable[[], None],
        workers: int,
        referee: Referee,
    ) -> None:
        self._prepare, self._after_prepare, self._referee = prepare, after_prepare, referee
        self._clock: Clock | None = None
        self._evaluators = [_Evaluator(self._serve) for _ in range(workers)]
        for evaluator in self._evaluators:
            evaluator.pipe.recv()  # "ready"

    def start_clock(self, clock: Clock) -> None:
        self._clock = clock

    def _serve(self, pipe: Connection) -> None:
        die_with_parent()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        objective = self._prepare()
        self._after_prepare()
        pipe.send("ready")
        while True:
            trial, deadline = pipe.recv()
            result = self._referee.evaluate(objective, trial, deadline)
            pipe.send((result, deadline.now()))

    def submit(self, trial: Trial, started: float) -> None:
        evaluator = next(evaluator for evaluator in self._evaluators if evaluator.trial is None)
        assert self._clock is not None
        deadline = Deadline(self._clock, self._referee.limits.trial_ends_at(started))
        evaluator.trial, evaluator.axe_at = trial, deadline.at + GRACE_SECONDS
        evaluator.pipe.send((trial, deadline))

    def next_done(self) -> tuple[Trial, Result, float]:
        assert self._clock is not None
        busy = [evaluator for evaluator in self._evaluators if evaluator.trial is not None]
        while True:
            first_axe = min(evaluator.axe_at for evaluator in busy)
            ready = wait([evaluator.pipe for evaluator in busy], max(first_axe - self._clock.now(), 0.0))
            if not ready:
                evaluator = min(busy, key=lambda one: one.axe_at)
                result = Result(Status.TIMEOUT)
                break
            evaluator = next(evaluator for evaluator in busy if evaluator.pipe is ready[0])
            try:
                message = evaluator.pipe.recv()
            except (EOFError, ConnectionError):
                evaluator.process.join()
                result = Result(
                    Status.FAILED, error=f"its process died: {signal_name(evaluator.process.exitcode or 0)}"
                )
                break
            if message != "ready":  # one that took a dead one's place says so when its data is built
                result, ended = message
                return self._release(evaluator), result, ended
        now = self._clock.now()
        evaluator.stop()
        trial = self._release(evaluator)
        if now < self._referee.limits.budget_seconds:
            self._evaluators[self._evaluators.index(evaluator)] = _Evaluator(self._serve)
        return trial, result, now

    @staticmethod
    def _release(evaluator: _Evaluator) -> Trial:
        trial, evaluator.trial = evaluator.trial, None
        assert trial is not None
        return trial

    def close(self) -> None:
        for evaluator in self._evaluators:
            evaluator.stop()
