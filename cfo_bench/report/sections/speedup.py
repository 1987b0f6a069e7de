"""Speed-up factors of the baseline over the other methods, as tables and as points with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from cfo_bench.report.contents import Figure, Place, Section, Table
from cfo_bench.report.looks import in_order, look
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.running_time import (
    FEWEST_FOR_INTERVAL,
    RESAMPLES,
    TARGETS,
    factors,
    summaries,
)
from cfo_bench.report.rendering import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def section(results: LearnerResults) -> Section:
    base = look(results.baseline).label
    found = factors(results)
    detail = Table(
        "speed-ups-by-task",
        f"Speed-ups of {base}, task by task",
        "One row for each task, method and target. Seconds: the expected time to the target, that is all "
        "time spent divided by the number of runs that reached it; a run that never did counts with its "
        f"whole budget, and if none did, the seconds are the budgets of all. Factor: the method's seconds "
        f"divided by those of {base}, the baseline. There is no factor if neither of the two reached the "
        "target, or if a time is below a millisecond. Who: if only one of them reached it, or neither.",
        (
            *("task", "method", "target", "seconds", "reached", "baseline_seconds", "baseline_reached"),
            *("runs", "factor", "who"),
        ),
        [
            [
                *(one.task, one.method, one.target, one.time.seconds, one.time.reached),
                *(one.baseline_time.seconds, one.baseline_time.reached, one.time.runs, one.factor, one.who),
            ]
            for one in found
        ],
    )
    table = Table(
        "speed-ups",
        f"Speed-ups of {base}",
        f"One row for each method and target: how many times longer it takes than {base} (geometric mean "
        f"over tasks); with {FEWEST_FOR_INTERVAL} tasks or more a 95 % interval, bootstrapped over tasks "
        f"({RESAMPLES} resamples). Then on how many tasks only {base}, only the method, or neither reached "
        "the target. If only one did, the other is charged all its budgets, and the factor counts. If "
        "neither did, there is no factor.",
        (
            "method",
            "target",
            "tasks",
            "factor",
            "ci_low",
            "ci_high",
            "only_baseline",
            "only_method",
            "neither",
        ),
        [
            [
                *(one.method, one.target, one.tasks, one.factor, one.low, one.high),
                *(one.only_baseline, one.only_method, one.neither),
            ]
            for one in summaries(found)
        ],
    )
    warnings = () if found else (f"no speed-ups: {results.baseline} shares no task with another method",)
    tasks = len({one.task for one in found})
    points = (
        f"Dots: geometric means over {tasks} tasks; lines: 95 % intervals, bootstrapped over tasks. Where "
        f"fewer than {FEWEST_FOR_INTERVAL} tasks have a factor, a stroke for each of them."
        if tasks >= FEWEST_FOR_INTERVAL
        else f"Strokes: each of the {tasks} tasks, too few for an interval; dots: geometric means."
    )
    figure = Figure(
        "speed-ups",
        f"How many times sooner {base} gets there",
        f"Right of 1, {base} is faster. {points} A hollow triangle to the right: on some tasks only {base} "
        "reached the target, and the method is charged all its budgets. To the left: on some tasks only the "
        "method did. A hollow circle: both happened. Nothing: no task has a factor.",
        (table, detail),
        partial(draw, table, detail, base),
    )
    return Section(
        "speed-ups",
        "How much faster",
        f"How many times longer than {base} a method needs to a target, on the same folds. There are four "
        "targets. The first is the loss that the method itself ends with (within 0.05 %). The others are 50, "
        "90 and 99 % of the way from the first loss to the best loss of all methods.",
        tables=(table, detail),
        figures=(figure,) if any(one.factor is not None for one in found) else (),
        warnings=warnings,
        place=Place.SUPPORT,
    )


def _marker(row: Mapping[str, Any]) -> str:
    """A dot; a triangle where only one of the two reached the target: it points to the slower one's side."""
    if bool(row["only_baseline"]) == bool(row["only_method"]):
        return "o"
    return ">" if row["only_baseline"] else "<"


def draw(table: Table, detail: Table, base: str) -> Canvas:
    records = table.records()
    methods = in_order({row["method"] for row in records})
    canvas = style.canvas(style.PAGE, 0.9 + 0.24 * len(methods))
    first = None
    for at, target in enumerate(TARGETS):
        first = axes = canvas.add_subplot(1, len(TARGETS), at + 1, sharex=first)
        axes.set_xscale("log")
        axes.axvline(1, color=style.FAINT, linewidth=0.8, zorder=0)
        for row in (row for row in records if row["target"] == target and row["factor"] is not None):
            found, place = look(row["method"]), methods.index(row["method"])
            if row["tasks"] < FEWEST_FOR_INTERVAL:
                each = [
                    one["factor"]
                    for one in detail.records()
                    if (one["method"], one["target"]) == (row["method"], target) and one["factor"] is not None
                ]
                axes.plot(each, [place] * len(each), "|", color=found.colour, markersize=7)
            is_charged = row["only_baseline"] + row["only_method"] > 0
            if row["ci_low"] is not None:
                axes.plot([row["ci_low"], row["ci_high"]], [place, place], color=found.colour, linewidth=1.4)
            axes.plot(
                row["factor"],
                place,
                marker=_marker(row),
                markersize=5,
                markeredgecolor=found.colour,
                markerfacecolor="white" if is_charged else found.colour,
            )
        labels = [style.plain(style.shortened(look(method).label, 16)) for method in methods]
        axes.set_yticks(range(len(methods)), labels if at == 0 else [])
        axes.set_ylim(len(methods) - 0.4, -0.6)
        style.dress(axes, target, f"× {base}'s time", grid="x")
        style.log_ticks(axes.xaxis)
    return canvas
