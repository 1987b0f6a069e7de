"""Tests of significance over tasks: ranks, Friedman, Nemenyi's critical difference, Wilcoxon with Holm.

The unit is the task: each method has one number a task, the mean over folds. Folds can't be the unit, since
the folds of a task share most of their rows and are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats

from cfo_bench.metrics import Array

LEVEL = 0.05

# With fewer tasks Wilcoxon's p is above 5 % (2 / 2⁵) even if one method is better on all of them.
FEWEST_TASKS = 6


def ranks(losses: Array) -> Array:
    """The rank of each method (column) on each task (row): 1 is best, ties share, NaN (no result) is last."""
    found: Array = stats.rankdata(np.where(np.isnan(losses), np.inf, losses), axis=1)
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
    return Friedman(statistic, float(stats.chi2.sf(statistic, k - 1)), n, k)


def critical_difference(tasks: int, methods: int) -> float:
    """Nemenyi: mean ranks further apart than this differ at the level of 5 %."""
    q = float(stats.studentized_range.ppf(1 - LEVEL, methods, np.inf)) / math.sqrt(2)
    return q * math.sqrt(methods * (methods + 1) / (6 * tasks))


def cliques(mean_ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """The longest groups of sorted mean ranks that don't differ, by first and last index."""
    found: list[tuple[int, int]] = []
    for first in range(len(mean_ranks)):
        last = max(
            i for i in range(first, len(mean_ranks)) if mean_ranks[i] - mean_ranks[first] <= difference
        )
        if last > first and not any(last <= known for _, known in found):
            found.append((first, last))
    return found


@dataclass(frozen=True, slots=True)
class Pair:
    """Two methods over tasks; `p_holm` is Wilcoxon's p corrected for the number of pairs."""

    one: str
    other: str
    wins: int
    losses: int
    ties: int
    median_difference: float
    p: float
    p_holm: float


def pairwise(scores: Array, methods: Sequence[str]) -> list[Pair]:
    """Wilcoxon's signed-rank test on the scores of each pair of methods (columns), higher is better."""
    pairs = list(combinations(range(len(methods)), 2))
    differences = [scores[:, i] - scores[:, j] for i, j in pairs]
    p = [float(stats.wilcoxon(d).pvalue) if np.any(d) else 1.0 for d in differences]
    return [
        Pair(
            methods[i],
            methods[j],
            int((d > 0).sum()),
            int((d < 0).sum()),
            int((d == 0).sum()),
            float(np.median(d)),
            own,
            corrected,
        )
        for (i, j), d, own, corrected in zip(pairs, differences, p, holm(p), strict=True)
    ]


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given."""
    corrected = [0.0] * len(p)
    so_far = 0.0
    for rank, index in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        so_far = max(so_far, min((len(p) - rank) * p[index], 1.0))
        corrected[index] = so_far
    return corrected
