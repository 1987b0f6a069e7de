"""Performance over time: curves of the mean best loss, for six selected tasks and for all."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from cfo_bench.report.contents import CellValue, Figure, LinePlot, Place, Section, SectionContent, Table, some
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.ranking import MOST_LEADERS
from cfo_bench.report.numbers.scores import TaskScores
from cfo_bench.report.numbers.significance import in_words
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.charts import FEWEST_FOR_A_BAND, is_wide, paint_lines
from cfo_bench.report.sections.final_scores import measured_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# The six tasks in the paper's main text: small ones, then large ones; binary, multiclass, regression.
_CHOSEN = (
    ("christine", "binary", "small"),
    ("car", "multiclass", "small"),
    ("house16h", "regression", "small"),
    ("adult", "binary", "large"),
    ("shuttle", "multiclass", "large"),
    ("poker", "regression", "large"),
)
# The number of tasks on a printed page.
_TASKS_PER_SHEET = 6
_COLUMNS = 2


class PerformanceSection(Section):
    """The page draws these curves itself, from the same tables; the figures are files for papers."""

    name = "performance"
    title = "Performance over time"
    place = Place.SUPPORT
    has_curves = True

    def build(self, results: LearnerResults) -> SectionContent:
        curves = {task.task: curve_table(results, task) for task in results.scores}
        titles = {
            task.task: f"{task.task}, {'test ' * task.by_test}loss = {task.metric_facts.loss_title}"
            for task in results.scores
        }
        seconds = results.scores[0].seconds_label

        def figure(name: str, title: str, tasks: Sequence[str], is_for_print: bool = False) -> Figure:
            tables = tuple(curves[task] for task in tasks)
            note = (
                "A line is the mean over folds of the best loss so far (the seeds of a fold are averaged "
                f"first). The shade around it is its 95 % confidence interval. Only the {MOST_LEADERS} best "
                f"methods and the baseline have one, on tasks with at least {FEWEST_FOR_A_BAND} folds."
            )
            drawing = partial(draw, tables, tuple(titles[task] for task in tasks), results.leaders, seconds)
            words = _ends_in_words([task for task in results.scores if task.task in tasks])
            return Figure(name, title, note, tables, drawing, words, is_for_print=is_for_print)

        drawn = [task.task for task in results.scores if curves[task.task].rows]
        figures = []
        if drawn:
            figures.append(figure("performance", "Performance over time", chosen_tasks(results, drawn)))
        if len(drawn) > len(_CHOSEN):
            sheets = [drawn[at : at + _TASKS_PER_SHEET] for at in range(0, len(drawn), _TASKS_PER_SHEET)]
            figures += [
                figure(
                    f"performance-sheet-{i}",
                    f"Performance over time, all tasks ({i}/{len(sheets)})",
                    sheet,
                    is_for_print=True,
                )
                for i, sheet in enumerate(sheets, start=1)
            ]
        single_fold = [task.task for task in results.scores if task.n_folds == 1]
        return SectionContent(
            "The loss of each method at each moment: the mean over folds of the best loss so far. A line "
            f"starts when every fold has a first result. On tasks with {FEWEST_FOR_A_BAND} folds or more, a "
            "shade is the 95 % confidence interval of the mean.",
            figures=tuple(figures),
            warnings=(f"{some(single_fold)}: only one fold, so no confidence interval",)
            if single_fold
            else (),
        )


def curves_name(task: str) -> str:
    """The name of the table of a task's curves."""
    return f"curves-{task}"


def curve_table(results: LearnerResults, task: TaskScores) -> Table:
    """The points of a task's curves, thinned out. A curve ends when the task's last run does."""
    runs = [run for (name, _), scores in results.compared.items() if name == task.task for run in scores]
    end = min(task.budget_seconds, max((run.measured_seconds for run in runs), default=0.0))
    rows: list[list[CellValue]] = []
    for method in results.methods:
        scores = task.methods.get(method)
        if scores is None or scores.curve is None:
            continue
        thin = scores.curve.thinned()
        no_band = [None] * len(thin.seconds)
        low, high = (thin.low.tolist(), thin.high.tolist()) if thin.n_folds > 1 else (no_band, no_band)
        points = list(zip(thin.seconds.tolist(), thin.mean.tolist(), low, high, strict=True))
        if points[-1][0] < end:
            points.append((end, *points[-1][1:]))
        rows += [[task.task, method, *point, thin.n_folds] for point in points]
    return Table(
        curves_name(task.task),
        f"Curves of {task.task}",
        f"From `seconds` on the mean over {task.over} of the best loss so far "
        f"({task.metric_facts.loss_title}) is `mean_loss`; ci_low and ci_high bound its "
        "95 % confidence interval (Student's t over folds). "
        f"{measured_on([task])}",
        ("task", "method", "seconds", "mean_loss", "ci_low", "ci_high", "folds"),
        rows,
    )


def chosen_tasks(results: LearnerResults, tasks: Sequence[str]) -> list[str]:
    """The paper's six tasks; for a missing one, the smallest or largest of its problem, or any other."""
    about = {run.task: (run.header.problem, run.header.data.rows or 0) for run in results.runs}
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


def draw(
    tables: Sequence[Table], titles: Sequence[str], best: Sequence[str], seconds: str = "wall-clock seconds"
) -> Canvas:
    """A panel for each task; of many methods only the `best` are in colour and have a band."""
    single = len(tables) == 1
    canvas, panels = style.panels(len(tables), _COLUMNS, *((3.2, 2.4) if single else (2.2, 1.5)))
    for axes, table, title in zip(panels, tables, titles, strict=True):
        _paint(axes, table, best)
        style.dress(axes, style.shortened(title, 60 if single else 38), seconds, "loss")
        style.log_ticks(axes.xaxis)
        if axes.get_yscale() == "log":
            style.log_ticks(axes.yaxis)
    return canvas


def _ends_in_words(tasks: Sequence[TaskScores]) -> str:
    """For the text alternative: the lowest loss at the end of each task, and all methods that reach it."""
    parts = []
    for task in tasks:
        reaching = [scores for scores in task.methods.values() if scores.seconds_to_best is not None]
        lowest = min(
            (scores.final_loss for scores in reaching if scores.final_loss is not None), default=math.nan
        )
        parts.append(f"{task.task} {in_words([scores.method for scores in reaching])} {lowest:.3g}")
    return f"Lines for each task: loss against seconds. The lowest at the end: {'; '.join(parts)}."


def _paint(axes: Axes, table: Table, best: Sequence[str]) -> None:
    records = table.records()
    wide = is_wide([row["mean_loss"] for row in records])
    band = ("ci_low", "ci_high") if records[0]["folds"] >= FEWEST_FOR_A_BAND else None
    axes.set_xscale("log")
    paint_lines(axes, records, LinePlot("seconds", "mean_loss", "", "", log_y=wide, band=band), best)
