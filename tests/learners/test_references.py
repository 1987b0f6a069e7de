"""The references that scale the scores: the constant predictor and the tuned random forest."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from cfo_bench.clock import Deadline, VirtualClock
from cfo_bench.errors import Exhausted, OptionError
from cfo_bench.learners import REFERENCES
from cfo_bench.learners.references import (
    BATCH_TREES,
    ForestObjective,
    ForestSize,
    TunedForest,
    max_features_grid,
)
from cfo_bench.optimizers import METHODS
from cfo_bench.records import Fold, Problem, Result, Status, Trial
from cfo_bench.space import Space
from tests.helpers.clocks import forever
from tests.helpers.folds import make_fold
from tests.helpers.losses import sklearn_loss

ROOT = Path(__file__).resolve().parents[2]
START = Trial(0, {})
some_fold = partial(
    make_fold, n_train=90, n_valid=40, n_test=40, numbers=4, categories=1, constants=1, empty=1, missing=0.2
)
QUICK = {"trees": 6, "grid": 2, "cv_folds": 2, "tuning_share": 0.5}


def forest(fold: Fold, seed: int = 0, threads: int = 1, **options: Any) -> ForestObjective:
    return TunedForest(**{**QUICK, **options}).prepare(fold, threads, seed)


# --- the methods --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["constant", "tuned-rf"])
def test_a_reference_asks_once_and_is_exhausted(name: str) -> None:
    method = METHODS.load(name)(Space([]), {}, 0, **METHODS.options(name, {}))
    assert method.ask() == START
    method.tell(START, Result.ok(0.5))
    with pytest.raises(Exhausted):
        method.ask()


def test_every_reference_names_a_learner_that_takes_its_options() -> None:
    references = {name: row.learner for name, row in METHODS.rows().items() if row.learner is not None}
    assert set(references) == {"constant", "tuned-rf"}
    for name, learner in references.items():
        built = REFERENCES.load(learner)(**METHODS.options(name, {}))
        assert built.problems == tuple(Problem)
        assert len(built.space(10)) == 0 and built.start(built.space(10)) == {}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("trees", 0),
        ("grid", 0),
        ("cv_folds", 1),
        ("least_trees", 0),
        ("leaf_rows", 0),
        ("tree_rows", 0),
        ("tuning_share", 0),
        ("tuning_share", 1),
        ("tuning_share", math.nan),
    ],
)
def test_a_wrong_value_of_an_option_is_refused_in_one_line(option: str, value: object) -> None:
    with pytest.raises(OptionError) as refused:
        METHODS.load("tuned-rf")(Space([]), {}, 0, **METHODS.options("tuned-rf", {option: value}))
    assert str(refused.value).startswith(f"{option} {value!r}: give ") and "\n" not in str(refused.value)


# --- the constant predictor -----------------------------------------------------------------------


@pytest.mark.parametrize("problem", Problem)
def test_the_constant_has_the_loss_of_the_header_and_is_tested_as_the_same_predictor(
    problem: Problem,
) -> None:
    fold = some_fold(problem)
    objective = REFERENCES.load("constant")().prepare(fold, 1, 0)
    assert objective.evaluate(START, forever()).loss == fold.constant_loss
    assert fold.test_y is not None
    priors = np.bincount(fold.train_y) / fold.n_rows if fold.n_classes else fold.train_y.mean()
    expected = {
        Problem.BINARY: lambda: 0.5,
        Problem.MULTICLASS: lambda: -np.log(priors[fold.test_y]).mean(),
        Problem.REGRESSION: lambda: np.square(fold.test_y - priors).mean() / fold.test_y.var(),
    }[problem]()
    assert objective.test_loss() == pytest.approx(expected, rel=1e-12)


# --- the forest -------------------------------------------------------------------------------------


def test_the_grid_goes_from_one_feature_to_all_with_the_root_first() -> None:
    assert max_features_grid(100, 5) == [10, 5, 22, 1, 100]
    assert max_features_grid(100, 1) == [10]
    assert max_features_grid(100, 3) == [10, 1, 100]
    assert len(max_features_grid(1000, 11)) == 11
    assert sorted(max_features_grid(4, 11)) == [1, 2, 3, 4]
    assert max_features_grid(1, 5) == [1]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("problem", Problem)
def test_its_trees_are_those_of_scikit_learns_forest(problem: Problem, threads: int) -> None:
    """In batches, and with more trees than one batch has."""
    fold = some_fold(problem, missing=0.0, empty=0)
    trees = 2 * BATCH_TREES + 3
    result = forest(fold, seed=3, threads=threads, trees=trees, grid=1).evaluate(START, forever())
    kind = RandomForestRegressor if problem is Problem.REGRESSION else RandomForestClassifier
    at_each_split = round(fold.train_x.shape[1] ** 0.5)
    model = kind(trees, max_features=at_each_split, random_state=3).fit(fold.train_x, fold.train_y)
    # The mean of batches is rounded otherwise, and rounding makes ties.
    assert result.loss == pytest.approx(sklearn_loss(fold, model), abs=3e-3)


@pytest.mark.parametrize("problem", Problem)
def test_it_takes_missing_values_and_is_better_than_the_constant(problem: Problem) -> None:
    fold = some_fold(problem, n_train=300)
    result = forest(fold, trees=30).evaluate(START, forever())
    assert result.status is Status.OK and result.value < fold.constant_loss
    assert result.fit_seconds > 0 and result.validate_seconds > 0
    assert {type(x) for x in (result.loss, result.fit_seconds, result.validate_seconds)} == {float}


@pytest.mark.parametrize("problem", Problem)
def test_the_same_seed_gives_the_same_loss_and_another_gives_another(problem: Problem) -> None:
    fold = some_fold(problem)
    objective = forest(fold, seed=3)
    losses = [objective.evaluate(START, forever()).loss for _ in range(2)]
    assert losses[0] == losses[1] == forest(fold, seed=3).evaluate(START, forever()).loss
    assert len({forest(fold, seed=seed).evaluate(START, forever()).loss for seed in range(3)}) > 1


def test_missing_numbers_are_the_training_median_and_missing_categories_the_most_frequent() -> None:
    nan = np.nan
    train = np.array([[1, 2, nan], [nan, 2, nan], [3, 0, nan], [8, nan, nan]], dtype=np.float32)
    valid = np.full((2, 3), nan, dtype=np.float32)
    fold = replace(
        some_fold(Problem.REGRESSION),
        categorical=(False, True, False),
        train_x=train,
        train_y=np.arange(4.0),
        valid_x=valid,
        valid_y=np.arange(2.0),
        test_x=valid,
        test_y=np.arange(2.0),
    )
    filled = forest(fold)._fold
    assert filled.train_x.tolist() == [[1, 2, 0], [3, 2, 0], [3, 0, 0], [8, 2, 0]]
    assert filled.valid_x.tolist() == filled.test_x.tolist() == [[3, 2, 0], [3, 2, 0]]
    assert filled.train_x.dtype == np.float32 and np.isnan(fold.train_x).any()


def test_max_features_is_tuned_on_the_training_part_alone() -> None:
    """One feature of forty tells the class: a forest must look at all of them to find it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 40)).astype(np.float32)
    y = (x[:, 7] > 0).astype(np.int32)
    fold = replace(
        some_fold(Problem.BINARY),
        categorical=(False,) * 40,
        train_x=x[:300],
        train_y=y[:300],
        valid_x=x[300:],
        valid_y=1 - y[300:],  # what validation would choose is the worst
        test_x=x[300:],
        test_y=y[300:],
    )
    objective = forest(fold, trees=20, grid=3)
    objective.evaluate(START, forever())
    assert objective._max_features == 40


