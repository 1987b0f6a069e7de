"""XGBoost with the paper's nine hyperparameters.

A cheap trial takes about a millisecond, so everything that does not depend on the configuration is built once
for a fold: the binned training matrix, the validation matrix, and the fixed parameters. xgboost is imported
only when a fold is prepared, because a synthetic learner has the same space and needs no xgboost.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from cfo_bench.clock import Deadline
from cfo_bench.errors import OptionError
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
    import xgboost

COST_RELATED = ("n_estimators", "max_leaves", "min_child_weight")


def boosting_space(n_rows: int) -> Space:
    """The paper's nine hyperparameters: trees and leaves up to the number of rows, at most 32768."""
    most = max(4, min(32768, n_rows))
    return Space(
        [
            Int("n_estimators", 4, most, log=True),
            Int("max_leaves", 4, most, log=True),
            Float("min_child_weight", 0.01, 20.0, log=True),
            Float("learning_rate", 0.01, 0.1, log=True),
            Float("subsample", 0.6, 1.0, log=True),
            Float("reg_alpha", 1e-10, 1.0, log=True),
            Float("reg_lambda", 1e-10, 1.0, log=True),
            Float("colsample_bylevel", 0.6, 1.0),
            Float("colsample_bytree", 0.7, 1.0),
        ]
    )


def boosting_start() -> Config:
    """The cheapest corner: the fewest trees and leaves, the largest child weight."""
    return {
        "n_estimators": 4,
        "max_leaves": 4,
        "min_child_weight": 20.0,
        "learning_rate": 0.1,
        "subsample": 1.0,
        "reg_alpha": 1e-10,
        "reg_lambda": 1.0,
        "colsample_bylevel": 1.0,
        "colsample_bytree": 1.0,
    }


class XGBoost:
    """Histogram trees grown leaf by leaf.

    categories   `codes`: category codes are used as numbers; `native`: splits on sets of categories
    """

    problems = tuple(Problem)
    cost_related = COST_RELATED
    virtual = False
    takes_weights = True

    def __init__(self, *, categories: Literal["codes", "native"] = "codes") -> None:
        if categories not in ("codes", "native"):
            raise OptionError(f"categories = {categories!r} of learner 'xgboost': choose from codes, native")
        self.categories = categories

    def space(self, n_rows: int) -> Space:
        return boosting_space(n_rows)

    def start(self, space: Space) -> Config:
        return boosting_start()

    def prepare(self, fold: Fold, threads: int, seed: int) -> XGBoostObjective:
        return XGBoostObjective(fold, threads, seed, native_categories=self.categories == "native")


class XGBoostObjective(FitAndPredict["xgboost.Booster"]):
    def __init__(self, fold: Fold, threads: int, seed: int, native_categories: bool) -> None:
        import xgboost

        super().__init__(fold)
        self._data_options: dict[str, Any] = {"nthread": threads}
        if native_categories:
            types = ["c" if categorical else "q" for categorical in fold.categorical]
            self._data_options |= {"feature_types": types, "enable_categorical": True}
        self._fixed = _fixed_parameters(fold, threads, seed)
        self._train = RowLevels(fold, seed, self._matrix)
        self._valid = xgboost.DMatrix(fold.valid_x, **self._data_options)

    def _fit(self, trial: Trial, deadline: Deadline) -> xgboost.Booster:
        train = self._train.on(trial.rows)
        booster = self._booster(trial.config, train)
        for iteration in range(trial.config["n_estimators"]):
            check_deadline(deadline)
            booster.update(train, iteration)
        return booster

    def _predict(self, booster: xgboost.Booster, x: xgboost.DMatrix, deadline: Deadline) -> Array:
        predicted: Array = booster.predict(x)
        return predicted

    def _valid_x(self, booster: xgboost.Booster) -> xgboost.DMatrix:
        return self._valid

    def _test_x(self, booster: xgboost.Booster) -> xgboost.DMatrix:
        return self._test

    @cached_property
    def _test(self) -> xgboost.DMatrix:
        import xgboost

        return xgboost.DMatrix(self._fold.test_x, **self._data_options)

    def _booster(self, config: Config, train: xgboost.DMatrix) -> xgboost.Booster:
        booster = _quick_booster()(cache=[train])
        booster.set_param(
            [*self._fixed, *((name, config[name]) for name in config if name != "n_estimators")]
        )
        return booster

    def _matrix(self, rows: Array | None) -> xgboost.DMatrix:
        import xgboost

        x, y = training_part(self._fold, rows)
        return xgboost.QuantileDMatrix(x, y, weight=training_weight(self._fold, rows), **self._data_options)


def fixed_settings(problem: Problem, seed: int) -> dict[str, Any]:
    """The settings that determine the model, besides its hyperparameters and the number of classes."""
    objectives = {
        Problem.BINARY: "binary:logistic",
        Problem.MULTICLASS: "multi:softprob",
        Problem.REGRESSION: "reg:squarederror",
    }
    return {
        "objective": objectives[problem],
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_depth": 0,
        "seed": seed,
    }


def _fixed_parameters(fold: Fold, threads: int, seed: int) -> list[tuple[str, Any]]:
    n_features = max(1, fold.train_x.shape[1])
    fixed: list[tuple[str, Any]] = [
        *fixed_settings(fold.problem, seed).items(),
        # A histogram of 256 bins takes 4 KB per feature: keep up to 256 MB of histograms. Their number does
        # not affect the model; with the default of 65536, a tree with many leaves takes gigabytes.
        ("max_cached_hist_node", min(max(2**28 // (4096 * n_features), 64), 4096)),
        ("nthread", threads),
        ("verbosity", 0),
        # The space has checked the names; checking them again would take a tenth of a cheap trial.
        ("validate_parameters", False),
    ]
    if fold.problem is Problem.MULTICLASS:
        fixed.append(("num_class", fold.n_classes))
    return fixed


@cache
def _quick_booster() -> type[xgboost.Booster]:
    import xgboost

    class QuickBooster(xgboost.Booster):
        """A booster that doesn't compare the names of the features in every round.

        All its matrices come from one fold, so their features cannot differ. A small round is a seventh
        faster.
        """

        def _assign_dmatrix_features(self, data: xgboost.DMatrix) -> None:
            pass

    return QuickBooster
