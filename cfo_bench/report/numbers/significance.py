"""Tests of significance over tasks: ranks, Friedman, and Wilcoxon with Holm.

The unit is the task: each method has one number a task, the mean over folds. Folds can't be the unit, since
the folds of a task share most of their rows and are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.results.best_so_far import REACHES

# --- distributions ---------------------------------------------------------------------------------
# The few numbers of statistical distributions that a report needs.
#
# scipy has them all. To import it takes longer than to compute every number of a report.


def normal_cdf(values: Array) -> Array:
    """The share of a standard normal distribution below each value."""
    return np.array([(1 + math.erf(value / math.sqrt(2))) / 2 for value in values.tolist()])


def chi_squared_above(freedom: int, value: float) -> float:
    """The share of a χ² distribution above a value (Abramowitz and Stegun 26.4.4 and 26.4.5)."""
    if value <= 0:
        return 1.0
    half, odd = value / 2, freedom % 2
    powers = [at + odd / 2 for at in range(freedom // 2)]
    terms = (math.exp(power * math.log(half) - half - math.lgamma(power + 1)) for power in powers)
    return min(1.0, odd * math.erfc(math.sqrt(half)) + math.fsum(terms))


@lru_cache
def student_t_bound(freedom: int, share: float = 0.95) -> float:
    """So many standard errors around the mean hold this share of Student's t distribution."""
    low, high = 0.0, 1.0
    while _student_t_within(high, freedom) < share:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _student_t_within(middle, freedom) < share else (low, middle)
    return high


def _student_t_within(bound: float, freedom: int) -> float:
    """The share of a t distribution between -bound and bound (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(bound / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term, terms = (cosine if odd else 1.0), 0.0
    for at in range(2 if odd else 1, freedom, 2):
        terms += term
        term *= cosine**2 * at / (at + 1)
    return 2 / math.pi * (angle + sine * terms) if odd else sine * terms


# --- estimates -------------------------------------------------------------------------------------
# A mean with its standard deviation and 95 % interval by Student's t.


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over folds; `sd`, `low` and `high` are None with one fold."""

    mean: float
    sd: float | None
    low: float | None
    high: float | None
    folds: int


def estimate(values: Sequence[float]) -> Estimate:
    """The estimate of independent values: one a fold, since the seeds of a fold share their data."""
    mean, n = fmean(values), len(values)
    if n < 2:
        return Estimate(mean, None, None, None, n)
    sd = float(np.std(values, ddof=1))
    half = student_t_bound(n - 1) * sd / n**0.5
    return Estimate(mean, sd, mean - half, mean + half, n)


# --- wilcoxon --------------------------------------------------------------------------------------
# Wilcoxon's signed-rank test: our own, since to import scipy.stats takes longer than all tests together.


# Up to so many differences p is exact; beyond, the normal distribution is as good, and quicker.
MOST_EXACT = 100


class SignedRank(NamedTuple):
    """Wilcoxon's test of differences.

    Its direction is that of the larger sum of ranks. A few large differences can outweigh many small ones,
    so it may not be the direction of most differences.
    """

    p: float  # two-sided
    direction: int  # 1 if the differences above 0 outweigh, -1 if those below do, 0 if neither does


def signed_rank(differences: Sequence[float] | Array) -> SignedRank:
    """The hypothesis is that the differences are symmetric around 0.

    Differences of 0 are left out. Equal ones share the mean of their ranks; p is exact then too.
    """
    d = np.asarray(differences, dtype=float)
    d = d[d != 0]
    if not len(d):
        return SignedRank(1.0, 0)
    twice = _twice_the_ranks(np.abs(d))
    total = int(twice.sum())
    positive = int(twice[d > 0].sum())
    lower = min(positive, total - positive)
    direction = int(np.sign(2 * positive - total))
    if len(d) <= MOST_EXACT:
        return SignedRank(min(1.0, 2 * float(_sum_shares(twice)[: lower + 1].sum())), direction)
    # Each rank is in the sum or not, with a chance of a half: the variance is a quarter of its square.
    z = (total / 2 - lower) / (math.sqrt(float((twice.astype(float) ** 2).sum())) / 2)
    return SignedRank(math.erfc(z / math.sqrt(2)), direction)


