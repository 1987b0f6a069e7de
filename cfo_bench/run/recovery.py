"""After the death of a run's process: what its trace still lacks is written, from the page that it left.

Everything here is done by the run's supervisor, the trace's one writer while the process is dead: it
waits for the trace's lock first, since a process that was orphaned may take a moment to die.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from cfo_bench.errors import RunError, TraceError
from cfo_bench.machine.contention import Ticks
from cfo_bench.machine.signals import signal_name
from cfo_bench.records import EndReason, Status, TrialRecord
from cfo_bench.results import trace
from cfo_bench.results.trace import Trace, TraceWriter
from cfo_bench.run.live_page import LivePage
from cfo_bench.run.runner import Job, check_same_run, end_record, spec_header

# What others end a process with: the kernel short of memory, a batch system, a person.
_SENT_BY_OTHERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


CANT_REPLAY = "its method says that it can't be replayed"


class KilledError(RunError):
    """The run's process was killed from outside: another try is worth it, from where it `has_begun`."""

    def __init__(self, text: str, has_begun: bool) -> None:
        super().__init__(text)
        self.has_begun = has_begun


class Fate(StrEnum):
    """What ended a process of the run."""

    EXIT = "exit"
    BUDGET = "budget"
    TRIAL_TIMEOUT = "trial timeout"
    STOP = "stop"
    LOST = "the process that it was forked from died"


@dataclass(frozen=True, slots=True)
class Death:
    """`at` is when, on the machine's clock; `last_words` is the end of what the process printed.

    `began` is how the machine's ticks stood when the process started, on the wall clock.
    """

    by: Fate
    at: float
    exit_code: int = 0
    last_words: str = ""
    began: Ticks | None = None

    @property
    def is_from_outside(self) -> bool:
        return self.by is Fate.LOST or (self.by is Fate.EXIT and -self.exit_code in _SENT_BY_OTHERS)

    @property
    def is_for_memory(self) -> bool:
        """A C++ library that can't allocate aborts with these words."""
        return self.exit_code == -signal.SIGABRT and "bad_alloc" in self.last_words

    def __str__(self) -> str:
        if self.by is not Fate.EXIT:
            return str(self.by)
        code = self.exit_code
        how = f"killed by {signal_name(code)}" if code < 0 else f"exit code {code}"
        last_line = self.last_words.strip().rpartition("\n")[2]
        return f"{how}: {last_line}" if last_line else how


def log_path(job: Job) -> Path:
    """Where the run's process prints to."""
    return job.trace_path.with_suffix(".log")


def pick_up(job: Job, page: LivePage, say: Callable[[str], None]) -> Trace | None:
    """The trace that an earlier command left, mended; None when the run has to start anew."""
    path = job.trace_path
    past = trace.read(path)
    if past is None:
        return None
    check_same_run(path, past.header, spec_header(job.spec))
    if past.is_finished:
        return past
    with TraceWriter(path) as writer:
        cut = writer.mend()
        if cut:
            say(f"{path}: its last line was torn, {cut} bytes cut off")
        past = _reread(path)
        if past.is_finished:
            return past
        _log_under_way(job, writer, past, page.under_way(), None)
        past = _reread(path)
        if past.trials and not job.replays:
            say(f"{path}: {CANT_REPLAY}: it starts anew, what it had is kept as {trace.set_aside(path).name}")
            return None
    say(f"{path}: goes on after {len(past.trials)} trials, at {past.elapsed:.1f} s of its clock")
    return past


def set_right(job: Job, page: LivePage, death: Death, has_begun: bool) -> Trace:
    """The trace after a death, with the trial under way logged and, if that was all, the end.

    A death from outside that no trial can be blamed for leaves the run to be gone on with. A run that
    has not begun may have an older trace in its place, which stays as it is.
    """
    path, spec, zero = job.trace_path, job.spec, page.snapshot().zero
    if not has_begun or trace.read(path) is None:
        if death.by is Fate.STOP:
            return Trace({}, [], end_record(EndReason.INTERRUPTED, 0.0, 0, None))
        message = f"{path}: the run's process died before its first line: {death}; more in {log_path(job)}"
        raise KilledError(message, has_begun=False) if death.is_from_outside else RunError(message)
    with TraceWriter(path) as writer:
        writer.mend()
        past = _reread(path)
        if past.is_finished or (past.end is not None and death.by is Fate.STOP):
            return past
        under_way = page.under_way()
        # A clock that stands still has not gone past the last thing it was read for.
        stood_at = max([past.elapsed, *(row.get("ended", row["started"]) for row in under_way)])
        elapsed = stood_at if zero is None else death.at - zero
        is_to_go_on = death.by in (Fate.STOP, Fate.LOST)
        logged = _log_under_way(job, writer, past, under_way, None if is_to_go_on else (elapsed, death))
        after = _reread(path)
        error = None
        if death.by is Fate.STOP:
            reason, elapsed = EndReason.INTERRUPTED, after.elapsed  # from there it will go on
        elif death.by is Fate.BUDGET or (elapsed >= spec.budget_seconds and not is_to_go_on):
            reason = EndReason.BUDGET
        elif spec.max_trials is not None and len(after.trials) >= spec.max_trials:
            reason = EndReason.MAX_TRIALS
        elif death.is_from_outside and (is_to_go_on or not logged):
            raise KilledError(
                f"{path}: the run's process died after {len(after.trials)} trials: {death}", has_begun=True
            )
        elif logged and job.replays:
            return after
        elif logged:
            reason, error = EndReason.ERROR, f"a trial ended the process ({death}), and {CANT_REPLAY}"
        else:  # it died in the method, and would again
            reason, error = EndReason.ERROR, f"the process died outside of a trial: {death}"
        cut_ask = elapsed - after.elapsed if reason is EndReason.BUDGET and not logged else 0.0
        writer.append(
            end_record(reason, elapsed, len(after.trials), after.best, error, max(cut_ask, 0.0), death.began)
        )
        writer.sync()
        return _reread(path)


def owes_a_trial(job: Job, page: LivePage) -> bool:
    """Whether the page holds a finished trial that could not be written, on a full disk for one."""
    finished = {row["number"] for row in page.under_way() if "status" in row}
    if not finished or job.spec.clock == "virtual":
        return False
    try:
        past = trace.read(job.trace_path)
    except TraceError:
        return True
    return past is not None and not finished <= {record.number for record in past.trials}


def _reread(path: Path) -> Trace:
    found = trace.read(path)
    assert found is not None, "a trace that had its header lost it while it was locked"
    return found


def _log_under_way(
    job: Job,
    writer: TraceWriter,
    past: Trace,
    rows: list[dict[str, Any]],
    cut_at: tuple[float, Death] | None,
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
        if "status" in row and (cut_at is not None or job.spec.clock == "wall"):
            writer.append(trace.trial_record(row))
        elif cut_at is not None:
            writer.append(_cut_off(row, *cut_at))
        else:
            continue
        logged += 1
    return logged


def _cut_off(row: dict[str, Any], ended: float, death: Death) -> TrialRecord:
    status, error = Status.TIMEOUT, None
    if death.by is Fate.EXIT:
        status, error = Status.MEMORY if death.is_for_memory else Status.FAILED, str(death)
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
