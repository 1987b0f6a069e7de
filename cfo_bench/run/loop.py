"""Several trials of one run at once: the loop of `search`, with processes that evaluate beside the method."""

from __future__ import annotations

import heapq
import math
import multiprocessing
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Protocol, TypeVar, runtime_checkable

from cfo_bench.clock import Clock, Deadline, SharedWallClock, VirtualClock, monotonic
from cfo_bench.errors import Exhausted, RunError, describe
from cfo_bench.machine.processes import die_with_parent, signal_name
from cfo_bench.records import (
    EndReason,
    Objective,
    Optimizer,
    Result,
    StartedTrial,
    Status,
    Trial,
)
from cfo_bench.results.schema import TrialRecord, trial_record
from cfo_bench.run.plugin_checks import checked_result, checked_trial
from cfo_bench.space import Space

# --- charging --------------------------------------------------------------------------------------
# `--charge-method`: the virtual clock also moves by the seconds that the method really takes.


T = TypeVar("T")


class Charged:
    """A method whose own seconds, in ask and in tell, are put on the run's clock."""

    def __init__(self, optimizer: Optimizer, clock: Clock) -> None:
        self._optimizer, self._clock = optimizer, clock

    def ask(self) -> Trial:
        return self._timed(self._optimizer.ask)

    def tell(self, trial: Trial, result: Result) -> None:
        self._timed(lambda: self._optimizer.tell(trial, result))

    def _timed(self, call: Callable[[], T]) -> T:
        began = monotonic()
        try:
            return call()
        finally:
            self._clock.account(monotonic() - began)


# --- search ----------------------------------------------------------------------------------------
# The loop of one run: ask, evaluate, tell, and yield a record, until the budget is spent.


Records = Generator[TrialRecord, None, EndReason]


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a run, and what ends a trial; None is no limit."""

    budget_seconds: float  # of the whole run
    max_trials: int | None = None  # of the whole run
    trial_timeout_seconds: float | None = None  # of each trial

    def trial_ends_at(self, started: float) -> float:
        """The deadline of a trial, in seconds of the run's clock."""
        if self.trial_timeout_seconds is None:
            return self.budget_seconds
        return min(self.budget_seconds, started + self.trial_timeout_seconds)


class Watcher(Protocol):
    """Hears when a trial starts, has a result and a test score, and when the method is called."""

    def asks(self, since: float) -> None:
        """The method is being asked, until `began` or `returned`."""

    def tells(self, since: float) -> None:
        """The method is being told, until `returned`."""

    def returned(self) -> None: ...

    def began(self, begun: StartedTrial) -> None: ...

    def evaluated(
        self, begun: StartedTrial, result: Result, score: float | None, ended: float, asked: int | None = None
    ) -> None:
        """The method has not been told of it yet."""

    def tested(self, record: TrialRecord) -> None:
        """A new incumbent has a test score. The method has not been told of it yet."""


