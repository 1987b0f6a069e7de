"""Many runs on a Dask cluster: workers do them, this process hands them out and alone writes the traces.

Each run is one Dask task at a time, an attempt, on a worker that we choose and whose threads and memory
it reserves. What the worker reports of it is appended to the run's mirror in the results folder. When
the worker, or the scheduler, is lost, another attempt goes on from what the mirror has by then.
"""

from __future__ import annotations

import queue
import resource
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from cfo_bench.clock import monotonic, sleep
from cfo_bench.engines import capacity
from cfo_bench.engines.capacity import Capacity
from cfo_bench.engines.dask import remote
from cfo_bench.engines.dask.attempts import Attempt, Lost
from cfo_bench.engines.dask.clusters import Link, linked, need_packages
from cfo_bench.engines.dask.crew import Crew, Enrolled
from cfo_bench.engines.dask.mirror import Mirror
from cfo_bench.engines.dask.post import News, Over, Post, Wake
from cfo_bench.engines.drive import Interrupted, Progress, signals_into
from cfo_bench.errors import CfoBenchError, RunError
from cfo_bench.processes import ForkServerContext
from cfo_bench.records import RunSpec
from cfo_bench.results.folder import is_held
from cfo_bench.run.inspection import packages
from cfo_bench.run.job import Job
from cfo_bench.run.supervisor import Outcome, Verdict, already_done
from cfo_bench.suite.model import Cluster

TICK_SECONDS, POLL_SECONDS, REFILL_SECONDS = 0.2, 1.0, 30.0
# How long a lost scheduler is looked for.
RECONNECT_SECONDS = 300.0
# Attempts in a row that are lost without a new trial, before a run is given up on.
TRIES = 5
# How long attempts may take to end when everything is to stop.
STOP_SECONDS = 10.0


class DaskEngine:
    """On a cluster to start or to join."""

    def __init__(self, *, cluster: Cluster | None = None) -> None:
        self._cluster = cluster or Cluster()

    def check(self) -> None:
        need_packages(self._cluster)

    def at_once(self) -> int:
        return self._cluster.workers or 1

    def price(self, specs: Sequence[RunSpec]) -> str:
        return capacity.price(specs, self.at_once(), "{} workers", None)

    def run(
        self, jobs: Sequence[Job], progress: Progress, *, force: bool, context: ForkServerContext
    ) -> list[Verdict]:
        return run_jobs(jobs, self._cluster, force, progress)


def run_jobs(jobs: Sequence[Job], cluster: Cluster, force: bool, progress: Progress) -> list[Verdict]:
    """Every job's verdict, in order. A failure of one stops no other; Interrupted when asked to stop.

    A job without memory gets a fair share of its worker's. A run that another command is at is left to
    it, and taken up only if it lets go of it unfinished.
    """
    done = {} if force else {index: found for index, job in enumerate(jobs) if (found := already_done(job))}
    for index, verdict in done.items():
        progress.finished(jobs[index], verdict)
    if len(done) < len(jobs):
        done = _run_missing(jobs, done, cluster, force, progress)
    return [done[index] for index in range(len(jobs))]


def _run_missing(
    jobs: Sequence[Job], done: dict[int, Verdict], cluster: Cluster, force: bool, progress: Progress
) -> dict[int, Verdict]:
    signals: list[int] = []
    news: queue.SimpleQueue[News] = queue.SimpleQueue()
    _allow_many_files()
    threads = max(capacity.needs(job.spec).cores for job in jobs)
    with (
        signals_into(signals, lambda: news.put(Wake())),
        linked(cluster, threads) as link,
        closing(Post(news)) as post,
        closing(_Driver(jobs, done, link, post, force, progress, signals)) as driver,
    ):
        driver.run()
    if signals:
        raise Interrupted(signals[0])
    return driver.verdicts


