"""The mean over folds of the best loss so far, and the time at which it reaches a loss.

The table that `cfo-bench run` prints and the report both use these functions, so that they agree.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.results.digest import Incumbents, without_configs

# A score counts as reached from this share of it on. Scores that differ by less count as equal.
REACHES = 0.9995

# The incumbents of one run: the time of each, and its loss.
Improvements = tuple[Sequence[float], Sequence[float]]


def best_by_fold(folds: Mapping[int, Sequence[Improvements]]) -> tuple[Array, Array]:
    """Times, and for each fold (row) the best loss so far at each time.

    If a fold has several seeds, its row is the mean over them: seeds of a fold are not independent folds.
    The times start when every run has a first loss, so every run must have a loss.
    """
    runs = [run for fold in sorted(folds) for run in folds[fold]]
    begin = max(seconds[0] for seconds, _ in runs)
    moments: Array = np.unique(np.concatenate([[begin], *(seconds for seconds, _ in runs)]))
    moments = moments[moments >= begin]
    rows = [np.mean([_at(run, moments) for run in folds[fold]], axis=0) for fold in sorted(folds)]
    return moments, np.array(rows)


def _at(run: Improvements, moments: Array) -> Array:
    seconds, losses = run
    best: Array = np.asarray(losses)[np.searchsorted(seconds, moments, side="right") - 1]
    return best


def reaching_loss(best_loss: float, constant_loss: float) -> float:
    """The highest loss whose score reaches that of `best_loss`.

    A score is linear in the loss and 0 at the constant predictor's loss, so 0.05 % of a score is 0.05 % of
    the distance to that loss, whatever the scale of the score.
    """
    return best_loss + (1 - REACHES) * abs(constant_loss - best_loss)


def reached_at(moments: Array, losses: Array, target: float) -> float | None:
    """The time from which on the losses stay at `target` or below; None if they end above it.

    Test losses may rise again, so the first time at the target is not enough.
    """
    above = np.flatnonzero(losses > target)
    first = int(above[-1]) + 1 if len(above) else 0
    return float(moments[first]) if first < len(moments) else None


def imputed(others: Sequence[Incumbents], constant_loss: float) -> Incumbents:
    """The losses of a run without a result: those of the constant predictor or of the worst other method,
    whichever is worse.

    They begin when all others have a result, so that a method never gains by failing.
    """
    scored = [incumbents for incumbents in others if incumbents.seconds]
    begin = max((incumbents.seconds[0] for incumbents in scored), default=0.0)
    later = {second for incumbents in scored for second in incumbents.seconds if second > begin}
    moments = sorted({begin, *later})
    losses = [
        max([constant_loss, *(run.losses[bisect_right(run.seconds, moment) - 1] for run in scored)])
        for moment in moments
    ]
    return without_configs(moments, losses)
