"""The reference methods, which define the scores 0 and 1. Each asks for one trial.

They are run with learners of their own (learners/references.py), which their rows in METHODS name. Such
a learner is built with the method's options, so that these are checked and recorded as usual.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfo_bench.errors import Exhausted, OptionError
from cfo_bench.optimizers.option_checks import check_counts
from cfo_bench.records import Result, Trial
from cfo_bench.space import Space


class ConstantReference:
    """The predictor that ignores all features: its score is 0."""

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int = 0) -> None:
        self._trials = [Trial(0, space.check(start))]

    def ask(self) -> Trial:
        if not self._trials:
            raise Exhausted("a reference has one trial")
        return self._trials.pop()

    def tell(self, trial: Trial, result: Result) -> None:
        pass


class TunedForestReference(ConstantReference):
    """The random forest whose score is 1.

    Values of max_features are compared by cross-validation; then the forest is fitted with the best. (The
    AutoML benchmark takes 2000 trees and a grid of 11, on larger machines than a laptop.)

    trees         of the forest
    grid          how many values of max_features are compared, from one feature to all
    cv_folds      folds of the cross-validation
    tuning_share  the share of the budget in which they are compared
    least_trees   so many trees will do if there is no time for all of them; null: it needs all
    leaf_rows     the least rows in a leaf; null: one
    tree_rows     the most rows that are drawn for a tree; null: as many as there are
    """

    def __init__(
        self,
        space: Space,
        start: Mapping[str, Any],
        seed: int = 0,
        *,
        trees: int = 200,
        grid: int = 5,
        cv_folds: int = 5,
        tuning_share: float = 0.5,
        least_trees: int | None = None,
        leaf_rows: int | None = None,
        tree_rows: int | None = None,
    ) -> None:
        check_counts(trees=trees, grid=grid)
        may_be_null = {"least_trees": least_trees, "leaf_rows": leaf_rows, "tree_rows": tree_rows}
        check_counts(**{option: value for option, value in may_be_null.items() if value is not None})
        if not (isinstance(cv_folds, int) and not isinstance(cv_folds, bool) and cv_folds >= 2):
            raise OptionError(f"cv_folds {cv_folds!r}: give a whole number from 2 on")
        if not 0 < tuning_share < 1:
            raise OptionError(
                f"tuning_share {tuning_share!r}: give a share of the budget, above 0 and below 1"
            )
        super().__init__(space, start, seed)
