"""What a model is made from, what each learner knows about its models, and training on all rows."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from cfo_bench.errors import CfoBenchError, RunError, UserError, describe
from cfo_bench.learners import LEARNERS
from cfo_bench.metrics import Array
from cfo_bench.records import Fold, Problem
from cfo_bench.space import Config
from cfo_bench.tasks.data_set import DataSet, encode
from cfo_bench.tasks.folds import Split


@dataclass(frozen=True, slots=True)
class ModelRecipe:
    """What a model is made from."""

    learner: str
    config: Config
    problem: Problem
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)  # of the learner


class ModelKind(Protocol):
    """The models of one learner.

    `predict` returns the probability of the second of two classes, a row of probabilities for several, or
    numbers; `x` is a matrix as `tasks` makes it.
    """

    suffixes: tuple[str, ...]  # of its files, the usual one first

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        """Every setting that affects the model and is no hyperparameter, under the library's names."""

    def code(self, recipe: ModelRecipe) -> str:
        """Python with `train_model(x, y, is_category, n_classes)` and `predict_model(model, x)`."""

    def content(self, model: Any, suffix: str) -> bytes:
        """The file of a model that the learner has trained."""

    def facts(self, model: Any) -> dict[str, Any]:
        """The facts that `load` needs besides the file, as JSON."""

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Array], Array]:
        """The `predict` of a model in a file; `about` is the content of the JSON file beside it."""


_KINDS = {
    "dnn": "network_model:NetworkModel",
    "knn": "neighbours_model:NeighboursModel",
    "lightgbm": "lightgbm_model:LightGBMModel",
    "random-forest": "forest_model:ForestModel",
    "xgboost": "xgboost_model:XGBoostModel",
}


def kind_of(learner: str) -> ModelKind:
    """The models of a learner; a UserError if it trains nothing, or comes from a plug-in."""
    if learner not in _KINDS:
        raise UserError(
            f"models of learner {learner!r} can't be made outside a run, only those of {', '.join(_KINDS)}: "
            "take its configuration from --json"
        )
    module, _, name = _KINDS[learner].partition(":")
    kind: ModelKind = getattr(importlib.import_module(f"cfo_bench.models.{module}"), name)()
    return kind


def constants(name: str, searched: Mapping[str, Any], fixed: Mapping[str, Any]) -> str:
    """A dict in Python with the hyperparameters of the search, and then the fixed settings."""
    lines = [f"{name} = {{"]
    for remark, values in (("found by the search", searched), ("fixed by cfo-bench", fixed)):
        if values:
            lines.append(f"    # {remark}")
            lines += [f"    {key!r}: {value!r}," for key, value in values.items()]
    return "\n".join([*lines, "}"]).replace("'", '"') + "\n"


# --- training on all rows -------------------------------------------------------------------------

# A fold needs a validation part; nothing is measured on it here.
_VALIDATION_ROWS = 100


def on_all_rows(data: DataSet) -> Fold:
    """A fold whose training part is the whole data set."""
    n_rows = len(data.y)
    validation = np.unique(np.linspace(0, n_rows - 1, _VALIDATION_ROWS).astype(int))
    return encode(data, Split(np.arange(n_rows), validation, "all rows"))


def train(recipe: ModelRecipe, fold: Fold, threads: int) -> Any:
    """The model of a recipe, on all training rows of the fold."""
    learner = LEARNERS.load(recipe.learner)(**recipe.options)
    try:
        return learner.prepare(fold, threads, recipe.seed).fitted(recipe.config)
    except CfoBenchError:
        raise
    except Exception as error:
        raise RunError(f"{recipe.learner} could not be trained on all rows: {describe(error)}") from error
