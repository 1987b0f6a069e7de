"""The loop of every engine: it starts runs while there is room, retries them, and stops on Ctrl-C."""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, Protocol

from cfo_bench.clock import monotonic
from cfo_bench.errors import CfoBenchError, Interrupted, describe
from cfo_bench.machine.processes import counting_continuations
from cfo_bench.records import RunStatus
from cfo_bench.results.folder import is_held
from cfo_bench.run.job import Job
from cfo_bench.run.page import Snapshot
from cfo_bench.run.supervisor import Verdict, already_done

# --- reports to the user --------------------------------------------------------------------------


@dataclass
class Active:
    """A run that is running.

    Parameters
    ----------
    job
        The run.
    snapshot
        Its progress, as last reported to its engine.
    """

    job: Job
    snapshot: Snapshot = field(default_factory=lambda: Snapshot(None, 0, None))

    def elapsed(self) -> float:
        """Return the reading of the run's clock in seconds; 0 before it starts."""
        zero = self.snapshot.zero
        return 0.0 if zero is None else monotonic() - zero


class Listener(Protocol):
    """Reports to the user. An engine calls it from the main thread only."""

    def tick(self, active: Sequence[Active]) -> None:
        """Receive the runs that are running now; called several times a second."""

    def said(self, text: str) -> None:
        """Receive a message for the user, in one line."""

    def warned(self, text: str) -> None:
        """Receive a message that is printed even with --quiet."""

    def finished(self, job: Job, verdict: Verdict) -> None:
        """Receive the result of a run; called once for each run, when nothing more will be done for it."""


# --- Ctrl-C and SIGTERM ---------------------------------------------------------------------------

# Whether a second signal ends this process immediately. The program `cfo-bench` sets it; in another program
# or a notebook, a second signal goes to the handler that was installed before.
exits_at_once = False


@contextmanager
def signals_into(signals: list[int], stop: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Within the context, add the first Ctrl-C or SIGTERM to `signals`, and call `stop`.

    Only the main thread can handle signals: in another one, nothing is installed.

    Parameters
    ----------
    signals
        The number of the signal is appended to it. The engine then ends its runs.
    stop
        Called in the signal handler.

    Returns
    -------
    context manager
        At its end it restores the handlers that were installed before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}

    def on_signal(number: int, frame: FrameType | None) -> None:
        if not signals:
            signals.append(number)
            stop()
        elif exits_at_once:
            os._exit(128 + number)  # the runs die with the process that they were forked from
        else:
            signal.signal(number, before[number])
            signal.raise_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, on_signal)
    try:
        yield
    finally:
        for handled, handler in before.items():
            signal.signal(handled, handler)


# --- the runs of a command ------------------------------------------------------------------------

# Seconds between two checks whether another command has stopped executing a run.
LOOK_SECONDS = 0.5


class Runs:
    """The runs of one command, with those that are finished and those that another command is executing.

    A run is identified by its index in `jobs`.
    """

    def __init__(self, jobs: Sequence[Job], force: bool, listener: Listener) -> None:
        self.jobs, self._listener = jobs, listener
        self.forced = set(range(len(jobs))) if force else set()  # execute again although finished
        verdicts = {index: self.already_done(index) for index in range(len(jobs))}
        self._done_before = {index: verdict for index, verdict in verdicts.items() if verdict is not None}
        self.missing = [index for index in verdicts if index not in self._done_before]
        self._verdicts: dict[int, Verdict] = {}
        self._elsewhere: set[int] = set()  # the runs that another command is executing
        self._looked_at = float("-inf")
        self._said: set[str] = set()

    def already_done(self, index: int) -> Verdict | None:
        return None if index in self.forced else already_done(self.jobs[index])

    def finish_done(self) -> None:
        """Reports the runs that were finished before this command."""
        for index, verdict in self._done_before.items():
            self.finish(index, verdict)

    def finish(self, index: int, verdict: Verdict) -> None:
        self._verdicts[index] = verdict
        self._listener.finished(self.jobs[index], verdict)

    @property
    def are_finished(self) -> bool:
        return len(self._verdicts) == len(self.jobs)

    def verdicts(self) -> list[Verdict]:
        """The verdicts on all runs, in order."""
        return [self._verdicts[index] for index in range(len(self.jobs))]

    def leave_to_other(self, index: int) -> None:
        """Record that another command is executing this run, so it is not forced again."""
        self._elsewhere.add(index)
        self.forced.discard(index)

    def left_by_other(self, is_idle: bool) -> list[int]:
        """The runs that another command has stopped executing, finished or not.

        An engine calls this when it has no other run to start. `is_idle`: none is running either.
        """
        if not self._elsewhere or monotonic() - self._looked_at < LOOK_SECONDS:
            return []
        self._looked_at = monotonic()
        left = [index for index in sorted(self._elsewhere) if not is_held(self.jobs[index].trace_path)]
        self._elsewhere.difference_update(left)
        if is_idle and not left:
            count = len(self._elsewhere)
            self.say_once(f"waiting for another cfo-bench, which executes {count} of the runs", "waiting")
        return left

    def say_once(self, text: str, subject: str | None = None) -> None:
        """Prints a message, unless the same text, or another on the same subject, was printed before."""
        if (subject or text) not in self._said:
            self._said.add(subject or text)
            self._listener.said(text)

    def warn_once(self, text: str) -> None:
        """Prints a message even with --quiet, unless the same text was printed before."""
        if text not in self._said:
            self._said.add(text)
            self._listener.warned(text)


