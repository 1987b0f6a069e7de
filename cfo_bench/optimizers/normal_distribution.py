"""The logarithm of the normal distribution function, for arrays, and to the last bit as optuna has it.

optuna calls a Python function for each number. Here the numbers go through the same steps together: sums,
products and quotients by numpy, whose results are the same, and `erf`, `erfc`, `log` and squares by the same
functions of Python, as numpy's may differ in the last bit.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np

from cfo_bench.metrics import Array

_ROOT = 2**0.5
_MIDDLE = 1 / 2**0.5  # between -1 and 1 of x / √2, erf is exact enough
_FAR = -20.0  # below it, a series
_NEAR_ONE = 6.0  # above it, log(1 - p) is -p


def log_normal_cdf(x: Array) -> Array:
    """log Φ(x), as an array of the same shape."""
    flat = np.asarray(x, dtype=float).ravel()
    found = np.empty_like(flat)
    is_far, is_high = ~(flat > _FAR), flat > _NEAR_ONE
    is_between = ~(is_far | is_high)
    if is_high.any():
        found[is_high] = -(0.5 * each(math.erfc, flat[is_high] / _ROOT))
    if is_far.any():
        found[is_far] = _far_tail(flat[is_far])
    if is_between.any():
        found[is_between] = each(math.log, _normal_cdf(flat[is_between] / _ROOT))
    return found.reshape(np.shape(x))


def _normal_cdf(z: Array) -> Array:
    """Φ(z·√2)."""
    found = np.empty_like(z)
    is_low, is_high = z < -_MIDDLE, ~(z < _MIDDLE)
    is_middle = ~(is_low | is_high)
    found[is_low] = 0.5 * each(math.erfc, -z[is_low])
    found[is_middle] = 0.5 + 0.5 * each(math.erf, z[is_middle])
    found[is_high] = 1.0 - 0.5 * each(math.erfc, z[is_high])
    return found


def _far_tail(x: Array) -> Array:
    """The asymptotic series of log Φ(x), until the last term of each is lost in rounding."""
    squares = np.array([one**2 for one in x.tolist()])
    factor = 1 / squares
    total, power = np.ones_like(x), np.ones_like(x)
    numerator, sign, number = 1.0, 1, 0
    open_ones = np.arange(len(x))
    while len(open_ones):
        number, sign = number + 1, -sign
        numerator *= 2 * number - 1
        power[open_ones] *= factor[open_ones]
        before = total[open_ones]
        after = before + sign * numerator * power[open_ones]
        total[open_ones] = after
        open_ones = open_ones[np.abs(before - after) > sys.float_info.epsilon]
    leading = -0.5 * squares - each(math.log, -x) - 0.5 * math.log(2 * math.pi)
    return leading + each(math.log, total)


def each(function: Callable[[float], float], values: Array) -> Array:
    """The function's results for a row of numbers."""
    return np.fromiter(map(function, values.tolist()), dtype=float, count=len(values))
