"""Tests of significance over tasks: ranks, Friedman, and Wilcoxon with Holm.

The unit is the task: each method has one number a task, the mean over folds. Folds can't be the unit, since
the folds of a task share most of their rows and are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.report.numbers.distributions import chi_squared_above
from cfo_bench.report.numbers.wilcoxon import signed_rank
from cfo_bench.results.best_so_far import REACHES

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
