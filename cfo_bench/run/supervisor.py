"""Supervises one run: starts its process, kills it at the deadline, and completes its trace.

If the process dies before the end of the budget, the running trial is written to the trace, and a new process
resumes the run: replay restores the same state, and the clock continues.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from cfo_bench.clock import monotonic
from cfo_bench.errors import CfoBenchError
from cfo_bench.machine import facts
from cfo_bench.machine.fork_server import end_orphans, is_gone, running_server
from cfo_bench.machine.processes import ForkServerContext
from cfo_bench.records import EndReason, RunStatus
from cfo_bench.results.folder import log_path, page_path, stamp
from cfo_bench.results.schema import EndRecord
from cfo_bench.run import recovery
from cfo_bench.run.job import Job
from cfo_bench.run.page import BusyError, LivePage
from cfo_bench.run.pauses import LEAST_SECONDS, LOOK_SECONDS, STOPPED_LOOK_SECONDS, PauseWatch
from cfo_bench.run.recovery import GRACE_SECONDS, ExitCause, KilledError, ProcessExit

# While a process loads its data: seconds between two checks whether its clock has started.
LOADING_TICK_SECONDS = 0.01
# Seconds between two syncs of the trace to disk, during which the run's own writes have to wait.
SYNC_SECONDS = 5.0

# The exit code that multiprocessing reports for a process whose fork server has died.
_UNKNOWN_EXIT_CODE = 255
# In multiprocessing, starting a process also collects the exit codes of others, and a code that two
# threads collect at once is lost.
_collecting = threading.Lock()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a supervised run, for its engine.

    Parameters
    ----------
    outcome
        The status of the run: done, already done, busy, interrupted or failed.
    exit_code
        The exit code that the command should have because of this run.
    message
        A message for the user, in one line; None if there is nothing to report.
    end
        The last line of the trace; None if the run has not ended.
    outside
        True if it failed for a reason from outside, such as a kill: another attempt is worthwhile.
    has_begun
        With `outside`: the trace has a first line, so that the next attempt resumes it.
    """

    outcome: RunStatus
    exit_code: int = 0
    message: str | None = None
    end: EndRecord | None = None
    outside: bool = False
    has_begun: bool = False


class Stop:
    """Asks every supervisor that holds this object to stop its run; this cannot be undone."""

    def __init__(self) -> None:
        self.fd, self._write = os.pipe()

    def set(self) -> None:
        """Stop all runs; may be called in a signal handler."""
        os.write(self._write, b"!")

    def close(self) -> None:
        """Release the pipe, once no supervisor uses it."""
        os.close(self.fd)
        os.close(self._write)


def already_done(job: Job) -> Verdict | None:
    """Return the verdict on a run that an earlier command finished.

    Parameters
    ----------
    job
        The run.

    Returns
    -------
    Verdict or None
        None if the trace is missing, unfinished or damaged, and if another command works on the run.
    """
    if os.path.exists(page_path(job.trace_path)):  # another command is executing the run, or was killed
        return None
    end = _end_on_disk(job)
    return None if end is None else _ended(end, RunStatus.ALREADY_DONE)


def supervise(
    job: Job,
    context: ForkServerContext,
    stop: Stop,
    force: bool,
    say: Callable[[str], None],
    show: Callable[[LivePage], None],
) -> Verdict:
    """Execute one run until it finishes, from its start or from where it was interrupted.

    Parameters
    ----------
    job
        The run.
    context
        Forks processes that have loaded the packages of the run; an engine gets it from its caller.
    stop
        Stops the run when it is set.
    force
        Start from the beginning, whatever the trace contains.
    say
        Called with messages for the user, one line each.
    show
        Called once with the live page of the run, before it starts: `page.snapshot()` is its progress.

    Returns
    -------
    Verdict
        The result of the run.
    """
    try:
        page = LivePage.own(page_path(job.trace_path))
    except BusyError as error:
        return Verdict(RunStatus.BUSY, 0, str(error))
    except CfoBenchError as error:
        return Verdict(RunStatus.FAILED, error.exit_code, str(error))
    has_ended = False
    try:
        verdict = _Supervisor(job, context, stop, page, say, show).run(force)
        has_ended = verdict.end is not None
        return verdict
    except KilledError as error:
        return Verdict(RunStatus.FAILED, error.exit_code, str(error), outside=True, has_begun=error.has_begun)
    except CfoBenchError as error:
        return Verdict(RunStatus.FAILED, error.exit_code, str(error))
    finally:
        page.close(remove=has_ended or not recovery.has_unwritten_trial(job, page))


