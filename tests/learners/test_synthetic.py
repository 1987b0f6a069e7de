from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from cfo_bench.clock import Deadline, VirtualClock
from cfo_bench.learners.synthetic import Synthetic5, Synthetic9, SyntheticObjective
from cfo_bench.learners.xgboost import XGBoost
from cfo_bench.records import Fold, Problem, Status, Trial
from cfo_bench.space import Config, Int, Space

EMPTY = np.empty((0, 0), dtype=np.float32)
BOTH = pytest.mark.parametrize("learner", [Synthetic9(), Synthetic5()], ids=["9", "5"])


def prepare(learner: Synthetic9 | Synthetic5, n_rows: int = 30_000, seed: int = 0) -> SyntheticObjective:
    fold = Fold(Problem.BINARY, "auc", 2, (), EMPTY, np.zeros(n_rows), EMPTY, np.zeros(0), 0.5)
    return learner.prepare(fold, threads=1, seed=seed)


def start_of(learner: Synthetic9 | Synthetic5, n_rows: int = 30_000) -> Config:
    return learner.start(learner.space(n_rows))


def near(space: Space, point: dict[str, float]) -> Config:
    """The configuration of the space nearest to a point given in log2."""
    values = {name: 2**t for name, t in point.items()}
    return {
        p.name: min(max(round(values[p.name]) if isinstance(p, Int) else values[p.name], p.low), p.high)
        for p in space
    }


def test_the_nine_have_xgboosts_space_and_start() -> None:
    mine, xgboost = Synthetic9(), XGBoost()
    assert mine.space(1234) == xgboost.space(1234)
    assert mine.start(mine.space(1234)) == xgboost.start(xgboost.space(1234))
    assert mine.cost_related == xgboost.cost_related


def test_importing_the_synthetic_learner_does_not_import_xgboost() -> None:
    code = "import sys, cfo_bench.learners.synthetic; sys.exit('xgboost' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("learner", "start_loss", "trial_loss", "trial_cost"),
    [
        (Synthetic9(), 0.4630405434133253, 0.37585353133696886, 23.919049792494956),
        (Synthetic5(), 0.46140856143151177, 0.3251085720623138, 51.458807474839496),
    ],
    ids=["9", "5"],
)
def test_the_functions_stay_as_they_were_written_down(
    learner: Synthetic9 | Synthetic5, start_loss: float, trial_loss: float, trial_cost: float
) -> None:
    objective = prepare(learner, seed=7)
    config = learner.space(30_000).sample(np.random.default_rng(7))
    assert objective.loss(start_of(learner), 30_000) == pytest.approx(start_loss, rel=1e-12)
    assert objective.loss(config, 10_000) == pytest.approx(trial_loss, rel=1e-12)
    assert objective.cost(config, 10_000) == pytest.approx(trial_cost, rel=1e-12)


def test_the_loss_is_the_formula_of_the_docstring() -> None:
    objective = prepare(Synthetic5(), seed=1)
    shift = {"neurons_1": 1.0, "neurons_2": -0.5, "batch_size": 0.25, "dropout": 0.1, "learning_rate": -2.0}
    config = {name: 2 ** (best + shift[name]) for name, best in objective.optimum.items()}
    bowl = 0.05 * 1 + 0.04 * 0.25 + 0.02 * 0.0625 + 0.3 * 0.01 + 0.04 * 4
    valleys = 0.03 * (1 - 0.5) ** 2 + 0.05 * (-2 - 0.5 * 0.25) ** 2
    ripple = sum(0.2 * (1 - math.cos(2 * math.pi * delta / 3)) for delta in (1.0, -0.5, 0.25))
    q = bowl + valleys + ripple + 0.05 * math.log2(3)
    low = objective.best_loss
    assert objective.loss(config, 10_000) == pytest.approx(low + (0.5 - low) * q / (1 + q), rel=1e-12)


def test_the_cost_is_a_product_of_powers_of_the_cost_related_hyperparameters() -> None:
    learner = Synthetic9()
    objective = prepare(learner)
    start = start_of(learner)
    assert objective.cost(start, 30_000) == pytest.approx(1.6e-3)
    dearer = start | {
        "n_estimators": 40,
        "max_leaves": 64,
        "min_child_weight": 20 / 1024,
        "learning_rate": 0.01,
    }
    assert objective.cost(dearer, 30_000) == pytest.approx(1e-3 + 6e-4 * 10 * 8 * 2)
    assert objective.cost(dearer, 3_000) == pytest.approx(1e-3 + 6e-5 * 10 * 8 * 2)


