"""The driver's copy of a trace that grows on a worker. It always consists of the first lines of that trace.

The copy is the trace in the results folder. While it is open, its run is locked, so that no other command on
the same results folder executes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing, suppress

from cfo_bench.clock import monotonic
from cfo_bench.errors import CfoBenchError
from cfo_bench.files.writing import write_whole
from cfo_bench.results.folder import log_path, page_path
from cfo_bench.results.run import read_run
from cfo_bench.results.schema import EndRecord, Pause
from cfo_bench.results.trace import TraceWriter
from cfo_bench.run import recovery
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage, Snapshot
from cfo_bench.run.recovery import ExitCause, ProcessExit
from cfo_bench.run.supervisor import SYNC_SECONDS


def interrupt(job: Job) -> None:
    """Marks a run without an attempt as interrupted, unless another command is executing it."""
    with suppress(CfoBenchError, OSError):
        page = LivePage.own(page_path(job.trace_path))
        with closing(TraceCopy(job, page, job.trace_path.stat().st_size)) as copy:
            page.clear()
            copy.interrupt()


class TraceCopy:
    """The copy to which the lines of one attempt are added."""

    def __init__(self, job: Job, page: LivePage, size: int) -> None:
        self._job, self._page = job, page
        self.size = size  # bytes of the trace to resume from; 0 until a forced run replaces an older trace
        self._synced_at = monotonic()

    @classmethod
    def open(cls, job: Job, force: bool, say: Callable[[str], None]) -> TraceCopy | None:
        """The copy with the lines of earlier attempts; None if the run is already finished.

        Raises BusyError if another command is executing the run.
        """
        page = LivePage.own(page_path(job.trace_path))
        try:
            past = None if force else recovery.prepare_to_resume(job, page, say)
            page.clear()
            copy = cls(job, page, 0 if past is None else job.trace_path.stat().st_size)
            copy.record_pauses()  # those that a killed driver had received
        except CfoBenchError:
            page.close(remove=not recovery.has_unwritten_trial(job, page))
            raise
        if past is None or not past.is_finished:
            return copy
        copy.close()
        return None

    def past(self) -> bytes:
        """The trace from which the attempt resumes; empty if it starts from the beginning."""
        return self._job.trace_path.read_bytes() if self.size else b""

    def add(self, at: int, lines: bytes) -> bool:
        """Adds lines that are at this offset of the worker's trace; False if there is a gap before them."""
        if at > self.size:
            return False
        if new := lines[self.size - at :]:
            with TraceWriter(self._job.trace_path) as writer:
                if self.size == 0:
                    writer.clear()  # only when new lines replace the old trace
                writer.write(new)
                if monotonic() - self._synced_at >= SYNC_SECONDS:
                    writer.sync()
                    self._synced_at = monotonic()
            self.size += len(new)
        return True

    def show(self, snapshot: Snapshot, pauses: Sequence[Pause]) -> None:
        """Publish the progress of the run for `cfo-bench status`. Its pauses are kept for `record_pauses`."""
        self._page.tally(snapshot.trials, snapshot.best_loss)
        if snapshot.zero is None:
            self._page.stop_clock()
        else:
            self._page.start_clock(snapshot.zero)
        if len(pauses) > len(self._page.pauses()):
            self._page.forget_pauses()
            for pause in pauses:
                self._page.add_pause(pause)

    def record_pauses(self) -> None:
        """Writes an `interrupted` end record if the trace lacks some of the pauses.

        The worker that resumes the run reads the pauses from this line.
        """
        if not self.size:
            self._page.forget_pauses()
        elif pauses := self._page.pauses():
            past = read_run(self._job.trace_path)
            if past is not None and len(pauses) > len(past.pauses):
                self._page.stop_clock()
                self.interrupt()
                self.size = self._job.trace_path.stat().st_size

    def interrupt(self) -> None:
        """Writes an `interrupted` end record, unless an end has arrived from a worker."""
        if self.size:
            recovery.complete_trace(
                self._job, self._page, ProcessExit(ExitCause.STOP, monotonic()), has_begun=True
            )

    def end(self) -> EndRecord | None:
        """The last line, if it is an end. Flushes the trace to disk."""
        if self.size == 0:
            return None
        with TraceWriter(self._job.trace_path) as writer:
            writer.sync()
        run = read_run(self._job.trace_path)
        return None if run is None else run.end

    def log(self, text: bytes) -> None:
        """Writes the output of a failed run beside its trace."""
        with suppress(OSError):
            write_whole(log_path(self._job.trace_path), text)

    def close(self) -> None:
        self._page.close(remove=True)
