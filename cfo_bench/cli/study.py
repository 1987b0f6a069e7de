"""`cfo-bench study`: evaluate every value of a hyperparameter, to see its effect on loss and cost."""

from __future__ import annotations

from pathlib import Path

import click

from cfo_bench.cli.run import run
from cfo_bench.terminal.command_options import task_names
from cfo_bench.terminal.printing import print_text


@click.group(short_help="Try every value of a hyperparameter.")
def study() -> None:
    """Evaluate every value of a hyperparameter, and plot loss and cost against it."""


@study.command(short_help="Try every number of neighbours of k-NN.")
@click.option("--task", required=True, shell_complete=task_names, help="The task (see cfo-bench tasks).")
@click.option("--k", default="1-100", show_default=True, help="The numbers of neighbours: 1-100, or 1,2,5-9.")
@click.option("--fold", type=click.IntRange(min=0), default=0, show_default=True, help="The fold.")
@click.option(
    "--n-folds", type=click.IntRange(min=2), help="Folds that the data is split into, as for cfo-bench run."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the folds.")
@click.option(
    "--budget",
    "budget_seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=86400.0,
    show_default=True,
    help="Stop the study after this many seconds.",
)
@click.option(
    "--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of the model."
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder of the trace and the figure.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="A folder of data sets with an index.csv.  [default: $CFO_BENCH_DATA]",
)
@click.option("--force", is_flag=True, help="Run it again if it is finished.")
@click.option("-q", "--quiet", is_flag=True, help="Print no progress.")
@click.pass_context
def knn(
    ctx: click.Context,
    task: str,
    k: str,
    fold: int,
    n_folds: int | None,
    seed: int,
    budget_seconds: float,
    threads: int,
    results: Path,
    data_dir: Path | None,
    force: bool,
    quiet: bool,
) -> int:
    """Evaluate K nearest neighbours for every K: does the loss rise with the cost beyond the optimum?

    The trace is an ordinary one, of the method `study`; the figure is written next to it.
    """
    from cfo_bench.records import RunSpec
    from cfo_bench.report.numbers.paper_tables import findings
    from cfo_bench.report.sections.neighbours import save_beside
    from cfo_bench.results.run import read_run
    from cfo_bench.results.trace import path_of

    common = {} if n_folds is None else {"n_folds": n_folds}
    exit_code: int = ctx.invoke(
        run,
        tasks=(task,),
        learners=("knn",),
        methods=("study",),
        options=(f"values={k}",),
        folds=str(fold),
        seeds=(seed,),
        budget_seconds=budget_seconds,
        threads=threads,
        results=results,
        data_dir=data_dir,
        force=force,
        quiet=quiet,
        **common,
    )
    path = path_of(results, RunSpec("knn", task, "study", fold, seed))
    done = read_run(path) if exit_code == 0 else None
    if done is not None:
        print_text(f"\n{findings(done)}", err=False)
        for file in save_beside(done, path):
            print_text(str(file), err=False)
    return exit_code
