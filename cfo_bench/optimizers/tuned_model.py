"""The model of `cfo-tuned`: the results so far, and a small Gaussian process of the loss.

The process is Matérn 5/2 with one length for each dimension, fixed noise, and the variance that fits best.
With numpy and scipy's triangular solver, a fit and a hundred predictions take one or two milliseconds; with a
general library they take hundreds.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.optimizers.geometry import Geometry, Point
from cfo_bench.space import Value

# The model uses at most this many results, half of them the best, half the latest. With more, a suggestion
# would take longer with every trial, and old bad results contain no information about the incumbent.
MOST_RESULTS = 120
# Seconds below which costs are treated as equal, because a clock does not resolve them.
LEAST_SECONDS = 1e-6
# Keeps the slopes of the cost small until there are enough results.
RIDGE = 0.05

NOISE = 1e-3  # relative to the variance; it also keeps the matrix invertible if points are equal
SHARED_LENGTHS = (0.15, 0.3, 0.6, 1.2, 2.4)
FIRST_LENGTH, LEAST_LENGTH, MOST_LENGTH = 0.6, 0.08, 8.0
LARGEST_LOSS = 1e100  # its square is still a finite number
PRIOR_SPREAD = 1.5  # of the logarithm of a length around FIRST_LENGTH


class UnitCube:
    """Vectors as rows of a unit cube: each dimension divided by its range; for an unordered categorical, one
    column per choice.

    Any two different choices are one unit apart. `groups` has the dimension of each column.
    """

    def __init__(self, geometry: Geometry) -> None:
        lower, upper = np.array(geometry.ranges).reshape(-1, 2).T
        self._lower, self.widths = lower, upper - lower
        self._unordered = geometry.unordered
        self._numbers = [i for i in range(geometry.d) if i not in self._unordered]
        self.groups = np.array(
            [*self._numbers, *(i for i, param in self._unordered.items() for _ in param.choices)], dtype=int
        )

    def vector(self, point: Point) -> Array:
        """The point's vector, with the index of the choice in dimensions without an order."""
        vector = np.array(point.vector)
        for i, param in self._unordered.items():
            vector[i] = param.choices.index(point.values[i])
        return vector

    def rows(self, vectors: Array) -> Array:
        """The rows of vectors, given one per row."""
        columns = [((vectors - self._lower) / self.widths)[:, self._numbers]]
        for i, param in self._unordered.items():
            # Rows with different choices differ in two columns, by √½ each.
            columns.append((vectors[:, [i]] == np.arange(len(param.choices))) * math.sqrt(0.5))
        return np.concatenate(columns, axis=1)


