"""The part of the engine on a worker, which offers threads and memory to runs, and makes attempts at runs.

An attempt is one Dask task: a supervisor as on any machine, whose trace is in the folder of the worker. Every
new line of this trace is sent to the driver as a Dask event.
"""

from __future__ import annotations

import multiprocessing
import pickle
import shutil
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cfo_bench import __version__, machine
from cfo_bench.clock import monotonic, sleep
from cfo_bench.engines.scheduling import failed
from cfo_bench.machine.fork_server import fork_server
from cfo_bench.machine.processes import ForkServerContext, counting_continuations
from cfo_bench.records import DataRef, RunStatus
from cfo_bench.results.folder import log_path
from cfo_bench.results.schema import Pause
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage, Snapshot
from cfo_bench.run.supervisor import Stop, Verdict, supervise
from cfo_bench.tasks.fetching import Item, Parcel, at_hand, unpack

if TYPE_CHECKING:
    from distributed import Queue, Worker, WorkerPlugin

# One topic for all drivers, because a scheduler keeps the last 1,000 messages of each topic forever.
TOPIC = f"cfo-bench-{__version__}"
# The resources that runs reserve. A worker with another version of cfo-bench does not offer them.
THREADS, MEMORY = f"cfo_threads_{__version__}", f"cfo_memory_mb_{__version__}"
# The metric in which an unusable worker reports the reason to the scheduler.
UNUSABLE = f"cfo_bench_{__version__}_unusable"
# The memory of a worker that is reserved for the worker itself.
SPARE_PERCENT = 10

# Seconds between two checks whether an attempt is still wanted, between two messages with new lines, and at
# most between any two messages to the driver.
LOOK_SECONDS, FOLLOW_SECONDS, BEAT_SECONDS = 0.1, 0.5, 5.0
# The approximate limit of the lines in one message. A scheduler keeps 1,000, so this limits its memory.
MESSAGE_BYTES = 2**15
# Pieces of a file that the scheduler may hold on their way to a worker.
PIECES_ON_THE_WAY = 2

Message = dict[str, Any]


# --- objects that the driver sends to the cluster -------------------------------------------------

# Classes and functions inside functions are pickled as code, not by name: the scheduler can pass them on
# without cfo-bench, and a worker without cfo-bench can report that it is missing.


def plugin() -> WorkerPlugin:
    """The plugin that Dask sets up on every worker, also on those that join later."""
    from distributed import WorkerPlugin

    version, metric = __version__, UNUSABLE

    class CfoBench(WorkerPlugin):
        name = f"cfo-bench-{version}"

        async def setup(self, worker: Any) -> None:
            try:
                from cfo_bench import __version__ as found
            except ImportError as error:
                why = f"can't import cfo-bench ({error})"
            else:
                if found == version:
                    await offer(worker)
                    return
                why = f"has cfo-bench {found}"
            worker.metrics[metric] = lambda worker: why

    return CfoBench()


def task() -> Callable[[bytes], None]:
    """The function that a worker calls with a pickled Assignment."""

    def cfo_bench_run(assignment: bytes) -> None:

        attempt(assignment)

    return cfo_bench_run


@dataclass(frozen=True, slots=True)
class Assignment:
    """Everything that an attempt needs to know."""

    token: str  # the attempt's name, and the key of its Dask task
    folder: str  # of the worker that the driver chose
    job: Job
    past: bytes  # the trace so far, compressed; empty if the run starts from the beginning
    data: Parcel | None  # the files that the node needs, and may already have
    preload: tuple[str, ...]  # the packages that the run's process needs


# --- on the worker -------------------------------------------------------------------------------


async def offer(worker: Worker) -> None:
    """Reports to Dask the threads and the memory that the worker has for runs."""
    counting = ExitStack()
    counting.enter_context(counting_continuations())  # for the supervisors in this process, until it ends
    limit = worker.memory_manager.memory_limit
    total_mb = limit // 2**20 if limit else machine.total_memory_mb()
    if THREADS not in worker.state.total_resources:  # another driver may have set them, and its runs use some
        memory_mb = total_mb * (100 - SPARE_PERCENT) // 100
        await worker.set_resources(**{THREADS: worker.state.nthreads, MEMORY: memory_mb})


def attempt(pickled: bytes) -> None:
    from distributed import get_worker

    worker, assignment = get_worker(), pickle.loads(pickled)
    if worker.local_directory != assignment.folder:
        return  # the worker was restarted: Dask repeats the task, but its past may be outdated
    scratch = Path(worker.local_directory) / "cfo-bench" / assignment.token
    try:
        _Attempt(assignment, worker, scratch).run()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class _Unwanted(Exception):
    """The driver no longer waits for this attempt."""


