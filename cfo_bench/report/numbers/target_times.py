"""Targets of each fold, between the constant predictor's loss and the best one, and when runs reach them.

The gap of a loss says how far it is from the best loss that any method has on that fold, as a share of the
constant predictor's distance: 1 is the constant, 0 the best. Where a recording knows the least loss of all
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
from cfo_bench.report.reading.digest import Digest, Steps

# The gaps that count as targets: from the constant's loss, 1, to 0.001, evenly on a log scale.
GAPS = np.logspace(0, -3, 51)

# A curve over time has so many points, the first at no less than this share of the budget.
_MOMENTS = 100
_FIRST_SHARE = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """The incumbents of a run within its budget."""

    seconds: Array  # when each was found, and infinity at the end
    losses: Array  # infinity at first, then that of each

    @classmethod
    def of(cls, steps: Steps, budget_seconds: float = math.inf) -> Track:
        n = bisect_right(steps.seconds, budget_seconds)
        seconds, losses = [*steps.seconds[:n], math.inf], [math.inf, *steps.losses[:n]]
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
    is_optimum: bool = False  # the best loss is the least of all configurations, whatever a method found

    def loss_at(self, gaps: Array) -> Array:
        return self.best_loss + gaps * (self.constant_loss - self.best_loss)


@dataclass(frozen=True, slots=True)
class TargetFolds:
    """The folds on which all methods of the joint ranking are compared."""

    folds: list[TargetFold]
    useless: list[str]  # tasks left out, as no method is ever better than the constant there

    @property
    def is_true(self) -> bool:
        """Whether the best losses are the least that there are, on every fold."""
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
        """One row a task: the mean of the numbers over its folds."""
        groups: dict[str, list[Array]] = {}
        for fold in self.folds:
            groups.setdefault(fold.task, []).append(numbers(fold))
        return np.array([np.mean(rows, axis=0) for rows in groups.values()])

    def time_axis(self, results: LearnerResults) -> tuple[float, str]:
        """What a share of the budget is multiplied with to be shown, and the name of the axis."""
        unit, common = results.scores[0].seconds_label, self.common_budget
        return (1.0, f"share of the budget ({unit})") if common is None else (common, unit)


def target_folds(results: LearnerResults) -> TargetFolds:
    """The folds of the joint ranking on which a method beats the constant predictor."""
    folds: list[TargetFold] = []
    useless = []
    for task in results.joint.tasks:
        by_fold: dict[int, dict[str, list[Digest]]] = {}
        for method in results.joint.methods:
            for one in results.compared[task.task, method]:
                by_fold.setdefault(one.fold, {}).setdefault(method, []).append(one)
        own = [_target_fold(results, runs) for _, runs in sorted(by_fold.items())]
        better = [fold for fold in own if _found(fold.runs) < fold.constant_loss]
        folds += better
        if not better:
            useless.append(task.task)
    return TargetFolds(folds, useless)


def _target_fold(results: LearnerResults, runs: Mapping[str, Sequence[Digest]]) -> TargetFold:
    first = next(iter(runs.values()))[0]
    tracks = {
        method: [Track.of(results.steps(one), one.budget_seconds) for one in own]
        for method, own in runs.items()
    }
    optima = {one.header.get("optimum") for own in runs.values() for one in own}
    optimum = optima.pop() if len(optima) == 1 else None
    found = _found(tracks)
    best = float(optimum) if optimum is not None else found if math.isfinite(found) else first.constant_loss
    common = first.task, first.fold, first.budget_seconds, first.constant_loss
    return TargetFold(*common, best, tracks, is_optimum=optimum is not None)


def _found(runs: Mapping[str, Sequence[Track]]) -> float:
    """The best loss that any method has; infinite if none has any."""
    return min(float(one.losses.min()) for own in runs.values() for one in own)


def times_to(fold: TargetFold, run: Track, gaps: Array) -> Array:
    """The share of the budget at which a run first has each gap; infinite where it never does."""
    # The negatives of the lowest losses so far are sorted. A loss on a test part may rise again.
    lowest = np.minimum.accumulate(run.losses)
    first = np.searchsorted(-lowest, -fold.loss_at(gaps), side="left")
    times: Array = run.seconds[first - 1] / fold.budget_seconds
    return times


def reached(found: TargetFolds, method: str, moments: Array) -> Array:
    """The share of all (task, fold, seed, target) that a method has reached by each moment.

    Every task counts the same, and so does every fold of a task.
    """

    def of_fold(fold: TargetFold) -> Array:
        times = np.sort(np.concatenate([times_to(fold, run, GAPS) for run in fold.runs[method]]))
        return np.searchsorted(times, moments, side="right") / len(times)

    shares: Array = found.by_task(of_fold).mean(axis=0)
    return shares
