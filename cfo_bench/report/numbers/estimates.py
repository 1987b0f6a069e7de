"""A mean with its standard deviation and 95 % interval by Student's t."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from cfo_bench.report.numbers.distributions import student_t_bound


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
