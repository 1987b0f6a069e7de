"""The driver's copy of a trace that grows on a worker: at any time its beginning, in whole lines.

As long as it is open its run is ours: no other command on the same results takes it up.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from cfo_bench.clock import monotonic
from cfo_bench.errors import CfoBenchError
from cfo_bench.records import EndRecord
from cfo_bench.results import trace
from cfo_bench.results.files import log_path
from cfo_bench.run import recovery
from cfo_bench.run.job import Job
from cfo_bench.run.live_page import LivePage, Snapshot
from cfo_bench.run.recovery import Death, Fate
from cfo_bench.run.supervisor import SYNC_SECONDS, Outcome, Verdict, already_done, own_page


class Mirror:
    """Where the bytes of one run's attempts end up, whichever worker they come from."""

    def __init__(self, job: Job, page: LivePage, size: int) -> None:
        self._job, self._page = job, page
        self.size = size  # of the trace as our attempts have it: what stood there before --force is not in it
        self._synced_at = monotonic()

    @classmethod
    def open(cls, job: Job, force: bool, say: Callable[[str], None]) -> Mirror | Verdict:
        """The copy with what an earlier command left, mended; a verdict where there is nothing to be done."""
        page = own_page(job)
        if isinstance(page, Verdict):
            return page
        try:
            past = None if force else recovery.prepare_to_resume(job, page, say)
            page.clear()
            mirror = cls(job, page, 0 if past is None else job.trace_path.stat().st_size)
        except CfoBenchError as error:
            page.close(remove=not recovery.has_unwritten_trial(job, page))
            return Verdict(Outcome.FAILED, error.exit_code, str(error))
        if past is None or not past.is_finished:
            return mirror
        mirror.close()
        verdict = already_done(job)
        assert verdict is not None, "a finished trace has a last line that says so"
        return verdict

    def past(self) -> bytes:
        """What the next attempt goes on from; a method that can't be replayed starts anew."""
        if self.size and not self._job.replays:
            trace.set_aside(self._job.trace_path)
            self.size = 0
        return self._job.trace_path.read_bytes() if self.size else b""

    def add(self, at: int, lines: bytes) -> bool:
        """Lines that stand at this offset of the worker's trace; False if there is a gap before them."""
        new = lines[max(self.size - at, 0) :]
        if at > self.size:
            return False
        if new:
            with trace.TraceWriter(self._job.trace_path) as writer:
                if self.size == 0:
                    writer.clear()  # only now that there is something in its place
                writer.write(new)
                if monotonic() - self._synced_at >= SYNC_SECONDS:
                    writer.sync()
                    self._synced_at = monotonic()
            self.size += len(new)
        return True

    def show(self, snapshot: Snapshot) -> None:
        """How far it is, for who looks at the results folder."""
        self._page.tally(snapshot.trials, snapshot.best_loss)
        if snapshot.zero is None:
            self._page.stop_clock()
        else:
            self._page.start_clock(snapshot.zero)

    def interrupt(self) -> None:
        """The end that a worker could not write any more."""
        if self.size:
            recovery.complete_trace(self._job, self._page, Death(Fate.STOP, monotonic()), has_begun=True)

    def end(self) -> EndRecord | None:
        """The last word of the trace, brought to disk."""
        if self.size == 0:
            return None
        with trace.TraceWriter(self._job.trace_path) as writer:
            writer.sync()
        ends = trace.ends(self._job.trace_path)
        return trace.parse_end(ends[1]) if ends is not None and ends[1]["kind"] == "end" else None

    def log(self, text: bytes) -> None:
        """What a run printed that died of it stays beside its trace."""
        with suppress(OSError):
            log_path(self._job.trace_path).write_bytes(text)

    def close(self) -> None:
        self._page.close(remove=True)
