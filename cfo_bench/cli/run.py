"""`cfo-bench run`: the product of tasks, methods and folds, each as one honest run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cfo_bench.cli.run_options import what_to_run
from cfo_bench.terminal import completion


@click.command(short_help="Run methods on tasks and trace every trial.")
@click.argument("suite", required=False, metavar="[SUITE]", shell_complete=completion.suites)
@what_to_run
@click.option("--offline", is_flag=True, help="Never touch the network.  [default: $CFO_BENCH_OFFLINE]")
@click.option("--force", is_flag=True, help="Run again what is there already.")
@click.option(
    "--oversubscribe", is_flag=True, help="Take more cores and memory than this machine has, if asked to."
)
@click.option(
    "--only", multiple=True, metavar="RUN", help="Only the run of this id (see --list); give several for all."
)
@click.option("--shard", metavar="K/N", help="Only every N-th run from the K-th, as in 3/20.")
@click.option("--list", "list_runs", is_flag=True, help="Print the ids of the runs, one a line; run none.")
@click.option("--dry-run", is_flag=True, help="Print the runs and what they take; run none, load no data.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the summary as JSON on stdout, all else on stderr."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress; only what went wrong, and the summary.")
def run(
    suite: str | None,
    data_file: Path | None,
    target: str | None,
    problem: str | None,
    options: Sequence[str],
    learner_options: Sequence[str],
    offline: bool,
    force: bool,
    oversubscribe: bool,
    only: Sequence[str],
    shard: str | None,
    list_runs: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    **keys: Any,
) -> int:
    """Run methods on tasks, each for the same seconds on every fold, and trace every trial.

    SUITE is a YAML file that says all of it (see docs/suites.md), or the name of one that comes with
    cfo-bench, such as smoke; an option takes the place of what the file says.

    A run that is there already is not run again; one that was cut off goes on where it stood.
    """
    from cfo_bench.cli import asking, running
    from cfo_bench.cli.options import parse_options
    from cfo_bench.run_id import run_id
    from cfo_bench.suite import expansion
    from cfo_bench.suite.options import learner_options as options_of_learners
    from cfo_bench.suite.options import method_options

    part = expansion.parse_shard(shard) if shard is not None else None
    asked = asking.suite_of(suite, {**keys, "data_file": data_file, "oversubscribe": oversubscribe})
    data = expansion.data_of(asked, data_file, target, problem, offline)
    methods = method_options(asked.methods, parse_options(options), asked.parallel)
    learners = options_of_learners(asked.learners, parse_options(learner_options))
    specs = expansion.specs_of(asked, learners, methods, data)
    if only:
        wanted = expansion.tasks_of(only, specs)
        data = {task: ref for task, ref in data.items() if task in wanted}
    if dry_run or list_runs:
        running.warn_of_unknown_folds(asked, data)
    else:
        running.fetch_missing(data, quiet)
    specs = expansion.narrowed(expansion.specs_of(asked, learners, methods, data), only, part)
    if list_runs:
        running.check(asked, specs)
        click.echo("".join(f"{run_id(spec)}\n" for spec in specs), nl=False)
        return 0
    if dry_run:
        running.print_runs(asked, specs, data)
        return 0
    if not specs:
        click.echo(f"--shard {shard}: there are not so many runs, and none is left for this one", err=True)
        return 0
    return running.run_all(asked, specs, data, force, oversubscribe, as_json, quiet)
