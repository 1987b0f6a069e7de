"""The table at the end of a batch of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from cfo_bench.metrics import METRICS
from cfo_bench.records import RunLimits
from cfo_bench.registry import label
from cfo_bench.results.round_trips import RoundTrips
from cfo_bench.results.summary import SummaryRow, summarise
from cfo_bench.terminal.tables import show_json, show_table
from cfo_bench.terminal.text import say

_COLUMNS = ("task", "method", "folds", "metric", "validation score", "time to it", "trials", "overhead")
_NUMBERS = (2, 4, 5, 6, 7)


def print_summary(
    paths: Sequence[Path], results: Path, as_json: bool, quiet: bool, limits: RunLimits | None = None
) -> None:
    """The table on stdout; or JSON there, and the table on stderr unless quiet.

    Runs that went on for longer than the `limits` are shown as they were then.
    """
    rows = summarise(paths, limits)
    if as_json:
        show_json([asdict(row) for row in rows])
    if rows and not (as_json and quiet):
        click.echo("" if quiet else "\n", nl=False, err=True)
        columns = (*_COLUMNS[:4], _score_column(rows), *_COLUMNS[5:])
        # The learner is a column only if there are several.
        if len({row.learner for row in rows}) > 1:
            cells = [[label(row.learner), *_cells(row)] for row in rows]
            show_table(("learner", *columns), cells, [column + 1 for column in _NUMBERS], err=as_json)
        else:
            show_table(columns, [_cells(row) for row in rows], _NUMBERS, err=as_json)
    if rows and not quiet:
        say(f"\n{_explained(rows)}\n\ntraces in {results}")


def _score_column(rows: Sequence[SummaryRow]) -> str:
    tested = {row.test_score_mean is not None for row in rows}
    return "best score" if len(tested) > 1 else "test score" if True in tested else _COLUMNS[4]


def _cells(row: SummaryRow) -> list[str]:
    score = _score(row.score_mean, row.score_sd)
    if row.test_score_mean is not None:
        score = f"test {_score(row.test_score_mean, row.test_score_sd)} (validation {row.score_mean:.4f})"
    folds = f"{row.folds}" if row.runs == row.folds else f"{row.folds} ({row.runs} runs)"
    return [
        row.task,
        row.method,
        folds if not row.unfinished else f"{folds} ({row.unfinished} unfinished)",
        f"{row.metric} {'↑' if METRICS[row.metric].higher_is_better else '↓'}",
        score,
        "" if row.seconds_to_best is None else f"{row.seconds_to_best:.1f} s",
        f"{row.trials:.0f}",
        "" if row.method_share is None else f"{row.method_share:.1%}",
    ]


def _score(mean: float | None, sd: float | None) -> str:
    if mean is None:
        return "none"
    return f"{mean:.4f}" if sd is None else f"{mean:.4f} ± {sd:.4f}"


def _explained(rows: Sequence[SummaryRow]) -> str:
    """What the columns mean, as far as these rows need it."""
    lines = []
    if any(row.test_score_mean is not None for row in rows):
        lines.append("test score: of the best trial, on rows that played no part in choosing it.")
    if any(row.test_score_mean is None for row in rows):
        lines.append("validation score: the best trial was chosen by it, so it is a little too good.")
    if any(row.score_sd is not None for row in rows):
        lines.append("±: standard deviation over folds, after a mean over the seeds of each fold.")
    lines.append("time to it: when the mean score came within 0.05 % of it, and stayed there.")
    lines.append("overhead: share of the time that went to the method itself, not to training.")
    programs = {row.method: row for row in rows if row.round_trip_seconds is not None}
    lines += [
        RoundTrips("", row.round_trip_seconds or 0.0, row.round_trip_share).in_words(method)
        for method, row in programs.items()
    ]
    return "\n".join(lines)
