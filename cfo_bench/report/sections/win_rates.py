"""Who wins against whom: the win rate of every pair of methods, and their Elo ratings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from cfo_bench.metrics import Array
from cfo_bench.report.contents import CellValue, Figure, Section, Table, plural
from cfo_bench.report.looks import look
from cfo_bench.report.numbers.elo import (
    ANCHOR,
    RESAMPLES,
    Rating,
    ratings,
    win_rates,
    wins_by_task,
)
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.significance import FEWEST_TASKS
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.charts import heat_map
from cfo_bench.results.best_so_far import REACHES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# A defeat, an even pair and a win, told apart by everybody.
_COLOURS = ("#D8A15D", "#F6F6F6", "#7FA8D1")


def section(results: LearnerResults) -> Section | None:
    methods = results.methods
    if len(methods) < 2:
        return None
    wins = wins_by_task(results.scores, methods)
    found = ratings(wins, methods, results.baseline)
    order = [one.method for one in found]
    rates = _rates(win_rates(wins), methods, order)
    elo = _elo(found, results)
    n = len(results.scores)
    tasks = plural(n, "task")
    base = look(results.baseline).label
    interval = (
        f"lines are 95 % intervals, bootstrapped over {tasks} ({RESAMPLES} resamples)"
        if n >= FEWEST_TASKS
        else f"no intervals, since they take {FEWEST_TASKS} tasks"
    )
    return Section(
        "win-rates",
        "Who wins against whom",
        f"Over {tasks}: of two methods, the one with the better final score wins the task, however long it "
        f"took. Scores within {100 * (1 - REACHES):.2g} % of each other are a tie, which is half a win for "
        "both. A method without a result loses against all that have one.",
        tables=(elo, rates),
        figures=(
            Figure(
                "win-rates",
                "Win rate of every pair",
                f"The percentage of {tasks} on which the method of the row beats that of the column; ties "
                "are half. The highest Elo first.",
                (rates,),
                partial(draw_rates, rates),
                alt=f"A square of win rates in percent, the highest Elo first: {', '.join(order)}.",
            ),
            Figure(
                "elo",
                "Elo ratings",
                "As in chess: a method with 400 points more than another wins ten times for one defeat. "
                f"{base} is set to {ANCHOR:g}. Over {tasks}; {interval}.",
                (elo,),
                partial(draw_elo, elo),
                alt=f"Elo ratings as dots: {', '.join(f'{one.method} {one.elo:.0f}' for one in found)}.",
            ),
        ),
    )


def _rates(rates: Array, methods: Sequence[str], order: Sequence[str]) -> Table:
    at = [methods.index(method) for method in order]
    rows: list[list[CellValue]] = [
        [methods[i], *(None if i == j or math.isnan(rates[i, j]) else 100 * float(rates[i, j]) for j in at)]
        for i in at
    ]
    return Table(
        "win-rates",
        "Win rate of every pair",
        "The percentage of the tasks on which both are compared where the method of the row ends with a "
        "better score than that of the column; ties are half.",
        ("method", *order),
        rows,
    )


def _elo(found: Sequence[Rating], results: LearnerResults) -> Table:
    return Table(
        "elo",
        "Elo ratings",
        "One row for each method: the ratings that make the wins, ties and defeats of all pairs over "
        f"{len(results.scores)} tasks most likely (Bradley–Terry model); {results.baseline} is set to "
        f"{ANCHOR:g}. One tie is added for each pair, so that a method that always wins has a finite rating. "
        f"For methods with {FEWEST_TASKS} tasks or more: a 95 % interval, bootstrapped over tasks.",
        ("method", "tasks", "elo", "ci_low", "ci_high"),
        [[one.method, one.tasks, one.elo, one.low, one.high] for one in found],
    )


def draw_rates(table: Table) -> Canvas:
    rates = [[math.nan if value is None else float(value) for value in row[1:]] for row in table.rows]
    names = [look(str(row[0])).label for row in table.rows]
    return heat_map(rates, names, names, _COLOURS)


def draw_elo(table: Table) -> Canvas:
    records = table.records()
    canvas, (axes,) = style.panels(1, 1, 2.65, 0.2 * len(records) + 0.1, left=1.2, right=0.25, above=0.1)
    for place, row in enumerate(records):
        found = look(row["method"])
        if row["ci_low"] is not None:
            axes.plot([row["ci_low"], row["ci_high"]], [place, place], color=found.colour, linewidth=1.4)
        axes.plot(row["elo"], place, marker="o", markersize=5, color=found.colour)
    axes.axvline(ANCHOR, color=style.FAINT, linewidth=0.8, zorder=0)
    names = [style.plain(style.shortened(look(row["method"]).label, 16)) for row in records]
    axes.set_yticks(range(len(records)), names)
    axes.set_ylim(len(records) - 0.5, -0.5)
    style.dress(axes, x="Elo", grid="x")
    return canvas