# --- the loop -------------------------------------------------------------------------------------

TICK_SECONDS = 0.2
# Seconds past the deadline of a run after which a supervisor that does not answer is given up.
GIVE_UP_SECONDS = 60.0
# Seconds that runs may take to end when the engine itself fails.
STOP_SECONDS = 15.0


@dataclass(kw_only=True)
class Attempt(Active):
    """One start of a run, from its beginning or from where it was interrupted."""

    index: int  # of the run in the list of all runs
    overdue_seconds: float = 0.0  # since the end of its budget, while the loop itself was running
    has_new_trials: bool = False  # then another attempt is worthwhile, whatever the number of attempts so far

    def supervise(self, force: bool, say: Callable[[str], None]) -> Verdict:
        """Executes the run; called in a separate thread. `say` takes messages for the user."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Brings `snapshot` up to date."""

    def abandon(self) -> None:
        """Called when the loop no longer waits for the verdict."""


class Site(Protocol):
    """The place where runs are executed: this machine, or the workers of a cluster."""

    tries: int  # consecutive attempts that may fail for an external reason

    def __len__(self) -> int:
        """The number of waiting runs."""

    def add(self, index: int) -> None:
        """Add a run to the waiting runs."""

    def take(self) -> Attempt | None:
        """An attempt at a run that fits now; None if no run does."""

    def release(self, attempt: Attempt) -> None:
        """Free the capacity of an attempt that is over."""

    def refresh(self) -> None:
        """Called several times a second."""

    def stop(self) -> None:
        """Asks every attempt to end soon. May be called more than once."""


def run_all(runs: Runs, site: AbstractContextManager[Site], listener: Listener) -> list[Verdict]:
    """Returns all verdicts in order. A failed run does not stop the others; Interrupted after a signal.

    The site is opened only if there is something to do.
    """
    return _Loop(runs, listener).run(site)


def failed(error: Exception) -> Verdict:
    """The verdict on a run that could not be executed."""
    if isinstance(error, CfoBenchError):
        return Verdict(RunStatus.FAILED, error.exit_code, str(error))
    return Verdict(RunStatus.FAILED, 1, f"unexpected {describe(error)}")


