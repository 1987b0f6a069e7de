"""One try of a run on one worker, as the driver sees it: a Dask task, its reports, and our answers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from cfo_bench.clock import monotonic
from cfo_bench.engines import capacity
from cfo_bench.engines.capacity import Capacity
from cfo_bench.engines.dask import remote, travelling
from cfo_bench.engines.dask.answers import Again, Answer, Halt, Past, Piece
from cfo_bench.engines.dask.mirror import Mirror
from cfo_bench.engines.dask.post import Over, Post, Report
from cfo_bench.engines.drive import Active, Progress
from cfo_bench.errors import CfoBenchError
from cfo_bench.run.live_page import Snapshot
from cfo_bench.run.supervisor import Outcome, Verdict
from cfo_bench.tasks.shipping import Parcel, pack

if TYPE_CHECKING:
    from distributed import Client, Future

# An attempt that was heard of, and then not for so long, is given up on.
SILENT_SECONDS = 60.0
# And so is a supervisor that has not ended its run so long after the deadline.
GIVE_UP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Lost:
    """Nothing more is to be expected of an attempt; the next one goes on from what has arrived."""

    why: str
    is_silent: bool = False


@dataclass(kw_only=True)
class Attempt(Active):
    """Its `job` is as its worker does it; `index` is the run's place among all."""

    index: int
    worker: str
    mirror: Mirror
    client: Client
    post: Post
    progress: Progress
    token: str = field(default_factory=lambda: f"cfo-bench-run-{uuid4().hex}")
    has_new_trials: bool = False
    heard_at: float | None = None
    _parcel: Parcel | None = None
    _future: Future[None] | None = None
    _gap_at: int | None = None

    @property
    def room(self) -> Capacity:
        return capacity.needs(self.job.spec)

    def submit(self, preload: tuple[str, ...]) -> None:
        """Hands the run to Dask, for this worker and no other: which one is our choice."""
        self._parcel = pack(self.job.data)
        ticket = remote.Ticket(self.token, self.job, self._parcel, preload)
        self._future = self.client.submit(
            travelling.task(),
            pickle.dumps(ticket),
            key=self.token,
            workers=[self.worker],
            resources={remote.THREADS: self.room.cores, remote.MEMORY: self.room.memory_mb},
            pure=False,
        )
        self._future.add_done_callback(lambda future: self.post.news.put(Over(self.token, _end_of(future))))

    def hear(self, report: Report) -> Verdict | Lost | None:
        """What a report comes to, if it is the last one."""
        self.heard_at = monotonic()
        elapsed = report["elapsed"]
        zero = None if elapsed is None else self.heard_at - elapsed
        self.snapshot = Snapshot(zero, report["trials"], report["best_loss"])
        self.mirror.show(self.snapshot)
        match report["kind"]:
            case "needs":
                self._answer(self._pieces)
            case "ready":
                past = self.mirror.past()
                self._answer(lambda: [Past.of(past)])
            case "said":
                self.progress.said(report["text"])
            case "lines":
                return self._append(report["at"], report["lines"])
            case "verdict":
                return self._verdict(report)
        return None

    def _append(self, at: int, lines: bytes) -> Verdict | None:
        try:
            is_next = self.mirror.add(at, lines)
        except CfoBenchError as error:  # such as a full disk
            return Verdict(Outcome.FAILED, error.exit_code, str(error))
        if is_next:
            self.has_new_trials |= b'{"kind":"trial"' in lines
        elif self._gap_at != self.mirror.size:  # asked for once
            self._gap_at = missing = self.mirror.size
            self._answer(lambda: [Again(missing)])
        return None

    def _verdict(self, report: Report) -> Verdict | Lost:
        if report["size"] > self.mirror.size:
            return Lost("its last lines did not arrive")
        if report["outside"]:
            return Lost(report["message"])
        if report["log"]:
            self.mirror.log(report["log"])
        end = self.mirror.end()
        return Verdict(Outcome(report["outcome"]), report["exit_code"], report["message"], end)

    def stuck(self) -> Verdict | Lost | None:
        """Whether it should have been heard of, or have ended, by now."""
        if self.heard_at is not None and monotonic() - self.heard_at > SILENT_SECONDS:
            return Lost(f"nothing was heard of worker {self.worker} for {SILENT_SECONDS:.0f} s", True)
        if self.elapsed() > self.job.spec.budget_seconds + GIVE_UP_SECONDS:
            message = "its supervisor did not answer: given up"
            return Verdict(Outcome.FAILED, 1, message, outside=True)
        return None

    def halt(self) -> None:
        self._answer(lambda: [Halt()])

    def cancel(self) -> None:
        """Its worker sees that nobody waits for it, and ends it."""
        if self._future is not None and not self._future.done():
            self._future.cancel()

    def _pieces(self) -> Iterable[Answer]:
        assert self._parcel is not None, "nothing is needed where there is no parcel"
        return (Piece(piece) for item in self._parcel.items for piece in item.pieces())

    def _answer(self, answers: Callable[[], Iterable[Answer]]) -> None:
        self.post.answer(self.client, self.worker, self.token, answers)


def _end_of(future: Future[None]) -> str:
    if future.status == "error":
        return f"its Dask task failed: {str(future.exception()).partition(chr(10))[0]}"
    return f"its Dask task is {future.status}, without a verdict"
