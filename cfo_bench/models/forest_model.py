"""The random forest's models: scikit-learn in a script, arrays of its trees in an .npz file.

scikit-learn has no file format but pickle, which runs code when it is loaded. A prediction needs only the
arrays.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cfo_bench.metrics import Array
from cfo_bench.models.recipe import ModelRecipe, constants
from cfo_bench.records import Problem

_CODE = """
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

{parameters}

def train_model(x, y, is_category, n_classes):
    forest = RandomForestRegressor if PROBLEM == "regression" else RandomForestClassifier
    return forest(**PARAMETERS, n_jobs=-1).fit(x, y)


def predict_model(forest, x):
    if PROBLEM == "regression":
        return forest.predict(x)
    shares = forest.predict_proba(x)
    return shares[:, 1] if PROBLEM == "binary" else shares
"""


class ForestModel:
    suffixes = (".npz",)

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        return {"random_state": recipe.seed}

    def code(self, recipe: ModelRecipe) -> str:
        searched = {
            "n_estimators": recipe.config["n_estimators"],
            "max_leaf_nodes": recipe.config["max_leaves"],
            "max_features": recipe.config["max_features"],
        }
        return _CODE.format(parameters=constants("PARAMETERS", searched, self.fixed(recipe)))

    def content(self, model: Any, suffix: str) -> bytes:
        trees = [estimator.tree_ for estimator in model.estimators_]
        first = np.cumsum([0, *(tree.node_count for tree in trees)])
        arrays = {
            "first": first,  # the root of each tree among all nodes
            "left": np.concatenate([tree.children_left for tree in trees]),  # -1: it is a leaf
            "right": np.concatenate([tree.children_right for tree in trees]),
            "feature": np.concatenate([tree.feature for tree in trees]),
            "threshold": np.concatenate([tree.threshold for tree in trees]),
            "missing_left": np.concatenate([tree.missing_go_to_left for tree in trees]),
            "value": np.concatenate([tree.value[:, 0, :] for tree in trees]),
        }
        file = io.BytesIO()
        np.savez_compressed(file, allow_pickle=False, **arrays)
        return file.getvalue()

    def facts(self, model: Any) -> dict[str, Any]:
        return {}

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Array], Array]:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = dict(file)

        def predict(x: Array) -> Array:
            mean = _mean_of_trees(arrays, x)
            if recipe.problem is Problem.REGRESSION:
                return mean[:, 0]
            shares: Array = mean / mean.sum(axis=1, keepdims=True)
            return shares[:, 1] if recipe.problem is Problem.BINARY else shares

        return predict


def _mean_of_trees(arrays: Mapping[str, Array], x: Array) -> Array:
    """The mean over trees of the value of the leaf that each row falls into."""
    total: Array = np.zeros((len(x), arrays["value"].shape[1]))
    rows = np.arange(len(x))
    for first in arrays["first"][:-1]:
        node = np.full(len(x), first)
        inner = rows[arrays["left"][node] >= 0]
        while len(inner):
            at = node[inner]
            cells = x[inner, arrays["feature"][at]]
            is_below = cells <= arrays["threshold"][at]
            goes_left = np.where(np.isnan(cells), arrays["missing_left"][at], is_below)
            node[inner] = first + np.where(goes_left, arrays["left"][at], arrays["right"][at])
            inner = inner[arrays["left"][node[inner]] >= 0]
        total += arrays["value"][node]
    return total / (len(arrays["first"]) - 1)
