"""`cfo-bench run`: the product of tasks, methods and folds, each as one honest run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cfo_bench.cli import completion
from cfo_bench.suite import DEFAULT_LEARNER, DEFAULT_N_FOLDS, expand, parse_folds

if TYPE_CHECKING:
    from cfo_bench.records import DataRef, RunSpec

# What reads and splits data with rows.
_DATA_PACKAGES = ("pandas", "sklearn.datasets", "sklearn.model_selection")


def _finite(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number of seconds", ctx, param)
    return value


@click.command(short_help="Run methods on tasks and trace every trial.")
@click.option(
    "--task",
    "task_names",
    multiple=True,
    metavar="NAME",
    shell_complete=completion.task_names,
    help="A task (see `cfo-bench tasks`); give several for all of them.",
)
@click.option(
    "--data",
    "data_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Your own .csv, .parquet or .arff file as a task.",
)
@click.option("--target", metavar="COLUMN", help="The column of --data to predict.")
@click.option(
    "--problem",
    type=click.Choice(["binary", "multiclass", "regression"]),
    metavar="KIND",
    help="What --target is, where its values don't tell: binary, multiclass or regression.",
)
@click.option(
    "--method",
    "method_names",
    multiple=True,
    required=True,
    metavar="NAME",
    shell_complete=completion.method_names,
    help="A method (see `cfo-bench methods`), or file.py:Class; give several for all of them.",
)
@click.option(
    "--budget",
    "budget_seconds",
    type=click.FloatRange(min=0, min_open=True),
    callback=_finite,
    required=True,
    metavar="SECONDS",
    help="Wall-clock seconds of each run.",
)
@click.option(
    "--learner",
    default=DEFAULT_LEARNER,
    show_default=True,
    metavar="NAME",
    shell_complete=completion.learner_names,
    help="What is tuned (see `cfo-bench learners`).",
)
@click.option(
    "--folds", default="all", show_default=True, metavar="LIST", help="Folds to run: all, 0, 0-4 or 0,3."
)
@click.option(
    "--n-folds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Folds that the data is split into.  [default: as many as the task has officially, or 10]",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Seed of folds, methods and models.",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    metavar="DIR",
    help="Folder of the traces.",
)
@click.option("--max-trials", type=click.IntRange(min=1), metavar="N", help="End a run after so many trials.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Runs side by side.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Threads of each model.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Trials at once in each run.",
)
@click.option(
    "--memory",
    "memory_mb",
    type=click.IntRange(min=1),
    metavar="MB",
    show_default="a fair share of the machine",
    help="What the trials of a run may take.",
)
@click.option(
    "--trial-timeout",
    "trial_timeout_seconds",
    type=click.FloatRange(min=0, min_open=True),
    callback=_finite,
    metavar="SECONDS",
    help="End a single trial after so long.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    show_default="$CFO_BENCH_DATA",
    help="A folder of data sets with an index.csv, for --task.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the methods, or METHOD.KEY=VALUE for one of them (see `cfo-bench methods NAME`).",
)
@click.option(
    "--learner-option",
    "learner_options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the learner (see `cfo-bench learners NAME`).",
)
@click.option(
    "--clock",
    type=click.Choice(["wall", "virtual"]),
    default="wall",
    show_default=True,
    help="virtual: analytic seconds, for the synthetic learners.",
)
@click.option(
    "--validation",
    type=click.Choice(["fold", "holdout"]),
    default="fold",
    show_default=True,
    help="Measure the loss on the fold's held-out part, or on a part split off its training rows.",
)
@click.option(
    "--holdout-share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.2,
    show_default=True,
    metavar="SHARE",
    help="Share of the training rows that --validation holdout splits off.",
)
@click.option(
    "--tasks",
    "tables",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="A YAML table of tasks of your own.  [default: $CFO_BENCH_TASKS]",
)
@click.option("--offline", is_flag=True, help="Never touch the network.  [default: $CFO_BENCH_OFFLINE]")
@click.option("--force", is_flag=True, help="Run again what is there already.")
@click.option("--dry-run", is_flag=True, help="Print the runs and their hours; run none, load no data.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the summary as JSON on stdout, all else on stderr."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress; only what went wrong, and the summary.")
def run(
    task_names: Sequence[str],
    data_file: Path | None,
    target: str | None,
    problem: str | None,
    method_names: Sequence[str],
    budget_seconds: float,
    learner: str,
    folds: str,
    n_folds: int | None,
    seed: int,
    results: Path,
    max_trials: int | None,
    jobs: int,
    threads: int,
    workers: int,
    memory_mb: int | None,
    trial_timeout_seconds: float | None,
    data_dir: Path | None,
    options: Sequence[str],
    learner_options: Sequence[str],
    clock: str,
    validation: str,
    holdout_share: float,
    tables: Sequence[Path],
    offline: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run methods on tasks, each for the same seconds on every fold, and trace every trial.

    A run that is there already is not run again; one that was cut off goes on where it stood.
    """
    from cfo_bench.cli.options import method_options, parse_options
    from cfo_bench.learners import LEARNERS
    from cfo_bench.tasks import official_folds

    data = _data_of(task_names, data_file, target, problem, data_dir, tables, offline)
    methods = method_options(method_names, parse_options(options), workers)
    of_learner = LEARNERS.options(learner, parse_options(learner_options))
    if not dry_run:
        _fetch_missing(data, quiet)
    specs: list[RunSpec] = []
    for task, ref in data.items():
        n_here = n_folds or official_folds(ref) or DEFAULT_N_FOLDS
        specs += expand(
            [learner],
            [task],
            methods,
            parse_folds(folds, n_here),
            [seed],
            budget_seconds=budget_seconds,
            max_trials=max_trials,
            learner_options=of_learner,
            n_folds=n_here,
            workers=workers,
            threads=threads,
            memory_mb=memory_mb,
            trial_timeout_seconds=trial_timeout_seconds,
            clock=clock,
            validation=validation,
            holdout_share=holdout_share,
        )
    if dry_run:
        return _print_runs(specs, data, jobs)
    return _run(specs, data, results, jobs, force, as_json, quiet)


