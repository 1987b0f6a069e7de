"""Frugality: the cost of trials over time, the time in trials more expensive than the best, time shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from statistics import fmean, median
from typing import TYPE_CHECKING

from cfo_bench.records import EndReason
from cfo_bench.report.contents import CellValue, Figure, LinePlot, Section, SectionContent, Table
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.charts import (
    BOX_COLUMNS,
    box,
    draw_lines,
    ends_in_words,
    paint_boxes,
    values_in_words,
)
from cfo_bench.results.digest import COST_BIN_EDGES
from cfo_bench.results.run import Run
from cfo_bench.results.summary import ROUND_TRIPS_PER_TRIAL, RoundTrips, round_trips

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# The parts of a run's time, and the colour of each.
_COLOURS = {
    "overhead": "#D55E00",
    "fit": "#0072B2",
    "validate": "#56B4E9",
    "harness": "#767676",
    "idle": "#DDDDDD",
}

_COSTS = LinePlot(
    *("to_share", "cost_share", "share of the budget", "cost of a trial / budget"), log_y=True, steps=False
)


class FrugalitySection(Section):
    name = "frugality"
    title = "Frugality: where the seconds go"

    def build(self, results: LearnerResults) -> SectionContent:
        costs = _costs(results)
        over_time = _over_time(results, costs)
        by_task = _shares_by_task(results)
        shares = _shares(results, by_task)
        dearer = _dearer(results, by_task)
        budget, threads = _budget(results), _threads(results)
        programs = _programs(results)
        figures = [
            Figure(
                "trial-cost",
                "Cost of a trial over time",
                "The mean seconds of a trial, as a share of the budget, by the moment when it ended "
                "(geometric mean over tasks).",
                (over_time,),
                partial(draw_lines, over_time, _COSTS, results.leaders),
                ends_in_words(over_time, _COSTS),
                _COSTS,
            ),
            Figure(
                "dearer-share",
                "Time in trials that are more expensive than the best one",
                "The share of a run's time in trials that took longer than its best one. Boxes are over "
                "tasks; with fewer than six tasks, each is a dot.",
                (dearer, by_task),
                partial(draw_dearer, dearer, by_task),
                "Share of the time in trials that are more expensive than the best one, by method. "
                f"{values_in_words(by_task.values_by_method('dearer'))}",
            ),
            Figure(
                "time-shares",
                "Where the time goes",
                "Means over tasks. Overhead: the method's own time, to choose configurations and to learn "
                "from results. Fit: to train models. Validate: to score them. Harness: cfo-bench's own work "
                "between and around trials, such as writing the trace and restarting a process that was "
                "stopped; on a busy machine also waiting for a processor. Idle: neither of these, such as "
                "the seconds after "
                "the last trial. With parallel trials, idle is the rest." + _programs_in_words(programs),
                (shares,),
                partial(draw_shares, shares),
            ),
        ]
        return SectionContent(
            "A frugal method starts with cheap trials, and spends little time in trials that are more "
            "expensive than its final best one.",
            tables=(
                shares,
                *((_round_trips(programs),) if programs else ()),
                dearer,
                budget,
                *((threads,) if threads.rows else ()),
                by_task,
                over_time,
                costs,
            ),
            # Runs without a single trial leave nothing to draw.
            figures=tuple(figure for figure in figures if all(table.rows for table in figure.tables)),
        )


def _costs(results: LearnerResults) -> Table:
    """The mean cost in each bin, over the runs that have a trial in it."""
    rows: list[list[CellValue]] = []
    for (task, method), runs in results.compared.items():
        for at, column in enumerate(zip(*(run.digest.cost_bins for run in runs), strict=True)):
            costs = [cost for cost in column if cost is not None]
            if costs:
                edges = float(COST_BIN_EDGES[at]), float(COST_BIN_EDGES[at + 1])
                rows.append([task, method, *edges, fmean(costs), runs[0].budget_seconds, len(costs)])
    return Table(
        "trial-cost-by-task",
        "Cost of a trial over time, task by task",
        "One row for each task, method and part of the budget (from, to): the mean seconds to fit and "
        "validate a trial that ended in it, and the number of runs with such a trial.",
        ("task", "method", "from_share", "to_share", "mean_seconds", "budget_seconds", "runs"),
        rows,
    )


def _over_time(results: LearnerResults, costs: Table) -> Table:
    groups: dict[tuple[str, float], list[float]] = {}
    columns = map(costs.column, ("method", "to_share", "mean_seconds", "budget_seconds"))
    for method, to_share, seconds, budget in zip(*columns, strict=True):
        if seconds > 0:
            groups.setdefault((method, to_share), []).append(math.log(seconds / budget))
    rows: list[list[CellValue]] = [
        [method, to_share, math.exp(fmean(logs)), len(logs)]
        for method in results.methods
        for (name, to_share), logs in sorted(groups.items())
        if name == method
    ]
    return Table(
        "trial-cost",
        "Cost of a trial over time",
        "One row for each method and part of the budget (up to this share): the mean cost of a trial that "
        "ended in it, as a share of the budget (geometric mean over tasks), and the number of tasks with "
        "such a trial.",
        ("method", "to_share", "cost_share", "tasks"),
        rows,
    )


def _shares_by_task(results: LearnerResults) -> Table:
    rows: list[list[CellValue]] = []
    for (task, method), runs in results.compared.items():
        totals = [sum(run.spent.values()) for run in runs]
        shares = [
            fmean(run.spent[kind] / total if total else 0.0 for run, total in zip(runs, totals, strict=True))
            for kind in ("method", "fit", "validate", "harness", "idle")
        ]
        rows.append([task, method, *shares, fmean(run.expensive_share for run in runs), len(runs)])
    return Table(
        "time-shares-by-task",
        "Where the time goes, task by task",
        "One row for each task and method, means over runs: the shares of the time of the method (overhead), "
        "of fit, of validation, of cfo-bench's own work (harness), and the rest (idle); and the share in "
        "trials that are more expensive than the best one (in the CSV file: `dearer`).",
        ("task", "method", *_COLOURS, "dearer", "runs"),
        rows,
    )


def _shares(results: LearnerResults, by_task: Table) -> Table:
    by_method = by_task.records_by("method")
    rows: list[list[CellValue]] = [
        [
            method,
            *(fmean(row[kind] for row in by_method[method]) for kind in _COLOURS),
            len(by_method[method]),
        ]
        for method in results.methods
        if method in by_method
    ]
    return Table(
        "time-shares",
        "Where the time goes",
        "One row for each method: the shares of the time, means over tasks.",
        ("method", *_COLOURS, "tasks"),
        rows,
    )


def _programs(results: LearnerResults) -> dict[str, RoundTrips]:
    """The round trips of each method that is a program of its own."""
    trips = {method: round_trips(_runs_of(results, method)) for method in results.methods}
    return {method: of_method for method, of_method in trips.items() if of_method is not None}


def _runs_of(results: LearnerResults, method: str) -> list[Run]:
    """The runs of a method that are compared."""
    return [run for (_, name), runs in results.compared.items() if name == method for run in runs]


def _programs_in_words(programs: Mapping[str, RoundTrips]) -> str:
    return "".join(f" {trips.in_words(method)}" for method, trips in programs.items())


def _round_trips(programs: Mapping[str, RoundTrips]) -> Table:
    return Table(
        "round-trips",
        "Round trips to a program",
        "One row for each method that is a program of its own: the seconds of an empty question and answer "
        "(the median over runs, measured before the clock starts); the number of them in a trial; their "
        "share of the time, which is part of the overhead (mean over runs); and the command.",
        ("method", "round_trip_seconds", "round_trips_a_trial", "share_of_time", "command"),
        [
            [method, trips.seconds, ROUND_TRIPS_PER_TRIAL, trips.share, trips.command]
            for method, trips in programs.items()
        ],
    )


def _dearer(results: LearnerResults, by_task: Table) -> Table:
    rows: list[list[CellValue]] = []
    by_method = by_task.values_by_method("dearer")
    for method in results.methods:
        if values := by_method.get(method):
            rows.append([method, len(values), *box(values)])
    return Table(
        "dearer-share",
        "Time in trials that are more expensive than the best one",
        "One row for each method, over tasks: quartiles, whiskers (the furthest within 1.5 times the length "
        "of the box) and mean of the share of the time in trials that are more expensive than the best one.",
        ("method", "tasks", *BOX_COLUMNS),
        rows,
    )


def _budget(results: LearnerResults) -> Table:
    rows: list[list[CellValue]] = []
    for method in results.methods:
        runs = _runs_of(results, method)
        full = [run for run in runs if run.end and run.end.reason is EndReason.BUDGET]
        shares = [run.measured_seconds / run.budget_seconds for run in full]
        over = max((run.measured_seconds - run.budget_seconds for run in full), default=None)
        spread = [min(shares), median(shares), max(shares)] if shares else [None] * 3
        rows.append([method, len(runs), len(full), *spread, over, sum(run.n_trials for run in runs)])
    return Table(
        "budget-kept",
        "How exactly the budget was kept",
        "One row for each method: the number of its runs, and of those that ended because the budget was "
        "spent; of the latter the least, median and largest time as a multiple of the budget, and the most "
        "seconds past it; and the number of all trials.",
        ("method", "runs", "spent_it", "least", "median", "most", "seconds_past", "trials"),
        rows,
    )


def _threads(results: LearnerResults) -> Table:
    """The table has no rows if no run has measured its threads: virtual clock, or an older version."""
    rows: list[list[CellValue]] = []
    for method in results.methods:
        runs = _runs_of(results, method)
        of_learner = [run.digest.learner_threads or 0.0 for run in runs]
        of_method = [run.digest.method_threads or 0.0 for run in runs]
        if any(of_learner) or any(of_method):
            given = max(run.spec.threads for run in runs)
            used = [spread(threads) for spread in (median, max) for threads in (of_learner, of_method)]
            rows.append([method, given, *used, len(runs)])
    return Table(
        "threads",
        "How many threads were used",
        "One row for each method: the threads that a run was given, and those that it used: processor "
        "seconds for each second of its trials (learner), and of the method's asks and tells (method), "
        "median and maximum over runs. Waiting, for example on a busy machine, reduces them.",
        ("method", "given", "learner", "method_itself", "learner_most", "method_itself_most", "runs"),
        rows,
    )


def draw_dearer(table: Table, by_task: Table) -> Canvas:
    records = table.records()
    canvas = style.canvas(style.COLUMN, 0.6 + 0.27 * len(records))
    axes = canvas.add_subplot()
    paint_boxes(axes, records, by_task.values_by_method("dearer"))
    axes.set_xlim(-0.02, 1.02)
    style.dress(axes, x="share of the time", grid="x")
    return canvas


def draw_shares(table: Table) -> Canvas:
    from matplotlib.patches import Patch

    records = table.records()
    canvas = style.canvas(style.COLUMN, 0.85 + 0.27 * len(records))
    axes = canvas.add_subplot()
    for at, row in enumerate(reversed(records)):
        left = 0.0
        for kind, colour in _COLOURS.items():
            axes.barh(at, row[kind], left=left, color=colour, height=0.7)
            left += row[kind]
    labels = [style.short(row["method"], 18) for row in reversed(records)]
    axes.set_yticks(range(len(records)), labels)
    axes.set_xlim(0, 1)
    style.dress(axes, x="share of the time", grid="")
    style.legend(canvas, [Patch(color=colour, label=kind) for kind, colour in _COLOURS.items()], 3)
    return canvas
