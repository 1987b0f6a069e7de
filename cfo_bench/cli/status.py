"""`cfo-bench status`: what of a results folder is done, running, failed, interrupted or missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cfo_bench.report.status import RunStatus


@click.command(short_help="What is done, running, failed or missing.")
@click.argument("results", type=click.Path(path_type=Path), default=Path("results"))
@click.option("--json", "as_json", is_flag=True, help="Print every run as JSON.")
def status(results: Path, as_json: bool) -> None:
    """Tell what of the runs in RESULTS is done, running, failed, interrupted or missing.  [default: results]

    Missing are the folds of a task that another method has run. The same cfo-bench run command as before
    takes up what was interrupted and adds what is missing.
    """
    from dataclasses import asdict

    from cfo_bench.cli.tables import show_json, text_table
    from cfo_bench.report.status import Progress
    from cfo_bench.report.status import status as look

    found = look(results)
    for line in found.unreadable:
        click.echo(f"cfo-bench: {line}", err=True)
    if as_json:
        show_json([asdict(run) for run in found.runs])
        return
    counts: dict[tuple[str, str], Counter[str]] = {}
    for run in found.runs:
        counts.setdefault((run.learner, run.method), Counter())[run.progress] += 1
    rows = [[*names, *(f"{n[kind] or ''}" for kind in Progress)] for names, n in sorted(counts.items())]
    total = Counter(run.progress for run in found.runs)
    rows.append(["all", "", *(f"{total[kind] or ''}" for kind in Progress)])
    click.echo(text_table(("learner", "method", *Progress), rows, right=range(2, 2 + len(Progress))))
    for kind in (Progress.RUNNING, Progress.FAILED, Progress.INTERRUPTED, Progress.MISSING):
        lines = _lines([run for run in found.runs if run.progress is kind])
        if lines:
            click.echo(f"\n{kind}:\n" + "\n".join(f"  {line}" for line in lines))


def _lines(runs: Sequence[RunStatus]) -> list[str]:
    """A line for each task and method that have the same to say, with their folds."""
    folds: dict[tuple[str, str, str, str], list[RunStatus]] = {}
    for run in runs:
        folds.setdefault((run.learner, run.task, run.method, run.reason or ""), []).append(run)
    return [
        f"{learner} {task} {method} fold {', '.join(map(_fold, some))}" + (f": {reason}" if reason else "")
        for (learner, task, method, reason), some in folds.items()
    ]


def _fold(run: RunStatus) -> str:
    seed = f" seed {run.seed}" if run.seed else ""
    if run.progress == "running":
        at = "loading" if run.elapsed is None else f"{run.elapsed:.0f} of {run.budget_seconds:g} s"
        return f"{run.fold}{seed} ({at})"
    return f"{run.fold}{seed}"
