"""Training on all rows of a data set, by the learner that searched."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfo_bench.errors import CfoBenchError, RunError, describe
from cfo_bench.learners import LEARNERS
from cfo_bench.models.recipe import ModelRecipe
from cfo_bench.records import Fold
from cfo_bench.tasks.arrays import encode
from cfo_bench.tasks.data_set import DataSet
from cfo_bench.tasks.folds import Split

# A fold has a validation part; nothing is measured on it here.
_VALIDATION_ROWS = 100


def on_all_rows(data: DataSet) -> Fold:
    """A fold whose training part is the whole data set."""
    n_rows = len(data.y)
    some = np.unique(np.linspace(0, n_rows - 1, _VALIDATION_ROWS).astype(int))
    return encode(data, Split(np.arange(n_rows), some, "all rows"))


def train(recipe: ModelRecipe, fold: Fold, threads: int) -> Any:
    """The model of a recipe, on all training rows of the fold."""
    learner = LEARNERS.load(recipe.learner)(**recipe.options)
    try:
        return learner.prepare(fold, threads, recipe.seed).fitted(recipe.config)
    except CfoBenchError:
        raise
    except Exception as error:
        raise RunError(f"{recipe.learner} could not be trained on all rows: {describe(error)}") from error
