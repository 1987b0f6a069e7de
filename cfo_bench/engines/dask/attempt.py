"""One attempt at a run on one worker, as the driver sees it: a Dask task, and its messages."""

from __future__ import annotations

import pickle
import queue
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cfo_bench.clock import monotonic
from cfo_bench.engines import capacity
from cfo_bench.engines.capacity import Capacity
from cfo_bench.engines.dask import worker
from cfo_bench.engines.dask.trace_copy import TraceCopy
from cfo_bench.engines.dask.worker import Assignment, Message
from cfo_bench.engines.scheduling import Attempt
from cfo_bench.records import RunStatus
from cfo_bench.results.schema import Pause
from cfo_bench.run.page import BusyError, Snapshot
from cfo_bench.run.supervisor import Verdict, already_done
from cfo_bench.tasks.fetching import Parcel, pack

if TYPE_CHECKING:
    from distributed import Client

# Seconds without a message after which a started attempt is given up.
SILENT_SECONDS = 60.0
# Seconds that an attempt may take to end when the command is stopped.
STOP_SECONDS = 10.0
# Seconds between two checks of these times.
TICK_SECONDS = 1.0
# Of many attempts on one large file, the first computes its checksum, and the others wait for it.
_packing = threading.Lock()


@dataclass(kw_only=True)
class DaskAttempt(Attempt):
    """An attempt at a run. Its `job` has the memory that the run gets on this worker."""

    client: Client
    worker: str  # its address
    folder: str  # of the worker: a worker that is restarted at the same address has another folder
    preload: tuple[str, ...]  # packages that the run's process needs
    token: str = field(default_factory=lambda: f"cfo-bench-run-{uuid4().hex}")
    is_silent: bool = False  # its worker sent nothing for too long
    messages: queue.SimpleQueue[Message] = field(default_factory=queue.SimpleQueue)
    _heard_at: float | None = None  # None before the first message of its worker
    _stop_at: float | None = None  # when to stop waiting for its last message; None until it has to stop

    @property
    def room(self) -> Capacity:
        return capacity.needs(self.job.spec)

    def tell(self, kind: str, why: str | None = None) -> None:
        """Add an event from the driver itself: `stop`, or that the attempt is `over`, and why."""
        self.messages.put({"kind": kind, "why": why})

    def abandon(self) -> None:
        self.tell("over", "given up")

    def supervise(self, force: bool, say: Callable[[str], None]) -> Verdict:
        """Submits the Dask task, and writes the lines that it sends, until its verdict arrives."""
        with _packing:
            data = pack(self.job.data)
        try:
            copy = TraceCopy.open(self.job, force, say)
        except BusyError as error:
            return Verdict(RunStatus.BUSY, 0, str(error))
        if copy is None:
            done = already_done(self.job)
            assert done is not None, "a finished trace has a last line that says so"
            return done
        future = None
        try:
            future = self._submit(copy, data)
            while (verdict := self._next(copy, data, future, say)) is None:
                pass
            return verdict
        finally:
            if future is not None:
                with suppress(Exception):  # the scheduler may be lost
                    future.cancel()
            copy.close()

    def _submit(self, copy: TraceCopy, data: Parcel | None) -> Any:
        """Submits the task with the newest past: until its end, only this attempt adds to the trace."""
        past = zlib.compress(copy.past(), level=1)
        assignment = Assignment(self.token, self.folder, self.job, past, data, self.preload)
        future = self.client.submit(
            worker.task(),
            pickle.dumps(assignment),
            key=self.token,
            workers=[self.worker],
            resources={worker.THREADS: self.room.cores, worker.MEMORY: self.room.memory_mb},
            pure=False,
        )
        future.add_done_callback(lambda future: self.tell("over", self._end_of(future)))
        return future

    def _next(
        self, copy: TraceCopy, data: Parcel | None, future: Any, say: Callable[[str], None]
    ) -> Verdict | None:
        """Handles one message; returns the verdict if it was the last message."""
        try:
            message = self.messages.get(timeout=TICK_SECONDS)
        except queue.Empty:
            return self._timed_out(copy)
        match message["kind"]:
            case "stop":
                if self._stop_at is None:
                    self._stop_at = monotonic() + (0 if self._heard_at is None else STOP_SECONDS)
                    future.cancel()  # its worker notices, and sends the last lines and the verdict
                return self._timed_out(copy)
            case "over":
                return self._lost(copy, message["why"]) if self._stop_at is None else None
        self._show(message, copy)
        match message["kind"]:
            case "needs data":
                # In a separate thread, because it may take long.
                threading.Thread(target=self._send, args=(data,), daemon=True).start()
            case "said":
                say(message["text"])
            case "lines":
                if not copy.add(message["at"], message["lines"]):
                    return self._lost(copy, "some of its lines did not arrive")
                self.has_new_trials |= b'{"kind":"trial"' in message["lines"]
            case "verdict":
                return self._verdict(message, copy)
        return None

    def _show(self, message: Message, copy: TraceCopy) -> None:
        self._heard_at = monotonic()
        elapsed = message["elapsed"]
        zero = None if elapsed is None else self._heard_at - elapsed
        self.snapshot = Snapshot(zero, message["trials"], message["best_loss"])
        copy.show(self.snapshot, [Pause(*pause) for pause in message["pauses"]])

    def _timed_out(self, copy: TraceCopy) -> Verdict | None:
        if self._stop_at is not None and monotonic() >= self._stop_at:
            copy.interrupt()
            return Verdict(RunStatus.INTERRUPTED)
        if self._heard_at is not None and monotonic() - self._heard_at > SILENT_SECONDS:
            self.is_silent = True
            return self._lost(copy, f"worker {self.worker} sent nothing for {SILENT_SECONDS:.0f} s")
        return None

    def _verdict(self, message: Message, copy: TraceCopy) -> Verdict:
        verdict: Verdict = pickle.loads(message["verdict"])
        if message["size"] > copy.size:
            return self._lost(copy, "its last lines did not arrive")
        if verdict.outside:
            return self._lost(copy, verdict.message or "it was killed")
        if message["log"]:
            copy.log(message["log"])
        if verdict.outcome is RunStatus.INTERRUPTED:
            if self._stop_at is None:
                return self._lost(copy, f"worker {self.worker} gave the run up")
            copy.interrupt()
        return replace(verdict, end=copy.end())

    def _lost(self, copy: TraceCopy, why: str | None) -> Verdict:
        """The verdict that the run needs another attempt. Without a reason, the scheduler was lost."""
        copy.record_pauses()
        message = why and f"{self.job.trace_path}: {why}"
        return Verdict(RunStatus.FAILED, 1, message, outside=True, has_begun=copy.size > 0)

    def _end_of(self, future: Any) -> str | None:
        if self.client.status != "running":
            return None  # the scheduler is lost
        if future.status == "error":
            return f"its Dask task failed: {_first_line(future.exception())}"
        return f"its Dask task is {future.status}, without a verdict"

    def _send(self, data: Parcel) -> None:
        """Sends the files that the worker's node lacks, in pieces, through a Dask queue."""
        from distributed import Queue

        try:
            inbox = Queue(self.token, client=self.client, maxsize=worker.PIECES_ON_THE_WAY)
            for item in data.items:
                for piece in item.pieces():
                    inbox.put(piece, timeout=SILENT_SECONDS)
            inbox.close()
        except Exception as error:  # an unreadable file, a worker that receives nothing, a lost scheduler
            self.tell("over", f"worker {self.worker} can't be sent its data ({_first_line(error)})")


def _first_line(error: BaseException | None) -> str:
    return str(error).partition("\n")[0]
