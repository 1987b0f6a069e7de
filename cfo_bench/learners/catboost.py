"""CatBoost: gradient boosted symmetric trees, with categories as ordered target statistics."""

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
    import catboost


class CatBoost:
    """A missing category is a category of its own. A missing number is less than any other."""

    problems = tuple(Problem)
    cost_related = ("iterations", "depth")
    virtual = False
    takes_weights = True

    def space(self, n_rows: int) -> Space:
        return Space(
            [
                Int("iterations", 4, max(4, min(32768, n_rows)), log=True),
                Int("depth", 2, 10),
                Float("learning_rate", 0.01, 1.0, log=True),
                Float("l2_leaf_reg", 0.1, 100.0, log=True),
                Float("random_strength", 1e-3, 10.0, log=True),
                Float("subsample", 0.1, 1.0),
                Float("rsm", 0.1, 1.0),
            ]
        )

    def start(self, space: Space) -> Config:
        """The fewest and shallowest trees; CatBoost's defaults otherwise."""
        return {
            "iterations": 4,
            "depth": 2,
            "learning_rate": 0.1,
            "l2_leaf_reg": 3.0,
            "random_strength": 1.0,
            "subsample": 0.8,
            "rsm": 1.0,
        }

    def prepare(self, fold: Fold, threads: int, seed: int) -> CatBoostObjective:
        return CatBoostObjective(fold, threads, seed)


class CatBoostObjective(FitAndPredict["catboost.CatBoost"]):
    def __init__(self, fold: Fold, threads: int, seed: int) -> None:
        super().__init__(fold)
        self._threads = threads
        self._fixed = fixed_settings(fold.problem, seed)
        if fold.problem is Problem.MULTICLASS:
            self._fixed["classes_count"] = fold.n_classes
        self._train = RowLevels(fold, seed, self._training_pool)
        self._valid = self._pool(fold.valid_x)

    def _fit(self, trial: Trial, deadline: Deadline) -> catboost.CatBoost:
        import catboost

        check_deadline(deadline)
        model = catboost.CatBoost(
            {
                **self._fixed,
                **trial.config,
                "thread_count": self._threads,
                "logging_level": "Silent",
                "allow_writing_files": False,
            }
        )
        model.fit(self._train.on(trial.rows), callbacks=[_StopsAt(deadline)])
        check_deadline(deadline)
        return model

    def _predict(self, model: catboost.CatBoost, x: Any, deadline: Deadline) -> Array:
        check_deadline(deadline)
        return predictions(model, x, self._fold.problem, self._threads)

    def _valid_x(self, model: catboost.CatBoost) -> catboost.Pool:
        return self._valid

    def _test_x(self, model: catboost.CatBoost) -> catboost.Pool:
        return self._pool(super()._test_x(model))

    def _training_pool(self, rows: Array | None) -> catboost.Pool:
        return self._pool(*training_part(self._fold, rows), training_weight(self._fold, rows))

    def _pool(self, x: Array, y: Array | None = None, weight: Array | None = None) -> catboost.Pool:
        import catboost

        return catboost.Pool(features_data(x, self._fold.categorical), y, weight=weight)


class _StopsAt:
    """A callback that stops training after the first tree that ends past the deadline."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def after_iteration(self, info: Any) -> bool:
        return not self._deadline.passed()


def fixed_settings(problem: Problem, seed: int) -> dict[str, Any]:
    """The settings that determine the model, besides its hyperparameters and the number of classes."""
    objectives = {Problem.BINARY: "Logloss", Problem.MULTICLASS: "MultiClass", Problem.REGRESSION: "RMSE"}
    return {"loss_function": objectives[problem], "bootstrap_type": "MVS", "random_seed": seed}


def predictions(model: Any, x: Any, problem: Problem, threads: int = -1) -> Array:
    """Predictions for metrics: scores of class 1, rows of probabilities, or numbers."""
    kind = "RawFormulaVal" if problem is Problem.REGRESSION else "Probability"
    predicted: Array = model.predict(x, prediction_type=kind, thread_count=threads)
    return predicted[:, 1] if problem is Problem.BINARY else predicted


# `cfo-bench best --python` copies this function's source into its script, which can't import cfo-bench.


def features_data(x: Array, is_category: tuple[bool, ...]) -> Any:
    """Numbers and categories as CatBoost takes them: the code of a category as a text, -1 if missing."""
    from catboost import FeaturesData

    categorical = np.array(is_category, dtype=bool)
    codes = x[:, categorical]
    texts = np.where(np.isnan(codes), -1, codes).astype(np.int64).astype(bytes).astype(object)
    numbers = np.ascontiguousarray(x[:, ~categorical], dtype=np.float32)
    return FeaturesData(
        num_feature_data=numbers if numbers.shape[1] else None,
        cat_feature_data=texts if texts.shape[1] else None,
    )
