"""Tests of significance over tasks: Friedman, Wilcoxon with its corrections, Nemenyi; and estimates.

The unit is the task: each method has one number per task, the mean over folds. Folds cannot be the unit,
because the folds of a task share most of their rows and are not independent. Only `corrected_t` tests over
the folds of a single task, corrected for the rows that they share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.results.best_so_far import REACHES

LEVEL = 0.05

# With fewer tasks Wilcoxon's p is above 5 % (2 / 2⁵) even if one method is better on all of them. The same
# holds for `corrected_t` and the folds of one task.
FEWEST_TASKS = 6

# Resamples of a bootstrap over tasks.
RESAMPLES = 2000

# Up to this number of differences, Wilcoxon's p is exact; above it, the normal approximation is as good.
MOST_EXACT = 100

NOT_SIGNIFICANT = "not significant"


# --- ranks ----------------------------------------------------------------------------------------


def are_equal(first: Array, second: Array) -> Array:
    """Whether scores are equal: the lower score reaches the higher one, see REACHES."""
    higher, lower = np.maximum(first, second), np.minimum(first, second)
    equal: Array = lower >= higher - (1 - REACHES) * np.abs(higher)
    return equal


def tied_ranks(scores: Array, soon: Array | None = None) -> Array:
    """The rank of each method (last axis) on each task: 1 is the highest score, NaN (no result) is last.

    Equal scores share the mean of their ranks: these are all scores that reach the best of the unranked ones.
    `soon` contains the scores at a slightly later time: a method that reaches the best score at that time
    also ties with it.
    """
    now = np.where(np.isnan(scores), -np.inf, scores)
    reached = now if soon is None else np.fmax(now, soon)
    ranks = np.empty(scores.shape)
    is_left = np.ones(scores.shape, dtype=bool)
    while is_left.any():  # for all tasks together: the best unranked score, and its equals
        best = np.max(now, axis=-1, where=is_left, initial=-np.inf)[..., None]
        group = is_left & (reached >= best - (1 - REACHES) * np.abs(best))
        n_ranked, n_tied = ((~is_left).sum(axis=-1)[..., None], group.sum(axis=-1)[..., None])
        ranks = np.where(group, n_ranked + (n_tied + 1) / 2, ranks)
        is_left &= ~group
    return ranks


# --- all methods together -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Friedman:
    """Friedman's test of whether the mean ranks of the methods differ."""

    statistic: float
    p: float
    tasks: int
    methods: int


def friedman(task_ranks: Array) -> Friedman | None:
    """Friedman's test with its correction for ties; None for fewer than three methods."""
    from scipy.special import chdtrc

    n, k = task_ranks.shape
    if k < 3:
        return None
    tied = sum(
        float((counts**3 - counts).sum())
        for row in task_ranks
        for counts in [np.unique(row, return_counts=True)[1].astype(float)]
    )
    correction = 1 - tied / (n * k * (k * k - 1))
    if correction <= 0:  # all methods tie on every task
        return Friedman(0.0, 1.0, n, k)
    sums = task_ranks.sum(axis=0)
    plain = 12 / (n * k * (k + 1)) * float((sums**2).sum()) - 3 * n * (k + 1)
    statistic = max(plain, 0.0) / correction
    return Friedman(statistic, float(chdtrc(k - 1, statistic)), n, k)


# --- pairs of methods -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pair:
    """Two methods over tasks. A difference is the first method's scaled score minus that of the other."""

    method: str
    other: str
    wins: int
    losses: int
    ties: int  # equal, see `are_equal`; these count as a difference of 0
    median_difference: float
    direction: int  # the method that Wilcoxon's test favours: 1 the first, -1 the other, 0 neither
    p: float  # Wilcoxon's
    p_corrected: float  # for the number of pairs; for a leader, also for its choice after the runs

    @property
    def verdict(self) -> str:
        if self.p_corrected >= LEVEL:
            return NOT_SIGNIFICANT
        return "better" if self.direction > 0 else "worse"


def pairwise(scores: Array, methods: Sequence[str]) -> list[Pair]:
    """Wilcoxon's signed-rank test on the scores of each pair of methods (columns), higher is better.

    p is corrected by Holm for all pairs.
    """
    return _pairs(scores, methods, list(combinations(range(len(methods)), 2)), _by_holm)


def against(scores: Array, methods: Sequence[str], base: str) -> list[Pair]:
    """The test of each other method against one that was chosen before the runs."""
    at = methods.index(base)
    return _pairs(scores, methods, [(i, at) for i in range(len(methods)) if i != at], _by_holm)


def of_leader(scores: Array, methods: Sequence[str], leader: str) -> list[Pair]:
    """The test of a method that was chosen by the runs against each other method, by `triangle_step_up`."""
    at = methods.index(leader)
    return _pairs(scores, methods, [(at, i) for i in range(len(methods)) if i != at], _by_step_up)


