"""The loop of a run: ask, evaluate and tell, and yield a record of each trial, until a limit is reached.

A pool evaluates the trials: one at a time in this process (`InProcessPool`), several on the virtual clock
(`VirtualPool`), or several in separate processes (`ProcessPool`). The `Referee` calls the method and the
objective, and decides which results count.
"""

from __future__ import annotations

import heapq
import math
import multiprocessing
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from cfo_bench.clock import Clock, Deadline, SharedWallClock, VirtualClock, monotonic
from cfo_bench.errors import Exhausted, RunError, describe
from cfo_bench.machine.processes import die_with_parent, signal_name
from cfo_bench.records import EndReason, Objective, Optimizer, Result, StartedTrial, Status, Trial
from cfo_bench.results.schema import TrialRecord, trial_record
from cfo_bench.run.plugin_checks import checked_result, checked_trial
from cfo_bench.run.recovery import GRACE_SECONDS, is_for_memory
from cfo_bench.space import Space

Records = Generator[TrialRecord, None, EndReason]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a run and of its trials; None means no limit."""

    budget_seconds: float  # of the whole run
    max_trials: int | None = None  # of the whole run
    trial_timeout_seconds: float | None = None  # of each trial

    def trial_ends_at(self, started: float) -> float:
        """The deadline of a trial, in seconds of the run's clock."""
        if self.trial_timeout_seconds is None:
            return self.budget_seconds
        return min(self.budget_seconds, started + self.trial_timeout_seconds)


class Watcher(Protocol):
    """Its functions are called when a trial starts, has a result or a test score, and when the method is
    called.
    """

    def asks(self, since: float) -> None:
        """The method is being asked, until `began` or `returned`."""

    def tells(self, since: float) -> None:
        """The method is receiving a result, until `returned`."""

    def returned(self) -> None: ...

    def began(self, begun: StartedTrial) -> None: ...

    def evaluated(
        self, begun: StartedTrial, result: Result, score: float | None, ended: float, asked: int | None
    ) -> None:
        """The trial has a result, which the method has not received yet."""

    def tested(self, record: TrialRecord) -> None:
        """A new incumbent has a test score, and the method has not received its result yet."""


class Evaluated(NamedTuple):
    """A trial that was evaluated."""

    trial: Trial
    result: Result
    ended: float  # in seconds of the run's clock


class Pool(Protocol):
    """Evaluates up to `size` trials in parallel; only `next_done` waits."""

    size: int

    def has_room(self) -> bool:
        """Whether a trial can be submitted now."""

    def submit(self, trial: Trial, started: float) -> None: ...

    def next_done(self) -> Evaluated | None:
        """The first trial to end; None if another trial can be submitted, or the budget ends, before that."""


