"""LightGBM's models: `lightgbm.train` in a script, LightGBM's text format in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cfo_bench.learners.lightgbm import fixed_settings, parameters
from cfo_bench.metrics import Array
from cfo_bench.models.recipe import ModelRecipe, constants, literal

_CODE = """
import lightgbm

ROUNDS = {rounds}
{parameters}

def train_model(x, y, is_category, n_classes, weight=None):
    parameters = {{**PARAMETERS, "verbosity": -1}}
    if PROBLEM == "multiclass":
        parameters["num_class"] = n_classes
    categories = [at for at, one in enumerate(is_category) if one]
    data = lightgbm.Dataset(x, y, weight=weight, params=parameters, categorical_feature=categories)
    return lightgbm.train(parameters, data, num_boost_round=ROUNDS)


def predict_model(booster, x):
    return booster.predict(x)
"""


class LightGBMModel:
    suffixes = (".txt",)
    is_parsed_natively = True

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        return fixed_settings(recipe.problem, recipe.seed)

    def code(self, recipe: ModelRecipe) -> str:
        return _CODE.format(
            rounds=literal(recipe.config["n_estimators"]),
            parameters=constants("PARAMETERS", parameters(recipe.config), self.fixed(recipe)),
        )

    def content(self, model: Any, suffix: str) -> bytes:
        return str(model.model_to_string()).encode()

    def facts(self, model: Any) -> dict[str, Any]:
        return {}

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Array], Array]:
        import lightgbm

        booster = lightgbm.Booster(model_str=content.decode())
        return lambda x: np.asarray(booster.predict(x))