def _pairs(
    scores: Array,
    methods: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    corrected: Callable[[Sequence[SignedRank]], list[float]],
) -> list[Pair]:
    differences = [
        np.where(are_equal(scores[:, i], scores[:, j]), 0.0, scores[:, i] - scores[:, j]) for i, j in pairs
    ]
    tests = [signed_rank(difference) for difference in differences]
    return [
        Pair(
            method=methods[i],
            other=methods[j],
            wins=int((difference > 0).sum()),
            losses=int((difference < 0).sum()),
            ties=int((difference == 0).sum()),
            median_difference=float(np.median(difference)),
            direction=test.direction,
            p=test.p,
            p_corrected=p_corrected,
        )
        for (i, j), difference, test, p_corrected in zip(
            pairs, differences, tests, corrected(tests), strict=True
        )
    ]


def _by_holm(tests: Sequence[SignedRank]) -> list[float]:
    return holm([test.p for test in tests])


def _by_step_up(tests: Sequence[SignedRank]) -> list[float]:
    """The corrected p of pairs whose first method is the leader. A test that favours the other has p = 1."""
    return triangle_step_up([test.p if test.direction > 0 else 1.0 for test in tests])


class SignedRank(NamedTuple):
    """Wilcoxon's test of differences.

    Its direction is that of the larger sum of ranks. A few large differences can outweigh many small ones,
    so it may not be the direction of most differences.
    """

    p: float  # two-sided
    direction: int  # 1 if positive differences have the larger rank sum, -1 if negative ones, 0 if equal


def signed_rank(differences: Sequence[float] | Array) -> SignedRank:
    """Wilcoxon's test of the hypothesis that the differences are symmetric around 0.

    Differences of 0 are left out. Equal differences share the mean of their ranks; unlike in scipy, p is
    exact in this case, too.
    """
    values = np.asarray(differences, dtype=float)
    values = values[values != 0]
    if not len(values):
        return SignedRank(1.0, 0)
    twice = _twice_the_ranks(np.abs(values))
    total = int(twice.sum())
    positive = int(twice[values > 0].sum())
    lower = min(positive, total - positive)
    direction = int(np.sign(2 * positive - total))
    if len(values) <= MOST_EXACT:
        return SignedRank(min(1.0, 2 * float(_sum_shares(twice)[: lower + 1].sum())), direction)
    # Each rank is in the sum with probability 1/2, so its contribution to the variance is a quarter of its
    # square.
    z = (total / 2 - lower) / (math.sqrt(float((twice.astype(float) ** 2).sum())) / 2)
    return SignedRank(math.erfc(z / math.sqrt(2)), direction)


def _twice_the_ranks(sizes: Array) -> Array:
    """Twice the ranks, which are integers even if ranks are shared."""
    _, which, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Array = (2 * last - counts + 1)[which]
    return ranks


