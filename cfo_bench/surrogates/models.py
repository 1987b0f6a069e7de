"""The two models that every surrogate has, of loss and of seconds, and the scale of their losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.recordings.trees import Trees
from cfo_bench.surrogates.boosting import Seconds, fit_log_seconds, fit_numbers
from cfo_bench.surrogates.trials import Trials


@dataclass(frozen=True, slots=True, eq=False)
class LossScale:
    """How losses become the y that the trees are fitted to: y = log(loss − offset − best + scale).

    The logarithm spreads out what is near the best, where methods differ.
    """

    best: float
    scale: float
    offsets: Array  # of each fold

    def to_y(self, losses: Array, folds: Array) -> Array:
        above = losses - self.offsets[folds] - self.best
        # A left-out trial may be better than every one that was seen.
        return np.log(np.maximum(above, -0.95 * self.scale) + self.scale)

    def to_loss(self, y: Array, folds: Array) -> Array:
        return np.exp(y) - self.scale + self.best + self.offsets[folds]


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """The two models that every surrogate has."""

    scale: LossScale
    loss: Trees
    log_seconds: Trees


def fit_models(trials: Trials, chosen: Array) -> Models:
    """Loss and seconds from the chosen trials."""
    scored = chosen & np.isfinite(trials.losses)
    scale = _scale(trials, scored)
    y = scale.to_y(trials.losses[scored], trials.folds[scored])
    timed = chosen & ~trials.failed
    taken = Seconds(trials.seconds[timed], trials.was_cut_off[timed])
    return Models(
        scale,
        fit_numbers(trials.vectors[scored], y),
        fit_log_seconds(trials.vectors[timed], taken),
    )


def _scale(trials: Trials, scored: Array) -> LossScale:
    """Offsets of the folds first; then where the best is."""
    losses, folds = trials.losses[scored], trials.folds[scored]
    offsets = _offsets(losses, trials.methods[scored], folds, len(trials.fold_keys))
    level = losses - offsets[folds]
    best, low, middle = float(level.min()), float(np.quantile(level, 0.1)), float(np.median(level))
    scale = max(low - best, 0.02 * (middle - best), 1e-6 * abs(best), 1e-9)
    return LossScale(best, scale, offsets)


def _offsets(losses: Array, methods: Array, folds: Array, n_folds: int) -> Array:
    """How much higher the good losses of each fold are than those of the others, method by method.

    The level of a run, below which its best twentieth lies, is that of its method plus the fold's offset: the
    least squares of all runs tell the two apart. Runs are compared and not configurations, since every search
    goes where its own fold is good.
    """
    names, number = np.unique(methods, return_inverse=True)
    runs = sorted(set(zip(number.tolist(), folds.tolist(), strict=True)))
    levels = [float(np.quantile(losses[(number == m) & (folds == f)], 0.05)) for m, f in runs]
    table = np.zeros((len(runs), len(names) + n_folds))
    for row, (m, f) in enumerate(runs):
        table[row, m] = table[row, len(names) + f] = 1.0
    # Of all solutions the smallest: folds that share no method are then alike on average.
    found = np.linalg.lstsq(table, np.array(levels), rcond=None)[0][len(names) :]
    present = np.unique(folds)
    offsets = np.zeros(n_folds)
    offsets[present] = found[present] - found[present].mean()
    return offsets
