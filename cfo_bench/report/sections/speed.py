"""How fast methods are: speed-ups of the baseline, and the time to targets near the best loss."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.report.contents import (
    CellValue,
    Figure,
    LinePlot,
    Place,
    Section,
    SectionContent,
    Table,
    plural,
)
from cfo_bench.report.method_styles import style_of
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.running_time import (
    FEWEST_FOR_INTERVAL,
    TARGETS,
    factors,
    summaries,
)
from cfo_bench.report.numbers.scores import TIE_FACTOR
from cfo_bench.report.numbers.significance import FEWEST_TASKS, RESAMPLES
from cfo_bench.report.numbers.target_times import (
    GAPS,
    LEAST_SHARE,
    PROFILE_GAP,
    SINGLE_GAPS,
    TargetFolds,
    profiles,
    reached,
    regret,
    target_folds,
)
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.charts import draw_lines, ends_in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_BEST_FOUND = "the best loss that any method has on that fold"
_OPTIMUM = "the lowest loss of all configurations on that fold, which is known from the recording"
_RULE = (
    "Regret is the distance of the best loss so far from {best}. At 0 the run has that loss, at 1 it is "
    "no better than the constant predictor; before its first trial has ended, it is 1. A run has "
    f"{len(GAPS)} targets: values of the regret from 1 to {GAPS[-1]:g}, evenly on a log scale. All tasks "
    "have the same weight, and so have all folds of a task."
)
# Regrets below this are drawn at the edge.
_LEAST_REGRET = 1e-3
_PROFILE = LinePlot(
    *("factor", "share", "times the fastest method's seconds", "share of folds"), low_is_best=False
)


class SpeedUpsSection(Section):
    name = "speed-ups"
    title = "How much faster"
    place = Place.SUPPORT

    def build(self, results: LearnerResults) -> SectionContent:
        base = results.baseline
        speedups = factors(results)
        detail = Table.of(
            "speed-ups-by-task",
            f"Speed-ups of {base}, task by task",
            "One row for each task, method and target. Seconds: the expected time to the target, which is "
            "all time spent divided by the number of runs that reached it; a run that never did counts with "
            "its whole budget, and if none did, the seconds are the sum of all budgets. Factor: the "
            f"method's seconds divided by those of {base}, the baseline. There is no factor if neither of "
            "the two reached the target, or if a time is below a millisecond. Who: which of the "
            "two reached it, unless both did.",
            speedups,
            {
                "task": lambda speedup: speedup.task,
                "method": lambda speedup: speedup.method,
                "target": lambda speedup: speedup.target,
                "seconds": lambda speedup: speedup.time.seconds,
                "reached": lambda speedup: speedup.time.reached,
                "baseline_seconds": lambda speedup: speedup.baseline_time.seconds,
                "baseline_reached": lambda speedup: speedup.baseline_time.reached,
                "runs": lambda speedup: speedup.time.runs,
                "factor": lambda speedup: speedup.factor,
                "who": lambda speedup: speedup.who,
            },
        )
        table = Table.of(
            "speed-ups",
            f"Speed-ups of {base}",
            f"One row for each method and target: how many times longer it takes than {base} (geometric mean "
            f"over tasks); with {FEWEST_FOR_INTERVAL} tasks or more a 95 % interval, bootstrapped over tasks "
            f"({RESAMPLES} resamples). Then the number of tasks on which only {base}, only the method, or "
            "neither reached the target. If only one did, the time of the other is the sum of its budgets, "
            "and the factor counts. If neither did, there is no factor.",
            summaries(speedups),
            {
                "method": lambda speedup: speedup.method,
                "target": lambda speedup: speedup.target,
                "tasks": lambda speedup: speedup.tasks,
                "factor": lambda speedup: speedup.factor,
                "ci_low": lambda speedup: speedup.low,
                "ci_high": lambda speedup: speedup.high,
                "only_baseline": lambda speedup: speedup.only_baseline,
                "only_method": lambda speedup: speedup.only_method,
                "neither": lambda speedup: speedup.neither,
            },
        )
        warnings = (
            () if speedups else (f"no speed-ups: {results.baseline} shares no task with another method",)
        )
        tasks = len({speedup.task for speedup in speedups})
        points = (
            f"Dots: geometric means over {tasks} tasks; lines: 95 % intervals, bootstrapped over tasks. If "
            f"fewer than {FEWEST_FOR_INTERVAL} tasks have a factor, strokes are the single tasks."
            if tasks >= FEWEST_FOR_INTERVAL
            else f"Strokes: each of the {tasks} tasks, too few for an interval; dots: geometric means."
        )
        figure = Figure(
            "speed-ups",
            f"How many times faster {base} reaches a target",
            f"Right of 1, {base} is faster. {points} A hollow triangle to the right: on some tasks only "
            f"{base} reached the target, and the method's time is the sum of its budgets. To the left: on "
            "some tasks only the method did. A hollow circle: both happened. No marker: no task has a "
            "factor.",
            (table, detail),
            partial(draw_speedups, table, detail, base),
        )
        return SectionContent(
            f"How many times longer than {base} a method needs to reach a target, on the same folds. There "
            "are four targets. The first is the loss that the method itself ends with (within 0.05 %). The "
            "others are 50, 90 and 99 % of the way from the first loss to the best loss of all methods.",
            tables=(table, detail),
            figures=(figure,) if any(speedup.factor is not None for speedup in speedups) else (),
            warnings=warnings,
        )


def _marker(row: Mapping[str, Any]) -> str:
    """A dot; if only one of the two reached the target on some tasks, a triangle towards the true factor."""
    if bool(row["only_baseline"]) == bool(row["only_method"]):
        return "o"
    return ">" if row["only_baseline"] else "<"


def draw_speedups(table: Table, detail: Table, base: str) -> Canvas:
    records = table.records()
    methods = list(dict.fromkeys(table.column("method")))
    canvas = style.canvas(style.PAGE, 0.9 + 0.24 * len(methods))
    first = None
    for at, target in enumerate(TARGETS):
        first = axes = canvas.add_subplot(1, len(TARGETS), at + 1, sharex=first)
        axes.set_xscale("log")
        axes.axvline(1, color=style.FAINT, linewidth=0.8, zorder=0)
        for row in (row for row in records if row["target"] == target and row["factor"] is not None):
            colour, place = style_of(row["method"]).colour, methods.index(row["method"])
            if row["tasks"] < FEWEST_FOR_INTERVAL:
                task_factors = [
                    task["factor"]
                    for task in detail.records()
                    if (task["method"], task["target"]) == (row["method"], target)
                    and task["factor"] is not None
                ]
                axes.plot(task_factors, [place] * len(task_factors), "|", color=colour, markersize=7)
            is_charged = row["only_baseline"] + row["only_method"] > 0
            if row["ci_low"] is not None:
                axes.plot([row["ci_low"], row["ci_high"]], [place, place], color=colour, linewidth=1.4)
            axes.plot(
                row["factor"],
                place,
                marker=_marker(row),
                markersize=5,
                markeredgecolor=colour,
                markerfacecolor="white" if is_charged else colour,
            )
        labels = [style.short(method, 16) for method in methods]
        axes.set_yticks(range(len(methods)), labels if at == 0 else [])
        axes.set_ylim(len(methods) - 0.4, -0.6)
        style.dress(axes, target, f"× {base}'s time", grid="x")
        style.log_ticks(axes.xaxis)
    return canvas


class TargetsSection(Section):
    name = "targets"
    title = "How soon methods come near the best loss"
    least_methods = 2
    least_tasks = 1

    def build(self, results: LearnerResults) -> SectionContent:
        folds = target_folds(results)
        is_true = bool(folds.folds) and folds.is_true
        rule = _RULE.format(best=_OPTIMUM if is_true else _BEST_FOUND)
        warnings = [f"left out, as no method beats the constant predictor: {name}" for name in folds.useless]
        if not folds.folds:
            return SectionContent(rule, warnings=tuple(warnings))
        n, time = len(folds.tasks), folds.time_axis(results)[1]
        over = f"{plural(n, 'task')} and {len(folds.folds)} folds"
        band = (
            f"Shades: 95 % intervals, bootstrapped over {n} tasks ({RESAMPLES} resamples), for the best "
            "methods and the baseline."
            if n >= FEWEST_TASKS
            else f"No intervals: {plural(n, 'task')}, and an interval needs {FEWEST_TASKS}."
        )
        over_time, regrets, factors = _over_time(results, folds), _regret(results, folds), _profiles(folds)

        def figure(table: Table, caption: str, lines: LinePlot, *more: Table) -> Figure:
            drawing = partial(draw_lines, table, lines, results.leaders)
            words = ends_in_words(table, lines)
            return Figure(table.name, table.title, caption, (table, *more), drawing, words, lines)

        return SectionContent(
            rule,
            tables=(_at_moments(results, folds), factors),
            figures=(
                figure(
                    over_time,
                    f"The share of all targets that a method has reached by each moment, over {over}. Higher "
                    "and further left is better. On the page, the target can be chosen.",
                    LinePlot(
                        *("time", "reached", time, "share of targets reached"),
                        low_is_best=False,
                        choice=(f"all {len(GAPS)}", "regret"),
                    ),
                    _by_target(results, folds),
                ),
                figure(
                    regrets,
                    f"The mean over {plural(n, 'task')}. Lower is better. Values below {_LEAST_REGRET:g} "
                    f"are drawn at {_LEAST_REGRET:g}. {band}",
                    LinePlot(
                        *("time", "mean_regret", time, "true regret" if is_true else "normalised regret"),
                        log_y=True,
                        band=("ci_low", "ci_high"),
                        floor=_LEAST_REGRET,
                    ),
                ),
                figure(
                    factors,
                    f"The share of the folds ({over}) on which a method reaches a regret of {PROFILE_GAP:g} "
                    "in at most this multiple of the fastest method's seconds. The value at ×1 is how often "
                    "it is the fastest (ties included), the value at the right edge how often it reaches "
                    "that regret within the largest multiple.",
                    _PROFILE,
                ),
            ),
            warnings=tuple(warnings),
        )


def _over_time(results: LearnerResults, folds: TargetFolds) -> Table:
    moments = folds.moments()
    scale, name = folds.time_axis(results)
    rows: list[list[CellValue]] = []
    for method in results.ranking.methods:
        shares = reached(folds, method, moments).tolist()
        rows += [[method, *row] for row in zip((moments * scale).tolist(), shares, strict=True)]
    return Table(
        "targets-reached",
        "Targets reached over time",
        f"One row for each method and moment ({name}): the share of all targets reached by then.",
        ("method", "time", "reached"),
        rows,
    )


def _by_target(results: LearnerResults, folds: TargetFolds) -> Table:
    moments = folds.moments()
    scale, name = folds.time_axis(results)
    rows: list[list[CellValue]] = []
    for gap in SINGLE_GAPS:
        for method in results.ranking.methods:
            shares = reached(folds, method, moments, np.array([gap])).tolist()
            rows += [[gap, method, *row] for row in zip((moments * scale).tolist(), shares, strict=True)]
    return Table(
        "targets-reached-singly",
        "Single targets reached over time",
        f"One row for each target (a regret), method and moment ({name}): the share of runs that reached "
        "it by then; all tasks have the same weight, and so have all folds of a task.",
        ("regret", "method", "time", "reached"),
        rows,
    )


def _regret(results: LearnerResults, folds: TargetFolds) -> Table:
    moments = folds.moments()
    scale, name = folds.time_axis(results)
    rows: list[list[CellValue]] = []
    for method in results.ranking.methods:
        mean_regret = regret(folds, method, moments)
        low, high = (
            [None] * len(moments) if bound is None else bound.tolist()
            for bound in (mean_regret.low, mean_regret.high)
        )
        columns = (moments * scale).tolist(), mean_regret.mean.tolist(), low, high
        rows += [[method, *row] for row in zip(*columns, strict=True)]
    return Table(
        "regret",
        "True regret over time" if folds.is_true else "Normalised regret over time",
        f"One row for each method and moment ({name}): mean regret over {len(folds.tasks)} tasks, and the "
        f"bounds of its 95 % bootstrap interval over tasks, from {FEWEST_TASKS} tasks on.",
        ("method", "time", "mean_regret", "ci_low", "ci_high"),
        rows,
    )


def _at_moments(results: LearnerResults, folds: TargetFolds) -> Table:
    moments = np.array([0.01, 0.1, 1.0])
    shares = {method: reached(folds, method, moments).tolist() for method in results.ranking.methods}
    return Table(
        "targets-reached-summary",
        "Targets reached at 1, 10 and 100 % of the budget",
        "One row for each method: the share of all targets that it has reached by then.",
        ("method", "at 1 %", "at 10 %", "at the end"),
        [[method, *shares_of_method] for method, shares_of_method in shares.items()],
    )


def _profiles(folds: TargetFolds) -> Table:
    factors, shares = profiles(folds, PROFILE_GAP)
    return Table(
        "performance-profiles",
        f"Performance profiles of the time to a regret of {PROFILE_GAP:g}",
        "One row for each method and factor: the share of folds (all tasks have the same weight) on which "
        f"the method reaches a regret of {PROFILE_GAP:g} within this factor of the fastest method's time. "
        f"If a run never does, its budget counts as its time. Times within ×{TIE_FACTOR:g} of the least are "
        f"a tie; a time below {LEAST_SHARE:.1%} of the budget counts as that.",
        ("method", "factor", "share"),
        [
            [method, float(factor), float(share)]
            for method, shares_of_method in shares.items()
            for factor, share in zip(factors, shares_of_method, strict=True)
        ],
    )