def search(
    optimizer: Optimizer,
    pool: Pool,
    clock: Clock,
    referee: Referee,
    watcher: Watcher | None = None,
    *,
    done: int = 0,
    untold: Sequence[tuple[Trial, float]] = (),
    best_loss: float = math.inf,
    test: Callable[[], float | None] | None = None,
) -> Records:
    """Evaluates as many trials in parallel as the pool supports, until a limit is reached; returns the
    reason.

    A resumed run already has `done` trials, the best of them with `best_loss`. Its method had asked for the
    `untold` trials, each at the given second of the run's clock, and received no result: on the wall clock
    they start again, on the virtual clock they keep their start times. `test` returns the test loss of a new
    incumbent, if the pool evaluates one trial at a time; it stops the clock meanwhile.
    """
    limits, running, queue = referee.limits, dict[int, StartedTrial](), list(untold)
    is_exhausted = False  # the method had nothing to ask for, and has received no result since
    while True:
        reason = EndReason.EXHAUSTED if is_exhausted else None
        while reason is None and pool.has_room():
            asked_at = clock.now()
            if asked_at >= limits.budget_seconds:
                reason = EndReason.BUDGET
                break
            if limits.max_trials is not None and done + len(running) >= limits.max_trials:
                reason = EndReason.MAX_TRIALS
                break
            if watcher:
                watcher.asks(asked_at)
            if queue:
                (trial, since), ask_cpu_seconds = queue.pop(0), None
                started = since if isinstance(clock, VirtualClock) else clock.now()
            else:
                try:
                    trial, ask_cpu_seconds = referee.ask(optimizer, done + len(running))
                except Exhausted:
                    reason, is_exhausted = EndReason.EXHAUSTED, True
                    if watcher and running:
                        watcher.returned()  # the method waits for results
                    break
                started = clock.now()
            begun = StartedTrial(trial, started, max(started - asked_at, 0.0), ask_cpu_seconds)
            running[trial.number] = begun
            if watcher:
                watcher.began(begun)
            pool.submit(trial, started)
        if reason is not None and not running:
            return reason
        evaluated = pool.next_done()
        if evaluated is None:
            continue
        trial, result, ended = evaluated
        begun = running.pop(trial.number)
        result = referee.judge(result, limits.trial_ends_at(begun.started), ended)
        score = referee.score(result.loss)
        # The number of trials asked for so far; without parallel trials, it follows from the trial's number.
        asked = done + len(running) + len(queue) + 1 if pool.size > 1 else None
        if watcher:
            # A trial that ended in time counts, even if the method then fails in `tell`.
            watcher.evaluated(begun, result, score, ended, asked)
        test_score = None
        if result.loss is not None and result.loss < best_loss:
            best_loss = result.loss
            test_score = referee.score(test()) if test else None
            if watcher and test_score is not None:
                # Before the tell: if it is cut off, the score must not be lost.
                watcher.tested(trial_record(begun, result, score, ended, None, test_score, asked))
        telling_at = clock.now()
        if watcher:
            watcher.tells(telling_at)
        try:
            tell_cpu_seconds = referee.tell(optimizer, trial, result)
        except RunError:
            yield trial_record(begun, result, score, ended, None, test_score, asked)
            raise
        tell_seconds = clock.now() - telling_at
        if watcher:
            watcher.returned()
        done += 1
        is_exhausted = False  # with a new result, the method may have something to ask for
        yield trial_record(begun, result, score, ended, tell_seconds, test_score, asked, tell_cpu_seconds)


@dataclass(frozen=True, slots=True)
class Referee:
    """Calls the method and the objective, and decides which results count."""

    space: Space  # every configuration must be in it
    limits: Limits
    to_score: Callable[[float], float] = float  # the score of a loss
    peak_memory_mb: Callable[[float], float | None] = lambda now: None  # takes the seconds of a clock
    # Processor seconds so far of all evaluating threads, and of the threads of the method; NaN: not measured.
    learner_cpu_seconds: Callable[[], float] = lambda: math.nan
    method_cpu_seconds: Callable[[], float] = lambda: math.nan

    def ask(self, optimizer: Optimizer, number: int) -> tuple[Trial, float | None]:
        """The next trial, which must have this number and be in the space; and the processor seconds."""
        before = self.method_cpu_seconds()
        try:
            trial = checked_trial(optimizer.ask(), number, self.space)
        except Exhausted:
            raise
        except Exception as error:
            raise RunError(f"the method failed in ask: {describe(error)}") from error
        return trial, _used(before, self.method_cpu_seconds())

    def tell(self, optimizer: Optimizer, trial: Trial, result: Result) -> float | None:
        """Pass a result to the method, and return the processor seconds of its `tell`."""
        before = self.method_cpu_seconds()
        try:
            optimizer.tell(trial, result)
        except Exception as error:
            raise RunError(f"the method failed in tell: {describe(error)}") from error
        return _used(before, self.method_cpu_seconds())

    def evaluate(self, objective: Objective, trial: Trial, deadline: Deadline) -> Result:
        """The objective's result. If it raises, or returns no result or no finite loss, the trial has
        failed.
        """
        began, before = deadline.now(), self.learner_cpu_seconds()
        try:
            result = checked_result(objective.evaluate(trial, deadline))
            status, loss, fit_seconds, validate_seconds, _, error, _ = result
        except Exception as failure:
            status = Status.MEMORY if isinstance(failure, MemoryError) else Status.FAILED
            loss, fit_seconds, validate_seconds = None, deadline.now() - began, 0.0
            error = describe(failure)
        if status is not Status.OK:
            loss = None
        elif loss is None or not math.isfinite(loss):
            status, loss, error = Status.FAILED, None, f"the loss is {loss}"
        peak = self.peak_memory_mb(began + fit_seconds + validate_seconds)
        cpu_seconds = _used(before, self.learner_cpu_seconds())
        return Result(status, loss, fit_seconds, validate_seconds, peak, error, cpu_seconds)

    def judge(self, result: Result, due: float, ended: float) -> Result:
        """The result that counts: a trial that ended past its deadline is a timeout, whatever its
        result is.
        """
        if result.status is Status.OK and ended > due:
            return result._replace(status=Status.TIMEOUT, loss=None)
        return result

    def score(self, loss: float | None) -> float | None:
        """The score of a loss; None without a loss."""
        return None if loss is None else self.to_score(loss)


