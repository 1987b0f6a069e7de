"""What happens on a cluster's worker: one attempt at a run, reported to the driver while it goes on.

An attempt is one Dask task. It asks the driver for what the node lacks of the data, and for the trace so
far; then it is a supervisor as on any machine, on a trace in the worker's own folder, and sends each new
line on. Reports go by Dask's events, through the scheduler; the driver's answers come by `deliver`.
"""

from __future__ import annotations

import multiprocessing
import queue
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfo_bench import __version__, machine
from cfo_bench.clock import monotonic
from cfo_bench.engines.dask.answers import Again, Answer, Halt, Past, Piece
from cfo_bench.errors import CfoBenchError, describe
from cfo_bench.processes import ForkServerContext
from cfo_bench.records import DataRef
from cfo_bench.results.files import log_path
from cfo_bench.run.job import Job
from cfo_bench.run.live_page import LivePage, Snapshot
from cfo_bench.run.supervisor import Outcome, Stop, Verdict, fork_server, supervise
from cfo_bench.tasks.shipping import Item, Parcel, at_hand, unpack

if TYPE_CHECKING:
    from distributed import Worker

# The topic of the reports, one for all drivers: a scheduler keeps the last 1,000 of each that it ever saw.
TOPIC = "cfo-bench"
# A worker's resources, as Dask calls them: what runs reserve.
THREADS, MEMORY = "cfo_threads", "cfo_memory_mb"

# How often a growing trace is looked at, and how often at least the driver hears of an attempt.
FOLLOW_SECONDS, BEAT_SECONDS = 0.5, 5.0
# Lines in one report: with the 1,000 that a scheduler keeps, this bounds what it holds.
REPORT_BYTES = 2**15
# What is kept of a worker's memory for the worker itself, in percent.
SPARE_PERCENT = 10


