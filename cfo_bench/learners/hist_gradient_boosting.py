"""scikit-learn's histogram-based gradient boosting. Only the supervisor enforces the deadline."""

from __future__ import annotations

from typing import Any

from cfo_bench.learners.estimator import EstimatorObjective
from cfo_bench.records import Fold, Problem
from cfo_bench.space import Config, Float, Int, Space

# Otherwise scikit-learn stops early if there are more than 10,000 rows.
FIXED = {"early_stopping": False}


class HistGradientBoosting:
    """Category codes are used as numbers. Missing values go to the side that splits better."""

    problems = tuple(Problem)
    cost_related = ("max_iter", "max_leaf_nodes", "min_samples_leaf")
    virtual = False
    checks_deadline = False
    takes_weights = True

    def space(self, n_rows: int) -> Space:
        most = max(4, min(32768, n_rows))
        return Space(
            [
                Int("max_iter", 4, most, log=True),
                Int("max_leaf_nodes", 4, most, log=True),
                Int("min_samples_leaf", 2, 128, log=True),
                Float("learning_rate", 0.01, 1.0, log=True),
                Float("max_features", 0.1, 1.0),
                Float("l2_regularization", 1e-10, 1024.0, log=True),
            ]
        )

    def start(self, space: Space) -> Config:
        """The fewest iterations and leaves. Above 20 rows per leaf (the default), small data is not split."""
        return {
            "max_iter": 4,
            "max_leaf_nodes": 4,
            "min_samples_leaf": 20,
            "learning_rate": 0.1,
            "max_features": 1.0,
            "l2_regularization": 1e-10,
        }

    def prepare(self, fold: Fold, threads: int, seed: int) -> EstimatorObjective:
        return EstimatorObjective(fold, threads, seed, _model(fold.problem), self.space(fold.n_rows))


def reference(problem: Problem) -> str:
    """scikit-learn's class for a problem."""
    kind = "Regressor" if problem is Problem.REGRESSION else "Classifier"
    return f"sklearn.ensemble.HistGradientBoosting{kind}"


def _model(problem: Problem) -> Any:
    from cfo_bench.learners.object_description import build_object

    return build_object(reference(problem), FIXED)
