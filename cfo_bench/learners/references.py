"""The learners of the reference methods. They have no hyperparameters, so their space is empty.

The forest is grown in batches of trees. A batch is deleted after its predictions, so that only a few trees
are in memory; the deadline is checked between batches. The trees are those of a scikit-learn forest with the
same seed.

With `least_trees`, growing ends at the deadline, and the forest has the trees that were grown by then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.clock import Deadline, WallClock
from cfo_bench.learners.evaluation import OutOfTime, check_deadline, shuffled_order, training_weight
from cfo_bench.learners.scoring import metric_of
from cfo_bench.metrics import Array, constant_loss
from cfo_bench.records import Fold, Problem, Result, Status, Trial
from cfo_bench.space import Config, Space

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

BATCH_TREES = 10
# A batch is started only if the remaining time is this many times that of the longest batch so far: the
# machine may be busy.
_MARGIN = 3.0


class _Reference:
    problems = tuple(Problem)
    cost_related = ()
    virtual = False
    takes_weights = True

    def space(self, n_rows: int) -> Space:
        return Space([])

    def start(self, space: Space) -> Config:
        return {}


class ConstantPredictor(_Reference):
    """Class priors, or the mean of the training part."""

    def prepare(self, fold: Fold, threads: int, seed: int) -> ConstantObjective:
        return ConstantObjective(fold)


@dataclass(frozen=True, slots=True)
class ConstantObjective:
    fold: Fold

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        if deadline.passed():
            return Result(Status.TIMEOUT)
        return Result.ok(self.fold.constant_loss)

    def test_loss(self) -> float:
        fold = self.fold
        assert fold.test_y is not None  # the fold has a test part
        return constant_loss(
            fold.problem,
            fold.train_y,
            fold.test_y,
            fold.n_classes,
            metric_of(fold),
            train_weight=fold.train_weight,
            valid_weight=fold.test_weight,
        )


class TunedForest(_Reference):
    """A random forest whose max_features is chosen by cross-validation on the training part."""

    def __init__(
        self,
        *,
        trees: int,
        grid: int,
        cv_folds: int,
        tuning_share: float,
        least_trees: int | None = None,
        leaf_rows: int | None = None,
        tree_rows: int | None = None,
    ) -> None:
        self._grid, self._cv_folds, self._tuning_share = grid, cv_folds, tuning_share
        self._size = ForestSize(trees, min(least_trees or trees, trees), leaf_rows or 1, tree_rows)

    def prepare(self, fold: Fold, threads: int, seed: int) -> ForestObjective:
        return ForestObjective(
            fold, threads, seed, self._size, self._grid, self._cv_folds, self._tuning_share
        )


@dataclass(frozen=True, slots=True)
class ForestSize:
    """The trees of the forest, and the rows of each."""

    trees: int  # the maximum
    least_trees: int  # the minimum, if there is no time for more
    leaf_rows: int = 1  # the minimum number of rows in a leaf
    tree_rows: int | None = None  # the maximum number of rows that are drawn for a tree; None: all

    @property
    def is_fixed(self) -> bool:
        return self.least_trees == self.trees


@dataclass(frozen=True, slots=True)
class FittedForest:
    """A forest whose trees are kept."""

    forest: RandomForestClassifier | RandomForestRegressor
    filling: Array  # the replacement of missing values, by column


class ForestObjective:
    def __init__(
        self,
        fold: Fold,
        threads: int,
        seed: int,
        size: ForestSize,
        grid: int,
        cv_folds: int,
        tuning_share: float,
    ) -> None:
        import sklearn.ensemble  # noqa: F401  slow to import: before the clock starts

        self._filling = np.array(
            [
                _filling(column, categorical)
                for column, categorical in zip(fold.train_x.T, fold.categorical, strict=True)
            ],
            dtype=np.float32,
        )
        self._fold = _without_missing(fold, self._filling)
        self._threads, self._seed = threads, seed
        self._size, self._tuning_share = size, tuning_share
        self._grid = max_features_grid(fold.train_x.shape[1], grid)
        order = shuffled_order(fold, seed)
        # Any consecutive part of the shuffled order contains each class in its share.
        self._parts = np.array_split(order, cv_folds) if fold.n_rows >= 2 * cv_folds else []
        self._metric = metric_of(fold)
        self._max_features = self._grid[0]
        self._validate_seconds = 0.0

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        started, fold, n_valid = deadline.now(), self._fold, len(self._fold.valid_x)
        self._validate_seconds = 0.0
        try:
            self._max_features = self._tuned(deadline)
            self._validate_seconds = 0.0  # earlier predictions were for tuning, which counts as fitting
            # The trees are not kept, so the test part is predicted now.
            x = fold.valid_x if fold.test_x is None else np.concatenate([fold.valid_x, fold.test_x])
            prediction = self._prediction(replace(fold, valid_x=x), self._max_features, deadline, self._size)
            self._test_prediction = prediction[n_valid:]
        except OutOfTime:
            return Result(
                Status.TIMEOUT,
                fit_seconds=deadline.now() - started,
                error=f"no time for {self._size.least_trees} trees: give more --budget or fewer --option "
                f"tuned-rf.{'trees' if self._size.is_fixed else 'least_trees'}",
            )
        scored = deadline.now()
        loss = self._metric.loss(fold.valid_y, prediction[:n_valid], fold.valid_weight)
        validate_seconds = self._validate_seconds + deadline.now() - scored
        return Result.ok(loss, deadline.now() - started - validate_seconds, validate_seconds)

    def test_loss(self) -> float:
        assert self._fold.test_y is not None  # the fold has a test part
        return self._metric.loss(self._fold.test_y, self._test_prediction, self._fold.test_weight)

    def fitted(self, config: Config) -> FittedForest:
        """The forest with all its trees, tuned without a deadline; its `config` is empty."""
        fold, deadline = self._fold, Deadline(WallClock())
        forest = self._forest(
            self._size.trees, self._tuned(deadline), self._seed, self._size, len(fold.train_x)
        )
        return FittedForest(forest.fit(fold.train_x, fold.train_y, fold.train_weight), self._filling)

    def _tuned(self, deadline: Deadline) -> int:
        """The best of the values of max_features that were tried in time; else the first of the grid."""
        now = deadline.now()
        until = Deadline(deadline.clock, now + self._tuning_share * (deadline.at - now))
        losses: dict[int, float] = {}
        if len(self._grid) > 1 and self._parts:
            for max_features in self._grid:
                try:
                    losses[max_features] = self._cross_validated_loss(max_features, until)
                except OutOfTime:
                    break
        return min(losses, key=losses.__getitem__, default=self._grid[0])

    def _cross_validated_loss(self, max_features: int, deadline: Deadline) -> float:
        """The loss over the predictions of all parts together, so that a class may be missing in a part."""
        fold = self._fold
        size = replace(self._size, trees=self._size.least_trees)  # the same for all values
        predictions = []
        for i, held_out in enumerate(self._parts):
            others = np.concatenate([part for j, part in enumerate(self._parts) if j != i])
            part = replace(
                fold,
                train_x=fold.train_x[others],
                train_y=fold.train_y[others],
                train_weight=training_weight(fold, others),
                valid_x=fold.train_x[held_out],
            )
            predictions.append(self._prediction(part, max_features, deadline, size))
        rows = np.concatenate(self._parts)
        return self._metric.loss(fold.train_y[rows], np.concatenate(predictions), training_weight(fold, rows))

    def _prediction(self, fold: Fold, max_features: int, deadline: Deadline, size: ForestSize) -> Array:
        """The forest's prediction for the validation part; for two classes, the probability of the second."""
        from sklearn.utils import check_random_state

        random_state = check_random_state(self._seed)  # one for all batches, as in one forest
        shape = (len(fold.valid_x), fold.n_classes) if fold.n_classes else (len(fold.valid_x),)
        votes = np.zeros(shape)
        grown, longest = 0, 0.0
        at_once = max(BATCH_TREES, self._threads) if self._size.is_fixed else self._threads
        while grown < size.trees:
            began = deadline.now()
            if grown >= size.least_trees and began + _MARGIN * longest > deadline.at:
                break
            check_deadline(deadline)
            batch = min(at_once, size.trees - grown)
            forest = self._forest(batch, max_features, random_state, size, len(fold.train_x))
            forest.fit(fold.train_x, fold.train_y, fold.train_weight)
            fitted = deadline.now()
            if fold.problem is Problem.REGRESSION:
                votes += batch * forest.predict(fold.valid_x)
            else:  # a class that is missing in these training rows gets no vote
                votes[:, forest.classes_] += batch * forest.predict_proba(fold.valid_x)
            self._validate_seconds += deadline.now() - fitted
            longest = max(longest, deadline.now() - began)
            grown += batch
        votes /= grown
        return votes[:, 1] if fold.problem is Problem.BINARY else votes

    def _forest(
        self, trees: int, max_features: int, random_state: Any, size: ForestSize, n_rows: int
    ) -> RandomForestClassifier | RandomForestRegressor:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        kind = RandomForestRegressor if self._fold.problem is Problem.REGRESSION else RandomForestClassifier
        return kind(
            trees,
            max_features=max_features,
            min_samples_leaf=size.leaf_rows,
            max_samples=None if size.tree_rows is None or size.tree_rows >= n_rows else size.tree_rows,
            random_state=random_state,
            n_jobs=self._threads,
        )


def max_features_grid(n_features: int, size: int) -> list[int]:
    """Up to `size` numbers of features: the root of all first, then others on a log scale from 1 to all."""
    others = sorted((i / max(size - 2, 1) for i in range(size - 1)), key=lambda e: round(abs(e - 0.5), 9))
    return list(dict.fromkeys(round(n_features**exponent) for exponent in [0.5, *others]))


def _without_missing(fold: Fold, filling: Array) -> Fold:
    """Missing numbers become the median of the training part, missing categories its most frequent
    category.
    """
    return replace(
        fold,
        train_x=filled(fold.train_x, filling),
        valid_x=filled(fold.valid_x, filling),
        test_x=None if fold.test_x is None else filled(fold.test_x, filling),
    )


def _filling(column: Array, categorical: bool) -> float:
    present = column[~np.isnan(column)]
    if not len(present):
        return 0.0
    if categorical:
        return float(np.bincount(present.astype(np.int64)).argmax())
    return float(np.median(present.astype(np.float64)))


def filled(matrix: Array, filling: Array) -> Array:
    """The matrix with each missing value replaced by the filling of its column."""
    whole: Array = np.where(np.isnan(matrix), filling, matrix)
    return whole