def _used(before: float, after: float) -> float | None:
    return None if math.isnan(before) else max(after - before, 0.0)


T = TypeVar("T")


class Charged:
    """A method whose time in ask and tell is added to the run's virtual clock (`charge_method`)."""

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


# --- pools ----------------------------------------------------------------------------------------


class InProcessPool:
    """Evaluates one trial at a time, in this process, on any clock."""

    size = 1

    def __init__(self, objective: Objective, clock: Clock, referee: Referee) -> None:
        self.objective, self._clock, self._referee = objective, clock, referee
        self._deadline = Deadline(clock, referee.limits.budget_seconds)
        self._trial: Trial | None = None

    def has_room(self) -> bool:
        return self._trial is None

    def submit(self, trial: Trial, started: float) -> None:
        self._trial = trial
        if self._referee.limits.trial_timeout_seconds is not None:
            self._deadline = Deadline(self._clock, self._referee.limits.trial_ends_at(started))

    def next_done(self) -> Evaluated:
        trial, self._trial = self._trial, None
        assert trial is not None
        result = self._referee.evaluate(self.objective, trial, self._deadline)
        self._clock.account(result.seconds)
        return Evaluated(trial, result, self._clock.now())


class VirtualPool:
    """Evaluates on the virtual clock: trials end in the order of the seconds that the learner computes."""

    def __init__(self, objective: Objective, clock: VirtualClock, parallel: int, referee: Referee) -> None:
        self._objective, self._clock, self._referee = objective, clock, referee
        self.size = parallel
        self._ends: list[tuple[float, int, Trial, Result]] = []

    def has_room(self) -> bool:
        return len(self._ends) < self.size

    def submit(self, trial: Trial, started: float) -> None:
        deadline = Deadline(VirtualClock(started), self._referee.limits.trial_ends_at(started))
        result = self._referee.evaluate(self._objective, trial, deadline)
        ended = started + result.fit_seconds + result.validate_seconds
        heapq.heappush(self._ends, (ended, trial.number, trial, result))

    def next_done(self) -> Evaluated:
        ended, _, trial, result = heapq.heappop(self._ends)
        self._clock.account(max(ended - self._clock.now(), 0.0))
        return Evaluated(trial, result, ended)


