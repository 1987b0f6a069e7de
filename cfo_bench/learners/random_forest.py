"""scikit-learn's random forest, grown a few trees at a time so that it can stop at the deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.clock import Deadline
from cfo_bench.learners.evaluation import (
    FitAndPredict,
    RowLevels,
    check_deadline,
    training_part,
    training_weight,
)
from cfo_bench.metrics import Array
from cfo_bench.records import Fold, Problem, Trial
from cfo_bench.space import Config, Float, Int, Space

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

# A call of `fit` takes some milliseconds in addition to its trees: grow more trees per call while calls are
# quick.
_FIRST_TREES, _QUICK_SECONDS = 4, 0.05
# Rows that are predicted between two checks of the deadline.
_CHUNK_ROWS = 4096


class RandomForest:
    """Category codes are used as numbers. Missing values go to the side that splits better."""

    problems = tuple(Problem)
    cost_related = ("n_estimators", "max_leaves", "max_features")
    virtual = False
    takes_weights = True

    def space(self, n_rows: int) -> Space:
        return Space(
            [
                Int("n_estimators", 4, max(4, min(2048, n_rows)), log=True),
                Int("max_leaves", 4, max(4, min(32768, n_rows)), log=True),
                Float("max_features", 0.1, 1.0, log=True),
            ]
        )

    def start(self, space: Space) -> Config:
        """The cheapest corner: the fewest trees and leaves, and a tenth of the features for each split."""
        return {"n_estimators": 4, "max_leaves": 4, "max_features": 0.1}

    def prepare(self, fold: Fold, threads: int, seed: int) -> RandomForestObjective:
        return RandomForestObjective(fold, threads, seed)


class RandomForestObjective(FitAndPredict["RandomForestClassifier | RandomForestRegressor"]):
    def __init__(self, fold: Fold, threads: int, seed: int) -> None:
        import sklearn.ensemble  # noqa: F401  slow to import: before the clock starts

        super().__init__(fold)
        self._threads, self._seed = threads, seed
        self._train = RowLevels(fold, seed, self._rows)

    def _fit(self, trial: Trial, deadline: Deadline) -> Any:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        fold, config = self._fold, trial.config
        x, y, weight = self._train.on(trial.rows)
        forest = (RandomForestRegressor if fold.problem is Problem.REGRESSION else RandomForestClassifier)(
            max_leaf_nodes=config["max_leaves"],
            max_features=config["max_features"],
            random_state=self._seed,
            n_jobs=self._threads,
            warm_start=True,  # `fit` adds trees, the same as a single call would grow
        )
        grown, batch = 0, _FIRST_TREES
        while grown < config["n_estimators"]:
            check_deadline(deadline)
            began = deadline.now()
            grown = min(grown + batch, config["n_estimators"])
            forest.set_params(n_estimators=grown).fit(x, y, weight)
            if deadline.now() - began < _QUICK_SECONDS:
                batch *= 2
        return forest

    def _rows(self, rows: Array | None) -> tuple[Array, Array, Array | None]:
        return *training_part(self._fold, rows), training_weight(self._fold, rows)

    def _predict(
        self, forest: RandomForestClassifier | RandomForestRegressor, x: Array, deadline: Deadline
    ) -> Array:
        parts = []
        for first in range(0, len(x), _CHUNK_ROWS):
            check_deadline(deadline)
            parts.append(self._predict_chunk(forest, x[first : first + _CHUNK_ROWS]))
        return np.concatenate(parts)

    def _predict_chunk(self, forest: RandomForestClassifier | RandomForestRegressor, x: Array) -> Array:
        if self._fold.problem is Problem.REGRESSION:
            predicted: Array = forest.predict(x)
            return predicted
        shares = np.zeros((len(x), self._fold.n_classes))
        # A class that is missing in the trial's rows has a share of 0.
        shares[:, forest.classes_] = forest.predict_proba(x)
        return shares[:, 1] if self._fold.problem is Problem.BINARY else shares
