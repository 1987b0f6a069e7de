from __future__ import annotations

import math

import pytest

from cfo_bench.optimizers.hyperopt import HyperoptTPE
from cfo_bench.records import Result, Status
from cfo_bench.space import Categorical, Float, Int, Space

pytest.importorskip("hyperopt")

SPACE = Space(
    [
        Int("trees", 1, 100, log=True),
        Int("depth", 1, 3),
        Float("share", 0.6, 1.0),
        Categorical("size", ["s", "m", "l"], ordered=True),
    ]
)
START = {"trees": 1, "depth": 1, "share": 1.0, "size": "s"}


def test_the_start_is_the_first_of_the_trials() -> None:
    method = HyperoptTPE(SPACE, START)

    method.tell(method.ask(), Result.ok(0.7))

    [trial] = method._trials.trials
    assert {name: values[0] for name, values in trial["misc"]["vals"].items()} == {**START, "size": 0}
    assert trial["result"]["loss"] == 0.7


def test_it_draws_on_the_scale_that_is_declared_and_bounds_get_their_share() -> None:
    method = HyperoptTPE(SPACE, START, n_startup_jobs=1000)

    drawn = [method.ask().config for _ in range(400)][1:]

    assert 140 < sum(config["trees"] <= 10 for config in drawn) < 260
    assert all(90 < sum(config["depth"] == depth for config in drawn) < 180 for depth in (1, 2, 3))
    assert all(90 < sum(config["size"] == size for config in drawn) < 180 for size in "sml")


def test_failed_trials_are_the_worst() -> None:
    method = HyperoptTPE(SPACE, START)

    for status in (Status.FAILED, Status.TIMEOUT, Status.MEMORY):
        method.tell(method.ask(), Result(status))

    assert [trial["result"]["loss"] for trial in method._trials.trials] == [math.inf] * 3


def test_the_model_turns_to_where_losses_are_low() -> None:
    method = HyperoptTPE(SPACE, START, 0, n_startup_jobs=10)
    shares = []
    for _ in range(40):
        trial = method.ask()
        shares.append(trial.config["share"])
        method.tell(trial, Result.ok(abs(trial.config["share"] - 0.7)))

    assert sum(abs(x - 0.7) for x in shares[25:]) / 15 < sum(abs(x - 0.7) for x in shares[1:10]) / 9
