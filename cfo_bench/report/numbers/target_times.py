"""Targets of each fold, between the constant predictor's loss and the best loss, and the times at which runs
reach them.

The gap of a loss is its distance from the best loss that any method has on that fold, as a share of the
constant predictor's distance: 1 is the constant, 0 the best. If a recording contains the least loss of all
configurations, that is the best.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.numbers.learner_results import LearnerResults
from cfo_bench.report.numbers.scores import TIE_FACTOR
from cfo_bench.report.numbers.significance import FEWEST_TASKS, bootstrap_bounds
from cfo_bench.results.digest import Incumbents
from cfo_bench.results.run import Run

# The gaps that count as targets: from the constant's loss, 1, to 0.001, evenly on a log scale.
GAPS = np.logspace(0, -3, 51)
# Single targets that the page offers.
SINGLE_GAPS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)

# A curve over time has this number of points, the first at this share of the budget or later.
_MOMENTS = 100
_FIRST_SHARE = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """The incumbents of a run within its budget."""

    seconds: Array  # the time of each incumbent, then infinity
    losses: Array  # infinity, then the loss of each incumbent

    @classmethod
    def of(cls, incumbents: Incumbents, budget_seconds: float = math.inf) -> Track:
        n = bisect_right(incumbents.seconds, budget_seconds)
        seconds, losses = [*incumbents.seconds[:n], math.inf], [math.inf, *incumbents.losses[:n]]
        return cls(np.array(seconds), np.array(losses, dtype=float))


@dataclass(frozen=True, slots=True)
class TargetFold:
    """One fold of a task, with each method's runs on it, one for each seed."""

    task: str
    fold: int
    budget_seconds: float
    constant_loss: float
    best_loss: float
    runs: Mapping[str, Sequence[Track]]
    is_optimum: bool = False  # whether the best loss is the recorded least loss of all configurations

    def loss_at(self, gaps: Array) -> Array:
        return self.best_loss + gaps * (self.constant_loss - self.best_loss)


@dataclass(frozen=True, slots=True)
class TargetFolds:
    """The folds on which all methods of the joint ranking are compared."""

    folds: list[TargetFold]
    useless: list[str]  # tasks that are left out because no method is ever better than the constant predictor

    @property
    def is_true(self) -> bool:
        """Whether the best losses are the least of all configurations, on every fold."""
        return all(fold.is_optimum for fold in self.folds)

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(fold.task for fold in self.folds))

    @property
    def common_budget(self) -> float | None:
        """The budget, if it is the same for all tasks."""
        budgets = {fold.budget_seconds for fold in self.folds}
        return budgets.pop() if len(budgets) == 1 else None

    def moments(self) -> Array:
        """Shares of the budget, evenly on a log scale, from when the first run has a loss to the end."""
        shares = (
            float(run.seconds[0]) / fold.budget_seconds
            for fold in self.folds
            for runs in fold.runs.values()
            for run in runs
        )
        return np.geomspace(min(max(min(shares), _FIRST_SHARE), 0.5), 1.0, _MOMENTS)

    def by_task(self, numbers: Callable[[TargetFold], Array]) -> Array:
        """One row per task: the mean of the numbers over its folds."""
        groups: dict[str, list[Array]] = {}
        for fold in self.folds:
            groups.setdefault(fold.task, []).append(numbers(fold))
        return np.array([np.mean(rows, axis=0) for rows in groups.values()])

    def time_axis(self, results: LearnerResults) -> tuple[float, str]:
        """The factor by which a share of the budget is multiplied for display, and the name of the axis."""
        unit, common = results.scores[0].seconds_label, self.common_budget
        return (1.0, f"share of the budget ({unit})") if common is None else (common, unit)


def target_folds(results: LearnerResults) -> TargetFolds:
    """The folds of the joint ranking on which a method beats the constant predictor."""
    folds: list[TargetFold] = []
    useless = []
    for task in results.ranking.tasks:
        by_fold: dict[int, dict[str, list[Run]]] = {}
        for method in results.ranking.methods:
            for run in results.compared[task.task, method]:
                by_fold.setdefault(run.fold, {}).setdefault(method, []).append(run)
        on_task = [_target_fold(results, runs) for _, runs in sorted(by_fold.items())]
        better = [fold for fold in on_task if _lowest_loss(fold.runs) < fold.constant_loss]
        folds += better
        if not better:
            useless.append(task.task)
    return TargetFolds(folds, useless)


def _target_fold(results: LearnerResults, runs: Mapping[str, Sequence[Run]]) -> TargetFold:
    first = next(iter(runs.values()))[0]
    tracks = {
        method: [Track.of(results.incumbents(run), run.budget_seconds) for run in of_method]
        for method, of_method in runs.items()
    }
    optima = {run.header.optimum for of_method in runs.values() for run in of_method}
    optimum = optima.pop() if len(optima) == 1 else None
    lowest = _lowest_loss(tracks)
    best = optimum if optimum is not None else lowest if math.isfinite(lowest) else first.constant_loss
    common = first.task, first.fold, first.budget_seconds, first.constant_loss
    return TargetFold(*common, best, tracks, is_optimum=optimum is not None)


