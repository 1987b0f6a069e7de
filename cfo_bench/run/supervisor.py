"""Supervises one run: starts its process, kills it at the deadline, and completes its trace.

If the process dies in the middle of the budget, the trial under way is logged, and a new process
resumes the run: it is brought to the same state by replay, and the clock goes on from where it stood.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from cfo_bench.clock import monotonic
from cfo_bench.errors import CfoBenchError
from cfo_bench.machine import facts
from cfo_bench.machine.fork_server import end_orphans, is_gone, running_server
from cfo_bench.machine.fork_server import fork_server as fork_server  # who starts runs finds all for it here
from cfo_bench.machine.processes import ForkServerContext
from cfo_bench.records import EndReason
from cfo_bench.results.folder import log_path, page_path, stamp
from cfo_bench.results.schema import EndRecord
from cfo_bench.run import recovery
from cfo_bench.run.job import Job
from cfo_bench.run.page import BusyError, LivePage
from cfo_bench.run.pauses import LEAST_SECONDS, LOOK_SECONDS, STOPPED_LOOK_SECONDS, PauseWatch
from cfo_bench.run.recovery import Death, Fate, KilledError

# --- entry -----------------------------------------------------------------------------------------
# Where a run's process starts.
#
# The supervisor names this function. It does not import the loop, the learners or the methods into the
# process that supervises: they are imported here, in the run's process or the one it is forked from.


def run_job(job: Job, page_path: Path, log_path: Path, answer: Connection, fresh: bool, why: str) -> None:
    """See process.main."""
    from cfo_bench.run import process

    process.main(job, page_path, log_path, answer, fresh, why)


# --- supervisor ------------------------------------------------------------------------------------


# How long past the deadline a process may take to end by itself, before it is killed.
GRACE_SECONDS = 0.05
# While a process loads its data: how often we look whether its clock has started.
LOADING_TICK_SECONDS = 0.01
# How often the trace is synced to disk. The run's own writes have to wait meanwhile.
SYNC_SECONDS = 5.0

# The exit code that multiprocessing makes up for a process whose fork server has died.
_UNKNOWN_EXIT_CODE = 255
# In multiprocessing, starting a process also collects the exit codes of others, and a code that two
# threads collect at once is lost.
_collecting = threading.Lock()


class Outcome(StrEnum):
    """What came of a supervised run."""

    DONE = "done"
    ALREADY_DONE = "already done"  # an earlier command finished it
    BUSY = "busy"  # another command works on it
    INTERRUPTED = "interrupted"  # it was stopped, and can be resumed
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a supervised run, with all that an engine has to know of it."""

    outcome: Outcome
    exit_code: int = 0  # that the command should have because of this run
    message: str | None = None  # for a person, where there is something to say
    end: EndRecord | None = None  # the last line of the trace; None where the run has not ended
    outside: bool = False  # it failed for a reason from outside, such as a kill: another attempt is worth it
    has_begun: bool = False  # with `outside`: the trace has a first line, so that the next attempt resumes it


class Stop:
    """Tells every supervisor to stop its run; it can't be taken back."""

    def __init__(self) -> None:
        self.fd, self._write = os.pipe()

    def set(self) -> None:
        os.write(self._write, b"!")

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._write)


def already_done(job: Job) -> Verdict | None:
    """The verdict on a run that is finished, by its trace; None if it is not, or if the trace is damaged."""
    if os.path.exists(page_path(job.trace_path)):  # another command works on the run, or was killed at it
        return None
    end = _end_on_disk(job)
    return None if end is None else _ended(end, Outcome.ALREADY_DONE)


def _end_on_disk(job: Job) -> EndRecord | None:
    """The last line of the trace, if it is the end of just this run; None also for an interrupted run."""
    try:
        return recovery.end_by(job)
    except CfoBenchError:  # whoever starts the run meets the same error, and reports it
        return None


def own_page(job: Job) -> LivePage | Verdict:
    """The run's live page, locked for this process; the verdict if it can't be had."""
    try:
        return LivePage.own(page_path(job.trace_path))
    except BusyError as error:
        return Verdict(Outcome.BUSY, 0, str(error))
    except CfoBenchError as error:
        return Verdict(Outcome.FAILED, error.exit_code, str(error))


