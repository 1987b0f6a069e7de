"""`cfo-bench export`: trials for other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click


@click.command(short_help="Write trials as a table, or for Optuna or DeepCAVE.")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="A .csv or .parquet file: one row a trial."
)
@click.option(
    "--to",
    type=(click.Choice(["optuna", "deepcave"]), str),
    metavar="PROGRAM WHERE",
    help="optuna sqlite:///FILE, or a journal FILE.log: a study for each run. deepcave FOLDER: a folder for "
    "each run.",
)
@click.option("--learner", "learners", multiple=True, help="Only this learner; give several for all.")
@click.option("--task", "tasks", multiple=True, help="Only this task; give several for all.")
@click.option("--method", "methods", multiple=True, help="Only this method; give several for all.")
@click.option("--force", is_flag=True, help="Replace what is there.")
def export(
    results: Sequence[Path],
    out: Path | None,
    to: tuple[str, str] | None,
    learners: Sequence[str],
    tasks: Sequence[str],
    methods: Sequence[str],
    force: bool,
) -> None:
    """Write the trials of the RESULTS folders for other programs.  [default: results]

    \b
    cfo-bench export results -o trials.parquet
    cfo-bench export results --to optuna sqlite:///trials.db
    cfo-bench export results --to deepcave runs

    docs/exchange.md describes the columns of the table, and what Optuna and DeepCAVE are told.
    """
    from cfo_bench.exchange import exporting
    from cfo_bench.terminal.tables import one_line, say

    if (out is None) == (to is None):
        raise click.UsageError("give one of -o FILE and --to PROGRAM WHERE")
    chosen = {"learners": learners, "tasks": tasks, "methods": methods}
    folders = results or (Path("results"),)
    if to is None:
        assert out is not None
        done = exporting.export_trials(folders, out, **chosen, force=force)
    elif to[0] == "optuna":
        done = exporting.export_to_optuna(folders, to[1], **chosen, force=force)
    else:
        done = exporting.export_to_deepcave(folders, to[1], **chosen, force=force)
    for line in done.unreadable:
        say(f"cfo-bench: {one_line(line)}")
    trials, runs = f"trial{'s' * (done.trials != 1)}", f"run{'s' * (done.runs != 1)}"
    say(f"{done.to}: {done.trials} {trials} of {done.runs} {runs}", err=False)
