"""`cfo-bench status`: the done, running, waiting, failed, interrupted and missing runs of results folders."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfo_bench.terminal.printing import counted, fitting_table, one_line, print_text, printable, show_json

if TYPE_CHECKING:
    from cfo_bench.results.status import FolderStatus, RunProgress, Watch

# At most this many lines of a list are printed; the others are counted.
_MAX_LINES = 10
# At most this many characters of a reason are printed.
_MAX_REASON = 500

# The name of a run's file in a reason. A match has to begin a word, because a search from every character of
# a long word takes quadratic time.
_RUN_FILE = re.compile(r"(?<!\S)\S{0,500}fold-\d{1,20}_seed-\d{1,20}\S*")


@click.command(short_help="Count runs that are done, running, waiting, failed or missing.")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option("--watch", is_flag=True, help="Update the output until everything is done, or until Ctrl-C.")
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds between two updates of --watch.",
)
@click.option("--json", "as_json", is_flag=True, help="Print every run as JSON.")
def status(results: tuple[Path, ...], watch: bool, every: float, as_json: bool) -> None:
    """Print the progress of the runs in RESULTS, by method and task.  [default: results]

    Several RESULTS folders are combined. If two of them have the same run, the one with more progress counts.

    waiting: planned, and not started. missing: a fold of a task that another method has run. Enter the same
    cfo-bench run command again to start waiting runs, and to resume interrupted ones.
    """
    from dataclasses import asdict

    from cfo_bench.results.status import Watch

    if watch and as_json:
        raise click.UsageError("--json prints once: leave out --watch")
    folders = Watch(*(results or (Path("results"),)))
    if watch:
        status = _watch_terminal(folders, every) if sys.stdout.isatty() else _watch_lines(folders, every)
    else:
        status = folders.look()
    for line in status.unreadable:
        print_text(f"cfo-bench: {one_line(line)}")
    if as_json:
        # The key keeps its old name `progress`: other programs read it.
        show_json(
            [
                {"progress" if key == "status" else key: value for key, value in asdict(run).items()}
                for run in status.runs
            ]
        )
    elif not watch or sys.stdout.isatty():
        # The summary comes last, next to the prompt.
        print_text("\n".join([*_by_task(status.runs), *_summary(status.runs)]), err=False)


def _watch_terminal(folders: Watch, every: float) -> FolderStatus:
    """Redraw the unfinished runs, as many as fit, and return the last status."""
    from rich.live import Live
    from rich.text import Text

    from cfo_bench.clock import sleep
    from cfo_bench.results.status import is_unfinished

    status = folders.look()
    try:
        with Live(auto_refresh=False, transient=True, vertical_overflow="ellipsis") as live:
            while is_unfinished(status.runs):
                # Lines that do not fit are cut off at the bottom.
                view = "\n".join([*_summary(status.runs), "", *_by_task(status.runs, unfinished_only=True)])
                live.update(Text(printable(view), no_wrap=True, overflow="ellipsis"), refresh=True)
                sleep(every)
                status = folders.look()
    except KeyboardInterrupt:
        pass
    return status


def _watch_lines(folders: Watch, every: float) -> FolderStatus:
    """Print a line whenever a number has changed, and a line for each new failure."""
    from cfo_bench.clock import sleep
    from cfo_bench.results.status import is_unfinished, time_left

    printed: Counter[str] | None = None
    failures: set[RunProgress] = set()
    try:
        while True:
            status = folders.look()
            counts = Counter[str](run.status for run in status.runs)
            failed = {run for run in status.runs if run.status == "failed"}
            for line in _reasons([run for run in status.runs if run in failed - failures]):
                print_text(line, err=False)
            if counts != printed:
                numbers = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
                print_text(f"{len(status.runs)} runs: {numbers}; {time_left(status.runs)}", err=False)
            printed, failures = counts, failed
            if not is_unfinished(status.runs):
                return status
            sleep(every)
    except KeyboardInterrupt:
        return status


def _summary(runs: Sequence[RunProgress]) -> Iterator[str]:
    """A row per method, the time left, and the failed, interrupted, running and missing runs."""
    from cfo_bench.records import RunStatus
    from cfo_bench.results.status import STATUSES, time_left

    counts: dict[tuple[str, str], Counter[str]] = {}
    for run in runs:
        counts.setdefault((run.learner, run.method), Counter())[run.status] += 1
    rows = [[*names, *(f"{n[kind] or ''}" for kind in STATUSES)] for names, n in sorted(counts.items())]
    total = Counter(run.status for run in runs)
    rows.append(["all", "", *(f"{total[kind] or ''}" for kind in STATUSES)])
    yield fitting_table(("learner", "method", *STATUSES), rows, right=range(2, 2 + len(STATUSES)))
    yield f"\n{time_left(runs)}"
    for kind in (RunStatus.FAILED, RunStatus.INTERRUPTED):
        if total[kind]:
            yield f"\n{kind}:"
            yield from _reasons([run for run in runs if run.status is kind])
    if total[RunStatus.RUNNING]:
        yield "\nrunning:"
        running = [run for run in runs if run.status is RunStatus.RUNNING]
        yield from _first_lines([f"  {_folds([run])[0]}: {_position(run)}" for run in running])
    missing = [run for run in runs if run.status is RunStatus.MISSING]
    if missing:
        yield "\nmissing:"
        yield from _first_lines([f"  {line}" for line in _folds(missing)])


def _by_task(runs: Sequence[RunProgress], unfinished_only: bool = False) -> Iterator[str]:
    """For each learner with several tasks a table with a row per task and a column per method."""
    from cfo_bench.records import RunStatus

    counts: dict[str, dict[str, dict[str, Counter[str]]]] = {}
    for run in runs:
        of_task = counts.setdefault(run.learner, {}).setdefault(run.task, {})
        of_task.setdefault(run.method, Counter())[run.status] += 1
    for learner, tasks in sorted(counts.items()):
        done = [
            task for task, n in tasks.items() if all(set(kinds) == {RunStatus.DONE} for kinds in n.values())
        ]
        shown = [task for task in sorted(tasks) if not (unfinished_only and task in done)]
        if len(tasks) == 1 or not shown:
            continue
        methods = sorted({method for n in tasks.values() for method in n})
        rows = [[task, *(_cell(tasks[task].get(method, Counter())) for method in methods)] for task in shown]
        hidden = len(tasks) - len(shown)
        yield f"{one_line(learner)}: finished runs of all runs (+ running, ! failed)" + (
            f", {hidden} more tasks are done" if hidden else ""
        )
        yield fitting_table(["task", *methods], rows, right=range(1, 1 + len(methods))) + "\n"


def _cell(counts: Counter[str]) -> str:
    if not counts:
        return ""
    marks = "".join(
        f"{mark}{counts[kind]}" for mark, kind in (("+", "running"), ("!", "failed")) if counts[kind]
    )
    return f"{marks} {counts['done']}/{counts.total()}".strip()


def _reasons(runs: Sequence[RunProgress]) -> Iterator[str]:
    """Each reason once, the most frequent first, with its runs."""
    by_reason: dict[str, list[RunProgress]] = {}
    for run in runs:
        # Reasons that differ only in the name of the run's own file are the same.
        by_reason.setdefault(_RUN_FILE.sub("", _short(run.reason)), []).append(run)
    for group in sorted(by_reason.values(), key=len, reverse=True):
        yield f"  {counted(len(group), 'run')}: {one_line(_short(group[0].reason)) or 'stopped'}"
        yield from _first_lines([f"    {line}" for line in _folds(group)])


def _short(reason: str | None) -> str:
    text = reason or ""
    return text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]}…"


def _first_lines(lines: Sequence[str]) -> Iterator[str]:
    yield from map(one_line, lines[:_MAX_LINES])
    if len(lines) > _MAX_LINES:
        indent = lines[-1][: len(lines[-1]) - len(lines[-1].lstrip())]
        yield f"{indent}and {len(lines) - _MAX_LINES} more (all of them with --json)"


def _folds(runs: Sequence[RunProgress]) -> list[str]:
    """A line for each task and method, with their folds."""
    folds: dict[tuple[str, str, str], list[str]] = {}
    for run in runs:
        seed = f" seed {run.seed}" if run.seed else ""
        folds.setdefault((run.learner, run.task, run.method), []).append(f"{run.fold}{seed}")
    return [f"{' '.join(names)} fold {', '.join(numbers)}" for names, numbers in folds.items()]


def _position(run: RunProgress) -> str:
    if run.elapsed is None:
        return "loading"
    if run.clock == "virtual":
        return f"{run.trials} trials"
    return f"{run.elapsed:.0f} of {run.budget_seconds:g} s, {run.trials} trials"