def _data_of(
    names: Sequence[str],
    file: Path | None,
    target: str | None,
    problem: str | None,
    data_dir: Path | None,
    tables: Sequence[Path],
    offline: bool,
) -> dict[str, DataRef]:
    """Where the data of each task is; a task named twice is one task."""
    from cfo_bench import tasks
    from cfo_bench.errors import UserError
    from cfo_bench.records import Problem

    refs = [ref for name in names for ref in tasks.resolve_all(name, data_dir, tables, offline)]
    if file is not None:
        if target is None:
            raise UserError(f"--data {file} needs --target: the name of the column to predict")
        refs.append(tasks.file_ref(file, target, Problem(problem) if problem else None))
    elif target is not None or problem is not None:
        flag = f"--target {target}" if target is not None else f"--problem {problem}"
        raise UserError(f"{flag} says what to predict in --data: give a file, or leave it out")
    if not refs:
        raise UserError("nothing to learn: give --task (see cfo-bench tasks), or --data with --target")
    found: dict[str, DataRef] = {}
    for ref in refs:
        if found.setdefault(ref.task, ref) != ref:
            raise UserError(
                f"two tasks are called {ref.task!r}, and a task's traces go by its name: "
                "rename the file, or use two commands with a --results each"
            )
    return found


def _fetch_missing(data: dict[str, DataRef], quiet: bool) -> None:
    """Into the store with what comes from elsewhere: only then are a task's official folds known."""
    from cfo_bench.cli.progress import looking_ahead
    from cfo_bench.inspection import fetch_task
    from cfo_bench.tasks import is_stored

    for ref in data.values():
        if ref.origins and not is_stored(ref):
            with looking_ahead(quiet):
                fetch_task(ref)


def _print_runs(specs: Sequence[RunSpec], data: dict[str, DataRef], jobs: int) -> int:
    from cfo_bench.cli.progress import duration
    from cfo_bench.inspection import rehearse
    from cfo_bench.runner import reproducing_command

    rehearse(_one_a_method(specs))
    for spec in specs:
        click.echo(reproducing_command(spec, data[spec.task]))
    seconds = sum(spec.budget_seconds for spec in specs)
    side_by_side = f", {duration(seconds / jobs)} with --jobs {jobs}" if jobs > 1 else ""
    plural = "s" * (len(specs) != 1)
    click.echo(f"{len(specs)} run{plural}, {duration(seconds)} of budget in all{side_by_side}", err=True)
    return 0


def _run(
    specs: Sequence[RunSpec],
    data: dict[str, DataRef],
    results: Path,
    jobs: int,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    from dataclasses import replace

    from cfo_bench import machine
    from cfo_bench.cli.progress import looking_ahead, progress
    from cfo_bench.cli.summary import print_summary
    from cfo_bench.engines.local import run_jobs
    from cfo_bench.inspection import inspect_task, rehearse
    from cfo_bench.runner import Job
    from cfo_bench.supervisor import fork_server
    from cfo_bench.trace import path_of

    first = specs[0]
    first_of = {spec.task: spec for spec in reversed(specs)}
    rehearse(_one_a_method(specs))
    context = fork_server(_packages(specs, data))
    with looking_ahead(quiet):
        metrics = {task: inspect_task(first_of[task], ref, context).metric for task, ref in data.items()}
    here = machine.provenance()
    memory_mb = first.memory_mb or machine.total_memory_mb() * 9 // 10 // jobs // first.workers
    todo = [
        Job(replace(spec, memory_mb=memory_mb), data[spec.task], path_of(results, spec), here)
        for spec in specs
    ]
    with progress(todo, min(jobs, len(todo)), metrics, quiet) as shown:
        verdicts = run_jobs(todo, jobs, context, force, shown)
    # A trace that its run could not go on with may be of another run: it is not ours to sum up.
    ended = [job.trace_path for job, verdict in zip(todo, verdicts, strict=True) if verdict.end is not None]
    print_summary(ended, results, as_json, quiet)
    return max(verdict.exit_code for verdict in verdicts)


def _packages(specs: Sequence[RunSpec], data: dict[str, DataRef]) -> list[str]:
    """What the runs import, for the process that they are forked from: loaded once."""
    from cfo_bench.learners import LEARNERS
    from cfo_bench.optimizers import METHODS

    has_rows = any(ref.source != "synthetic" for ref in data.values())
    methods = [name for spec in _one_a_method(specs) for name in METHODS.row(spec.method).needs]
    return [*(_DATA_PACKAGES if has_rows else ()), *LEARNERS.row(specs[0].learner).needs, *methods]


def _one_a_method(specs: Sequence[RunSpec]) -> list[RunSpec]:
    return list({spec.method: spec for spec in specs}.values())
