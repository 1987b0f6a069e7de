"""Performance over time: curves of the mean best loss, for each task, for six chosen, and for all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cfo_bench.report.contents import CellValue, Figure, Section, Table
from cfo_bench.report.looks import in_order
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.rendering import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

LOSS_OF = {"auc": "1 − AUC", "log_loss": "log-loss", "r2": "1 − r2"}

# The six tasks in the paper's main text: small ones, then large ones; binary, multiclass, regression.
_CHOSEN = (
    ("christine", "binary", "small"),
    ("car", "multiclass", "small"),
    ("house16h", "regression", "small"),
    ("adult", "binary", "large"),
    ("shuttle", "multiclass", "large"),
    ("poker", "regression", "large"),
)
_SHEET = 12

# A loss that falls by more than this factor is shown on a log axis.
_LOG_RANGE = 20.0


def section(results: LearnerResults) -> Section:
    curves = {task.task: curve_table(results, task) for task in results.scores}
    titles = {task.task: f"{task.task}, loss = {LOSS_OF[task.metric]}" for task in results.scores}

    def figure(name: str, title: str, tasks: Sequence[str], columns: int) -> Figure:
        tables = tuple(curves[task] for task in tasks)
        note = "Lines are means over folds of the best loss so far, shades their 95 % confidence intervals."
        drawing = partial(draw, tables, tuple(titles[task] for task in tasks), columns)
        return Figure(name, title, note, tables, drawing)

    drawn = [task.task for task in results.scores if curves[task.task].rows]
    figures = []
    if len(drawn) > 1:
        figures.append(figure("performance", "Performance over time", chosen_tasks(results, drawn), 3))
    if len(drawn) > len(_CHOSEN):
        sheets = [drawn[at : at + _SHEET] for at in range(0, len(drawn), _SHEET)]
        figures += [
            figure(f"performance-sheet-{i}", f"Performance over time ({i}/{len(sheets)})", sheet, 3)
            for i, sheet in enumerate(sheets, start=1)
        ]
    figures += [figure(curves_name(task), titles[task], [task], 1) for task in drawn]
    return Section(
        "performance",
        "Performance over time",
        "The mean over folds of the best loss so far, from the moment when every fold has one.",
        figures=tuple(figures),
        warnings=tuple(
            f"{task.task}: one run a method, so no confidence interval"
            for task in results.scores
            if len(task.shared) == 1
        ),
    )


def curves_name(task: str) -> str:
    """The name of the figure, and of the table, of a task's curves."""
    return f"curves-{task}"


def curve_table(results: LearnerResults, task: TaskScores) -> Table:
    """The points of a task's curves, as many as can be seen. A curve ends when the task's last run does."""
    runs = [one for (name, _), found in results.compared.items() if name == task.task for one in found]
    end = min(task.budget_seconds, max((one.elapsed for one in runs), default=0.0))
    rows: list[list[CellValue]] = []
    for method in results.methods:
        found = task.methods.get(method)
        if found is None or found.curve is None:
            continue
        thin = found.curve.thinned()
        points = list(zip(thin.seconds, thin.mean, thin.low, thin.high, strict=True))
        if points[-1][0] < end:
            points.append((end, *points[-1][1:]))
        rows += [
            [task.task, method, float(seconds), float(mean), *_band(low, high), thin.n_folds]
            for seconds, mean, low, high in points
        ]
    return Table(
        curves_name(task.task),
        f"Curves of {task.task}",
        f"From `seconds` on the mean over runs of the best loss so far ({LOSS_OF[task.metric]}) is "
        "`mean_loss`; ci_low and ci_high bound its 95 % confidence interval (Student's t over runs).",
        ("task", "method", "seconds", "mean_loss", "ci_low", "ci_high", "runs"),
        rows,
    )


def _band(low: float, high: float) -> tuple[float | None, float | None]:
    return (None, None) if np.isnan(low) else (float(low), float(high))


def chosen_tasks(results: LearnerResults, tasks: Sequence[str]) -> list[str]:
    """The paper's six; in place of one that is missing, the smallest or largest of its kind, else any."""
    about = {one.task: (one.problem, one.header["data"].get("rows") or 0) for one in results.digests}
    by_key = {re.sub("[^a-z0-9]", "", task.lower()): task for task in tasks}
    slots: list[str | None] = [by_key.get(key) for key, _, _ in _CHOSEN]
    for at, (_, problem, size) in enumerate(_CHOSEN):
        if slots[at] is None:
            free = [task for task in tasks if task not in slots and about[task][0] == problem]
            free.sort(key=lambda task: (about[task][1], task), reverse=size == "large")
            slots[at] = next(iter(free), None)
    rest = iter([task for task in tasks if task not in slots])
    filled = [slot or next(rest, None) for slot in slots]
    return [task for task in filled if task is not None]


def draw(tables: Sequence[Table], titles: Sequence[str], columns: int) -> Canvas:
    columns = min(columns, len(tables))
    rows = -(-len(tables) // columns)
    single = len(tables) == 1
    size = (4.6, 3.4) if single else (style.PAGE / 3 * columns, 1.9 * rows + 0.5)
    canvas = style.canvas(*size)
    for at, (table, title) in enumerate(zip(tables, titles, strict=True)):
        axes = canvas.add_subplot(rows, columns, at + 1)
        _paint(axes, table)
        below = at + columns >= len(tables)
        style.dress(
            axes,
            style.shortened(title, 60 if single else 38),
            "wall-clock seconds" if below else "",
            "loss" if at % columns == 0 else "",
        )
        style.log_ticks(axes.xaxis)
        if axes.get_yscale() == "log":
            style.log_ticks(axes.yaxis)
    methods = in_order({row["method"] for table in tables for row in table.records()})
    style.legend(canvas, [style.line_handle(method) for method in methods], 4 if single else 7)
    return canvas


def _paint(axes: Axes, table: Table) -> None:
    records = table.records()
    axes.set_xscale("log")
    axes.set_xlim(min(row["seconds"] for row in records) / 1.2, max(row["seconds"] for row in records) * 1.2)
    means = [row["mean_loss"] for row in records]
    low, high = min(means), max(means)
    # The limits fit the lines: a band over two or three folds can be wider than all lines together.
    if low > 0 and high / low > _LOG_RANGE:
        axes.set_yscale("log")
        axes.set_ylim(low / 1.6, high * 1.6)
    else:
        margin = 0.12 * (high - low or abs(high) or 1.0)
        axes.set_ylim(low - margin, high + margin)
    for method in in_order({row["method"] for row in records}):
        points = [row for row in records if row["method"] == method]
        seconds = [row["seconds"] for row in points]
        colours = style.line_of(method)
        axes.step(seconds, [row["mean_loss"] for row in points], where="post", **colours)
        if points[0]["ci_low"] is not None:
            low, high = ([row[name] for row in points] for name in ("ci_low", "ci_high"))
            axes.fill_between(
                seconds, low, high, step="post", color=colours["color"], alpha=0.15, linewidth=0
            )
