"""Completes the trace of a run whose process died, or that an earlier command left, from its live page.

The run's supervisor does all of this: while no process of the run is alive, it is the only writer of the
trace. It waits for the trace's lock first, since an orphaned process may take a moment to die.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from cfo_bench.errors import RunError, TraceError
from cfo_bench.machine.facts import Ticks
from cfo_bench.machine.processes import signal_name
from cfo_bench.records import EndReason, Result, StartedTrial, Status
from cfo_bench.results.comparability import check_resumable
from cfo_bench.results.folder import log_path
from cfo_bench.results.limits import is_done, is_longer, resumed_with, shortened, why_ended
from cfo_bench.results.run import Run, cached_run, read_run
from cfo_bench.results.schema import EndRecord, TrialRecord, trial_record
from cfo_bench.results.trace import TraceWriter, set_aside
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage, TrialsOnPage, end_record

Say = Callable[[str], None]  # prints a message for the user

# Seconds after its deadline in which an evaluator or a run's process may return, before it is killed.
GRACE_SECONDS = 0.05

CANT_RESUME = "its method can't be resumed"

# Signals with which others end a process: the kernel when memory is short, a batch system, a person.
_SENT_BY_OTHERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


class ExitCause(StrEnum):
    """The cause of the end of a run's process."""

    EXIT = "exit"  # it ended by itself, or by a signal from outside
    BUDGET = "budget"  # we killed it: the budget was spent
    TRIAL_TIMEOUT = "trial timeout"  # we killed it: its trial took too long
    PREPARE_TIMEOUT = "prepare timeout"  # we killed it: its data was not ready in time
    STOP = "stop"  # we killed it: the command was stopped
    LOST = "the process that it was forked from died"


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process of the run ended."""

    cause: ExitCause
    at: float  # when, on the machine's monotonic clock
    code: int = 0  # negative: the signal that killed it
    output_tail: str = ""  # the end of its output
    began: Ticks | None = None  # the machine's ticks when it started; None on the virtual clock

    @property
    def is_from_outside(self) -> bool:
        """Whether neither the supervisor nor the run's own code ended it."""
        return self.cause is ExitCause.LOST or (
            self.cause is ExitCause.EXIT and -self.code in _SENT_BY_OTHERS
        )

    @property
    def is_for_memory(self) -> bool:
        """Whether it ran out of memory."""
        return is_for_memory(self.code, self.output_tail)

    def __str__(self) -> str:
        if self.cause is not ExitCause.EXIT:
            return str(self.cause)
        how = f"killed by {signal_name(self.code)}" if self.code < 0 else f"exit code {self.code}"
        last_line = self.output_tail.strip().rpartition("\n")[2]
        return f"{how}: {last_line}" if last_line else how


def is_for_memory(exit_code: int, output: str) -> bool:
    """Whether a C++ library ended the process because it could not allocate memory."""
    return exit_code == -signal.SIGABRT and "bad_alloc" in output


class KilledError(RunError):
    """The run's process was killed from outside, so that another attempt is worthwhile."""

    def __init__(self, text: str, has_begun: bool) -> None:
        super().__init__(text)
        self.has_begun = has_begun  # its trace has a first line: the next attempt resumes it


# --- after an earlier command ---------------------------------------------------------------------


def prepare_to_resume(job: Job, page: LivePage, say: Say) -> Run | None:
    """The run that an earlier command left, its trace repaired; None if it has to start from the beginning.

    It has an `end` if it needs no more work. If the run had finished but its limits were changed, `end` is
    None: the run is resumed, and its first new line is a resume record.
    """
    path = job.trace_path
    past = read_run(path, parse_trials=True)
    if past is None:
        return None
    check_resumable(path, past.header, job.spec, job.data_identity, job.own_code)
    end = end_by(job)
    if end is not None:
        return replace(past, end=end)
    if past.is_finished:
        if not job.replays:
            raise TraceError(f"{path}: {CANT_RESUME}, so it can't be given other limits: use --force")
        resumed = resumed_with(past, job.spec.limits)
        say(f"{path}: {why_ended(past)}; resumed at {resumed.told_seconds:.1f} s of its clock")
        return resumed
    with TraceWriter(path) as writer:
        cut = writer.mend()
        if cut:
            say(f"{path}: its last line was incomplete, {cut} bytes removed")
        past = _reread(path)
        if past.is_finished:  # only the line end of its last line was missing
            return replace(past, end=end_by(job))
        _write_missing(job, writer, past, page.trials(), None)
        past = _reread(path)
        if past.trials and not job.replays:
            kept = set_aside(path).name
            say(f"{path}: {CANT_RESUME}: it starts again, and the old trace is kept as {kept}")
            return None
    say(f"{path}: resumed after {len(past.trials)} trials, at {past.told_seconds:.1f} s of its clock")
    return past


def end_by(job: Job) -> EndRecord | None:
    """The end of the run with the job's limits; None if it has not reached them, or can be resumed.

    A longer run is read as if it had ended at these limits.
    """
    path, asked = job.trace_path, job.spec.limits
    past = cached_run(path)
    if past is None:
        return None
    check_resumable(path, past.header, job.spec, job.data_identity, job.own_code)
    end = past.end
    # A run whose method has nothing new to ask for would be the same with other limits.
    is_exhausted = end is not None and end.reason is EndReason.EXHAUSTED and not job.replays
    if not (is_exhausted or is_done(past, asked)):
        return None
    if past.is_finished and end is not None and not is_longer(past, asked):
        return end
    return shortened(past, asked.budget_seconds, asked.max_trials).end


