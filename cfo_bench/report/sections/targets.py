"""How soon methods come near the best loss: targets reached, regret over time, performance profiles."""

from __future__ import annotations

from functools import partial

import numpy as np

from cfo_bench.report.contents import CellValue, Figure, LinePlot, Section, Table, plural
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import TIE_FACTOR
from cfo_bench.report.numbers.significance import FEWEST_TASKS
from cfo_bench.report.numbers.target_times import (
    GAPS,
    LEAST_SHARE,
    PROFILE_GAP,
    RESAMPLES,
    TargetFolds,
    profiles,
    reached,
    regret,
    target_folds,
)
from cfo_bench.report.rendering.charts import draw_lines, ends_in_words

_TITLE = "How soon methods come near the best loss"
_BEST_FOUND = "the best loss that any method has on that fold"
_OPTIMUM = "the least loss of all configurations on that fold, which the recording knows"
_RULE = (
    "Regret says how far the best loss so far is from {best}. At 0 the run has that loss, at 1 it is no "
    "better than the constant predictor; before its first trial has ended, it is 1. A run has "
    f"{len(GAPS)} targets: values of the regret from 1 to {GAPS[-1]:g}, evenly on a log scale. Every task "
    "counts the same, and so does every fold of a task."
)
# Regrets below this are drawn at the edge.
_LEAST_REGRET = 1e-3
_PROFILE = LinePlot(
    *("factor", "share", "times the fastest method's seconds", "share of folds"), low_is_best=False
)


def section(results: LearnerResults) -> Section | None:
    """None without two methods that are compared: one alone would be measured against itself."""
    if not results.ranking.tasks:
        return None
    found = target_folds(results)
    is_true = bool(found.folds) and found.is_true
    rule = _RULE.format(best=_OPTIMUM if is_true else _BEST_FOUND)
    warnings = [f"left out, as no method beats the constant predictor: {name}" for name in found.useless]
    if not found.folds:
        return Section("targets", _TITLE, rule, warnings=tuple(warnings))
    n, time = len(found.tasks), found.time_axis(results)[1]
    over = f"{plural(n, 'task')} and {len(found.folds)} folds"
    band = (
        f"Shades: 95 % intervals, bootstrapped over {n} tasks ({RESAMPLES} resamples), for the best methods "
        "and the baseline."
        if n >= FEWEST_TASKS
        else f"No intervals: {plural(n, 'task')}, and it takes {FEWEST_TASKS} for one."
    )
    over_time, regrets, factors = _over_time(results, found), _regret(results, found), _profiles(found)

    def figure(table: Table, caption: str, lines: LinePlot) -> Figure:
        drawing = partial(draw_lines, table, lines, results.leaders)
        return Figure(table.name, table.title, caption, (table,), drawing, ends_in_words(table, lines), lines)

    return Section(
        "targets",
        _TITLE,
        rule,
        tables=(_at_moments(results, found), factors),
        figures=(
            figure(
                over_time,
                f"The share of all targets that a method has reached by each moment, over {over}. Higher and "
                "further left is better.",
                LinePlot("time", "reached", time, "share of targets reached", low_is_best=False),
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
                f"On which share of the folds ({over}) a method gets to a regret of {PROFILE_GAP:g} in at "
                "most so many times the seconds of the fastest method. The value at ×1 says how often it "
                "is the fastest (ties included), the value at the right edge how often it gets there at "
                "all in the time shown.",
                _PROFILE,
            ),
        ),
        warnings=tuple(warnings),
    )


def _over_time(results: LearnerResults, found: TargetFolds) -> Table:
    moments = found.moments()
    scale, name = found.time_axis(results)
    rows: list[list[CellValue]] = []
    for method in results.ranking.methods:
        shares = reached(found, method, moments).tolist()
        rows += [[method, *row] for row in zip((moments * scale).tolist(), shares, strict=True)]
    return Table(
        "targets-reached",
        "Targets reached over time",
        f"One row for each method and moment ({name}): the share of all targets reached by then.",
        ("method", "time", "reached"),
        rows,
    )


def _regret(results: LearnerResults, found: TargetFolds) -> Table:
    moments = found.moments()
    scale, name = found.time_axis(results)
    rows: list[list[CellValue]] = []
    for method in results.ranking.methods:
        own = regret(found, method, moments)
        low, high = (
            [None] * len(moments) if bound is None else bound.tolist() for bound in (own.low, own.high)
        )
        columns = (moments * scale).tolist(), own.mean.tolist(), low, high
        rows += [[method, *row] for row in zip(*columns, strict=True)]
    return Table(
        "regret",
        "True regret over time" if found.is_true else "Normalised regret over time",
        f"One row for each method and moment ({name}): mean regret over {len(found.tasks)} tasks, and the "
        f"bounds of its 95 % bootstrap interval over tasks, from {FEWEST_TASKS} tasks on.",
        ("method", "time", "mean_regret", "ci_low", "ci_high"),
        rows,
    )


def _at_moments(results: LearnerResults, found: TargetFolds) -> Table:
    """The shares at a few moments, the best method first: what a reader compares without the figure."""
    moments = np.array([0.01, 0.1, 1.0])
    shares = {method: reached(found, method, moments).tolist() for method in results.ranking.methods}
    methods = sorted(shares, key=lambda method: (-shares[method][-1], method))
    return Table(
        "targets-reached-summary",
        "Targets reached at 1, 10 and 100 % of the budget",
        "One row for each method, the best at the end first: the share of all targets that it has reached by "
        "then.",
        ("method", "at 1 %", "at 10 %", "at the end"),
        [[method, *shares[method]] for method in methods],
    )


def _profiles(found: TargetFolds) -> Table:
    factors, shares = profiles(found, PROFILE_GAP)
    return Table(
        "performance-profiles",
        f"Performance profiles of the time to a regret of {PROFILE_GAP:g}",
        "One row for each method and factor: the share of folds (every task counts the same) on which the "
        f"method gets to a regret of {PROFILE_GAP:g} within this factor of the fastest method's time. If a "
        f"run never does, its budget counts as its time. Times within ×{TIE_FACTOR:g} of the least are a "
        f"tie; a time below {LEAST_SHARE:.1%} of the budget counts as that.",
        ("method", "factor", "share"),
        [
            [method, float(factor), float(share)]
            for method, own in shares.items()
            for factor, share in zip(factors, own, strict=True)
        ],
    )
