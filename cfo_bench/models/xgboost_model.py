"""XGBoost's models: `xgboost.train` in a script, UBJ or JSON in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cfo_bench.learners.xgboost import fixed_settings
from cfo_bench.metrics import Array
from cfo_bench.models.recipe import ModelRecipe, constants, literal, width_of

_CODE = """
import xgboost

ROUNDS = {rounds}
{parameters}
{types}
def train_model(x, y, is_category, n_classes, weight=None):
    parameters = {{**PARAMETERS, "num_class": n_classes}} if PROBLEM == "multiclass" else PARAMETERS
    data = xgboost.QuantileDMatrix(x, y, weight=weight{options})
    return xgboost.train(parameters, data, num_boost_round=ROUNDS)


def predict_model(booster, x):
    return booster.predict(xgboost.DMatrix(x{of_booster}))
"""


class XGBoostModel:
    suffixes = (".ubj", ".json")
    is_parsed_natively = True

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        return fixed_settings(recipe.problem, recipe.seed)

    def code(self, recipe: ModelRecipe) -> str:
        searched = {name: value for name, value in recipe.config.items() if name != "n_estimators"}
        is_native = _has_native_categories(recipe)
        return _CODE.format(
            rounds=literal(recipe.config["n_estimators"]),
            parameters=constants("PARAMETERS", searched, self.fixed(recipe)),
            types=_TYPES if is_native else "",
            options=", **categorical(is_category)" if is_native else "",
            of_booster=", feature_types=booster.feature_types, enable_categorical=True" if is_native else "",
        )

    def content(self, model: Any, suffix: str) -> bytes:
        return bytes(model.save_raw(suffix.removeprefix(".")))

    def facts(self, model: Any) -> dict[str, Any]:
        return {}

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Array], Array]:
        import xgboost

        booster = xgboost.Booster()
        booster.load_model(bytearray(content))
        types = (
            {"feature_types": _feature_types(about["columns"]), "enable_categorical": True}
            if _has_native_categories(recipe)
            else {}
        )

        def predict(x: Array) -> Array:
            predicted: Array = booster.predict(xgboost.DMatrix(x, **types))
            return predicted

        return predict


_TYPES = """

def categorical(is_category):
    return {"feature_types": ["c" if one else "q" for one in is_category], "enable_categorical": True}


"""


def _feature_types(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    return ["c" if "categories" in column else "q" for column in columns for _ in range(width_of(column))]


def _has_native_categories(recipe: ModelRecipe) -> bool:
    return recipe.options.get("categories") == "native"
