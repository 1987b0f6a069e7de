from __future__ import annotations

import pytest

from cfo_bench.errors import OptionError, UnknownNameError
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Result, Status
from cfo_bench.space import Categorical, Float, Int, Space

pytest.importorskip("nevergrad")

SPACE = Space([Int("trees", 4, 4096, log=True), Float("share", 0.6, 1.0), Categorical("c", "abc")])
START = {"trees": 4, "share": 1.0, "c": "b"}


def test_an_unknown_optimizer_is_told_with_the_nearest_of_hundreds() -> None:
    with pytest.raises(
        UnknownNameError, match=r"optimizer of nevergrad 'NGOptt' \(did you mean 'NGOpt"
    ) as no:
        METHODS.load("nevergrad:NGOptt")
    assert len(str(no.value)) < 300


def test_an_optimizer_without_parallel_trials_has_no_such_option() -> None:
    assert METHODS.options("nevergrad:NGOpt", {}) == {"planned_trials": 1000, "parallel": 1}
    assert METHODS.options("nevergrad:Cobyla", {}) == {"planned_trials": 1000}


def test_the_package_is_told_of_the_start() -> None:
    method = METHODS.load("nevergrad:DE")(SPACE, START)

    method.tell(method.ask(), Result.ok(0.7))

    best = method._optimizer.provide_recommendation()
    assert dict(best.value) == {"trees": 4, "share": pytest.approx(1.0), "c": 1}
    assert best.loss == 0.7


def test_numbers_are_drawn_on_the_scale_that_is_declared() -> None:
    method = METHODS.load("nevergrad:RandomSearch")(SPACE, START, 1)
    trees = []
    for _ in range(60):
        trial = method.ask()
        trees.append(trial.config["trees"])
        method.tell(trial, Result.ok(0.5))

    assert 20 <= sorted(trees)[30] <= 800  # linearly, the median would be near 2000


def test_a_failed_trial_is_told_at_once_as_the_worst_so_far() -> None:
    """Cobyla waits for each result in a thread: it would wait for ever for one that is held back."""
    method = METHODS.load("nevergrad:Cobyla")(SPACE, START)

    for result in (Result(Status.FAILED), Result(Status.MEMORY), Result.ok(0.5), Result(Status.TIMEOUT)):
        method.tell(method.ask(), result)

    assert method._worst == 0.5


def test_an_optimizer_that_can_not_be_built_is_one_line() -> None:
    with pytest.raises(OptionError, match=r"planned_trials 0: give a whole number from 1 on"):
        METHODS.load("nevergrad:NGOpt")(SPACE, START, planned_trials=0)
