from __future__ import annotations

from cfo_bench.optimizers.baselines import RandomSearch
from cfo_bench.records import Result
from cfo_bench.space import Categorical, Float, Int, Space

SPACE = Space([Int("i", 1, 1000, log=True), Float("x", -1.0, 1.0), Categorical("c", "abc")])
START = {"i": 1, "x": 0.0, "c": "a"}


def test_the_start_comes_first_and_draws_from_the_space_after_it() -> None:
    method = RandomSearch(SPACE, START, seed=0)

    trials = [method.ask() for _ in range(200)]

    assert trials[0].config == START
    assert [trial.number for trial in trials] == list(range(200))
    assert all(SPACE.check(trial.config) == trial.config for trial in trials)
    assert len({trial.config["x"] for trial in trials}) == 200


def test_what_it_is_told_changes_nothing() -> None:
    told, untold = RandomSearch(SPACE, START, seed=1), RandomSearch(SPACE, START, seed=1)

    for _ in range(20):
        trial = told.ask()
        told.tell(trial, Result.ok(trial.config["x"]))
        assert untold.ask() == trial


def test_it_draws_on_the_scale_that_is_declared() -> None:
    method = RandomSearch(SPACE, START, seed=2)

    drawn = [method.ask().config["i"] for _ in range(1000)]

    # On a log scale as many lie below √1000 ≈ 31.6 as above; on a linear one 3 % would.
    assert 400 < sum(i < 32 for i in drawn) < 600
