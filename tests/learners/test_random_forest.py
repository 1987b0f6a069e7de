from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from cfo_bench.clock import Deadline
from cfo_bench.learners.random_forest import RandomForest
from cfo_bench.records import Fold, Problem, Status, Trial
from cfo_bench.space import Config
from tests.helpers.clocks import CountingClock, forever
from tests.helpers.folds import make_fold
from tests.helpers.losses import sklearn_loss

some_fold = partial(make_fold, n_train=200, n_valid=100, categories=0)
START = {"n_estimators": 4, "max_leaves": 4, "max_features": 0.1}


def scikit_learns_loss(fold: Fold, config: Config, seed: int) -> float:
    regression = fold.problem is Problem.REGRESSION
    model: Any = (RandomForestRegressor if regression else RandomForestClassifier)(
        config["n_estimators"],
        max_leaf_nodes=config["max_leaves"],
        max_features=config["max_features"],
        random_state=seed,
    ).fit(fold.train_x, fold.train_y)
    return sklearn_loss(fold, model)


@pytest.mark.parametrize("problem", Problem)
def test_losses_are_those_of_a_forest_that_scikit_learn_grows_in_one_go(problem: Problem) -> None:
    fold = some_fold(problem)
    objective = RandomForest().prepare(fold, threads=1, seed=3)
    for config in (START, {"n_estimators": 21, "max_leaves": 50, "max_features": 0.7}):
        loss = objective.evaluate(Trial(0, config), forever()).loss
        assert loss == pytest.approx(scikit_learns_loss(fold, config, 3), rel=1e-9)


def test_a_class_that_the_trials_rows_lack_has_no_share() -> None:
    fold = some_fold(Problem.MULTICLASS)
    objective = RandomForest().prepare(fold, 1, 0)
    result = objective.evaluate(Trial(0, START, rows=3), forever())
    assert result.status is Status.OK and result.loss is not None and result.loss > 1


def test_the_deadline_is_looked_at_between_trees() -> None:
    objective = RandomForest().prepare(some_fold(Problem.BINARY), 1, 0)
    clocks = {trees: CountingClock() for trees in (4, 40)}
    for trees, clock in clocks.items():
        objective.evaluate(Trial(0, START | {"n_estimators": trees}), Deadline(clock))
    assert clocks[40].now() - clocks[4].now() == 3 * 9  # nine more calls of four trees
    late = objective.evaluate(Trial(0, START | {"n_estimators": 40}), Deadline(CountingClock(), at=12.0))
    assert (late.status, late.loss) == (Status.TIMEOUT, None)