def _sum_shares(numbers: Array) -> Array:
    """For each sum from 0 on, the share of all subsets of the numbers with this sum."""
    shares = np.zeros(int(numbers.sum()) + 1)
    shares[0] = 1.0
    for number in numbers.tolist():
        shares[number:] = (shares[number:] + shares[: len(shares) - number]) / 2
        shares[:number] /= 2
    return shares


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the given order."""
    corrected = [0.0] * len(p)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        highest = max(highest, min((len(p) - rank) * p[index], 1.0))
        corrected[index] = highest
    return corrected


def triangle_step_up(p: Sequence[float]) -> list[float]:
    """The p of a leader against each other method, corrected for choosing the leader after the runs.

    `p` has the two-sided p of each other method, or 1 if the test favours that method. The k-th largest is
    multiplied by k(k + 1)/2, the number of pairs among k + 1 methods: if the leader and k others were equally
    good, any of these pairs could have the least p. The corrected p is the least product so far.
    docs/report.md has the error and the power of the procedure.
    """
    corrected = [1.0] * len(p)
    lowest = 1.0
    for k, index in enumerate(sorted(range(len(p)), key=lambda i: -p[i]), start=1):
        lowest = min(lowest, p[index] * k * (k + 1) / 2)
        corrected[index] = lowest
    return corrected


def corrected_t(differences: Sequence[float], n_folds: int) -> float:
    """The two-sided p of the hypothesis that the mean difference over folds of one task is 0 (Nadeau and
    Bengio's t test).

    This also holds for repeated folds: `differences` contains one value per fold of each repetition, which is
    another split into `n_folds`. p is at least `least_p`, because Student's t is unreliable for few folds.

    C. Nadeau and Y. Bengio: Inference for the Generalization Error. Machine Learning 52 (2003); for repeated
    folds, R. R. Bouckaert and E. Frank: Evaluating the Replicability of Significance Tests for Comparing
    Learning Algorithms. PAKDD 2004.
    """
    from scipy.special import stdtr

    values = np.asarray(differences, dtype=float)
    n = len(values)
    if n < 2 or not values.any():
        return 1.0
    error = float(values.std(ddof=1)) * _corrected_error(n, n_folds)
    t = abs(float(values.mean())) / error if error > 0 else math.inf
    return max(2 * float(stdtr(n - 1, -t)), least_p(n, 1))


def _corrected_error(n: int, n_folds: int) -> float:
    """The standard error of a mean over `n` folds of one task, in standard deviations of a fold.

    The training parts of two of the `n_folds` folds overlap, so the scores vary less than independent scores.
    Therefore the variance of the mean is increased by the ratio of the rows of a fold to those of its
    training part.
    """
    return math.sqrt(1 / n + 1 / (n_folds - 1))


def least_p(n: int, pairs: int) -> float:
    """The least p of an exact two-sided test of n differences, after Holm's correction for the pairs.

    It occurs if all differences have the same sign: of the 2ⁿ ways to sign n differences, 2 are as extreme.
    This holds for Wilcoxon's test, the sign test and the sign-flip test.
    """
    return min(1.0, pairs * 2.0 ** (1 - n))


def too_few(n: int, word: str) -> str:
    """The verdict if no p could be significant, such as `3 folds are too few for a test`."""
    return f"1 {word} is too few for a test" if n == 1 else f"{n} {word}s are too few for a test"


def p_in_words(p: float) -> str:
    """The p in words, such as `p = 0.008` or `p = 0.31`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < LEVEL else f"p = {p:.2f}"


def in_words(names: Sequence[str]) -> str:
    """Names in words, such as `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# --- Nemenyi's test -------------------------------------------------------------------------------

# The points of the integral in `_chance_of_range`: beyond ±8 the normal density is below 1e-14.
_POINTS = np.linspace(-8.0, 8.0, 321)


def critical_difference(tasks: int, methods: int) -> float:
    """Mean ranks that are further apart than this differ significantly, at 5 %."""
    low, high = 0.0, 20.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if _chance_of_range(middle, methods) < 1 - LEVEL else (low, middle)
    return high / math.sqrt(2) * math.sqrt(methods * (methods + 1) / (6 * tasks))


def _chance_of_range(width: float, count: int) -> float:
    """The probability that the range of `count` normal numbers is at most `width` (the studentized range with
    known variance).

    It is an integral over the largest number of the probability that all others are at most `width` below it.
    The function of scipy.stats takes a second.
    """
    from scipy.special import ndtr

    density = np.exp(-(_POINTS**2) / 2) / math.sqrt(2 * math.pi)
    inside = (ndtr(_POINTS) - ndtr(_POINTS - width)) ** (count - 1)
    return float(count * (density * inside).sum() * (_POINTS[1] - _POINTS[0]))


def cliques(mean_ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """The longest groups of sorted mean ranks without a significant difference, by first and last index."""
    groups: list[tuple[int, int]] = []
    for first in range(len(mean_ranks)):
        last = max(
            i for i in range(first, len(mean_ranks)) if mean_ranks[i] - mean_ranks[first] <= difference
        )
        if last > first and not any(last <= known for _, known in groups):
            groups.append((first, last))
    return groups


# --- estimates ------------------------------------------------------------------------------------


def bootstrap_bounds(tasks: Array) -> tuple[Array, Array]:
    """The bounds of the 95 % bootstrap intervals of the means over tasks, the first axis."""
    low, high = np.quantile(np.tensordot(_resampled(len(tasks)), tasks, axes=1), (0.025, 0.975), axis=0)
    return low, high


@lru_cache(maxsize=1)
def _resampled(tasks: int) -> Array:
    """The weight of each task in each resample, the same for every method, so that bands can be compared."""
    draws = np.random.default_rng(tasks).integers(tasks, size=(RESAMPLES, tasks))
    weights: Array = np.array([np.bincount(draw, minlength=tasks) for draw in draws]) / tasks
    return weights


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over folds with its 95 % interval by Student's t; with one fold, only the mean is not None."""

    mean: float
    sd: float | None
    low: float | None
    high: float | None
    folds: int


def estimate(values: Sequence[float], n_folds: int | None = None) -> Estimate:
    """The estimate of independent values: one per fold, because the seeds of a fold share their data.

    With `n_folds`, values are of folds of one task, and the interval is that of `corrected_t`.
    """
    mean, n = fmean(values), len(values)
    if n < 2:
        return Estimate(mean, None, None, None, n)
    sd = float(np.std(values, ddof=1))
    half = student_t_bound(n - 1) * sd * (n**-0.5 if n_folds is None else _corrected_error(n, n_folds))
    return Estimate(mean, sd, mean - half, mean + half, n)


@lru_cache
def student_t_bound(freedom: int, share: float = 0.95) -> float:
    """The number of standard errors around the mean that contain this share of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + share) / 2))
