"""`cfo-bench tasks`: what can be learnt, and `cfo-bench tasks show NAME`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from cfo_bench.terminal import completion


def places(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where tasks are looked for."""
    for option in (
        click.option(
            "--tasks",
            "tables",
            type=click.Path(path_type=Path),
            multiple=True,
            metavar="FILE",
            help="A YAML table of tasks of your own.  [default: $CFO_BENCH_TASKS]",
        ),
        click.option(
            "--data-dir",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="A folder of data sets with an index.csv.  [default: $CFO_BENCH_DATA]",
        ),
    ):
        command = option(command)
    return command


@click.group(invoke_without_command=True, short_help="List the tasks, or show one.")
@places
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only tasks that have all these tags.")
@click.option("--here", is_flag=True, help="Only tasks whose data is on this machine.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def tasks(
    ctx: click.Context,
    data_dir: Path | None,
    tables: Sequence[Path],
    tags: Sequence[str],
    here: bool,
    as_json: bool,
) -> None:
    """List the tasks that have a name, with one line each, and where their data is on this machine.

    Besides these, openml:ID, openml-data:ID, openml-suite:ID and pmlb:NAME are tasks.
    """
    if ctx.invoked_subcommand is not None:
        return
    from dataclasses import asdict

    from cfo_bench.tasks import listing
    from cfo_bench.terminal.tables import show

    rows = [
        row
        for row in listing(data_dir, tables)
        if set(tags) <= set(row.tags) and (row.here is not None or not here)
    ]
    if not rows and not as_json:
        click.echo("no task has all that was asked for", err=True)
        return
    if as_json:
        show([asdict(row) for row in rows], as_json)
        return
    show(
        [
            {
                "task": row.name,
                "problem": row.problem,
                "metric": row.metric,
                "rows": row.rows,
                "features": row.features,
                "source": row.source,
                "on this machine": row.here or "no",
                "note": row.note or (f"alias {', '.join(row.aliases)}" if row.aliases else None),
            }
            for row in rows
        ],
        as_json,
        right=("rows", "features"),
    )


@tasks.command("show", short_help="Show one task's data.")
@click.argument("name", shell_complete=completion.task_names)
@places
@click.option(
    "--n-folds", type=click.IntRange(min=1), metavar="N", help="Folds, where not the official ones."
)
@click.option("--offline", is_flag=True, help="Never use the network.  [default: $CFO_BENCH_OFFLINE]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_task(
    name: str,
    data_dir: Path | None,
    tables: Sequence[Path],
    n_folds: int | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Show one task's data: sizes, types, missing values, classes, folds, source and licence."""
    from cfo_bench.tasks import resolve
    from cfo_bench.tasks.details import details
    from cfo_bench.terminal.tables import show_json

    found = details(resolve(name, data_dir, tables, offline), n_folds)
    if as_json:
        show_json(found)
        return
    width = max(map(len, found))
    for key, value in found.items():
        if value is not None:
            click.echo(f"{key.replace('_', ' '):{width}}  {_text(value)}")


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    if isinstance(value, list):
        return ", ".join(f"{one:g}" for one in value)
    return str(value)
