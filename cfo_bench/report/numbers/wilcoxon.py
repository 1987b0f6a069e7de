"""Wilcoxon's signed-rank test: our own, since to import scipy.stats takes longer than all tests together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cfo_bench.metrics import Array

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
