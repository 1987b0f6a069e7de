from __future__ import annotations

from typing import Any

import numpy as np
import pytest

lightgbm = pytest.importorskip("lightgbm")

from cfo_bench.clock import Deadline  # noqa: E402
from cfo_bench.learners.evaluation import shuffled_order  # noqa: E402
from cfo_bench.learners.lightgbm import LightGBM, LightGBMObjective  # noqa: E402
from cfo_bench.records import Fold, Problem, Status, Trial  # noqa: E402
from cfo_bench.space import Config  # noqa: E402
from tests.helpers.clocks import CountingClock, forever  # noqa: E402
from tests.helpers.folds import make_fold  # noqa: E402
from tests.helpers.losses import sklearn_loss  # noqa: E402

N_TRAIN = 400
START = LightGBM().start(LightGBM().space(N_TRAIN))


def wrappers_loss(fold: Fold, config: Config, seed: int, rows: Any = slice(None)) -> float:
    """What a user gets from lightgbm's own scikit-learn wrapper and scikit-learn's metric."""
    regression = fold.problem is Problem.REGRESSION
    model = (lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier)(
        **config, subsample_freq=1, seed=seed, n_jobs=1, verbosity=-1, deterministic=True, force_row_wise=True
    )
    model.fit(fold.train_x[rows], fold.train_y[rows], categorical_feature=[4, 5])
    return sklearn_loss(fold, model)


@pytest.fixture
def objective() -> LightGBMObjective:
    return LightGBM().prepare(make_fold(Problem.BINARY, N_TRAIN), threads=1, seed=0)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("problem", Problem)
def test_losses_are_those_of_lightgbms_own_wrapper_with_scikit_learns_metric(problem: Problem) -> None:
    learner, fold, rng = LightGBM(), make_fold(problem, N_TRAIN), np.random.default_rng(0)
    objective = learner.prepare(fold, threads=1, seed=3)
    space = learner.space(40)  # at most 40 trees: quick
    for number in range(5):
        config = space.sample(rng)
        loss = objective.evaluate(Trial(number, config), forever()).loss
        assert loss == pytest.approx(wrappers_loss(fold, config, 3), rel=1e-9)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_trial_on_fewer_rows_trains_on_the_first_of_the_shuffled_order() -> None:
    fold = make_fold(Problem.MULTICLASS, N_TRAIN)
    loss = LightGBM().prepare(fold, 1, 5).evaluate(Trial(0, START, rows=200), forever()).loss
    first = shuffled_order(fold, 5)[:200]
    assert loss == pytest.approx(wrappers_loss(fold, START, 5, first), rel=1e-9)


def test_a_level_of_rows_is_binned_once(objective: LightGBMObjective) -> None:
    for number, rows in enumerate([100, 200, 100, None, N_TRAIN, N_TRAIN + 1]):
        objective.evaluate(Trial(number, START, rows), forever())
    assert objective._train.on(100) is objective._train.on(100)


def test_the_deadline_is_looked_at_before_every_round(objective: LightGBMObjective) -> None:
    clock = CountingClock()
    assert objective.evaluate(Trial(0, START), Deadline(clock)).status is Status.OK
    few = clock.now()
    clock = CountingClock()
    objective.evaluate(Trial(0, START | {"n_estimators": 14}), Deadline(clock))
    assert clock.now() == few + 10
    late = objective.evaluate(Trial(0, START | {"n_estimators": 14}), Deadline(CountingClock(), at=few))
    assert (late.status, late.loss) == (Status.TIMEOUT, None)


def test_a_value_that_lightgbm_refuses_fails_the_trial_with_one_line(objective: LightGBMObjective) -> None:
    result = objective.evaluate(Trial(0, START | {"num_leaves": 1}), forever())
    assert result.status is Status.FAILED and result.error is not None
    assert "num_leaves" in result.error and "\n" not in result.error
    assert objective.evaluate(Trial(1, START), forever()).status is Status.OK
