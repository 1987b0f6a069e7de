"""Overall optimality: scaled scores as boxes and task by task, and the time to reach the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cfo_bench.report.contents import CellValue, Figure, Section, SectionContent, Table
from cfo_bench.report.method_styles import style_of
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.charts import (
    BOX_COLUMNS,
    FEWEST_FOR_A_BOX,
    box,
    lanes,
    paint_boxes,
    values_in_words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# The legend counts the tasks with a higher score than this, as in the paper.
HIGH = 90.0

# Lower scores are drawn at the edge, so that one very bad score does not squeeze all others together.
_FLOOR = 0.0

# The width of a marker, as a share of the axis, and its height in inches.
_MARKER = 0.03
_LANE_INCHES = 0.065
# The opacity of a marker if the method did not reach the best score.
_PALE = 0.35


class OverallSection(Section):
    name = "overall"
    title = "All tasks together: scores and times"

    def build(self, results: LearnerResults) -> SectionContent:
        cells = _cells(results)
        shares = _shares(results, cells)
        boxes = _boxes(results, cells)
        base = results.baseline
        warnings, figures = [], []
        tasks = {row["task"] for row in cells.records()}
        scored = {row["task"] for row in cells.records() if row["scaled_score_percent"] is not None}
        if not scored:
            warnings.append(
                f"no scores in percent of {base}'s: {base}, the baseline, has no scaled score above 0 on any "
                "task"
            )
        elif tasks - scored:
            warnings.append(
                f"no scores in percent of {base}'s on tasks where it has no scaled score above 0: "
                f"{', '.join(sorted(tasks - scored))}"
            )
        if scored:
            figures += [
                Figure(
                    "score-boxes",
                    f"Scaled scores ({base} = 100)",
                    "A box holds the middle half of the tasks, its line is the median. Whiskers reach to the "
                    "furthest task within 1.5 times the length of the box; dots are tasks beyond."
                    if len(scored) >= FEWEST_FOR_A_BOX
                    else f"Every dot is a task: {len(scored)} tasks are too few for boxes.",
                    (boxes, cells),
                    partial(draw_boxes, boxes, cells, base),
                    alt=f"Scaled scores over tasks, {base} = 100. "
                    + values_in_words(cells.values_by_method("scaled_score_percent")),
                ),
                Figure(
                    "scores-by-task",
                    f"Scaled scores on every task ({base} = 100)",
                    "Higher is better. The legend has the share of the tasks on which a method scores over "
                    f"{HIGH:g}. Full markers: the method reaches the task's best score within the budget. "
                    f"Pale markers: it does not. Scores under {_FLOOR:g} are drawn at the edge.",
                    (cells, shares),
                    partial(draw_scores, cells, shares, base),
                ),
            ]
        if any(row["seconds_to_best"] is not None for row in cells.records()):
            figures.append(
                Figure(
                    "time-to-best",
                    "Time to reach the best score",
                    "Further left is better. The legend has the share of the tasks on which a method reaches "
                    "the best score within the budget. A method that does not reach it has no marker.",
                    (cells, shares),
                    partial(draw_times, cells, shares, results.scores[0].seconds_label),
                    alt=_times_in_words(cells, shares, results.scores[0].seconds_label),
                )
            )
        return SectionContent(
            f"Scaled scores in percent: {base}, the baseline, has 100 on every task, as in the paper. A "
            "task's best score is the highest of all methods; a method reaches it with 99.95 % of it. A "
            "method without any result on a task gets the score of the constant predictor or of the worst "
            "other method, whichever is worse.",
            tables=(shares, boxes, cells),
            figures=tuple(figures),
            warnings=tuple(warnings),
        )


def _cells(results: LearnerResults) -> Table:
    rows: list[list[CellValue]] = []
    for number, task in enumerate(results.scores, start=1):
        base = task.normalised(results.baseline)
        rows += [
            [number, task.task, method, base.get(method), scores.seconds_to_best, task.budget_seconds]
            for method in results.methods
            if (scores := task.methods.get(method)) is not None and scores.is_compared
        ]
    return Table(
        "normalised-scores",
        f"Scaled scores ({results.baseline} = 100) and time to the best, task by task",
        f"One row for each task and method: its scaled score in percent of that of {results.baseline}, and "
        "the seconds until it reached the task's best score (a dash: not within the budget).",
        ("number", "task", "method", "scaled_score_percent", "seconds_to_best", "budget_seconds"),
        rows,
    )


def _shares(results: LearnerResults, cells: Table) -> Table:
    """Shares of the tasks on which a method was run and the baseline has a score."""
    rows: list[list[CellValue]] = []
    scored = {row["task"] for row in cells.records() if row["scaled_score_percent"] is not None}
    by_method = cells.records_by("method")
    for method in results.methods:
        runs = by_method.get(method, [])
        n_scored = sum(row["task"] in scored for row in runs)
        n_high = sum((row["scaled_score_percent"] or 0.0) > HIGH for row in runs)
        n_reached = sum(row["seconds_to_best"] is not None for row in runs)
        shares = n_high / n_scored if n_scored else None, n_reached / len(runs) if runs else None
        rows.append([method, len(runs), n_scored, n_high, shares[0], n_reached, shares[1]])
    return Table(
        "shares",
        "Shares of tasks",
        "One row for each method: the number of tasks it was run on; of those on which it has a score in "
        f"percent of the baseline's, and of these with a score over {HIGH:g}; and the number of tasks on "
        "which it reaches the best score within the budget.",
        ("method", "tasks", "scored_tasks", "over_90", "share_over_90", "reached", "share_reached"),
        rows,
    )


def _boxes(results: LearnerResults, cells: Table) -> Table:
    rows: list[list[CellValue]] = []
    by_method = cells.values_by_method("scaled_score_percent")
    for method in results.methods:
        if scores := by_method.get(method):
            rows.append([method, len(scores), *box(scores)])
    return Table(
        "score-boxes",
        f"Boxes of the scaled scores ({results.baseline} = 100)",
        "One row for each method, over tasks: quartiles, and the whiskers, which reach to the furthest score "
        f"within 1.5 times the length of the box. Fewer than {FEWEST_FOR_A_BOX} tasks have a median and a "
        "mean only.",
        ("method", "tasks", *BOX_COLUMNS),
        rows,
    )


def draw_boxes(boxes: Table, cells: Table, base: str) -> Canvas:
    records = boxes.records()
    canvas = style.canvas(style.COLUMN, 0.6 + 0.27 * len(records))
    axes = canvas.add_subplot()
    axes.axvline(100, color=style.FAINT, linewidth=0.8, zorder=0)
    paint_boxes(axes, records, cells.values_by_method("scaled_score_percent"), _FLOOR)
    style.dress(axes, x=f"scaled score ({base} = 100)", grid="x")
    return canvas


def _times_in_words(cells: Table, shares: Table, seconds: str) -> str:
    """The seconds of every marker, and the numbers of the legend, for the text alternative."""
    by_task: dict[str, list[str]] = {}
    for row in cells.records():
        times_of_task = by_task.setdefault(row["task"], [])
        if row["seconds_to_best"] is not None:
            times_of_task.append(f"{row['method']} {row['seconds_to_best']:.3g} s")
    times = "; ".join(
        f"{task}: {', '.join(times_of_task) or 'none'}" for task, times_of_task in by_task.items()
    )
    reached = ", ".join(f"{row['method']} {row['reached']}" for row in shares.records())
    return f"{seconds.capitalize()} on each task. {times}. Tasks on which each method reaches it: {reached}."


def draw_scores(cells: Table, shares: Table, base: str) -> Canvas:
    records = [
        row | {"x": max(row["scaled_score_percent"], _FLOOR)}
        for row in cells.records()
        if row["scaled_score_percent"] is not None
    ]
    canvas, axes = _by_task(cells, records)
    axes.axvline(100, color=style.FAINT, linewidth=0.8, zorder=0)
    for is_reached in (True, False):
        markers = [row for row in records if (row["seconds_to_best"] is not None) == is_reached]
        _paint_markers(axes, markers, alpha=1.0 if is_reached else _PALE, clip_on=False)
    style.dress(axes, x=f"scaled score ({base} = 100)", grid="x")
    _legend(canvas, shares, "share_over_90")
    return canvas


def draw_times(cells: Table, shares: Table, seconds: str) -> Canvas:
    records = [row | {"x": row["seconds_to_best"]} for row in cells.records() if row["seconds_to_best"]]
    canvas, axes = _by_task(cells, records, is_log=True)
    axes.set_xscale("log")
    _paint_markers(axes, records)
    for budget in sorted({row["budget_seconds"] for row in cells.records()}):
        axes.axvline(budget, color=style.FAINT, linewidth=0.8, zorder=0)
    style.dress(axes, x=f"{seconds} to reach the best score", grid="x")
    style.log_ticks(axes.xaxis)
    _legend(canvas, shares, "share_reached")
    return canvas


def _paint_markers(axes: Axes, records: Sequence[dict[str, Any]], **how: Any) -> None:
    for method in dict.fromkeys(row["method"] for row in records):
        x, y = ([row[name] for row in records if row["method"] == method] for name in ("x", "y"))
        marker, colour = style_of(method).marker, style_of(method).colour
        axes.plot(x, y, marker, color=colour, markersize=4, **how)


def _by_task(cells: Table, records: list[dict[str, Any]], is_log: bool = False) -> tuple[Canvas, Axes]:
    """Axes with a row for each task. Sets the `y` of every record such that markers don't overlap."""
    places = [math.log(row["x"]) if is_log else row["x"] for row in records]
    least = (max(places) - min(places)) * _MARKER
    apart = [0] * len(records)
    for task in {row["number"] for row in records}:
        places_of_task = [at for at, row in enumerate(records) if row["number"] == task]
        for at, lane in zip(places_of_task, lanes([places[at] for at in places_of_task], least), strict=True):
            apart[at] = lane
    most = max(map(abs, apart))
    row_inches = 0.1 + _LANE_INCHES * (2 * most + 1)
    for row, lane in zip(records, apart, strict=True):
        row["y"] = row["number"] + lane * _LANE_INCHES / row_inches
    tasks = {row["number"]: row["task"] for row in cells.records()}
    canvas = style.canvas(style.COLUMN + 0.6, 1.3 + row_inches * len(tasks))
    axes = canvas.add_subplot()
    axes.set_yticks(list(tasks), [style.short(task, 22) for task in tasks.values()])
    axes.set_ylim(len(tasks) + 0.55, 0.45)
    between = [number + 0.5 for number in list(tasks)[:-1]]
    across = axes.get_yaxis_transform()
    axes.hlines(between, 0, 1, transform=across, colors=style.GRID, linewidth=0.5, zorder=0)
    return canvas, axes


def _legend(canvas: Canvas, shares: Table, share: str) -> None:
    handles = [
        style.marker_handle(
            row["method"],
            f"{row['method']} {'–' if row[share] is None else format(row[share], '.0%')}",
        )
        for row in shares.records()
    ]
    style.legend(canvas, handles, 3)
