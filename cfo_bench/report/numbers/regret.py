"""Normalised regret: the mean gap at each moment, where 1 is the constant predictor and 0 the best loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.numbers.significance import FEWEST_TASKS
from cfo_bench.report.numbers.target_times import TargetFold, TargetFolds
from cfo_bench.report.reading.digest import Steps

RESAMPLES = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Regret:
    """A method's mean regret over tasks at each moment.

    `low` and `high` bound a 95 % bootstrap interval over tasks. They are None if there are fewer than
    FEWEST_TASKS tasks: resampling so few gives an interval that is too narrow.
    """

    mean: Array
    low: Array | None
    high: Array | None


def regret(found: TargetFolds, method: str, moments: Array) -> Regret:
    def of_fold(fold: TargetFold) -> Array:
        runs: Array = np.mean([gaps_at(fold, steps, moments) for steps in fold.runs[method]], axis=0)
        return runs

    tasks = found.by_task(of_fold)
    mean = tasks.mean(axis=0)
    if len(tasks) < FEWEST_TASKS:
        return Regret(mean, None, None)
    # The same resamples for every method, so that their bands can be compared.
    draws = np.random.default_rng(len(tasks)).integers(len(tasks), size=(RESAMPLES, len(tasks)))
    weights = np.array([np.bincount(draw, minlength=len(tasks)) for draw in draws]) / len(tasks)
    low, high = np.quantile(weights @ tasks, (0.025, 0.975), axis=0)
    return Regret(mean, low, high)


def gaps_at(fold: TargetFold, steps: Steps, moments: Array) -> Array:
    """A run's gap at each moment: 1 before its first loss, and while it is worse than the constant."""
    index = np.searchsorted(steps.seconds, moments * fold.budget_seconds, side="right")
    losses = np.append(fold.constant_loss, steps.losses)[index]
    within = np.clip(losses, fold.best_loss, fold.constant_loss)
    gaps: Array = (within - fold.best_loss) / (fold.constant_loss - fold.best_loss)
    return gaps
