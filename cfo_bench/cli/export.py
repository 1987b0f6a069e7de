"""`cfo-bench export`: write trials for other programs or for publication."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from cfo_bench.terminal.command_options import chosen_runs
from cfo_bench.terminal.printing import counted, one_line, print_text


@click.command(short_help="Write trials as a table or an archive, or for Optuna or DeepCAVE.")
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="A .csv or .parquet file, with one row per trial."
)
@click.option(
    "--to",
    type=(click.Choice(["archive", "optuna", "deepcave"]), str),
    metavar="FORMAT WHERE",
    help="archive FILE: finished runs in one small file, which `cfo-bench import` reads. optuna "
    "sqlite:///FILE, or a journal FILE.log: one study per run. deepcave FOLDER: one folder per run.",
)
@chosen_runs
@click.option("--force", is_flag=True, help="Replace an existing file, study or folder.")
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
        cfo-bench export results --to archive study.parquet
        cfo-bench export results --to optuna sqlite:///trials.db
        cfo-bench export results --to deepcave runs

    docs/exchange.md describes the columns of the table, and what an archive, Optuna and DeepCAVE contain.
    """
    from cfo_bench.exchange import exporting

    if (out is None) == (to is None):
        raise click.UsageError("give one of -o FILE and --to FORMAT WHERE")
    chosen = {"learners": learners, "tasks": tasks, "methods": methods}
    folders = results or (Path("results"),)
    if to is None:
        assert out is not None
        done = exporting.export_trials(folders, out, **chosen, force=force)
    elif to[0] == "archive":
        done = exporting.export_to_archive(folders, to[1], **chosen, force=force)
    elif to[0] == "optuna":
        done = exporting.export_to_optuna(folders, to[1], **chosen, force=force)
    else:
        done = exporting.export_to_deepcave(folders, to[1], **chosen, force=force)
    for line in done.unreadable:
        print_text(f"cfo-bench: {one_line(line)}")
    print_text(f"{done.to}: {counted(done.trials, 'trial')} of {counted(done.runs, 'run')}", err=False)
