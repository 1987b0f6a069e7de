"""The loop of one run: ask, evaluate, tell, and yield a record, until the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol

from cfo_bench.clock import Clock, Deadline
from cfo_bench.errors import Exhausted, RunError, describe
from cfo_bench.records import (
    EndReason,
    Objective,
    Optimizer,
    Result,
    StartedTrial,
    Status,
    Trial,
    TrialRecord,
    record_of,
)
from cfo_bench.run.plugin_checks import checked_result, checked_trial
from cfo_bench.space import Space

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
                watcher.tested(record_of(begun, result, score, ended, test_score=test_score))
        telling_at = clock.now()
        if watcher:
            watcher.tells(telling_at)
        try:
            referee.tell(optimizer, trial, result)
        except RunError:
            yield record_of(begun, result, score, ended, None, test_score)
            raise
        tell_seconds = clock.now() - telling_at
        if watcher:
            watcher.returned()
        done += 1
        yield record_of(begun, result, score, ended, tell_seconds, test_score)
