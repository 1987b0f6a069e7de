"""The few numbers of statistical distributions that a report needs.

scipy has them all. To import it takes longer than to compute every number of a report.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from cfo_bench.metrics import Array


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