class History:
    """The results of all threads of a search, and their other shared state."""

    def __init__(self, geometry: Geometry) -> None:
        self.cube = UnitCube(geometry)
        self.running: set[tuple[Value, ...]] = set()  # the values of points that are being evaluated
        self.spent_seconds = 0.0  # in trials
        self.model_seconds = 0.0  # estimated, in the model
        self._losses: list[float] = []
        self._ranked: list[tuple[float, int]] = []  # losses with their indices, the best first
        # Points and log-seconds that are not in the arrays yet: they are added when the model needs them.
        self._new: list[tuple[Point, float]] = []
        columns = len(self.cube.groups)
        self._rows = np.empty((0, columns))
        self._log_seconds_at_start = 0.0
        self._gram, self._moment = RIDGE * np.eye(columns), np.zeros(columns)

    def __len__(self) -> int:
        return len(self._losses)

    @property
    def has_a_loss(self) -> bool:
        return bool(self._ranked) and math.isfinite(self._ranked[0][0])

    def add(self, point: Point, loss: float, seconds: float) -> None:
        self.running.discard(point.values)
        self.spent_seconds += seconds
        insort(self._ranked, (loss, len(self._losses)))
        self._losses.append(loss)
        self._new.append((point, math.log(max(seconds, LEAST_SECONDS))))

    def _update(self) -> None:
        if not self._new:
            return
        rows = self.cube.rows(np.array([self.cube.vector(point) for point, _ in self._new]))
        log_seconds = np.array([logarithm for _, logarithm in self._new])
        if not len(self._rows):
            self._log_seconds_at_start = float(log_seconds[0])
        self._rows = np.concatenate([self._rows, rows])
        self._new = []
        offsets = rows - self._rows[0]
        self._gram += offsets.T @ offsets
        self._moment += (log_seconds - self._log_seconds_at_start) @ offsets

    def seconds_at(self, rows: Array) -> Array:
        """The predicted seconds of trials.

        The cost of a model is close to a product of powers, so that its logarithm is linear: a ridge
        regression on the offsets from the first trial.
        """
        self._update()
        slopes = np.linalg.solve(self._gram, self._moment)
        log_seconds = self._log_seconds_at_start + (rows - self._rows[0]) @ slopes
        seconds: Array = np.exp(np.clip(log_seconds, -30.0, 30.0))
        return seconds

    def modelled(self) -> tuple[Array, list[float]]:
        """The rows and losses that the model uses. A failed trial counts as the worst loss."""
        self._update()
        indices: Sequence[int] = range(len(self))
        if len(self) > MOST_RESULTS:
            best = {index for _, index in self._ranked[: MOST_RESULTS // 2]}
            latest = (index for index in reversed(indices) if index not in best)
            indices = sorted([*best, *islice(latest, MOST_RESULTS - len(best))])
        losses = [self._losses[index] for index in indices]
        worst = max(loss for loss in losses if math.isfinite(loss))
        return self._rows[list(indices)], [min(loss, worst) for loss in losses]


# --- the Gaussian process --------------------------------------------------------------------------


def matern(a: Array, b: Array) -> Array:
    """The correlations of two sets of points (rows) whose coordinates were divided by their lengths."""
    # |a − b|² = |a|² + |b|² − 2ab: one product of matrices. Rounding can make it a little negative.
    squares: Array = a @ (-2.0 * b.T)
    squares += (a * a).sum(axis=1)[:, None]
    squares += (b * b).sum(axis=1)
    np.maximum(squares, 0.0, out=squares)
    # In place: at this size, allocating new arrays would take as long as the arithmetic.
    r = np.sqrt(5.0 * squares)
    correlations = squares
    correlations *= 5.0 / 3.0  # r²/3
    correlations += r
    correlations += 1.0
    np.negative(r, out=r)
    correlations *= np.exp(r, out=r)
    return correlations


class SmallProcess:
    """The process given `points` (rows) and `losses`, with a length for each group of columns.

    `groups` has the index of each column's length: the columns of one choice share theirs.
    """

    def __init__(self, points: Array, losses: Array, groups: Array, lengths: Array) -> None:
        self._groups, self._inverse_lengths = groups, 1.0 / lengths[groups]
        self._scaled = points * self._inverse_lengths
        correlations = matern(self._scaled, self._scaled)
        correlations[np.diag_indices_from(correlations)] = 1.0 + NOISE
        self._lower = _lapack().dpotrf(correlations, lower=1)[0]
        self._weights = _lapack().dpotrs(self._lower, losses, lower=1)[0]
        n = len(losses)
        # The variance with the highest likelihood: the mean square of the decorrelated losses.
        self.variance = max(float(losses @ self._weights) / n, 1e-12)
        log_determinant = 2.0 * float(np.log(np.diagonal(self._lower)).sum())
        self.log_likelihood = -0.5 * (n * math.log(self.variance) + log_determinant + n)

    def predict(self, points: Array) -> tuple[Array, Array]:
        """The mean and the standard deviation of the loss at each point, without noise."""
        across = matern(points * self._inverse_lengths, self._scaled)
        mean = across @ self._weights
        solved = _lapack().dtrtrs(self._lower, across.T, lower=1)[0]
        explained = (solved * solved).sum(axis=0)
        return mean, np.sqrt(self.variance * np.maximum(1.0 - explained, 1e-12))


class Lengths:
    """The length of each group, refitted as results come in."""

    def __init__(self, n_groups: int, rng: np.random.Generator) -> None:
        self.values = np.full(n_groups, FIRST_LENGTH)
        self._rng = rng

    def share_one(self, points: Array, losses: Array, groups: Array) -> SmallProcess:
        """The process whose groups share one length, the most likely of SHARED_LENGTHS. Few results do not
        determine more lengths.
        """
        processes = [
            SmallProcess(points, losses, groups, np.full(len(self.values), length))
            for length in SHARED_LENGTHS
        ]
        return max(processes, key=lambda process: process.log_likelihood)

    def refit(self, points: Array, losses: Array, groups: Array) -> None:
        """A sweep over the lengths in random order: each is halved or doubled if that is more likely."""
        best = self._posterior(points, losses, groups, self.values)
        for group in self._rng.permutation(len(self.values)).tolist():
            for factor in (0.5, 2.0):
                lengths = self.values.copy()
                lengths[group] = min(max(lengths[group] * factor, LEAST_LENGTH), MOST_LENGTH)
                posterior = self._posterior(points, losses, groups, lengths)
                if posterior > best:
                    best, self.values = posterior, lengths
                    break

    @staticmethod
    def _posterior(points: Array, losses: Array, groups: Array, lengths: Array) -> float:
        deviations = np.log(lengths / FIRST_LENGTH) / PRIOR_SPREAD
        likelihood = SmallProcess(points, losses, groups, lengths).log_likelihood
        return likelihood - 0.5 * float(deviations @ deviations)


def standardised(losses: Sequence[float]) -> Array:
    """Losses with mean 0 and standard deviation 1. Bad losses are clipped, because the good ones matter to
    the search.

    A clipped loss exceeds the median by twice the median's distance from the best loss. If all losses are
    equal, all become 0.
    """
    scaled: Array = np.clip(np.array(losses, dtype=float), -LARGEST_LOSS, LARGEST_LOSS)
    least, median = float(scaled.min()), float(np.median(scaled))
    scaled = np.minimum(scaled, median + 2.0 * (median - least))
    scaled -= scaled.mean()
    # Divided twice: the squares of very small losses would be 0.
    largest = float(np.abs(scaled).max())
    if largest <= 1e-12 * (abs(least) + abs(median)):
        return np.zeros(len(scaled))
    scaled /= largest
    scaled /= scaled.std()
    return scaled


def log_expected_improvement(mean: Array, deviation: Array, best: float) -> Array:
    """The logarithm of E max(best − loss, 0), which also ranks points whose improvement would underflow."""
    from scipy.special import erfcx

    z = np.clip((best - mean) / deviation, -1e3, 1e3)
    log_density = -0.5 * z * z - 0.5 * math.log(2.0 * math.pi)
    # E/σ = φ(z) + z·Φ(z) = φ(z)·(1 + z·Φ(z)/φ(z)); the quotient is a scaled erfc, which does not underflow.
    low = np.minimum(z, 0.0)
    quotient = math.sqrt(math.pi / 2.0) * erfcx(-low / math.sqrt(2.0))
    below = log_density + np.log(np.maximum(1.0 + low * quotient, 1e-12))
    high = np.maximum(z, 0.0)
    density = np.exp(-0.5 * high * high) / math.sqrt(2.0 * math.pi)
    above = np.log(high + density - high * 0.5 * np.exp(-0.5 * high * high) * erfcx(high / math.sqrt(2.0)))
    improvement: Array = np.log(deviation) + np.where(z < 0.0, below, above)
    return improvement


@cache
def _lapack() -> Any:
    from scipy.linalg import lapack

    return lapack
