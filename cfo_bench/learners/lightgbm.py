"""LightGBM: gradient boosted trees with the hyperparameters that people tune.

The binned data does not depend on the configuration and is made once for each number of rows.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cfo_bench.clock import Deadline
from cfo_bench.learners.attempt import attempt, check
from cfo_bench.learners.rows import shuffled_order
from cfo_bench.metrics import METRICS, Array
from cfo_bench.records import Fold, Problem, Result, Trial
from cfo_bench.space import Config, Float, Int, Space

if TYPE_CHECKING:
    import lightgbm

# Levels of a multi-fidelity method whose data is kept; a halving has about this many at the most.
_KEPT_LEVELS = 8


class LightGBM:
    """Categories are split as sets of categories, LightGBM's own way."""

    problems = tuple(Problem)
    cost_related = ("n_estimators", "num_leaves", "min_child_samples")
    virtual = False

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
        """The fewest trees and leaves; larger children than LightGBM's 20 would leave small data unsplit."""
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


class LightGBMObjective:
    def __init__(self, fold: Fold, threads: int, seed: int) -> None:
        self._fold, self._seed = fold, seed
        self._metric = METRICS[fold.metric]
        self._fixed = _fixed_parameters(fold, threads, seed)
        self._on_first_rows = lru_cache(maxsize=_KEPT_LEVELS)(self._dataset)
        self._on_first_rows(fold.n_rows)
        self._last: lightgbm.Booster | None = None

    def evaluate(self, trial: Trial, deadline: Deadline) -> Result:
        return attempt(lambda: self._fit_and_validate(trial, deadline), deadline)

    def _fit_and_validate(self, trial: Trial, deadline: Deadline) -> Result:
        import lightgbm

        started = deadline.now()
        n_rows = self._fold.n_rows
        train = self._on_first_rows(n_rows if trial.rows is None else min(trial.rows, n_rows))
        booster = lightgbm.Booster({**self._fixed, **_parameters(trial.config)}, train)
        for _ in range(trial.config["n_estimators"]):
            check(deadline)
            booster.update()
        self._last = booster
        fitted = deadline.now()
        check(deadline)
        loss = self._metric.loss(self._fold.valid_y, np.asarray(booster.predict(self._fold.valid_x)))
        return Result.ok(loss, fitted - started, deadline.now() - fitted)

    def test_loss(self) -> float:
        fold = self._fold
        assert self._last is not None and fold.test_x is not None and fold.test_y is not None
        return self._metric.loss(fold.test_y, np.asarray(self._last.predict(fold.test_x)))

    @cached_property
    def _order(self) -> Array:
        return shuffled_order(self._fold, self._seed)

    def _dataset(self, rows: int) -> lightgbm.Dataset:
        import lightgbm

        fold, first = self._fold, self._order[:rows] if rows < self._fold.n_rows else slice(None)
        categories = [i for i, categorical in enumerate(fold.categorical) if categorical]
        data = lightgbm.Dataset(
            fold.train_x[first], fold.train_y[first], params=self._fixed, categorical_feature=categories
        )
        return data.construct()


def _parameters(config: Config) -> dict[str, Any]:
    """A configuration in LightGBM's words; the number of trees is ours to count."""
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


def _fixed_parameters(fold: Fold, threads: int, seed: int) -> dict[str, Any]:
    objective = {
        Problem.BINARY: "binary",
        Problem.MULTICLASS: "multiclass",
        Problem.REGRESSION: "regression",
    }[fold.problem]
    fixed: dict[str, Any] = {
        "objective": objective,
        "num_threads": threads,
        "seed": seed,
        "verbosity": -1,
        "min_sum_hessian_in_leaf": 1e-3,
        # Else the data would be binned for one min_data_in_leaf, and the others refused.
        "feature_pre_filter": False,
        # Else it times itself at the first round to choose a layout, and the loss depends on the choice.
        "deterministic": True,
        "force_row_wise": True,
    }
    if fold.problem is Problem.MULTICLASS:
        fixed["num_class"] = fold.n_classes
    return fixed