def test_a_class_that_the_training_part_lacks_still_gives_a_loss() -> None:
    fold = some_fold(Problem.MULTICLASS)
    fold = replace(fold, train_y=np.where(fold.train_y == 1, 2, fold.train_y))
    result = forest(fold).evaluate(START, forever())
    assert result.status is Status.OK and math.isfinite(result.value)


def test_too_few_rows_to_cross_validate_are_fitted_with_the_root_of_the_features() -> None:
    fold = some_fold(Problem.BINARY)
    few = replace(fold, train_x=fold.train_x[:5], train_y=np.array([0, 1, 0, 1, 1]))
    objective = forest(few)
    assert objective.evaluate(START, forever()).status is Status.OK
    assert objective._max_features == 3


@pytest.mark.parametrize("problem", Problem)
def test_its_test_loss_is_that_of_the_same_forest_on_the_test_part(problem: Problem) -> None:
    fold = some_fold(problem)
    objective = forest(fold)
    objective.evaluate(START, forever())
    assert fold.test_x is not None and fold.test_y is not None
    moved = forest(replace(fold, valid_x=fold.test_x, valid_y=fold.test_y))
    assert objective.test_loss() == moved.evaluate(START, forever()).loss


class Ticking(VirtualClock):
    """A second passes whenever it is looked at."""

    def now(self) -> float:
        self.account(1.0)
        return super().now()


def test_tuning_ends_with_its_share_of_the_time_and_the_forest_is_still_fitted() -> None:
    objective = forest(some_fold(Problem.BINARY), trees=10, grid=3, cv_folds=2, tuning_share=0.1)
    result = objective.evaluate(START, Deadline(Ticking(), at=60.0))
    assert result.status is Status.OK and objective._max_features == 3  # the first of the grid


@pytest.mark.parametrize("problem", Problem)
def test_with_least_trees_it_has_as_many_as_there_was_time_for(problem: Problem) -> None:
    """Each tree takes five looks at the clock."""
    fold = some_fold(problem)
    result = forest(fold, trees=1000, grid=1, least_trees=3).evaluate(START, Deadline(Ticking(), at=60.0))
    grown = [forest(fold, trees=trees, grid=1).evaluate(START, forever()).loss for trees in range(6, 13)]
    assert result.status is Status.OK and result.loss in [pytest.approx(loss, abs=1e-12) for loss in grown]

    none = forest(fold, trees=1000, grid=1, least_trees=30).evaluate(START, Deadline(Ticking(), at=60.0))
    assert none.status is Status.TIMEOUT and "no time for 30 trees" in str(none.error)
    assert "fewer --option tuned-rf.least_trees" in str(none.error)


