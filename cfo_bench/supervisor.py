"""Holds the axe over one run: starts its process, sleeps until the deadline, sets right what is left.

Only when the process is dead does the supervisor write the trace: the trial that was under way, and
the end. After a death in the middle of the budget it logs that trial and starts a new process, which
is brought to the same state by replay; the clock goes on from where it stood.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from cfo_bench import process, trace
from cfo_bench.clock import monotonic
from cfo_bench.errors import CfoBenchError, RunError
from cfo_bench.live import BusyError, LivePage
from cfo_bench.machine import STOP_SIGNALS, THREAD_VARIABLES, signal_name
from cfo_bench.records import EndReason, EndRecord, Status, TrialRecord
from cfo_bench.runner import Job, check_same_run, end_record, spec_header
from cfo_bench.trace import Trace, TraceWriter

# How long past the deadline a process may take to end by itself, before it is killed.
GRACE_SECONDS = 0.05
# How often the clock is looked for while a process loads its data, and the trace is brought to disk:
# the run's own write has to wait meanwhile.
LOADING_TICK_SECONDS, SYNC_SECONDS = 0.01, 5.0


class Outcome(StrEnum):
    """How a run left its supervisor."""

    DONE = "done"
    ALREADY_DONE = "already done"
    BUSY = "busy"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    outcome: Outcome
    exit_code: int = 0
    message: str | None = None
    end: EndRecord | None = None


class Stop:
    """Wakes every supervisor that waits, once and for all."""

    def __init__(self) -> None:
        self.fd, self._write = os.pipe()

    def set(self) -> None:
        os.write(self._write, b"!")


class Death(StrEnum):
    """Why a process of the run is no more."""

    EXIT = "exit"
    BUDGET = "budget"
    TRIAL_TIMEOUT = "trial timeout"
    STOP = "stop"


def fork_server(preload: Sequence[str]) -> ForkServerContext:
    """Where runs are forked from: a process that has loaded what they need and has started no thread.

    It is deaf to Ctrl-C and SIGTERM from the start, and ends with the process that calls this.
    """
    for variable in THREAD_VARIABLES:
        os.environ[variable] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", "cfo_bench.process", *preload])
    resource_tracker.ensure_running()  # on its own, since it unblocks signals when it has started
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)  # which the server inherits
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


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
        page, left = LivePage.own(job.trace_path.with_suffix(".live"))
    except BusyError as error:
        return Verdict(Outcome.BUSY, 0, str(error))
    except CfoBenchError as error:
        return Verdict(Outcome.FAILED, error.exit_code, str(error))
    supervisor = _Supervisor(job, context, stop, page, say, show)
    try:
        return supervisor.run(left, force)
    except CfoBenchError as error:
        return Verdict(Outcome.FAILED, error.exit_code, str(error))
    finally:
        page.close(remove=not supervisor.owes_a_trial())


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
        self._job, self._context, self._stop, self._page, self._say, self._show = (
            job,
            context,
            stop,
            page,
            say,
            show,
        )
        self._log_path = job.trace_path.with_suffix(".log")
        self._message: tuple[int, str] | None = None
        self._exit_code = 0

    def run(self, left: list[dict[str, Any]], force: bool) -> Verdict:
        past = None if force else self._past(left)
        if past is not None and past.is_finished:
            return _finished(past)
        fresh, why = past is None, "it was interrupted"
        self._page.clear()
        self._show(self._page)
        while True:
            death = self._one_process(fresh, why)
            if self._message is not None:
                exit_code, message = self._message
                return Verdict(Outcome.FAILED, exit_code, message)
            after = self._set_right(death)
            if after.end is not None:
                self._log_path.unlink(missing_ok=True)
                return Verdict(Outcome.INTERRUPTED) if death is Death.STOP else _finished(after, Outcome.DONE)
            fresh, why = False, self._cause(death)
            self._say(
                f"{self._job.trace_path}: trial {after.trials[-1].number} ended its process ({why}), goes on"
            )

    def _past(self, left: list[dict[str, Any]]) -> Trace | None:
        """The trace of an earlier process, mended, or None when it has to start anew."""
        path = self._job.trace_path
        past = trace.read(path)
        if past is None:
            return None
        check_same_run(path, past.header, spec_header(self._job.spec))
        if past.is_finished:
            return past
        with TraceWriter(path) as writer:
            cut = writer.mend()
            if cut:
                self._say(f"{path}: its last line was torn, {cut} bytes cut off")
            kept = self._log_under_way(writer, past, left, None)
        self._say(
            f"{path}: goes on after {len(past.trials) + kept} trials, at {past.elapsed:.1f} s of its clock"
        )
        return trace.read(path)

    def owes_a_trial(self) -> bool:
        """Whether the page holds a finished trial that could not be written, on a full disk for one."""
        finished = {row["number"] for row in self._page.under_way() if "status" in row}
        if not finished or self._job.spec.clock == "virtual":
            return False
        try:
            past = trace.read(self._job.trace_path)
        except CfoBenchError:
            return True
        return past is not None and not finished <= {record.number for record in past.trials}

    def _one_process(self, fresh: bool, why: str) -> Death:
        self._page.clear()
        ours, theirs = self._context.Pipe(duplex=False)
        child = self._context.Process(
            target=process.main,
            args=(self._job, self._page.path, self._log_path, theirs, fresh, why),
        )
        child.start()
        theirs.close()
        death = Death.STOP  # if watching should fail
        try:
            death = self._watch(child)
        finally:
            if death is not Death.EXIT:
                child.kill()
            child.join()
        self._exit_code = child.exitcode or 0
        self._message = _answer(ours)
        return death

    def _watch(self, child: Any) -> Death:
        """Sleeps until the process ends, its time is over, or everything is to stop."""
        synced_at = monotonic()
        while True:
            axe_at, _ = self._axe()
            pause = LOADING_TICK_SECONDS if math.isinf(axe_at) and self._is_loading() else SYNC_SECONDS
            ready = wait([child.sentinel, self._stop.fd], max(min(axe_at - monotonic(), pause), 0.0))
            if child.sentinel in ready:
                return Death.EXIT
            if self._stop.fd in ready:
                return Death.STOP
            axe_at, death = self._axe()
            if monotonic() >= axe_at:
                return death
            # A slow disk may take its time for this: not when the axe is about to fall.
            if monotonic() - synced_at >= SYNC_SECONDS and axe_at - monotonic() > SYNC_SECONDS:
                _sync(self._job.trace_path)
                synced_at = monotonic()

    def _is_loading(self) -> bool:
        return self._job.spec.clock == "wall" and self._page.snapshot().zero is None

    def _axe(self) -> tuple[float, Death]:
        """When the process has to be killed, on the machine's clock, and for what."""
        spec, zero = self._job.spec, self._page.snapshot().zero
        if zero is None:
            return math.inf, Death.BUDGET
        over = zero + spec.budget_seconds + GRACE_SECONDS, Death.BUDGET
        if spec.trial_timeout_seconds is None or spec.workers > 1:  # with workers, the run sees to it itself
            return over
        started = [row["started"] for row in self._page.under_way() if "status" not in row]
        if not started:  # between two trials: look again before one could be over
            return min(over, (monotonic() + spec.trial_timeout_seconds, Death.TRIAL_TIMEOUT))
        return min(
            over, (zero + started[0] + spec.trial_timeout_seconds + GRACE_SECONDS, Death.TRIAL_TIMEOUT)
        )

    def _set_right(self, death: Death) -> Trace:
        """The trace after a death, with the trial under way logged and, if that was all, the end."""
        path, spec = self._job.trace_path, self._job.spec
        zero = self._page.snapshot().zero
        after = trace.read(path)
        if after is None:
            if death is Death.STOP:
                return Trace({}, [], end_record(EndReason.INTERRUPTED, 0.0, 0, None))
            raise RunError(
                f"{path}: the run's process died before its first line: {self._cause(death)}; "
                f"more in {self._log_path}"
            )
        if after.is_finished or (after.end is not None and death is Death.STOP):
            return after
        under_way = self._page.under_way()
        # A clock that stands still has not gone past the last thing it was read for.
        stood_at = max([after.elapsed, *(row.get("ended", row["started"]) for row in under_way)])
        elapsed = stood_at if zero is None else monotonic() - zero
        with TraceWriter(path) as writer:
            writer.mend()
            logged = self._log_under_way(
                writer, after, under_way, None if death is Death.STOP else (elapsed, death)
            )
            after = trace.read(path) or after
            error = None
            if death is Death.STOP:
                reason, elapsed = EndReason.INTERRUPTED, after.elapsed  # from there it will go on
            elif death is Death.BUDGET or (zero is not None and elapsed >= spec.budget_seconds):
                reason = EndReason.BUDGET
            elif spec.max_trials is not None and len(after.trials) >= spec.max_trials:
                reason = EndReason.MAX_TRIALS
            elif logged:
                return after
            else:  # it died in the method, and would again
                reason, error = EndReason.ERROR, f"the process died outside of a trial: {self._cause(death)}"
            cut_ask = elapsed - after.elapsed if reason is EndReason.BUDGET and not logged else 0.0
            writer.append(
                end_record(reason, elapsed, len(after.trials), after.best, error, max(cut_ask, 0.0))
            )
            writer.sync()
        ended = trace.read(path)
        assert ended is not None
        return ended

    def _log_under_way(
        self, writer: TraceWriter, past: Trace, rows: list[dict[str, Any]], cut_at: tuple[float, Death] | None
    ) -> int:
        """Appends what the page says of trials that the trace lacks; how many.

        A trial that was evaluated counts as it is. One that was cut off is logged as such if
        `cut_at` says so; otherwise (an interruption) it will be asked for again, and so is an
        evaluated one on the virtual clock, where it comes out the same.
        """
        known = {record.number for record in past.trials}
        logged = 0
        for row in rows:
            if row["number"] in known:
                continue
            if "status" in row and (cut_at is not None or self._job.spec.clock == "wall"):
                writer.append(trace.trial_record(row))
            elif cut_at is not None:
                writer.append(self._cut_off(row, *cut_at))
            else:
                continue
            logged += 1
        return logged

    def _cut_off(self, row: dict[str, Any], ended: float, death: Death) -> TrialRecord:
        status, error = Status.TIMEOUT, None
        if death is Death.EXIT:
            status, error = (
                (Status.MEMORY if self._ran_out_of_memory() else Status.FAILED),
                self._cause(death),
            )
        return TrialRecord(
            number=row["number"],
            config=row["config"],
            rows=row["rows"],
            thread=row["thread"],
            status=status,
            loss=None,
            score=None,
            started=row["started"],
            ended=ended,
            ask_seconds=row["ask_seconds"],
            fit_seconds=ended - row["started"],
            validate_seconds=0.0,
            tell_seconds=None,
            peak_memory_mb=None,
            error=error,
        )

    def _ran_out_of_memory(self) -> bool:
        """A C++ library that can't allocate aborts with these words."""
        return self._exit_code == -signal.SIGABRT and "bad_alloc" in _tail(self._log_path)

    def _cause(self, death: Death) -> str:
        if death is not Death.EXIT:
            return str(death)
        how = (
            f"killed by {signal_name(self._exit_code)}"
            if self._exit_code < 0
            else f"exit code {self._exit_code}"
        )
        last_line = _tail(self._log_path).strip().rpartition("\n")[2]
        return f"{how}: {last_line}" if last_line else how


def _finished(past: Trace, outcome: Outcome = Outcome.ALREADY_DONE) -> Verdict:
    assert past.end is not None
    if past.end.reason is EndReason.ERROR:
        again = "" if outcome is Outcome.DONE else " (ended so before; --force runs it again)"
        return Verdict(Outcome.FAILED, 1, f"{past.end.error}{again}", past.end)
    return Verdict(outcome, end=past.end)


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
