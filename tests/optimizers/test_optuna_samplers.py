from __future__ import annotations

import math

import pytest

from cfo_bench.optimizers.optuna_samplers import OptunaTPE
from cfo_bench.records import Result, Status
from cfo_bench.space import Float, Int, Space

optuna = pytest.importorskip("optuna")

SPACE = Space([Int("trees", 4, 4096, log=True), Float("share", 0.6, 1.0)])
START = {"trees": 4, "share": 1.0}


def test_the_start_is_a_trial_of_the_study() -> None:
    method = OptunaTPE(SPACE, START)

    method.tell(method.ask(), Result.ok(0.7))

    [trial] = method._study.trials
    assert (trial.params, trial.value) == (START, 0.7)


def test_it_draws_on_the_scale_that_is_declared() -> None:
    distributions = OptunaTPE(SPACE, START)._distributions

    assert distributions["trees"].log and not distributions["share"].log


def test_failed_trials_are_the_worst_of_the_study() -> None:
    method = OptunaTPE(SPACE, START)

    for status in (Status.FAILED, Status.TIMEOUT, Status.MEMORY):
        method.tell(method.ask(), Result(status))

    assert [trial.value for trial in method._study.trials] == [math.inf] * 3


def test_the_users_own_level_of_logging_is_put_back() -> None:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.DEBUG)

    OptunaTPE(SPACE, START)

    assert optuna.logging.get_verbosity() == optuna.logging.DEBUG
    optuna.logging.set_verbosity(before)


def test_the_model_turns_to_where_losses_are_low() -> None:
    method = OptunaTPE(SPACE, START, 0)
    shares = []
    for _ in range(40):
        trial = method.ask()
        shares.append(trial.config["share"])
        method.tell(trial, Result.ok(abs(trial.config["share"] - 0.7)))

    assert sum(abs(x - 0.7) for x in shares[25:]) / 15 < sum(abs(x - 0.7) for x in shares[1:10]) / 9
