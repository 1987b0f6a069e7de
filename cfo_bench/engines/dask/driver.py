"""The driver: it assigns runs to workers, receives their lines and writes the traces."""

from __future__ import annotations

import resource
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from cfo_bench import __version__
from cfo_bench.clock import monotonic
from cfo_bench.engines import capacity
from cfo_bench.engines.capacity import Capacity
from cfo_bench.engines.dask.attempt import DaskAttempt
from cfo_bench.engines.dask.clusters import Link, linked, need_packages
from cfo_bench.engines.dask.trace_copy import interrupt
from cfo_bench.engines.dask.worker import Message
from cfo_bench.engines.scheduling import Attempt, Listener, Runs, run_all
from cfo_bench.errors import RunError
from cfo_bench.machine.processes import ForkServerContext
from cfo_bench.records import RunSpec, RunStatus
from cfo_bench.run.checks import packages
from cfo_bench.run.job import Job
from cfo_bench.run.supervisor import Verdict
from cfo_bench.suite.model import Cluster

# --- the worker of the next run -------------------------------------------------------------------


class Placed(NamedTuple):
    worker: str  # its address
    spec: RunSpec  # with the memory that the run gets there


def free(rooms: Mapping[str, Capacity], taken: Iterable[tuple[str, Capacity]]) -> dict[str, Capacity]:
    """The free capacity of each worker, by its address."""
    left = dict(rooms)
    for address, room in taken:
        if address in left:
            left[address] -= room
    return left


def place(spec: RunSpec, rooms: Mapping[str, Capacity], left: Mapping[str, Capacity]) -> Placed | None:
    """Place the run on the worker with the most free cores that has room for it."""
    fitted = {address: with_memory(spec, rooms[address]) for address in left}
    fitting = [address for address in fitted if left[address].holds(capacity.needs(fitted[address]))]
    if not fitting:
        return None
    chosen = max(fitting, key=lambda address: left[address].cores)
    return Placed(chosen, fitted[chosen])


def lack_of_room(spec: RunSpec, rooms: Iterable[Capacity]) -> str | None:
    """The reason why none of these workers can ever execute the run; None if one can, or if there is no
    worker.
    """
    by_size = sorted(rooms, key=lambda room: (room.cores, room.memory_mb))
    if not by_size or any(room.holds(capacity.needs(with_memory(spec, room))) for room in by_size):
        return None
    largest = by_size[-1]
    return (
        f"it needs {capacity.needs(with_memory(spec, largest))}, and the largest worker has {largest}: "
        "start larger workers, or ask for less with --threads, --parallel or --memory"
    )


def with_memory(spec: RunSpec, room: Capacity) -> RunSpec:
    """Give a run without a memory limit the same share of the worker's memory as of its threads."""
    side_by_side = room.cores // capacity.needs(spec).cores
    [fitted] = capacity.with_memory([spec], room, side_by_side)
    return fitted


# --- the driver -----------------------------------------------------------------------------------

POLL_SECONDS, REFILL_SECONDS = 1.0, 30.0
# Seconds to wait for larger workers if a run fits on no worker.
UNFIT_SECONDS = 5.0
# Seconds to wait for a lost scheduler.
RECONNECT_SECONDS = 300.0
# Consecutive attempts without a new trial after which a run is given up.
TRIES = 5


