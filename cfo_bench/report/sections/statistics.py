"""Is a method better by more than chance? Ranks over time, critical differences, tests of every pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.contents import CellValue, Figure, Section, Table
from cfo_bench.report.looks import in_order, look
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.numbers.significance import (
    FEWEST_TASKS,
    LEVEL,
    cliques,
    critical_difference,
    friedman,
    pairwise,
    ranks,
)
from cfo_bench.report.rendering import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_MOMENTS = 60
_FIRST_SHARE = 1e-4


def section(results: LearnerResults) -> Section:
    methods = results.methods
    tasks = [task for task in results.scores if set(task.methods) >= set(methods)]
    warnings = []
    if len(tasks) < len(results.scores):
        names = [task.task for task in results.scores if task not in tasks]
        warnings.append(f"left out, as not every method was run there: {', '.join(names)}")
    title, intro = (
        "Statistics",
        "The unit is the task: one number a method and task, the mean over folds. A method without a result "
        "ranks last, and counts with a score of 0, the constant predictor's.",
    )
    if len(methods) < 2 or len(tasks) < FEWEST_TASKS:
        why = (
            f"{len(methods)} method{'s' * (len(methods) != 1)}"
            if len(methods) < 2
            else f"{len(tasks)} task{'s' * (len(tasks) != 1)} with every method"
        )
        warnings.append(
            f"no statistics: {why}, and it takes two methods and {FEWEST_TASKS} tasks to tell a difference "
            "from chance"
        )
        return Section("statistics", title, intro, warnings=tuple(warnings))
    imputed = [
        f"{task.task} {method}"
        for task in tasks
        for method in methods
        if task.methods[method].final_loss is None
    ]
    if imputed:
        warnings.append(f"imputed as last, with a score of 0: {', '.join(imputed)}")
    over_time = _over_time(tasks, methods)
    final = ranks(np.array([[_number(task.methods[m].final_loss) for m in methods] for task in tasks]))
    difference = critical_difference(len(tasks), len(methods))
    mean_ranks = _mean_ranks(methods, final, difference)
    figures = [
        Figure(
            "ranks-over-time",
            "Mean rank over time",
            f"Mean over {len(tasks)} tasks of the rank of the mean loss so far; 1 is best. Methods without a "
            "loss yet share the last place.",
            (over_time,),
            partial(draw_ranks, over_time),
        )
    ]
    test = friedman(final)
    rows: list[list[CellValue]] = []
    if test is None:
        warnings.append("no Friedman test: it takes three methods")
    else:
        rows.append(["Friedman", "task", test.tasks, test.methods, test.statistic, test.p, test.p < LEVEL])
        rows.append(
            ["Nemenyi, critical difference", "task", len(tasks), len(methods), difference, None, None]
        )
        figures.append(
            Figure(
                "critical-difference",
                "Critical differences of the mean ranks",
                f"Nemenyi's test at 5 % over {len(tasks)} tasks: methods under one bar don't differ. "
                f"Friedman's p = {test.p:.2g}.",
                (mean_ranks,),
                partial(draw_differences, mean_ranks),
            )
        )
    tests = Table(
        "tests",
        "All methods at once",
        "Friedman's χ² over the final mean ranks, with its p; the critical difference of Nemenyi at 5 %.",
        ("test", "unit", "tasks", "methods", "value", "p", "significant"),
        rows,
    )
    return Section(
        "statistics",
        title,
        intro,
        tables=(mean_ranks, tests, _pairs(tasks, methods), over_time),
        figures=tuple(figures),
        warnings=tuple(warnings),
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _over_time(tasks: Sequence[TaskScores], methods: Sequence[str]) -> Table:
    curves = [[task.methods[method].curve for method in methods] for task in tasks]
    begin = min(
        (
            float(curve.seconds[0]) / task.budget_seconds
            for task, row in zip(tasks, curves, strict=True)
            for curve in row
            if curve is not None
        ),
        default=_FIRST_SHARE,
    )
    rows: list[list[CellValue]] = []
    for share in np.geomspace(min(max(begin, _FIRST_SHARE), 0.5), 1.0, _MOMENTS):
        losses = np.array(
            [
                [math.nan if curve is None else curve.at(share * task.budget_seconds) for curve in row]
                for task, row in zip(tasks, curves, strict=True)
            ]
        )
        means = ranks(losses).mean(axis=0)
        rows += [[float(share), method, float(mean)] for method, mean in zip(methods, means, strict=True)]
    return Table(
        "ranks-over-time",
        "Mean rank over time",
        f"One row a moment (share of the budget) and method: mean over {len(tasks)} tasks of the rank of the "
        "mean loss so far.",
        ("share", "method", "mean_rank"),
        rows,
    )


def _mean_ranks(methods: Sequence[str], final: Array, difference: float) -> Table:
    means = final.mean(axis=0)
    order = sorted(range(len(methods)), key=lambda i: (means[i], methods[i]))
    return Table(
        "mean-ranks",
        "Final mean ranks",
        f"One row a method, over {len(final)} tasks: mean rank of its final mean loss, the tasks on which it "
        "is first (ties count), and the critical difference at 5 %.",
        ("method", "mean_rank", "first", "tasks", "critical_difference"),
        [
            [
                methods[i],
                float(means[i]),
                int((final[:, i] == final.min(axis=1)).sum()),
                len(final),
                difference,
            ]
            for i in order
        ],
    )


def _pairs(tasks: Sequence[TaskScores], methods: Sequence[str]) -> Table:
    scores = np.array([[task.methods[method].final_score or 0.0 for method in methods] for task in tasks])
    return Table(
        "pairs",
        "Every pair of methods",
        f"One row a pair, over {len(tasks)} tasks: tasks on which the first is better, worse, equal; the "
        "median difference of their scaled scores; p of Wilcoxon's signed-rank test, and corrected by Holm "
        "for all pairs.",
        (
            *("method", "other", "better", "worse", "equal", "median_difference"),
            *("p", "p_holm", "significant"),
        ),
        [
            [
                *(pair.one, pair.other, pair.wins, pair.losses, pair.ties, pair.median_difference),
                *(pair.p, pair.p_holm, pair.p_holm < LEVEL),
            ]
            for pair in pairwise(scores, methods)
        ],
    )


def draw_ranks(table: Table) -> Canvas:
    canvas = style.canvas(style.COLUMN + 0.6, 2.7)
    axes = canvas.add_subplot()
    axes.set_xscale("log")
    records = table.records()
    methods = in_order({row["method"] for row in records})
    for method in methods:
        points = [row for row in records if row["method"] == method]
        x, y = ([row[name] for row in points] for name in ("share", "mean_rank"))
        axes.step(x, y, where="post", **style.line_of(method))
    axes.invert_yaxis()
    style.dress(axes, x="elapsed share of the budget", y="mean rank (1 is best)")
    style.log_ticks(axes.xaxis)
    style.legend(canvas, [style.line_handle(method) for method in methods], 4)
    return canvas


def draw_differences(table: Table) -> Canvas:
    """Demšar's diagram: mean ranks on a line, names below, and bars under groups that don't differ."""
    records = table.records()
    means = [row["mean_rank"] for row in records]
    difference = records[0]["critical_difference"]
    n = len(records)
    bars = cliques(means, difference)
    half = (n + 1) // 2
    depth = 0.35 + 0.25 * len(bars)
    canvas = style.canvas(style.COLUMN + 0.6, 0.75 + 0.22 * (half + len(bars)))
    axes = canvas.add_subplot()
    low, high = 1.0, float(n)
    margin = 0.42 * (high - low)
    axes.set_xlim(low - margin, high + margin)
    axes.set_ylim(depth + 0.45 * half + 0.1, -1.35)
    axes.axis("off")
    ink: dict[str, Any] = {"color": style.INK, "linewidth": 0.8}
    axes.plot([low, high], [0, 0], **ink)
    for rank in range(1, n + 1):
        axes.plot([rank, rank], [0, -0.14], **ink)
        axes.text(rank, -0.24, f"{rank}", ha="center", va="bottom", fontsize=style.SMALL, color=style.INK)
    shown = min(difference, high - low)
    axes.plot([low, low + shown], [-0.95, -0.95], color=style.INK, linewidth=1.6)
    axes.text(
        low + shown / 2,
        -1.03,
        f"CD = {difference:.2f}",
        ha="center",
        va="bottom",
        fontsize=style.SMALL,
        color=style.INK,
    )
    for at, row in enumerate(records):
        left = at < half
        height = depth + 0.45 * (at if left else n - 1 - at) + 0.2
        side = low - 0.04 * margin if left else high + 0.04 * margin
        found = look(row["method"])
        axes.plot([means[at], means[at], side], [0, height, height], color=found.colour, linewidth=1.0)
        label = style.plain(style.shortened(found.label, 14))
        text = f"{label} {means[at]:.2f}" if left else f"{means[at]:.2f} {label}"
        axes.text(
            side + (-0.02 if left else 0.02) * margin,
            height,
            text,
            ha="right" if left else "left",
            va="center",
            fontsize=style.SMALL,
            color=style.INK,
        )
    for level, (first, last) in enumerate(bars):
        height = 0.2 + 0.25 * level
        axes.plot([means[first] - 0.03, means[last] + 0.03], [height, height], color=style.INK, linewidth=2.6)
    return canvas