def _twice_the_ranks(sizes: Array) -> Array:
    """Whole numbers, also where ranks are shared: from 2 for the smallest."""
    _, which, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Array = (2 * last - counts + 1)[which]
    return ranks


def _sum_shares(numbers: Array) -> Array:
    """For each sum from 0 on the share of all subsets of the numbers that have it."""
    shares = np.zeros(int(numbers.sum()) + 1)
    shares[0] = 1.0
    for number in numbers.tolist():
        shares[number:] = (shares[number:] + shares[: len(shares) - number]) / 2
        shares[:number] /= 2
    return shares


# --- significance ----------------------------------------------------------------------------------


LEVEL = 0.05

# With fewer tasks Wilcoxon's p is above 5 % (2 / 2⁵) even if one method is better on all of them.
FEWEST_TASKS = 6


def are_equal(one: Array, other: Array) -> Array:
    """Whether scores are equal: the lower one reaches the higher, see REACHES."""
    higher, lower = np.maximum(one, other), np.minimum(one, other)
    found: Array = lower >= higher - (1 - REACHES) * np.abs(higher)
    return found


def tied_ranks(scores: Array, soon: Array | None = None) -> Array:
    """The rank of each method (last axis) on each task: 1 is the highest score, NaN (no result) is last.

    Scores that are equal share the mean of their ranks: all that reach the best of those not yet ranked.
    `soon` has the scores of a little later: who reaches the best score then ties with it, too.
    """
    own = np.where(np.isnan(scores), -np.inf, scores)
    reached = own if soon is None else np.fmax(own, soon)
    found = np.empty(scores.shape)
    left = np.ones(scores.shape, dtype=bool)
    while left.any():  # on all tasks at once: the best of those not yet ranked, and what equals it
        best = np.max(own, axis=-1, where=left, initial=-np.inf)[..., None]
        group = left & (reached >= best - (1 - REACHES) * np.abs(best))
        ranked, tied = ((~left).sum(axis=-1)[..., None], group.sum(axis=-1)[..., None])
        found = np.where(group, ranked + (tied + 1) / 2, found)
        left &= ~group
    return found


@dataclass(frozen=True, slots=True)
class Friedman:
    """Whether the methods' mean ranks differ by more than chance."""

    statistic: float
    p: float
    tasks: int
    methods: int


def friedman(task_ranks: Array) -> Friedman | None:
    """Friedman's test with its correction for ties; None for fewer than three methods."""
    n, k = task_ranks.shape
    if k < 3:
        return None
    tied = sum(
        float((counts**3 - counts).sum())
        for row in task_ranks
        for counts in [np.unique(row, return_counts=True)[1].astype(float)]
    )
    correction = 1 - tied / (n * k * (k * k - 1))
    if correction <= 0:  # every method ties with every other on every task
        return Friedman(0.0, 1.0, n, k)
    sums = task_ranks.sum(axis=0)
    plain = 12 / (n * k * (k + 1)) * float((sums**2).sum()) - 3 * n * (k + 1)
    statistic = max(plain, 0.0) / correction
    return Friedman(statistic, chi_squared_above(k - 1, statistic), n, k)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two methods over tasks. Differences are of the first's scaled score to the other's."""

    one: str
    other: str
    wins: int
    losses: int
    ties: int  # equal, see `are_equal`; these count as a difference of 0
    median_difference: float
    direction: int  # which of the two Wilcoxon's test speaks for: 1 the first, -1 the other, 0 neither
    p: float  # Wilcoxon's
    p_holm: float  # corrected for the number of pairs
    least_p_holm: float  # the least that it could be, if the first were better on every task

    @property
    def verdict(self) -> str:
        if self.p_holm >= LEVEL:
            return "not shown to differ"
        return "better" if self.direction > 0 else "worse"

    @property
    def winner(self) -> str | None:
        """The method that is shown to be better; None if none is."""
        return {"better": self.one, "worse": self.other}.get(self.verdict)


def pairwise(scores: Array, methods: Sequence[str]) -> list[Pair]:
    """Wilcoxon's signed-rank test on the scores of each pair of methods (columns), higher is better."""
    return _pairs(scores, methods, list(combinations(range(len(methods)), 2)))


