"""Nearest neighbours: scikit-learn in a script, the training rows in an .npz file.

scikit-learn's only file format is pickle, which runs code when it is loaded.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cfo_bench.learners.dense import Encoder
from cfo_bench.metrics import Array
from cfo_bench.models.recipe import ModelRecipe, constants
from cfo_bench.models.script import dense_code
from cfo_bench.records import Problem

_CODE = """
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

{parameters}
{dense}


def train_model(x, y, is_category, n_classes):
    columns = fit_columns(x, is_category)
    neighbours = KNeighborsRegressor if PROBLEM == "regression" else KNeighborsClassifier
    return neighbours(**PARAMETERS).fit(dense_matrix(x, columns), y), columns


def predict_model(model, x):
    neighbours, columns = model
    if PROBLEM == "regression":
        return neighbours.predict(dense_matrix(x, columns))
    shares = neighbours.predict_proba(dense_matrix(x, columns))
    return shares[:, 1] if PROBLEM == "binary" else shares
"""


class NeighboursModel:
    suffixes = (".npz",)
    is_parsed_natively = False

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        algorithm = recipe.options.get("algorithm", "auto")
        return {"weights": "uniform", "metric": "minkowski", "p": 2, "algorithm": algorithm}

    def code(self, recipe: ModelRecipe) -> str:
        parameters = constants("PARAMETERS", {"n_neighbors": recipe.config["k"]}, self.fixed(recipe))
        return _CODE.format(parameters=parameters, dense=dense_code())

    def content(self, model: Any, suffix: str) -> bytes:
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, x=model.rows.train_x, y=model.rows.train_y)
        return file.getvalue()

    def facts(self, model: Any) -> dict[str, Any]:
        return {"dense": model.rows.encoder.columns}

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Array], Array]:
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            x, y = file["x"], file["y"]
        encoder = Encoder(about["model_facts"]["dense"])
        is_regression = recipe.problem is Problem.REGRESSION
        k = min(recipe.config["k"], len(y))
        model = (KNeighborsRegressor if is_regression else KNeighborsClassifier)(
            n_neighbors=k, **self.fixed(recipe)
        ).fit(x, y)

        def predict(rows: Array) -> Array:
            dense = encoder.transform(rows)
            predicted: Array = model.predict(dense) if is_regression else model.predict_proba(dense)
            return predicted[:, 1] if recipe.problem is Problem.BINARY else predicted

        return predict
