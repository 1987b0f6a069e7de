"""`cfo-bench prepare`: fetch data in advance, so that runs need no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cfo_bench.terminal.command_options import suite_names, task_names, task_places
from cfo_bench.terminal.printing import print_text

if TYPE_CHECKING:
    from cfo_bench.records import DataRef


@click.command(short_help="Fetch the data of tasks in advance.")
@click.argument("files", nargs=-1, metavar="[FILE.yaml]...", shell_complete=suite_names)
@click.option(
    "--task",
    "names",
    multiple=True,
    metavar="NAME",
    shell_complete=task_names,
    help="A task, or openml-suite:ID for all tasks of an OpenML suite; can be repeated.",
)
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="All tasks that have these tags, such as paper."
)
@task_places
@click.option("--offline", is_flag=True, help="Never use the network: store what is in the caches.")
def prepare(
    files: Sequence[str],
    names: Sequence[str],
    tags: Sequence[str],
    data_dir: Path | None,
    tables: Sequence[Path],
    offline: bool,
) -> int:
    """Fetch the data of tasks, check it and store it. FILE is a suite, or a YAML list of task names.

    Stored tasks are not fetched again: after a failure, run the same command to continue. The store can be
    copied to a machine without a network.
    """
    from dataclasses import replace

    from cfo_bench.errors import CfoBenchError, UserError
    from cfo_bench.suite.choices import Pick
    from cfo_bench.suite.expansion import selected
    from cfo_bench.suite.file import find, read_tasks
    from cfo_bench.suite.model import Suite
    from cfo_bench.tasks import store

    picks = (*map(Pick, names), *([Pick(tags=tuple(tags))] if tags else []))
    suites = [Suite(tasks=picks), *(read_tasks(find(file)) for file in files)]
    if data_dir is not None:
        suites = [replace(suite, data_dir=data_dir) for suite in suites]
    if tables:
        suites = [replace(suite, task_tables=tuple(tables)) for suite in suites]
    refs = {ref.task: ref for suite in suites for ref in selected(suite, offline)}
    if not refs:
        raise UserError(
            "nothing to prepare: give --task, a suite or a YAML list of names, or --tag paper for the paper's"
        )
    missing = []
    for number, (task, ref) in enumerate(refs.items(), start=1):
        head = f"[{number:{len(str(len(refs)))}}/{len(refs)}] {task}"
        try:
            print_text(f"{head}: {_prepared(ref, head)}", err=False)
        except CfoBenchError as error:
            missing.append(task)
            print_text(f"{head}: MISSING: {error}")
    print_text(
        f"{len(refs) - len(missing)} of {len(refs)} tasks are on this machine; the store is {store.root()}",
        err=False,
    )
    if missing:
        print_text(f"missing: {', '.join(missing)}; run the same command again to continue")
    return 1 if missing else 0


def _prepared(ref: DataRef, head: str) -> str:
    """Fetch a task if necessary, and describe it in a line."""
    from cfo_bench import tasks

    if not ref.origins:
        facts = tasks.inspect(ref, 2)
        return f"{facts.source}, {facts.n_rows} rows × {facts.n_features} features"
    was_stored = tasks.is_stored(ref)
    stored = tasks.obtain(ref, say=lambda text: print_text(f"{head}: {text}"))
    return f"{_description(stored.about)}, {'stored already' if was_stored else 'stored'}"


def _description(about: Mapping[str, Any]) -> str:
    parts = [
        about["source"],
        f"from {about['obtained']}",
        f"{about['rows']} rows × {about['features']} features",
    ]
    if about["n_folds"]:
        parts.append(f"{about['n_folds']} official fold{'s' * (about['n_folds'] != 1)}")
    elif about["folds_unused"]:
        parts.append(f"official splits not used: {about['folds_unused']}")
    if about["md5"]:
        parts.append("MD5 matches")
    return ", ".join(parts)