@dataclass(frozen=True, slots=True)
class Referee:
    """Calls the method and the objective, and decides what counts.

    The rules are the same for one trial at a time and for several.
    """

    space: Space  # every configuration has to lie in it
    limits: Limits
    to_score: Callable[[float], float] = float  # a loss as people read it
    peak_memory_mb: Callable[[float], float | None] = lambda now: None  # takes the seconds of a clock

    def ask(self, optimizer: Optimizer, number: int) -> Trial:
        """The method's next trial: it has to have this number, and lie in the space."""
        try:
            return checked_trial(optimizer.ask(), number, self.space)
        except Exhausted:
            raise
        except Exception as error:
            raise RunError(f"the method failed in ask: {describe(error)}") from error

    def tell(self, optimizer: Optimizer, trial: Trial, result: Result) -> None:
        try:
            optimizer.tell(trial, result)
        except Exception as error:
            raise RunError(f"the method failed in tell: {describe(error)}") from error

    def evaluate(self, objective: Objective, trial: Trial, deadline: Deadline) -> Result:
        """The objective's result. If it raises, or gives no result or finite loss, the trial has failed."""
        began = deadline.now()
        try:
            result = checked_result(objective.evaluate(trial, deadline))
            status, loss, fit_seconds, validate_seconds, _, error = result
        except Exception as failure:
            status = Status.MEMORY if isinstance(failure, MemoryError) else Status.FAILED
            loss, fit_seconds, validate_seconds = None, deadline.now() - began, 0.0
            error = describe(failure)
        if status is not Status.OK:
            loss = None
        elif loss is None or not math.isfinite(loss):
            status, loss, error = Status.FAILED, None, f"the loss is {loss}"
        peak = self.peak_memory_mb(began + fit_seconds + validate_seconds)
        return Result(status, loss, fit_seconds, validate_seconds, peak, error)

    def judge(self, result: Result, due: float, ended: float) -> Result:
        """A trial that ended past its deadline is a timeout, whatever it found."""
        if result.status is Status.OK and ended > due:
            return result._replace(status=Status.TIMEOUT, loss=None)
        return result

    def score(self, loss: float | None) -> float | None:
        """The loss as people read it, of a result that was judged."""
        return None if loss is None else self.to_score(loss)


def search(
    optimizer: Optimizer,
    objective: Objective,
    clock: Clock,
    referee: Referee,
    watcher: Watcher | None = None,
    done: int = 0,
    best_loss: float = math.inf,
    test: Callable[[], float | None] = lambda: None,
) -> Records:
    """One trial after the other until a limit is met; returns the reason.

    A resumed run has `done` trials already, the best of them with `best_loss`. `test` gives the test
    loss of each new best model; it stops the clock meanwhile.
    """
    limits = referee.limits
    deadline = Deadline(clock, limits.budget_seconds)
    while True:
        asked_at = clock.now()
        if asked_at >= limits.budget_seconds:
            return EndReason.BUDGET
        if limits.max_trials is not None and done >= limits.max_trials:
            return EndReason.MAX_TRIALS
        if watcher:
            watcher.asks(asked_at)
        try:
            trial = referee.ask(optimizer, done)
        except Exhausted:
            return EndReason.EXHAUSTED
        started = clock.now()
        begun = StartedTrial(trial, started, started - asked_at)
        if watcher:
            watcher.began(begun)
        if limits.trial_timeout_seconds is not None:
            deadline = Deadline(clock, limits.trial_ends_at(started))
        result = referee.evaluate(objective, trial, deadline)
        clock.account(result.fit_seconds + result.validate_seconds)
        ended = clock.now()
        result = referee.judge(result, deadline.at, ended)
        score = referee.score(result.loss)
        if watcher:
            # A trial that ended in time counts, even if the method fails when it is told.
            watcher.evaluated(begun, result, score, ended)
        test_score = None
        if result.loss is not None and result.loss < best_loss:
            best_loss = result.loss
            test_score = referee.score(test())
            if watcher and test_score is not None:
                # Before the method is told: a tell that is cut off must not take the score away.
                watcher.tested(trial_record(begun, result, score, ended, test_score=test_score))
        telling_at = clock.now()
        if watcher:
            watcher.tells(telling_at)
        try:
            referee.tell(optimizer, trial, result)
        except RunError:
            yield trial_record(begun, result, score, ended, None, test_score)
            raise
        tell_seconds = clock.now() - telling_at
        if watcher:
            watcher.returned()
        done += 1
        yield trial_record(begun, result, score, ended, tell_seconds, test_score)


# --- parallel --------------------------------------------------------------------------------------


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
            yield trial_record(begun, result, score, ended, asked=asked)
            raise
        tell_seconds = clock.now() - telling_at
        if watcher:
            watcher.returned()
        done += 1
        yield trial_record(begun, result, score, ended, tell_seconds, asked=asked)
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
