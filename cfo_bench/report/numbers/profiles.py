"""Performance profiles (Dolan and Moré 2002): how often is a method within a factor of the fastest one?

A problem is a fold of a task with a target. The time of a method is the expected one over its seeds: the
seconds spent until the target, or the budget of a run that never reaches it, divided by the number of runs
that reach it.
"""

from __future__ import annotations

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.numbers.scoring import TIE_FACTOR
from cfo_bench.report.numbers.target_times import TargetFold, TargetFolds, times_to

# The gap that is to be reached.
PROFILE_GAP = 0.01

# A shorter time counts as this share of the budget, so that the jitter of a first trial decides nothing.
LEAST_SHARE = 1e-3

_FACTORS = 80
_HIGHEST_FACTOR = 1000.0


def ratios(fold: TargetFold, gap: float) -> dict[str, float]:
    """Each method's time over the least of all on one fold; infinite where it never gets there."""
    times = {}
    for method, runs in fold.runs.items():
        spent = np.array([times_to(fold, run, np.array([gap]))[0] for run in runs])
        there = np.isfinite(spent)
        expected = np.where(there, spent, 1.0).sum() / there.sum() if there.any() else np.inf
        times[method] = max(float(expected), LEAST_SHARE)
    least = min(times.values())
    found = {method: time / least for method, time in times.items()}
    return {method: 1.0 if ratio <= TIE_FACTOR else ratio for method, ratio in found.items()}


def profiles(found: TargetFolds, gap: float) -> tuple[Array, dict[str, Array]]:
    """Factors, and for each method the share of problems on which it is within each factor of the fastest.

    Every task counts the same, and so does every fold of a task.
    """
    methods = list(found.folds[0].runs)

    folds = {}
    for fold in found.folds:
        own = ratios(fold, gap)
        folds[fold.task, fold.fold] = np.array([own[method] for method in methods])
    factors_of_all = np.array(list(folds.values()))
    top = np.max(factors_of_all, where=np.isfinite(factors_of_all), initial=2.0)
    # Some room to the right of the last step.
    factors = np.geomspace(1.0, min(1.2 * float(top), _HIGHEST_FACTOR), _FACTORS)
    shares = found.by_task(lambda fold: folds[fold.task, fold.fold][:, None] <= factors).mean(axis=0)
    return factors, dict(zip(methods, shares, strict=True))
