"""Several trials of one run at once: the loop of `search`, with processes that evaluate beside the method."""

from __future__ import annotations

import heapq
import math
import multiprocessing
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Protocol, runtime_checkable

from cfo_bench.clock import Clock, Deadline, SharedWallClock, VirtualClock
from cfo_bench.errors import Exhausted, RunError
from cfo_bench.machine.signals import die_with_parent, signal_name
from cfo_bench.records import (
    EndReason,
    Objective,
    Optimizer,
    Result,
    StartedTrial,
    Status,
    Trial,
    record_of,
)
from cfo_bench.run.search import Records, Referee, Watcher

# How long past its deadline an evaluator may take to give up by itself, before it is killed.
GRACE_SECONDS = 0.05


@runtime_checkable
class Pool(Protocol):
    """Evaluates several trials at once; only `next_done` waits."""

    def has_room(self) -> bool: ...

    def submit(self, trial: Trial, started: float) -> None: ...

    def next_done(self) -> tuple[Trial, Result, float] | None:
        """(trial, result, ended) of the first trial to end.

        None if, before that, there is room for another trial or the budget is spent.
        """


def search_parallel(
    optimizer: Optimizer,
    pool: Pool,
    clock: Clock,
    referee: Referee,
    watcher: Watcher | None = None,
    done: int = 0,
    untold: Sequence[tuple[Trial, float]] = (),
) -> Records:
    """As many trials at a time as the pool takes, until a limit is met; returns the reason.

    A resumed run has `done` trials already. It had asked for the `untold` ones, each at this second of
    the run's clock, and got no result: on the wall clock they start again, on the virtual clock they
    started back then.
    """
    limits = referee.limits
    under_way: dict[int, StartedTrial] = {}
    queue = list(untold)
    reason: EndReason | None = None
    while True:
        while reason is None:
            asked_at = clock.now()
            if asked_at >= limits.budget_seconds:
                reason = EndReason.BUDGET
            elif limits.max_trials is not None and done + len(under_way) >= limits.max_trials:
                reason = EndReason.MAX_TRIALS
            elif not pool.has_room():
                break
            else:
                if watcher:
                    watcher.asks(asked_at)
                try:
                    trial, since = (
                        queue.pop(0) if queue else (referee.ask(optimizer, done + len(under_way)), asked_at)
                    )
                except Exhausted:
                    reason = EndReason.EXHAUSTED
                    if watcher and under_way:
                        watcher.returned()  # it waits for results now
                    continue
                started = since if isinstance(clock, VirtualClock) else clock.now()
                begun = StartedTrial(trial, started, max(started - asked_at, 0.0))
                under_way[trial.number] = begun
                if watcher:
                    watcher.began(begun)
                pool.submit(trial, started)
        if not under_way and reason is not None:
            return reason
        ended_one = pool.next_done()
        if ended_one is None:
            continue
        trial, result, ended = ended_one
        begun = under_way.pop(trial.number)
        result = referee.judge(result, limits.trial_ends_at(begun.started), ended)
        score, asked = referee.score(result.loss), done + len(under_way) + len(queue) + 1
        if watcher:
            watcher.evaluated(begun, result, score, ended, asked)
        telling_at = clock.now()
        if watcher:
            watcher.tells(telling_at)
        try:
            referee.tell(optimizer, trial, result)
        except RunError:
            yield record_of(begun, result, score, ended, asked=asked)
            raise
        tell_seconds = clock.now() - telling_at
        if watcher:
            watcher.returned()
        done += 1
        yield record_of(begun, result, score, ended, tell_seconds, asked=asked)
        if reason is EndReason.EXHAUSTED:
            reason = None  # now that it was told of one more, the method may have something to ask for


