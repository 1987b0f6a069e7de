"""The best configurations: their cost-related hyperparameters, and how long they take to evaluate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cfo_bench.report.contents import CellValue, Figure, Section, Table
from cfo_bench.report.looks import in_order, look
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.boxes import BOX_COLUMNS, box, is_outlier, paint_boxes

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def section(results: LearnerResults) -> Section:
    names = _cost_related(results)
    best = _best(results, names)
    figures = []
    if names and best.rows:
        histograms = tuple(_cumulative(results, best, name) for name in names)
        figures.append(
            Figure(
                "cost-related-histograms",
                "Cost-related hyperparameters of the best configurations",
                "The share of a method's best configurations, over tasks and folds, with at most this value.",
                histograms,
                partial(draw_histograms, histograms, names),
            )
        )
    if len(names) > 1 and best.rows:
        figures.append(
            Figure(
                "cost-related-scatter",
                f"{names[0]} and {names[1]} of the best configurations",
                "One marker for the best configuration of a run.",
                (best,),
                partial(draw_scatter, best, (names[0], names[1])),
            )
        )
    times = _times(results, best)
    if times.rows:
        figures.append(
            Figure(
                "evaluation-time",
                "Evaluation time of the best configurations",
                "Seconds to fit and validate a run's best configuration, with the method's own in that "
                "iteration; boxes over all runs: quartiles, median, whiskers within 1.5 times the box (of "
                "the logarithm).",
                (times, best),
                partial(draw_times, times, best),
            )
        )
    return Section(
        "configurations",
        "The best configurations",
        "What the methods settle on: how complex it is, and how long it takes to evaluate.",
        tables=(times, best),
        figures=tuple(figures),
    )


def _cost_related(results: LearnerResults) -> list[str]:
    """The learner's cost-related hyperparameters that are numbers, in its order."""
    found = dict.fromkeys(name for one in results.digests for name in one.cost_related)
    configs = [results.steps(one).best_config for runs in results.compared.values() for one in runs]
    return [
        name
        for name in found
        if all(_is_number(config[name]) for config in configs if name in config)
        and any(name in config for config in configs)
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _best(results: LearnerResults, names: Sequence[str]) -> Table:
    rows: list[list[CellValue]] = []
    for (task, method), runs in sorted(results.compared.items()):
        for one in runs:
            steps = results.steps(one)
            if steps.seconds:
                values = [steps.best_config.get(name) for name in names]
                seconds = steps.costs[-1], steps.overheads[-1]
                rows.append([task, method, one.fold, one.seed, *values, *seconds, sum(seconds)])
    return Table(
        "best-configurations",
        "The best configuration of every run",
        "One row a run: the cost-related hyperparameters of its best configuration, the seconds to fit and "
        "validate it, the method's own seconds in that iteration, and their sum.",
        ("task", "method", "fold", "seed", *names, "evaluation_seconds", "method_seconds", "seconds"),
        rows,
    )


def _cumulative(results: LearnerResults, best: Table, name: str) -> Table:
    rows: list[list[CellValue]] = []
    for method in results.methods:
        values = np.array(
            [row[name] for row in best.records() if row["method"] == method and row[name] is not None]
        )
        if len(values):
            different, counts = np.unique(values, return_counts=True)
            shares = np.cumsum(counts) / len(values)
            rows += [
                [method, value.item(), float(share)] for value, share in zip(different, shares, strict=True)
            ]
    return Table(
        f"cumulative-{name}",
        f"Cumulative histogram of {name}",
        f"The share of a method's best configurations (one a run) with at most this {name}.",
        ("method", name, "share"),
        rows,
    )


def _times(results: LearnerResults, best: Table) -> Table:
    rows: list[list[CellValue]] = []
    for method in results.methods:
        seconds = [row["seconds"] for row in best.records() if row["method"] == method and row["seconds"] > 0]
        if seconds:
            logs = box([float(np.log10(value)) for value in seconds])
            rows.append([method, len(seconds), *(10 ** float(value or 0.0) for value in logs)])
    return Table(
        "evaluation-time",
        "Evaluation time of the best configurations",
        "One row a method, seconds over runs: quartiles, whiskers within 1.5 times the box of the logarithm, "
        "and the geometric mean.",
        ("method", "runs", *BOX_COLUMNS[:-1], "geometric_mean"),
        rows,
    )


def draw_histograms(tables: Sequence[Table], names: Sequence[str]) -> Canvas:
    canvas = style.canvas(max(style.COLUMN, style.PAGE / 3 * len(names)), 2.5)
    for at, (table, name) in enumerate(zip(tables, names, strict=True)):
        axes = canvas.add_subplot(1, len(names), at + 1)
        records = table.records()
        right = max(row[name] for row in records)
        wide = min(row[name] for row in records) > 0
        for method in in_order({row["method"] for row in records}):
            points = [row for row in records if row["method"] == method]
            x = [points[0][name], *(row[name] for row in points), right]
            y = [0.0, *(row["share"] for row in points), 1.0]
            axes.step(x, y, where="post", **style.line_of(method))
        if wide:
            axes.set_xscale("log")
        axes.set_ylim(0, 1.03)
        style.dress(axes, x=name, y="share of best configurations" if at == 0 else "")
        if wide:
            style.log_ticks(axes.xaxis)
    methods = in_order({row["method"] for table in tables for row in table.records()})
    style.legend(canvas, [style.line_handle(method) for method in methods], 7 if len(names) > 1 else 4)
    return canvas


def draw_scatter(best: Table, names: tuple[str, str]) -> Canvas:
    canvas = style.canvas(style.COLUMN + 0.4, 3.2)
    axes = canvas.add_subplot()
    records = [row for row in best.records() if row[names[0]] is not None and row[names[1]] is not None]
    methods = in_order({row["method"] for row in records})
    for method in methods:
        found = look(method)
        x, y = ([row[name] for row in records if row["method"] == method] for name in names)
        axes.plot(x, y, linestyle="", marker=found.marker, color=found.colour, markersize=4, alpha=0.65)
    if all(row[name] > 0 for row in records for name in names):
        axes.set_xscale("log")
        axes.set_yscale("log")
    style.dress(axes, x=names[0], y=names[1])
    for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
        if scale == "log":
            style.log_ticks(axis)
    style.legend(canvas, [style.marker_handle(method) for method in methods], 4)
    return canvas


def draw_times(times: Table, best: Table) -> Canvas:
    records = times.records()
    canvas = style.canvas(style.COLUMN, 0.6 + 0.27 * len(records))
    axes = canvas.add_subplot()
    axes.set_xscale("log")
    outliers = {
        row["method"]: [
            run["seconds"]
            for run in best.records()
            if run["method"] == row["method"] and run["seconds"] > 0 and is_outlier(row, run["seconds"])
        ]
        for row in records
    }
    paint_boxes(axes, records, outliers)
    style.dress(axes, x="seconds", grid="x")
    style.log_ticks(axes.xaxis)
    return canvas
