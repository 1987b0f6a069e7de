"""Mean best loss so far against seconds, with a 95 % confidence interval over folds (seeds averaged)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.numbers.distributions import student_t_bound
from cfo_bench.report.reading.digest import Steps
from cfo_bench.results.best_so_far import best_by_fold, reached_at


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A step function: from `seconds[i]` on, the mean over folds of the best loss so far is `mean[i]`.

    It starts when every fold has a first loss. The band is mean ± t·sd/√n; with one fold it is NaN.
    """

    seconds: Array
    mean: Array
    low: Array
    high: Array
    n_folds: int

    def over(self, seconds: Array) -> Array:
        """The mean at each moment; NaN before the curve starts."""
        index = np.searchsorted(self.seconds, seconds, side="right")
        found: Array = np.append(np.nan, self.mean)[index]
        return found

    def reached_at(self, loss: float) -> float | None:
        """The moment from which on the mean is `loss` or lower; None if it ends higher."""
        return reached_at(self.seconds, self.mean, loss)

    def thinned(self, columns: int = 400) -> Curve:
        """Fewer points, but the same to the eye: the last in each of `columns` strips of the log time axis.

        The first and the last point stay, so that start, end and final loss are exact.
        """
        if len(self.seconds) <= columns or self.seconds[0] <= 0:
            return self
        place = np.log(self.seconds / self.seconds[0]) / np.log(self.seconds[-1] / self.seconds[0])
        strip = np.floor(place * columns)
        keep = np.append(strip[1:] != strip[:-1], True)
        keep[0] = True
        return Curve(self.seconds[keep], self.mean[keep], self.low[keep], self.high[keep], self.n_folds)


def curve(runs: Sequence[Steps], folds: Sequence[int] | None = None) -> Curve | None:
    """The curve of a method on one task; None when a run has no loss at all.

    `folds` has the fold of each run. Runs of one fold, which differ in their seed, are averaged first: the
    interval is over folds. Without `folds` every run is a fold of its own.
    """
    if not runs or any(not steps.seconds for steps in runs):
        return None
    by_fold: dict[int, list[tuple[list[float], list[float]]]] = {}
    for fold, steps in zip(range(len(runs)) if folds is None else folds, runs, strict=True):
        by_fold.setdefault(fold, []).append((steps.seconds, steps.losses))
    moments, best = best_by_fold(by_fold)
    mean = best.mean(axis=0)
    n = len(by_fold)
    if n > 1:
        half = student_t_bound(n - 1) * best.std(axis=0, ddof=1) / np.sqrt(n)
    else:
        half = np.full(len(moments), np.nan)
    return Curve(moments, mean, mean - half, mean + half, n)
