"""K nearest neighbours: one hyperparameter, K, the paper's example of a cost-related hyperparameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cfo_bench.clock import Deadline
from cfo_bench.learners.dense import DenseObjective, DenseRows
from cfo_bench.learners.evaluation import check_deadline
from cfo_bench.metrics import Array
from cfo_bench.records import Fold, Problem, Trial
from cfo_bench.space import Config, Int, Space

MOST_NEIGHBOURS = 1024
# Rows that are predicted between two checks of the deadline.
_CHUNK_ROWS = 256


class KNN:
    """scikit-learn's nearest neighbours by Euclidean distance, each with the same vote.

    In a trial on fewer rows than K, all rows are neighbours.

    algorithm   how neighbours are found, as scikit-learn names it
    """

    problems = tuple(Problem)
    cost_related = ("k",)
    virtual = False

    def __init__(self, *, algorithm: Literal["auto", "brute", "kd_tree", "ball_tree"] = "auto") -> None:
        self.algorithm = algorithm

    def space(self, n_rows: int) -> Space:
        return Space([Int("k", 1, min(MOST_NEIGHBOURS, n_rows), log=True)])

    def start(self, space: Space) -> Config:
        return {"k": 1}

    def prepare(self, fold: Fold, threads: int, seed: int) -> KNNObjective:
        return KNNObjective(fold, threads, seed, self.algorithm)


@dataclass(frozen=True, slots=True)
class _Model:
    index: Any  # scikit-learn's NearestNeighbors
    rows: DenseRows


class KNNObjective(DenseObjective[_Model]):
    def __init__(self, fold: Fold, threads: int, seed: int, algorithm: str) -> None:
        import sklearn.neighbors  # noqa: F401  slow to import: before the clock starts
        from threadpoolctl import threadpool_limits

        threadpool_limits(threads)  # scikit-learn's distances use all threads of OpenMP
        super().__init__(fold, seed)
        self._threads, self._algorithm = threads, algorithm

    def _fit(self, trial: Trial, deadline: Deadline) -> _Model:
        from sklearn.neighbors import NearestNeighbors

        check_deadline(deadline)
        rows = self._dense.on(trial.rows)
        k = min(trial.config["k"], len(rows.train_y))
        index = NearestNeighbors(n_neighbors=k, algorithm=self._algorithm, n_jobs=self._threads)
        return _Model(index.fit(rows.train_x), rows)

    def _predict(self, model: _Model, x: Array, deadline: Deadline) -> Array:
        parts = []
        for first in range(0, len(x), _CHUNK_ROWS):
            check_deadline(deadline)
            neighbours = model.index.kneighbors(x[first : first + _CHUNK_ROWS], return_distance=False)
            parts.append(self._vote(model.rows.train_y[neighbours]))
        return np.concatenate(parts)

    def _vote(self, targets: Array) -> Array:
        """The mean of the neighbours' numbers, or the share of each class among them."""
        if self._fold.problem is not Problem.MULTICLASS:
            mean: Array = targets.mean(axis=1, dtype=np.float64)  # of two classes: the share of class 1
            return mean
        shares: Array = np.empty((len(targets), self._fold.n_classes))
        for label in range(self._fold.n_classes):
            shares[:, label] = (targets == label).mean(axis=1)
        return shares
