"""The definition of a model, the interface of each learner's models, and training on all rows."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from cfo_bench.errors import CfoBenchError, RunError, SpaceError, UserError, brief_line, describe
from cfo_bench.learners import LEARNERS, REFERENCES
from cfo_bench.metrics import Array
from cfo_bench.records import Fold, Problem
from cfo_bench.registry import ESTIMATOR, family_of, is_users_code
from cfo_bench.space import Categorical, Config, Int, Param, Space
from cfo_bench.tasks.data_set import DataSet, encode
from cfo_bench.tasks.folds import Split
from cfo_bench.values import MOST_INT


@dataclass(frozen=True, slots=True)
class ModelRecipe:
    """The definition of a model."""

    learner: str  # or a reference method that trains a model
    config: Config
    problem: Problem
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)  # of the learner
    trusted: tuple[str, ...] = ()  # types that its file may contain besides those known to be safe


class ModelKind(Protocol):
    """The models of one learner.

    `predict` returns the probability of the second of two classes, a row of probabilities for several, or
    numbers; `x` is a matrix as `tasks` makes it.
    """

    suffixes: tuple[str, ...]  # of its files, the usual one first
    is_parsed_natively: bool  # its package may crash the process if a file is damaged

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        """Every setting that affects the model and is not a hyperparameter, under the library's names."""

    def code(self, recipe: ModelRecipe) -> str:
        """Python with `train_model(x, y, is_category, n_classes[, weight])` and `predict_model(model, x)`.

        It may define `features(frame, columns, y)`, whose result becomes `x`; otherwise `x` is the matrix.
        """

    def content(self, model: Any, suffix: str) -> bytes:
        """The content of the file of a trained model."""

    def facts(self, model: Any) -> dict[str, Any]:
        """The facts that `load` needs besides the file, as JSON."""

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Array], Array]:
        """The `predict` function of the model in a file; `about` is the content of the JSON file beside
        it.
        """


_KINDS = {
    "catboost": "catboost_model:CatBoostModel",
    "dnn": "network_model:NetworkModel",
    ESTIMATOR: "estimator_model:EstimatorModel",
    "hist-gradient-boosting": "estimator_model:HistGradientBoostingModel",
    "knn": "neighbours_model:NeighboursModel",
    "lightgbm": "lightgbm_model:LightGBMModel",
    "random-forest": "forest_model:ForestModel",
    "tuned-rf": "forest_model:ReferenceForestModel",
    "xgboost": "xgboost_model:XGBoostModel",
}


def kind_of(learner: str) -> ModelKind:
    """The models of a learner; a UserError if it trains nothing, or comes from a plug-in."""
    kind_name = ESTIMATOR if family_of(learner) == ESTIMATOR else learner
    if kind_name not in _KINDS:
        raise UserError(
            f"models of learner {learner!r} can't be made outside a run, only those of {', '.join(_KINDS)}: "
            "take its configuration from --json"
        )
    module, _, name = _KINDS[kind_name].partition(":")
    kind: ModelKind = getattr(importlib.import_module(f"cfo_bench.models.{module}"), name)()
    return kind


def checked(recipe: ModelRecipe) -> ModelRecipe:
    """The recipe, if its configuration and its options have the types that the learner accepts.

    They come from a file that anybody may have written. Bounds are not checked, because those of a learner's
    space depend on the number of rows, and an imported study may have others.
    """
    kind_of(recipe.learner)
    try:
        space = _space_of(recipe)
        space.check_names(recipe.config)
        for param in space:
            _check_type(param, recipe.config[param.name])
    except SpaceError as error:
        raise UserError(
            f"the configuration is not one of learner {recipe.learner!r} ({error}): take it from --json"
        ) from None
    return recipe


def checked_options(learner: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a learner, with its defaults. The models of a reference method check them themselves."""
    return dict(given) if learner in REFERENCES.builtin else LEARNERS.options(learner, given)


def _space_of(recipe: ModelRecipe) -> Space:
    """The learner's space for any number of rows. Code that the learner's name points to is not run."""
    options = checked_options(recipe.learner, recipe.options)
    if recipe.learner in REFERENCES.builtin:
        return Space([])
    if is_users_code(recipe.learner):
        return Space.from_json(options.get("space") or [])
    space: Space = LEARNERS.load(recipe.learner)(**options).space(MOST_INT)
    return space


def _check_type(param: Param, value: object) -> None:
    if isinstance(param, Categorical):
        param.check(value)
    elif isinstance(param, Int):
        if type(value) is not int:
            raise SpaceError(f"{param.name} = {value!r} is not a whole number")
    elif type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise SpaceError(f"{param.name} = {value!r} is not a finite number")


# --- values in a script ---------------------------------------------------------------------------


def literal(value: Any) -> str:
    """The value as a Python literal. This function writes every value of a script.

    A UserError for anything that has no literal. Text is in double quotes if it needs no escapes.
    """
    kind = type(value)
    if kind is str:
        is_plain = value.isprintable() and not set(value) & set('"\\')
        return f'"{value}"' if is_plain else ascii(value)
    if kind in (bool, int, type(None)) or (kind is float and math.isfinite(value)):
        return repr(value)
    if kind is list:
        return f"[{', '.join(map(literal, value))}]"
    if kind is dict:
        return f"{{{', '.join(f'{literal(key)}: {literal(item)}' for key, item in value.items())}}}"
    raise UserError(f"{brief_line(repr(value), 100)} can't be written into a script: take it from --json")


def constants(name: str, searched: Mapping[str, Any], fixed: Mapping[str, Any]) -> str:
    """The source of a dict with the hyperparameters of the search, and then the fixed settings."""
    lines = [f"{name} = {{"]
    for remark, values in (("found by the search", searched), ("fixed by cfo-bench", fixed)):
        if values:
            lines.append(f"    # {remark}")
            lines += [f"    {literal(key)}: {literal(value)}," for key, value in values.items()]
    return "\n".join([*lines, "}"]) + "\n"


def width_of(column: Mapping[str, Any]) -> int:
    """The number of matrix columns of a column that is described in a model's JSON file."""
    return len(column["other"]) if "other" in column else 1


# --- training on all rows -------------------------------------------------------------------------

# A fold needs a validation part; nothing is measured on it here.
_VALIDATION_ROWS = 100


def on_all_rows(data: DataSet) -> Fold:
    """A fold whose training part is the whole data set."""
    from cfo_bench.tasks.typed_frames import fold_frames  # loads pandas

    n_rows = len(data.y)
    validation = np.unique(np.linspace(0, n_rows - 1, _VALIDATION_ROWS).astype(int))
    split = Split(np.arange(n_rows), validation, "all rows")
    return replace(encode(data, split), frames=lambda: fold_frames(data, split))


def train(recipe: ModelRecipe, fold: Fold, threads: int) -> Any:
    """The model of a recipe, on all training rows of the fold."""
    try:
        registry = REFERENCES if recipe.learner in REFERENCES.builtin else LEARNERS
        learner = registry.load(recipe.learner)(**recipe.options)
        return learner.prepare(fold, threads, recipe.seed).fitted(recipe.config)
    except CfoBenchError:
        raise
    except Exception as error:
        raise RunError(f"{recipe.learner} could not be trained on all rows: {describe(error)}") from error