def _lowest_loss(runs: Mapping[str, Sequence[Track]]) -> float:
    """The best loss that any method has; infinite if none has any."""
    return min(float(track.losses.min()) for of_method in runs.values() for track in of_method)


def times_to(fold: TargetFold, run: Track, gaps: Array) -> Array:
    """The share of the budget at which a run first has each gap; infinite where it never does."""
    # The negatives of the lowest losses so far are sorted. A loss on a test part may rise again.
    lowest = np.minimum.accumulate(run.losses)
    first = np.searchsorted(-lowest, -fold.loss_at(gaps), side="left")
    times: Array = run.seconds[first - 1] / fold.budget_seconds
    return times


def reached(targets: TargetFolds, method: str, moments: Array, gaps: Array = GAPS) -> Array:
    """The share of all (task, fold, seed, target) that a method has reached by each moment.

    Every task counts the same, and so does every fold of a task.
    """

    def of_fold(fold: TargetFold) -> Array:
        times = np.sort(np.concatenate([times_to(fold, run, gaps) for run in fold.runs[method]]))
        return np.searchsorted(times, moments, side="right") / len(times)

    shares: Array = targets.by_task(of_fold).mean(axis=0)
    return shares


# --- profiles -------------------------------------------------------------------------------------
# Performance profiles (Dolan and Moré 2002): how often a method is within a factor of the fastest one.
#
# A problem is a fold of a task with a target. The time of a method is the expected one over its seeds: the
# seconds spent until the target, or the budget of a run that never reaches it, divided by the number of runs
# that reach it.


# The gap to be reached.
PROFILE_GAP = 0.01

# A shorter time counts as this share of the budget, so that the jitter of a first trial has no influence.
LEAST_SHARE = 1e-3

_FACTORS = 80
_HIGHEST_FACTOR = 1000.0


def ratios(fold: TargetFold, gap: float) -> dict[str, float]:
    """Each method's time over the least of all on one fold; infinite where it never reaches the target."""
    times = {}
    for method, runs in fold.runs.items():
        spent = np.array([times_to(fold, run, np.array([gap]))[0] for run in runs])
        is_reached = np.isfinite(spent)
        expected = np.where(is_reached, spent, 1.0).sum() / is_reached.sum() if is_reached.any() else np.inf
        times[method] = max(float(expected), LEAST_SHARE)
    least = min(times.values())
    factors = {method: time / least for method, time in times.items()}
    return {method: 1.0 if factor <= TIE_FACTOR else factor for method, factor in factors.items()}


def profiles(targets: TargetFolds, gap: float) -> tuple[Array, dict[str, Array]]:
    """Factors, and for each method the share of problems on which it is within each factor of the fastest.

    Every task counts the same, and so does every fold of a task.
    """
    methods = list(targets.folds[0].runs)
    folds = {}
    for fold in targets.folds:
        by_method = ratios(fold, gap)
        folds[fold.task, fold.fold] = np.array([by_method[method] for method in methods])
    factors_of_all = np.array(list(folds.values()))
    top = np.max(factors_of_all, where=np.isfinite(factors_of_all), initial=2.0)
    # Space to the right of the last step.
    factors = np.geomspace(1.0, min(1.2 * float(top), _HIGHEST_FACTOR), _FACTORS)
    shares = targets.by_task(lambda fold: folds[fold.task, fold.fold][:, None] <= factors).mean(axis=0)
    return factors, dict(zip(methods, shares, strict=True))


# --- regret ---------------------------------------------------------------------------------------
# Normalised regret: the mean gap at each moment, where 1 is the constant predictor and 0 the best loss.


@dataclass(frozen=True, slots=True, eq=False)
class Regret:
    """A method's mean regret over tasks at each moment.

    `low` and `high` bound a 95 % bootstrap interval over tasks. They are None if there are fewer than
    FEWEST_TASKS tasks: resampling fewer gives an interval that is too narrow.
    """

    mean: Array
    low: Array | None
    high: Array | None


def regret(targets: TargetFolds, method: str, moments: Array) -> Regret:
    def of_fold(fold: TargetFold) -> Array:
        runs: Array = np.mean([gaps_at(fold, run, moments) for run in fold.runs[method]], axis=0)
        return runs

    tasks = targets.by_task(of_fold)
    mean = tasks.mean(axis=0)
    if len(tasks) < FEWEST_TASKS:
        return Regret(mean, None, None)
    return Regret(mean, *bootstrap_bounds(tasks))


def gaps_at(fold: TargetFold, run: Track, moments: Array) -> Array:
    """A run's gap at each moment: 1 before its first loss, and while it is worse than the constant."""
    losses = run.losses[np.searchsorted(run.seconds, moments * fold.budget_seconds, side="right")]
    within = np.minimum(np.maximum(losses, fold.best_loss), fold.constant_loss)
    gaps: Array = (within - fold.best_loss) / (fold.constant_loss - fold.best_loss)
    return gaps
