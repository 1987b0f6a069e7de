"""The loop of one run on its clock: ask, evaluate, tell, yield."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol

from cfo_bench.clock import Clock, Deadline
from cfo_bench.errors import CfoBenchError, Exhausted, RunError
from cfo_bench.records import EndReason, Objective, Optimizer, Result, Status, Trial, TrialRecord
from cfo_bench.space import Space

Records = Generator[TrialRecord, None, EndReason]


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a run (`budget_seconds`, `max_trials`) and what ends a trial."""

    budget_seconds: float
    max_trials: int | None = None
    trial_timeout_seconds: float | None = None

    def trial_ends_at(self, started: float) -> float:
        if self.trial_timeout_seconds is None:
            return self.budget_seconds
        return min(self.budget_seconds, started + self.trial_timeout_seconds)


class Watcher(Protocol):
    """Is told of each trial before it is evaluated and before it is told to the method."""

    def began(self, trial: Trial, started: float, ask_seconds: float) -> None: ...

    def evaluated(self, trial: Trial, result: Result, score: float | None, ended: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Referee:
    """The rules that are the same for one trial at a time and for several: what counts, and how it reads."""

    space: Space
    limits: Limits
    to_score: Callable[[float], float] = float
    peak_memory_mb: Callable[[float], float | None] = lambda now: None

    def ask(self, optimizer: Optimizer, number: int) -> Trial:
        """The method's next trial, which must have that number and lie in the space."""
        try:
            trial = optimizer.ask()
            self.space.check(trial.config)
            if trial.number != number:
                raise ValueError(f"trial {trial.number} in place of {number}: count them from 0 on")
        except Exhausted:
            raise
        except Exception as error:
            raise RunError(f"the method failed in ask: {describe(error)}") from error
        return trial

    def tell(self, optimizer: Optimizer, trial: Trial, result: Result) -> None:
        try:
            optimizer.tell(trial, result)
        except Exception as error:
            raise RunError(f"the method failed in tell: {describe(error)}") from error

    def evaluate(self, objective: Objective, trial: Trial, deadline: Deadline) -> Result:
        """The objective's result; whatever it raises, or a loss that is no number, is a failed trial."""
        began = deadline.now()
        try:
            status, loss, fit_seconds, validate_seconds, _, error = objective.evaluate(trial, deadline)
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
    """One trial after the other until a limit is met; returns which.

    `done` trials were told before, the best of them with `best_loss`. Each new incumbent is put to
    the `test`, off the clock.
    """
    limits = referee.limits
    deadline = Deadline(clock, limits.budget_seconds)
    while True:
        asked_at = clock.now()
        if asked_at >= limits.budget_seconds:
            return EndReason.BUDGET
        if limits.max_trials is not None and done >= limits.max_trials:
            return EndReason.MAX_TRIALS
        try:
            trial = referee.ask(optimizer, done)
        except Exhausted:
            return EndReason.EXHAUSTED
        started = clock.now()
        if watcher:
            watcher.began(trial, started, started - asked_at)
        if limits.trial_timeout_seconds is not None:
            deadline = Deadline(clock, limits.trial_ends_at(started))
        result = referee.evaluate(objective, trial, deadline)
        clock.account(result.fit_seconds + result.validate_seconds)
        ended = clock.now()
        result = referee.judge(result, deadline.at, ended)
        score = referee.score(result.loss)
        if watcher:
            # A trial that ended in time counts, even if the method does not survive being told.
            watcher.evaluated(trial, result, score, ended)
        test_score = None
        if result.loss is not None and result.loss < best_loss:
            best_loss = result.loss
            test_score = referee.score(test())
        telling_at = clock.now()
        try:
            referee.tell(optimizer, trial, result)
        except RunError:
            yield record_of(trial, result, score, started, ended, started - asked_at, None, test_score)
            raise
        tell_seconds = clock.now() - telling_at
        done += 1
        yield record_of(trial, result, score, started, ended, started - asked_at, tell_seconds, test_score)


def record_of(
    trial: Trial,
    result: Result,
    score: float | None,
    started: float,
    ended: float,
    ask_seconds: float,
    tell_seconds: float | None,
    test_score: float | None = None,
    asked: int | None = None,
) -> TrialRecord:
    status, loss, fit_seconds, validate_seconds, peak_memory_mb, error = result
    # Not by name: that takes three times as long, and a cheap trial has few microseconds to spare.
    return TrialRecord._make(
        (
            trial.number,
            trial.config,
            trial.rows,
            trial.thread,
            status,
            loss,
            score,
            started,
            ended,
            ask_seconds,
            fit_seconds,
            validate_seconds,
            tell_seconds,
            peak_memory_mb,
            error,
            test_score,
            asked,
        )
    )


def describe(error: BaseException) -> str:
    """An exception in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, CfoBenchError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