async def enrol(dask_worker: Worker) -> dict[str, Any]:
    """What the worker has for runs, which is made known to Dask as resources that they reserve."""
    limit = dask_worker.memory_manager.memory_limit
    total_mb = limit // 2**20 if limit else machine.total_memory_mb()
    offer = {THREADS: dask_worker.state.nthreads, MEMORY: total_mb * (100 - SPARE_PERCENT) // 100}
    if THREADS not in dask_worker.state.total_resources:  # else another driver did it, and its runs hold some
        await dask_worker.set_resources(**offer)
    return {**offer, "version": __version__}


@dataclass(frozen=True, slots=True)
class Ticket:
    """All that an attempt has to know; `token` is its name, and the key of its Dask task."""

    token: str
    job: Job
    parcel: Parcel | None
    preload: tuple[str, ...]


# --- an attempt -------------------------------------------------------------------------------


_inboxes: dict[str, queue.SimpleQueue[Answer | Verdict]] = {}


def deliver(token: str, answer: Answer) -> bool:
    """Called by the driver on the attempt's worker; False if the attempt is over."""
    inbox = _inboxes.get(token)
    if inbox is None:
        return False
    inbox.put(answer)
    return True


def attempt(ticket: Ticket) -> None:
    """The Dask task: from the first report to the one with the verdict."""
    from distributed import get_worker

    worker = get_worker()
    scratch = Path(worker.local_directory) / "cfo-bench" / ticket.token
    inbox = _inboxes[ticket.token] = queue.SimpleQueue()
    try:
        _Attempt(ticket, worker, scratch, inbox).run()
    finally:
        del _inboxes[ticket.token]
        shutil.rmtree(scratch, ignore_errors=True)


class _Unwanted(Exception):
    """Nobody waits for this attempt any more."""


class _Attempt:
    def __init__(
        self, ticket: Ticket, worker: Worker, scratch: Path, inbox: queue.SimpleQueue[Answer | Verdict]
    ) -> None:
        self._ticket, self._worker, self._scratch, self._inbox = ticket, worker, scratch, inbox
        self._address = worker.address  # which a worker that is closing can't tell any more
        self._trace = scratch / ticket.job.trace_path.name
        self._log = log_path(self._trace)
        self._page: LivePage | None = None
        self._seen = Snapshot(None, 0, None)
        self._sent = 0
        self._reported_at = monotonic()

    def run(self) -> None:
        try:
            data = self._data()
            self._report("ready")
            past = self._answer(Past).data()
            self._scratch.mkdir(parents=True)
            if past:
                self._trace.write_bytes(past)
            self._sent = len(past)
            verdict = self._supervised(data)
        except _Unwanted:
            verdict = Verdict(Outcome.INTERRUPTED)
        except Exception as error:
            verdict = _failure(error)
        log = self._log.read_bytes()[-REPORT_BYTES:] if self._log.exists() else b""
        self._report(
            "verdict",
            outcome=str(verdict.outcome),
            exit_code=verdict.exit_code,
            message=self._as_the_user_knows_it(verdict.message or "") or None,
            outside=verdict.outside,
            size=self._sent,
            log=log,
        )

    def _data(self) -> DataRef:
        """The data as this node has it; what it lacks, one attempt a node asks the driver for."""
        ref, parcel = self._ticket.job.data, self._ticket.parcel
        found = at_hand(ref, parcel)
        if found is not None or parcel is None:
            return found or ref
        asked = False

        def receive(item: Item) -> Iterator[bytes]:
            nonlocal asked
            if not asked:
                asked = True
                self._report("needs")
            left = item.size
            while left > 0:
                piece = self._answer(Piece).data
                left -= len(piece)
                yield piece

        return unpack(ref, parcel, receive, self._pause)

    def _supervised(self, data: DataRef) -> Verdict:
        """The run, with its trace followed until it ends."""
        ticket = self._ticket
        # What the header says of a machine, it says of this one.
        provenance = {**ticket.job.provenance, **machine.provenance()}
        job = replace(
            ticket.job, data=data, given=ticket.job.data, trace_path=self._trace, provenance=provenance
        )
        context, stop = _fork_server(ticket.preload), Stop()

        def work() -> None:
            try:
                self._inbox.put(supervise(job, context, stop, False, self._say, self._show))
            except Exception as error:  # a defect of ours must not leave the driver without an answer
                self._inbox.put(_failure(error))

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            return self._follow(stop)
        finally:
            stop.set()  # lest the run goes on where following it failed
            thread.join()
            stop.close()

    def _follow(self, stop: Stop) -> Verdict:
        is_stopping = False
        while True:
            news = self._next()
            if isinstance(news, Verdict):
                self._send_lines()
                return news
            if isinstance(news, Again):
                self._sent = min(self._sent, news.at)
            if not is_stopping and (isinstance(news, Halt) or not self._is_wanted()):
                is_stopping = True
                stop.set()
            self._send_lines()

    def _answer(self, kind: type[Any]) -> Any:
        """The driver's answer of this kind, waited for as long as the attempt is wanted."""
        while True:
            news = self._next()
            if isinstance(news, kind):
                return news
            if isinstance(news, Halt) or not self._is_wanted():
                raise _Unwanted
            self._beat()

    def _pause(self) -> None:
        """While another attempt on this node fetches the data."""
        if isinstance(self._next(), Halt) or not self._is_wanted():
            raise _Unwanted
        self._beat()

    def _next(self) -> Answer | Verdict | None:
        try:
            return self._inbox.get(timeout=FOLLOW_SECONDS)
        except queue.Empty:
            return None

    def _is_wanted(self) -> bool:
        """Not if the task was cancelled, its client is gone, or the worker lost its scheduler.

        Dask can't stop a thread: it only notes that nobody waits for what the thread does.
        """
        from distributed.core import Status

        task = self._worker.state.tasks.get(self._ticket.token)
        is_running = self._worker.status in (Status.running, Status.paused, Status.closing_gracefully)
        return is_running and task is not None and task.state in ("executing", "long-running")

    # --- reports --------------------------------------------------------------------------------

    def _send_lines(self) -> None:
        """Whole lines that the trace has grown by, in reports of a bounded size."""
        try:
            with self._trace.open("rb") as file:
                file.seek(self._sent)
                while lines := _whole_lines(file.read(REPORT_BYTES), file):
                    self._report("lines", at=self._sent, lines=lines)
                    self._sent += len(lines)
                    file.seek(self._sent)
        except FileNotFoundError:
            pass  # before its first line
        self._beat()

    def _beat(self) -> None:
        if monotonic() - self._reported_at >= BEAT_SECONDS:
            self._report("beat")

    def _say(self, text: str) -> None:
        self._report("said", text=self._as_the_user_knows_it(text))

    def _show(self, page: LivePage) -> None:
        self._page = page

    def _report(self, kind: str, **more: Any) -> None:
        """Safe in any thread."""
        if self._page is not None:
            with suppress(ValueError):  # the run ended, and its page was closed
                self._seen = self._page.snapshot()
        report = {
            "token": self._ticket.token,
            "worker": self._address,
            "kind": kind,
            "elapsed": None if self._seen.zero is None else monotonic() - self._seen.zero,
            "trials": self._seen.trials,
            "best_loss": self._seen.best_loss,
            **more,
        }
        self._worker.log_event(TOPIC, report)
        self._reported_at = monotonic()

    def _as_the_user_knows_it(self, text: str) -> str:
        """The trace has another name on the worker than where it will stay."""
        return text.replace(str(self._scratch), str(self._ticket.job.trace_path.parent))


def _failure(error: Exception) -> Verdict:
    if isinstance(error, CfoBenchError):
        return Verdict(Outcome.FAILED, error.exit_code, str(error))
    return Verdict(Outcome.FAILED, 1, f"unexpected {describe(error)}")


def _whole_lines(data: bytes, file: Any) -> bytes:
    """What is whole of the data; of a line that is longer than that, all of it."""
    while data and b"\n" not in data and (more := file.read(REPORT_BYTES)):
        data += more
    return data[: data.rfind(b"\n") + 1]


_starting = threading.Lock()


def _fork_server(preload: Sequence[str]) -> ForkServerContext:
    """One for all attempts of this worker process."""
    with _starting:
        # A nanny marks its worker as a daemon, which multiprocessing lets have no children, lest they
        # outlive it. Ours don't: the server ends when its worker does, and takes the runs along.
        config: dict[str, Any] = multiprocessing.current_process()._config  # type: ignore[attr-defined]
        config["daemon"] = False
        return fork_server(preload)