@BOTH
def test_the_start_takes_milliseconds_and_the_most_expensive_configuration_hours(
    learner: Synthetic9 | Synthetic5,
) -> None:
    objective, space = prepare(learner), learner.space(30_000)
    most_expensive = start_of(learner) | {
        name: space[name].low if name in ("min_child_weight", "batch_size") else space[name].high
        for name in learner.cost_related
    }
    assert objective.cost(start_of(learner), 30_000) < 0.02
    assert 2 < objective.cost(most_expensive, 30_000) / 3600 < 4


@BOTH
@pytest.mark.parametrize("seed", range(5))
def test_no_configuration_beats_the_optimum_and_losses_lie_between_it_and_a_half(
    learner: Synthetic9 | Synthetic5, seed: int
) -> None:
    objective, space = prepare(learner, seed=seed), learner.space(30_000)
    rng = np.random.default_rng(seed)
    losses = [objective.loss(space.sample(rng), 30_000) for _ in range(500)]
    assert 0 < objective.best_loss <= min(losses) and max(losses) < 0.5
    # Rounding to whole numbers keeps it close.
    assert objective.loss(near(space, objective.optimum), 30_000) - objective.best_loss < 0.001


@BOTH
def test_the_loss_rises_again_when_complexity_passes_the_optimum(learner: Synthetic9 | Synthetic5) -> None:
    objective = prepare(learner)
    for name in learner.cost_related:
        dearer = -1 if name in ("min_child_weight", "batch_size") else 1
        points = [
            {**objective.optimum, name: objective.optimum[name] + dearer * step / 4} for step in range(6)
        ]
        configs = [{key: 2**t for key, t in point.items()} for point in points]
        costs = [objective.cost(config, 30_000) for config in configs]
        losses = [objective.loss(config, 30_000) for config in configs]
        assert costs == sorted(costs) and losses == sorted(losses) and losses[-1] > losses[0] + 0.01


def test_the_ripple_makes_local_minima() -> None:
    objective = prepare(Synthetic9())
    best = objective.optimum["min_child_weight"]
    line = [
        objective.loss(
            {name: 2**t for name, t in {**objective.optimum, "min_child_weight": best + step / 8}.items()},
            30_000,
        )
        for step in range(-32, 33)
    ]
    minima = [i for i in range(1, len(line) - 1) if line[i - 1] > line[i] < line[i + 1]]
    assert len(minima) == 3 and 32 in minima


def test_fewer_trees_want_a_higher_learning_rate() -> None:
    objective = prepare(Synthetic9())

    def best_rate(trees_shift: float) -> float:
        point = {**objective.optimum, "n_estimators": objective.optimum["n_estimators"] + trees_shift}
        rates = np.linspace(0.001, 1.0, 2000)
        return float(
            min(
                rates,
                key=lambda r: objective.loss({**{k: 2**t for k, t in point.items()}, "learning_rate": r}, 1),
            )
        )

    assert best_rate(-1.5) > best_rate(0) > best_rate(1.5)


@BOTH
def test_another_seed_or_number_of_rows_is_another_function(learner: Synthetic9 | Synthetic5) -> None:
    assert prepare(learner).optimum == prepare(learner).optimum
    assert prepare(learner).optimum != prepare(learner, seed=1).optimum
    assert prepare(learner).optimum != prepare(learner, n_rows=30_001).optimum


@BOTH
def test_fewer_rows_cost_less_and_lose_more(learner: Synthetic9 | Synthetic5) -> None:
    objective, deadline = prepare(learner), Deadline(VirtualClock())
    results = [
        objective.evaluate(Trial(0, start_of(learner), rows), deadline) for rows in (1_000, 10_000, 30_000)
    ]
    losses = [result.value for result in results]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[2]
    overhead = 1e-3
    tenth, whole = (r.fit_seconds + r.validate_seconds - overhead for r in (results[0], results[2]))
    assert whole == pytest.approx(30 * tenth)
    assert objective.evaluate(Trial(0, start_of(learner), 90_000), deadline) == results[2]


@BOTH
def test_a_trial_that_would_pass_the_deadline_takes_what_remains_and_has_no_loss(
    learner: Synthetic9 | Synthetic5,
) -> None:
    objective, config = prepare(learner), start_of(learner)
    cost = objective.cost(config, 30_000)
    in_time = objective.evaluate(Trial(0, config), Deadline(VirtualClock(0.0), at=cost))
    assert in_time.status is Status.OK
    assert in_time.fit_seconds + in_time.validate_seconds == cost
    assert in_time.fit_seconds == pytest.approx(0.9 * cost)
    late = objective.evaluate(Trial(0, config), Deadline(VirtualClock(4.0), at=4 + cost / 2))
    assert late.status is Status.TIMEOUT and late.loss is None
    assert late.fit_seconds == pytest.approx(cost / 2) and late.validate_seconds == 0.0
