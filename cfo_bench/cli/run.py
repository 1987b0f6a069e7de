"""`cfo-bench run`: run every combination of tasks, methods and folds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cfo_bench.terminal.command_options import GroupedCommand, suite_names, suite_of, what_to_run
from cfo_bench.terminal.printing import print_text

if TYPE_CHECKING:
    from cfo_bench.engines.suite_runs import SuiteRuns

# At most this many commands of a dry run are printed on a terminal.
_MAX_COMMANDS = 10


@click.command(cls=GroupedCommand, short_help="Run methods on tasks and record every trial.")
@click.argument("suite", required=False, metavar="[SUITE]", shell_complete=suite_names)
@what_to_run
@click.option("--offline", is_flag=True, help="Never use the network.  [default: $CFO_BENCH_OFFLINE]")
@click.option("--force", is_flag=True, help="Run finished runs again; a copy of each old trace is kept.")
@click.option(
    "--oversubscribe",
    is_flag=True,
    default=None,
    help="Let the runs use more cores and memory than this machine has.",
)
@click.option(
    "--only", multiple=True, metavar="RUN", help="Only the run with this id (see --list); can be repeated."
)
@click.option("--shard", metavar="K/N", help="Run only every N-th run, starting with the K-th, as in 3/20.")
@click.option("--list", "list_runs", is_flag=True, help="Print the ids of the runs without running them.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the runs and their total time, without running them or loading data.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print the summary as JSON on stdout, everything else on stderr."
)
@click.option("-q", "--quiet", is_flag=True, help="Print no progress, only errors and the summary.")
def run(
    suite: str | None,
    options: Sequence[str],
    learner_options: Sequence[str],
    offline: bool,
    force: bool,
    only: Sequence[str],
    shard: str | None,
    list_runs: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    **keys: Any,
) -> int:
    """Run methods on tasks. Every method gets the same time on every fold, and every trial is recorded.

    SUITE is a YAML file with all settings (see docs/suites.md), or the name of a suite that comes with
    cfo-bench, such as smoke. An option on the command line replaces the setting in the file.

    A finished run is skipped, and an interrupted one is resumed. A run that finished with a shorter budget,
    or with fewer trials, is resumed where it ended.
    """
    from cfo_bench.engines import scheduling
    from cfo_bench.engines.suite_runs import run_suite, runs_of
    from cfo_bench.results.summary import comparable_traces
    from cfo_bench.suite.choices import parse_options
    from cfo_bench.suite.expansion import parse_shard
    from cfo_bench.terminal.progress import progress
    from cfo_bench.terminal.summary_table import print_summary

    scheduling.exits_at_once = True
    chosen = suite_of(suite, keys)
    is_preview = dry_run or list_runs
    with progress(quiet or is_preview) as show:
        runs = runs_of(
            chosen,
            options=parse_options(options),
            learner_options=parse_options(learner_options),
            only=only,
            shard=parse_shard(shard) if shard is not None else None,
            offline=offline,
            fetch=not is_preview,
            import_files=not is_preview,
            on_event=show,
        )
        if is_preview:
            _preview(runs, list_runs, force)
            return 0
        if not runs.specs:
            print_text(f"--shard {shard}: the suite has fewer runs, and none is left for this shard")
            return 0
        outcome = run_suite(runs, force=force, on_event=show)
    limits = runs.specs[0].limits  # all runs of a suite have the same limits
    earlier = comparable_traces(chosen.results, outcome.traces, limits)
    print_summary(outcome.traces, chosen.results, as_json, quiet, limits, earlier)
    return outcome.exit_code


def _preview(runs: SuiteRuns, list_runs: bool, force: bool) -> None:
    """Print the runs: their ids, or their commands and cost. Nothing is fetched or run."""
    from cfo_bench.records import run_id

    traits = runs.check()
    existing = "" if force else runs.there_before(traits)
    absent = runs.without_data
    if absent and runs.suite.n_folds is None:  # they are counted with the default number of folds
        print_text(
            f"{len(absent)} of {len(runs.data)} tasks are not on this machine yet, and may have other folds "
            f"than counted here: cfo-bench prepare fetches them (the first is {absent[0]})"
        )
    if list_runs:
        print_text("".join(f"{run_id(spec)}\n" for spec in runs.specs), nl=False, err=False)
        return
    commands = runs.commands()
    hidden = commands[_MAX_COMMANDS:] if sys.stdout.isatty() else []
    shown = commands[: len(commands) - len(hidden)]
    print_text("".join(f"{command}\n" for command in shown), nl=False, err=False)
    if hidden:
        print_text(f"and {len(hidden)} more commands: to see all of them, append | less")
    print_text(runs.price())
    if existing:
        print_text(existing)