def run_job(job: Job, page_path: Path, log_path: Path, answer: Connection, fresh: bool, why: str) -> None:
    """The start of a run's process: see `process.main`.

    The loop, the learners and the methods are imported here, in the run's process or the fork server, and not
    in the process of the supervisor.
    """
    from cfo_bench.run import process

    process.main(job, page_path, log_path, answer, fresh, why)


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
            self._log_if_failed(past.end)  # an earlier command was killed before it removed its log
            return _ended(past.end, RunStatus.ALREADY_DONE)
        fresh = past is None
        why_finished = recovery.why_finished(self._job.trace_path) if past else None
        why = why_finished or "it was interrupted"
        self._page.clear()
        if past is None or len(self._page.pauses()) < len(past.pauses):
            self._page.forget_pauses()
            for pause in past.pauses if past else ():
                self._page.add_pause(pause)
        self._show(self._page)
        while True:
            before = _stamp_or_none(self._job.trace_path)
            process, answer = self._run_process(fresh, why)
            if answer is not None:
                exit_code, message = answer
                return Verdict(RunStatus.FAILED, exit_code, message)
            # Until the process has written its first line, the trace is older: a fresh run will replace it,
            # or a finished run is resumed with other limits.
            has_begun = not (fresh or why_finished) or _stamp_or_none(self._job.trace_path) != before
            end = _end_on_disk(self._job) if has_begun else None
            if end is None:
                end = recovery.complete_trace(self._job, self._page, process, has_begun, self._say)
            if end is not None:
                log = self._log_if_failed(end)
                if end.reason is EndReason.INTERRUPTED:
                    return Verdict(RunStatus.INTERRUPTED)
                verdict = _ended(end, RunStatus.DONE)
                return replace(verdict, message=f"{verdict.message}; more in {log}") if log else verdict
            fresh, why_finished, why = False, None, str(process)

    def _log_if_failed(self, end: EndRecord) -> Path | None:
        """The path of the log, if the run ended with an error and printed something; otherwise the log is
        removed.
        """
        with suppress(OSError):
            if end.reason is EndReason.ERROR and self._log_path.stat().st_size:
                return self._log_path
        self._log_path.unlink(missing_ok=True)
        return None

    def _run_process(self, fresh: bool, why: str) -> tuple[ProcessExit, tuple[int, str] | None]:
        """The exit of the process, and its (exit code, message) if it could not execute the job."""
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
        except (OSError, EOFError):  # the server was killed meanwhile
            ours.close()
            return ProcessExit(ExitCause.LOST, monotonic()), None
        finally:
            theirs.close()
        cause = ExitCause.STOP  # if watching fails
        try:
            cause = self._watch(child)
        finally:
            if cause is not ExitCause.EXIT:
                child.kill()
            wait([child.sentinel])
            died_at = monotonic()
            with _collecting:
                child.join()
                end_orphans(server)
        code = child.exitcode or 0
        if cause is ExitCause.EXIT and code == _UNKNOWN_EXIT_CODE and is_gone(server):
            cause = ExitCause.LOST
        return ProcessExit(cause, died_at, code, _tail(self._log_path), began), _answer(ours)

    def _watch(self, child: Any) -> ExitCause:
        """Waits until the process ends, its time is over, or the command is stopped."""
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
                return ExitCause.EXIT
            if self._stop.fd in ready:
                return ExitCause.STOP
            is_paused = pauses.is_paused()
            since, looked_at = looked_at, monotonic()
            if is_paused:
                continue
            if not self._page.is_prepared:
                preparing_seconds += min(looked_at - since, LEAST_SECONDS)  # without our pauses
                if preparing_seconds >= self._job.spec.prepare_timeout_seconds:
                    return ExitCause.PREPARE_TIMEOUT
            kill_at, cause = self._kill_time()
            if monotonic() >= kill_at:
                return cause
            # Not shortly before the process has to be killed, because a slow disk may take long for this.
            if monotonic() - synced_at >= SYNC_SECONDS and kill_at - monotonic() > SYNC_SECONDS:
                _sync(self._job.trace_path)
                _sync(self._page.path)  # it may contain the newest lines
                synced_at = monotonic()
                pauses.start_again()

    def _is_loading(self) -> bool:
        return self._job.spec.clock == "wall" and self._page.snapshot().zero is None

    def _kill_time(self) -> tuple[float, ExitCause]:
        """The time at which the process has to be killed, on the machine's monotonic clock, and the cause."""
        spec, zero = self._job.spec, self._page.snapshot().zero
        if zero is None:
            return math.inf, ExitCause.BUDGET
        over = zero + spec.budget_seconds + GRACE_SECONDS, ExitCause.BUDGET
        if spec.trial_timeout_seconds is None or spec.parallel > 1:  # with parallel trials, the pool does it
            return over
        running = self._page.trials().started
        if not running:  # between two trials: look again before the next trial could time out
            return min(over, (monotonic() + spec.trial_timeout_seconds, ExitCause.TRIAL_TIMEOUT))
        ends_at = zero + running[0].started + spec.trial_timeout_seconds
        return min(over, (ends_at + GRACE_SECONDS, ExitCause.TRIAL_TIMEOUT))


def _end_on_disk(job: Job) -> EndRecord | None:
    """The last line of the trace, if it is the end of this run; None also for an interrupted run."""
    try:
        return recovery.end_by(job)
    except CfoBenchError:  # the process that starts the run gets the same error, and reports it
        return None


def _ended(end: EndRecord, status: RunStatus) -> Verdict:
    if end.reason is EndReason.ERROR:
        again = "" if status is RunStatus.DONE else " (an earlier result; --force runs it again)"
        return Verdict(RunStatus.FAILED, 1, f"{end.error}{again}", end)
    return Verdict(status, end=end)


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


def _stamp_or_none(path: Path) -> tuple[int, int] | None:
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
        pass  # the run's process gets the same error when it syncs its last line, and reports it
    finally:
        os.close(fd)


def _tail(path: Path, size: int = 4096) -> str:
    try:
        return path.read_bytes()[-size:].decode(errors="replace")
    except OSError:
        return ""
