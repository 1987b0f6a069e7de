"""Progress on stderr: a live view on a terminal, plain lines elsewhere, nothing with `--quiet`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

from cfo_bench.clock import monotonic
from cfo_bench.engines.scheduling import Active
from cfo_bench.engines.suite_runs import (
    Event,
    Note,
    Prepared,
    Preparing,
    RunFinished,
    RunsStarted,
    RunsUnderWay,
)
from cfo_bench.metrics import MetricFacts
from cfo_bench.records import RunSpec, RunStatus, method_label, run_id
from cfo_bench.registry import label
from cfo_bench.run.job import Job
from cfo_bench.run.supervisor import Verdict
from cfo_bench.terminal.printing import counted, one_line, print_text
from cfo_bench.values import duration

if TYPE_CHECKING:
    from rich.console import RenderableType

# Seconds between two plain lines about runs that are still running.
STILL_RUNNING_SECONDS = 60.0
# Seconds between two redraws, which take some milliseconds of a core that the runs may need.
REDRAW_SECONDS = 0.5


def progress(quiet: bool) -> Quiet:
    """The display that suits stderr."""
    kind = Quiet if quiet else Terminal if sys.stderr.isatty() else Plain
    return kind()


class Quiet:
    """The base of the displays of a suite's events. It displays only warnings and failures."""

    def __init__(self) -> None:
        self._total, self._done = 0, 0
        self._metrics: Mapping[str, MetricFacts] = {}
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
                self.noted(text)
            case RunFinished(job, verdict):
                self.finished(job, verdict)

    def preparing(self, is_running: bool) -> None:
        pass

    def started(self, event: RunsStarted) -> None:
        specs = [job.spec for job in event.jobs]
        self._total, self._done, self._metrics = len(specs), 0, event.metrics
        self._name_of = naming(specs)
        self._forecast = Forecast(specs, event.at_once, monotonic(), event.spent_seconds)

    def tick(self, active: Sequence[Active]) -> None:
        self._active = active
        self._forecast.running(len(active))

    def noted(self, text: str) -> None:
        pass

    def finished(self, job: Job, verdict: Verdict) -> None:
        self._done += 1
        self._active = [run for run in self._active if run.job is not job]
        self._forecast.ended(job.spec, ran=verdict.outcome is not RunStatus.ALREADY_DONE)
        if verdict.outcome in (RunStatus.FAILED, RunStatus.BUSY) and verdict.message not in self._failures:
            self._failures.add(verdict.message or "")
            self._print(f"cfo-bench: {self._name_of(job.spec)}: {verdict.message}")

    def _print(self, text: str) -> None:
        print_text(one_line(text))

    def _time_left(self) -> str:
        return f"{duration(self._forecast.seconds_left(self._active, monotonic()))} to go"

    def _ended(self, job: Job, verdict: Verdict) -> str:
        """The result of a run in a line."""
        end = verdict.end
        result = f", {counted(end.trials, 'trial')}, {self._best(job, end.best_loss)}" if end else ""
        return f"{self._name_of(job.spec)}: {verdict.outcome}{result}"

    def _best(self, job: Job, loss: float | None) -> str:
        if loss is None:
            return "no loss"
        metric = self._metrics[job.spec.task]
        score = f" {metric.to_score(loss):.5f}" if metric.higher_is_better else ""
        return f"best loss {loss:.5f} ({metric.title}{score})"


class Plain(Quiet):
    """One line when a run ends, and one every minute while runs are running."""

    def started(self, event: RunsStarted) -> None:
        super().started(event)
        self._printed_at = monotonic()

    def tick(self, active: Sequence[Active]) -> None:
        super().tick(active)
        if not active or monotonic() - self._printed_at < STILL_RUNNING_SECONDS:
            return
        self._printed_at = monotonic()
        if len(active) > 1:
            self._print(
                f"  {len(active)} runs running, {self._done} of {self._total} done, {self._time_left()}"
            )
            return
        [run] = active
        name, trials = self._name_of(run.job.spec), counted(run.snapshot.trials, "trial")
        self._print(f"  {name}: {_spent(run)}, {trials}, {self._best(run.job, run.snapshot.best_loss)}")

    def noted(self, text: str) -> None:
        self._print(f"  {text}")

    def finished(self, job: Job, verdict: Verdict) -> None:
        super().finished(job, verdict)
        self._printed_at = monotonic()
        eta = f", {self._time_left()}" if self._done < self._total else ""
        self._print(f"[{self._done}/{self._total}{eta}] {self._ended(job, verdict)}")


