"""CatBoost's models: `catboost.CatBoost` in a script, CatBoost's binary format in a file."""

from __future__ import annotations

import inspect
import struct
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

        _check_lengths(content)
        model = catboost.CatBoost().load_model(blob=content)
        is_category = tuple("categories" in column for column in about["columns"])

        def predict(x: Array) -> Array:
            return predictions(model, catboost.Pool(features_data(x, is_category)), recipe.problem)

        return predict


def _check_lengths(content: bytes) -> None:
    """A ValueError if a part of the file is missing: CatBoost reads beyond the end of a truncated file.

    The file has the trees, then any tables of categories: their number, and each table after its length.
    """

    def number_at(at: int) -> int:
        if at + 4 > len(content):
            raise ValueError("its end is missing")
        [number] = struct.unpack_from("<I", content, at)
        return int(number)

    at = 8 + number_at(4)
    if at < len(content):
        n_tables, at = number_at(at), at + 4
        for _ in range(n_tables):
            at += 4 + number_at(at)
    if not content.startswith(b"CBM1") or at != len(content):
        raise ValueError("its lengths are not those of its parts")
