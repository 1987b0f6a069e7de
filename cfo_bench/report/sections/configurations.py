"""The best configurations: their hyperparameters at the end and over time, and their evaluation time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.contents import CellValue, Figure, LinePlot, Section, SectionContent, Table
from cfo_bench.report.method_styles import style_of
from cfo_bench.report.numbers.hyperparameters import MOMENTS, footprint, numeric_names
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.charts import (
    BOX_COLUMNS,
    FEWEST_FOR_A_BOX,
    box,
    ends_in_words,
    is_wide,
    muted,
    paint_boxes,
    paint_lines,
    values_in_words,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# More markers in colour than this are not moved apart.
MAX_MOVED = 300
# The width of a marker, as a share of an axis.
_MARKER = 0.022
_PANEL_COLUMNS = 3
# At most this number of hyperparameters are drawn; the table has all.
_MAX_PANELS = 12


class ConfigurationsSection(Section):
    name = "configurations"
    title = "The best configurations"

    def build(self, results: LearnerResults) -> SectionContent:
        names = _cost_related(results)
        best = _best(results)
        figures = []
        if names and best.rows:
            histograms = tuple(_cumulative(results, best, name) for name in names)
            figures.append(
                Figure(
                    "cost-related-histograms",
                    "Cost-related hyperparameters of the best configurations",
                    "Every run has one best configuration. A line is the share of a method's best "
                    f"configurations with at most this value, over all {len(results.scores)} tasks, folds "
                    "and seeds. With many methods only the best ones and the baseline are in colour.",
                    histograms,
                    partial(draw_histograms, histograms, names, results.leaders),
                )
            )
        if len(names) > 1 and best.rows:
            figures.append(
                Figure(
                    "cost-related-scatter",
                    f"{names[0]} and {names[1]} of the best configurations",
                    "Each marker is the best configuration of one run. With many methods only the best ones "
                    f"and the baseline are in colour. Up to {MAX_MOVED} markers in colour are moved apart a "
                    "little if they overlap.",
                    (best,),
                    partial(draw_scatter, best, (names[0], names[1]), results.leaders),
                    _medians_in_words(best, (names[0], names[1])),
                )
            )
        times = _times(results, best)
        if times.rows:
            figures.append(
                Figure(
                    "evaluation-time",
                    "Evaluation time of the best configurations",
                    "The seconds of a run's best configuration: the method's own time to choose it, fit and "
                    "validation. A box holds the middle half of all runs, its line is the median. Whiskers "
                    "reach to the furthest run within 1.5 times the length of the box.",
                    (times, best),
                    partial(draw_times, times, best, results.scores[0].seconds_label),
                    alt=f"Seconds to evaluate the best configurations. {values_in_words(_seconds(best))}",
                )
            )
        return SectionContent(
            "The configurations that the methods end with: how large these models are, and how long they "
            "take.",
            tables=(times, best),
            figures=tuple(figures),
        )


def _cost_related(results: LearnerResults) -> list[str]:
    """The learner's cost-related hyperparameters that are numbers, in its order."""
    names = dict.fromkeys(name for run in results.runs for name in run.header.cost_related or ())
    configs = [results.incumbents(run).best_config for runs in results.compared.values() for run in runs]
    return [
        name
        for name in names
        if all(_is_number(config[name]) for config in configs if name in config)
        and any(name in config for config in configs)
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _best(results: LearnerResults) -> Table:
    runs = [
        (task, method, run, results.incumbents(run))
        for (task, method), runs_of_method in results.compared.items()
        for run in runs_of_method
        if results.incumbents(run).seconds
    ]
    names = list(dict.fromkeys(name for *_, incumbents in runs for name in incumbents.best_config))
    is_tested = any(incumbents.test_scores[-1] is not None for *_, incumbents in runs)
    rows: list[list[CellValue]] = []
    for task, method, run, incumbents in runs:
        loss = results.validation_incumbents(run).losses[-1]
        scores = [
            run.header.metric_facts.to_score(loss),
            *([incumbents.test_scores[-1]] if is_tested else []),
        ]
        values = [incumbents.best_config.get(name) for name in names]
        seconds = incumbents.costs[-1], incumbents.overheads[-1]
        key = task, method, run.fold, run.seed, run.header.metric_facts.title
        rows.append([*key, *scores, *values, *seconds, sum(seconds)])
    tested = ", and on the test part, which no method has seen" if is_tested else ""
    scores_of = ["validation_score", *(["test_score"] if is_tested else [])]
    return Table(
        "best-configurations",
        "The best configuration of every run",
        "One row for each run: the score of its best configuration on the validation part, by which it was "
        f"selected{tested}; all its hyperparameters; the seconds to fit and validate it, the method's own "
        "seconds in that trial, and their sum. `cfo-bench best` makes a script or a model of a "
        "configuration.",
        (
            *("task", "method", "fold", "seed", "metric", *scores_of, *names),
            *("evaluation_seconds", "method_seconds", "seconds"),
        ),
        rows,
        verbatim=tuple(names),
    )


def _cumulative(results: LearnerResults, best: Table, name: str) -> Table:
    by_method = best.values_by_method(name)
    rows: list[list[CellValue]] = []
    for method in (method for method in results.methods if method in by_method):
        values, counts = np.unique(by_method[method], return_counts=True)
        shares = np.cumsum(counts) / counts.sum()
        rows += [[method, value.item(), float(share)] for value, share in zip(values, shares, strict=True)]
    return Table(
        f"cumulative-{name}",
        f"Cumulative histogram of {name}",
        f"The share of a method's best configurations (one of each run) with at most this {name}.",
        ("method", name, "share"),
        rows,
        verbatim=(name,),
    )


def _times(results: LearnerResults, best: Table) -> Table:
    rows: list[list[CellValue]] = []
    by_method = _seconds(best)
    for method in results.methods:
        if seconds := by_method.get(method):
            logs = box([float(np.log10(value)) for value in seconds])
            rows.append([method, len(seconds), *(None if log is None else 10 ** float(log) for log in logs)])
    return Table(
        "evaluation-time",
        "Evaluation time of the best configurations",
        "One row for each method, seconds over runs: quartiles, whiskers (the furthest within 1.5 times the "
        "length of the box, on a log scale), and the geometric mean. Fewer than "
        f"{FEWEST_FOR_A_BOX} runs have a median and a mean only.",
        ("method", "runs", *BOX_COLUMNS[:-1], "geometric_mean"),
        rows,
    )


def draw_histograms(tables: Sequence[Table], names: Sequence[str], best: Sequence[str]) -> Canvas:
    methods = list(dict.fromkeys(method for table in tables for method in table.column("method")))
    grey = muted(methods, best)
    canvas = style.canvas(max(style.COLUMN, style.PAGE / 3 * len(names)), 2.5)
    for at, (table, name) in enumerate(zip(tables, names, strict=True)):
        axes = canvas.add_subplot(1, len(names), at + 1)
        records = table.records()
        right = max(row[name] for row in records)
        wide = min(row[name] for row in records) > 0
        for method, points in table.records_by("method").items():
            x = [points[0][name], *(row[name] for row in points), right]
            y = [0.0, *(row["share"] for row in points), 1.0]
            axes.step(x, y, where="post", **style.line_of(method, method in grey))
        if wide:
            axes.set_xscale("log")
        axes.set_ylim(0, 1.03)
        style.dress(axes, x=name, y="share of best configurations" if at == 0 else "")
        if wide:
            style.log_ticks(axes.xaxis)
    handles = [style.line_handle(method) for method in methods if method not in grey]
    if grey:
        handles.append(style.others_handle(len(grey), linewidth=0.7))
    style.legend(canvas, handles, 7 if len(names) > 1 else 4)
    return canvas


def draw_scatter(best: Table, names: tuple[str, str], coloured: Sequence[str]) -> Canvas:
    canvas = style.canvas(style.COLUMN + 0.4, 3.2)
    axes = canvas.add_subplot()
    records = [row for row in best.records() if row[names[0]] is not None and row[names[1]] is not None]
    methods = list(dict.fromkeys(row["method"] for row in records))
    is_log = all(row[name] > 0 for row in records for name in names)
    places = np.array([[row[name] for name in names] for row in records], dtype=float)
    grey = muted(methods, coloured)
    in_colour = np.array([row["method"] not in grey for row in records])
    if in_colour.sum() <= MAX_MOVED:
        moved = apart(np.log(places[in_colour]) if is_log else places[in_colour])
        places[in_colour] = np.exp(moved) if is_log else moved
    for method in methods:
        marker_style = style_of(method)
        points = places[[row["method"] == method for row in records]]
        is_grey = method in grey
        axes.plot(
            *points.T,
            linestyle="",
            marker=marker_style.marker,
            color=style.MUTED if is_grey else marker_style.colour,
            markersize=2 if is_grey else 4,
            zorder=1.5 if is_grey else 2,
            alpha=0.65,
        )
    if is_log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    style.dress(axes, x=names[0], y=names[1])
    for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
        if scale == "log":
            style.log_ticks(axis)
    handles = [style.marker_handle(method) for method in methods if method not in grey]
    if grey:
        handles.append(style.others_handle(len(grey), linestyle="", marker="o", markersize=3))
    style.legend(canvas, handles, 4)
    return canvas


def apart(places: Array) -> Array:
    """The places of markers; a marker that would hide another is moved to the nearest free place."""
    spread = np.ptp(places, axis=0)
    size = np.where(spread > 0, spread, 1.0) * _MARKER
    turns = [(ring, 2 * np.pi * at / (6 * ring)) for ring in range(1, 12) for at in range(6 * ring)]
    around = np.array([(0.0, 0.0), *((ring * np.cos(angle), ring * np.sin(angle)) for ring, angle in turns)])
    moved = np.empty_like(places)
    for at, place in enumerate(places / size):
        tried = place + around
        gaps = np.abs(tried[:, None] - moved[None, :at]).max(axis=2, initial=0.0)
        free = np.flatnonzero((gaps >= 0.85).all(axis=1))
        moved[at] = tried[free[0]] if len(free) else place
    result: Array = moved * size
    return result


def draw_times(times: Table, best: Table, seconds: str) -> Canvas:
    records = times.records()
    canvas = style.canvas(style.COLUMN, 0.6 + 0.27 * len(records))
    axes = canvas.add_subplot()
    axes.set_xscale("log")
    paint_boxes(axes, records, _seconds(best))
    style.dress(axes, x=seconds, grid="x")
    style.log_ticks(axes.xaxis)
    return canvas


def _medians_in_words(best: Table, names: tuple[str, str]) -> str:
    """The medians of the scatter plot, for its text alternative."""
    by_method: dict[str, list[tuple[float, float]]] = {}
    for method, *values in zip(*(best.column(name) for name in ("method", *names)), strict=True):
        if None not in values:
            by_method.setdefault(method, []).append(tuple(values))
    parts = [
        f"{method} {' and '.join(f'{median(values):.3g}' for values in zip(*by_method[method], strict=True))}"
        for method in by_method
    ]
    return f"{names[1]} against {names[0]}. Medians of {names[0]} and {names[1]}: {'; '.join(parts)}."


def _seconds(best: Table) -> dict[str, list[float]]:
    """The evaluation times of each method's best configurations, without those of 0 s: the axis is log."""
    positive = replace(best, rows=[row for row in best.rows if row[-1]])  # the last column has the seconds
    return positive.values_by_method("seconds")


class FootprintSection(Section):
    """The hyperparameters over time; absent if no incumbent has a hyperparameter that is a number."""

    name = "footprint"
    title = "The search over time"

    def build(self, results: LearnerResults) -> SectionContent | None:
        names, others = numeric_names(results)
        table = _footprint(results, names)
        if not table.rows:
            return None
        drawn = names[:_MAX_PANELS]
        figure = Figure(
            "footprint",
            "Hyperparameters of the best configurations over time",
            "The value in the best configuration so far: the median over tasks of the median over a task's "
            "runs. A line starts when every task has a result. If a line still moves at the end, the search "
            "had not settled; if it never moves, no better value than the first was found."
            + (
                f" The first {len(drawn)} of {len(names)} hyperparameters." if len(drawn) < len(names) else ""
            ),
            (table,),
            partial(draw_footprint, table, tuple(drawn), results.leaders),
            alt=f"A panel for each of {', '.join(drawn)}. "
            + ends_in_words(_known(table, drawn[0]), _footprint_lines(drawn[0])),
        )
        return SectionContent(
            "The values of the hyperparameters in the best configuration so far.",
            figures=(figure,),
            warnings=(f"left out, since their values are not numbers: {', '.join(others)}",)
            if others
            else (),
        )


def _footprint(results: LearnerResults, names: list[str]) -> Table:
    rows: list[list[CellValue]] = []
    for method in results.methods:
        for share, values in zip(MOMENTS, footprint(results, method, names).tolist(), strict=True):
            known = [None if math.isnan(value) else value for value in values]
            if any(value is not None for value in known):
                rows.append([method, share, *known])
    return Table(
        "footprint",
        "Hyperparameters of the best configurations over time",
        "One row for each method and moment (share of the budget): the value of each hyperparameter in the "
        "best configuration so far, the median over tasks of the median over a task's runs.",
        ("method", "share", *names),
        rows,
        verbatim=tuple(names),
    )


def _known(table: Table, name: str) -> Table:
    """The rows in which a hyperparameter has a value."""
    at = table.columns.index(name)
    rows = [row for row in table.rows if row[at] is not None]
    return replace(table, rows=rows)


def _footprint_lines(name: str, log_y: bool = False) -> LinePlot:
    return LinePlot("share", name, "share of the budget", name, log_y=log_y)


def draw_footprint(table: Table, names: tuple[str, ...], best: tuple[str, ...]) -> Canvas:
    canvas, plots = style.panels(len(names), _PANEL_COLUMNS, 1.5, 1.45)
    for axes, name in zip(plots, names, strict=True):
        records = _known(table, name).records()
        axes.set_xscale("log")
        lines = _footprint_lines(name, log_y=is_wide([row[name] for row in records]))
        paint_lines(axes, records, lines, best)
        style.dress(axes, style.shortened(name, 30), lines.x_label)
        style.log_ticks(axes.xaxis)
        if lines.log_y:
            style.log_ticks(axes.yaxis)
        else:
            axes.locator_params(axis="y", nbins=4, min_n_ticks=2)
    return canvas