class ProcessPool:
    """Evaluates in processes: each prepares its own objective, and is killed past a trial's deadline.

    Forking from the method's process is safe, because it never trains and has no threads.
    """

    def __init__(
        self,
        prepare: Callable[[], Objective],
        after_prepare: Callable[[], None],
        parallel: int,
        referee: Referee,
        clock: SharedWallClock,
        log_path: Path | None = None,
    ) -> None:
        self._prepare, self._after_prepare = prepare, after_prepare
        self._log_path, self._log_read = log_path, 0  # the evaluators' output; how far it was read
        self._referee, self._clock, self.size = referee, clock, parallel
        self._evaluators = [_Evaluator(self._serve) for _ in range(parallel)]
        for evaluator in self._evaluators:
            try:
                evaluator.pipe.recv()
            except EOFError:
                error = evaluator.not_prepared()
                self.close()
                raise error from None
            evaluator.is_ready = True

    def _serve(self, pipe: Connection) -> None:
        """The work of an evaluator's process."""
        die_with_parent()
        objective = self._prepare()
        self._after_prepare()
        pipe.send("ready")
        while True:
            trial, due = pipe.recv()
            deadline = Deadline(self._clock, due)
            result = self._referee.evaluate(objective, trial, deadline)
            pipe.send((result, deadline.now()))

    def has_room(self) -> bool:
        return any(evaluator.is_free for evaluator in self._evaluators)

    def submit(self, trial: Trial, started: float) -> None:
        evaluator = next(evaluator for evaluator in self._evaluators if evaluator.is_free)
        due = self._referee.limits.trial_ends_at(started)
        evaluator.trial, evaluator.started, evaluator.kill_at = trial, started, due + GRACE_SECONDS
        with suppress(ConnectionError):  # the process is dead, which next_done will detect
            evaluator.pipe.send((trial, due))

    def next_done(self) -> Evaluated | None:
        first = min(self._evaluators, key=lambda evaluator: evaluator.kill_at)
        over = min(first.kill_at, self._referee.limits.budget_seconds + GRACE_SECONDS)
        busy = [evaluator for evaluator in self._evaluators if not evaluator.is_free]
        ready = wait([evaluator.pipe for evaluator in busy], max(over - self._clock.now(), 0.0))
        if not ready:
            if self._clock.now() < over:  # the run was paused meanwhile
                return None
            return None if first.trial is None else self._replace(first, Status.TIMEOUT)
        evaluator = next(evaluator for evaluator in busy if evaluator.pipe is ready[0])
        try:
            message = evaluator.pipe.recv()
        except (EOFError, ConnectionError):
            if not evaluator.is_ready:
                raise evaluator.not_prepared() from None
            how_it_died = evaluator.how_it_died()
            has_no_memory = is_for_memory(evaluator.process.exitcode or 0, self._new_output())
            status = Status.MEMORY if has_no_memory else Status.FAILED
            return self._replace(evaluator, status, f"its process died: {how_it_died}")
        if not evaluator.is_ready:
            evaluator.is_ready = True
            return None
        result, ended = message
        # An evaluator that was paused may read the clock before the pause is taken off.
        return Evaluated(evaluator.release(), result, min(ended, self._clock.now()))

    def _new_output(self) -> str:
        """The output of the evaluators since the previous death of one."""
        try:
            output = self._log_path.read_bytes()[self._log_read :] if self._log_path else b""
        except OSError:  # somebody removed it
            return ""
        self._log_read += len(output)
        return output.decode(errors="replace")

    def _replace(self, evaluator: _Evaluator, status: Status, error: str | None = None) -> Evaluated:
        """Kills the evaluator and starts another one, which accepts a trial when its data is prepared.

        Returns the trial that was being evaluated, with this status.
        """
        now = self._clock.now()
        evaluator.stop()
        trial = evaluator.release()
        if now < self._referee.limits.budget_seconds:
            self._evaluators[self._evaluators.index(evaluator)] = _Evaluator(self._serve)
        return Evaluated(trial, Result(status, None, now - evaluator.started, error=error), now)

    def close(self) -> None:
        for evaluator in self._evaluators:
            evaluator.stop()


class _Evaluator:
    """One forked process that evaluates the trials that are sent to it."""

    def __init__(self, serve: Callable[[Connection], None]) -> None:
        fork = multiprocessing.get_context("fork")
        self.pipe, theirs = fork.Pipe()
        self.process = fork.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.is_ready = False
        self.trial: Trial | None = None
        self.started, self.kill_at = 0.0, math.inf

    @property
    def is_free(self) -> bool:
        return self.is_ready and self.trial is None

    def release(self) -> Trial:
        """The trial that it was evaluating; it can then take another one."""
        trial, self.trial, self.kill_at = self.trial, None, math.inf
        assert trial is not None
        return trial

    def how_it_died(self) -> str:
        self.process.join()
        return signal_name(self.process.exitcode or 0)

    def not_prepared(self) -> RunError:
        return RunError(f"an evaluator died while it built the model's data: {self.how_it_died()}")

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()