def against(scores: Array, methods: Sequence[str], base: str) -> list[Pair]:
    """The same of each other method against one, with Holm's correction for these pairs only."""
    at = methods.index(base)
    return _pairs(scores, methods, [(i, at) for i in range(len(methods)) if i != at])


def _pairs(scores: Array, methods: Sequence[str], pairs: Sequence[tuple[int, int]]) -> list[Pair]:
    differences = [
        np.where(are_equal(scores[:, i], scores[:, j]), 0.0, scores[:, i] - scores[:, j]) for i, j in pairs
    ]
    tests = [signed_rank(d) for d in differences]
    corrected = holm([test.p for test in tests])
    least = least_p(len(scores), len(pairs))
    return [
        Pair(
            methods[i],
            methods[j],
            int((d > 0).sum()),
            int((d < 0).sum()),
            int((d == 0).sum()),
            float(np.median(d)),
            test.direction,
            test.p,
            p_holm,
            least,
        )
        for (i, j), d, test, p_holm in zip(pairs, differences, tests, corrected, strict=True)
    ]


def least_p(tasks: int, pairs: int) -> float:
    """The least p of Wilcoxon's exact test over this many tasks, after Holm over this many pairs.

    One method is better on every task: of the 2ⁿ ways to sign n differences, 2 are as extreme.
    """
    return min(1.0, pairs * 2.0 ** (1 - tasks))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given."""
    corrected = [0.0] * len(p)
    so_far = 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        so_far = max(so_far, min((len(p) - rank) * p[index], 1.0))
        corrected[index] = so_far
    return corrected


def in_words(names: Sequence[str]) -> str:
    """Such as `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# --- nemenyi ---------------------------------------------------------------------------------------
# Nemenyi's test: how far apart mean ranks have to be, and which methods stand closer together than that.


# Where the integral of `_chance_of_range` is computed: beyond ±8 the normal density is below 1e-14.
_POINTS = np.linspace(-8.0, 8.0, 321)
_BELOW = normal_cdf(_POINTS)
_DENSITY = np.exp(-(_POINTS**2) / 2) / math.sqrt(2 * math.pi)
_WIDTH = float(_POINTS[1] - _POINTS[0])


def critical_difference(tasks: int, methods: int) -> float:
    """Mean ranks further apart than this differ at the level of 5 %."""
    low, high = 0.0, 20.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if _chance_of_range(middle, methods) < 1 - LEVEL else (low, middle)
    return high / math.sqrt(2) * math.sqrt(methods * (methods + 1) / (6 * tasks))


def _chance_of_range(width: float, count: int) -> float:
    """The chance that so many normal numbers lie within `width`: the studentized range with known variance.

    The integral over the largest of them, that all others are below it by no more than the width.
    """
    inside = (_BELOW - normal_cdf(_POINTS - width)) ** (count - 1)
    return float(count * (_DENSITY * inside).sum() * _WIDTH)


def cliques(mean_ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """The longest groups of sorted mean ranks that are not shown to differ, by first and last index."""
    found: list[tuple[int, int]] = []
    for first in range(len(mean_ranks)):
        last = max(
            i for i in range(first, len(mean_ranks)) if mean_ranks[i] - mean_ranks[first] <= difference
        )
        if last > first and not any(last <= known for _, known in found):
            found.append((first, last))
    return found
