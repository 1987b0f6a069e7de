"""`cfo-bench status`: what of a results folder is done, running, waiting, failed, interrupted or missing."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cfo_bench.results.status import FolderStatus, RunProgress, Watch

# What is listed one by one, before the rest is only counted.
_AT_MOST = 10

# The name of a run's file in a reason. It has to begin a word: a search from every character of a long word
# takes time that grows with its square.
_RUN_FILE = re.compile(r"(?<!\S)\S{0,500}fold-\d{1,20}_seed-\d{1,20}\S*")
# A reason is shown up to here.
_LONGEST_REASON = 500


@click.command(short_help="What is done, running, waiting, failed or missing.")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option("--watch", is_flag=True, help="Show it again and again, until everything is done or Ctrl-C.")
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
    """Show how far the runs in RESULTS are, by method and task.  [default: results]

    Several RESULTS folders count as one. If two of them have the same run, the one that is further counts.

    waiting: planned, and not started. missing: a fold of a task that another method has run. Give the same
    cfo-bench run command again to start what is waiting, and to resume what was interrupted.
    """
    from dataclasses import asdict

    from cfo_bench.results.status import Watch
    from cfo_bench.terminal.tables import one_line, say, show_json

    if watch and as_json:
        raise click.UsageError("--json prints once: leave out --watch")
    looking = Watch(*(results or (Path("results"),)))
    if watch:
        found = _watch_terminal(looking, every) if sys.stdout.isatty() else _watch_lines(looking, every)
    else:
        found = looking.look()
    for line in found.unreadable:
        say(f"cfo-bench: {one_line(line)}")
    if as_json:
        # The key keeps its name: other programs read it.
        show_json(
            [
                {"progress" if key == "status" else key: value for key, value in asdict(run).items()}
                for run in found.runs
            ]
        )
    elif not watch or sys.stdout.isatty():
        # What matters most comes last, where one looks.
        say("\n".join([*_by_task(found.runs), *_summary(found.runs)]), err=False)


def _watch_terminal(looking: Watch, every: float) -> FolderStatus:
    """Redraws what is not done yet, as much as fits; the last look, for a table of it all."""
    from rich.live import Live
    from rich.text import Text

    from cfo_bench.clock import sleep
    from cfo_bench.terminal.tables import shown

    found = looking.look()
    try:
        with Live(auto_refresh=False, transient=True, vertical_overflow="ellipsis") as live:
            while _goes_on(found.runs):
                # What does not fit is cut off at the bottom.
                view = "\n".join([*_summary(found.runs), "", *_by_task(found.runs, unfinished_only=True)])
                live.update(Text(shown(view), no_wrap=True, overflow="ellipsis"), refresh=True)
                sleep(every)
                found = looking.look()
    except KeyboardInterrupt:
        pass
    return found


def _watch_lines(looking: Watch, every: float) -> FolderStatus:
    """A line whenever a number has changed, and one for each new failure."""
    from cfo_bench.clock import sleep
    from cfo_bench.terminal.tables import say

    said: Counter[str] | None = None
    failures: set[RunProgress] = set()
    try:
        while True:
            found = looking.look()
            counts = Counter[str](run.status for run in found.runs)
            failed = {run for run in found.runs if run.status == "failed"}
            for line in _reasons([run for run in found.runs if run in failed - failures]):
                say(line, err=False)
            if counts != said:
                numbers = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))
                click.echo(f"{len(found.runs)} runs: {numbers}; {_to_go(found.runs)}")
            said, failures = counts, failed
            if not _goes_on(found.runs):
                return found
            sleep(every)
    except KeyboardInterrupt:
        return found


def _goes_on(runs: Sequence[RunProgress]) -> bool:
    from cfo_bench.results.status import TO_BE_DONE

    return any(run.status in TO_BE_DONE for run in runs)


def _summary(runs: Sequence[RunProgress]) -> Iterator[str]:
    """A row a method, the time to go, and what is not as it should be."""
    from cfo_bench.records import RunStatus
    from cfo_bench.results.status import STATUSES
    from cfo_bench.terminal.tables import fitting_table

    counts: dict[tuple[str, str], Counter[str]] = {}
    for run in runs:
        counts.setdefault((run.learner, run.method), Counter())[run.status] += 1
    rows = [[*names, *(f"{n[kind] or ''}" for kind in STATUSES)] for names, n in sorted(counts.items())]
    total = Counter(run.status for run in runs)
    rows.append(["all", "", *(f"{total[kind] or ''}" for kind in STATUSES)])
    yield fitting_table(("learner", "method", *STATUSES), rows, right=range(2, 2 + len(STATUSES)))
    yield f"\n{_to_go(runs)}"
    for kind in (RunStatus.FAILED, RunStatus.INTERRUPTED):
        if total[kind]:
            yield f"\n{kind}:"
            yield from _reasons([run for run in runs if run.status is kind])
    if total[RunStatus.RUNNING]:
        yield "\nrunning:"
        running = [run for run in runs if run.status is RunStatus.RUNNING]
        yield from _some([f"  {_name(run)}: {_at(run)}" for run in running])
    missing = [run for run in runs if run.status is RunStatus.MISSING]
    if missing:
        yield "\nmissing:"
        yield from _some([f"  {line}" for line in _folds(missing)])


def _to_go(runs: Sequence[RunProgress]) -> str:
    """The time to go, and how it was reckoned."""
    from cfo_bench.records import RunStatus
    from cfo_bench.results.status import remaining
    from cfo_bench.values import duration

    if not _goes_on(runs):
        counts = Counter(run.status for run in runs)
        others = [f"{counts[kind]} {kind}" for kind in (RunStatus.FAILED, RunStatus.MISSING) if counts[kind]]
        return f"nothing left to do, {', '.join(others)}" if others else "all done"
    left = remaining(runs)
    budgets = f"{duration(left.budget_seconds)} of budget left"
    if left.eta_seconds is not None:
        at_once = f"{left.running} run{'s' * (left.running != 1)} at once"
        return f"about {duration(left.eta_seconds)} to go: {budgets}, {at_once}"
    if left.running:
        return "no telling how long: seconds of the virtual clock are not real ones"
    return f"nothing is running: {budgets}; give the cfo-bench run command again to go on"


def _by_task(runs: Sequence[RunProgress], unfinished_only: bool = False) -> Iterator[str]:
    """For each learner with several tasks a row a task, a column a method."""
    from cfo_bench.records import RunStatus
    from cfo_bench.terminal.tables import fitting_table

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
        yield f"{learner}: runs done of all (+ running, ! failed)" + (
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
    """Each reason once, the most frequent first, with the runs that have it."""
    from cfo_bench.terminal.tables import one_line

    by_reason: dict[str, list[RunProgress]] = {}
    for run in runs:
        # Two runs that name files of their own have the same reason all the same.
        by_reason.setdefault(_RUN_FILE.sub("", _short(run.reason)), []).append(run)
    for some in sorted(by_reason.values(), key=len, reverse=True):
        yield f"  {len(some)} run{'s' * (len(some) != 1)}: {one_line(_short(some[0].reason)) or 'stopped'}"
        yield from _some([f"    {line}" for line in _folds(some)])


def _short(reason: str | None) -> str:
    text = reason or ""
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_AT_MOST]
    if len(lines) > _AT_MOST:
        indent = lines[-1][: len(lines[-1]) - len(lines[-1].lstrip())]
        yield f"{indent}and {len(lines) - _AT_MOST} more (all of them with --json)"


def _folds(runs: Sequence[RunProgress]) -> list[str]:
    """A line for each task and method, with their folds."""
    folds: dict[tuple[str, str, str], list[str]] = {}
    for run in runs:
        seed = f" seed {run.seed}" if run.seed else ""
        folds.setdefault((run.learner, run.task, run.method), []).append(f"{run.fold}{seed}")
    return [f"{' '.join(names)} fold {', '.join(some)}" for names, some in folds.items()]


def _name(run: RunProgress) -> str:
    return _folds([run])[0]


def _at(run: RunProgress) -> str:
    if run.elapsed is None:
        return "loading"
    if run.clock == "virtual":
        return f"{run.trials} trials"
    return f"{run.elapsed:.0f} of {run.budget_seconds:g} s, {run.trials} trials"
