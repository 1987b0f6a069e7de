"""Learners whose loss and cost are formulas: hours of tuning in milliseconds, on the virtual clock.

With t = log2 x for every hyperparameter and Δ = t − t*, where t* is the optimum:

    Q(x)    = Σ aᵢ Δᵢ²  +  Σ b (Δᵢ + c Δⱼ)²  +  Σ 0.2 (1 − cos(2π Δᵢ / 3))
              bowl         valleys across pairs   ripple of 3 octaves, over the cost-related ones
    loss(x) = l* + (0.5 − l*) q / (1 + q),   q = Q(x) + 0.05 log2(n / rows)
    cost(x) = 0.001 + s · rows · Π (xᵢ / x0ᵢ)^eᵢ   seconds, over the cost-related hyperparameters

a, b, c, s and e are constants of the learner; x0 is its low-cost start; n is the number of training
rows. The optimum is drawn for (seed, n): in the middle third of the range of a cost-related
hyperparameter, in the middle three fifths of the others; its loss l* is drawn from [0.05, 0.25].
The loss lies in [l*, 0.5), so that no configuration is worse than a constant predictor (1 − AUC = 0.5). Past
the optimum's cost the loss rises again, the paper's local monotonicity; the ripple makes some local minima.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cfo_bench.clock import Deadline
from cfo_bench.learners.dnn import network_space, network_start
from cfo_bench.learners.xgboost import boosting_space, boosting_start
from cfo_bench.records import Fold, Problem, Result, Status, Trial
from cfo_bench.space import Categorical, Config, Space


@dataclass(frozen=True, slots=True)
class Shape:
    """The constants of the formulas above.

    `curvature` is a; a valley is (i, j, c, b); `exponents` is e; `row_seconds` is s.
    """

    curvature: Mapping[str, float]
    valleys: tuple[tuple[str, str, float, float], ...]
    exponents: Mapping[str, float]
    row_seconds: float


# At 30,000 rows the start takes 1.6 ms and the most expensive configuration about two hours.
BOOSTING = Shape(
    curvature={
        "n_estimators": 0.03,
        "max_leaves": 0.04,
        "min_child_weight": 0.01,
        "learning_rate": 0.05,
        "subsample": 0.3,
        "reg_alpha": 0.0005,
        "reg_lambda": 0.001,
        "colsample_bylevel": 0.3,
        "colsample_bytree": 0.5,
    },
    valleys=(
        ("n_estimators", "learning_rate", 1.0, 0.05),  # fewer trees need a higher rate
        ("max_leaves", "min_child_weight", -0.5, 0.03),  # more leaves need a larger child weight
    ),
    exponents={"n_estimators": 1.0, "max_leaves": 0.75, "min_child_weight": -0.1},
    row_seconds=2e-8,
)

# At 30,000 rows the start takes 10 ms and the most expensive configuration two and a half hours.
NETWORK = Shape(
    curvature={
        "neurons_1": 0.05,
        "neurons_2": 0.04,
        "batch_size": 0.02,
        "dropout": 0.3,
        "learning_rate": 0.04,
    },
    valleys=(
        ("neurons_1", "neurons_2", 1.0, 0.03),  # one layer can compensate for the other
        ("learning_rate", "batch_size", -0.5, 0.05),  # larger batches need a higher rate
    ),
    exponents={"neurons_1": 1.0, "neurons_2": 1.0, "batch_size": -0.5},
    row_seconds=3e-7,
)


class Synthetic9:
    """With the space and start of XGBoost."""

    problems = tuple(Problem)
    cost_related = tuple(BOOSTING.exponents)
    virtual = True

    def space(self, n_rows: int) -> Space:
        return boosting_space(n_rows)

    def start(self, space: Space) -> Config:
        return boosting_start()

    def prepare(self, fold: Fold, threads: int, seed: int) -> SyntheticObjective:
        space = self.space(fold.n_rows)
        return SyntheticObjective(BOOSTING, space, self.start(space), fold.n_rows, seed)


class Synthetic5:
    """With the space and start of a network of two hidden layers: the paper's five hyperparameters."""

    problems = tuple(Problem)
    cost_related = tuple(NETWORK.exponents)
    virtual = True

    def space(self, n_rows: int) -> Space:
        return network_space()

    def start(self, space: Space) -> Config:
        return network_start()

    def prepare(self, fold: Fold, threads: int, seed: int) -> SyntheticObjective:
        space = self.space(fold.n_rows)
        return SyntheticObjective(NETWORK, space, self.start(space), fold.n_rows, seed)


class SyntheticObjective:
    """The formulas for one (seed, n); `optimum` holds log2 of the best configuration."""

    def __init__(self, shape: Shape, space: Space, start: Config, n_rows: int, seed: int) -> None:
        self._shape = shape
        self._start = start
        self._n_rows = n_rows
        rng = np.random.default_rng((seed, n_rows))
        self.optimum = {}
        for param in space:
            assert not isinstance(param, Categorical)
            low, high = math.log2(param.low), math.log2(param.high)
            margin = 1 / 3 if param.name in shape.exponents else 1 / 5
            self.optimum[param.name] = low + (high - low) * float(rng.uniform(margin, 1 - margin))
        self.best_loss = float(rng.uniform(0.05, 0.25))

    def test_loss(self) -> float:
        raise NotImplementedError("an analytic loss has no test part")

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        rows = self._n_rows if trial.rows is None else min(trial.rows, self._n_rows)
        seconds = self.cost(trial.config, rows)
        remaining = deadline.at - deadline.now()
        if seconds > remaining:
            return Result(Status.TIMEOUT, fit_seconds=max(0.0, remaining))
        fit_seconds = 0.9 * seconds
        return Result.ok(self.loss(trial.config, rows), fit_seconds, seconds - fit_seconds)

    def loss(self, config: Config, rows: int) -> float:
        # The plain math module and a fixed order of additions, so that no vector unit or BLAS changes a bit.
        shape = self._shape
        delta = {name: math.log2(config[name]) - best for name, best in self.optimum.items()}
        q = 0.05 * math.log2(self._n_rows / rows)
        for name, a in shape.curvature.items():
            q += a * delta[name] * delta[name]
        for i, j, c, b in shape.valleys:
            across = delta[i] + c * delta[j]
            q += b * across * across
        for name in shape.exponents:
            q += 0.2 * (1 - math.cos(2 * math.pi * delta[name] / 3))
        return self.best_loss + (0.5 - self.best_loss) * q / (1 + q)

    def cost(self, config: Config, rows: int) -> float:
        factor = 1.0
        for name, exponent in self._shape.exponents.items():
            factor *= (config[name] / self._start[name]) ** exponent
        return 1e-3 + self._shape.row_seconds * rows * factor
