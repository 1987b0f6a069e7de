"""Are the differences significant? Ranks over time, critical differences, tests of every pair, win rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.metrics import Array
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
from cfo_bench.report.numbers.elo import (
    ANCHOR,
    ELO_RESAMPLES,
    Rating,
    ratings,
    win_rates,
    wins_by_task,
)
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.ranking import Ranking, RankTests
from cfo_bench.report.numbers.scores import TIE_FACTOR
from cfo_bench.report.numbers.significance import (
    FEWEST_TASKS,
    LEVEL,
    NOT_SIGNIFICANT,
    RESAMPLES,
    Pair,
    bootstrap_bounds,
    cliques,
    critical_difference,
    in_words,
    least_p,
)
from cfo_bench.report.rendering import style
from cfo_bench.report.rendering.charts import draw_lines, ends_in_words, heat_map
from cfo_bench.results.best_so_far import REACHES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_MOMENTS = 60
_FIRST_SHARE = 1e-4
_RANKS = LinePlot(
    *("share", "mean_rank", "share of the budget", "mean rank (1 is best)"),
    best_on_top=True,
    band=("ci_low", "ci_high"),
    fits_band=True,
)
# A defeat, an even pair and a win, in colours that people with colour blindness can tell apart.
_COLOURS = ("#D8A15D", "#F6F6F6", "#7FA8D1")


class StatisticsSection(Section):
    name = "statistics"
    title = "Statistics"
    place = Place.SUPPORT
    least_methods = 2
    least_tasks = FEWEST_TASKS

    def build(self, results: LearnerResults) -> SectionContent:
        ranking = results.ranking
        methods, tasks = ranking.methods, ranking.tasks
        warnings = []
        if ranking.left_out:
            warnings.append(f"left out, as compared on too few of the tasks: {', '.join(ranking.left_out)}")
        if len(tasks) < len(results.scores):
            names = [task.task for task in results.scores if task not in tasks]
            warnings.append(f"left out, as not every method is compared there: {', '.join(names)}")
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
                "At each moment the methods are ranked by their mean score so far; a line is the mean rank "
                f"over {len(tasks)} tasks. 1 is best. A method that reaches the score of a better one within "
                f"×{TIE_FACTOR:g} of the time ties with it. Methods without a result yet share the last "
                f"place. Shades: 95 % intervals, bootstrapped over tasks ({RESAMPLES} resamples), for the "
                "best methods and the baseline.",
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
                [
                    "Friedman",
                    "task",
                    test.tasks,
                    test.methods,
                    test.statistic,
                    test.p,
                    _friedman_verdict(test.p),
                ]
            )
            rows.append(
                ["Nemenyi, critical difference", "task", len(tasks), len(methods), difference, None, None]
            )
            figures.append(
                Figure(
                    "critical-difference",
                    "Critical differences of the mean ranks",
                    f"Final mean ranks over {len(tasks)} tasks; 1 is best. The differences between methods "
                    "that are joined by a bar are not significant (Nemenyi's test at 5 %). Friedman's p = "
                    f"{test.p:.2g}{'' if test.p < LEVEL else f', {NOT_SIGNIFICANT}'}.",
                    (mean_ranks,),
                    partial(draw_differences, mean_ranks),
                )
            )
        pairs = {"every pair": ranking.tests.pairs}
        tables = [_pairs("pairs", "Every pair of methods", len(tasks), ranking.tests.pairs)]
        if results.baseline in methods:
            pairs[f"{results.baseline} against each"] = ranking.tests.baseline_pairs
            title_of = f"Each method against {results.baseline}, the baseline"
            tables.insert(0, _pairs("against-baseline", title_of, len(tasks), ranking.tests.baseline_pairs))
        tables.insert(0, _of_leaders(ranking.tests))
        for what, of_table in pairs.items():
            p = least_p(len(tasks), len(of_table))
            rows.append([f"least p, {what}", "task", len(tasks), len(methods), None, p, None])
            if p >= LEVEL:
                warnings.append(
                    f"{what}: with {len(tasks)} tasks the least possible p after Holm's correction is "
                    f"{p:.2g}, so no difference of this table can be significant"
                )
        tests = Table(
            "tests",
            "All methods at once",
            "Friedman: the test of whether the methods differ at all, its χ² and p. Nemenyi: how far apart "
            "two mean ranks have to be to differ at 5 %. Least p: the p of Wilcoxon's test, corrected by "
            "Holm, if one method were better on every task. If that is above 5 %, there are too few tasks "
            "for a significant difference of a pair.",
            ("test", "unit", "tasks", "methods", "value", "p", "verdict"),
            rows,
        )
        return SectionContent(
            "Are the differences significant, or could they be chance? Each task counts as one observation: "
            "the mean over its folds. A method without any result on a task ranks last on it. Scores that "
            "differ by less than 0.05 % count as equal. “Not significant” means that the runs are not enough "
            "evidence of a difference, which does not mean that the methods are equally good.",
            tables=(mean_ranks, tests, *tables, over_time),
            figures=tuple(figures),
            warnings=tuple(warnings),
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
    ranks = np.swapaxes(ranking.ranks_over(shares), 0, 1)  # tasks, moments, methods
    numbers = np.stack([ranks.mean(axis=0), *bootstrap_bounds(ranks)], axis=-1).tolist()
    rows: list[list[CellValue]] = [
        [share, method, *numbers_of_method]
        for share, numbers_at in zip(shares.tolist(), numbers, strict=True)
        for method, numbers_of_method in zip(ranking.methods, numbers_at, strict=True)
    ]
    return Table(
        "ranks-over-time",
        "Mean rank over time",
        f"One row for each moment (share of the budget) and method: its mean rank over {len(ranking.tasks)} "
        "tasks by the mean score so far, and the bounds of its 95 % bootstrap interval over tasks.",
        ("share", "method", "mean_rank", "ci_low", "ci_high"),
        rows,
    )


def _mean_ranks(methods: Sequence[str], final: Array, difference: float) -> Table:
    return Table(
        "mean-ranks",
        "Final mean ranks",
        f"One row for each method, over {len(final)} tasks: the mean rank of its final score, on how many "
        "tasks its score is the best (ties count), and how far apart two mean ranks have to be to differ "
        "at 5 % (critical difference).",
        ("method", "mean_rank", "first", "tasks", "critical_difference"),
        [
            [
                method,
                float(ranks.mean()),
                int((ranks == final.min(axis=1)).sum()),
                len(final),
                difference,
            ]
            for method, ranks in zip(methods, final.T, strict=True)
        ],
    )


_DIRECTION = (
    "The test ranks the differences by size, so a method that is ahead on fewer tasks, but by more, may be "
    "the better one."
)


def _pairs(name: str, title: str, tasks: int, pairs: Sequence[Pair]) -> Table:
    note = (
        f"p after Holm's correction, since the table has {len(pairs)} pairs. The least possible p is "
        f"{least_p(tasks, len(pairs)):.2g}. {_DIRECTION}"
    )
    return _pair_table(name, title, tasks, pairs, "p_holm", note)


def _of_leaders(tests: RankTests) -> Table:
    leaders = tests.lead.leaders
    return _pair_table(
        "leader",
        f"{in_words(leaders)}, with the best mean rank, against each method",
        len(tests.ranks),
        [pair for leader in leaders for pair in tests.pairs_of(leader)],
        "p_corrected",
        "p after the triangle step-up, since the leader is known only after the runs: the k-th largest p is "
        "multiplied by k(k+1)/2 (a p in favour of the other method counts as 1), and the corrected p is the "
        f"least product so far. {_DIRECTION}",
    )


def _pair_table(name: str, title: str, tasks: int, pairs: Sequence[Pair], corrected: str, note: str) -> Table:
    return Table.of(
        name,
        title,
        f"One row for each pair, over {tasks} tasks: on how many the first method is better, worse, equal; "
        f"the median difference of their scaled scores; p of Wilcoxon's signed-rank test, and {note}",
        pairs,
        {
            "method": lambda pair: pair.method,
            "other": lambda pair: pair.other,
            "better": lambda pair: pair.wins,
            "worse": lambda pair: pair.losses,
            "equal": lambda pair: pair.ties,
            "median_difference": lambda pair: pair.median_difference,
            "p": lambda pair: pair.p,
            corrected: lambda pair: pair.p_corrected,
            "verdict": lambda pair: pair.verdict,
        },
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


class WinRatesSection(Section):
    name = "win-rates"
    title = "Win rates and Elo ratings"
    least_methods = 2

    def build(self, results: LearnerResults) -> SectionContent:
        methods = results.methods
        wins = wins_by_task(results.scores, methods)
        elo_ratings = ratings(wins, methods, results.baseline)
        rates = _rates(win_rates(wins), methods)
        elo = _elo(elo_ratings, results)
        n = len(results.scores)
        tasks = plural(n, "task")
        base = results.baseline
        interval = (
            f"lines are 95 % intervals, bootstrapped over {tasks} ({ELO_RESAMPLES} resamples)"
            if n >= FEWEST_TASKS
            else f"no intervals, since they need {FEWEST_TASKS} tasks"
        )
        return SectionContent(
            f"Over {tasks}: of two methods, the one with the better final score wins the task, however long "
            f"it took. Scores within {100 * (1 - REACHES):.2g} % of each other are a tie, which is half a "
            "win for both. A method without a result loses against all that have one.",
            tables=(elo, rates),
            figures=(
                Figure(
                    "win-rates",
                    "Win rate of every pair",
                    f"The percentage of {tasks} on which the method of the row beats that of the column; "
                    "ties are half.",
                    (rates,),
                    partial(draw_rates, rates),
                    alt=f"A square of win rates in percent: {', '.join(methods)}.",
                ),
                Figure(
                    "elo",
                    "Elo ratings",
                    "As in chess: a method with 400 points more than another wins ten times for each defeat. "
                    f"{base} is set to {ANCHOR:g}. Over {tasks}; {interval}.",
                    (elo,),
                    partial(draw_elo, elo),
                    alt="Elo ratings as dots: "
                    + ", ".join(f"{rating.method} {rating.elo:.0f}" for rating in elo_ratings),
                ),
            ),
        )


def _rates(rates: Array, methods: Sequence[str]) -> Table:
    rows: list[list[CellValue]] = [
        [
            method,
            *(None if i == j or math.isnan(rate) else 100 * float(rate) for j, rate in enumerate(rates[i])),
        ]
        for i, method in enumerate(methods)
    ]
    return Table(
        "win-rates",
        "Win rate of every pair",
        "The percentage of the tasks on which both are compared where the method of the row ends with a "
        "better score than that of the column; ties are half.",
        ("method", *methods),
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
