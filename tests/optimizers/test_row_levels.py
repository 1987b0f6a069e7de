from __future__ import annotations

import math

import numpy as np
import pytest

from cfo_bench.optimizers.packaged import budget_range, levels, rows_at


@pytest.mark.parametrize(
    ("n_rows", "expected"),
    [
        (None, [math.inf]),
        (150, [150]),
        (10_000, [10_000]),
        (29_999, [29_999]),
        (30_000, [10_000, 30_000]),
        (90_000, [10_000, 30_000, 90_000]),
        (1_000_000, [12345.679, 37037.037, 111111.111, 333333.333, 1_000_000]),
    ],
)
def test_levels_are_thirds_down_to_10000_rows(n_rows: int | None, expected: list[float]) -> None:
    found = levels(n_rows, 10_000, 3)

    assert found == pytest.approx(expected)
    assert all(type(rows) is float for rows in found)


def test_levels_are_those_of_hpbandster() -> None:
    for n_rows in (10_000, 29_000, 90_001, 500_000, 3_000_000):
        count = -int(np.log(10_000 / n_rows) / np.log(3)) + 1
        theirs = n_rows * np.power(3.0, -np.linspace(count - 1, 0, count))
        assert levels(n_rows, 10_000, 3) == pytest.approx(theirs)


@pytest.mark.parametrize("n_rows", [None, 150, 30_000, 270_000, 810_000, 1_000_000])
@pytest.mark.parametrize("eta", [2, 3, 4])
def test_a_package_that_counts_levels_by_a_logarithm_has_as_many(n_rows: int | None, eta: int) -> None:
    """SMAC takes the floor of it and DEHB the whole part, and both may lose a level to a rounding error."""
    found = levels(n_rows, 10_000, eta)
    least, most = budget_range(found)

    count = int(np.floor(np.log(most / least) / np.log(eta))) + 1
    budgets = most * np.power(float(eta), -np.arange(count - 1, -1, -1.0))

    assert count == len(found)
    assert [rows_at(budget, found) for budget in budgets] == [*(round(rows) for rows in found[:-1]), None]
