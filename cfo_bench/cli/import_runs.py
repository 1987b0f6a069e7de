"""`cfo-bench import`: write runs of other programs as traces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cfo_bench.terminal.command_options import AsInSuite
from cfo_bench.terminal.printing import one_line, print_text
from cfo_bench.values import Duration

FORMATS = ("optuna", "smac", "flaml", "csv", "archive")
CLOCKS = ("wall", "durations")


@click.command("import", short_help="Import runs of Optuna, SMAC, FLAML, a CSV file or an archive.")
@click.argument("source")
@click.option(
    "--from", "format", type=click.Choice(FORMATS), help="The format.  [default: recognised from SOURCE]"
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="The results folder for the traces.",
)
@click.option("--learner", help="The learner that was tuned.")
@click.option("--task", help="The task on which the learner was tuned.")
@click.option("--method", help="The method that tuned it.")
@click.option(
    "--fold", type=click.IntRange(min=0), help="The fold on which the learner was tuned.  [default: 0]"
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="The seed of the run; distinguishes repetitions of a fold.  [default: 0]",
)
@click.option(
    "--metric", help="The metric that was tuned: auc, log_loss, accuracy, balanced_accuracy, r2 or mse."
)
@click.option("--problem", help="binary, multiclass or regression, if the metric does not determine it.")
@click.option("--budget", type=AsInSuite(Duration()), metavar="TIME", help="The time budget of the run.")
@click.option("--constant-loss", type=float, help="The loss of a constant prediction.")
@click.option(
    "--clock",
    type=click.Choice(CLOCKS),
    help="wall: the times are real seconds and include the method's own time; durations: they do not.",
)
@click.option("--study", "studies", multiple=True, help="Only this Optuna study; can be repeated.")
@click.option("--loss", metavar="NAME", help="Which value of a trial is its loss.")
@click.option("--score", metavar="NAME", help="Which value of a trial is its score: the metric itself.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=COLUMN",
    help="The meaning of a CSV column, as in seconds=time. docs/exchange.md lists the names.",
)
@click.option(
    "--hyperparameter",
    "hyperparameters",
    multiple=True,
    metavar="COLUMN",
    help="A column of a CSV file with a hyperparameter.  [default: config.*, otherwise unknown columns]",
)
@click.option("--force", is_flag=True, help="Replace runs that were imported before.")
def import_runs(source: str, columns: Sequence[str], budget: float | None, **options: Any) -> None:
    """Write the runs in SOURCE as traces, so that a report can compare them with your own.

    \b
        cfo-bench import study.db --learner xgboost --task adult --metric auc
        cfo-bench import smac_run/0 --learner xgboost --task adult --metric auc
        cfo-bench import flaml.log --learner xgboost --task adult --metric auc
        cfo-bench import trials.csv --score val_auc --column seconds=time
        cfo-bench import study.parquet

    SOURCE is an Optuna storage (an SQLite or journal file, or a URL), the folder of a SMAC run, a log of
    FLAML, a CSV file with one row for each trial, or an archive of `cfo-bench export`. An imported trace is
    marked as imported, and lists what its source does not contain.
    """
    from cfo_bench.exchange.importing import import_trials

    named = {}
    for word in columns:
        name, equals, column = word.partition("=")
        if not equals or not column:
            raise click.UsageError(f"--column {word!r} is not NAME=COLUMN, as in loss=val_loss")
        named[name] = column
    results: Path = options.pop("results")
    for run in import_trials(source, results, columns=named, budget_seconds=budget, **options):
        unknown = f"; not known: {', '.join(run.unknown)}" if run.unknown else ""
        clock = _CLOCKS[run.clock]
        print_text(one_line(f"{run.path}: {run.trials} trials; {clock}{unknown}"), err=False)
        for line in run.remarks:
            print_text(f"  {one_line(line)}")


_CLOCKS = {
    "wall": "its times are real seconds",
    "virtual": "its times are virtual seconds",
    "durations": "its times are the durations of its trials, without the method's own time",
    "trials": "it has no times: each trial counts as one second",
}
