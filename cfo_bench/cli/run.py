"""`cfo-bench run`: the product of tasks, methods and folds, each as one honest run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from cfo_bench.records import DataRef, RunSpec


def _complete(kind: str) -> Any:
    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from cfo_bench.learners import LEARNERS
        from cfo_bench.optimizers import METHODS
        from cfo_bench.tasks import listing

        if kind == "task":
            known = {row.name: row.source for row in listing(ctx.params.get("data_dir"))}
        else:
            registry = METHODS if kind == "method" else LEARNERS
            known = {name: row.summary for name, row in registry.rows().items()}
        return [
            CompletionItem(name, help=text)
            for name, text in sorted(known.items())
            if name.startswith(incomplete)
        ]

    return complete


@click.command()
@click.option(
    "--task",
    "task_names",
    multiple=True,
    shell_complete=_complete("task"),
    help="A task; give several for all of them.",
)
@click.option(
    "--data",
    "data_file",
    type=click.Path(path_type=Path),
    help="Your own .csv, .parquet or .arff file as the task.",
)
@click.option("--target", help="The column of --data to predict.")
@click.option(
    "--problem",
    type=click.Choice(["binary", "multiclass", "regression"]),
    help="What --target is, where it can't be told from its values.",
)
@click.option(
    "--method",
    "method_names",
    multiple=True,
    required=True,
    shell_complete=_complete("method"),
    help="A method, or file.py:Class; give several for all of them.",
)
@click.option(
    "--budget",
    "budget_seconds",
    type=click.FloatRange(min=0, min_open=True),
    required=True,
    help="Seconds of each run.",
)
@click.option(
    "--learner",
    default="xgboost",
    show_default=True,
    shell_complete=_complete("learner"),
    help="What is tuned.",
)
@click.option("--folds", default="all", show_default=True, help="all, 0, 0-4 or 0,3.")
@click.option(
    "--n-folds",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    help="Folds that the data is split into.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of folds, methods and models.",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder of the traces.",
)
@click.option("--max-trials", type=click.IntRange(min=1), help="End a run after so many trials.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Runs side by side."
)
@click.option(
    "--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of each model."
)
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Trials at once in each run."
)
@click.option(
    "--memory",
    "memory_mb",
    type=click.IntRange(min=1),
    help="MB that the trials of a run may take.  [default: a fair share of the machine]",
)
@click.option(
    "--trial-timeout",
    "trial_timeout_seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds of a single trial.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="A folder of data sets with an index.csv.  [default: $CFO_BENCH_DATA]",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the methods; several are fine.",
)
@click.option(
    "--learner-option",
    "learner_options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the learner.",
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
    help="Share of the training rows that --validation holdout splits off.",
)
@click.option("--force", is_flag=True, help="Run again what is there already.")
@click.option("--dry-run", is_flag=True, help="Print the runs, and run none.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on stdout.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def run(
    task_names: Sequence[str],
    data_file: Path | None,
    target: str | None,
    problem: str | None,
    method_names: Sequence[str],
    budget_seconds: float,
    learner: str,
    folds: str,
    n_folds: int,
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
    force: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run methods on tasks, each for the same seconds on every fold, and trace every trial.

    A run that is there already is not run again; one that was cut off goes on where it stood.
    """
    from cfo_bench import machine, suite, tasks
    from cfo_bench.cli.options import method_options, parse_options
    from cfo_bench.errors import UserError
    from cfo_bench.learners import LEARNERS
    from cfo_bench.records import Problem

    refs = [tasks.resolve(name, data_dir) for name in task_names]
    if data_file is not None:
        if target is None:
            raise UserError(f"--data {data_file} needs --target: the name of the column to predict")
        refs.append(tasks.file_ref(data_file, target, Problem(problem) if problem else None))
    if not refs:
        raise UserError("nothing to learn: give --task (see cfo-bench tasks), or --data with --target")
    specs = suite.expand(
        [learner],
        [ref.task for ref in refs],
        method_options(method_names, parse_options(options), workers),
        suite.parse_folds(folds, n_folds),
        [seed],
        budget_seconds=budget_seconds,
        max_trials=max_trials,
        learner_options=LEARNERS.options(learner, parse_options(learner_options)),
        n_folds=n_folds,
        workers=workers,
        threads=threads,
        memory_mb=memory_mb or machine.total_memory_mb() * 9 // 10 // jobs // workers,
        trial_timeout_seconds=trial_timeout_seconds,
        clock=clock,
        validation=validation,
        holdout_share=holdout_share,
    )
    data = {ref.task: ref for ref in refs}
    if dry_run:
        for spec in specs:
            click.echo(suite.command_line(spec, data[spec.task]))
        hours = sum(spec.budget_seconds for spec in specs) / 3600
        click.echo(
            f"{len(specs)} runs, {hours:.2f} hours of budget, {hours / jobs:.2f} hours with --jobs {jobs}",
            err=True,
        )
        return 0
    return _run(specs, data, results, jobs, force, as_json, quiet)


def _run(
    specs: Sequence[RunSpec],
    data: dict[str, DataRef],
    results: Path,
    jobs: int,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    from cfo_bench.cli.progress import progress
    from cfo_bench.cli.summary import print_summary
    from cfo_bench.engines.local import run_jobs
    from cfo_bench.inspection import inspect_task
    from cfo_bench.learners import LEARNERS
    from cfo_bench.machine import provenance
    from cfo_bench.runner import Job
    from cfo_bench.supervisor import fork_server
    from cfo_bench.trace import path_of

    context = fork_server([LEARNERS.row(specs[0].learner).target.partition(":")[0]])
    facts = {task: inspect_task(ref, specs[0].n_folds, context) for task, ref in data.items()}
    here = provenance()
    todo = [Job(spec, data[spec.task], path_of(results, spec), here) for spec in specs]
    metrics = {task: found.metric for task, found in facts.items()}
    with progress(todo, min(jobs, len(todo)), metrics, quiet) as shown:
        verdicts = run_jobs(todo, jobs, context, force, shown)
    print_summary([job.trace_path for job in todo], as_json)
    return max(verdict.exit_code for verdict in verdicts)
