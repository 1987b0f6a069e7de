from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from cfo_bench.clock import Deadline
from cfo_bench.errors import OptionError
from cfo_bench.learners import LEARNERS
from cfo_bench.learners.dense import dense_levels
from cfo_bench.learners.knn import KNN
from cfo_bench.records import Fold, Problem, Status, Trial
from tests.helpers.clocks import CountingClock, forever
from tests.helpers.folds import make_fold
from tests.helpers.losses import sklearn_loss

N_TRAIN = 500

some_fold = partial(make_fold, n_train=N_TRAIN, n_valid=600, numbers=3, categories=1)


def scikit_learns_loss(fold: Fold, k: int, seed: int) -> float:
    rows = dense_levels(fold, seed).on(None)
    regression = fold.problem is Problem.REGRESSION
    model: Any = (KNeighborsRegressor if regression else KNeighborsClassifier)(k).fit(
        rows.train_x, rows.train_y
    )
    return sklearn_loss(fold, model, rows.valid_x)


@pytest.mark.parametrize("problem", Problem)
def test_losses_are_those_of_scikit_learns_own_estimators(problem: Problem) -> None:
    fold = some_fold(problem)
    objective = KNN().prepare(fold, threads=1, seed=2)
    for k in (1, 2, 7, 100, N_TRAIN):
        loss = objective.evaluate(Trial(0, {"k": k}), forever()).loss
        assert loss == pytest.approx(scikit_learns_loss(fold, k, 2), rel=1e-9)


def test_all_ways_to_look_for_neighbours_find_the_same() -> None:
    fold = some_fold(Problem.REGRESSION)
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
    fold = some_fold(Problem.REGRESSION)
    objective = KNN().prepare(fold, 1, 0)
    loss = objective.evaluate(Trial(0, {"k": 50}, rows=20), forever()).loss
    assert loss == objective.evaluate(Trial(1, {"k": 20}, rows=20), forever()).loss
    assert [KNN().space(n)["k"].high for n in (1, 54, 10**6)] == [1, 54, 1024]


def test_a_class_that_no_neighbour_has_is_no_certain_miss() -> None:
    fold = some_fold(Problem.MULTICLASS)
    result = KNN().prepare(fold, 1, 0).evaluate(Trial(0, {"k": 1}), forever())
    assert result.loss is not None and 5 < result.loss < 36  # -log of the smallest share that is told from 0


def test_the_deadline_is_looked_at_before_every_chunk_of_rows() -> None:
    objective = KNN().prepare(some_fold(Problem.BINARY), 1, 0)
    # Looks: two at the start, one before the fit, one after it, one for each chunk of 256 rows.
    ends = {
        at: objective.evaluate(Trial(0, {"k": 3}), Deadline(CountingClock(), at)).status for at in (7.0, 8.0)
    }
    assert ends == {7.0: Status.TIMEOUT, 8.0: Status.OK}


def test_the_model_evaluated_last_is_tested() -> None:
    fold = some_fold(Problem.BINARY)
    objective = KNN().prepare(replace(fold, test_x=fold.valid_x, test_y=fold.valid_y), 1, 0)
    for trial in (Trial(0, {"k": 3}), Trial(1, {"k": 30}, rows=100)):
        assert objective.evaluate(trial, forever()).loss == objective.test_loss()
