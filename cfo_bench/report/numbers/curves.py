"""Mean best loss so far against seconds, with a 95 % confidence interval over folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from cfo_bench.metrics import Array
from cfo_bench.report.reading.digest import Steps


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

    def at(self, seconds: float) -> float:
        """The mean at a moment; NaN before the curve starts."""
        index = int(np.searchsorted(self.seconds, seconds, side="right")) - 1
        return float(self.mean[index]) if index >= 0 else float("nan")

    def first_at_or_below(self, loss: float) -> float | None:
        """The first moment at which the mean is `loss` or lower."""
        reached = np.flatnonzero(self.mean <= loss)
        return float(self.seconds[reached[0]]) if len(reached) else None

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


def curve(folds: Sequence[Steps]) -> Curve | None:
    """The curve of a method on one task; None when a fold has no loss at all."""
    if not folds or any(not steps.seconds for steps in folds):
        return None
    begin = max(steps.seconds[0] for steps in folds)
    moments = np.unique(np.concatenate([[begin], *(steps.seconds for steps in folds)]))
    moments = moments[moments >= begin]
    best = np.array([_best_at(steps, moments) for steps in folds])
    mean = best.mean(axis=0)
    n = len(folds)
    if n > 1:
        half = stdtrit(n - 1, 0.975) * best.std(axis=0, ddof=1) / np.sqrt(n)
    else:
        half = np.full(len(moments), np.nan)
    return Curve(moments, mean, mean - half, mean + half, n)


def _best_at(steps: Steps, moments: Array) -> Array:
    index = np.searchsorted(steps.seconds, moments, side="right") - 1
    losses: Array = np.asarray(steps.losses)[index]
    return losses
