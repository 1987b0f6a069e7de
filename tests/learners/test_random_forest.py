from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from cfo_bench.clock import Deadline, VirtualClock, WallClock
from cfo_bench.learners.random_forest import RandomForest
from cfo_bench.metrics import METRIC_OF
from cfo_bench.records import Fold, Problem, Status, Trial
from cfo_bench.space import Config

N_TRAIN, N_VALID = 200, 100
START = {"n_estimators": 4, "max_leaves": 4, "max_features": 0.1}


def make_fold(problem: Problem) -> Fold:
    rng = np.random.default_rng(11)
    n = N_TRAIN + N_VALID
    x = rng.normal(size=(n, 5)).astype(np.float32)
    signal = x[:, 0] + x[:, 1] ** 2 + rng.normal(size=n)
    x[rng.random(x.shape) < 0.1] = np.nan
    n_classes = {Problem.BINARY: 2, Problem.MULTICLASS: 4, Problem.REGRESSION: 0}[problem]
    y = np.digitize(signal, [0, 1, 2][: n_classes - 1]) if n_classes else signal
    train, valid = slice(0, N_TRAIN), slice(N_TRAIN, n)
    return Fold(
        problem, METRIC_OF[problem], n_classes, (False,) * 5, x[train], y[train], x[valid], y[valid], 1.0
    )


def scikit_learns_loss(fold: Fold, config: Config, seed: int) -> float:
    regression = fold.problem is Problem.REGRESSION
    model: Any = (RandomForestRegressor if regression else RandomForestClassifier)(
        config["n_estimators"],
        max_leaf_nodes=config["max_leaves"],
        max_features=config["max_features"],
        random_state=seed,
    ).fit(fold.train_x, fold.train_y)
    if regression:
        return 1 - float(sklearn_metrics.r2_score(fold.valid_y, model.predict(fold.valid_x)))
    shares = model.predict_proba(fold.valid_x)
    if fold.problem is Problem.BINARY:
        return 1 - float(sklearn_metrics.roc_auc_score(fold.valid_y, shares[:, 1]))
    return float(sklearn_metrics.log_loss(fold.valid_y, shares))


def forever() -> Deadline:
    return Deadline(WallClock())


@pytest.mark.parametrize("problem", Problem)
def test_losses_are_those_of_a_forest_that_scikit_learn_grows_in_one_go(problem: Problem) -> None:
    fold = make_fold(problem)
    objective = RandomForest().prepare(fold, threads=1, seed=3)
    for config in (START, {"n_estimators": 21, "max_leaves": 50, "max_features": 0.7}):
        loss = objective.evaluate(Trial(0, config), forever()).loss
        assert loss == pytest.approx(scikit_learns_loss(fold, config, 3), rel=1e-9)


def test_a_class_that_the_trials_rows_lack_has_no_share() -> None:
    fold = make_fold(Problem.MULTICLASS)
    objective = RandomForest().prepare(fold, 1, 0)
    result = objective.evaluate(Trial(0, START, rows=3), forever())
    assert result.status is Status.OK and result.loss is not None and result.loss > 1


class CountingClock(VirtualClock):
    """A second passes each time somebody looks, so that no call is a quick one."""

    def now(self) -> float:
        self.account(1.0)
        return super().now()


def test_the_deadline_is_looked_at_between_trees() -> None:
    objective = RandomForest().prepare(make_fold(Problem.BINARY), 1, 0)
    clocks = {trees: CountingClock() for trees in (4, 40)}
    for trees, clock in clocks.items():
        objective.evaluate(Trial(0, START | {"n_estimators": trees}), Deadline(clock))
    assert clocks[40].now() - clocks[4].now() == 3 * 9  # nine more calls of four trees
    late = objective.evaluate(Trial(0, START | {"n_estimators": 40}), Deadline(CountingClock(), at=12.0))
    assert (late.status, late.loss) == (Status.TIMEOUT, None)
