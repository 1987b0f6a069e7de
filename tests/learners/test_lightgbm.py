from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

lightgbm = pytest.importorskip("lightgbm")

from cfo_bench.clock import Deadline, VirtualClock, WallClock  # noqa: E402
from cfo_bench.learners.lightgbm import LightGBM, LightGBMObjective  # noqa: E402
from cfo_bench.learners.rows import shuffled_order  # noqa: E402
from cfo_bench.metrics import METRIC_OF  # noqa: E402
from cfo_bench.records import Fold, Problem, Status, Trial  # noqa: E402
from cfo_bench.space import Config  # noqa: E402

N_TRAIN, N_VALID = 400, 150
START = LightGBM().start(LightGBM().space(N_TRAIN))


def make_fold(problem: Problem) -> Fold:
    """Six columns, a tenth of the values missing; the last two columns are codes of categories."""
    rng = np.random.default_rng(11)
    n = N_TRAIN + N_VALID
    x = rng.normal(size=(n, 6)).astype(np.float32)
    x[:, 4:] = rng.integers(0, 7, size=(n, 2))
    signal = x[:, 0] + x[:, 1] ** 2 + np.isin(x[:, 4], (1, 4, 5)) + rng.normal(size=n)
    x[rng.random(x.shape) < 0.1] = np.nan
    n_classes = {Problem.BINARY: 2, Problem.MULTICLASS: 4, Problem.REGRESSION: 0}[problem]
    y = np.digitize(signal, [0, 1, 2][: n_classes - 1]) if n_classes else signal
    train, valid = slice(0, N_TRAIN), slice(N_TRAIN, n)
    categorical = (False,) * 4 + (True,) * 2
    return Fold(
        problem, METRIC_OF[problem], n_classes, categorical, x[train], y[train], x[valid], y[valid], 1.0
    )


def wrappers_loss(fold: Fold, config: Config, seed: int, rows: Any = slice(None)) -> float:
    """What a user gets from lightgbm's own scikit-learn wrapper and scikit-learn's metric."""
    regression = fold.problem is Problem.REGRESSION
    model = (lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier)(
        **config, subsample_freq=1, seed=seed, n_jobs=1, verbosity=-1, deterministic=True, force_row_wise=True
    )
    model.fit(fold.train_x[rows], fold.train_y[rows], categorical_feature=[4, 5])
    if regression:
        return 1 - float(sklearn_metrics.r2_score(fold.valid_y, model.predict(fold.valid_x)))
    probability = model.predict_proba(fold.valid_x)
    if fold.problem is Problem.BINARY:
        return 1 - float(sklearn_metrics.roc_auc_score(fold.valid_y, probability[:, 1]))
    return float(sklearn_metrics.log_loss(fold.valid_y, probability))


def forever() -> Deadline:
    return Deadline(WallClock())


@pytest.fixture
def objective() -> LightGBMObjective:
    return LightGBM().prepare(make_fold(Problem.BINARY), threads=1, seed=0)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("problem", Problem)
def test_losses_are_those_of_lightgbms_own_wrapper_with_scikit_learns_metric(problem: Problem) -> None:
    learner, fold, rng = LightGBM(), make_fold(problem), np.random.default_rng(0)
    objective = learner.prepare(fold, threads=1, seed=3)
    space = learner.space(40)  # at most 40 trees: quick
    for number in range(5):
        config = space.sample(rng)
        loss = objective.evaluate(Trial(number, config), forever()).loss
        assert loss == pytest.approx(wrappers_loss(fold, config, 3), rel=1e-9)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_trial_on_fewer_rows_trains_on_the_first_of_the_shuffled_order() -> None:
    fold = make_fold(Problem.MULTICLASS)
    loss = LightGBM().prepare(fold, 1, 5).evaluate(Trial(0, START, rows=200), forever()).loss
    first = shuffled_order(fold, 5)[:200]
    assert loss == pytest.approx(wrappers_loss(fold, START, 5, first), rel=1e-9)


def test_a_level_of_rows_is_binned_once(objective: LightGBMObjective) -> None:
    for number, rows in enumerate([100, 200, 100, None, N_TRAIN, N_TRAIN + 1]):
        objective.evaluate(Trial(number, START, rows), forever())
    made = objective._on_first_rows.cache_info()
    assert (made.misses, made.hits) == (3, 4)


class CountingClock(VirtualClock):
    """A second passes each time somebody looks."""

    def now(self) -> float:
        self.account(1.0)
        return super().now()


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
