from __future__ import annotations

import math

import numpy as np
import pytest

from cfo_bench.optimizers.gaussian_process import GPEI, GPEIPS, GPCooled
from cfo_bench.records import Result, Status
from cfo_bench.space import Categorical, Float, Int, Space

pytest.importorskip("skopt")

SPACE = Space([Int("trees", 4, 4096), Float("rate", 0.001, 1.0)])
START = {"trees": 4, "rate": 0.5}


def tell(method: GPEI, loss: float, seconds: float = 0.01) -> None:
    method.tell(method.ask(), Result.ok(loss, seconds))


@pytest.mark.parametrize("method", [GPEI, GPEIPS])
def test_every_positive_hyperparameter_is_searched_by_its_logarithm(method: type[GPEI]) -> None:
    drawn = method(SPACE, START)._optimizer.space.rvs(1000, random_state=0)

    # On a log scale as many lie below √(4 · 4096) = 128 as above; on a linear one 3 % would.
    assert 400 < sum(trees < 128 for trees, _ in drawn) < 600
    assert 400 < sum(rate < math.sqrt(0.001) for _, rate in drawn) < 600


@pytest.mark.parametrize("method", [GPEI, GPEIPS])
def test_the_model_sees_the_unit_cube(method: type[GPEI]) -> None:
    space = Space([*SPACE, Float("shift", -3.0, 5.0), Categorical("kind", "abc")])
    optimizer = method(space, {**START, "shift": 0.0, "kind": "a"})._optimizer

    points = optimizer.space.transform([[4, 0.001, -3.0, 0], [4096, 1.0, 5.0, 2]])

    assert points.tolist() == [[0, 0, 0, 1, 0, 0], [1, 1, 1, 0, 0, 1]]


def test_the_start_is_told_to_the_package() -> None:
    method = GPEI(SPACE, START)

    tell(method, 0.7)

    assert method._optimizer.Xi == [[4, 0.5]]
    assert method._optimizer.yi == [0.7]


def test_the_best_so_far_of_gpeips_is_a_loss_and_not_the_logarithm_of_a_time() -> None:
    """scikit-optimize takes the least of both."""
    method = GPEIPS(SPACE, START, n_initial_points=3)

    for loss, seconds in [(0.5, 1e-3), (0.3, 1e-7), (0.4, 200.0)]:
        tell(method, loss, seconds)

    observed = np.array(method._optimizer.yi)
    assert np.min(observed) == observed[1, 0]
    assert np.diff(observed[:, 0]) == pytest.approx([-0.2, 0.1])
    assert np.exp(observed[:, 1]) == pytest.approx([1e-3, 1e-7, 200.0])


def test_gpeips_prefers_the_cheaper_of_two_halves_that_are_as_good() -> None:
    space = Space([Float("x", 1.0, 100.0)])
    rng = np.random.default_rng(0)

    def means(kind: type[GPEI]) -> float:
        method = kind(space, {"x": 10.0}, 0, n_initial_points=6, n_candidates=200, n_restarts=1)
        asked = []
        for i in range(9):
            trial = method.ask()
            x = trial.config["x"]
            method.tell(trial, Result.ok(0.5 + 0.01 * float(rng.random()), 1e-3 * x**3))
            if i >= 6:
                asked.append(math.log(x))
        return sum(asked) / len(asked)

    assert means(GPEIPS) < means(GPEI)


def cooled(budget: float | None, seconds: list[float], n_initial: int = 3) -> GPCooled:
    method = GPCooled(
        SPACE, START, n_initial_points=n_initial, n_candidates=20, n_restarts=1, budget_seconds=budget
    )
    for i, spent in enumerate(seconds):
        tell(method, 0.5 + 0.1 * i, spent)
    return method


def test_the_exponent_of_the_cost_is_the_share_of_the_budget_that_is_left_after_the_initial_points() -> None:
    assert cooled(100.0, [10.0, 10.0]).cooling.exponent == 1.0  # among the initial points
    assert cooled(100.0, [10.0, 10.0, 20.0]).cooling.exponent == 1.0
    assert cooled(100.0, [10.0, 10.0, 20.0, 15.0]).cooling.exponent == pytest.approx(0.75)
    assert cooled(100.0, [10.0, 10.0, 20.0, 70.0]).cooling.exponent == 0.0
    assert (
        cooled(30.0, [10.0, 10.0, 20.0]).cooling.exponent == 0.0
    )  # the initial points were the whole budget
    assert cooled(None, [10.0, 10.0, 20.0, 70.0]).cooling.exponent == 1.0


