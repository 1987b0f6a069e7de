from __future__ import annotations

import math

import numpy as np
import pytest

from cfo_bench.optimizers.packaged import FiniteLosses, budget_range, encoded, levels, plain, rows_at
from cfo_bench.records import Result, Status
from cfo_bench.space import Categorical, Float, Int


def test_values_become_plain_and_lie_within_the_bounds() -> None:
    assert plain(Int("i", 1, 9), np.int64(4)) == 4
    assert type(plain(Int("i", 1, 9), np.float64(3.7))) is int
    assert plain(Int("i", 1, 9), 9.6) == 9
    assert plain(Float("x", 0.1, 1.0), np.float64(1.0000000001)) == 1.0
    assert type(plain(Float("x", 0.1, 1.0), np.float64(0.5))) is float
    assert plain(Categorical("c", ["a", None, True]), np.int64(2)) is True


def test_a_package_gets_the_index_of_a_choice_and_a_number_as_it_is() -> None:
    assert encoded(Categorical("c", [2, "1", 1]), 1) == 2
    assert encoded(Int("i", 1, 9), 4) == 4


def test_a_failed_trial_counts_as_the_worst_seen_so_far() -> None:
    losses = FiniteLosses[str](1e6)

    assert losses.admit("a", Result.ok(0.2)) == [("a", 0.2)]
    assert losses.admit("b", Result.ok(0.9)) == [("b", 0.9)]
    assert losses.admit("c", Result(Status.TIMEOUT)) == [("c", 0.9)]
    assert losses.admit("d", Result.ok(math.nan)) == [("d", 0.9)]


def test_failed_trials_are_held_back_until_there_is_a_loss() -> None:
    losses = FiniteLosses[str](1e6)

    assert losses.admit("a", Result(Status.FAILED)) == []
    assert losses.admit("b", Result(Status.MEMORY)) == []
    assert losses.admit("c", Result.ok(0.4)) == [("c", 0.4), ("a", 0.4), ("b", 0.4)]
    assert losses.admit("d", Result.ok(0.5)) == [("d", 0.5)]


def test_an_enormous_loss_is_cut_to_what_the_model_can_take() -> None:
    losses = FiniteLosses[str](1e6)

    assert losses.admit("a", Result.ok(1e300)) == [("a", 1e6)]
    assert losses.admit("b", Result.ok(-1e300)) == [("b", -1e6)]


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
    rows_of_levels = levels(n_rows, 10_000, 3)

    assert rows_of_levels == pytest.approx(expected)
    assert all(type(rows) is float for rows in rows_of_levels)


def test_levels_are_those_of_hpbandster() -> None:
    for n_rows in (10_000, 29_000, 90_001, 500_000, 3_000_000):
        count = -int(np.log(10_000 / n_rows) / np.log(3)) + 1
        theirs = n_rows * np.power(3.0, -np.linspace(count - 1, 0, count))
        assert levels(n_rows, 10_000, 3) == pytest.approx(theirs)


@pytest.mark.parametrize("n_rows", [None, 150, 30_000, 270_000, 810_000, 1_000_000])
@pytest.mark.parametrize("eta", [2, 3, 4])
def test_a_package_that_counts_levels_by_a_logarithm_has_as_many(n_rows: int | None, eta: int) -> None:
    """SMAC takes the floor of it and DEHB the whole part, and both may lose a level to a rounding error."""
    rows_of_levels = levels(n_rows, 10_000, eta)
    least, most = budget_range(rows_of_levels)

    count = int(np.floor(np.log(most / least) / np.log(eta))) + 1
    budgets = most * np.power(float(eta), -np.arange(count - 1, -1, -1.0))

    assert count == len(rows_of_levels)
    assert [rows_at(budget, rows_of_levels) for budget in budgets] == [
        *(round(rows) for rows in rows_of_levels[:-1]),
        None,
    ]