def supervise(
    job: Job,
    context: ForkServerContext,
    stop: Stop,
    force: bool,
    say: Callable[[str], None],
    show: Callable[[LivePage], None],
) -> Verdict:
    """Does one run to its end, from the start or from where it was interrupted.

    `force` starts it again, whatever there is of it. `say` is called with what a person should know, and
    `show` with the live page, once the run is about to start.
    """
    page = own_page(job)
    if isinstance(page, Verdict):
        return page
    has_ended = False
    try:
        verdict = _Supervisor(job, context, stop, page, say, show).run(force)
        has_ended = verdict.end is not None
        return verdict
    except KilledError as error:
        return Verdict(Outcome.FAILED, error.exit_code, str(error), outside=True, has_begun=error.has_begun)
    except CfoBenchError as error:
        return Verdict(Outcome.FAILED, error.exit_code, str(error))
    finally:
        page.close(remove=has_ended or not recovery.has_unwritten_trial(job, page))


class _Supervisor:
    def __init__(
        self,
        job: Job,
        context: ForkServerContext,
        stop: Stop,
        page: LivePage,
        say: Callable[[str], None],
        show: Callable[[LivePage], None],
    ) -> None:
        self._job, self._context, self._stop, self._page = job, context, stop, page
        self._say, self._show = say, show
        self._log_path = log_path(job.trace_path)

    def run(self, force: bool) -> Verdict:
        past = None if force else recovery.prepare_to_resume(self._job, self._page, self._say)
        if past is not None and past.end is not None and past.is_finished:
            self._log_kept(past.end)  # an earlier command was killed before it could do so
            return _ended(past.end, Outcome.ALREADY_DONE)
        fresh, over = past is None, recovery.why_over(self._job.trace_path) if past else None
        why = over or "it was interrupted"
        self._page.clear()
        if past is None or len(self._page.pauses()) < len(past.pauses):
            self._page.forget_pauses()
            for pause in past.pauses if past else ():
                self._page.add_pause(pause.at, pause.seconds)
        self._show(self._page)
        while True:
            before = _stamp_if_there(self._job.trace_path)
            death, answer = self._one_process(fresh, why)
            if answer is not None:
                exit_code, message = answer
                return Verdict(Outcome.FAILED, exit_code, message)
            # Until its process has written a first line, the trace that a fresh run will replace is there,
            # or that of a run that is over and is to go on.
            has_begun = not (fresh or over) or _stamp_if_there(self._job.trace_path) != before
            end = _end_on_disk(self._job) if has_begun else None
            if end is None:
                end = recovery.complete_trace(self._job, self._page, death, has_begun, self._say)
            if end is not None:
                log_kept = self._log_kept(end)
                if end.reason is EndReason.INTERRUPTED:
                    return Verdict(Outcome.INTERRUPTED)
                verdict = _ended(end, Outcome.DONE)
                return (
                    replace(verdict, message=f"{verdict.message}; more in {log_kept}")
                    if log_kept
                    else verdict
                )
            fresh, over, why = False, None, str(death)

    def _log_kept(self, end: EndRecord) -> Path | None:
        """The log, if the run ended with an error and something was printed; else it is removed."""
        with suppress(OSError):
            if end.reason is EndReason.ERROR and self._log_path.stat().st_size:
                return self._log_path
        self._log_path.unlink(missing_ok=True)
        return None

    def _one_process(self, fresh: bool, why: str) -> tuple[Death, tuple[int, str] | None]:
        """How the process died, and its (exit code, message) if it could not do the job."""
        self._page.clear()
        began = facts.ticks() if self._job.spec.clock == "wall" else None
        ours, theirs = self._context.Pipe(duplex=False)
        child = self._context.Process(
            target=run_job,
            args=(self._job, self._page.path, self._log_path, theirs, fresh, why),
        )
        try:
            with _collecting:
                server = running_server()
                child.start()
        except (OSError, EOFError):  # the server was killed while it was asked
            ours.close()
            return Death(Fate.LOST, monotonic()), None
        finally:
            theirs.close()
        fate = Fate.STOP  # if watching should fail
        try:
            fate = self._watch(child)
        finally:
            if fate is not Fate.EXIT:
                child.kill()
            wait([child.sentinel])
            died_at = monotonic()
            with _collecting:
                child.join()
                end_orphans(server)
        exit_code = child.exitcode or 0
        if fate is Fate.EXIT and exit_code == _UNKNOWN_EXIT_CODE and is_gone(server):
            fate = Fate.LOST
        return Death(fate, died_at, exit_code, _tail(self._log_path), began), _answer(ours)

    def _watch(self, child: Any) -> Fate:
        """Sleeps until the process ends, its time is over, or everything is to stop."""
        pauses = PauseWatch(child.pid, self._page, has_evaluators=self._job.spec.parallel > 1)
        is_paused = False
        synced_at = looked_at = monotonic()
        preparing_seconds = 0.0
        while True:
            kill_at, _ = self._kill_time()
            tick = LOADING_TICK_SECONDS if math.isinf(kill_at) and self._is_loading() else LOOK_SECONDS
            tick = STOPPED_LOOK_SECONDS if is_paused else max(min(kill_at - monotonic(), tick), 0.0)
            ready = wait([child.sentinel, self._stop.fd], tick)
            if child.sentinel in ready:
                return Fate.EXIT
            if self._stop.fd in ready:
                return Fate.STOP
            is_paused = pauses.is_paused()
            since, looked_at = looked_at, monotonic()
            if is_paused:
                continue
            if not self._page.is_prepared:
                preparing_seconds += min(looked_at - since, LEAST_SECONDS)  # a pause of ours does not count
                if preparing_seconds >= self._job.spec.prepare_timeout_seconds:
                    return Fate.PREPARE_TIMEOUT
            kill_at, fate = self._kill_time()
            if monotonic() >= kill_at:
                return fate
            # A slow disk may take long for this: not when the process is about to be killed.
            if monotonic() - synced_at >= SYNC_SECONDS and kill_at - monotonic() > SYNC_SECONDS:
                _sync(self._job.trace_path)
                _sync(self._page.path)  # it may have the newest lines
                synced_at = monotonic()
                pauses.start_again()

    def _is_loading(self) -> bool:
        return self._job.spec.clock == "wall" and self._page.snapshot().zero is None

    def _kill_time(self) -> tuple[float, Fate]:
        """When the process has to be killed, on the machine's monotonic clock, and for what."""
        spec, zero = self._job.spec, self._page.snapshot().zero
        if zero is None:
            return math.inf, Fate.BUDGET
        over = zero + spec.budget_seconds + GRACE_SECONDS, Fate.BUDGET
        if spec.trial_timeout_seconds is None or spec.parallel > 1:  # then the run's own process does that
            return over
        under_way = self._page.trials().started
        if not under_way:  # between two trials: look again before one could be over
            return min(over, (monotonic() + spec.trial_timeout_seconds, Fate.TRIAL_TIMEOUT))
        ends_at = zero + under_way[0].started + spec.trial_timeout_seconds
        return min(over, (ends_at + GRACE_SECONDS, Fate.TRIAL_TIMEOUT))


def _ended(end: EndRecord, outcome: Outcome) -> Verdict:
    if end.reason is EndReason.ERROR:
        again = "" if outcome is Outcome.DONE else " (ended so before; --force runs it again)"
        return Verdict(Outcome.FAILED, 1, f"{end.error}{again}", end)
    return Verdict(outcome, end=end)


def _answer(pipe: Connection) -> tuple[int, str] | None:
    try:
        if pipe.poll():
            exit_code, message = pipe.recv()
            return exit_code, message
    except (EOFError, OSError):
        pass
    finally:
        pipe.close()
    return None


def _stamp_if_there(path: Path) -> tuple[int, int] | None:
    try:
        return stamp(path)
    except OSError:
        return None


def _sync(path: Path) -> None:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        pass  # the run's process meets the same error when it syncs its last line, and reports it
    finally:
        os.close(fd)


def _tail(path: Path, size: int = 4096) -> str:
    try:
        return path.read_bytes()[-size:].decode(errors="replace")
    except OSError:
        return ""