class _Loop:
    """One thread starts the runs and receives their events; each attempt has its own thread."""

    _site: Site

    def __init__(self, runs: Runs, listener: Listener) -> None:
        self._runs, self._listener = runs, listener
        self._signals: list[int] = []
        self._events: queue.SimpleQueue[tuple[Attempt, str | Verdict]] = queue.SimpleQueue()
        self._active: dict[int, Attempt] = {}
        self._threads: dict[int, threading.Thread] = {}
        self._looked_at = monotonic()  # the time of the last check whether supervisors answer
        self._failures: Counter[int] = Counter()  # per run, the attempts that failed for an external reason

    def run(self, site: AbstractContextManager[Site]) -> list[Verdict]:
        with signals_into(self._signals), counting_continuations():
            self._runs.finish_done()
            if self._runs.missing:
                with site as self._site, self._stopping():
                    self._run_missing()
        if self._signals:
            raise Interrupted(self._signals[0])
        return self._runs.verdicts()

    def _run_missing(self) -> None:
        for index in self._runs.missing:
            self._site.add(index)
        while not self._runs.are_finished and (self._active or not self._signals):
            if self._signals:
                self._site.stop()
            else:
                self._site.refresh()
                self._start_what_fits()
            for attempt, event in self._next_events():
                if isinstance(event, str):
                    self._listener.said(event)
                elif self._active.get(attempt.index) is attempt:  # else it was given up
                    self._end(attempt, event)
            self._give_up_on_the_stuck()
            self._listener.tick(list(self._active.values()))

    def _start_what_fits(self) -> None:
        if not len(self._site):
            for index in self._runs.left_by_other(is_idle=not self._active):
                self._failures[index] = 0
                self._site.add(index)
        while (attempt := self._site.take()) is not None:
            self._active[attempt.index] = attempt
            thread = threading.Thread(target=self._supervise, args=(attempt,), daemon=True)
            self._threads[attempt.index] = thread
            thread.start()

    def _supervise(self, attempt: Attempt) -> None:
        """The body of an attempt's thread."""

        def say(text: str) -> None:
            self._events.put((attempt, text))

        try:
            # Another command may have finished it since.
            verdict = self._runs.already_done(attempt.index) or attempt.supervise(
                attempt.index in self._runs.forced, say
            )
        except Exception as error:  # a defect of ours must not end the other runs
            verdict = failed(error)
        self._events.put((attempt, verdict))

    def _end(self, attempt: Attempt, verdict: Verdict) -> None:
        """Handle the end of an attempt: the run may be finished, or need another attempt."""
        self._remove(attempt)
        index, tries = attempt.index, self._site.tries
        if verdict.has_begun:
            self._runs.forced.discard(index)  # the next attempt resumes what this one began
        if verdict.outcome is RunStatus.BUSY:
            self._runs.leave_to_other(index)
        elif not verdict.outside:
            self._runs.finish(index, verdict)
        elif verdict.message is None:  # the run itself has not failed
            self._site.add(index)
        else:
            self._failures[index] = failures = 1 if attempt.has_new_trials else self._failures[index] + 1
            if failures < tries:
                self._listener.said(f"{verdict.message}: tried again ({failures + 1} of {tries})")
                self._site.add(index)
            else:
                message = f"{verdict.message}: given up after {tries} tries"
                self._runs.finish(index, replace(verdict, message=message))

    def _remove(self, attempt: Attempt) -> None:
        del self._active[attempt.index], self._threads[attempt.index]
        self._site.release(attempt)

    def _give_up_on_the_stuck(self) -> None:
        since, self._looked_at = self._looked_at, monotonic()
        for attempt in list(self._active.values()):
            attempt.refresh()
            if attempt.elapsed() <= attempt.job.spec.budget_seconds:
                attempt.overdue_seconds = 0.0
                continue
            # If this process was stopped, for example by Ctrl-Z, so was the supervisor.
            attempt.overdue_seconds += min(self._looked_at - since, 2 * TICK_SECONDS)
            if attempt.overdue_seconds > GIVE_UP_SECONDS:
                # No retry in this command, because the hanging supervisor may hold the lock of its run.
                self._remove(attempt)
                attempt.abandon()
                message = "its supervisor did not answer: given up"
                self._runs.finish(attempt.index, Verdict(RunStatus.FAILED, 1, message, outside=True))

    def _next_events(self) -> Iterator[tuple[Attempt, str | Verdict]]:
        """The new events, after waiting for at most one tick."""
        try:
            yield self._events.get(timeout=TICK_SECONDS)
            while True:
                yield self._events.get_nowait()
        except queue.Empty:
            return

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        """Stop every run if the engine fails, for example because its stderr was closed."""
        try:
            yield
        except BaseException:
            self._site.stop()
            for thread in self._threads.values():
                thread.join(STOP_SECONDS)
            raise
