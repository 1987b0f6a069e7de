"""What happens while a suite is run, for the callback of `run_suite` and `runs_of`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from cfo_bench.engines.listener import Active
from cfo_bench.run.job import Job
from cfo_bench.run.supervisor import Verdict


@dataclass(frozen=True, slots=True)
class Preparing:
    """The data of this task is fetched, or looked at for the first time."""

    task: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """That is over; it may have failed."""

    task: str


@dataclass(frozen=True, slots=True)
class RunsStarted:
    """All runs of the suite, also those that turn out to be done, and how many will be under way at once."""

    jobs: Sequence[Job]
    at_once: int
    metrics: Mapping[str, str]  # of each task
    # What is spent of budgets, by the id of the run: all of it for one that is done.
    spent_seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunsUnderWay:
    """Sent several times a second while runs are under way."""

    active: Sequence[Active]


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a person should know, such as a run that is retried."""

    text: str
    is_warning: bool = False  # true: also for a person who wants no progress


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A run is done, failed, or was done before: see the verdict's `outcome`."""

    job: Job
    verdict: Verdict


Event = Preparing | Prepared | RunsStarted | RunsUnderWay | Note | RunFinished


OnEvent = Callable[[Event], None]


def ignore(event: Event) -> None:
    """The callback of somebody who does not want to know."""


@contextmanager
def while_preparing(task: str, on_event: OnEvent) -> Iterator[None]:
    on_event(Preparing(task))
    try:
        yield
    finally:
        on_event(Prepared(task))
