from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from cfo_bench.clock import Deadline, VirtualClock, WallClock
from cfo_bench.errors import OptionError
from cfo_bench.learners import LEARNERS
from cfo_bench.learners.dense import DenseFold
from cfo_bench.learners.knn import KNN
from cfo_bench.metrics import METRIC_OF
from cfo_bench.records import Fold, Problem, Status, Trial

N_TRAIN, N_VALID = 500, 600


def make_fold(problem: Problem) -> Fold:
    rng = np.random.default_rng(7)
    n = N_TRAIN + N_VALID
    x = rng.normal(size=(n, 4)).astype(np.float32)
    x[:, 3] = rng.integers(0, 3, n)
    signal = x[:, 0] + x[:, 1] + (x[:, 3] == 1) + 0.5 * rng.normal(size=n)
    x[rng.random(x.shape) < 0.05] = np.nan
    n_classes = {Problem.BINARY: 2, Problem.MULTICLASS: 4, Problem.REGRESSION: 0}[problem]
    y = np.digitize(signal, [-1.0, 0.0, 1.0][: n_classes - 1]) if n_classes else signal
    cut = slice(0, N_TRAIN), slice(N_TRAIN, n)
    categorical = (False, False, False, True)
    return Fold(
        problem, METRIC_OF[problem], n_classes, categorical, x[cut[0]], y[cut[0]], x[cut[1]], y[cut[1]], 1.0
    )


def forever() -> Deadline:
    return Deadline(WallClock())


def scikit_learns_loss(fold: Fold, k: int, seed: int) -> float:
    rows = DenseFold(fold, seed).on(None)
    regression = fold.problem is Problem.REGRESSION
    model: Any = (KNeighborsRegressor if regression else KNeighborsClassifier)(k).fit(
        rows.train_x, rows.train_y
    )
    if regression:
        return 1 - float(sklearn_metrics.r2_score(fold.valid_y, model.predict(rows.valid_x)))
    shares = model.predict_proba(rows.valid_x)
    if fold.problem is Problem.BINARY:
        return 1 - float(sklearn_metrics.roc_auc_score(fold.valid_y, shares[:, 1]))
    return float(sklearn_metrics.log_loss(fold.valid_y, shares))


@pytest.mark.parametrize("problem", Problem)
def test_losses_are_those_of_scikit_learns_own_estimators(problem: Problem) -> None:
    fold = make_fold(problem)
    objective = KNN().prepare(fold, threads=1, seed=2)
    for k in (1, 2, 7, 100, N_TRAIN):
        loss = objective.evaluate(Trial(0, {"k": k}), forever()).loss
        assert loss == pytest.approx(scikit_learns_loss(fold, k, 2), rel=1e-9)


def test_all_ways_to_look_for_neighbours_find_the_same() -> None:
    fold = make_fold(Problem.REGRESSION)
    losses = [
        KNN(algorithm=algorithm).prepare(fold, 1, 0).evaluate(Trial(0, {"k": 9}), forever()).loss
        for algorithm in ("brute", "kd_tree", "ball_tree")
    ]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-5)


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(
        OptionError, match="option algorithm of learner 'knn' is 'psychic': give auto or brute"
    ):
        LEARNERS.options("knn", {"algorithm": "psychic"})


def test_there_are_no_more_neighbours_than_rows() -> None:
    fold = make_fold(Problem.REGRESSION)
    objective = KNN().prepare(fold, 1, 0)
    loss = objective.evaluate(Trial(0, {"k": 50}, rows=20), forever()).loss
    assert loss == objective.evaluate(Trial(1, {"k": 20}, rows=20), forever()).loss
    assert [KNN().space(n)["k"].high for n in (1, 54, 10**6)] == [1, 54, 1024]


def test_a_class_that_no_neighbour_has_is_no_certain_miss() -> None:
    fold = make_fold(Problem.MULTICLASS)
    result = KNN().prepare(fold, 1, 0).evaluate(Trial(0, {"k": 1}), forever())
    assert result.loss is not None and 5 < result.loss < 36  # -log of the smallest share that is told from 0


class CountingClock(VirtualClock):
    """A second passes each time somebody looks."""

    def now(self) -> float:
        self.account(1.0)
        return super().now()


def test_the_deadline_is_looked_at_before_every_chunk_of_rows() -> None:
    objective = KNN().prepare(make_fold(Problem.BINARY), 1, 0)
    # Looks: two at the start, one before the fit, one after it, one for each chunk of 256 rows.
    ends = {
        at: objective.evaluate(Trial(0, {"k": 3}), Deadline(CountingClock(), at)).status for at in (7.0, 8.0)
    }
    assert ends == {7.0: Status.TIMEOUT, 8.0: Status.OK}


def test_the_model_evaluated_last_is_tested() -> None:
    fold = make_fold(Problem.BINARY)
    objective = KNN().prepare(replace(fold, test_x=fold.valid_x, test_y=fold.valid_y), 1, 0)
    for trial in (Trial(0, {"k": 3}), Trial(1, {"k": 30}, rows=100)):
        assert objective.evaluate(trial, forever()).loss == objective.test_loss()