def test_trees_are_smaller_with_larger_leaves_and_fewer_rows() -> None:
    fold = some_fold(Problem.REGRESSION, n_train=400)
    whole, leaves, rows = (
        forest(fold, grid=1, **options)._forest(3, 2, 0, ForestSize(3, 3, **options), 400)
        for options in ({}, {"leaf_rows": 20}, {"tree_rows": 50})
    )
    sizes = [grown.fit(fold.train_x, fold.train_y)[0].tree_.node_count for grown in (whole, leaves, rows)]
    assert sizes[1] < sizes[0] / 5 and sizes[2] < sizes[0] / 5


def test_no_forest_is_scored_when_the_deadline_has_passed() -> None:
    for name in ("constant", "tuned-rf"):
        options = QUICK if name == "tuned-rf" else {}
        objective = REFERENCES.load(name)(**options).prepare(some_fold(Problem.BINARY), 1, 0)
        result = objective.evaluate(START, Deadline(VirtualClock(5.0), at=5.0))
        assert (result.status, result.loss) == (Status.TIMEOUT, None)
    assert result.error is not None and "fewer --option tuned-rf.trees" in result.error


def test_the_fold_stays_as_it_was() -> None:
    fold = some_fold(Problem.MULTICLASS)
    before = fold.train_x.copy(), fold.valid_x.copy()
    forest(fold).evaluate(START, forever())
    np.testing.assert_array_equal(fold.train_x, before[0])
    np.testing.assert_array_equal(fold.valid_x, before[1])


# --- through the command line -------------------------------------------------------------------------


def cfo_bench(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cfo_bench", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.mark.slow
def test_references_run_and_are_traced_like_any_method(tmp_path: Path) -> None:
    answer = cfo_bench(
        *("run", "--task", "breast_cancer", "--method", "constant", "--method", "tuned-rf", "--folds", "3"),
        *("--budget", "60", "--option", "tuned-rf.trees=20", "--option", "tuned-rf.grid=2", "--json"),
        cwd=tmp_path,
    )
    assert answer.returncode == 0, answer.stderr
    rows = {row["method"]: row for row in json.loads(answer.stdout)}
    assert rows["constant"]["score_mean"] == 0.5 and 0.9 < rows["tuned-rf"]["score_mean"] <= 1
    for method in ("constant", "tuned-rf"):
        path = tmp_path / "results" / "xgboost" / "breast_cancer" / method / "fold-3_seed-0.jsonl"
        header, trial, end = map(json.loads, path.read_text().splitlines())
        assert (header["space"], header["start"], header["cost_related"]) == ([], {}, [])
        assert (trial["config"], trial["status"], end["reason"]) == ({}, "ok", "exhausted")
        if method == "constant":
            assert trial["loss"] == header["constant_loss"] == 0.5
        else:
            assert header["spec"]["options"] == {
                "trees": 20,
                "grid": 2,
                "cv_folds": 5,
                "tuning_share": 0.5,
                "least_trees": None,
                "leaf_rows": None,
                "tree_rows": None,
            }
            assert "--option trees=20 --option grid=2" in header["command"]


def test_a_forest_out_of_time_is_a_timeout_and_the_run_ends_in_time(tmp_path: Path) -> None:
    answer = cfo_bench(
        *("run", "--task", "digits", "--method", "tuned-rf", "--folds", "0", "--budget", "1"),
        *("--option", "trees=1000000", "--json"),
        cwd=tmp_path,
    )
    assert answer.returncode == 0, answer.stderr
    path = tmp_path / "results" / "xgboost" / "digits" / "tuned-rf" / "fold-0_seed-0.jsonl"
    _, trial, end = map(json.loads, path.read_text().splitlines())
    assert (trial["status"], trial["loss"]) == ("timeout", None)
    assert end["best_loss"] is None and end["elapsed"] < 10


def test_the_methods_are_listed_and_the_learners_behind_them_are_not(tmp_path: Path) -> None:
    methods = cfo_bench("methods", cwd=tmp_path).stdout
    assert "scaled score 0" in methods and "scaled score 1" in methods
    learners = cfo_bench("learners", cwd=tmp_path).stdout
    assert "xgboost" in learners and "tuned" not in learners and "constant" not in learners


def test_a_reference_on_the_virtual_clock_is_refused_in_one_line(tmp_path: Path) -> None:
    answer = cfo_bench(
        *("run", "--task", "synthetic-1k", "--learner", "synthetic", "--method", "constant"),
        *("--clock", "virtual", "--budget", "9"),
        cwd=tmp_path,
    )
    assert answer.returncode == 2
    assert "trains, which takes real seconds" in answer.stderr and answer.stderr.count("\n") == 1
