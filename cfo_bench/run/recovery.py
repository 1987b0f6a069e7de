"""After the death of a run's process: the trials that its trace lacks are written, from the live page.

The run's supervisor does all of this: while the run's process is dead, it is the trace's one writer. It
waits for the trace's lock first, since an orphaned process may take a moment to die.
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
from cfo_bench.results.limits import is_done, is_longer, limits_of, resumed_with, shortened, why_ended
from cfo_bench.results.run import Run, cached_run, read_run
from cfo_bench.results.schema import EndRecord, TrialRecord, trial_record
from cfo_bench.results.trace import TraceWriter, set_aside
from cfo_bench.run.header import end_record
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage, TrialsOnPage

# What others end a process with: the kernel short of memory, a batch system, a person.
_SENT_BY_OTHERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


CANT_RESUME = "its method says that it can't be resumed"


class KilledError(RunError):
    """The run's process was killed from outside, so that another attempt is worth it."""

    def __init__(self, text: str, has_begun: bool) -> None:
        super().__init__(text)
        self.has_begun = has_begun  # its trace has a first line: the next attempt resumes it


class Fate(StrEnum):
    """What ended a process of the run."""

    EXIT = "exit"  # it ended by itself, or by a signal that was not ours
    BUDGET = "budget"  # we killed it: the budget was spent
    TRIAL_TIMEOUT = "trial timeout"  # we killed it: its trial took too long
    PREPARE_TIMEOUT = "prepare timeout"  # we killed it: its data was not ready in time
    STOP = "stop"  # we killed it: everything is to stop
    LOST = "the process that it was forked from died"


@dataclass(frozen=True, slots=True)
class Death:
    """How a process of the run ended."""

    by: Fate
    at: float  # when, on the machine's monotonic clock
    exit_code: int = 0  # negative: the signal that killed it
    last_words: str = ""  # the end of what it printed
    began: Ticks | None = None  # the machine's ticks when it started; None on the virtual clock

    @property
    def is_from_outside(self) -> bool:
        """Neither we nor the run's own code ended it."""
        return self.by is Fate.LOST or (self.by is Fate.EXIT and -self.exit_code in _SENT_BY_OTHERS)

    @property
    def is_for_memory(self) -> bool:
        """A C++ library that can't allocate memory aborts with these words."""
        return self.exit_code == -signal.SIGABRT and "bad_alloc" in self.last_words

    def __str__(self) -> str:
        if self.by is not Fate.EXIT:
            return str(self.by)
        code = self.exit_code
        how = f"killed by {signal_name(code)}" if code < 0 else f"exit code {code}"
        last_line = self.last_words.strip().rpartition("\n")[2]
        return f"{how}: {last_line}" if last_line else how


def prepare_to_resume(job: Job, page: LivePage, say: Callable[[str], None]) -> Run | None:
    """The trace that an earlier command left, repaired; None when the run has to start from the beginning.

    It has an end if there is nothing left to do. A run that was over and is to go on with other limits has
    none, though its trace does: the first line of its process says that it goes on.
    """
    path = job.trace_path
    past = read_run(path, parse_trials=True)
    if past is None:
        return None
    check_resumable(path, past.header, job.spec, job.data_identity)
    end = end_by(job)
    if end is not None:
        return replace(past, end=end)
    if past.is_finished:
        if not job.replays:
            raise TraceError(f"{path}: {CANT_RESUME}, so it can't go on with other limits: use --force")
        resumed = resumed_with(past, limits_of(job.spec))
        say(f"{path}: {why_over(path)}; goes on at {resumed.told_seconds:.1f} s of its clock")
        return resumed
    with TraceWriter(path) as writer:
        cut = writer.mend()
        if cut:
            say(f"{path}: its last line was torn, {cut} bytes cut off")
        past = _reread(path)
        if past.is_finished:  # only its last line's end was missing
            return replace(past, end=end_by(job))
        _log_missing(job, writer, past, page.trials(), None)
        past = _reread(path)
        if past.trials and not job.replays:
            kept = set_aside(path).name
            say(f"{path}: {CANT_RESUME}: it starts again, and what it had is kept as {kept}")
            return None
    say(f"{path}: resumed after {len(past.trials)} trials, at {past.told_seconds:.1f} s of its clock")
    return past


def end_by(job: Job) -> EndRecord | None:
    """The end of the run, with the job's limits; None if it has not come so far, or can go on.

    A run that went on for longer is read as if it had ended then.
    """
    path, asked = job.trace_path, limits_of(job.spec)
    past = cached_run(path)
    if past is None:
        return None
    check_resumable(path, past.header, job.spec, job.data_identity)
    end = past.end
    # A run that has nothing new to ask for would be the same with other limits.
    is_exhausted = end is not None and end.reason is EndReason.EXHAUSTED and not job.replays
    if not (is_exhausted or is_done(past, asked)):
        return None
    if past.is_finished and end is not None and not is_longer(end, asked):
        return end
    return shortened(past, asked.budget_seconds, asked.max_trials).end


