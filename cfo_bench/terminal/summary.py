"""The table at the end of a batch of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from cfo_bench.metrics import METRICS
from cfo_bench.registry import label
from cfo_bench.results.summary import SummaryRow, summarise
from cfo_bench.terminal.tables import show_json, show_table
from cfo_bench.terminal.text import say

_COLUMNS = ("task", "method", "folds", "metric", "best score", "time to it", "trials", "overhead")
_NUMBERS = (2, 4, 5, 6, 7)


def print_summary(paths: Sequence[Path], results: Path, as_json: bool, quiet: bool) -> None:
    """The table on stdout; or JSON there, and the table on stderr unless quiet."""
    rows = summarise(paths)
    if as_json:
        show_json([asdict(row) for row in rows])
    if rows and not (as_json and quiet):
        click.echo("" if quiet else "\n", nl=False, err=True)
        # Which learner it is goes without saying where there is but one.
        if len({row.learner for row in rows}) > 1:
            cells = [[label(row.learner), *_cells(row)] for row in rows]
            show_table(("learner", *_COLUMNS), cells, [column + 1 for column in _NUMBERS], err=as_json)
        else:
            show_table(_COLUMNS, [_cells(row) for row in rows], _NUMBERS, err=as_json)
    if rows and not quiet:
        say(f"\ntraces in {results}")


def _cells(row: SummaryRow) -> list[str]:
    score = "none" if row.score_mean is None else f"{row.score_mean:.4f}"
    if row.score_sd is not None:
        score += f" ± {row.score_sd:.4f}"
    if row.test_score_mean is not None:
        score += f" (test {row.test_score_mean:.4f})"
    return [
        row.task,
        row.method,
        f"{row.folds}" if not row.unfinished else f"{row.folds} ({row.unfinished} unfinished)",
        f"{row.metric} {'↑' if METRICS[row.metric].higher_is_better else '↓'}",
        score,
        "" if row.seconds_to_best is None else f"{row.seconds_to_best:.1f} s",
        f"{row.trials:.0f}",
        "" if row.method_share is None else f"{row.method_share:.1%}",
    ]
