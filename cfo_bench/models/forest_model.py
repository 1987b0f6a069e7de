"""The models of the random forest, and of the reference forest, which tunes itself.

A script trains them with scikit-learn; an .npz file contains the arrays of their trees.

scikit-learn's only file format is pickle, which runs code when it is loaded. A prediction needs only the
arrays.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cfo_bench.errors import UserError
from cfo_bench.learners.references import FittedForest, filled, max_features_grid
from cfo_bench.metrics import Array
from cfo_bench.models.recipe import ModelRecipe, constants, literal, width_of
from cfo_bench.records import Problem

_CODE = """
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

{parameters}

def train_model(x, y, is_category, n_classes, weight=None):
    forest = RandomForestRegressor if PROBLEM == "regression" else RandomForestClassifier
    return forest(**PARAMETERS, n_jobs=-1).fit(x, y, weight)


def predict_model(forest, x):
    if PROBLEM == "regression":
        return forest.predict(x)
    shares = forest.predict_proba(x)
    return shares[:, 1] if PROBLEM == "binary" else shares
"""

_REFERENCE_CODE = """
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict

{parameters}
TREES, TUNING_TREES, TREE_ROWS, GRID, CV_FOLDS = {sizes}


{grid}

def new_forest(trees, max_features, n_rows):
    forest = RandomForestRegressor if PROBLEM == "regression" else RandomForestClassifier
    drawn = TREE_ROWS if TREE_ROWS is not None and TREE_ROWS < n_rows else None
    return forest(trees, max_features=max_features, max_samples=drawn, **PARAMETERS, n_jobs=-1)


