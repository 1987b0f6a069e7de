"""`cfo-bench merge`: results folders of several machines in one."""

from __future__ import annotations

from pathlib import Path

import click

from cfo_bench.terminal.printing import counted, one_line, print_text

# At most this many conflicts are listed; the others are counted.
_MAX_CONFLICTS = 20


@click.command(short_help="Combine the results of several machines.")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder to write to: a new folder or a results folder.",
)
@click.option("--skip-running", is_flag=True, help="Leave out runs that are still running.")
def merge(folders: tuple[Path, ...], out: Path, skip_running: bool) -> None:
    """Combine the runs of the results FOLDERS in one folder.

    If a run is in several folders, the copy with the most trials is taken. If the copies of a run contradict
    each other, or the data of a task differs, all conflicts are listed and nothing is written.
    """
    from cfo_bench.results.merge import MergeConflict
    from cfo_bench.results.merge import merge as merge_folders
    from cfo_bench.run.page import LivePage

    try:
        merged = merge_folders(folders, out, lambda page: LivePage.left_behind(page).evaluated, skip_running)
    except MergeConflict as error:
        for line in error.conflicts[:_MAX_CONFLICTS]:
            print_text(f"  {one_line(line)}")
        if len(error.conflicts) > _MAX_CONFLICTS:
            print_text(f"  and {len(error.conflicts) - _MAX_CONFLICTS} more")
        raise
    for line in [*merged.notes, *merged.warnings]:
        print_text(f"  {one_line(line)}")
    copied = "".join(f", {n} from {folder}" for folder, n in sorted(merged.copied.items()))
    total = merged.copied.total() + merged.there_before
    before = f", {merged.there_before} already there" if merged.there_before else ""
    print_text(f"{out}: {counted(total, 'run')}{before}{copied}", err=False)
