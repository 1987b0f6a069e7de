"""CatBoost's models: `catboost.CatBoost` in a script, CatBoost's binary format in a file."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cfo_bench.learners.catboost import features_data, fixed_settings, predictions
from cfo_bench.metrics import Array
from cfo_bench.models.recipe import ModelRecipe, constants

_CODE = """
import catboost

{parameters}
Any, Array = object, np.ndarray


{features_data}

def train_model(x, y, is_category, n_classes, weight=None):
    parameters = {{**PARAMETERS, "classes_count": n_classes}} if PROBLEM == "multiclass" else PARAMETERS
    model = catboost.CatBoost({{**parameters, "logging_level": "Silent", "allow_writing_files": False}})
    return model.fit(catboost.Pool(features_data(x, is_category), y, weight=weight)), is_category


def predict_model(trained, x):
    model, is_category = trained
    kind = "RawFormulaVal" if PROBLEM == "regression" else "Probability"
    predicted = model.predict(catboost.Pool(features_data(x, is_category)), prediction_type=kind)
    return predicted[:, 1] if PROBLEM == "binary" else predicted
"""


class CatBoostModel:
    suffixes = (".cbm",)
    is_parsed_natively = True

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        return fixed_settings(recipe.problem, recipe.seed)

    def code(self, recipe: ModelRecipe) -> str:
        return _CODE.format(
            parameters=constants("PARAMETERS", recipe.config, self.fixed(recipe)),
            features_data=inspect.getsource(features_data),
        )

    def content(self, model: Any, suffix: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbm"
            model.save_model(str(path), format="cbm")
            return path.read_bytes()

    def facts(self, model: Any) -> dict[str, Any]:
        return {}

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Array], Array]:
        import catboost

        model = catboost.CatBoost().load_model(blob=content)
        is_category = tuple("categories" in column for column in about["columns"])

        def predict(x: Array) -> Array:
            return predictions(model, catboost.Pool(features_data(x, is_category)), recipe.problem)

        return predict
