"""Holds the axe over one run: starts its process, sleeps until the deadline, sees to what is left.

After a death in the middle of the budget it logs the trial that was under way and starts a new
process, which is brought to the same state by replay; the clock goes on from where it stood.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from cfo_bench.clock import monotonic
from cfo_bench.errors import CfoBenchError
from cfo_bench.machine import contention
from cfo_bench.records import EndReason, EndRecord
from cfo_bench.results import trace
from cfo_bench.run import process, recovery
from cfo_bench.run.fork_server import fork_server as fork_server  # who starts runs finds all for it here
from cfo_bench.run.fork_server import is_gone, running_server
from cfo_bench.run.live_page import BusyError, LivePage
from cfo_bench.run.recovery import Death, Fate, KilledError
from cfo_bench.run.runner import Job, check_same_run, spec_header

# How long past the deadline a process may take to end by itself, before it is killed.
GRACE_SECONDS = 0.05
# How often the clock is looked for while a process loads its data, and the trace is brought to disk:
# the run's own write has to wait meanwhile.
LOADING_TICK_SECONDS, SYNC_SECONDS = 0.01, 5.0

# The exit code that multiprocessing makes up for a process whose fork server can't tell it any more.
_UNKNOWN_EXIT_CODE = 255
# In multiprocessing, starting a process also reaps others, and a code that is reaped twice is lost.
_reaping = threading.Lock()


class Outcome(StrEnum):
    """How a run left its supervisor."""

    DONE = "done"
    ALREADY_DONE = "already done"
    BUSY = "busy"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`outside`: the failure came from outside, such as a kill, so that another try is worth it.

    If the run `has_begun` by then, that try goes on with its trace, also where it was forced.
    """

    outcome: Outcome
    exit_code: int = 0
    message: str | None = None
    end: EndRecord | None = None
    outside: bool = False
    has_begun: bool = False


class Stop:
    """Wakes every supervisor that waits, once and for all."""

    def __init__(self) -> None:
        self.fd, self._write = os.pipe()

    def set(self) -> None:
        os.write(self._write, b"!")

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._write)


def already_done(job: Job) -> Verdict | None:
    """The verdict on a run that ended before, by its first and its last line; None: look at it as a whole."""
    if job.trace_path.with_suffix(".live").exists():  # somebody is at it, or was killed at it
        return None
    end = _end_on_disk(job)
    return None if end is None else _ended(end, Outcome.ALREADY_DONE)


def _end_on_disk(job: Job) -> EndRecord | None:
    """The end of the trace of just this run, if that is its last word and well-formed as its header is."""
    try:
        found = trace.ends(job.trace_path)
        if found is None or found[1]["kind"] != "end" or found[0]["schema"] != trace.SCHEMA_VERSION:
            return None
        check_same_run(job.trace_path, found[0], spec_header(job.spec))
        end = trace.end_record(found[1])
    except (OSError, ValueError, KeyError, TypeError, CfoBenchError):  # a full reading says what is wrong
        return None
    return None if end.reason is EndReason.INTERRUPTED else end


