"""Are the differences significant? Ranks over time, critical differences, tests of every pair, win rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.contents import CellValue, Figure, LinePlot, Place, Section, Table, plural
from cfo_bench.report.method_styles import style_of
from cfo_bench.report.numbers.elo import (
    ANCHOR,
    RESAMPLES,
    Rating,
    ratings,
    win_rates,
    wins_by_task,
)
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.ranking import Ranking
from cfo_bench.report.numbers.scores import TIE_FACTOR
from cfo_bench.report.numbers.significance import (
    FEWEST_TASKS,
    LEVEL,
    NOT_SIGNIFICANT,
    Pair,
    cliques,
    critical_difference,
)
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.charts import draw_lines, ends_in_words, heat_map
from cfo_bench.results.best_so_far import REACHES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_MOMENTS = 60
_FIRST_SHARE = 1e-4
_RANKS = LinePlot("share", "mean_rank", "share of the budget", "mean rank (1 is best)", best_on_top=True)
# A defeat, an even pair and a win, in colours that people with colour blindness can tell apart.
_COLOURS = ("#D8A15D", "#F6F6F6", "#7FA8D1")


def section(results: LearnerResults) -> Section:
    ranking = results.ranking
    methods, tasks = ranking.methods, ranking.tasks
    warnings = []
    if ranking.left_out and tasks:
        warnings.append(f"left out, as compared on too few of the tasks: {', '.join(ranking.left_out)}")
    if tasks and len(tasks) < len(results.scores):
        names = [task.task for task in results.scores if task not in tasks]
        warnings.append(f"left out, as not every method is compared there: {', '.join(names)}")
    title, intro = (
        "Statistics",
        "Are the differences significant, or could they be chance? Each task counts as one observation: the "
        "mean over its folds. A method without any result on a task ranks last on it. Scores that differ by "
        "less than 0.05 % count as equal. “Not significant” means that the runs are not enough evidence of a "
        "difference, which does not mean that the methods are equally good.",
    )
    if len(methods) < 2 or len(tasks) < FEWEST_TASKS:
        why = (
            plural(len(results.methods), "method")
            if len(results.methods) < 2
            else f"{plural(len(tasks), 'task')} with every method"
        )
        warnings.append(f"no statistics: {why}, and a test needs two methods and {FEWEST_TASKS} tasks")
        return Section("statistics", title, "", warnings=tuple(warnings), place=Place.SUPPORT)
    imputed = [
        f"{task.task} {method}" for task in tasks for method in methods if task.methods[method].has_failed
    ]
    if imputed:
        warnings.append(f"no result, so ranked last: {', '.join(imputed)}")
    over_time = _over_time(ranking)
    final = ranking.final_ranks
    difference = critical_difference(len(tasks), len(methods))
    mean_ranks = _mean_ranks(methods, final, difference)
    figures = [
        Figure(
            "ranks-over-time",
            "Mean rank over time",
            f"At each moment the methods are ranked by their mean score so far; a line is the mean rank over "
            f"{len(tasks)} tasks. 1 is best. A method that reaches the score of a better one within "
            f"×{TIE_FACTOR:g} of the time ties with it. Methods without a result yet share the last place.",
            (over_time,),
            partial(draw_lines, over_time, _RANKS, results.leaders),
            ends_in_words(over_time, _RANKS),
            _RANKS,
            is_answer=True,
        )
    ]
    test = ranking.tests.friedman
    rows: list[list[CellValue]] = []
    if test is None:
        warnings.append("no Friedman test: it needs three methods")
    else:
        rows.append(
            ["Friedman", "task", test.tasks, test.methods, test.statistic, test.p, _friedman_verdict(test.p)]
        )
        rows.append(
            ["Nemenyi, critical difference", "task", len(tasks), len(methods), difference, None, None]
        )
        figures.append(
            Figure(
                "critical-difference",
                "Critical differences of the mean ranks",
                f"Final mean ranks over {len(tasks)} tasks; 1 is best. The differences between methods that "
                "are joined by a bar are not significant (Nemenyi's test at 5 %). Friedman's p = "
                f"{test.p:.2g}{'' if test.p < LEVEL else ': no difference is significant'}.",
                (mean_ranks,),
                partial(draw_differences, mean_ranks),
            )
        )
    least = {"every pair": ranking.tests.pairs[0].least_p_holm}
    tables = [_pairs("pairs", "Every pair of methods", len(tasks), ranking.tests.pairs)]
    if results.baseline in methods:
        pairs = ranking.tests.baseline_pairs
        least[f"{results.baseline} against each"] = pairs[0].least_p_holm
        title_of = f"Each method against {results.baseline}, the baseline"
        tables.insert(0, _pairs("against-baseline", title_of, len(tasks), pairs))
    for what, p in least.items():
        rows.append([f"least p, {what}", "task", len(tasks), len(methods), None, p, None])
        if p >= LEVEL:
            warnings.append(
                f"{what}: with {len(tasks)} tasks the least possible p after Holm's correction is {p:.2g}, "
                "so no difference can be significant"
            )
    tests = Table(
        "tests",
        "All methods at once",
        "Friedman: the test of whether the methods differ at all, its χ² and p. Nemenyi: how far apart two "
        "mean ranks have to be to differ at 5 %. Least p: the p of Wilcoxon's test, corrected by Holm, if "
        "one method were better on every task. If that is above 5 %, there are too few tasks for a "
        "significant difference of a pair.",
        ("test", "unit", "tasks", "methods", "value", "p", "verdict"),
        rows,
    )
    return Section(
        "statistics",
        title,
        intro,
        tables=(mean_ranks, tests, *tables, over_time),
        figures=tuple(figures),
        warnings=tuple(warnings),
        place=Place.SUPPORT,
    )


def _friedman_verdict(p: float) -> str:
    return "the methods differ" if p < LEVEL else NOT_SIGNIFICANT


def _over_time(ranking: Ranking) -> Table:
    begin = min(
        (
            float(curve.seconds[0]) / task.budget_seconds
            for task in ranking.tasks
            for method in ranking.methods
            if (curve := task.methods[method].curve) is not None
        ),
        default=_FIRST_SHARE,
    )
    shares = np.geomspace(min(max(begin, _FIRST_SHARE), 0.5), 1.0, _MOMENTS)
    means = ranking.ranks_over(shares).mean(axis=1)
    rows: list[list[CellValue]] = [
        [share, method, mean]
        for share, means_at in zip(shares.tolist(), means.tolist(), strict=True)
        for method, mean in zip(ranking.methods, means_at, strict=True)
    ]
    return Table(
        "ranks-over-time",
        "Mean rank over time",
        f"One row for each moment (share of the budget) and method: its mean rank over {len(ranking.tasks)} "
        "tasks by the mean score so far.",
        ("share", "method", "mean_rank"),
        rows,
    )


def _mean_ranks(methods: Sequence[str], final: Array, difference: float) -> Table:
    means = final.mean(axis=0)
    order = sorted(range(len(methods)), key=lambda i: float(means[i]))
    return Table(
        "mean-ranks",
        "Final mean ranks",
        f"One row for each method, over {len(final)} tasks: the mean rank of its final score, on how many "
        "tasks its score is the best (ties count), and how far apart two mean ranks have to be to differ "
        "at 5 % (critical difference).",
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


def _pairs(name: str, title: str, tasks: int, pairs: Sequence[Pair]) -> Table:
    least = f" The least possible p is {pairs[0].least_p_holm:.2g}." if pairs else ""
    return Table(
        name,
        title,
        f"One row for each pair, over {tasks} tasks: on how many the first method is better, worse, equal; "
        "the median difference of their scaled scores; p of Wilcoxon's signed-rank test, and p after Holm's "
        f"correction, since the table has {len(pairs)} pairs.{least} The test ranks the differences by size, "
        "so a method that is ahead on fewer tasks, but by more, may be the better one.",
        (
            *("method", "other", "better", "worse", "equal", "median_difference"),
            *("p", "p_holm", "verdict"),
        ),
        [
            [
                *(pair.one, pair.other, pair.wins, pair.losses, pair.ties, pair.median_difference),
                *(pair.p, pair.p_holm, pair.verdict),
            ]
            for pair in pairs
        ],
    )


def draw_differences(table: Table) -> Canvas:
    """Demšar's diagram: mean ranks on a line, and bars under groups without significant differences."""
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
    length = min(difference, high - low)
    axes.plot([low, low + length], [-0.95, -0.95], color=style.INK, linewidth=1.6)
    axes.text(
        low + length / 2,
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
        colour = style_of(row["method"]).colour
        axes.plot([means[at], means[at], side], [0, height, height], color=colour, linewidth=1.0)
        label = style.short(row["method"], 14)
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


def win_rates_section(results: LearnerResults) -> Section | None:
    methods = results.methods
    if len(methods) < 2:
        return None
    wins = wins_by_task(results.scores, methods)
    elo_ratings = ratings(wins, methods, results.baseline)
    order = [rating.method for rating in elo_ratings]
    rates = _rates(win_rates(wins), methods, order)
    elo = _elo(elo_ratings, results)
    n = len(results.scores)
    tasks = plural(n, "task")
    base = results.baseline
    interval = (
        f"lines are 95 % intervals, bootstrapped over {tasks} ({RESAMPLES} resamples)"
        if n >= FEWEST_TASKS
        else f"no intervals, since they need {FEWEST_TASKS} tasks"
    )
    return Section(
        "win-rates",
        "Win rates and Elo ratings",
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
                alt="Elo ratings as dots: "
                + ", ".join(f"{rating.method} {rating.elo:.0f}" for rating in elo_ratings),
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


def _elo(elo_ratings: Sequence[Rating], results: LearnerResults) -> Table:
    return Table(
        "elo",
        "Elo ratings",
        "One row for each method: the ratings that make the wins, ties and defeats of all pairs over "
        f"{len(results.scores)} tasks most likely (Bradley–Terry model); {results.baseline} is set to "
        f"{ANCHOR:g}. One tie is added for each pair, so that a method that always wins has a finite rating. "
        f"For methods with {FEWEST_TASKS} tasks or more: a 95 % interval, bootstrapped over tasks.",
        ("method", "tasks", "elo", "ci_low", "ci_high"),
        [[rating.method, rating.tasks, rating.elo, rating.low, rating.high] for rating in elo_ratings],
    )


def draw_rates(table: Table) -> Canvas:
    rates = [[math.nan if value is None else float(value) for value in row[1:]] for row in table.rows]
    names = [str(row[0]) for row in table.rows]
    return heat_map(rates, names, names, _COLOURS)


def draw_elo(table: Table) -> Canvas:
    records = table.records()
    canvas, (axes,) = style.panels(1, 1, 2.65, 0.2 * len(records) + 0.1, left=1.2, right=0.25, above=0.1)
    for place, row in enumerate(records):
        colour = style_of(row["method"]).colour
        if row["ci_low"] is not None:
            axes.plot([row["ci_low"], row["ci_high"]], [place, place], color=colour, linewidth=1.4)
        axes.plot(row["elo"], place, marker="o", markersize=5, color=colour)
    axes.axvline(ANCHOR, color=style.FAINT, linewidth=0.8, zorder=0)
    names = [style.short(row["method"], 16) for row in records]
    axes.set_yticks(range(len(records)), names)
    axes.set_ylim(len(records) - 0.5, -0.5)
    style.dress(axes, x="Elo", grid="x")
    return canvas