def tuned_max_features(x, y, weight):
    grid = max_features_grid(x.shape[1], GRID)
    folds = KFold(CV_FOLDS, shuffle=True, random_state=PARAMETERS["random_state"])

    params = {{}} if weight is None else {{"sample_weight": weight}}

    def loss(max_features):
        forest = new_forest(TUNING_TREES, max_features, len(x) * (CV_FOLDS - 1) // CV_FOLDS)
        if PROBLEM == "regression":
            return -r2_score(y, cross_val_predict(forest, x, y, cv=folds, params=params), **params)
        shares = cross_val_predict(forest, x, y, cv=folds, params=params, method="predict_proba")
        if PROBLEM == "binary":
            return -roc_auc_score(y, shares[:, 1], **params)
        return log_loss(y, shares, **params)

    return min(grid, key=loss) if len(x) >= 2 * CV_FOLDS else grid[0]


def train_model(x, y, is_category, n_classes, weight=None):
    filling = np.zeros(x.shape[1], dtype=np.float32)
    for at, category in enumerate(is_category):
        present = x[~np.isnan(x[:, at]), at]
        if len(present):
            filling[at] = np.bincount(present.astype(int)).argmax() if category else np.median(present)
    x = np.where(np.isnan(x), filling, x)
    return new_forest(TREES, tuned_max_features(x, y, weight), len(x)).fit(x, y, weight), filling


def predict_model(model, x):
    forest, filling = model
    x = np.where(np.isnan(x), filling, x)
    if PROBLEM == "regression":
        return forest.predict(x)
    shares = forest.predict_proba(x)
    return shares[:, 1] if PROBLEM == "binary" else shares
"""


class ForestModel:
    suffixes = (".npz",)
    is_parsed_natively = False

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
        return _as_npz(_arrays(model))

    def facts(self, model: Any) -> dict[str, Any]:
        return {}

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Array], Array]:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file if name != "filling"}
        _check_trees(arrays, sum(map(width_of, about["columns"])))

        def predict(x: Array) -> Array:
            mean = _mean_of_trees(arrays, x)
            if recipe.problem is Problem.REGRESSION:
                return mean[:, 0]
            shares: Array = mean / mean.sum(axis=1, keepdims=True)
            return shares[:, 1] if recipe.problem is Problem.BINARY else shares

        return predict


def _check_trees(arrays: Mapping[str, Array], n_columns: int) -> None:
    """A ValueError if a path down a tree could leave it or never end. Children must come after their node."""
    first, left, right, feature = (arrays[name] for name in ("first", "left", "right", "feature"))
    n_nodes = np.diff(first)
    lengths = {len(array) for name, array in arrays.items() if name != "first"}
    if first[0] != 0 or lengths != {first[-1]} or not (n_nodes > 0).all():
        raise ValueError("its trees do not hold its nodes")
    at = np.arange(len(left)) - np.repeat(first[:-1], n_nodes)
    inner = left != -1
    for children in (left, right):
        is_right = (children > at) & (children < np.repeat(n_nodes, n_nodes))
        if not is_right[inner].all():
            raise ValueError("a node has a child outside its tree")
    if not ((feature >= 0) & (feature < n_columns))[inner].all():
        raise ValueError("a node splits by a column that the model does not have")


class ReferenceForestModel(ForestModel):
    """The models of the reference forest, whose options replace a configuration."""

    def fixed(self, recipe: ModelRecipe) -> dict[str, Any]:
        counts = _counts(recipe)
        return {
            "n_estimators": counts["trees"],
            "max_features": f"tuned by {counts['cv_folds']}-fold cross-validation",
            "min_samples_leaf": counts["leaf_rows"] or 1,
            "max_samples": counts["tree_rows"],
            "random_state": recipe.seed,
        }

    def code(self, recipe: ModelRecipe) -> str:
        counts = _counts(recipe)
        tuning_trees = counts["least_trees"] or counts["trees"]
        sizes = counts["trees"], tuning_trees, counts["tree_rows"], counts["grid"], counts["cv_folds"]
        fixed = {name: self.fixed(recipe)[name] for name in ("min_samples_leaf", "random_state")}
        return _REFERENCE_CODE.format(
            parameters=constants("PARAMETERS", {}, fixed),
            sizes=", ".join(map(literal, sizes)),
            grid=inspect.getsource(max_features_grid),
        )

    def content(self, model: FittedForest, suffix: str) -> bytes:
        return _as_npz({**_arrays(model.forest), "filling": model.filling})

    def load(self, content: bytes, about: Mapping[str, Any], recipe: ModelRecipe) -> Callable[[Array], Array]:
        predict = super().load(content, about, recipe)
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            filling = file["filling"]
        return lambda x: predict(filled(x, filling))


def _counts(recipe: ModelRecipe) -> dict[str, int | None]:
    """The options of the reference forest on which its model depends."""
    needed, may_be_null = ("trees", "grid", "cv_folds"), ("least_trees", "leaf_rows", "tree_rows")
    counts = {name: recipe.options.get(name) for name in (*needed, *may_be_null)}
    if not all(
        type(count) is int or (count is None and name in may_be_null) for name, count in counts.items()
    ):
        raise UserError(f"the trace of {recipe.learner} has no valid {', '.join(counts)}: run it again")
    return counts


def _arrays(forest: Any) -> dict[str, Array]:
    trees = [estimator.tree_ for estimator in forest.estimators_]
    return {
        "first": np.cumsum([0, *(tree.node_count for tree in trees)]),  # the root of each tree
        "left": np.concatenate([tree.children_left for tree in trees]),  # -1: it is a leaf
        "right": np.concatenate([tree.children_right for tree in trees]),
        "feature": np.concatenate([tree.feature for tree in trees]),
        "threshold": np.concatenate([tree.threshold for tree in trees]),
        "missing_left": np.concatenate([tree.missing_go_to_left for tree in trees]),
        "value": np.concatenate([tree.value[:, 0, :] for tree in trees]),
    }


def _as_npz(arrays: Mapping[str, Array]) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _mean_of_trees(arrays: Mapping[str, Array], x: Array) -> Array:
    """For each row, the mean over trees of the value of its leaf."""
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