def why_over(path: Path) -> str | None:
    """What ended the run, if its trace ends with a final end."""
    past = cached_run(path)
    return why_ended(past) if past is not None and past.is_finished else None


def complete_trace(
    job: Job, page: LivePage, death: Death, has_begun: bool, say: Callable[[str], None] = lambda text: None
) -> EndRecord | None:
    """The end of a run whose process died; None if the run is to be resumed.

    The running trial is written to the trace and, unless the run is to be resumed, the end.

    A death from outside is KilledError, unless it can be blamed on a trial. On the virtual clock it never is:
    the run ends with the trace that it would have had. A run that has not begun may have an older trace in
    its place, which stays as it is.
    """
    path, spec, zero = job.trace_path, job.spec, page.snapshot().zero
    if death.by is Fate.PREPARE_TIMEOUT:
        raise RunError(
            f"{path}: to prepare the run (load the data, build the model's data) took longer than "
            f"{spec.prepare_timeout_seconds:g} s: look for what hangs, or give it longer by --prepare-timeout"
        )
    if not has_begun or read_run(path) is None:
        if death.by is Fate.STOP:
            return end_record(EndReason.INTERRUPTED, 0.0, 0, None)
        log = log_path(path)
        message = f"{path}: the run's process died before its first line: {death}; more in {log}"
        raise KilledError(message, has_begun=False) if death.is_from_outside else RunError(message)
    with TraceWriter(path) as writer:
        writer.mend()
        past = _reread(path)
        if past.is_finished or (past.end is not None and death.by is Fate.STOP):
            return past.end
        found = page.trials()
        elapsed = _stood_at(past, found) if zero is None else death.at - zero
        if zero is not None and (noted := page.noted_pause):  # the process died before it could do so
            page.add_pause(noted.since - (zero - noted.seconds), noted.seconds)
            page.note_pause(None)
        is_to_resume = death.by in (Fate.STOP, Fate.LOST) or (
            spec.clock == "virtual" and death.is_from_outside
        )
        logged = _log_missing(job, writer, past, found, None if is_to_resume else (elapsed, death))
        after = _reread(path)
        error = None
        if death.by is Fate.STOP:
            reason, elapsed = EndReason.INTERRUPTED, after.told_seconds  # the clock goes on from there
        elif death.by is Fate.BUDGET or (elapsed >= spec.budget_seconds and not is_to_resume):
            reason = EndReason.BUDGET
        elif spec.max_trials is not None and len(after.trials) >= spec.max_trials:
            reason = EndReason.MAX_TRIALS
        elif death.is_from_outside and (is_to_resume or not logged):
            raise KilledError(
                f"{path}: the run's process died after {len(after.trials)} trials: {death}", has_begun=True
            )
        elif logged and job.replays:
            say(f"{path}: trial {after.trials[-1].number} ended its process ({death}); resumed")
            return None
        elif logged:
            reason, error = EndReason.ERROR, f"a trial ended the process ({death}), and {CANT_RESUME}"
        else:  # it died in the method, and would again
            reason, error = EndReason.ERROR, f"the process died outside of a trial: {death}"
        writer.append(
            end_record(
                reason,
                elapsed,
                len(after.trials),
                after.best,
                error,
                None if reason is EndReason.INTERRUPTED else page.method_call(),
                death.began,
                page.pauses(),
            )
        )
        writer.sync()
        return _reread(path).end


def has_unwritten_trial(job: Job, page: LivePage) -> bool:
    """Whether the page holds an evaluated trial that the trace lacks, for example since the disk is full."""
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


def _stood_at(past: Run, found: TrialsOnPage) -> float:
    """Where a clock stood that was not running: at the last moment that anything says."""
    evaluated = [record.ended for record in found.evaluated]
    return max([past.told_seconds, *evaluated, *(begun.started for begun in found.started)])


def _log_missing(
    job: Job, writer: TraceWriter, past: Run, found: TrialsOnPage, cut_off: tuple[float, Death] | None
) -> int:
    """Writes the trials of the page that the trace lacks, and returns how many.

    An evaluated trial counts as it is. One without a result was cut off: with `cut_off`, the time and
    the death, it is logged as such; without, it will be asked for again after the resume. So will an
    evaluated one on the virtual clock, where it comes out the same.
    """
    candidates = []
    if cut_off is not None or job.spec.clock == "wall":
        candidates += found.evaluated
    if cut_off is not None:
        candidates += [_cut_off(begun, *cut_off) for begun in found.started]
    missing = past.that_may_follow(candidates)
    for record in missing:
        writer.append(record)
    return len(missing)


def _cut_off(begun: StartedTrial, ended: float, death: Death) -> TrialRecord:
    status, error = Status.TIMEOUT, None
    if death.by is Fate.EXIT:
        status, error = Status.MEMORY if death.is_for_memory else Status.FAILED, str(death)
    return trial_record(begun, Result(status, fit_seconds=ended - begun.started, error=error), None, ended)
