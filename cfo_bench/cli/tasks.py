"""`cfo-bench tasks`: what can be learnt, and `cfo-bench tasks show NAME`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from cfo_bench.terminal import options
from cfo_bench.terminal.options import own_data


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


@tasks.command("show", short_help="Show one task's data, or what is understood of a file.")
@click.argument("name", required=False, shell_complete=options.task_names)
@own_data
@places
@click.option(
    "--n-folds", type=click.IntRange(min=1), metavar="N", help="Folds, where not the official ones."
)
@click.option("--offline", is_flag=True, help="Never use the network.  [default: $CFO_BENCH_OFFLINE]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show_task(
    name: str | None,
    data_dir: Path | None,
    tables: Sequence[Path],
    n_folds: int | None,
    offline: bool,
    as_json: bool,
    **own: Any,
) -> None:
    """Show one task's data: sizes, types, missing values, classes, folds, source and licence.

    With --data it is your own file, with a line for each column; --target may be left out.
    """
    from cfo_bench.suite.expansion import own_data
    from cfo_bench.suite.model import Suite
    from cfo_bench.tasks import resolve
    from cfo_bench.tasks.details import COLUMNS, details, details_of_file
    from cfo_bench.terminal.tables import show, show_json

    given = Suite(**{key: value for key, value in own.items() if value not in (None, ())})
    if (name is None) == (given.data_file is None):
        raise click.UsageError("give the NAME of a task, or a file of your own with --data")
    if given.data_file is not None and given.target is None:
        found = details_of_file(given.data_file, given.drop)
    elif name is None:
        [ref] = own_data(given)
        found = details(ref, n_folds)
    else:
        own_data(given)
        found = details(resolve(name, data_dir, tables, offline), n_folds)
    if as_json:
        show_json(found)
        return
    columns = found.pop(COLUMNS, [])
    width = max(map(len, found))
    for key, value in found.items():
        if value not in (None, []):
            click.echo(f"{key.replace('_', ' '):{width}}  {_text(value)}")
    if columns:
        click.echo()
        show(columns[:_MOST_COLUMNS], as_json=False, right=("missing", "different"))
    if len(columns) > _MOST_COLUMNS:
        click.echo(f"and {len(columns) - _MOST_COLUMNS} more columns (all of them with --json)")


# So many columns of a file are shown.
_MOST_COLUMNS = 60


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    if isinstance(value, list):
        return ", ".join(one if isinstance(one, str) else f"{one:g}" for one in value)
    return str(value)