def supervise(
    job: Job,
    context: ForkServerContext,
    stop: Stop,
    force: bool,
    say: Callable[[str], None],
    show: Callable[[LivePage], None],
) -> Verdict:
    """One run from start, or from where it was cut off, to its end. `say` gets what a person should know."""
    try:
        page = LivePage.own(job.trace_path.with_suffix(".live"))
    except BusyError as error:
        return Verdict(Outcome.BUSY, 0, str(error))
    except CfoBenchError as error:
        return Verdict(Outcome.FAILED, error.exit_code, str(error))
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
        page.close(remove=has_ended or not recovery.owes_a_trial(job, page))


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
        self._log_path = recovery.log_path(job)

    def run(self, force: bool) -> Verdict:
        past = None if force else recovery.pick_up(self._job, self._page, self._say)
        if past is not None and past.end is not None and past.is_finished:
            self._log_path.unlink(missing_ok=True)  # of a command that was killed before it could
            return _ended(past.end, Outcome.ALREADY_DONE)
        fresh, why = past is None, "it was interrupted"
        self._page.clear()
        self._show(self._page)
        while True:
            before = _stamp(self._job.trace_path)
            death, answer = self._one_process(fresh, why)
            if answer is not None:
                exit_code, message = answer
                return Verdict(Outcome.FAILED, exit_code, message)
            # Until a fresh process has its first line, the trace that it is to replace stands there.
            has_begun = not fresh or _stamp(self._job.trace_path) != before
            end = _end_on_disk(self._job) if has_begun else None
            if end is None:
                after = recovery.set_right(self._job, self._page, death, has_begun)
                end = after.end
            if end is not None:
                self._log_path.unlink(missing_ok=True)
                if end.reason is EndReason.INTERRUPTED:
                    return Verdict(Outcome.INTERRUPTED)
                return _ended(end, Outcome.DONE)
            fresh, why = False, str(death)
            self._say(
                f"{self._job.trace_path}: trial {after.trials[-1].number} ended its process ({why}), goes on"
            )

    def _one_process(self, fresh: bool, why: str) -> tuple[Death, tuple[int, str] | None]:
        """How the process died, and what it answered if it could not run the job."""
        self._page.clear()
        began = contention.ticks() if self._job.spec.clock == "wall" else None
        ours, theirs = self._context.Pipe(duplex=False)
        child = self._context.Process(
            target=process.main,
            args=(self._job, self._page.path, self._log_path, theirs, fresh, why),
        )
        try:
            with _reaping:
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
            with _reaping:
                child.join()
        exit_code = child.exitcode or 0
        if fate is Fate.EXIT and exit_code == _UNKNOWN_EXIT_CODE and is_gone(server):
            fate = Fate.LOST
        return Death(fate, died_at, exit_code, _tail(self._log_path), began), _answer(ours)

    def _watch(self, child: Any) -> Fate:
        """Sleeps until the process ends, its time is over, or everything is to stop."""
        synced_at = monotonic()
        while True:
            axe_at, _ = self._axe()
            pause = LOADING_TICK_SECONDS if math.isinf(axe_at) and self._is_loading() else SYNC_SECONDS
            ready = wait([child.sentinel, self._stop.fd], max(min(axe_at - monotonic(), pause), 0.0))
            if child.sentinel in ready:
                return Fate.EXIT
            if self._stop.fd in ready:
                return Fate.STOP
            axe_at, fate = self._axe()
            if monotonic() >= axe_at:
                return fate
            # A slow disk may take its time for this: not when the axe is about to fall.
            if monotonic() - synced_at >= SYNC_SECONDS and axe_at - monotonic() > SYNC_SECONDS:
                _sync(self._job.trace_path)
                _sync(self._page.path)  # where the newest lines may wait
                synced_at = monotonic()

    def _is_loading(self) -> bool:
        return self._job.spec.clock == "wall" and self._page.snapshot().zero is None

    def _axe(self) -> tuple[float, Fate]:
        """When the process has to be killed, on the machine's clock, and for what."""
        spec, zero = self._job.spec, self._page.snapshot().zero
        if zero is None:
            return math.inf, Fate.BUDGET
        over = zero + spec.budget_seconds + GRACE_SECONDS, Fate.BUDGET
        if spec.trial_timeout_seconds is None or spec.parallel > 1:  # then the run's own process sees to it
            return over
        started = [row["started"] for row in self._page.under_way() if "status" not in row]
        if not started:  # between two trials: look again before one could be over
            return min(over, (monotonic() + spec.trial_timeout_seconds, Fate.TRIAL_TIMEOUT))
        return min(over, (zero + started[0] + spec.trial_timeout_seconds + GRACE_SECONDS, Fate.TRIAL_TIMEOUT))


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


def _stamp(path: Path) -> tuple[int, int] | None:
    """Another one when the file was written to."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _sync(path: Path) -> None:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError:
        pass  # the run's process meets the same error when it brings its last line to disk, and says so
    finally:
        os.close(fd)


def _tail(path: Path, size: int = 4096) -> str:
    try:
        return path.read_bytes()[-size:].decode(errors="replace")
    except OSError:
        return ""
