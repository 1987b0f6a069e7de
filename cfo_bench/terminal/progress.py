"""Progress on stderr: a live view on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from cfo_bench.clock import monotonic
from cfo_bench.engines.loop import Active
from cfo_bench.engines.suite_runs import (
    Event,
    Note,
    Prepared,
    Preparing,
    RunFinished,
    RunsStarted,
    RunsUnderWay,
)
from cfo_bench.metrics import METRIC_NAMES, METRICS
from cfo_bench.records import RunSpec, RunStatus, method_label, run_id
from cfo_bench.registry import label
from cfo_bench.run.job import Job
from cfo_bench.run.supervisor import Verdict
from cfo_bench.terminal.tables import one_line, say
from cfo_bench.values import duration

if TYPE_CHECKING:
    from rich.console import RenderableType


# --- forecast --------------------------------------------------------------------------------------
# How long the rest of the runs will take.


class Forecast:
    """Budgets that are left over runs at once; on the virtual clock, which says nothing, the pace so far.

    `spent_seconds` are those that runs had spent before, by their ids: a run that is resumed, or has a longer
    budget now, does not spend them again.
    """

    def __init__(
        self,
        specs: Sequence[RunSpec],
        side_by_side: int,
        now: float,
        spent_seconds: Mapping[str, float] | None = None,
    ) -> None:
        self._is_virtual = specs[0].clock == "virtual"
        self._side_by_side, self._most_at_once = side_by_side, 0
        self._spent = spent_seconds or {}
        self._runs_left = len(specs)
        self._budget_left = sum(map(self._left_at_first, specs))
        self._began_at, self._ran = now, 0

    def ended(self, spec: RunSpec, ran: bool) -> None:
        """`ran`: it is not one that was done before."""
        self._runs_left -= 1
        self._budget_left -= self._left_at_first(spec)
        self._ran += ran

    def saw(self, at_once: int) -> None:
        """So many are under way: it may be fewer than was asked for that fit, or that come."""
        self._most_at_once = max(self._most_at_once, at_once)

    def seconds_left(self, active: Sequence[Active], now: float) -> float:
        at_once = min(self._most_at_once or self._side_by_side, self._runs_left) or 1
        if self._is_virtual:
            return (now - self._began_at) / max(self._ran, 1) * self._runs_left
        at_first = [self._left_at_first(one.job.spec) for one in active]
        left = [
            min(before, max(one.job.spec.budget_seconds - one.elapsed(), 0.0))
            for one, before in zip(active, at_first, strict=True)
        ]
        return max((self._budget_left - sum(at_first) + sum(left)) / at_once, max(left, default=0.0))

    def _left_at_first(self, spec: RunSpec) -> float:
        return spec.budget_seconds - self._spent.get(run_id(spec), 0.0)


# --- progress --------------------------------------------------------------------------------------


# Plain lines say now and then that long runs are still at it.
STILL_RUNNING_SECONDS = 60.0
# A redraw takes some milliseconds of a core that the runs may need.
REDRAW_SECONDS = 0.5


class Quiet:
    """Shows what happens to the runs of a suite: here only what went wrong."""

    def __init__(self) -> None:
        self._total, self._done = 0, 0
        self._metrics: Mapping[str, str] = {}
        self._active: Sequence[Active] = []
        self._failures: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, event: Event) -> None:
        """The callback of `run_suite`."""
        match event:
            case Preparing():
                self.preparing(True)
            case Prepared():
                self.preparing(False)
            case RunsStarted():
                self.started(event)
            case RunsUnderWay(active):
                self.tick(active)
            case Note(text, is_warning=True):
                self._print(f"cfo-bench: {text}")
            case Note(text):
                self.said(text)
            case RunFinished(job, verdict):
                self.finished(job, verdict)

    def preparing(self, is_under_way: bool) -> None:
        pass

    def started(self, event: RunsStarted) -> None:
        specs = [job.spec for job in event.jobs]
        self._total, self._metrics = len(specs), event.metrics
        self._name_of = naming(specs)
        self._forecast = Forecast(specs, event.at_once, monotonic(), event.spent_seconds)

    def tick(self, active: Sequence[Active]) -> None:
        self._active = active
        self._forecast.saw(len(active))

    def said(self, text: str) -> None:
        pass

    def finished(self, job: Job, verdict: Verdict) -> None:
        self._done += 1
        self._active = [one for one in self._active if one.job is not job]
        self._forecast.ended(job.spec, ran=verdict.outcome is not RunStatus.ALREADY_DONE)
        if verdict.outcome in (RunStatus.FAILED, RunStatus.BUSY) and verdict.message not in self._failures:
            self._failures.add(verdict.message or "")
            self._print(f"cfo-bench: {self._name_of(job.spec)}: {verdict.message}")

    def _print(self, text: str) -> None:
        say(one_line(text))

    def _to_go(self) -> str:
        return f"{duration(self._forecast.seconds_left(self._active, monotonic()))} to go"

    def _ended(self, job: Job, verdict: Verdict) -> str:
        """How a run ended."""
        end = verdict.end
        result = f", {_trials(end.trials)}, {self._best(job, end.best_loss)}" if end else ""
        return f"{self._name_of(job.spec)}: {verdict.outcome}{result}"

    def _best(self, job: Job, loss: float | None) -> str:
        if loss is None:
            return "no loss"
        metric = METRICS[self._metrics[job.spec.task]]
        score = ""
        if metric.higher_is_better:
            score = f" ({METRIC_NAMES[metric.name]} {metric.to_score(loss):.5f})"
        return f"best loss {loss:.5f}{score}"


class Plain(Quiet):
    """One line when a run ends, and now and then one while runs go on."""

    def started(self, event: RunsStarted) -> None:
        super().started(event)
        self._spoke_at = monotonic()

    def tick(self, active: Sequence[Active]) -> None:
        super().tick(active)
        if not active or monotonic() - self._spoke_at < STILL_RUNNING_SECONDS:
            return
        self._spoke_at = monotonic()
        if len(active) > 1:
            self._print(
                f"  {len(active)} runs under way, {self._done} of {self._total} done, {self._to_go()}"
            )
            return
        (one,) = active
        best = self._best(one.job, one.snapshot.best_loss)
        self._print(f"  {self._name_of(one.job.spec)}: {_spent(one)}, {_trials(one.snapshot.trials)}, {best}")

    def said(self, text: str) -> None:
        self._print(f"  {text}")

    def finished(self, job: Job, verdict: Verdict) -> None:
        super().finished(job, verdict)
        self._spoke_at = monotonic()
        eta = f", {self._to_go()}" if self._done < self._total else ""
        self._print(f"[{self._done}/{self._total}{eta}] {self._ended(job, verdict)}")


class Terminal(Quiet):
    """The runs under way, each with the share of its budget that is gone, redrawn in place."""

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True)
        self._looking = self._console.status("looking at the data")
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._drawn_at = -math.inf
        return self

    def __exit__(self, *_: object) -> None:
        self._looking.stop()
        self._live.stop()

    def preparing(self, is_under_way: bool) -> None:
        """Seconds, where data is large. The spinner has a thread, which must be gone before we fork."""
        if is_under_way:
            self._looking.start()
        else:
            self._looking.stop()

    def started(self, event: RunsStarted) -> None:
        super().started(event)
        self._live.start()

    def tick(self, active: Sequence[Active]) -> None:
        super().tick(active)
        if monotonic() - self._drawn_at >= REDRAW_SECONDS:
            self._drawn_at = monotonic()
            self._live.update(self._view(), refresh=True)

    def said(self, text: str) -> None:
        self._print(text)

    def finished(self, job: Job, verdict: Verdict) -> None:
        """A line that stays, above the runs under way. What was done before is only counted."""
        super().finished(job, verdict)
        if verdict.outcome is not RunStatus.ALREADY_DONE:
            self._print(f"[{self._done}/{self._total}] {self._ended(job, verdict)}")

    def _print(self, text: str) -> None:
        self._console.print(one_line(text), highlight=False, markup=False, soft_wrap=True)

    def _view(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        bar = 20 if self._console.width >= 100 else 10
        # Two lines stay free: for the cursor, and for how many more there are.
        fitting = max(self._console.height - 3, 1)
        rows = [(f"{self._done} of {self._total}", self._to_go(), "")]
        bars, names = [ProgressBar(self._total, self._done)], ["runs"]
        for one in self._active[:fitting]:
            budget, loss = one.job.spec.budget_seconds, one.snapshot.best_loss
            names.append(self._name_of(one.job.spec))
            bars.append(ProgressBar(budget, min(one.elapsed(), budget)))
            best = "" if loss is None else f"best loss {loss:.5f}"
            rows.append((_spent(one), _trials(one.snapshot.trials), best))
        # Of a terminal that is too narrow, the names get what the numbers leave.
        taken = sum(max(map(len, column)) for column in zip(*rows, strict=True))
        room = self._console.width - bar - 4 - taken
        table = Table.grid(padding=(0, 1), pad_edge=False)
        table.add_column(no_wrap=True)
        table.add_column(width=bar)
        for _ in range(3):
            table.add_column(justify="right", no_wrap=True)
        for name, share, numbers in zip(names, bars, rows, strict=True):
            table.add_row(_shortened(name, room), share, *numbers)
        if len(self._active) > fitting:
            table.add_row(f"and {len(self._active) - fitting} more")
        return table


def progress(quiet: bool) -> Quiet:
    """The way of showing progress that suits where stderr goes."""
    kind = Quiet if quiet else Terminal if sys.stderr.isatty() else Plain
    return kind()


def naming(specs: Sequence[RunSpec]) -> Callable[[RunSpec], str]:
    """What a run is called among these: the learner and the seed only where there are several."""
    has_learners = len({spec.learner for spec in specs}) > 1
    has_seeds = len({spec.seed for spec in specs}) > 1

    def name(spec: RunSpec) -> str:
        learner = f"{label(spec.learner)} " if has_learners else ""
        seed = f" seed {spec.seed}" if has_seeds else ""
        return f"{learner}{spec.task} {method_label(spec)} fold {spec.fold}{seed}"

    return name


def _shortened(name: str, room: int) -> str:
    """The beginning and the end of a name, which tells the fold."""
    if len(name) <= max(room, 3):
        return name
    end = min(12, max(room - 1, 2) // 2)
    return f"{name[: max(room - 1, 2) - end]}…{name[-end:]}"


def _trials(number: int) -> str:
    return f"{number} trial{'s' * (number != 1)}"


def _spent(one: Active) -> str:
    if one.snapshot.zero is None:
        return "loading" if one.job.spec.clock == "wall" else "running"
    budget = one.job.spec.budget_seconds
    return f"{min(one.elapsed(), budget):.0f} of {budget:g} s"