class _Attempt:
    def __init__(self, assignment: Assignment, worker: Worker, scratch: Path) -> None:
        self._assignment, self._job, self._worker = assignment, assignment.job, worker
        self._address = worker.address  # a closing worker has no address
        self._scratch = scratch
        self._trace = scratch / self._job.trace_path.name
        self._inbox: Queue | None = None  # receives the pieces of files from the driver
        self._page: LivePage | None = None
        self._seen = Snapshot(None, 0, None)
        self._pauses: tuple[Pause, ...] = ()  # of the run so far
        self._sent = 0  # bytes of the trace that were sent to the driver
        self._reported_at = self._followed_at = monotonic()

    def run(self) -> None:
        """Makes the attempt, from the first message to the verdict."""
        self._report("beat")
        try:
            data = self._data()
            self._scratch.mkdir(parents=True)
            if past := zlib.decompress(self._assignment.past):
                self._sent = self._trace.write_bytes(past)
            verdict = self._supervised(data)
        except _Unwanted:
            verdict = Verdict(RunStatus.INTERRUPTED)
        except Exception as error:
            verdict = failed(error)
        log = log_path(self._trace)
        last_words = log.read_bytes()[-MESSAGE_BYTES:] if log.exists() else b""
        if verdict.message is not None:
            verdict = replace(verdict, message=self._with_the_users_paths(verdict.message))
        self._report("verdict", verdict=pickle.dumps(verdict), size=self._sent, log=last_words)

    def _supervised(self, data: DataRef) -> Verdict:
        """Supervises the run as on any machine, while a thread follows its trace."""
        provenance = {**self._job.provenance, **machine.provenance()}  # of this machine, not the driver's
        job = replace(
            self._job, data=data, given=self._job.data, trace_path=self._trace, provenance=provenance
        )
        stop, is_over = Stop(), threading.Event()
        follower = threading.Thread(target=self._follow, args=(stop, is_over), daemon=True)
        follower.start()
        try:
            context = _fork_server(self._assignment.preload)
            return supervise(job, context, stop, False, self._say, self._show)
        finally:
            is_over.set()
            follower.join()
            stop.close()
            self._send_lines()

    def _follow(self, stop: Stop, is_over: threading.Event) -> None:
        """Sends new lines of the trace, and ends a run that is no longer wanted."""
        try:
            while not is_over.wait(LOOK_SECONDS):
                if not self._is_wanted():
                    stop.set()
                if monotonic() - self._followed_at >= FOLLOW_SECONDS:
                    self._send_lines()
        finally:
            stop.set()  # also if sending failed

    def _is_wanted(self) -> bool:
        """False if the task was cancelled, its driver is gone, or the worker lost its scheduler.

        Dask can't stop a thread: it only changes the state of the task.
        """
        from distributed.core import Status

        task = self._worker.state.tasks.get(self._assignment.token)
        is_running = self._worker.status in (Status.running, Status.paused, Status.closing_gracefully)
        return is_running and task is not None and task.state in ("executing", "long-running")

    # --- data -----------------------------------------------------------------------------------

    def _data(self) -> DataRef:
        """The data on this node. The driver sends the files that the node lacks."""
        ref, files = self._job.data, self._assignment.data
        available = at_hand(ref, files)
        if available is not None or files is None:
            return available or ref
        try:
            return unpack(ref, files, self._receive, self._wait_for_others)
        finally:
            if self._inbox is not None:
                self._inbox.close()

    def _receive(self, item: Item) -> Iterator[bytes]:
        from distributed import Queue

        if self._inbox is None:
            self._inbox = Queue(self._assignment.token, maxsize=PIECES_ON_THE_WAY)
            self._report("needs data")
        left = item.size
        while left > 0:
            self._check()
            try:
                piece: bytes = self._inbox.get(timeout=LOOK_SECONDS)
            except TimeoutError:
                continue
            left -= len(piece)
            yield piece

    def _wait_for_others(self) -> None:
        """Waits while another attempt on this node receives the data."""
        sleep(LOOK_SECONDS)
        self._check()

    def _check(self) -> None:
        if not self._is_wanted():
            raise _Unwanted
        self._beat()

    # --- messages to the driver -----------------------------------------------------------------

    def _send_lines(self) -> None:
        """Sends the complete new lines of the trace, in messages of limited size."""
        self._followed_at = monotonic()
        with suppress(FileNotFoundError), self._trace.open("rb") as file:  # missing before its first line
            file.seek(self._sent)
            while read := b"".join(file.readlines(MESSAGE_BYTES)):
                lines = read[: read.rfind(b"\n") + 1]
                if lines:
                    self._report("lines", at=self._sent, lines=lines)
                    self._sent += len(lines)
                if len(lines) < len(read):
                    break  # the last line is still being written
        self._beat()

    def _beat(self) -> None:
        if monotonic() - self._reported_at >= BEAT_SECONDS:
            self._report("beat")

    def _say(self, text: str) -> None:
        self._report("said", text=self._with_the_users_paths(text))

    def _show(self, page: LivePage) -> None:
        self._page = page

    def _report(self, kind: str, **more: Any) -> None:
        """Sends a message to the driver; can be called in any thread."""
        if self._page is not None:
            self._seen, self._pauses = self._page.snapshot(), self._page.pauses()
        message: Message = {
            "token": self._assignment.token,
            "worker": self._address,
            "kind": kind,
            "elapsed": None if self._seen.zero is None else monotonic() - self._seen.zero,
            "trials": self._seen.trials,
            "best_loss": self._seen.best_loss,
            "pauses": [msgspec.structs.astuple(pause) for pause in self._pauses],
            **more,
        }
        self._worker.log_event(TOPIC, message)
        self._reported_at = monotonic()

    def _with_the_users_paths(self, text: str) -> str:
        """The message with the path of the trace in the results folder instead of that on the worker."""
        return text.replace(str(self._scratch), str(self._job.trace_path.parent))


_starting = threading.Lock()


def _fork_server(preload: Sequence[str]) -> ForkServerContext:
    """The fork server of all attempts of this worker process."""
    with _starting:
        # A nanny marks its worker as a daemon, and multiprocessing forbids children of a daemon, because they
        # might outlive it. Ours do not: the server ends with its worker, and the runs end with the server.
        config: dict[str, Any] = multiprocessing.current_process()._config  # type: ignore[attr-defined]
        config["daemon"] = False
        return fork_server(preload)