def test_all_seconds_are_told_to_the_power_of_the_exponent() -> None:
    method = cooled(100.0, [10.0, 10.0, 20.0, 30.0])

    assert method.cooling.exponent == pytest.approx(0.5)
    assert np.exp(np.array(method._optimizer.yi)[:, 1]) == pytest.approx(np.sqrt([10.0, 10.0, 20.0, 30.0]))


def test_the_seconds_of_a_failed_trial_are_spent_too() -> None:
    method = cooled(100.0, [10.0, 10.0, 20.0])

    method.tell(method.ask(), Result(Status.FAILED, None, 15.0))

    assert method.cooling.exponent == pytest.approx(0.75)


def test_with_nothing_left_of_the_budget_costs_do_not_count() -> None:
    """The model of log-seconds predicts 0 everywhere, so that the improvement is divided by 1."""
    _, costs = cooled(40.0, [10.0, 10.0, 20.0, 1.0])._optimizer.models[-1].estimators_

    assert costs.predict(np.random.default_rng(0).random((5, 2))) == pytest.approx(0.0)


def test_gp_cooled_says_that_it_knows_the_budget() -> None:
    assert GPCooled.knows_budget
    assert not getattr(GPEIPS, "knows_budget", False)


def test_the_quick_variances_are_those_of_the_package() -> None:
    from skopt.learning import GaussianProcessRegressor

    method = GPEI(SPACE, START, n_initial_points=3, n_candidates=50, n_restarts=1)
    for loss in (0.5, 0.3, 0.4, 0.35):
        tell(method, loss)
    model = method._optimizer.models[-1]
    points = np.random.default_rng(0).random((40, 2))

    mean, std = model.predict(points, return_std=True)
    their_mean, their_std = GaussianProcessRegressor.predict(model, points, return_std=True)

    assert mean == pytest.approx(their_mean, rel=1e-9)
    assert std == pytest.approx(their_std, rel=1e-6, abs=1e-9)


def test_only_the_last_model_is_kept() -> None:
    method = GPEI(SPACE, START, n_initial_points=2, n_candidates=50, n_restarts=1)

    for loss in (0.5, 0.3, 0.4, 0.35):
        tell(method, loss)

    assert len(method._optimizer.models) == 1


@pytest.mark.parametrize("method", [GPEI, GPEIPS])
def test_the_least_improvement_is_a_share_of_the_spread_of_the_losses(method: type[GPEI]) -> None:
    optimizer = method(SPACE, START, n_initial_points=9, xi=0.1)
    in_losses = method(SPACE, START, n_initial_points=9, xi=0.1, xi_unit="loss")

    for loss in (0.500, 0.502, 0.504, 0.506, 90.0):  # a bad trial does not count
        tell(optimizer, loss)
        tell(in_losses, loss)

    # The quartiles of five losses are the second and the fourth.
    assert optimizer._optimizer.acq_func_kwargs["xi"] == pytest.approx(0.1 * 0.004)
    assert in_losses._optimizer.acq_func_kwargs["xi"] == 0.1


def test_losses_in_another_unit_give_the_same_search() -> None:
    """With xi in units of the loss, losses that differ by thousandths make it explore only."""

    def asked(unit: float, **options: str) -> list[dict]:
        method = GPEI(SPACE, START, 3, n_initial_points=4, acq_optimizer="sampling", xi=0.3, **options)
        configs = []
        for _ in range(8):
            trial = method.ask()
            configs.append(trial.config)
            method.tell(trial, Result.ok(unit * math.log2(trial.config["trees"] / 100) ** 2, 1.0))
        return configs

    assert asked(1.0) == asked(2.0**-10)  # a power of two: the numbers differ in nothing else
    assert asked(1.0, xi_unit="loss") != asked(2.0**-10, xi_unit="loss")