class DaskEngine:
    """Executes runs on a cluster of this `kind`. Its options are those of `suite.model.Cluster`."""

    def __init__(
        self,
        *,
        kind: str = "local",
        scheduler: str | None = None,
        workers: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._cluster = Cluster(kind, scheduler, workers, options or {})

    def check(self) -> None:
        need_packages(self._cluster)

    def at_once(self) -> int:
        return self._cluster.workers or 1

    def price(self, specs: Sequence[RunSpec]) -> str:
        return capacity.price(specs, self.at_once(), "{} workers", None)

    def run(
        self, jobs: Sequence[Job], listener: Listener, *, force: bool, context: ForkServerContext
    ) -> list[Verdict]:
        return run_jobs(jobs, self._cluster, force, listener)


def run_jobs(jobs: Sequence[Job], cluster: Cluster, force: bool, listener: Listener) -> list[Verdict]:
    """Returns all verdicts in order. A failed run does not stop the others; Interrupted after a signal.

    A job without a memory limit gets a fair share of its worker's memory. A run that another command is
    executing is resumed only if that command stops before the run is finished.
    """
    runs = Runs(jobs, force, listener)
    return run_all(runs, _workers(runs, cluster, listener), listener)


@contextmanager
def _workers(runs: Runs, cluster: Cluster, listener: Listener) -> Iterator[_Workers]:
    _allow_many_files()
    threads = max(capacity.needs(job.spec).cores for job in runs.jobs)
    with linked(cluster, threads) as link, closing(_Workers(runs, link, listener)) as workers:
        yield workers


def _allow_many_files() -> None:
    """Raise the limit of open files: each running run keeps one open here."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _Workers:
    """The workers of the cluster as the site of runs."""

    def __init__(self, runs: Runs, link: Link, listener: Listener) -> None:
        self.tries = TRIES
        self._runs, self._link, self._listener = runs, link, listener
        jobs = [runs.jobs[index] for index in runs.missing]
        self._preload = tuple(packages((job.spec for job in jobs), (job.data for job in jobs)))
        self._waiting: list[tuple[float, int]] = []  # the longest first
        self._begun: set[int] = set()  # runs with at least one attempt
        self._attempts: dict[str, DaskAttempt] = {}  # by their tokens
        self._rooms: dict[str, Capacity] = {}  # the capacity that each usable worker offers to runs
        self._worker_dirs: dict[str, str] = {}  # of every worker
        self._silent: set[str] = set()  # workers that get no run until they send a message
        self._joined_at = monotonic()
        self._polled_at = self._refilled_at = float("-inf")
        self._lost_at: float | None = None  # when the loss of the scheduler was detected
        self._meet_scheduler()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, index: int) -> None:
        insort(self._waiting, (-self._runs.jobs[index].spec.budget_seconds, index))

    def take(self) -> DaskAttempt | None:
        """An attempt on the worker with the most free cores. A run that fits on no worker fails."""
        if not self._link.is_up:
            return None  # the next refresh tries to reconnect
        rooms = {address: room for address, room in self._rooms.items() if address not in self._silent}
        left = free(rooms, ((attempt.worker, attempt.room) for attempt in self._attempts.values()))
        may_grow = monotonic() - self._joined_at < UNFIT_SECONDS  # others may join soon after the first
        too_large: set[Capacity] = set()
        for waiting in list(self._waiting):
            job = self._runs.jobs[waiting[1]]
            needed = capacity.needs(job.spec)
            if needed in too_large:
                continue
            placed = place(job.spec, rooms, left)
            if placed is not None:
                self._waiting.remove(waiting)
                attempt = DaskAttempt(
                    job=replace(job, spec=placed.spec),
                    index=waiting[1],
                    client=self._link.client,
                    worker=placed.worker,
                    folder=self._worker_dirs[placed.worker],
                    preload=self._preload,
                )
                self._attempts[attempt.token] = attempt
                return attempt
            if not may_grow and (why := lack_of_room(job.spec, self._rooms.values())) is not None:
                self._waiting.remove(waiting)
                self._runs.finish(waiting[1], Verdict(RunStatus.FAILED, 2, why))
            else:
                too_large.add(needed)
        return None

    def release(self, attempt: Attempt) -> None:
        assert isinstance(attempt, DaskAttempt)
        del self._attempts[attempt.token]
        self._begun.add(attempt.index)
        if attempt.is_silent:
            self._silent.add(attempt.worker)

    def close(self) -> None:
        """Mark runs that lost their attempt, and wait for another one, as interrupted."""
        for _, index in self._waiting:
            if index in self._begun:
                interrupt(self._runs.jobs[index])

    def _receive(self, message: Message) -> None:
        """Receive a message. Dask calls this in its own thread."""
        if message["kind"] == "joined":
            self._polled_at = float("-inf")
            return
        self._silent.discard(message["worker"])
        attempt = self._attempts.get(message["token"])
        if attempt is not None:  # None: the attempt belongs to another driver, or was given up
            attempt.messages.put(message)

    def stop(self) -> None:
        for attempt in list(self._attempts.values()):
            attempt.tell("stop")

    def refresh(self) -> None:
        """Updates the list of workers, and tries to reconnect to a lost scheduler."""
        now = monotonic()
        if now - self._polled_at < POLL_SECONDS:
            return
        self._polled_at = now
        workers = None if self._lost_at is not None else self._link.workers()
        if workers is None:
            self._find_scheduler(now)
            return
        if workers.rooms.keys() - self._rooms.keys():
            self._joined_at = now
        self._worker_dirs, self._rooms = workers.worker_dirs, workers.rooms
        self._silent.intersection_update(self._worker_dirs)
        for attempt in self._attempts.values():
            if self._worker_dirs.get(attempt.worker) != attempt.folder:
                attempt.tell("over", f"worker {attempt.worker} left the cluster")
        for address, why in workers.unusable.items():
            remedy = f"install cfo-bench {__version__} where it runs; until then it is not used"
            self._runs.say_once(f"worker {address} {why}: {remedy}")
        if not self._worker_dirs:
            self._runs.say_once(f"no worker has joined {self._link.address} yet: waiting for one")
        if now - self._refilled_at >= REFILL_SECONDS:
            self._refilled_at = now
            self._link.refill()

    def _meet_scheduler(self) -> None:
        dashboard = self._link.client.dashboard_link
        self._listener.said(f"Dask scheduler at {self._link.address}, dashboard at {dashboard}")
        if not self._link.has_tls:
            self._runs.warn_once(
                f"the scheduler at {self._link.address} has no TLS: whoever can reach it can run code on its "
                "workers, and read the traffic; see docs/cluster.md"
            )
        self._link.set_up(self._receive)

    def _find_scheduler(self, now: float) -> None:
        """Wait for a new scheduler. The runs that were running are then resumed."""
        where = self._link.address
        if self._lost_at is None:
            self._lost_at = now
            self._listener.said(
                f"the connection to the scheduler at {where} is lost; trials that arrived are kept; trying "
                f"to reconnect for {RECONNECT_SECONDS:.0f} s"
            )
            self._rooms = {}
            for attempt in self._attempts.values():
                attempt.tell("over")
        if self._link.reconnect():
            self._lost_at = None
            self._meet_scheduler()
        elif now - self._lost_at > RECONNECT_SECONDS:
            raise RunError(
                f"no scheduler came back at {where} for {RECONNECT_SECONDS:.0f} s: start one, "
                "then run the same command to resume"
            )