class Terminal(Quiet):
    """The running runs, each with the used share of its budget, redrawn in place."""

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(stderr=True)
        self._spinner = self._console.status("reading the data")
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._drawn_at = -math.inf
        return self

    def __exit__(self, *_: object) -> None:
        self._spinner.stop()
        self._live.stop()

    def preparing(self, is_running: bool) -> None:
        """Show a spinner, because loading can take seconds. Its thread must have ended before a fork."""
        if is_running:
            self._spinner.start()
        else:
            self._spinner.stop()

    def started(self, event: RunsStarted) -> None:
        super().started(event)
        self._live.start()

    def tick(self, active: Sequence[Active]) -> None:
        super().tick(active)
        if monotonic() - self._drawn_at >= REDRAW_SECONDS:
            self._drawn_at = monotonic()
            self._live.update(self._view(), refresh=True)

    def noted(self, text: str) -> None:
        self._print(text)

    def finished(self, job: Job, verdict: Verdict) -> None:
        """Print a line above the running runs. Runs that earlier commands finished are only counted."""
        super().finished(job, verdict)
        if verdict.outcome is not RunStatus.ALREADY_DONE:
            self._print(f"[{self._done}/{self._total}] {self._ended(job, verdict)}")

    def _print(self, text: str) -> None:
        self._console.print(one_line(text), highlight=False, markup=False, soft_wrap=True)

    def _view(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        bar = 20 if self._console.width >= 100 else 10
        # Besides the first row, two lines are kept free: for the cursor, and for the number of other runs.
        fitting = max(self._console.height - 3, 1)
        rows = [(f"{self._done} of {self._total}", self._time_left(), "")]
        bars, names = [ProgressBar(self._total, self._done)], ["runs"]
        for run in self._active[:fitting]:
            budget, loss = run.job.spec.budget_seconds, run.snapshot.best_loss
            names.append(self._name_of(run.job.spec))
            bars.append(ProgressBar(budget, min(run.elapsed(), budget)))
            best = "" if loss is None else f"best loss {loss:.5f}"
            rows.append((_spent(run), counted(run.snapshot.trials, "trial"), best))
        # On a narrow terminal, only the names are shortened.
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


def naming(specs: Sequence[RunSpec]) -> Callable[[RunSpec], str]:
    """A function that names these runs: with the learner and the seed only if there are several."""
    has_learners = len({spec.learner for spec in specs}) > 1
    has_seeds = len({spec.seed for spec in specs}) > 1

    def name(spec: RunSpec) -> str:
        learner = f"{label(spec.learner)} " if has_learners else ""
        seed = f" seed {spec.seed}" if has_seeds else ""
        return f"{learner}{spec.task} {method_label(spec)} fold {spec.fold}{seed}"

    return name


def _shortened(name: str, room: int) -> str:
    """The beginning and the end of a name."""
    if len(name) <= max(room, 3):
        return name
    end = min(12, max(room - 1, 2) // 2)
    return f"{name[: max(room - 1, 2) - end]}…{name[-end:]}"


def _spent(run: Active) -> str:
    if run.snapshot.zero is None:
        return "loading" if run.job.spec.clock == "wall" else "running"
    budget = run.job.spec.budget_seconds
    return f"{min(run.elapsed(), budget):.0f} of {budget:g} s"


class Forecast:
    """The time until all runs are done.

    It is the sum of the remaining budgets, divided by the number of parallel runs; on the virtual clock, the
    mean time of the runs so far is used. `spent_seconds` contains, by run id, the budget that resumed and
    extended runs had spent before.
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
        """Count a run that has ended; `ran` is false if it was done before."""
        self._runs_left -= 1
        self._budget_left -= self._left_at_first(spec)
        self._ran += ran

    def running(self, at_once: int) -> None:
        """Note the number of running runs. It may stay below the requested number, if no more runs fit or no
        more workers join.
        """
        self._most_at_once = max(self._most_at_once, at_once)

    def seconds_left(self, active: Sequence[Active], now: float) -> float:
        at_once = min(self._most_at_once or self._side_by_side, self._runs_left) or 1
        if self._is_virtual:
            return (now - self._began_at) / max(self._ran, 1) * self._runs_left
        at_first = [self._left_at_first(run.job.spec) for run in active]
        left = [
            min(before, max(run.job.spec.budget_seconds - run.elapsed(), 0.0))
            for run, before in zip(active, at_first, strict=True)
        ]
        return max((self._budget_left - sum(at_first) + sum(left)) / at_once, max(left, default=0.0))

    def _left_at_first(self, spec: RunSpec) -> float:
        return spec.budget_seconds - self._spent.get(run_id(spec), 0.0)
