"""Progress on stderr: a live view on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from cfo_bench.clock import monotonic
from cfo_bench.engines.drive import Active
from cfo_bench.metrics import METRICS
from cfo_bench.registry import label
from cfo_bench.runner import Job
from cfo_bench.supervisor import Outcome, Verdict

if TYPE_CHECKING:
    from rich.console import RenderableType

# Plain lines say now and then that a long run is still at it.
STILL_RUNNING_SECONDS = 30.0


class Quiet:
    """Says only what went wrong."""

    def __init__(self, jobs: Sequence[Job], side_by_side: int, metrics: dict[str, str]) -> None:
        self._jobs, self._side_by_side, self._metrics = jobs, side_by_side, metrics
        self._done: list[Job] = []
        self._failures: set[str] = set()
        self._began_at = monotonic()

    def __enter__(self) -> Quiet:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def tick(self, active: Sequence[Active]) -> None:
        pass

    def said(self, text: str) -> None:
        pass

    def finished(self, job: Job, verdict: Verdict) -> None:
        self._done.append(job)
        if verdict.outcome in (Outcome.FAILED, Outcome.BUSY) and verdict.message not in self._failures:
            self._failures.add(verdict.message or "")
            self._print(f"cfo-bench: {name_of(job)}: {verdict.message}")

    def _print(self, text: str) -> None:
        click.echo(text, err=True)

    def _eta_seconds(self, active: Sequence[Active]) -> float:
        """Budgets to be spent, over the runs side by side; on a virtual clock, at the pace so far."""
        if self._jobs[0].spec.clock == "virtual":
            pace = (monotonic() - self._began_at) / max(len(self._done), 1)
            return pace * (len(self._jobs) - len(self._done))
        spent = sum(min(one.elapsed(), one.job.spec.budget_seconds) for one in active)
        left = sum(job.spec.budget_seconds for job in self._jobs) - sum(
            job.spec.budget_seconds for job in self._done
        )
        return max(left - spent, 0.0) / self._side_by_side

    def _to_go(self, active: Sequence[Active]) -> str:
        return f"{duration(self._eta_seconds(active))} to go"

    def _best(self, job: Job, loss: float | None) -> str:
        if loss is None:
            return "no loss"
        metric = METRICS[self._metrics[job.spec.task]]
        score = f" ({metric.name} {metric.to_score(loss):.5f})" if metric.higher_is_better else ""
        return f"best loss {loss:.5f}{score}"


class Plain(Quiet):
    """One line when a run ends, and one now and then while runs go on."""

    def __init__(self, jobs: Sequence[Job], side_by_side: int, metrics: dict[str, str]) -> None:
        super().__init__(jobs, side_by_side, metrics)
        self._spoke_at = monotonic()

    def tick(self, active: Sequence[Active]) -> None:
        if active and monotonic() - self._spoke_at >= STILL_RUNNING_SECONDS:
            self._spoke_at = monotonic()
            for one in active:
                best = self._best(one.job, one.snapshot.best_loss)
                self._print(f"  {name_of(one.job)}: {_spent(one)}, {_trials(one.snapshot.trials)}, {best}")

    def said(self, text: str) -> None:
        self._print(f"  {text}")

    def finished(self, job: Job, verdict: Verdict) -> None:
        super().finished(job, verdict)
        self._spoke_at = monotonic()
        end = verdict.end
        result = f", {_trials(end.trials)}, {self._best(job, end.best_loss)}" if end else ""
        eta = f", {self._to_go([])}" if len(self._done) < len(self._jobs) else ""
        self._print(f"[{len(self._done)}/{len(self._jobs)}{eta}] {name_of(job)}: {verdict.outcome}{result}")


class Terminal(Quiet):
    """The runs under way, each with the share of its budget that is gone, redrawn in place."""

    def __enter__(self) -> Terminal:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def tick(self, active: Sequence[Active]) -> None:
        self._live.update(self._view(active), refresh=True)

    def said(self, text: str) -> None:
        self._print(text)

    def _print(self, text: str) -> None:
        self._live.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _view(self, active: Sequence[Active]) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        table = Table.grid(padding=(0, 1), pad_edge=False)
        table.add_column(no_wrap=True)
        table.add_column(width=20 if self._live.console.width >= 100 else 10)
        for _ in range(3):
            table.add_column(justify="right", no_wrap=True)
        done, total = len(self._done), len(self._jobs)
        table.add_row("runs", ProgressBar(total, done), f"{done} of {total}", self._to_go(active))
        for one in active:
            budget = one.job.spec.budget_seconds
            loss = one.snapshot.best_loss
            table.add_row(
                name_of(one.job),
                ProgressBar(budget, min(one.elapsed(), budget)),
                _spent(one),
                _trials(one.snapshot.trials),
                "" if loss is None else f"best loss {loss:.5f}",
            )
        return table


def progress(jobs: Sequence[Job], side_by_side: int, metrics: dict[str, str], quiet: bool) -> Quiet:
    """`metrics` names the metric of each task."""
    kind = Quiet if quiet else Terminal if sys.stderr.isatty() else Plain
    return kind(jobs, side_by_side, metrics)


@contextmanager
def looking_ahead(quiet: bool) -> Iterator[None]:
    """Shows on a terminal that something is done before the first run: seconds, where data is large."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status("looking at the data"):
        yield


def name_of(job: Job) -> str:
    return f"{job.spec.task} {label(job.spec.method)} fold {job.spec.fold}"


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
    )


def _trials(number: int) -> str:
    return f"{number} trial{'s' * (number != 1)}"


def _spent(one: Active) -> str:
    if one.snapshot.zero is None:
        return "loading" if one.job.spec.clock == "wall" else "running"
    budget = one.job.spec.budget_seconds
    return f"{min(one.elapsed(), budget):.0f} of {budget:g} s"
