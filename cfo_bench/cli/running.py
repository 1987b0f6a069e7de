"""What becomes of the runs that were asked for: listed, priced, or run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfo_bench import machine
from cfo_bench.cli.noting import NotingFailures
from cfo_bench.cli.summary import print_summary
from cfo_bench.engines import capacity
from cfo_bench.engines.dask.clusters import need_packages
from cfo_bench.records import DataRef, EndReason, RunSpec
from cfo_bench.results import plan
from cfo_bench.results.trace import ends, path_of
from cfo_bench.run.inspection import fetch_task, inspect_task, packages, rehearse
from cfo_bench.run.runner import Job, reproducing_command
from cfo_bench.run.supervisor import Verdict, fork_server
from cfo_bench.suite.model import Suite
from cfo_bench.suite.quantities import duration
from cfo_bench.tasks import is_stored
from cfo_bench.terminal.progress import looking_ahead, progress

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext

    from cfo_bench.engines.listener import Listener


def fetch_missing(data: Mapping[str, DataRef], quiet: bool) -> None:
    """Into the store with what comes from elsewhere: only then are a task's official folds known."""
    for ref in data.values():
        if ref.origins and not is_stored(ref):
            with looking_ahead(quiet):
                fetch_task(ref)


def warn_of_unknown_folds(suite: Suite, data: Mapping[str, DataRef]) -> None:
    """Where nothing may be fetched, runs are counted as if the official folds were as many as ours."""
    absent = [task for task, ref in data.items() if ref.origins and not is_stored(ref)]
    if absent and suite.n_folds is None:
        click.echo(
            f"{len(absent)} of {len(data)} tasks are not on this machine yet, and may have other folds than "
            f"counted here: cfo-bench prepare fetches them (the first is {absent[0]})",
            err=True,
        )


def print_runs(suite: Suite, specs: Sequence[RunSpec], data: Mapping[str, DataRef]) -> None:
    """The command of each run on stdout; on stderr what all of them take."""
    check(suite, specs)
    for spec in specs:
        click.echo(reproducing_command(spec, data[spec.task]))
    click.echo(price(suite, specs), err=True)


def price(suite: Suite, specs: Sequence[RunSpec]) -> str:
    """Hours, cores and memory: of a suite's runs, one takes as much as any other."""
    at_once = max(min(_at_once(suite), len(specs)), 1)
    seconds = sum(spec.budget_seconds for spec in specs)
    hours = f"{len(specs)} run{'s' * (len(specs) != 1)}, {duration(seconds)} of budget in all"
    if at_once > 1:
        who = f"--jobs {at_once}" if suite.engine == "local" else f"{at_once} workers"
        hours += f", {duration(seconds / at_once)} with {who}"
    if not specs:
        return hours
    if suite.engine == "local":
        specs = capacity.with_memory(specs[:1], capacity.of_machine(), at_once)
    each = capacity.needs(specs[0])
    whose = " a fair share of this machine," if suite.memory_mb is None else ""
    memory = (
        f"{at_once} × {each.memory_mb} MB = {at_once * each.memory_mb} MB of memory,{whose} besides the data"
        if each.memory_mb
        else "and a fair share of its worker's memory for each"
    )
    cores = at_once * each.cores
    return f"{hours}\n{at_once} at a time: {cores} core{'s' * (cores != 1)}, {memory}"


def _at_once(suite: Suite) -> int:
    return suite.jobs if suite.engine == "local" else suite.cluster.workers or 1


def check(suite: Suite, specs: Sequence[RunSpec]) -> frozenset[str]:
    """Builds every learner and method once: what can be wrong is told before anything starts.

    Returned are the methods that can't be replayed.
    """
    if suite.engine == "dask":
        need_packages(suite.cluster)
    return rehearse(
        list({(spec.learner, spec.method): spec for spec in specs}.values()),
        {choice.name: choice.place for choice in suite.methods},
    )


def run_all(
    suite: Suite,
    specs: Sequence[RunSpec],
    data: Mapping[str, DataRef],
    force: bool,
    oversubscribe: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Runs what is missing, and shows the table of all; the exit code of the worst."""
    unsteady = check(suite, specs)
    context = fork_server(packages(specs, data.values()))
    metrics = _metrics(suite.results, specs, data, force, context, quiet)
    plan.record(suite.results, specs)
    here = machine.provenance()
    todo = [
        Job(
            spec,
            data[spec.task],
            path_of(suite.results, spec),
            here,
            replays=spec.method not in unsteady,
        )
        for spec in specs
    ]
    with progress(todo, min(_at_once(suite), len(todo)), metrics, quiet) as shown:
        noting = NotingFailures(suite.results, shown)
        verdicts = _run_on(suite, todo, context, force, oversubscribe, noting)
    # A trace that its run could not go on with may be of another run: it is not ours to sum up.
    ended = [job.trace_path for job, verdict in zip(todo, verdicts, strict=True) if verdict.end is not None]
    print_summary(ended, suite.results, as_json, quiet)
    return max(verdict.exit_code for verdict in verdicts)


def _run_on(
    suite: Suite,
    todo: Sequence[Job],
    context: ForkServerContext,
    force: bool,
    oversubscribe: bool,
    shown: Listener,
) -> list[Verdict]:
    if suite.engine == "dask":
        from cfo_bench.engines.dask import driver

        return driver.run_jobs(todo, suite.cluster, force, shown)
    from cfo_bench.engines import local

    return local.run_jobs(todo, suite.jobs, context, force, shown, oversubscribe)


def _metrics(
    results: Path,
    specs: Sequence[RunSpec],
    data: Mapping[str, DataRef],
    force: bool,
    context: ForkServerContext,
    quiet: bool,
) -> dict[str, str]:
    """Each task's metric, once its data was looked at; a task whose runs are all done is left alone."""
    groups: dict[tuple[str, str], list[RunSpec]] = {}
    for spec in specs:
        groups.setdefault((spec.task, spec.learner), []).append(spec)
    found: dict[str, str] = {}
    with looking_ahead(quiet):
        for (task, _), some in groups.items():
            known = None if force else _metric_if_done([path_of(results, spec) for spec in some])
            found[task] = known or inspect_task(some[0], data[task], context).metric
    return found


def _metric_if_done(paths: Sequence[Path]) -> str | None:
    """The metric in the headers of traces that are all finished; None where one is not."""
    metric: str | None = None
    for path in paths:
        try:
            lines = ends(path)
            if lines is None or lines[1]["kind"] != "end" or lines[1]["reason"] == EndReason.INTERRUPTED:
                return None
            metric = str(lines[0]["metric"])
        except (OSError, ValueError, KeyError, TypeError):  # absent or spoilt: its run will tell
            return None
    return metric