def why_finished(path: Path) -> str | None:
    """The reason for the end of a trace's run; None if it has not finished."""
    past = cached_run(path)
    return why_ended(past) if past is not None and past.is_finished else None


# --- after the exit of a process ------------------------------------------------------------------


def complete_trace(
    job: Job, page: LivePage, process: ProcessExit, has_begun: bool, say: Say = lambda text: None
) -> EndRecord | None:
    """The end of a run whose process has exited; None if another process has to resume the run.

    Writes the running trial to the trace and, unless the run is to be resumed, the end record. A kill from
    outside is a KilledError, unless a trial may be its cause. On the virtual clock it never is: the resumed
    run ends with the same trace. A run that has not begun may have an older trace in its place, which is not
    changed.
    """
    path, spec, zero = job.trace_path, job.spec, page.snapshot().zero
    if process.cause is ExitCause.PREPARE_TIMEOUT:
        raise RunError(
            f"{path}: to prepare the run (load the data, build the model's data) took longer than "
            f"{spec.prepare_timeout_seconds:g} s: find out what hangs, or raise the limit with "
            "--prepare-timeout"
        )
    if not has_begun or read_run(path) is None:
        if process.cause is ExitCause.STOP:
            return end_record(EndReason.INTERRUPTED, 0.0, 0, None)
        log = log_path(path)
        message = f"{path}: the run's process died before its first line: {process}; more in {log}"
        raise KilledError(message, has_begun=False) if process.is_from_outside else RunError(message)
    with TraceWriter(path) as writer:
        writer.mend()
        past = _reread(path)
        if past.is_finished or (past.end is not None and process.cause is ExitCause.STOP):
            return past.end
        left = page.trials()
        elapsed = _last_moment(past, left) if zero is None else process.at - zero
        page.record_noted_pause()
        is_to_resume = process.cause in (ExitCause.STOP, ExitCause.LOST) or (
            spec.clock == "virtual" and process.is_from_outside
        )
        n_written = _write_missing(job, writer, past, left, None if is_to_resume else (elapsed, process))
        run = _reread(path)
        error = None
        if process.cause is ExitCause.STOP:
            reason, elapsed = EndReason.INTERRUPTED, run.told_seconds  # the clock continues from there
        elif process.cause is ExitCause.BUDGET or (elapsed >= spec.budget_seconds and not is_to_resume):
            reason = EndReason.BUDGET
        elif spec.max_trials is not None and len(run.trials) >= spec.max_trials:
            reason = EndReason.MAX_TRIALS
        elif process.is_from_outside and (is_to_resume or not n_written):
            message = f"{path}: the run's process died after {len(run.trials)} trials: {process}"
            raise KilledError(message, has_begun=True)
        elif n_written and job.replays:
            say(f"{path}: trial {run.trials[-1].number} ended its process ({process}); resumed")
            return None
        elif n_written:
            reason, error = EndReason.ERROR, f"a trial ended the process ({process}), and {CANT_RESUME}"
        else:  # it died in the method, and would die again
            reason, error = EndReason.ERROR, f"the process died outside of a trial: {process}"
        writer.append(
            end_record(
                reason,
                elapsed,
                len(run.trials),
                run.best,
                error,
                None if reason is EndReason.INTERRUPTED else page.method_call(),
                process.began,
                page.pauses(),
            )
        )
        writer.sync()
        return _reread(path).end


def has_unwritten_trial(job: Job, page: LivePage) -> bool:
    """Whether an evaluated trial on the page is missing in the trace, for example because the disk is
    full.
    """
    evaluated = {record.number for record in page.trials().evaluated}
    if not evaluated or job.spec.clock == "virtual":
        return False
    try:
        past = read_run(job.trace_path, parse_trials=True)
    except TraceError:
        return True
    return past is not None and not evaluated <= {record.number for record in past.trials}


def _reread(path: Path) -> Run:
    run = read_run(path, parse_trials=True)
    assert run is not None, "a trace that had its header lost it while it was locked"
    return run


def _last_moment(past: Run, left: TrialsOnPage) -> float:
    """The reading of a clock that was not running: the latest recorded time."""
    ends = [record.ended for record in left.evaluated]
    return max([past.told_seconds, *ends, *(begun.started for begun in left.started)])


def _write_missing(
    job: Job,
    writer: TraceWriter,
    past: Run,
    left: TrialsOnPage,
    cut_off: tuple[float, ProcessExit] | None,
) -> int:
    """Writes the trials of the page that are missing in the trace, and returns their number.

    An evaluated trial counts. A trial without a result was cut off: with `cut_off`, the time and the exit of
    the process, it is written as cut off; otherwise it will be asked for again after the resume. On the
    virtual clock, an evaluated trial is also asked for again, with the same result.
    """
    candidates = []
    if cut_off is not None or job.spec.clock == "wall":
        candidates += left.evaluated
    if cut_off is not None:
        candidates += [_cut_off_trial(begun, *cut_off) for begun in left.started]
    missing = past.that_may_follow(candidates)
    for record in missing:
        writer.append(record)
    return len(missing)


def _cut_off_trial(begun: StartedTrial, ended: float, process: ProcessExit) -> TrialRecord:
    status, error = Status.TIMEOUT, None
    if process.cause is ExitCause.EXIT:
        status, error = Status.MEMORY if process.is_for_memory else Status.FAILED, str(process)
    return trial_record(begun, Result(status, fit_seconds=ended - begun.started, error=error), None, ended)