def _allow_many_files() -> None:
    """Each run under way keeps a file open here: more of them than a shell allows at first."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class _Driver:
    def __init__(
        self,
        jobs: Sequence[Job],
        done: dict[int, Verdict],
        link: Link,
        post: Post,
        force: bool,
        progress: Progress,
        signals: list[int],
    ) -> None:
        self._jobs, self._link, self._post, self._progress, self._signals = (
            jobs,
            link,
            post,
            progress,
            signals,
        )
        self.verdicts = dict(done)
        missing = [index for index in range(len(jobs)) if index not in done]
        self._todo = sorted(missing, key=lambda index: -jobs[index].spec.budget_seconds)  # the longest first
        self._forced = set(missing) if force else set()
        self._elsewhere: set[int] = set()  # the runs that another command is at
        self._mirrors: dict[int, Mirror] = {}
        self._attempts: dict[str, Attempt] = {}
        self._losses: Counter[int] = Counter()
        self._crew = Crew(progress.said)
        self._preload = tuple(
            packages((jobs[one].spec for one in missing), (jobs[one].data for one in missing))
        )
        self._polled_at = self._refilled_at = float("-inf")
        self._said: set[str] = set()

    def run(self) -> None:
        """Until every run has its verdict, or a signal came in."""
        self._meet_scheduler()
        while len(self.verdicts) < len(self._jobs) and not self._signals:
            if monotonic() - self._polled_at >= POLL_SECONDS:
                self._poll()
            self._hand_out()
            self._hear()
            for attempt in list(self._attempts.values()):
                self._settle(attempt, attempt.stuck())
            self._progress.tick(list(self._attempts.values()))
        if self._signals:
            self._stop()

    def close(self) -> None:
        """Nothing goes on without us, and what was cut off says so in its trace."""
        for attempt in self._attempts.values():
            attempt.cancel()
        for mirror in self._mirrors.values():
            try:
                mirror.interrupt()
            except CfoBenchError as error:
                self._progress.said(str(error))
            mirror.close()

    # --- the cluster ----------------------------------------------------------------------------

    def _meet_scheduler(self) -> None:
        client = self._link.client
        self._progress.said(f"Dask scheduler at {self._link.address}, dashboard at {client.dashboard_link}")
        client.subscribe_topic(remote.TOPIC, lambda event: self._post.news.put(event[1]))

    def _poll(self) -> None:
        """Which workers there are now; a lost scheduler is looked for."""
        self._polled_at = now = monotonic()
        found = self._link.workers()
        if found is None:
            self._find_scheduler()
            return
        new, gone = self._crew.meet(found)
        for address in new:
            self._post.enrol(self._link.client, address, found[address])
        for attempt in [one for one in self._attempts.values() if one.worker in gone]:
            self._settle(attempt, Lost(f"worker {attempt.worker} is gone"))
        if not found:
            self._say_once(f"no worker has joined {self._link.address} yet: waiting for one")
        if now - self._refilled_at >= REFILL_SECONDS:
            self._refilled_at = now
            self._link.refill()

    def _find_scheduler(self) -> None:
        """What was under way waits until there is a scheduler again, and then goes on."""
        where = self._link.address
        self._progress.said(
            f"the scheduler at {where} is lost, and no trial that arrived here: looking for it for "
            f"{RECONNECT_SECONDS:.0f} s"
        )
        self._todo[:0] = [attempt.index for attempt in self._attempts.values()]
        self._attempts.clear()
        self._crew.clear()
        give_up_at = monotonic() + RECONNECT_SECONDS
        while not self._link.reconnect():
            if self._signals:
                return
            if monotonic() > give_up_at:
                raise RunError(
                    f"no scheduler came back at {where} for {RECONNECT_SECONDS:.0f} s: start one, "
                    "then run the same command to go on"
                )
            self._progress.tick([])
            sleep(POLL_SECONDS)
        self._meet_scheduler()

    # --- from run to attempt --------------------------------------------------------------------

    def _hand_out(self) -> None:
        """A run to every worker that has room for one."""
        self._look_elsewhere()
        waiting: list[int] = []
        free = self._free()
        while self._todo and any(left.cores > 0 for left in free.values()):
            index = self._todo.pop(0)
            placed = self._crew.place(self._jobs[index].spec, free)
            if placed is not None:
                worker, spec = placed
                self._begin(index, replace(self._jobs[index], spec=spec), worker)
                free = self._free()
            elif (why := self._crew.lack_of_room(self._jobs[index].spec)) is not None:
                self._conclude(index, Verdict(Outcome.FAILED, 2, why))
            else:
                waiting.append(index)
        self._todo[:0] = waiting

    def _free(self) -> dict[str, Capacity]:
        return self._crew.free((attempt.worker, attempt.room) for attempt in self._attempts.values())

    def _look_elsewhere(self) -> None:
        """When nothing else waits: the runs that another command has let go of, done or not."""
        if self._todo or self._attempts or not self._elsewhere:
            return
        self._todo = sorted(one for one in self._elsewhere if not is_held(self._jobs[one].trace_path))
        self._elsewhere.difference_update(self._todo)
        if not self._todo:
            self._say_once(f"waiting for another cfo-bench, which is at {len(self._elsewhere)} of the runs")

    def _begin(self, index: int, job: Job, worker: str) -> None:
        """A new attempt, on the run's mirror or, the first time, on what an earlier command left."""
        if index not in self._mirrors:
            force = index in self._forced
            opened = (None if force else already_done(job)) or Mirror.open(job, force, self._progress.said)
            if isinstance(opened, Mirror):
                self._mirrors[index] = opened
            elif opened.outcome is Outcome.BUSY:
                self._elsewhere.add(index)
                self._forced.discard(index)  # it is being done right now: not once more
                return
            else:
                self._conclude(index, opened)
                return
        attempt = Attempt(
            job=job,
            index=index,
            worker=worker,
            mirror=self._mirrors[index],
            client=self._link.client,
            post=self._post,
            progress=self._progress,
        )
        try:
            attempt.submit(self._preload)
        except CfoBenchError as error:  # data that can't be read any more
            self._conclude(index, Verdict(Outcome.FAILED, error.exit_code, str(error)))
        else:
            self._attempts[attempt.token] = attempt

    # --- from reports to verdict ----------------------------------------------------------------

    def _hear(self) -> None:
        """What happens within a tick, or until there is room for another run."""
        give_up_at, under_way = monotonic() + TICK_SECONDS, len(self._attempts)
        while len(self._attempts) == under_way and (left := give_up_at - monotonic()) > 0:
            try:
                news = self._post.news.get(timeout=left)
            except queue.Empty:
                return
            match news:
                case Wake():
                    return
                case Enrolled():
                    self._crew.enrol(news)
                case Over(token, why):
                    if token in self._attempts:
                        self._settle(self._attempts[token], Lost(why))
                case dict():
                    self._crew.is_heard(news["worker"])
                    attempt = self._attempts.get(news["token"])
                    if attempt is not None:  # else of another driver's, or one that was given up on
                        self._settle(attempt, attempt.hear(news))

    def _settle(self, attempt: Attempt, outcome: Verdict | Lost | None) -> None:
        """What becomes of a run whose attempt came to this."""
        if outcome is None:
            return
        del self._attempts[attempt.token]
        attempt.cancel()
        if isinstance(outcome, Verdict) and (outcome.outcome is not Outcome.INTERRUPTED or self._signals):
            self._conclude(attempt.index, outcome)
        elif isinstance(outcome, Verdict):
            self._try_again(attempt, f"worker {attempt.worker} gave it up")
        else:
            if outcome.is_silent:
                self._crew.is_silent(attempt.worker)
            self._try_again(attempt, outcome.why)

    def _try_again(self, attempt: Attempt, why: str) -> None:
        """Another attempt goes on from what has arrived, unless too many were lost to no avail."""
        if self._signals:
            return
        index = attempt.index
        self._losses[index] = 1 if attempt.has_new_trials else self._losses[index] + 1
        if self._losses[index] < TRIES:
            self._progress.said(f"{attempt.job.trace_path}: {why}: goes on elsewhere")
            self._todo.insert(0, index)
        else:
            message = f"{why}: given up after {TRIES} tries in a row without a new trial"
            self._conclude(index, Verdict(Outcome.FAILED, 1, message, outside=True))

    def _conclude(self, index: int, verdict: Verdict) -> None:
        mirror = self._mirrors.pop(index, None)
        if mirror is not None:
            mirror.close()
        self.verdicts[index] = verdict
        self._progress.finished(self._jobs[index], verdict)

    def _stop(self) -> None:
        """Every run ends as interrupted, on its worker if that answers in time."""
        for attempt in list(self._attempts.values()):
            if attempt.heard_at is None:
                attempt.cancel()
                del self._attempts[attempt.token]
            else:
                attempt.halt()
        give_up_at = monotonic() + STOP_SECONDS
        while self._attempts and monotonic() < give_up_at:
            self._hear()

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._progress.said(text)
