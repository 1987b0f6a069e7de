"""A small Gaussian process: what a loss at a new point may be, from at most 150 results.

Matérn 5/2 with one length for each dimension, fixed noise, and the variance that fits best. Numpy, and
scipy's triangular solver: a fit and a hundred predictions take a millisecond or two, where a general library
takes hundreds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from cfo_bench.metrics import Array

NOISE = 1e-3  # of a variance of 1: it also keeps the matrix invertible where points are equal
SHARED_LENGTHS = (0.15, 0.3, 0.6, 1.2, 2.4)
FIRST_LENGTH, LEAST_LENGTH, MOST_LENGTH = 0.6, 0.08, 8.0
LARGEST_LOSS = 1e100  # its square is still a finite number
PRIOR_SPREAD = 1.5  # of the logarithm of a length around FIRST_LENGTH


def matern(one: Array, other: Array) -> Array:
    """The correlations of two sets of points (rows) whose coordinates were divided by their lengths."""
    # |a − b|² = |a|² + |b|² − 2ab: one product of matrices. Rounding can make it a little negative.
    found: Array = one @ (-2.0 * other.T)
    found += (one * one).sum(axis=1)[:, None]
    found += (other * other).sum(axis=1)
    np.maximum(found, 0.0, out=found)
    # In place: at this size, memory for new arrays would take as long as the arithmetic.
    r = np.sqrt(5.0 * found)
    found *= 5.0 / 3.0  # r²/3
    found += r
    found += 1.0
    np.negative(r, out=r)
    found *= np.exp(r, out=r)
    return found


class SmallProcess:
    """The process given `points` (rows) and `losses`, with a length for each group of columns.

    `groups` says which length each column has: the columns of one choice share theirs.
    """

    def __init__(self, points: Array, losses: Array, groups: Array, lengths: Array) -> None:
        self._groups, self._inverse_lengths = groups, 1.0 / lengths[groups]
        self._scaled = points * self._inverse_lengths
        correlations = matern(self._scaled, self._scaled)
        correlations[np.diag_indices_from(correlations)] = 1.0 + NOISE
        self._lower = _lapack().dpotrf(correlations, lower=1)[0]
        self._weights = _lapack().dpotrs(self._lower, losses, lower=1)[0]
        n = len(losses)
        # The variance under which these losses are the most likely: their mean square, decorrelated.
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
    """The length of each group, fitted again and again to what is known by then."""

    def __init__(self, n_groups: int, rng: np.random.Generator) -> None:
        self.values = np.full(n_groups, FIRST_LENGTH)
        self._rng = rng

    def share_one(self, points: Array, losses: Array, groups: Array) -> SmallProcess:
        """One length for all, the most likely of a few: what a handful of results can tell."""
        every = [
            SmallProcess(points, losses, groups, np.full(len(self.values), length))
            for length in SHARED_LENGTHS
        ]
        return max(every, key=lambda process: process.log_likelihood)

    def refit(self, points: Array, losses: Array, groups: Array) -> None:
        """A sweep over the lengths in random order: each is halved or doubled if that is more likely."""
        best = self._posterior(points, losses, groups, self.values)
        for group in self._rng.permutation(len(self.values)).tolist():
            for factor in (0.5, 2.0):
                tried = self.values.copy()
                tried[group] = min(max(tried[group] * factor, LEAST_LENGTH), MOST_LENGTH)
                found = self._posterior(points, losses, groups, tried)
                if found > best:
                    best, self.values = found, tried
                    break

    @staticmethod
    def _posterior(points: Array, losses: Array, groups: Array, lengths: Array) -> float:
        away = np.log(lengths / FIRST_LENGTH) / PRIOR_SPREAD
        likelihood = SmallProcess(points, losses, groups, lengths).log_likelihood
        return likelihood - 0.5 * float(away @ away)


def standardised(losses: Sequence[float]) -> Array:
    """Losses with mean 0 and deviation 1; bad ones are cut, as the process should look where it is good.

    What is worse than the median by more than twice its distance from the best is cut there. If all are
    equal, all are 0.
    """
    found = np.clip(np.array(losses, dtype=float), -LARGEST_LOSS, LARGEST_LOSS)
    least, median = float(found.min()), float(np.median(found))
    found = np.minimum(found, median + 2.0 * (median - least))
    found -= found.mean()
    # Divided twice: the squares of very small losses would be 0.
    largest = float(np.abs(found).max())
    if largest <= 1e-12 * (abs(least) + abs(median)):
        return np.zeros(len(found))
    found /= largest
    scaled: Array = found / found.std()
    return scaled


def log_expected_improvement(mean: Array, deviation: Array, best: float) -> Array:
    """The logarithm of E max(best − loss, 0): it still ranks points that promise next to nothing."""
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
    found: Array = np.log(deviation) + np.where(z < 0.0, below, above)
    return found


@cache
def _lapack() -> Any:
    from scipy.linalg import lapack

    return lapack
