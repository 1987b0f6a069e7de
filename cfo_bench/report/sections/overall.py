"""Overall optimality: normalised scores as boxes and task by task, and the time to reach the best."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cfo_bench.report.contents import CellValue, Figure, Section, Table
from cfo_bench.report.looks import look
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import normalised
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.boxes import BOX_COLUMNS, box, is_outlier, paint_boxes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# The legend counts the tasks with a higher score than this, as in the paper.
HIGH = 90.0

# Lower scores are drawn at the edge, so that one very bad score does not squeeze all others together.
_FLOOR = 0.0


def section(results: LearnerResults) -> Section:
    cells = _cells(results)
    shares = _shares(results, cells)
    boxes = _boxes(results, cells)
    base = look(results.baseline).label
    warnings, figures = [], []
    tasks = {row["task"] for row in cells.records()}
    scored = {row["task"] for row in cells.records() if row["score"] is not None}
    if not scored:
        warnings.append(
            f"no normalised scores: {results.baseline}, the baseline, has none above 0 on any task"
        )
    elif tasks - scored:
        warnings.append(
            f"no normalised scores where {base} has none above 0: {', '.join(sorted(tasks - scored))}"
        )
    if scored:
        figures += [
            Figure(
                "score-boxes",
                f"Normalised scores ({base} = 100)",
                "Box: quartiles and median over tasks; whiskers: the furthest within 1.5 times the box; "
                "dots: beyond.",
                (boxes, cells),
                partial(draw_boxes, boxes, cells, base),
            ),
            Figure(
                "scores-by-task",
                f"Normalised scores on every task ({base} = 100)",
                f"Higher is better; in the legend the share of tasks on which a method scores over {HIGH:g}. "
                "Coloured: reaches the task's best score within the budget; black: does not. "
                f"Scores under {_FLOOR:g} stand at the edge.",
                (cells, shares),
                partial(draw_scores, cells, shares, base),
            ),
        ]
    if any(row["seconds_to_best"] is not None for row in cells.records()):
        figures.append(
            Figure(
                "time-to-best",
                "Time to reach the best score",
                "Lower is better; in the legend the share of tasks on which a method reaches the best score "
                "within the budget. Black markers of the scores have no point here.",
                (cells, shares),
                partial(draw_times, cells, shares),
            )
        )
    return Section(
        "overall",
        "Overall optimality of loss and cost",
        f"Scores are normalised: 100 × score / the score of {base}. A task's best score is the highest of "
        "all methods; it is reached at 99.95 % of it.",
        tables=(shares, boxes, cells),
        figures=tuple(figures),
        warnings=tuple(warnings),
    )


def _cells(results: LearnerResults) -> Table:
    rows: list[list[CellValue]] = []
    for number, task in enumerate(results.scores, start=1):
        base = normalised(task, results.baseline)
        rows += [
            [number, task.task, method, base.get(method), found.seconds_to_best, task.budget_seconds]
            for method in results.methods
            if (found := task.methods.get(method)) is not None
        ]
    return Table(
        "normalised-scores",
        "Normalised scores and time to the best, task by task",
        f"One row a task and method: 100 × score / the score of {results.baseline}, and the seconds to reach "
        "the task's best score (none: not within the budget).",
        ("number", "task", "method", "score", "seconds_to_best", "budget_seconds"),
        rows,
    )


def _shares(results: LearnerResults, cells: Table) -> Table:
    """Shares of the tasks on which a method was run and the baseline has a score."""
    rows: list[list[CellValue]] = []
    for method in results.methods:
        own = [row for row in cells.records() if row["method"] == method]
        scored = {row["task"] for row in cells.records() if row["score"] is not None}
        comparable = [row for row in own if row["task"] in scored]
        high = sum(row["score"] is not None and row["score"] > HIGH for row in comparable)
        reached = sum(row["seconds_to_best"] is not None for row in own)
        rows.append(
            [
                *(method, len(own), len(comparable), high, high / len(comparable) if comparable else None),
                *(reached, reached / len(own) if own else None),
            ]
        )
    return Table(
        "shares",
        "Shares of tasks",
        "One row a method: tasks it was run on; those with a normalised score, and of these the number and "
        f"share over {HIGH:g}; the number and share on which it reaches the best score within the budget.",
        ("method", "tasks", "scored_tasks", "over_90", "share_over_90", "reached", "share_reached"),
        rows,
    )


def _boxes(results: LearnerResults, cells: Table) -> Table:
    rows: list[list[CellValue]] = []
    for method in results.methods:
        scores = [
            row["score"] for row in cells.records() if row["method"] == method and row["score"] is not None
        ]
        if scores:
            rows.append([method, len(scores), *box(scores)])
    return Table(
        "score-boxes",
        "Boxes of the normalised scores",
        "One row a method, over tasks: quartiles (linear), whiskers at the furthest score within 1.5 times "
        "the box.",
        ("method", "tasks", *BOX_COLUMNS),
        rows,
    )


def draw_boxes(boxes: Table, cells: Table, base: str) -> Canvas:
    records = boxes.records()
    canvas = style.canvas(style.COLUMN, 0.6 + 0.27 * len(records))
    axes = canvas.add_subplot()
    outliers = {
        row["method"]: [
            max(score, _FLOOR)
            for cell in cells.records()
            if cell["method"] == row["method"]
            and (score := cell["score"]) is not None
            and is_outlier(row, score)
        ]
        for row in records
    }
    for row in records:
        for name in ("low_whisker", "quartile_1", "median"):
            row[name] = max(row[name], _FLOOR)
    axes.axvline(100, color=style.FAINT, linewidth=0.8, zorder=0)
    paint_boxes(axes, records, outliers)
    style.dress(axes, x=f"normalised score ({base} = 100)", grid="x")
    return canvas


def draw_scores(cells: Table, shares: Table, base: str) -> Canvas:
    records = [row for row in cells.records() if row["score"] is not None]
    canvas, axes = _by_task(cells)
    axes.axvline(100, color=style.FAINT, linewidth=0.8, zorder=0)
    for row in records:
        found = look(row["method"])
        colour = "black" if row["seconds_to_best"] is None else found.colour
        axes.plot(
            max(row["score"], _FLOOR), row["number"], found.marker, color=colour, markersize=4, clip_on=False
        )
    style.dress(axes, x=f"normalised score ({base} = 100)")
    _legend(canvas, shares, "share_over_90")
    return canvas


def draw_times(cells: Table, shares: Table) -> Canvas:
    canvas, axes = _by_task(cells)
    axes.set_xscale("log")
    for row in cells.records():
        if row["seconds_to_best"]:
            found = look(row["method"])
            axes.plot(row["seconds_to_best"], row["number"], found.marker, color=found.colour, markersize=4)
    for budget in sorted({row["budget_seconds"] for row in cells.records()}):
        axes.axvline(budget, color=style.FAINT, linewidth=0.8, zorder=0)
    style.dress(axes, x="seconds to reach the best score")
    style.log_ticks(axes.xaxis)
    _legend(canvas, shares, "share_reached")
    return canvas


def _by_task(cells: Table) -> tuple[Canvas, Axes]:
    tasks = {row["number"]: row["task"] for row in cells.records()}
    canvas = style.canvas(style.COLUMN + 0.6, 1.3 + 0.145 * len(tasks))
    axes = canvas.add_subplot()
    axes.set_yticks(list(tasks), [style.plain(style.shortened(task, 22)) for task in tasks.values()])
    axes.set_ylim(len(tasks) + 0.7, 0.3)
    return canvas, axes


def _legend(canvas: Canvas, shares: Table, share: str) -> None:
    handles = [
        style.marker_handle(
            row["method"],
            f"{look(row['method']).label} {'–' if row[share] is None else format(row[share], '.0%')}",
        )
        for row in shares.records()
    ]
    style.legend(canvas, handles, 3)
