"""Sheets of dots with a plot for each task: final scores, and differences to the baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cfo_bench.metrics import METRIC_BOUNDS, METRIC_NAMES, METRICS
from cfo_bench.report.contents import Figure, Table
from cfo_bench.report.looks import in_order
from cfo_bench.report.numbers.significance import in_words
from cfo_bench.report.rendering.charts import FEWEST_FOR_A_BAND, Dot, Plot, dot_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_BOUNDS = {METRIC_NAMES[metric]: bounds for metric, bounds in METRIC_BOUNDS.items()}
_LOWER_IS_BETTER = {METRIC_NAMES[one.name] for one in METRICS.values() if not one.higher_is_better}

# Tasks on one sheet; references drawn for one task, the best of them.
_SHEET = 9
MOST_REFERENCES = 3


def sheets(
    name: str, title: str, caption: str, means: Table, folds: Table, others: Table | None = None
) -> list[Figure]:
    """A dot for each row of `means`: the value in the last column of `folds`, which has it for each fold."""
    tasks = list(dict.fromkeys(str(row[0]) for row in means.rows))
    every = [tasks[at : at + _SHEET] for at in range(0, len(tasks), _SHEET)]
    found = []
    for i, sheet in enumerate(every, start=1):
        number = f"-{i}" if len(every) > 1 else ""
        own, each = _only(means, sheet, number), _only(folds, sheet, number)
        beside = _only(others, sheet, number) if others is not None and others.rows else None
        found.append(
            Figure(
                f"{name}{number}",
                title + (f" ({i}/{len(every)})" if number else ""),
                caption,
                (own, each) if beside is None or not beside.rows else (own, each, beside),
                partial(draw, own, each, beside),
                alt=_in_words(own, folds.columns[-1]),
            )
        )
    return found


def _in_words(means: Table, column: str) -> str:
    """The best of each task, for the text alternative: all means would be thousands of letters."""
    by_task: dict[str, list[dict[str, Any]]] = {}
    for row in means.records():
        by_task.setdefault(row["task"], []).append(row)
    found = []
    for task, rows in by_task.items():
        is_low = column == "score" and rows[0]["metric"] in _LOWER_IS_BETTER
        best = (min if is_low else max)(row[column] for row in rows)
        names = in_words([row["method"] for row in rows if row[column] == best])
        found.append(f"{task} {names} {best:.4g}")
    return f"Dots for each task and method. The best {column} of each task: {'; '.join(found)}."


def _only(table: Table, tasks: Sequence[str], number: str) -> Table:
    rows = [row for row in table.rows if row[0] in tasks]
    return Table(f"{table.name}{number}", table.title, table.note, table.columns, rows)


def draw(means: Table, folds: Table, others: Table | None = None) -> Canvas:
    """One plot for each task."""
    column = folds.columns[-1]
    is_difference = column == "difference"
    lines: dict[str, list[tuple[float, str]]] = {}
    for row in others.records() if others else ():
        if row["score"] is not None and len(lines.setdefault(row["task"], [])) < MOST_REFERENCES:
            lines[row["task"]].append((row["score"], row["label"]))
    each: dict[tuple[str, str], list[float]] = {}
    for row in folds.records():
        each.setdefault((row["task"], row["method"]), []).append(row[column])
    by_task: dict[str, list[dict[str, Any]]] = {}
    for row in means.records():
        by_task.setdefault(row["task"], []).append(row)

    def dot(row: Mapping[str, Any]) -> Dot:
        own = each.get((row["task"], row["method"]), ())
        if len(own) < FEWEST_FOR_A_BAND:
            return Dot(row["method"], row[column], each=own)
        return Dot(row["method"], row[column], row["ci_low"], row["ci_high"])

    plots = [
        Plot(
            title=task,
            axis=f"difference of {rows[0]['metric']}"
            if is_difference
            else f"{rows[0]['metric']} ({rows[0]['score_is']})",
            dots=[dot(row) for row in rows],
            lines=lines.get(task, ()),
            mark=0.0 if is_difference else None,
            reverse=not is_difference and rows[0]["metric"] in _LOWER_IS_BETTER,
            bounds=(-math.inf, math.inf) if is_difference else _BOUNDS[rows[0]["metric"]],
        )
        for task, rows in by_task.items()
    ]
    return dot_sheet(plots, in_order({str(row["method"]) for row in means.records()}))
