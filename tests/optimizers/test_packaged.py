from __future__ import annotations

import math

from cfo_bench.optimizers.packaged import FiniteLosses, index_of, plain
from cfo_bench.records import Result, Status
from cfo_bench.space import Categorical, Float, Int


def test_values_become_plain_and_lie_within_the_bounds() -> None:
    import numpy as np

    assert plain(Int("i", 1, 9), np.int64(4)) == 4
    assert type(plain(Int("i", 1, 9), np.float64(3.7))) is int
    assert plain(Int("i", 1, 9), 9.6) == 9
    assert plain(Float("x", 0.1, 1.0), np.float64(1.0000000001)) == 1.0
    assert type(plain(Float("x", 0.1, 1.0), np.float64(0.5))) is float
    assert plain(Categorical("c", ["a", None, True]), np.int64(2)) is True


def test_true_and_1_are_two_choices() -> None:
    assert index_of(Categorical("c", [True, "x"]), True) == 0
    assert index_of(Categorical("c", [2, "1", 1]), 1) == 2


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
