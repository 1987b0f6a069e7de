"""LightGBM: gradient boosted trees with the commonly tuned hyperparameters.

The binned data does not depend on the configuration and is made once for each number of rows.
"""

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
    import lightgbm


class LightGBM:
    """LightGBM splits categories as sets of categories."""

    problems = tuple(Problem)
    cost_related = ("n_estimators", "num_leaves", "min_child_samples")
    virtual = False
    takes_weights = True

    def space(self, n_rows: int) -> Space:
        most = max(4, min(32768, n_rows))
        return Space(
            [
                Int("n_estimators", 4, most, log=True),
                Int("num_leaves", 4, most, log=True),
                Int("min_child_samples", 2, 128, log=True),
                Float("learning_rate", 0.01, 1.0, log=True),
                Float("subsample", 0.1, 1.0),
                Float("colsample_bytree", 0.1, 1.0),
                Float("reg_alpha", 1e-10, 1024.0, log=True),
                Float("reg_lambda", 1e-10, 1024.0, log=True),
            ]
        )

    def start(self, space: Space) -> Config:
        """The fewest trees and leaves. Above the default of 20 rows per leaf, small data is not split."""
        return {
            "n_estimators": 4,
            "num_leaves": 4,
            "min_child_samples": 20,
            "learning_rate": 0.1,
            "subsample": 1.0,
            "colsample_bytree": 1.0,
            "reg_alpha": 1e-10,
            "reg_lambda": 1.0,
        }

    def prepare(self, fold: Fold, threads: int, seed: int) -> LightGBMObjective:
        return LightGBMObjective(fold, threads, seed)


class LightGBMObjective(FitAndPredict["lightgbm.Booster"]):
    def __init__(self, fold: Fold, threads: int, seed: int) -> None:
        super().__init__(fold)
        self._fixed = _fixed_parameters(fold, threads, seed)
        self._train = RowLevels(fold, seed, self._binned)

    def _fit(self, trial: Trial, deadline: Deadline) -> lightgbm.Booster:
        import lightgbm

        settings = {**self._fixed, **parameters(trial.config)}
        booster = lightgbm.Booster(settings, self._train.on(trial.rows))
        for _ in range(trial.config["n_estimators"]):
            check_deadline(deadline)
            booster.update()
        return booster

    def _predict(self, booster: lightgbm.Booster, x: Array, deadline: Deadline) -> Array:
        check_deadline(deadline)
        return np.asarray(booster.predict(x))

    def _binned(self, rows: Array | None) -> lightgbm.Dataset:
        import lightgbm

        x, y = training_part(self._fold, rows)
        categories = [i for i, categorical in enumerate(self._fold.categorical) if categorical]
        weight = training_weight(self._fold, rows)
        return lightgbm.Dataset(
            x, y, weight=weight, params=self._fixed, categorical_feature=categories
        ).construct()


def parameters(config: Config) -> dict[str, Any]:
    """A configuration under LightGBM's names, without the number of trees, which the loop counts."""
    return {
        "num_leaves": config["num_leaves"],
        "min_data_in_leaf": config["min_child_samples"],
        "learning_rate": config["learning_rate"],
        "bagging_fraction": config["subsample"],
        "bagging_freq": 1 if config["subsample"] < 1 else 0,
        "feature_fraction": config["colsample_bytree"],
        "lambda_l1": config["reg_alpha"],
        "lambda_l2": config["reg_lambda"],
    }


def fixed_settings(problem: Problem, seed: int) -> dict[str, Any]:
    """The settings that determine the model, besides its hyperparameters and the number of classes."""
    objectives = {
        Problem.BINARY: "binary",
        Problem.MULTICLASS: "multiclass",
        Problem.REGRESSION: "regression",
    }
    return {
        "objective": objectives[problem],
        "min_sum_hessian_in_leaf": 1e-3,
        "seed": seed,
        # Otherwise the data is binned for one min_data_in_leaf, and LightGBM refuses any other.
        "feature_pre_filter": False,
        # Otherwise LightGBM chooses a layout by timing, and the loss depends on this choice.
        "deterministic": True,
        "force_row_wise": True,
    }


def _fixed_parameters(fold: Fold, threads: int, seed: int) -> dict[str, Any]:
    fixed: dict[str, Any] = {
        **fixed_settings(fold.problem, seed),
        "num_threads": threads,
        "verbosity": -1,
    }
    if fold.problem is Problem.MULTICLASS:
        fixed["num_class"] = fold.n_classes
    return fixed
