"""Many runs on this machine, in parallel as far as they fit, each in its own process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from cfo_bench.engines import capacity
from cfo_bench.engines.scheduling import Attempt, Listener, Runs, run_all
from cfo_bench.machine.processes import ForkServerContext
from cfo_bench.records import RunSpec
from cfo_bench.run.job import Job
from cfo_bench.run.page import LivePage
from cfo_bench.run.supervisor import Stop, Verdict, supervise


class LocalEngine:
    """Executes `jobs` runs in parallel, but not more than fit on the machine, except with `oversubscribe`."""

    def __init__(self, *, jobs: int = 1, oversubscribe: bool = False) -> None:
        self._side_by_side, self._oversubscribe = jobs, oversubscribe

    def check(self) -> None:
        """Nothing is needed except this machine."""

    def at_once(self) -> int:
        return self._side_by_side

    def price(self, specs: Sequence[RunSpec]) -> str:
        return capacity.price(specs, self._side_by_side, "--jobs {}", capacity.of_machine())

    def run(
        self, jobs: Sequence[Job], listener: Listener, *, force: bool, context: ForkServerContext
    ) -> list[Verdict]:
        return run_jobs(jobs, self._side_by_side, context, force, listener, self._oversubscribe)


def run_jobs(
    jobs: Sequence[Job],
    side_by_side: int,
    context: ForkServerContext,
    force: bool,
    listener: Listener,
    oversubscribe: bool = False,
) -> list[Verdict]:
    """Returns all verdicts in order. A failed run does not stop the others; Interrupted after a signal.

    A job without a memory limit gets a fair share of the machine's memory. A run that another command is
    executing is resumed only if that command stops before the run is finished.
    """
    runs = Runs(jobs, force, listener)
    have = capacity.of_machine()
    todo = [jobs[index].spec for index in runs.missing]
    wanted = min(side_by_side, len(todo))
    fitting = wanted if oversubscribe else min(wanted, capacity.at_once(todo, have))
    if not oversubscribe:
        capacity.check_each_fits(todo, have)
    if fitting < wanted:
        listener.said(
            f"--jobs {side_by_side}: {fitting} at a time, since this machine has {have} for runs; "
            "--oversubscribe runs them all"
        )
    specs = capacity.with_memory([job.spec for job in jobs], have, fitting)
    runs.jobs = [replace(job, spec=spec) for job, spec in zip(jobs, specs, strict=True)]
    waiting = capacity.Queue(specs, side_by_side, None if oversubscribe else have)
    return run_all(runs, nullcontext(_Machine(runs, waiting, context)), listener)


class _Machine:
    """This machine as the site of runs."""

    tries = 3

    def __init__(self, runs: Runs, waiting: capacity.Queue, context: ForkServerContext) -> None:
        self._runs, self._waiting, self._context, self._stop = runs, waiting, context, Stop()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, index: int) -> None:
        self._waiting.add(index)

    def take(self) -> Attempt | None:
        index = self._waiting.take()
        if index is None:
            return None
        return _LocalAttempt(job=self._runs.jobs[index], index=index, context=self._context, stop=self._stop)

    def release(self, attempt: Attempt) -> None:
        self._waiting.release(attempt.index)

    def refresh(self) -> None:
        """Nothing to update: the capacity of this machine is constant."""

    def stop(self) -> None:
        self._stop.set()


@dataclass(kw_only=True)
class _LocalAttempt(Attempt):
    context: ForkServerContext
    stop: Stop
    page: LivePage | None = None

    def supervise(self, force: bool, say: Callable[[str], None]) -> Verdict:
        return supervise(self.job, self.context, self.stop, force, say, self._show)

    def _show(self, page: LivePage) -> None:
        self.page = page

    def refresh(self) -> None:
        if self.page is not None:
            self.snapshot = self.page.snapshot()
