"""Nemenyi's critical difference and Wilcoxon's test, against those of scipy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from cfo_bench.report.numbers.significance import MOST_EXACT, critical_difference, signed_rank


@pytest.mark.parametrize("methods", [2, 3, 7, 14, 40])
def test_the_studentized_range_is_scipy_s(methods: int) -> None:
    q = stats.studentized_range.ppf(0.95, methods, np.inf) / 2**0.5

    assert critical_difference(10, methods) == pytest.approx(
        q * (methods * (methods + 1) / 60) ** 0.5, rel=1e-6
    )


@pytest.mark.parametrize("n", [2, 6, 15, 45])
def test_wilcoxon_s_p_is_exact_as_scipy_s(n: int) -> None:
    differences = np.random.default_rng(n).normal(0.4, 1.0, n)

    expected = stats.wilcoxon(differences, method="exact").pvalue
    assert signed_rank(differences).p == pytest.approx(expected, rel=1e-9)


def test_wilcoxon_s_p_is_exact_with_equal_differences_too() -> None:
    differences = [1.0, 1.0, -1.0, 2.0, 2.0, 3.0, 0.0]

    # Ranks of the six that are not 0: 2, 2, 2, 4.5, 4.5, 6. All 64 ways to sign them, by hand.
    ranks = np.array([2, 2, 2, 4.5, 4.5, 6])
    sums = np.array([ranks[np.array(signs)].sum() for signs in product([True, False], repeat=6)])
    assert signed_rank(differences).p == pytest.approx(2 * float((sums <= 2).mean()))


def test_wilcoxon_s_p_of_no_difference_is_one() -> None:
    assert signed_rank([0.0, 0.0]) == (1.0, 0)
    assert signed_rank([1.0, -1.0]) == (1.0, 0)


def test_wilcoxon_s_p_of_very_many_differences_is_the_normal_one() -> None:
    differences = np.random.default_rng(1).normal(0.2, 1.0, MOST_EXACT + 50).round(1)

    expected = stats.wilcoxon(differences, method="asymptotic").pvalue
    assert signed_rank(differences).p == pytest.approx(expected, rel=1e-9)
