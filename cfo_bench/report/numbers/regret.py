"""Normalised regret: the mean gap at each moment, where 1 is the constant predictor and 0 the best loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.numbers.significance import FEWEST_TASKS
from cfo_bench.report.numbers.target_times import TargetFold, TargetFolds, Track

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
        runs: Array = np.mean([gaps_at(fold, run, moments) for run in fold.runs[method]], axis=0)
        return runs

    tasks = found.by_task(of_fold)
    mean = tasks.mean(axis=0)
    if len(tasks) < FEWEST_TASKS:
        return Regret(mean, None, None)
    low, high = np.quantile(_resampled(len(tasks)) @ tasks, (0.025, 0.975), axis=0)
    return Regret(mean, low, high)


@lru_cache(maxsize=1)
def _resampled(tasks: int) -> Array:
    """The weight of each task in each resample: the same for every method, so that bands can be compared."""
    draws = np.random.default_rng(tasks).integers(tasks, size=(RESAMPLES, tasks))
    weights: Array = np.array([np.bincount(draw, minlength=tasks) for draw in draws]) / tasks
    return weights


def gaps_at(fold: TargetFold, run: Track, moments: Array) -> Array:
    """A run's gap at each moment: 1 before its first loss, and while it is worse than the constant."""
    losses = run.losses[np.searchsorted(run.seconds, moments * fold.budget_seconds, side="right")]
    within = np.minimum(np.maximum(losses, fold.best_loss), fold.constant_loss)
    gaps: Array = (within - fold.best_loss) / (fold.constant_loss - fold.best_loss)
    return gaps
