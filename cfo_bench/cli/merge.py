"""`cfo-bench merge`: results folders of several machines in one."""

from __future__ import annotations

from pathlib import Path

import click

# Conflicts that are listed one by one, before the rest is only counted.
_AT_MOST = 20


@click.command(short_help="Put the results of several machines together.")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder to write to: a new one, or one that has results.",
)
@click.option("--skip-running", is_flag=True, help="Leave out runs that are still running.")
def merge(folders: tuple[Path, ...], out: Path, skip_running: bool) -> None:
    """Put the runs of the results FOLDERS together in one.

    A run that several folders have is taken from the one that has most of it. Where two contradict each
    other, in a run or in the data of a task, everything that does is listed and nothing is written.
    """
    from cfo_bench.results.merge import MergeConflict
    from cfo_bench.results.merge import merge as put_together
    from cfo_bench.run.page import LivePage
    from cfo_bench.terminal.tables import one_line, say

    try:
        merged = put_together(folders, out, lambda page: LivePage.left_behind(page).evaluated, skip_running)
    except MergeConflict as error:
        for line in error.conflicts[:_AT_MOST]:
            say(f"  {one_line(line)}")
        if len(error.conflicts) > _AT_MOST:
            say(f"  and {len(error.conflicts) - _AT_MOST} more")
        raise
    for line in [*merged.notes, *merged.warnings]:
        say(f"  {one_line(line)}")
    came = "".join(f", {n} from {folder}" for folder, n in sorted(merged.copied.items()))
    total = merged.copied.total() + merged.there_before
    before = f", {merged.there_before} there before" if merged.there_before else ""
    say(f"{out}: {total} run{'s' * (total != 1)}{before}{came}", err=False)
