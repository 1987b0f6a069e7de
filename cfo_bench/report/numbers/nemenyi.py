"""Nemenyi's test: how far apart mean ranks have to be, and which methods stand closer together than that."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cfo_bench.report.numbers.distributions import normal_cdf
from cfo_bench.report.numbers.significance import LEVEL

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
