"""Tests of significance over tasks: ranks, Friedman, Wilcoxon with Holm, and whether a lead is shown.

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
from cfo_bench.report.numbers.wilcoxon import signed_rank_p
from cfo_bench.results.best_so_far import REACHES

LEVEL = 0.05

# With fewer tasks Wilcoxon's p is above 5 % (2 / 2⁵) even if one method is better on all of them.
FEWEST_TASKS = 6


def are_equal(one: Array, other: Array) -> Array:
    """Whether scores are equal: the lower one reaches the higher, see REACHES."""
    higher, lower = np.maximum(one, other), np.minimum(one, other)
    found: Array = lower >= higher - (1 - REACHES) * np.abs(higher)
    return found


def tied_ranks(scores: Array) -> Array:
    """The rank of each method (last axis) on each task: 1 is the highest score, NaN (no result) is last.

    Scores that are equal share the mean of their ranks: all that reach the best of those not yet ranked.
    """
    own = np.where(np.isnan(scores), -np.inf, scores)
    found = np.empty(scores.shape)
    left = np.ones(scores.shape, dtype=bool)
    while left.any():  # on all tasks at once: the best of those not yet ranked, and what equals it
        best = np.max(own, axis=-1, where=left, initial=-np.inf)[..., None]
        group = left & (own >= best - (1 - REACHES) * np.abs(best))
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
    p: float  # Wilcoxon's
    p_holm: float  # corrected for the number of pairs
    least_p_holm: float  # the least that it could be, if the first were better on every task

    @property
    def verdict(self) -> str:
        if self.p_holm >= LEVEL:
            return "not shown to differ"
        return "better" if self.wins > self.losses else "worse"


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
    p = [signed_rank_p(d) for d in differences]
    least = least_p(len(scores), len(pairs))
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
            least,
        )
        for (i, j), d, own, corrected in zip(pairs, differences, p, holm(p), strict=True)
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


@dataclass(frozen=True, slots=True)
class Lead:
    """Whether the methods with the best mean rank are shown to be better than the others."""

    leaders: tuple[str, ...]  # those with the best mean rank; several if they share it
    test: str  # of all methods at once: Friedman, or Wilcoxon for two methods
    p: float | None  # None if there are too few tasks for a test
    tasks: int
    not_shown: tuple[str, ...]  # the methods that one of the leaders is not shown to be better than

    @property
    def sentence(self) -> str:
        """Empty if all methods share the best mean rank and no test was made: then nobody leads."""
        is_shared = len(self.leaders) > 1
        if self.p is None and not self.not_shown:
            return ""
        if self.p is None:
            what = "A lead over the others" if is_shared else "The lead"
            return f"{what} is not shown: {self.tasks} tasks are too few for a test, it takes {FEWEST_TASKS}."
        tested = f"({self.test}'s p = {self.p:.2g} over {self.tasks} tasks)"
        if self.p >= LEVEL:
            differ = f"he methods are not shown to differ {tested}."
            return f"T{differ}" if is_shared else f"The lead is not shown: t{differ}"
        if self.not_shown:
            return f"The methods differ {tested}, but a lead over {in_words(self.not_shown)} is not shown."
        return f"{'Their lead over the others' if is_shared else 'The lead'} is shown {tested}."


def lead(task_ranks: Array, scores: Array, methods: Sequence[str]) -> Lead:
    """Friedman's test of all methods, then Wilcoxon's of each leader against each other, with Holm."""
    means = task_ranks.mean(axis=0)
    best = float(means.min())
    leaders = tuple(name for name, mean in zip(methods, means, strict=True) if mean <= best + 1e-9)
    others = tuple(name for name in methods if name not in leaders)
    n = len(scores)
    test = "Friedman" if len(methods) > 2 else "Wilcoxon"
    if n < FEWEST_TASKS:
        return Lead(leaders, test, None, n, others)
    pairs = [pair for leader in leaders for pair in against(scores, methods, leader)]
    overall = friedman(task_ranks)
    p = pairs[0].p if overall is None else overall.p
    if p >= LEVEL:
        return Lead(leaders, test, p, n, others)
    not_worse = {pair.one for pair in pairs if pair.verdict != "worse"}
    return Lead(leaders, test, p, n, tuple(name for name in others if name in not_worse))


def in_words(names: Sequence[str]) -> str:
    """Such as `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
