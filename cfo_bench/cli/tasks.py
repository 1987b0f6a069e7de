"""`cfo-bench tasks`: list the tasks, and describe one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cfo_bench.terminal.command_options import own_data, task_names, task_places
from cfo_bench.terminal.printing import print_text, show, show_json

# At most this many columns of a file are printed.
_MAX_COLUMNS = 60


@click.group(invoke_without_command=True, short_help="List the tasks, or show one.")
@task_places
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
    """List the tasks that have a name, one per line, and whether their data is on this machine.

    Tasks can also be named as openml:ID, openml-data:ID, openml-suite:ID or pmlb:NAME.
    """
    if ctx.invoked_subcommand is not None:
        return
    from dataclasses import asdict

    from cfo_bench.tasks import listing

    rows = [
        row
        for row in listing(data_dir, tables)
        if set(tags) <= set(row.tags) and (row.here is not None or not here)
    ]
    if as_json:
        show_json([asdict(row) for row in rows])
    elif not rows:
        print_text("no task matches the options")
    else:
        table = [
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
        ]
        show(table, right=("rows", "features"))


@tasks.command("show", short_help="Describe a task's data, or how a file is interpreted.")
@click.argument("name", required=False, shell_complete=task_names)
@own_data
@task_places
@click.option(
    "--n-folds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Split the data into N folds, in place of the official ones.",
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
    **file_options: Any,
) -> None:
    """Describe a task's data: sizes, types, missing values, classes, folds, source and licence.

    With --data, describe your own file, with a line for each column; --target may be left out.
    """
    from cfo_bench.suite.expansion import own_data
    from cfo_bench.suite.model import Suite
    from cfo_bench.tasks import resolve
    from cfo_bench.tasks.details import COLUMNS, details, details_of_file

    suite = Suite(**{key: value for key, value in file_options.items() if value not in (None, ())})
    if (name is None) == (suite.data_file is None):
        raise click.UsageError("give the NAME of a task, or your own file with --data")
    if suite.data_file is not None and suite.target is None:
        facts = details_of_file(suite.data_file, suite.drop)
    elif name is None:
        [ref] = own_data(suite)
        facts = details(ref, n_folds)
    else:
        own_data(suite)  # refuses the options of --data, which is not given
        facts = details(resolve(name, data_dir, tables, offline), n_folds)
    if as_json:
        show_json(facts)
        return
    columns = facts.pop(COLUMNS, [])
    width = max(map(len, facts))
    for key, value in facts.items():
        if value not in (None, []):
            print_text(f"{key.replace('_', ' '):{width}}  {_text(value)}", err=False)
    if columns:
        print_text("", err=False)
        show(columns[:_MAX_COLUMNS], right=("missing", "different"))
    if len(columns) > _MAX_COLUMNS:
        print_text(f"and {len(columns) - _MAX_COLUMNS} more columns (all of them with --json)", err=False)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    if isinstance(value, list):
        return ", ".join(item if isinstance(item, str) else f"{item:g}" for item in value)
    return str(value)
