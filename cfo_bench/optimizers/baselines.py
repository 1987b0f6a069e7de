"""Methods without an adaptive search: random search, the reference methods, and the study.

The reference methods define the scaled scores 0 and 1, and ask for one trial each. Their rows in METHODS name
their learners (learners/references.py), which receive the options of the method. The options are checked and
recorded as usual.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cfo_bench.errors import Exhausted, OptionError
from cfo_bench.optimizers.options import check_count, check_counts
from cfo_bench.records import Result, Trial
from cfo_bench.space import Int, Space


class RandomSearch:
    """The start, then configurations drawn from the space, each hyperparameter on its own scale.

    parallel   trials at once
    """

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int = 0, *, parallel: int = 1) -> None:
        check_count("parallel", parallel)
        self._space = space
        self._start = space.check(start)
        self._rng = np.random.default_rng(seed)
        self._asked = 0

    def ask(self) -> Trial:
        config = self._space.sample(self._rng) if self._asked else self._start
        self._asked += 1
        return Trial(self._asked - 1, config)

    def tell(self, trial: Trial, result: Result) -> None:
        pass


class ConstantReference:
    """The constant predictor, whose scaled score is 0."""

    def __init__(self, space: Space, start: Mapping[str, Any], seed: int = 0) -> None:
        self._trials = [Trial(0, space.check(start))]

    def ask(self) -> Trial:
        if not self._trials:
            raise Exhausted("a reference has one trial")
        return self._trials.pop()

    def tell(self, trial: Trial, result: Result) -> None:
        pass


class TunedForestReference(ConstantReference):
    """The tuned random forest, whose scaled score is 1.

    Values of max_features are compared by cross-validation; then the forest is fitted with the best. (The
    AutoML benchmark uses 2000 trees and a grid of 11, on machines larger than a laptop.)

    trees         trees of the forest
    grid          the number of values of max_features that are compared, from one feature to all
    cv_folds      folds of the cross-validation
    tuning_share  the share of the budget for that comparison
    least_trees   the fewest trees, if there is no time for all of them; null: all are needed
    leaf_rows     the fewest rows in a leaf; null: one
    tree_rows     the most rows that are drawn for a tree; null: all
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
        check_count("cv_folds", cv_folds, least=2)
        if not 0 < tuning_share < 1:
            raise OptionError(
                f"tuning_share {tuning_share!r}: give a share of the budget, above 0 and below 1"
            )
        super().__init__(space, start, seed)


class Study:
    """No search: every value of the first hyperparameter in turn; the others keep their start values.

    values   such as 1-100 or 1,2,5-9; null: every value of the space
    """

    def __init__(
        self, space: Space, start: Mapping[str, Any], seed: int = 0, *, values: int | str | None = None
    ) -> None:
        start = space.check(start)
        first = space.params[0]
        if not isinstance(first, Int):
            raise OptionError(f"a study tries all values of an integer, and {first.name!r} is not one")
        listed = range(first.low, first.high + 1) if values is None else parse_values(str(values))
        outside = next((value for value in listed if not first.low <= value <= first.high), None)
        if outside is not None:
            raise OptionError(
                f"values {values!r}: {first.name} = {outside} is out of [{first.low}, {first.high}] here; "
                "leave it out"
            )
        self._trials = (Trial(i, {**start, first.name: value}) for i, value in enumerate(listed))

    def ask(self) -> Trial:
        try:
            return next(self._trials)
        except StopIteration:
            raise Exhausted("every value was tried") from None

    def tell(self, trial: Trial, result: Result) -> None:
        pass


def parse_values(text: str) -> list[int]:
    """The distinct whole numbers in a text such as `1-100`, `1,2,5-9` or `7`, in ascending order."""
    values: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise OptionError(f"values {text!r}: write 1-100, 1,2,5-9 or 7")
        if dash and int(high) < int(low):
            raise OptionError(f"values {text!r}: {part.strip()} goes down; give the lower one first")
        values.update(range(int(low), int(high or low) + 1))
    return sorted(values)