class VirtualPool:
    """Evaluates on the virtual clock: trials end in the order of the seconds that the learner computes."""

    def __init__(self, objective: Objective, clock: VirtualClock, parallel: int, referee: Referee) -> None:
        self._objective, self._clock, self._parallel, self._referee = objective, clock, parallel, referee
        self._ends: list[tuple[float, int, Trial, Result]] = []

    def has_room(self) -> bool:
        return len(self._ends) < self._parallel

    def submit(self, trial: Trial, started: float) -> None:
        deadline = Deadline(VirtualClock(started), self._referee.limits.trial_ends_at(started))
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
        self.is_ready = False
        self.trial: Trial | None = None
        self.started, self.kill_at = 0.0, math.inf

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class ProcessPool:
    """Evaluates in processes: each prepares its own objective, and is killed past a trial's deadline.

    They are forked from the method's process. That is safe since it never trains, and has no threads.
    """

    def __init__(
        self,
        prepare: Callable[[], Objective],
        after_prepare: Callable[[], None],
        parallel: int,
        referee: Referee,
        clock: SharedWallClock,
    ) -> None:
        self._prepare, self._after_prepare = prepare, after_prepare
        self._referee, self._clock = referee, clock
        self._evaluators = [_Evaluator(self._serve) for _ in range(parallel)]
        for evaluator in self._evaluators:
            try:
                evaluator.pipe.recv()
            except EOFError:
                self.close()
                how = signal_name(evaluator.process.exitcode or 0)
                raise RunError(f"an evaluator died while it built the model's data: {how}") from None
            evaluator.is_ready = True

    def _serve(self, pipe: Connection) -> None:
        die_with_parent()
        objective = self._prepare()
        self._after_prepare()
        pipe.send("ready")
        while True:
            trial, at = pipe.recv()
            deadline = Deadline(self._clock, at)
            result = self._referee.evaluate(objective, trial, deadline)
            pipe.send((result, deadline.now()))

    def has_room(self) -> bool:
        return any(evaluator.is_ready and evaluator.trial is None for evaluator in self._evaluators)

    def submit(self, trial: Trial, started: float) -> None:
        evaluator = next(one for one in self._evaluators if one.is_ready and one.trial is None)
        at = self._referee.limits.trial_ends_at(started)
        evaluator.trial, evaluator.started, evaluator.kill_at = trial, started, at + GRACE_SECONDS
        with suppress(ConnectionError):  # the process is dead: next_done will notice
            evaluator.pipe.send((trial, at))

    def next_done(self) -> tuple[Trial, Result, float] | None:
        first = min(self._evaluators, key=lambda one: one.kill_at)
        over = min(first.kill_at, self._referee.limits.budget_seconds + GRACE_SECONDS)
        busy = [one for one in self._evaluators if one.trial is not None or not one.is_ready]
        ready = wait([one.pipe for one in busy], max(over - self._clock.now(), 0.0))
        if not ready:
            if self._clock.now() < over:  # the run was paused meanwhile
                return None
            return None if first.trial is None else self._replace(first, Status.TIMEOUT)
        evaluator = next(one for one in busy if one.pipe is ready[0])
        try:
            message = evaluator.pipe.recv()
        except (EOFError, ConnectionError):
            evaluator.process.join()
            how = signal_name(evaluator.process.exitcode or 0)
            if not evaluator.is_ready:
                raise RunError(f"an evaluator died while it built the model's data: {how}") from None
            return self._replace(evaluator, Status.FAILED, f"its process died: {how}")
        if not evaluator.is_ready:
            evaluator.is_ready = True
            return None
        result, ended = message
        # An evaluator that was paused may read the clock before the pause is taken off it.
        ended = min(ended, self._clock.now())
        return self._release(evaluator), result, ended

    def _replace(
        self, evaluator: _Evaluator, status: Status, error: str | None = None
    ) -> tuple[Trial, Result, float]:
        """Kills the evaluator and starts another one, which can take a trial once its data is built.

        Returns the trial that was being evaluated, with this status.
        """
        now = self._clock.now()
        evaluator.stop()
        trial = self._release(evaluator)
        if now < self._referee.limits.budget_seconds:
            self._evaluators[self._evaluators.index(evaluator)] = _Evaluator(self._serve)
        return trial, Result(status, None, now - evaluator.started, error=error), now

    @staticmethod
    def _release(evaluator: _Evaluator) -> Trial:
        trial, evaluator.trial, evaluator.kill_at = evaluator.trial, None, math.inf
        assert trial is not None
        return trial

    def close(self) -> None:
        for evaluator in self._evaluators:
            evaluator.stop()
